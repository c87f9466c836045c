"""Lemmas about choosing an initial history: the chain of configurations leads to each that was committed before.

The last one is the argument of the protocol. Of what was committed in earlier epochs let m be the first that the chosen
history lacks. The change to the configuration that governs m is not missing, so the new leader asks a quorum of that,
or begins in a later one.
"""

from collections.abc import Callable

from msgspec import Struct

from zabcheck.proof.logic import (
    FIRST,
    Config,
    Epoch,
    Formula,
    Node,
    Quorum,
    Term,
    Transaction,
    epoch_of,
    every,
    makes,
    member,
    of,
    same,
    some,
    under,
)
from zabcheck.proof.obligations import Lemma
from zabcheck.proof.reconfiguration.conjuncts import may_be_broadcast
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.reconfiguration.steps import choose, choose_empty, commit, establish
from zabcheck.proof.steps import Step


class Choice(Struct, frozen=True):
    """The terms of both steps that choose an initial history."""

    e: Epoch
    q: Quorum
    b: Node
    a: Epoch
    c: Config
    m: Transaction
    k: Config

    def is_found(self, s: Configured, c: Config) -> Formula:
        """Return the formula that the history has the change to c, or that c is the first configuration."""
        return same(c, FIRST) | some(lambda u: makes(u, c) & s.accepted(self.b, self.a, u), Transaction)

    def is_missing(self, s: Configured, d: Epoch, t: Transaction) -> Formula:
        """Return the formula that t was committed in d, before e, and the history lacks it."""
        return s.committed(d, t) & (d < self.e) & ~s.accepted(self.b, self.a, t)

    def is_of_base(self, s: Configured, d: Epoch, u: Transaction) -> Formula:
        """Return the formula that u is the change to the configuration that e begins in, committed in d, before e."""
        return makes(u, self.c) & s.committed(d, u) & (d < self.e)


def base_is_known(s: Configured, x: Choice) -> Formula:
    """The configuration that the epoch begins in was committed in an earlier one, or is the first."""
    return s.known(x.e, x.c)


def base_is_found(s: Configured, x: Choice) -> Formula:
    """The history has the change to the configuration that the epoch begins in."""
    return x.is_found(s, x.c)


def its_configuration_is_found(s: Configured, x: Choice) -> Formula:
    """The history has the change to the configuration that governs the first that is missing."""
    return every(lambda d: x.is_missing(s, d, x.m) >> x.is_found(s, under(x.m)), Epoch)


def its_configuration_is_earlier(s: Configured, x: Choice) -> Formula:
    """The configuration that governs the first that is missing is earlier than the one that the epoch begins in."""
    return every(lambda d: x.is_missing(s, d, x.m) >> (under(x.m) < x.c), Epoch)


def both_are_in_one_history(s: Configured, x: Choice) -> Formula:
    """The first that is missing is in a history that has the change to the configuration that the epoch begins in."""

    def shared(g: Epoch, u: Transaction) -> Formula:
        return makes(u, x.c) & s.history(g, u) & s.history(g, x.m)

    return every(lambda d: x.is_missing(s, d, x.m) >> some(shared, Epoch, Transaction), Epoch)


def nothing_is_missing(s: Configured, x: Choice) -> Formula:
    """The history has all that was committed in earlier epochs."""
    return every(lambda d, t: ~x.is_missing(s, d, t), Epoch, Transaction)


def no_second_leader(s: Configured, x: Choice) -> Formula:
    """The epoch has no initial history yet."""
    return ~s.opened(x.e)


def asks_what_is_found(s: Configured, x: Choice) -> Formula:
    """The processes asked are a quorum of each configuration from the epoch's first one on that the history has."""
    return every(lambda d: (x.is_found(s, d) & (x.c <= d)) >> of(x.q, d), Config)


def _denied(s: Configured, x: Choice, e: Epoch, t: Transaction, q: Quorum) -> Formula:
    """Return the formula that the new history lacks t, which e may have, and that q may yet commit it."""
    may = s.history(e, t) | may_be_broadcast(s, e, t)
    stays = every(lambda n: member(n, q) >> (~s.left(n, e) | s.accepted(n, e, t)), Node)
    return (e < x.e) & may & ~s.accepted(x.b, x.a, t) & x.is_found(s, under(t)) & of(q, under(t)) & stays


