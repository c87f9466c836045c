"""The inductive invariant: formulas that are true at the start, which each step keeps if all are true before it.

A state that no run reaches may satisfy them too: that does no harm, as long as it satisfies the properties as well.
"""

from collections.abc import Callable

from msgspec import Struct

from zabcheck.proof.logic import (
    ZERO,
    Epoch,
    ForAll,
    Formula,
    Node,
    Quorum,
    Term,
    Transaction,
    epoch_of,
    every,
    member,
    parameters,
    same,
    some,
)
from zabcheck.proof.relations import Relations, State


class Claim(Struct, frozen=True):
    """A conjunct of the invariant, or a property: a formula about any state, true of all `terms`."""

    name: str
    text: str
    terms: tuple[Term, ...]
    says: Callable[..., Formula]

    def of(self, s: Relations) -> Formula:
        """Return the formula for this state, for all of the terms."""
        says = self.says(s, *self.terms)
        return ForAll(self.terms, says) if self.terms else says

    def goal(self, before: Relations, after: Relations) -> Formula:
        """Return the formula to prove about a step: that the claim is true after it."""
        return self.of(after)


def claim(function: Callable[..., Formula], kind: type[Claim] = Claim) -> Claim:
    """Make a claim of a definition; its parameters are meant for all processes, epochs and so on."""
    text = " ".join((function.__doc__ or "").split())
    return kind(function.__name__.replace("_", " "), text, parameters(function), function)


@claim
def one_promise(s: State, n: Node, e: Epoch, k: Node, l: Node) -> Formula:
    """A process promises an epoch to one leader only (f.1.2)."""
    return (s.promised(n, e, k) & s.promised(n, e, l)) >> same(k, l)


@claim
def promises_leave(s: State, n: Node, d: Epoch, e: Epoch, l: Node) -> Formula:
    """A process that promised or adopted an epoch left all earlier ones (invariant 3)."""
    return ((s.promised(n, e, l) | s.adopted(n, e)) & (d < e)) >> s.left(n, d)


@claim
def leaders_have_promises(s: State, e: Epoch, l: Node) -> Formula:
    """A quorum promised an epoch to its leader (l.1.2)."""
    return s.led(e, l) >> some(lambda q: every(lambda n: member(n, q) >> s.promised(n, e, l), Node), Quorum)


@claim
def opened_by_leaders(s: State, e: Epoch) -> Formula:
    """An epoch has an initial history if it has a leader, or is epoch 0 (definition IV.2)."""
    has_leader = some(lambda l: s.led(e, l), Node)
    return (s.opened(e) >> (same(e, ZERO) | has_leader)) & ((same(e, ZERO) | has_leader) >> s.opened(e))


@claim
def adopted_are_open(s: State, n: Node, e: Epoch) -> Formula:
    """Only an epoch that has an initial history is adopted (f.2.1)."""
    return s.adopted(n, e) >> s.opened(e)


