"""The assumptions of liveness: who stays up and is heard from, and how many things there are.

That steps are fair is not here but in the rule of `stages`: a step for which a lasting connection waits is taken.
"""

from collections.abc import Callable

from zabcheck.proof import assumptions
from zabcheck.proof.liveness import steps
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import Connection, Formula, Node, Quorum, Transaction, every, follower, member, same, some

_s = Iteration()
_ORDERED = "transactions are ordered"
ASSUMPTIONS = {_ORDERED: assumptions.ASSUMPTIONS[_ORDERED]}
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
    """A quorum of processes stay up, elect the leader, and keep a connection to it (claim 7)."""
    return some(lambda q: steps.all_of(q, lasts), Quorum)


@assumption
def the_leader_stays() -> Formula:
    """The leader is one of them: it is its own follower."""
    return some(lambda n: _s.leads(n) & lasts(n), Node)


@assumption
def no_promise_is_later() -> Formula:
    """None of them has an f.p greater than e'. So it is if e' was chosen with CEPOCHs of all of them (l.1.1)."""
    return every(lambda c: _s.lasting(c) >> ~_s.refuses(c), Connection)


@assumption
def the_leader_does_not_give_up() -> Formula:
    """The leader's iteration goes on: before there is an I_e' no lasting connection brings the wrong ACK-E.

    It would be one that does not count, of a follower that has sent none that does. The leader gives up then, and its
    next e' is greater.
    """

    def goes_on(c: Connection) -> Formula:
        return _s.counts(c) | _s.provided(follower(c)) | _s.history_chosen()

    return every(lambda c: (_s.lasting(c) & _s.answered(c)) >> goes_on(c), Connection)


@assumption
def histories_are_finite() -> Formula:
    """If a transaction up to t is not accepted yet, or not delivered yet, then there is a first one that is not."""
    unaccepted = _has_first(lambda c, t: _s.on(c, t) & ~_s.accepted(c, t))
    undelivered = _has_first(lambda c, t: _s.accepted(c, t) & ~_s.delivered(follower(c), t))
    return unaccepted & undelivered
