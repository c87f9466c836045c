"""Claim 7 (DSN 2011, VI-D) made executable: an environment that stops disturbing.

The claim: if a quorum is up and chooses one leader, and messages between them are timely, then what the leader
proposes is committed. Here "timely" is counted in rounds: in a round each member handles what waited for it, then syncs
its disk. The bounds follow from the three phases: CEPOCH, NEWEPOCH, ACK-E, NEWLEADER, ACK-LD and COMMIT-LD take one
round each, so do PROPOSE, ACK and COMMIT. They are those of Zab: a protocol with more messages would need bounds of its
own, which a `Protocol` cannot state yet.

The claim begins "if l proposes a transaction", and says nothing of how soon it does. A leader whose first try fails may
propose in a later one: one that takes the epoch after its own, say, and has to come up with what others have promised.
So while the leader may not broadcast, all choose it again: `tries` says how often.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from invariants.quorums import Quorums
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice

ROUNDS_TO_LEAD = 6
ROUNDS_TO_DELIVER = 3
REQUESTS = 2
MOST_TRIES = 10
"""No leader is chosen more often than this: epochs that are no small numbers may be far apart."""

Waiting = list[tuple[int, int, int]]


class Ensemble(Protocol):
    """What the environment can see of the run that it leaves undisturbed, at any moment."""

    def waiting(self) -> Waiting:
        """Return (process, sender, number of messages) for each link from which a message can be handled."""

    def may_broadcast(self, process: int) -> bool:
        """Whether `process` is up and takes a client's request."""

    def highest_epoch(self, process: int) -> int:
        """Return the highest epoch that `process` has promised or proposed, as far as the protocol tells; else 0."""


def is_least(quorums: Quorums, leader: int, members: Collection[int]) -> bool:
    """Whether `members` are a quorum that includes `leader` and stops being one without any other member."""
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
    """Return `members` less those that a quorum with `leader` does not need, or None if `members` are no such quorum.

    Members are left out greedily, from the first on.
    """
    if leader not in members or not quorums.contains(members):
        return None
    left = list(members)
    for each in members:
        fewer = [member for member in left if member != each]
        if each != leader and quorums.contains(fewer):
            left = fewer
    return tuple(sorted(left))


def calm(members: Collection[int]) -> Iterator[Choice]:
    """Repair everything: mend the links, wake the paused processes, recover those that are down."""
    yield choices.Heal()
    for process in members:
        yield choices.Wake(process)
        yield choices.Recover(process)


def lead_and_deliver(leader: int, members: Collection[int], switches: Switches, ensemble: Ensemble) -> Iterator[Choice]:
    """Have all members choose `leader`, then leave it undisturbed while it leads and delivers."""
    yield from choose(leader, members, switches.elections == "together")
    yield from undisturbed(leader, members, switches, ensemble)


def undisturbed(leader: int, members: Collection[int], switches: Switches, ensemble: Ensemble) -> Iterator[Choice]:
    """Give `leader`, which all have chosen, the rounds to become established; then requests, and rounds to deliver.

    If it may not broadcast after these rounds, all choose it again, within the bound.
    """
    for left in reversed(range(tries(leader, members, ensemble))):
        for _ in range(ROUNDS_TO_LEAD):
            yield from a_round(members, ensemble.waiting())
        if not left or ensemble.may_broadcast(leader):
            break
        yield from choose(leader, members, switches.elections == "together")
    yield from ask(leader, switches.counter_limit)
    for _ in range(ROUNDS_TO_DELIVER):
        yield from a_round(members, ensemble.waiting())


def tries(leader: int, members: Collection[int], ensemble: Ensemble) -> int:
    """Return how often all choose `leader`: twice, and once more for each epoch by which it is behind the members."""
    epochs = [ensemble.highest_epoch(member) for member in members]
    return min(2 + max(epochs) - ensemble.highest_epoch(leader), MOST_TRIES)


def choose(leader: int, members: Collection[int], together: bool) -> Iterator[Choice]:
    """Have all members choose `leader`: a new iteration, which begins at the leader."""
    followers = [process for process in members if process != leader]
    if together:
        yield choices.Lead(leader, tuple(followers))
        return
    yield choices.Elect(leader, leader)
    for follower in followers:
        yield choices.Elect(follower, leader)


def a_round(members: Collection[int], waiting: Waiting, threads: Iterable[tuple[int, str]] = ()) -> Iterator[Choice]:
    """Let each member handle what waits for it from the others, then sync, then give each of its threads a turn."""
    for process, sender, count in sorted(waiting):
        if process in members and sender in members:
            for _ in range(count):
                yield choices.Receive(process, sender)
    for process in members:
        yield choices.Sync(process)
    for process, thread in threads:
        if process in members:
            yield choices.Run(process, thread)


def ask(leader: int, counter_limit: int) -> Iterator[Choice]:
    """Have clients ask `leader` to broadcast, but not more often than the epoch has counters."""
    for _ in range(min(REQUESTS, counter_limit)):
        yield choices.Request(leader)