def later_configurations_are_not_choosable(s: Configured, x: Choice) -> Formula:
    """A transaction that the history lacks is not choosable, if the first configuration or a later one governs it."""
    return every(lambda e, t, q: _denied(s, x, e, t, q) >> ~(x.c <= under(t)), Epoch, Transaction, Quorum)


def _behind_base(s: Configured, x: Choice, e: Epoch, t: Transaction, d: Epoch, u: Transaction) -> Formula:
    """Return the formula that an earlier configuration governs t, which e may have; u, in d, committed the base."""
    may = s.history(e, t) | may_be_broadcast(s, e, t)
    return x.is_of_base(s, d, u) & (e < x.e) & may & (under(t) < x.c) & ~s.accepted(x.b, x.a, t)


def base_was_committed_later(s: Configured, x: Choice) -> Formula:
    """If an earlier configuration governs what the history lacks, the epoch's first one was committed later."""
    return every(lambda e, t, d, u: _behind_base(s, x, e, t, d, u) >> (e < d), Epoch, Transaction, Epoch, Transaction)


def base_is_without_it(s: Configured, x: Choice) -> Formula:
    """The epoch in which it was committed began without what the history lacks."""
    return every(
        lambda e, t, d, u: _behind_base(s, x, e, t, d, u) >> ~s.initial(d, t), Epoch, Transaction, Epoch, Transaction
    )


def base_is_of_a_later_epoch(s: Configured, x: Choice) -> Formula:
    """The epoch in which it was committed is later than what the history lacks."""
    return every(
        lambda e, t, d, u: _behind_base(s, x, e, t, d, u) >> (epoch_of(t) < d), Epoch, Transaction, Epoch, Transaction
    )


def base_has_earlier_changes(s: Configured, x: Choice) -> Formula:
    """The epoch in which it was committed has the changes to earlier configurations that the history has."""

    def has(d: Epoch, k: Config) -> Formula:
        return same(k, FIRST) | some(lambda v: makes(v, k) & s.history(d, v), Transaction)

    return every(
        lambda d, u, k: (x.is_of_base(s, d, u) & (k < x.c) & x.is_found(s, k)) >> has(d, k), Epoch, Transaction, Config
    )


def base_has_its_configuration(s: Configured, x: Choice) -> Formula:
    """The epoch in which it was committed began with the configuration that governs what the history lacks."""
    return every(
        lambda e, t, d, u: (_behind_base(s, x, e, t, d, u) & x.is_found(s, under(t))) >> s.is_made(d, under(t)),
        Epoch,
        Transaction,
        Epoch,
        Transaction,
    )


def earlier_configurations_are_not_choosable(s: Configured, x: Choice) -> Formula:
    """A transaction that the history lacks is not choosable, if an earlier configuration governs it."""
    return every(lambda e, t, q: _denied(s, x, e, t, q) >> ~(under(t) < x.c), Epoch, Transaction, Quorum)


def what_it_lacks_is_not_choosable(s: Configured, x: Choice) -> Formula:
    """A transaction that the history lacks is not choosable, if the history has the change to its configuration."""
    return every(lambda e, t, q: ~_denied(s, x, e, t, q), Epoch, Transaction, Quorum)


def what_is_lost_is_behind(s: Configured, x: Choice) -> Formula:
    """The last committed configuration, or a later one, governs what the history has and a later one lacks."""

    def lost(f: Epoch, t: Transaction, d: Config) -> Formula:
        return (x.e < f) & s.opened(f) & s.accepted(x.b, x.a, t) & ~s.initial(f, t) & s.known(x.e, d)

    return every(lambda f, t, d: lost(f, t, d) >> (d <= under(t)), Epoch, Transaction, Config)


def what_is_lost_is_left(s: Configured, x: Choice) -> Formula:
    """Every quorum that may commit what the history has and a later one lacks has a process that left the epoch."""

    def lost(f: Epoch, t: Transaction, q: Quorum) -> Formula:
        later = (x.e < f) & s.opened(f) & s.is_made(f, under(t)) & of(q, under(t))
        return later & s.accepted(x.b, x.a, t) & ~s.initial(f, t)

    def left(q: Quorum) -> Formula:
        return some(lambda n: member(n, q) & s.left(n, x.e), Node)

    return every(lambda f, t, q: lost(f, t, q) >> left(q), Epoch, Transaction, Quorum)