@claim
def accepted_in_the_epoch(s: State, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A process accepts in an epoch only transactions of the epoch's history, and has adopted it (invariant 1)."""
    return s.accepted(n, e, t) >> (s.history(e, t) & s.adopted(n, e))


@claim
def initial_history_accepted(s: State, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A process that adopted an epoch accepted all of its initial history (f.2.1)."""
    return (s.adopted(n, e) & s.initial(e, t)) >> s.accepted(n, e, t)


@claim
def accepted_is_a_prefix(s: State, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """The transactions that a process accepted in an epoch are a prefix of the epoch's history (f.3.2)."""
    return (s.accepted(n, e, t) & s.history(e, u) & (u < t)) >> s.accepted(n, e, u)


@claim
def initial_is_earlier(s: State, e: Epoch, t: Transaction) -> Formula:
    """An initial history is of earlier epochs, and only an epoch that has one has transactions in it."""
    return s.initial(e, t) >> ((epoch_of(t) < e) & s.opened(e))


@claim
def proposed_in_its_epoch(s: State, e: Epoch, t: Transaction) -> Formula:
    """A transaction broadcast in an epoch is of that epoch, which has an initial history (l.3.1)."""
    return s.proposed(e, t) >> (same(epoch_of(t), e) & s.opened(e))


@claim
def established_lead(s: State, e: Epoch, l: Node) -> Formula:
    """An established leader leads, and a quorum adopted its epoch (definition V.1)."""
    adopted = some(lambda q: every(lambda n: member(n, q) >> s.adopted(n, e), Node), Quorum)
    return s.established(e, l) >> (s.led(e, l) & adopted)


@claim
def primaries_are_established(s: State, e: Epoch, t: Transaction) -> Formula:
    """Only an established leader broadcasts (l.2.2 before l.3.1)."""
    return s.proposed(e, t) >> some(lambda l: s.established(e, l), Node)


@claim
def logs_match(s: State, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Log matching: up to one of its transactions, a history is that of the epoch of the transaction."""
    own = epoch_of(t)
    up_to_t = s.history(e, t) & (u <= t)
    return up_to_t >> ((s.history(e, u) >> s.history(own, u)) & (s.history(own, u) >> s.history(e, u)))


@claim
def committed_by_a_quorum(s: State, e: Epoch, t: Transaction) -> Formula:
    """A transaction committed in an epoch is in its history, and was accepted in it by a quorum (definition VI.1)."""
    accepted = some(lambda q: every(lambda n: member(n, q) >> s.accepted(n, e, t), Node), Quorum)
    return s.committed(e, t) >> (s.history(e, t) & accepted)


@claim
def not_choosable(s: State, e: Epoch, f: Epoch, t: Transaction, q: Quorum) -> Formula:
    """A transaction that a later initial history lacks is not committed in an epoch, and never will be.

    Every quorum has a process that left the epoch without having accepted the transaction in it.
    """
    lacks = s.opened(f) & (e < f) & ~s.initial(f, t)
    return lacks >> some(lambda n: member(n, q) & s.left(n, e) & ~s.accepted(n, e, t), Node)


@claim
def not_skipped(s: State, e: Epoch, f: Epoch, t: Transaction, q: Quorum) -> Formula:
    """An epoch that began without a transaction of an earlier one is not established if a later epoch began with it.

    It never will be: every quorum has a process that left the epoch without having adopted it.
    """
    skipped = s.initial(f, t) & (e < f) & (epoch_of(t) < e) & ~s.initial(e, t)
    return skipped >> some(lambda n: member(n, q) & s.left(n, e) & ~s.adopted(n, e), Node)


@claim
def delivered_was_committed(s: State, n: Node, t: Transaction) -> Formula:
    """A delivered transaction was committed in some epoch (f.3.3)."""
    return s.delivered(n, t) >> some(lambda e: s.committed(e, t), Epoch)


@claim
def delivered_is_a_prefix(s: State, n: Node, t: Transaction, u: Transaction) -> Formula:
    """A process that delivered a transaction delivered all before it in the history of its epoch."""
    return (s.delivered(n, t) & (u < t) & s.history(epoch_of(t), u)) >> s.delivered(n, u)


@claim
def primary_is_up_to_date(s: State, e: Epoch, l: Node, t: Transaction, u: Transaction) -> Formula:
    """A primary that has broadcast delivered the initial history of its epoch (f.2.2 before f.3.1)."""
    return (s.proposed(e, t) & s.led(e, l) & s.initial(e, u)) >> s.delivered(l, u)


@claim
def knew_what_was_committed(s: State, t: Transaction, u: Transaction) -> Formula:
    """A transaction that the primary of u had delivered when it broadcast u was committed in some epoch."""
    return s.knew(u, t) >> some(lambda e: s.committed(e, t), Epoch)


@claim
def knew_what_comes_before(s: State, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """In a history that has both, a transaction that the primary had delivered when it broadcast u comes before u."""
    return (s.knew(u, t) & s.history(e, t) & s.history(e, u)) >> (t < u)


@claim
def knew_its_initial_history(s: State, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """The primary that broadcast u had delivered the initial history of its epoch (f.2.2 before f.3.1)."""
    return (s.proposed(e, u) & s.initial(e, t)) >> s.knew(u, t)


CONJUNCTS = (
    one_promise,
    promises_leave,
    leaders_have_promises,
    opened_by_leaders,
    adopted_are_open,
    accepted_in_the_epoch,
    initial_history_accepted,
    accepted_is_a_prefix,
    initial_is_earlier,
    proposed_in_its_epoch,
    established_lead,
    primaries_are_established,
    logs_match,
    committed_by_a_quorum,
    not_choosable,
    not_skipped,
    delivered_was_committed,
    delivered_is_a_prefix,
    primary_is_up_to_date,
    knew_what_was_committed,
    knew_what_comes_before,
    knew_its_initial_history,
)
"""The invariant is all of these together."""
