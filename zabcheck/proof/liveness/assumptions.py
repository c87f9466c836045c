"""The assumptions of liveness: who stays up and is heard from, and how many things there are.

That steps are fair is not here but in the rule of `stages`: a step for which a lasting connection waits is taken.
"""

from collections.abc import Callable

from zabcheck.proof import assumptions
from zabcheck.proof.liveness import steps
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import (
    Connection,
    Epoch,
    Formula,
    Node,
    Quorum,
    Transaction,
    every,
    follower,
    member,
    same,
    some,
)

_s = Iteration()
ASSUMPTIONS = {name: assumptions.ASSUMPTIONS[name] for name in ("epochs are ordered", "transactions are ordered")}
"""Each assumption by its name."""
assumption = assumptions.assumed(ASSUMPTIONS)


def lasts(n: Node) -> Formula:
    """Return the formula that the process has a lasting connection."""
    return some(lambda c: same(follower(c), n) & _s.lasting(c), Connection)


def _has_first(is_left: Callable[..., Formula]) -> Formula:
    """Return the formula that where `is_left` is true of a connection and a transaction, it is so of a first one."""

    def is_first(c: Connection, u: Transaction) -> Formula:
        return is_left(c, u) & every(lambda v: (v < u) >> ~is_left(c, v), Transaction)

    return every(
        lambda c, t: is_left(c, t) >> some(lambda u: (u <= t) & is_first(c, u), Transaction), Connection, Transaction
    )


@assumption
def quorums_have_members() -> Formula:
    """No quorum is empty. That two of them have a process in common is not needed to get on."""
    return every(lambda q: some(lambda n: member(n, q), Node), Quorum)


@assumption
def a_quorum_stays() -> Formula:
    """The processes of a quorum stay up, elect the leader, and keep a connection to it (claim 7)."""
    return some(lambda q: steps.all_of(q, lasts), Quorum)


@assumption
def the_leader_stays() -> Formula:
    """The leader stays up, too, and has a connection to itself as its own follower."""
    return some(lambda n: _s.leads(n) & lasts(n), Node)


@assumption
def each_has_a_promise() -> Formula:
    """A follower has one f.p, which may be 0."""
    one = every(lambda c, e, f: (_s.promised(c, e) & _s.promised(c, f)) >> same(e, f), Connection, Epoch, Epoch)
    return one & every(lambda c: some(lambda e: _s.promised(c, e), Epoch), Connection)


@assumption
def epochs_are_endless() -> Formula:
    """There is an epoch greater than those of finitely many CEPOCHs."""
    return some(lambda e: steps.is_greater(_s, e), Epoch)


@assumption
def nobody_comes_too_late() -> Formula:
    """Whoever comes after e' was chosen has f.p ≤ e'; until there is an I_e', its ACK-E counts, or an earlier one does.

    Else the leader gives up, and its next e' is greater. Of those whose CEPOCH came in time nothing is assumed.
    """

    def goes_on(c: Connection) -> Formula:
        counts = _s.answered(c) >> (_s.counts(c) | _s.provided(follower(c)) | _s.history_chosen())
        return ~_s.refuses(c) & counts

    return every(lambda c: (_s.lasting(c) & ~_s.in_time(c)) >> goes_on(c), Connection)


@assumption
def histories_are_finite() -> Formula:
    """If a transaction up to t is not accepted yet, or not delivered yet, then there is a first one that is not."""
    unaccepted = _has_first(lambda c, t: _s.on(c, t) & ~_s.accepted(c, t))
    undelivered = _has_first(lambda c, t: _s.accepted(c, t) & ~_s.delivered(follower(c), t))
    return unaccepted & undelivered