def base_was_committed_before(s: Configured, x: Choice) -> Formula:
    """The epoch's first configuration was committed in the epoch of the chosen history, or before."""

    def before(d: Epoch, u: Transaction) -> Formula:
        return (makes(u, x.c) & s.committed(d, u) & (d < x.e)) >> (d <= x.a)

    return every(before, Epoch, Transaction)


def quorums_of_skipped_meet(s: Configured, x: Choice) -> Formula:
    """Whoever may establish an epoch between that of the history and the new one has a process in common with q."""

    def may(d: Epoch, c: Config, q: Quorum) -> Formula:
        return (x.a < d) & (d < x.e) & s.base(d, c) & s.may_establish(d, c, q)

    def meet(q: Quorum) -> Formula:
        return some(lambda n: member(n, q) & member(n, x.q), Node)

    return every(lambda d, c, q: may(d, c, q) >> meet(q), Epoch, Config, Quorum)


def _passed_over(s: Configured, x: Choice, d: Epoch, t: Transaction, c: Config, q: Quorum) -> Formula:
    """Return the formula that d, which q may establish, lacks t of the new history, and q is no obstacle."""
    skipped = s.accepted(x.b, x.a, t) & (epoch_of(t) < d) & ~s.initial(d, t) & s.base(d, c)
    stays = every(lambda n: member(n, q) >> (~s.left(n, d) | s.adopted(n, d)), Node)
    return skipped & s.may_establish(d, c, q) & stays & (d < x.e)


def skipped_are_later(s: Configured, x: Choice) -> Formula:
    """An epoch that may be established without what the history has is later than the history's."""
    return every(lambda d, t, c, q: _passed_over(s, x, d, t, c, q) >> (x.a < d), Epoch, Transaction, Config, Quorum)


def none_is_skipped(s: Configured, x: Choice) -> Formula:
    """No epoch before the new one may be established without what the history has."""
    return every(lambda d, t, c, q: ~_passed_over(s, x, d, t, c, q), Epoch, Transaction, Config, Quorum)


def last_known_is_in_both(s: Configured, x: Choice) -> Formula:
    """The last configuration that was committed before is in the history, and in all later initial histories."""
    both = lambda f: ((x.e < f) & s.opened(f)) >> s.is_made(f, x.k)  # noqa: E731  # read below
    return x.is_found(s, x.k) & (x.c <= x.k) & every(both, Epoch)


def later_ones_left(s: Configured, x: Choice) -> Formula:
    """If a later epoch has an initial history, every quorum of the last configuration has a process that left this."""
    left = lambda f, q: ((x.e < f) & s.opened(f) & of(q, x.k)) >> some(lambda n: member(n, q) & s.left(n, x.e), Node)  # noqa: E731  # read below
    return every(left, Epoch, Quorum)


class Establishing(Struct, frozen=True):
    """The terms of the step that establishes a leader."""

    e: Epoch
    q: Quorum
    c: Config


def asks_what_governs(s: Configured, x: Establishing) -> Formula:
    """The processes asked are a quorum of what governs each transaction of I_e behind the first configuration."""

    def asked(t: Transaction) -> Formula:
        return of(x.q, under(t)) & every(lambda d: makes(t, d) >> of(x.q, d), Config)

    return every(lambda t: (s.initial(x.e, t) & (x.c <= under(t))) >> asked(t), Transaction)


def all_accepted_it(s: Configured, x: Establishing) -> Formula:
    """All of them accepted the initial history."""
    return every(lambda n, t: (member(n, x.q) & s.initial(x.e, t)) >> s.accepted(n, x.e, t), Node, Transaction)


def _lost(s: Configured, x: Establishing, f: Epoch, t: Transaction) -> Formula:
    return (x.e < f) & s.opened(f) & s.initial(x.e, t) & ~s.initial(f, t)


