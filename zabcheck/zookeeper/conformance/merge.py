"""The runs of the servers, each by itself, become one schedule of all of them.

Each choice has a time: that of the observation that made it necessary. A packet that a server had sent by some time
was passed on later, and read later still, so the choices in the order of their times are a run. What remains is to keep
each server's own order, and to have a packet sent before it is read, where times are equal.
"""

from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import takewhile

from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.recording.records import Sent


def schedule_of(paths: Iterable[list[Attempt]], sent: Iterable[Sent], servers: int, switches: Switches) -> Schedule:
    """Return the schedule of all servers; `paths` has for each its choices, in order. O(choices × servers).

    `sent` are all packets of the recording.
    """
    choices = _in_order([deque(path) for path in paths], {packet.packet: packet for packet in sent})
    return Schedule(1, ZOOKEEPER.name, servers, tuple(choices), switches=switches)


def _in_order(queues: list[deque[Attempt]], packets: Mapping[int, Sent]) -> Iterator[AnyChoice]:
    unsent = {number: True for queue in queues for attempt in queue for number in attempt.sent}
    unread = Counter(packets[attempt.read].connection for queue in queues for attempt in queue if attempt.read)
    earlier = _earlier_connections(packets.values())

    def is_due(attempt: Attempt) -> bool:
        """Return True if its packet was sent, and all packets are read that a new connection would discard."""
        if attempt.read in unsent:
            return False
        connects = [packets[number] for number in attempt.sent if packets[number].kind == "FOLLOWERINFO"]
        return not any(unread[old] for packet in connects for old in earlier[packet.connection])

    while queues := [queue for queue in queues if queue]:
        due = [queue for queue in queues if is_due(queue[0])] or queues
        attempt = min(due, key=lambda queue: (queue[0].time, queue[0].server.id)).popleft()
        for number in attempt.sent:
            del unsent[number]
        if attempt.read:
            unread[packets[attempt.read].connection] -= 1
        assert attempt.choice is not None, "the first attempt is in no path"
        yield attempt.choice


def _earlier_connections(packets: Iterable[Sent]) -> dict[int, list[int]]:
    """Return, for each connection of a follower to a leader, those before it from the one to the other."""
    of: dict[tuple[int, int], list[int]] = {}
    earlier: dict[int, list[int]] = {}
    for packet in packets:
        if packet.kind == "FOLLOWERINFO" and packet.connection not in earlier:
            before = of.setdefault((packet.sender, packet.receiver), [])
            earlier[packet.connection] = before.copy()
            before.append(packet.connection)
    return earlier


def up_to(time: int, paths: Iterable[list[Attempt]]) -> list[list[Attempt]]:
    """Return the choices of the servers up to `time`, without any that follow a packet that no known run sends.

    O(choices × servers).
    """
    cut = [list(takewhile(lambda attempt: attempt.time <= time, path)) for path in paths]
    while True:
        sent = {number for path in cut for attempt in path for number in attempt.sent}
        kept = [_with_known_packets(path, sent) for path in cut]
        if kept == cut:
            return cut
        cut = kept


def _with_known_packets(path: list[Attempt], sent: Container[int]) -> list[Attempt]:
    """Return the beginning of a run in which only packets of `sent` are read."""
    return list(takewhile(lambda attempt: not attempt.read or attempt.read in sent, path))


def not_enabled(schedule: Schedule) -> list[int]:
    """Return the choices of a schedule that the simulator cannot execute, by their positions from 0."""
    simulator = Simulator(ZOOKEEPER, schedule.processes, lambda _: None, switches=schedule.switches, remember=False)
    return [index for index, choice in enumerate(schedule.choices) if not simulator.execute(choice)]
