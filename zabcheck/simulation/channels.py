"""All connections of a run: the leader that each process follows, messages sent and received, ends of connections.

A process opens a connection to the process that it follows, and accepts connections to itself while it leads. A message
to a process without such a connection is lost. As a rule a process that opens a connection closes its previous one; a
protocol may keep it, and then still receives from the leader it followed before. `network` has a single connection and
the rules by which its messages are lost, `obstacles` has the delays.
"""

from collections import deque
from collections.abc import Callable
from typing import Literal

from zabcheck.protocols.base import Message
from zabcheck.simulation.network import Connection, End, Parcel, state_of
from zabcheck.simulation.obstacles import Obstacles

NOBODY = 0
_WAITING, _OPEN, _CLOSED = End.WAITING, End.OPEN, End.CLOSED

Lost = Callable[[list[Parcel]], None]


class Casts:
    """The messages outside of connections (`base.Cast`) in transit, none at first: from any process to any other.

    Elections use them, and followers that tell each other what they have accepted. Each process has a link of its own
    with every other one for them, in both directions, outside of the connections to leaders. A link keeps the order,
    and loses nothing while the receiver is up. A cut delays its messages; a connection that breaks or stalls does not.
    A message that is still in transit is not sent again. A process that was down finds only the last one of each
    sender.

    `queues` has them by (sender, receiver); none is empty.
    """

    __slots__ = ("obstacles", "queues")

    def __init__(self, obstacles: Obstacles) -> None:
        self.obstacles = obstacles
        self.queues: dict[tuple[int, int], deque[Parcel]] = {}

    def copy(self, obstacles: Obstacles) -> "Casts":
        """Return an independent copy. O(messages in transit)."""
        twin = Casts(obstacles)
        twin.queues = {link: queue.copy() for link, queue in self.queues.items()}
        return twin

    def cast(self, sender: int, receiver: int, message: Message, number: int) -> bool:
        """Send a message; return False if the last one in transit is the same."""
        queue = self.queues.setdefault((sender, receiver), deque())
        if queue and queue[-1][0] == message:
            return False
        queue.append((message, number))
        return True

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be heard now."""
        if not self.queues:
            return []
        cuts, paused = self.obstacles.cuts, self.obstacles.paused
        return sorted(
            (receiver, sender, len(queue))
            for (sender, receiver), queue in self.queues.items()
            if (sender, receiver) not in cuts and receiver not in paused
        )

    def take(self, process: int, sender: int) -> Parcel | None:
        """Remove and return the next message from `sender`, for `process` to hear; None if none gets through."""
        link = sender, process
        if link not in self.queues or link in self.obstacles.cuts:
            return None
        queue = self.queues[link]
        parcel = queue.popleft()
        if not queue:
            del self.queues[link]
        return parcel

    def miss(self, process: int) -> list[Parcel]:
        """Forget the messages in transit to a process that is down, except for the last one of each sender."""
        queues = [queue for (_, receiver), queue in self.queues.items() if receiver == process]
        return [queue.popleft() for queue in queues for _ in range(len(queue) - 1)]


class Channels:
    """The connections between processes 1 to `processes`, none at first.

    `lost` is called with the messages that are lost. With `abrupt`, a process that closes its end of a connection also
    loses the messages that it has sent on it and that have not arrived.
    """

    __slots__ = ("abrupt", "casts", "connections", "following", "lost", "messages", "obstacles")

    def __init__(self, processes: int, lost: Lost, *, abrupt: bool = False) -> None:
        self.lost = lost
        self.abrupt = abrupt
        self.messages = 0
        self.following = [NOBODY] * (processes + 1)  # by process id; itself: it leads, or wants to
        self.connections: dict[tuple[int, int], Connection] = {}  # by (follower, leader)
        self.obstacles = Obstacles(self.connections)
        self.casts = Casts(self.obstacles)

    def copy(self, lost: Lost) -> "Channels":
        """Return an independent copy. O(processes + messages in transit)."""
        twin = type(self)(0, lost, abrupt=self.abrupt)
        twin.messages = self.messages
        twin.following = self.following.copy()
        twin.connections = {key: connection.copy() for key, connection in self.connections.items()}
        twin.obstacles = self.obstacles.copy(twin.connections)
        twin.casts = self.casts.copy(twin.obstacles)
        return twin

    def clear(self) -> None:
        """Drop all connections and messages, so that no process follows another. Obstacles stay."""
        self.connections.clear()
        self.casts.queues.clear()
        self.following[:] = [NOBODY] * len(self.following)
        self.messages = 0

    # Questions.

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return (process, sender, number of messages) for each link from which a message can be handled now."""
        found = []
        following = self.following
        for (follower, leader), connection in self.connections.items():
            queue = connection.to_follower
            if queue:  # the end of the follower is open, or nothing would be in transit to it
                found.append((follower, leader, len(queue)))
            queue = connection.to_leader
            if queue and following[leader] == leader and connection.leader_end is not _CLOSED:
                found.append((leader, follower, len(queue)))
        return self.obstacles.passing(found, following) if self.obstacles.disturbed else found

    def closed(self) -> list[tuple[int, int]]:
        """Return (process, peer) where `process` has yet to notice that `peer` closed their connection."""
        found = [each for connection in self.connections.values() for each in connection.unnoticed()]
        paused = self.obstacles.paused
        return [each for each in found if each[0] not in paused] if paused else found

    def connection_of(self, process: int) -> Literal["none", "waiting", "open", "closed"]:
        """Return the state of the connection that `process` has opened to the process that it follows."""
        leader = self.following[process]
        if leader in (NOBODY, process):
            return "none"
        return state_of(self.connections.get((process, leader)))

    # Messages.

    def send(self, process: int, to: int, message: Message) -> int:
        """Send `message` and return its number among all messages; 0 if there is no connection for it."""
        if self.following[process] == process:
            connection = self.connections.get((to, process))
            if connection is None or connection.broken or connection.leader_end is not _OPEN:
                return 0
            queue = connection.to_follower
        else:
            connection = self.connections.get((process, to))
            if connection is None or connection.broken or connection.leader_end is _CLOSED:
                return 0
            queue = connection.to_leader
        if connection.follower_end is not _OPEN:
            return 0
        self.messages += 1
        queue.append((message, self.messages))
        return self.messages

    def cast(self, process: int, to: int, message: Message) -> int:
        """Send a message outside of connections, and return its number; 0 if the last one in transit is the same."""
        if not self.casts.cast(process, to, message, self.messages + 1):
            return 0
        self.messages += 1
        return self.messages

    def take(self, process: int, sender: int) -> Parcel | None:
        """Remove and return the next message from `sender`, for `process` to handle; None if none gets through."""
        leads = self.following[process] == process
        if leads:
            connection = self.connections.get((sender, process))
            if connection is None:
                return None
            queue = connection.to_leader
        else:
            connection = self.connections.get((process, sender))
            if connection is None:
                return None
            queue = connection.to_follower
        obstacles = self.obstacles
        if not queue or (obstacles.disturbed and not obstacles.let_through(connection, sender, process, 1)):
            return None
        if leads:
            connection.leader_end = _OPEN
            connection.supersedes = False
        elif connection.leader_end is _OPEN:  # `sender` still leads
            self._outdate(sender, process)
        return queue.popleft()

    def under_way(self, sender: int, receiver: int) -> deque[Parcel]:
        """Return the messages in transit on the link from `sender` to `receiver`, the next one first."""
        leads = self.following[receiver] == receiver
        connection = self.connections.get((sender, receiver) if leads else (receiver, sender))
        if connection is None:
            return deque()
        return connection.to_leader if leads else connection.to_follower

    # Beginnings and ends of connections.

    def open(self, process: int, to: int) -> None:
        """Open a connection from `process`, which has closed its others, to `to`; with `to` itself, it leads."""
        self.following[process] = to
        if to != process:
            old = self.connections.pop((process, to), None)
            new = self.connections[process, to] = Connection(process, to)
            if old is not None:
                new.supersedes = old.supersedes or old.leader_end is _OPEN
                self.lost(old.lose())

    def close(self, process: int, *, keep_followed: bool = False) -> None:
        """Close every end that `process` holds; with `keep_followed` not those of the connections that it opened."""
        if self.following[process] == NOBODY:
            return
        self.following[process] = NOBODY
        for connection in list(self.connections.values()):
            if connection.follower == process:
                if not keep_followed:
                    self._close_follower_end(connection)
            elif connection.leader == process:
                connection.supersedes = False
                if connection.leader_end is _OPEN:
                    self._close_leader_end(connection)
                else:
                    self._forget(connection)

    def rejoin(self, process: int) -> None:
        """Take note that `process` has started again. It opens connections by itself, except in a mesh."""

    def refuse(self, process: int) -> None:
        """Close the connections that wait for `process` to accept them: it has stopped."""
        for connection in list(self.connections.values()):
            if connection.leader == process and connection.leader_end is _WAITING:
                self._close_leader_end(connection)

    def reset(self, process: int, peer: int) -> bool:
        """Break the connection between the two. Return True if there was one that was not broken yet."""
        for pair in ((process, peer), (peer, process)):
            connection = self.connections.get(pair)
            if connection is not None and not connection.broken:
                self.lost(connection.lose())
                return True
        return False

    def notice(self, process: int, peer: int) -> bool:
        """Close the end of `process` on a connection that `peer` has closed or a reset has broken.

        Return True if there was such an end.
        """
        if self.following[process] == process:
            return self._notice_as_leader(self.connections.get((peer, process)))
        return self._notice_as_follower(self.connections.get((process, peer)))

    def _notice_as_follower(self, connection: Connection | None) -> bool:
        if connection is None or connection.follower_end is not _OPEN:
            return False
        if connection.leader_end is not _CLOSED and not connection.broken:
            return False
        self._close_follower_end(connection)
        return True

    def _notice_as_leader(self, connection: Connection | None) -> bool:
        if connection is None:
            return False
        if connection.supersedes:
            connection.supersedes = False
            self._forget(connection)
            return True
        if connection.leader_end is _OPEN and (connection.follower_end is _CLOSED or connection.broken):
            self._close_leader_end(connection)
            return True
        return False

    def _close_follower_end(self, connection: Connection) -> None:
        connection.follower_end = _CLOSED
        self._lose(connection.to_follower)
        if self.abrupt:
            self._lose(connection.to_leader)
        self._forget(connection)

    def _close_leader_end(self, connection: Connection) -> None:
        connection.leader_end = _CLOSED
        self._lose(connection.to_leader)
        if self.abrupt:
            self._lose(connection.to_follower)
        self._forget(connection)

    def _lose(self, queue: deque[Parcel]) -> None:
        self.lost(list(queue))
        queue.clear()

    def _outdate(self, sender: int, process: int) -> None:
        """Drop the connection that `sender` once opened to `process` and that was never accepted.

        `process` has just received a message from an iteration in which `sender` leads: the one in which it followed is
        over.
        """
        old = self.connections.get((sender, process))
        if old is not None and old.leader_end is _WAITING:
            self.lost(old.lose())
            self._forget(old)

    def _forget(self, connection: Connection) -> None:
        """Remove the connection if it is closed at both ends, or if no process can accept it any more."""
        over = connection.leader_end is _CLOSED or (connection.leader_end is _WAITING and not connection.to_leader)
        if connection.follower_end is _CLOSED and over and not connection.supersedes:
            self.lost(connection.lose())
            del self.connections[connection.follower, connection.leader]


