"""The inductive invariant of Zab with configurations that change: conjuncts of Zab, and those that name quorums."""

from zabcheck.proof import conjuncts as of_zab
from zabcheck.proof.conjuncts import claim
from zabcheck.proof.logic import (
    FIRST,
    Config,
    Epoch,
    Formula,
    Node,
    Quorum,
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
from zabcheck.proof.reconfiguration.relations import Configured


@claim
def leaders_have_promises(s: Configured, e: Epoch, l: Node, c: Config) -> Formula:
    """A quorum of the configuration that an epoch began in, and of each pending in I_e, promised the epoch (R.10)."""

    def promised(q: Quorum) -> Formula:
        return s.may_establish(e, c, q) & every(lambda n: member(n, q) >> s.promised(n, e, l), Node)

    return (s.led(e, l) & s.base(e, c)) >> some(promised, Quorum)


@claim
def one_base(s: Configured, e: Epoch, c: Config, d: Config) -> Formula:
    """An epoch begins in one configuration."""
    return (s.base(e, c) & s.base(e, d)) >> same(c, d)


@claim
def opened_have_a_base(s: Configured, e: Epoch) -> Formula:
    """An epoch that has an initial history began in a configuration."""
    return s.opened(e) >> some(lambda c: s.base(e, c), Config)


@claim
def bases_are_known(s: Configured, e: Epoch, c: Config) -> Formula:
    """An epoch that began in a configuration has an initial history, with its change, which was committed before."""
    return s.base(e, c) >> (s.opened(e) & s.known(e, c) & s.is_made(e, c))


@claim
def active_is_chosen(s: Configured, n: Node, c: Config) -> Formula:
    """A configuration that is active anywhere was committed (R.5)."""
    return s.active(n, c) >> s.is_chosen(c)


@claim
def asked_in_what_is_known(s: Configured, e: Epoch, l: Node, c: Config, q: Quorum) -> Formula:
    """A leader asks in a configuration that was committed before the epoch, or no quorum ever promises the epoch to it.

    Every quorum of the configuration then has a process that is past promising it.
    """
    past = some(lambda n: member(n, q) & ~s.promised(n, e, l) & (s.left(n, e) | s.adopted(n, e)), Node)
    return (s.asked(e, l, c) & of(q, c)) >> (s.known(e, c) | past)


@claim
def change_comes_before(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """A history has the change to the configuration that governs a transaction, before it."""
    made = same(under(t), FIRST) | some(lambda u: makes(u, under(t)) & s.history(e, u) & (u < t), Transaction)
    return s.history(e, t) >> made


@claim
def last_change_governs(s: Configured, e: Epoch, t: Transaction, u: Transaction, d: Config) -> Formula:
    """No change between that to the configuration that governs a transaction and the transaction."""
    return (s.history(e, t) & s.history(e, u) & (u < t) & makes(u, d)) >> (d <= under(t))


@claim
def established_lead(s: Configured, e: Epoch, l: Node) -> Formula:
    """An established leader leads; a quorum of its configuration and of each pending in I_e adopted its epoch (R.9)."""

    def adopted(c: Config, q: Quorum) -> Formula:
        return s.base(e, c) & s.may_establish(e, c, q) & every(lambda n: member(n, q) >> s.adopted(n, e), Node)

    return s.established(e, l) >> (s.led(e, l) & some(adopted, Config, Quorum))


@claim
def committed_by_a_quorum(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """A quorum of the governing configuration accepted what is committed; of a change's own, too (R.3, R.4, R.8)."""

    def accepted(q: Quorum) -> Formula:
        own = every(lambda d: makes(t, d) >> of(q, d), Config)
        return of(q, under(t)) & own & every(lambda n: member(n, q) >> s.accepted(n, e, t), Node)

    return s.committed(e, t) >> some(accepted, Quorum)


@claim
def committed_is_a_prefix(s: Configured, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """With a transaction all before it is committed, from the change to the first configuration of the epoch on."""
    return (s.committed(e, t) & s.history(e, u) & (u < t) & s.is_behind(e, u)) >> s.committed(e, u)


def may_be_broadcast(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that e may still broadcast t: t is the last of e, and no later configuration is known."""
    last = every(lambda u: s.history(e, u) >> (u < t), Transaction)
    governed = every(lambda u, d: (s.history(e, u) & makes(u, d)) >> (d <= under(t)), Transaction, Config)
    known = every(lambda d: s.known(e, d) >> (d <= under(t)), Config)
    return same(epoch_of(t), e) & last & governed & known


@claim
def not_choosable(s: Configured, e: Epoch, f: Epoch, t: Transaction, q: Quorum) -> Formula:
    """A transaction that a later initial history lacks, but not the change to its configuration, is never committed.

    Every quorum of that configuration has a process that left the epoch without having accepted the transaction in it.
    """
    lacks = s.opened(f) & (e < f) & ~s.initial(f, t) & s.is_made(f, under(t))
    may = s.history(e, t) | may_be_broadcast(s, e, t)
    return (lacks & may & of(q, under(t))) >> some(lambda n: member(n, q) & s.left(n, e) & ~s.accepted(n, e, t), Node)


@claim
def not_skipped(s: Configured, e: Epoch, f: Epoch, t: Transaction, q: Quorum, c: Config) -> Formula:
    """An epoch that began without a transaction of an earlier one is not established if a later epoch began with it.

    It never will be: every quorum of all configurations that it takes has a process that left the epoch without having
    adopted it.
    """
    skipped = s.initial(f, t) & (e < f) & (epoch_of(t) < e) & ~s.initial(e, t) & s.base(e, c)
    return (skipped & s.may_establish(e, c, q)) >> some(lambda n: member(n, q) & s.left(n, e) & ~s.adopted(n, e), Node)


CONJUNCTS = (
    of_zab.one_promise,
    of_zab.promises_leave,
    leaders_have_promises,
    of_zab.opened_by_leaders,
    one_base,
    opened_have_a_base,
    bases_are_known,
    active_is_chosen,
    asked_in_what_is_known,
    of_zab.adopted_are_open,
    of_zab.accepted_in_the_epoch,
    of_zab.initial_history_accepted,
    of_zab.accepted_is_a_prefix,
    of_zab.initial_is_earlier,
    of_zab.proposed_in_its_epoch,
    change_comes_before,
    last_change_governs,
    established_lead,
    of_zab.primaries_are_established,
    of_zab.logs_match,
    committed_by_a_quorum,
    committed_is_a_prefix,
    not_choosable,
    not_skipped,
    of_zab.delivered_was_committed,
    of_zab.delivered_is_a_prefix,
    of_zab.primary_is_up_to_date,
    of_zab.knew_what_was_committed,
    of_zab.knew_what_comes_before,
    of_zab.knew_its_initial_history,
)
"""The invariant is all of these together."""
