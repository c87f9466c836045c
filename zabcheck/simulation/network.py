"""One connection, a channel of DSN 2011, II: one for each iteration, FIFO, so that only prefixes arrive.

If a protocol has `Environment.fifo` False, channels are not FIFO: the last message may overtake the others.

A follower opens a connection to the leader that its oracle named, even if that process does not lead. The leader's end
opens when the leader handles the first message, and only while it leads. Until then the connection is lost if that
process crashes, or hears from a later iteration of the follower. Closing an end loses the messages in transit to that
end, but not those sent from it; where the switch `closing` is "abrupt", it loses both, like a TCP reset. The other end
goes on as if nothing had happened until it notices, which is a choice of its own. A new connection replaces the old one
between the same two; the leader notices that by a choice too, or by the first message on the new one.

A reset loses all messages in transit. A connection may also stall in one direction: its messages then stay in transit.
`channels` opens and closes connections, `obstacles` has what delays messages.
"""

from collections import deque
from enum import IntEnum
from typing import Literal

from zabcheck.protocols.base import Message, ProcessId


class End(IntEnum):
    """One end of a connection."""

    WAITING = 0  # the leader has yet to accept it
    OPEN = 1
    CLOSED = 2


Parcel = tuple[Message, int]
"""A message in transit, and its number among all messages of the run."""


def state_of(connection: "Connection | None") -> Literal["waiting", "open", "closed"]:
    """Return the state of a connection that a process has opened to the one that it follows; None: it is gone."""
    if connection is None or connection.broken or End.CLOSED in (connection.follower_end, connection.leader_end):
        return "closed"
    return "waiting" if connection.leader_end is End.WAITING else "open"


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
        self.broken = False  # reset: each open end has yet to notice
        self.supersedes = False  # the leader has yet to notice that the connection before this one is gone
        self.stalled_to_leader = False  # the messages in the queue stay there
        self.stalled_to_follower = False
        self.to_leader: deque[Parcel] = deque()
        self.to_follower: deque[Parcel] = deque()

    def lose(self) -> list[Parcel]:
        """Reset the connection, and return the messages that were in its two queues and are lost."""
        lost = [*self.to_leader, *self.to_follower]
        self.to_leader.clear()
        self.to_follower.clear()
        self.broken = True
        return lost

    def reaches_from(self, sender: ProcessId) -> bool:
        """Return True if a message from `sender` on this connection may still arrive: the other end is not closed."""
        end = self.leader_end if sender == self.follower else self.follower_end
        return not self.broken and end is not End.CLOSED

    def unnoticed(self) -> list[tuple[ProcessId, ProcessId]]:
        """Return (process, peer) for each end that has yet to notice that the other is closed, or was replaced."""
        found = []
        if self.follower_end is End.OPEN and (self.leader_end is End.CLOSED or self.broken):
            found.append((self.follower, self.leader))
        if self.supersedes or (self.leader_end is End.OPEN and (self.follower_end is End.CLOSED or self.broken)):
            found.append((self.leader, self.follower))
        return found

    def is_stalled(self, sender: ProcessId) -> bool:
        """Return True if messages from `sender` stay in transit; False if nothing can arrive from there anyway."""
        stalled = self.stalled_to_leader if sender == self.follower else self.stalled_to_follower
        return stalled and self.reaches_from(sender)

    def stall(self, sender: ProcessId, stalled: bool) -> None:
        """Stall the direction from `sender`, or with `stalled` False let its messages through again."""
        if sender == self.follower:
            self.stalled_to_leader = stalled
        else:
            self.stalled_to_follower = stalled

    def copy(self) -> "Connection":
        twin = object.__new__(Connection)
        twin.follower, twin.leader = self.follower, self.leader
        twin.follower_end, twin.leader_end = self.follower_end, self.leader_end
        twin.broken, twin.supersedes = self.broken, self.supersedes
        twin.stalled_to_leader, twin.stalled_to_follower = self.stalled_to_leader, self.stalled_to_follower
        twin.to_leader = self.to_leader.copy()
        twin.to_follower = self.to_follower.copy()
        return twin
