"""The order in which a recording is read, server by server and as a whole.

Each server's own order is kept, whatever the times say. Between servers time decides, but a message is not received
before it is sent: the time at which a server acted is put together from several sources (`moments`), and may be later
than the proxy's.
"""

from collections import deque
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from zabcheck.zookeeper.recording.records import Fault, Lost, Paused, Resumed
from zabcheck.zookeeper.trace.incarnations import Incarnation, SortedRecording
from zabcheck.zookeeper.trace.moments import Moment, PacketReceived, PacketSent


class Bound(Enum):
    """The two ends of an incarnation."""

    BEGIN = "begin"
    END = "end"


class Turn(Struct, frozen=True):
    """The next thing that happens, at `time` (microseconds). `incarnation` is None for acts from outside."""

    time: int
    incarnation: Incarnation | None
    what: Moment | Bound | Lost | Fault | Paused | Resumed

    @property
    def server(self) -> int:
        """The number of the server; 0 for acts from outside."""
        return self.incarnation.server if self.incarnation is not None else 0


def in_order(recording: SortedRecording) -> Iterator[Turn]:
    """Yield everything that happened. O(turns × servers).

    If messages wait for each other in a circle, because the times are not exact, the earliest goes first.
    """
    queues = [queue for queue in (*_of_servers(recording), *_from_outside(recording)) if queue]
    unsent: set[int | None] = {packet for queue in queues for turn in queue if (packet := _sent(turn)) is not None}
    while queues:
        due = [queue for queue in queues if _needs(queue[0]) not in unsent] or queues
        queue = min(due, key=lambda queue: (queue[0].time, queue[0].server))
        turn = queue.popleft()
        unsent.discard(_sent(turn))
        yield turn
        if not queue:
            queues = [queue for queue in queues if queue]


def _of_servers(recording: SortedRecording) -> Iterator[deque[Turn]]:
    for server in recording.by_server.values():
        now = 0
        turns: deque[Turn] = deque()
        for incarnation in server:
            steps: list[tuple[int, Moment | Bound]] = [(incarnation.started.time, Bound.BEGIN)]
            steps += [(moment.time, moment) for moment in incarnation.moments]
            if incarnation.ended is not None:
                steps.append((incarnation.ended.time, Bound.END))
            elif incarnation.after is not None:
                steps.append((incarnation.after.time, Bound.END))
            for time, what in steps:
                now = max(now, time)
                turns.append(Turn(now, incarnation, what))
        yield turns


def _from_outside(recording: SortedRecording) -> Iterator[deque[Turn]]:
    """Yield the acts upon the ensemble; and, in a queue of its own as it may have to wait, the lost packets."""
    for kinds in (Fault | Paused | Resumed, Lost):
        yield deque(Turn(record.time, None, record) for record in recording.records if isinstance(record, kinds))


def _sent(turn: Turn) -> int | None:
    """Return the packet that is sent in this turn."""
    match turn.what:
        case Moment(what=PacketSent(packet)):
            return packet.packet
    return None


def _needs(turn: Turn) -> int | None:
    """Return the packet that has to be sent before this turn."""
    match turn.what:
        case Moment(what=PacketReceived(packet)):
            return packet.packet
        case Lost(packet=number):
            return number
    return None
