"""Claim 7 (DSN 2011, VI-D) as something that can be tried: an environment that no longer disturbs.

The claim: if a quorum is up and chooses one leader, and messages between them are timely, then what the leader
proposes is committed. "Timely" is made of rounds here: in a round each member handles what waited for it, then syncs
its disk. The bounds are those of the three phases: CEPOCH, NEWEPOCH, ACK-E, NEWLEADER, ACK-LD and COMMIT-LD take a
round each; PROPOSE, ACK and COMMIT another each.
"""

from collections.abc import Callable, Collection, Iterator

from invariants.quorums import Quorums
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice

ROUNDS_TO_LEAD = 6
ROUNDS_TO_DELIVER = 3
REQUESTS = 2

Waiting = list[tuple[int, int, int]]


def is_least(quorums: Quorums, leader: int, members: Collection[int]) -> bool:
    """Whether `members` are a quorum with `leader`, and none without any one of the others."""
    return (
        leader in members
        and quorums.contains(members)
        and not any(
            quorums.contains([each for each in members if each != left_out])
            for left_out in members
            if left_out != leader
        )
    )


def least(quorums: Quorums, leader: int, members: Collection[int]) -> tuple[int, ...] | None:
    """`members` without those, from the first on, that a quorum with `leader` does not need; None if they are none."""
    if leader not in members or not quorums.contains(members):
        return None
    left = list(members)
    for each in members:
        fewer = [member for member in left if member != each]
        if each != leader and quorums.contains(fewer):
            left = fewer
    return tuple(sorted(left))


def calm(members: Collection[int]) -> Iterator[Choice]:
    """Repair everything: the links, what stands still, and what is down."""
    yield choices.Heal()
    for process in members:
        yield choices.Wake(process)
        yield choices.Recover(process)


def lead_and_deliver(
    leader: int, members: Collection[int], switches: Switches, waiting: Callable[[], Waiting]
) -> Iterator[Choice]:
    """All choose `leader`, which is then not disturbed."""
    yield from choose(leader, members, switches.elections == "together")
    yield from undisturbed(leader, members, switches.counter_limit, waiting)


def undisturbed(
    leader: int, members: Collection[int], counter_limit: int, waiting: Callable[[], Waiting]
) -> Iterator[Choice]:
    """`leader`, whom all have chosen, is given the rounds to lead; it is asked, and given those to deliver."""
    for _ in range(ROUNDS_TO_LEAD):
        yield from a_round(members, waiting())
    yield from ask(leader, counter_limit)
    for _ in range(ROUNDS_TO_DELIVER):
        yield from a_round(members, waiting())


def choose(leader: int, members: Collection[int], together: bool) -> Iterator[Choice]:
    """All choose `leader`; that begins a new iteration, at the leader first."""
    followers = [process for process in members if process != leader]
    if together:
        yield choices.Lead(leader, tuple(followers))
        return
    yield choices.Elect(leader, leader)
    for follower in followers:
        yield choices.Elect(follower, leader)


def a_round(members: Collection[int], waiting: Waiting) -> Iterator[Choice]:
    """Each member handles what waits for it from the others, then syncs."""
    for process, sender, count in sorted(waiting):
        if process in members and sender in members:
            for _ in range(count):
                yield choices.Receive(process, sender)
    for process in members:
        yield choices.Sync(process)


def ask(leader: int, counter_limit: int) -> Iterator[Choice]:
    """Clients ask, but not for more than the epoch has counters."""
    for _ in range(min(REQUESTS, counter_limit)):
        yield choices.Request(leader)
