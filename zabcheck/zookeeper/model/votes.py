"""The votes of FastLeaderElection: their order, and the agreement of notifications (`Vote`, `SyncedLearnerTracker`)."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants import Zxid
from zabcheck.protocols.base import Message, ProcessId

State = Literal["LOOKING", "FOLLOWING", "LEADING"]
"""The state of a notification's sender (`QuorumPeer.ServerState`)."""


class Vote(Struct, frozen=True, order=True, gc=False):
    """A vote for `leader`, which has this currentEpoch and lastProcessedZxid.

    Votes are ordered as in `FastLeaderElection.totalOrderPredicate`: by epoch, then zxid, then id.
    """

    epoch: int
    zxid: Zxid
    leader: ProcessId

    def __str__(self) -> str:
        return f"p{self.leader} ({self.epoch}, {self.zxid})"


class Notification(Message, frozen=True):
    """A message between servers in an election (`FastLeaderElection.Notification`).

    `round` is the sender's logicalclock, or, from one that looks for no leader, that of the election that it is from.
    """

    vote: Vote
    round: int
    state: State


Heard = tuple[tuple[ProcessId, Notification], ...]
"""The last notification of each server, by id."""


class Election(Struct, frozen=True, gc=False):
    """A server's state of elections (`FastLeaderElection`). Nothing of it outlives the process.

    `round` (logicalclock) counts its elections, and is raised to that of others. `vote` is the server it proposes while
    it looks, and afterwards its answer to those that do (`QuorumPeer.currentVote`); None before its first election.
    `looking`: `lookForLeader` has begun, and has not returned. `heard` (recvset) has the votes of this round, `outside`
    (outofelection) the notifications of servers that look for no leader. `agreed`: a quorum votes as it does, so it
    only waits in case a greater vote comes.
    """

    round: int = 0
    vote: Vote | None = None
    looking: bool = False
    heard: Heard = ()
    outside: Heard = ()
    agreed: bool = False


NO_ELECTION = Election()


def with_notification(heard: Heard, sender: ProcessId, n: Notification) -> Heard:
    """Return `heard` with `n` as the last notification of `sender`."""
    return tuple(sorted((*(each for each in heard if each[0] != sender), (sender, n)), key=lambda each: each[0]))


def agrees(one: Notification, other: Notification) -> bool:
    """`Vote.equals`: the same vote in the same round; of two servers that look for no leader, leader and epoch only."""
    if "LOOKING" in (one.state, other.state):
        return (one.vote, one.round) == (other.vote, other.round)
    return (one.vote.leader, one.vote.epoch) == (other.vote.leader, other.vote.epoch)


def supporters(heard: Heard, n: Notification) -> list[ProcessId]:
    """`FastLeaderElection.getVoteTracker`: the servers whose last notification agrees with `n`."""
    return [sender for sender, each in heard if agrees(n, each)]


def says_it_leads(heard: Heard, leader: ProcessId) -> bool:
    """`FastLeaderElection.checkLeader`, of another server: it has been heard to lead, so it is not long gone."""
    return any(sender == leader and each.state == "LEADING" for sender, each in heard)


def in_epoch(election: Election, epoch: int) -> Election:
    """`QuorumPeer.updateElectionVote`: a server that serves answers with its present epoch, not with its vote's.

    So all of one epoch answer alike, whenever each of them joined.
    """
    return election if election.vote is None else replace(election, vote=replace(election.vote, epoch=epoch))