def base_is_in_both(s: Configured, x: Establishing) -> Formula:
    """The change to the epoch's first configuration is in its initial history, and in later ones."""

    def both(f: Epoch, u: Transaction) -> Formula:
        return makes(u, x.c) & s.initial(x.e, u) & s.initial(f, u)

    return every(
        lambda f: ((x.e < f) & s.opened(f)) >> (same(x.c, FIRST) | some(lambda u: both(f, u), Transaction)), Epoch
    )


def lost_is_behind(s: Configured, x: Establishing) -> Formula:
    """A later initial history has all that comes before the change to the first configuration."""
    return every(lambda f, t: _lost(s, x, f, t) >> (x.c <= under(t)), Epoch, Transaction)


def lost_has_no_configuration(s: Configured, x: Establishing) -> Formula:
    """A later initial history that lacks a transaction lacks the change to its configuration, too."""
    return every(lambda f, t: _lost(s, x, f, t) >> ~s.is_made(f, under(t)), Epoch, Transaction)


def nothing_is_lost(s: Configured, x: Establishing) -> Formula:
    """A later initial history has all of this one: otherwise nobody could be established."""
    return every(lambda f, t: ~_lost(s, x, f, t), Epoch, Transaction)


class Commitment(Struct, frozen=True):
    """The terms of the step that commits a transaction."""

    e: Epoch
    t: Transaction
    q: Quorum
    c: Config

    def is_before(self, s: Configured, u: Transaction) -> Formula:
        """Return the formula that u comes before t in H(e), behind the change to the first configuration."""
        return s.history(self.e, u) & (u < self.t) & (self.c <= under(u))


def earlier_are_committed(s: Configured, x: Commitment) -> Formula:
    """A transaction before this one is committed, if another configuration governs it."""
    return every(lambda u: x.is_before(s, u) >> (same(under(u), under(x.t)) | s.committed(x.e, u)), Transaction)


def no_change_between(s: Configured, x: Commitment) -> Formula:
    """No change comes before the transaction that the same configuration governs."""

    def between(u: Transaction, d: Config) -> Formula:
        return x.is_before(s, u) & same(under(u), under(x.t)) & makes(u, d)

    return every(lambda u, d: ~between(u, d), Transaction, Config)


def all_accepted_those_before(s: Configured, x: Commitment) -> Formula:
    """All of the quorum accepted what comes before the transaction."""
    return every(lambda n, u: (member(n, x.q) & x.is_before(s, u)) >> s.accepted(n, x.e, u), Node, Transaction)


def _lemma(of_step: Step, terms: type[Struct], says: Callable[..., Formula]) -> Lemma:
    """Return a lemma of a step, whose terms `says` gets by their names."""
    named = {each.name: each for each in of_step.terms}
    about = terms(*(named[name] for name in terms.__struct_fields__))

    def formula(s: Configured, *_: Term) -> Formula:
        return says(s, about)

    text = " ".join((says.__doc__ or "").split())
    return Lemma(says.__name__.replace("_", " "), text, (), formula, step=of_step)


OF_CHOICES = (
    base_is_known,
    base_is_found,
    its_configuration_is_found,
    its_configuration_is_earlier,
    both_are_in_one_history,
    nothing_is_missing,
    no_second_leader,
    asks_what_is_found,
    later_configurations_are_not_choosable,
    base_was_committed_later,
    base_is_without_it,
    base_is_of_a_later_epoch,
    base_has_earlier_changes,
    base_has_its_configuration,
    earlier_configurations_are_not_choosable,
    what_it_lacks_is_not_choosable,
    what_is_lost_is_behind,
    what_is_lost_is_left,
    base_was_committed_before,
    quorums_of_skipped_meet,
    skipped_are_later,
    none_is_skipped,
    last_known_is_in_both,
    later_ones_left,
)
LEMMAS = (
    *(_lemma(step, Choice, says) for step in (choose, choose_empty) for says in OF_CHOICES),
    *(
        _lemma(establish, Establishing, says)
        for says in (
            asks_what_governs,
            all_accepted_it,
            base_is_in_both,
            lost_is_behind,
            lost_has_no_configuration,
            nothing_is_lost,
        )
    ),
    *(
        _lemma(commit, Commitment, says)
        for says in (earlier_are_committed, no_change_between, all_accepted_those_before)
    ),
)
"""The lemmas, in the order in which they follow."""
