"""The channels of DSN 2011, II: one connection for each iteration, FIFO, and nothing but prefixes arrive. Those of a
protocol that says so are not FIFO: what is under way may be overtaken by what was sent last.

A follower opens a connection to the leader it was told of, whether that one leads or not; the leader's end opens when
it handles the first message, and only while it leads. Until then the connection is lost if that process crashes, or
hears from a later iteration of the follower. Closing an end loses what was on its way to it, not what it has
sent. The other end goes on as if nothing had happened until it notices, which is a choice of its own. A new connection
replaces the old one between the same two; the leader notices that by a choice too, or by the first message of the new.
Where the switch `closing` says "abrupt", who closes an end loses what it has sent, too, like a TCP reset.

A reset loses what is under way. A connection may also stall one way: what is sent on it stays under way. This module
has a single connection; `channels` opens and closes them, `obstacles` has what holds messages back.
"""

from collections import deque
from enum import IntEnum

from zabcheck.protocols.base import Message, ProcessId


class End(IntEnum):
    """One end of a connection."""

    WAITING = 0  # for the leader to accept it
    OPEN = 1
    CLOSED = 2


Parcel = tuple[Message, int]
"""A message under way, and its number among all messages of the run."""


class Connection:
    """A connection that `follower` opened to `leader`, with a queue each way."""

    __slots__ = (
        "broken",
        "follower",
        "follower_end",
        "leader",
        "leader_end",
        "stalled_to_follower",
        "stalled_to_leader",
        "supersedes",
        "to_follower",
        "to_leader",
    )

    def __init__(self, follower: ProcessId, leader: ProcessId) -> None:
        self.follower = follower
        self.leader = leader
        self.follower_end = End.OPEN
        self.leader_end = End.WAITING
        self.broken = False  # reset on the way: each open end has yet to notice
        self.supersedes = False  # the leader has yet to notice that the connection before this one is gone
        self.stalled_to_leader = False  # what is in the queue stays there
        self.stalled_to_follower = False
        self.to_leader: deque[Parcel] = deque()
        self.to_follower: deque[Parcel] = deque()

    def lose(self) -> list[Parcel]:
        """Reset: both queues are lost; what was in them."""
        lost = [*self.to_leader, *self.to_follower]
        self.to_leader.clear()
        self.to_follower.clear()
        self.broken = True
        return lost

    def reaches_from(self, sender: ProcessId) -> bool:
        """Whether what `sender` sends on it may yet arrive: the other end is not closed."""
        end = self.leader_end if sender == self.follower else self.follower_end
        return not self.broken and end is not End.CLOSED

    def is_stalled(self, sender: ProcessId) -> bool:
        """Whether what comes from `sender` stays under way; where nothing arrives any more, nothing stalls."""
        stalled = self.stalled_to_leader if sender == self.follower else self.stalled_to_follower
        return stalled and self.reaches_from(sender)

    def stall(self, sender: ProcessId, stalled: bool) -> None:
        """Whether to bring what comes from `sender`."""
        if sender == self.follower:
            self.stalled_to_leader = stalled
        else:
            self.stalled_to_follower = stalled

    def copy(self) -> "Connection":
        twin = Connection(self.follower, self.leader)
        twin.follower_end = self.follower_end
        twin.leader_end = self.leader_end
        twin.broken = self.broken
        twin.supersedes = self.supersedes
        twin.stalled_to_leader = self.stalled_to_leader
        twin.stalled_to_follower = self.stalled_to_follower
        twin.to_leader = self.to_leader.copy()
        twin.to_follower = self.to_follower.copy()
        return twin