class Mesh(Channels):
    """Channels in which every process can send to every other from the start, without opening a connection.

    Each link from one process to another is a `Connection` of which only the queue to its "leader" is used. So cuts,
    holds, stalls and overtaking work as they do elsewhere. No link ever closes: a process that stops loses what is in
    transit to it, and what is sent to it until it starts again. A reset loses the messages in transit
    between two processes, and their links go on: so a partition that heals can lose messages that were sent while it
    lasted.

    Not yet good: a mesh uses half of each connection, so it inherits `open` and `notice`, which no run of a protocol on
    a mesh may call. Both could instead share the queue of one direction.
    """

    __slots__ = ()

    def __init__(self, processes: int, lost: Lost, *, abrupt: bool = False) -> None:
        super().__init__(processes, lost, abrupt=abrupt)
        self.following = list(range(processes + 1))
        for process in range(1, processes + 1):
            for to in range(1, processes + 1):
                if process != to:
                    self.connections[process, to] = Connection(process, to)

    def send(self, process: int, to: int, message: Message) -> int:
        """Send `message` and return its number among all messages; 0 if `to` is down."""
        if self.following[to] == NOBODY:
            return 0
        self.messages += 1
        self.connections[process, to].to_leader.append((message, self.messages))
        return self.messages

    def close(self, process: int, *, keep_followed: bool = False) -> None:
        """Lose the messages in transit to `process`, which stops."""
        self.following[process] = NOBODY
        links = [link for (_, to), link in self.connections.items() if to == process]
        parcels = [parcel for link in links for parcel in link.to_leader]
        for link in links:
            link.to_leader.clear()
        self.lost(parcels)

    def rejoin(self, process: int) -> None:
        self.following[process] = process

    def refuse(self, process: int) -> None:
        """Do nothing: there is no connection that has yet to be accepted."""

    def reset(self, process: int, peer: int) -> bool:
        """Lose the messages in transit between the two processes. Return True if there were any."""
        links = [self.connections[pair] for pair in ((process, peer), (peer, process)) if pair in self.connections]
        parcels = [parcel for link in links for parcel in link.to_leader]
        for link in links:
            link.to_leader.clear()
        self.lost(parcels)
        return bool(parcels)
