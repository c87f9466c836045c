"""Obstacles, which delay messages and processes until they are taken away: cuts, holds, stalls and pauses.

A cut delays all messages of a link, a hold one kind of message and all behind it. Both belong to the link, so they stay
when the two processes open a new connection. A stall belongs to a connection, in one direction: a new connection
between the same two works. A paused process does nothing.

No obstacle loses a message, and no process notices one.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from zabcheck.protocols.base import Message
from zabcheck.simulation.network import Connection

Connections = Mapping[tuple[int, int], Connection]


class Obstacles:
    """The obstacles of a run.

    `connections` belongs to the channels: a stall is a flag of a connection. Methods that add or remove an obstacle
    return True if that changed anything.
    """

    __slots__ = ("connections", "cuts", "disturbed", "holds", "paused")

    def __init__(self, connections: Connections) -> None:
        self.connections = connections  # by (follower, leader)
        self.cuts: set[tuple[int, int]] = set()  # (sender, receiver)
        self.holds: dict[tuple[int, int], tuple[type[Message], ...]] = {}  # by (sender, receiver)
        self.paused: set[int] = set()
        self.disturbed = False  # may be True without need, but never False while there is an obstacle

    def copy(self, connections: Connections) -> "Obstacles":
        """Return an independent copy for a copy of the channels, whose `connections` have the same stalls."""
        twin = Obstacles(connections)
        twin.cuts = self.cuts.copy()
        twin.holds = self.holds.copy()
        twin.paused = self.paused.copy()
        twin.disturbed = self.disturbed
        return twin

    # Adding and removing obstacles.

    def cut(self, sender: int, receiver: int) -> bool:
        """Cut the link from `sender` to `receiver`."""
        if (sender, receiver) in self.cuts or sender == receiver:
            return False
        self.cuts.add((sender, receiver))
        self.disturbed = True
        return True

    def hold(self, sender: int, receiver: int, kinds: tuple[type[Message], ...]) -> bool:
        """Stop the link from `sender` to `receiver` at the next message of one of these kinds."""
        held = self.holds.get((sender, receiver), ())
        if sender == receiver or all(kind in held for kind in kinds):
            return False
        self.holds[sender, receiver] = held + kinds
        self.disturbed = True
        return True

    def stall(self, sender: int, receiver: int) -> bool:
        """Stall the connections between the two, in the direction from `sender` to `receiver`."""
        found = [c for c in self._between(sender, receiver) if c.reaches_from(sender) and not c.is_stalled(sender)]
        if not found:
            return False
        for connection in found:
            connection.stall(sender, True)
        self.disturbed = True
        return True

    def mend(self, sender: int, receiver: int) -> bool:
        """Take away every obstacle on the link from `sender` to `receiver`."""
        link = sender, receiver
        connections = self._between(sender, receiver)
        stalled = any(connection.is_stalled(sender) for connection in connections)
        if link not in self.cuts and link not in self.holds and not stalled:
            return False
        self.cuts.discard(link)
        self.holds.pop(link, None)
        for connection in connections:
            connection.stall(sender, False)
        self.disturbed = self._is_any_left()
        return True

    def heal(self) -> bool:
        """Take away every obstacle on every link; paused processes stay paused."""
        if not self.links():
            return False
        self.cuts.clear()
        self.holds.clear()
        for connection in self.connections.values():
            connection.stall(connection.follower, False)
            connection.stall(connection.leader, False)
        self.disturbed = self._is_any_left()
        return True

    def pause(self, process: int) -> bool:
        if process in self.paused:
            return False
        self.paused.add(process)
        self.disturbed = True
        return True

    def wake(self, process: int) -> bool:
        if process not in self.paused:
            return False
        self.paused.remove(process)
        self.disturbed = self._is_any_left()
        return True

    # Effects of the obstacles.

    def stops(self, choice: Any) -> bool:
        """Return True if `choice` is an act of a process that is paused."""
        return choice.is_own and choice.process in self.paused

    def links(self) -> list[tuple[int, int]]:
        """Return (sender, receiver) of each link that is cut, stalled or held, sorted."""
        if not self.disturbed:
            return []
        stalled = [
            (sender, receiver)
            for pair, connection in self.connections.items()
            for sender, receiver in (pair, pair[::-1])
            if connection.is_stalled(sender)
        ]
        return sorted({*self.cuts, *self.holds, *stalled})

    def passing(self, found: list[tuple[int, int, int]], following: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return the part of `found` that can be handled, as (process, sender, number of messages) like `found`."""
        passing = []
        cuts, paused, holds, connections = self.cuts, self.paused, self.holds, self.connections
        for each in found:
            process, sender, number = each
            if (sender, process) in cuts or process in paused:
                continue
            connection = connections[(sender, process) if following[process] == process else (process, sender)]
            if not (holds or connection.stalled_to_leader or connection.stalled_to_follower):
                passing.append(each)
            elif free := self.let_through(connection, sender, process, number):
                passing.append((process, sender, free))
        return passing

    def let_through(self, connection: Connection, sender: int, receiver: int, number: int) -> int:
        """Return how many of the first `number` messages from `sender` to `receiver` get through."""
        link = sender, receiver
        if link in self.cuts or connection.is_stalled(sender):
            return 0
        held = self.holds.get(link)
        if held is None:
            return number
        queue = connection.to_leader if sender == connection.follower else connection.to_follower
        return next((i for i, (message, _) in enumerate(islice(queue, number)) if type(message) in held), number)

    def _between(self, sender: int, receiver: int) -> list[Connection]:
        """Return the connections between two processes, at most two: each may have opened one to the other."""
        found = (self.connections.get((sender, receiver)), self.connections.get((receiver, sender)))
        return [connection for connection in found if connection is not None]

    def _is_any_left(self) -> bool:
        if self.paused or self.cuts or self.holds:
            return True
        return any(c.is_stalled(c.follower) or c.is_stalled(c.leader) for c in self.connections.values())
