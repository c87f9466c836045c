"""The consequences of the invariant: claims that follow from its conjuncts in every state, and that proofs may use.

No step has to keep them. Each is proved once, also from those before it; three use that of finitely many things one is
the first (`assumptions`).
"""

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
def one_leader(s: Configured, e: Epoch, k: Node, l: Node) -> Formula:
    """An epoch has one leader, established or not (V-C)."""
    return (s.led(e, k) & s.led(e, l)) >> same(k, l)


@claim
def initial_was_broadcast(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """A transaction of an initial history was broadcast in the epoch of its zxid."""
    return s.initial(e, t) >> s.proposed(epoch_of(t), t)


@claim
def committed_in_the_history(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """A transaction committed in an epoch is in its history."""
    return s.committed(e, t) >> (s.opened(e) & s.history(e, t))


@claim
def committed_now_or_before(s: Configured, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """A transaction before a committed one is committed in that epoch, or comes before one of an earlier epoch."""

    def earlier(d: Epoch, v: Transaction) -> Formula:
        return (d < e) & s.committed(d, v) & s.history(d, u) & (u < v)

    before = s.committed(e, t) & s.history(e, u) & (u < t)
    committed = some(lambda d: (d <= e) & s.committed(d, u), Epoch)
    return before >> (committed | some(earlier, Epoch, Transaction))


@claim
def earlier_were_committed(s: Configured, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """With a transaction all before it is committed, in the same epoch or in an earlier one."""
    return (s.committed(e, t) & s.history(e, u) & (u < t)) >> some(lambda d: (d <= e) & s.committed(d, u), Epoch)


@claim
def committed_behind_its_change(s: Configured, e: Epoch, t: Transaction) -> Formula:
    """The first configuration, or one that is committed by then, governs what is committed."""
    made = some(lambda d, u: makes(u, under(t)) & (d <= e) & s.committed(d, u), Epoch, Transaction)
    return s.committed(e, t) >> (same(under(t), FIRST) | made)


@claim
def lost_has_an_earlier_one(s: Configured, e: Epoch, f: Epoch, t: Transaction) -> Formula:
    """A committed transaction that a later initial history lacks is not the first: the change before it is lacking."""

    def earlier(d: Epoch, u: Transaction) -> Formula:
        return (u < t) & (d < f) & s.committed(d, u) & ~s.initial(f, u)

    return (s.committed(e, t) & s.opened(f) & (e < f) & ~s.initial(f, t)) >> some(earlier, Epoch, Transaction)


@claim
def committed_survives(s: Configured, e: Epoch, f: Epoch, t: Transaction) -> Formula:
    """A committed transaction is in the initial history of every later epoch (claim 2 of the technical report)."""
    return (s.committed(e, t) & s.opened(f) & (e < f)) >> s.initial(f, t)


def passed_over(s: Configured, e: Epoch, f: Epoch, c: Config, q: Quorum) -> Formula:
    """Return the formula that e, which may end in c, has no leader, but the later epoch f has, with the change to c."""
    made = every(lambda u: makes(u, c) >> (epoch_of(u) < e), Transaction)
    last = every(lambda d: s.known(e, d) >> (d <= c), Config)
    return s.opened(f) & (e < f) & ~s.opened(e) & s.is_made(f, c) & of(q, c) & made & last


@claim
def first_behind_unopened_left(s: Configured, e: Epoch, f: Epoch, c: Config, q: Quorum) -> Formula:
    """The first epoch behind one without a leader that has the change to what may be its last configuration asked that.

    So each quorum of that configuration has a process that left.
    """
    first = every(lambda g: ((e < g) & s.opened(g) & s.is_made(g, c)) >> (f <= g), Epoch)
    return (passed_over(s, e, f, c, q) & first) >> some(lambda n: member(n, q) & s.left(n, e), Node)


@claim
def unopened_is_dead(s: Configured, e: Epoch, f: Epoch, c: Config, q: Quorum) -> Formula:
    """Every quorum of a configuration that may be the last of an epoch without a leader left it for a later one."""
    return passed_over(s, e, f, c, q) >> some(lambda n: member(n, q) & s.left(n, e), Node)


CONSEQUENCES = (
    one_leader,
    initial_was_broadcast,
    committed_in_the_history,
    committed_now_or_before,
    earlier_were_committed,
    committed_behind_its_change,
    lost_has_an_earlier_one,
    committed_survives,
    first_behind_unopened_left,
    unopened_is_dead,
)
"""All of them, in the order in which they follow."""
