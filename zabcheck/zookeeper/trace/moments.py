"""Everything that one incarnation of a server did or received, in its own order.

The order of one server is all that the properties need. It is put together from three sources, each with an order of
its own: the server's log, the packets that it sent, and the packets that it received. Between them time decides, and
what is known of causes: the times of a log are cut to milliseconds, so a line that reports a packet is moved behind
the packet, and an answer behind the line. Nothing is moved against the order of its source.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from zabcheck.zookeeper.recording.records import Acknowledged, Read, Sent
from zabcheck.zookeeper.trace.server_log import (
    AnyLine,
    Delivering,
    Forced,
    NewLeader,
    Persisted,
    Phase,
    ServerLog,
    SnapshotRead,
    State,
    Supporters,
    UpToDate,
)
from zabcheck.zookeeper.wire.zxids import epoch_of

LEADING_SYNCHRONIZATION = "leading - synchronization"
"""The name in a log for the phase of a leader to which a quorum has sent ACK-E."""


class LoggedIteration(Struct, eq=False):
    """The time of a server between two elections, by its log: it looks for a leader, follows one, or leads.

    `epoch` is the one in which the server leads, None if that is not known. `connection` is that of a follower to its
    leader. `persisted`, `forced`: the log has such a line. `first_delivery` is the packed zxid of the first transaction
    that the log says is delivered after UPTODATE; None if there is none. `loaded` is that of the snapshot from which
    the memory is loaded after TRUNC; None if the log does not name one.
    """

    role: str
    epoch: int | None = None
    connection: int | None = None
    persisted: bool = False
    forced: bool = False
    first_delivery: int | None = None
    loaded: int | None = None


class LineLogged(Struct, frozen=True):
    """A line of the server's log."""

    line: AnyLine
    iteration: LoggedIteration


class PacketReceived(Struct, frozen=True):
    """A packet was passed on to the server, which may not have read it yet."""

    packet: Sent


class PacketSent(Struct, frozen=True):
    """The server sent a packet."""

    packet: Sent


class ClientAnswered(Struct, frozen=True):
    """The server told a client that the write is done which created the node `path`; or it was read at the end."""

    record: Acknowledged | Read
    path: str = ""


Occurrence = LineLogged | PacketReceived | PacketSent | ClientAnswered


def _rank(what: Occurrence) -> int:
    """Return the rank among occurrences of one time: received packets, lines of the log, sent packets."""
    match what:
        case PacketReceived():
            return 0
        case LineLogged():
            return 1
        case PacketSent():
            return 2
        case ClientAnswered():
            return 3


class Moment(Struct, frozen=True):
    """Something that happened at a server. `time` is used only to order what different servers did."""

    time: int
    what: Occurrence


def moments_of(
    log: ServerLog,
    started: int,
    sent: list[Sent],
    received: list[tuple[int, Sent]],
    answers: Iterable[Moment],
    others_in_quorum: int,
) -> list[Moment]:
    """Put all that an incarnation did and received into its own order. O(n log n).

    `started` is when it started, `received` has the time at which each packet had arrived. `answers` are the moments at
    which clients were answered. `others_in_quorum`: how many servers have to acknowledge, beside the leader.
    """
    iterations = _iterations(log, sent)
    newleader = {packet.connection: time for time, packet in reversed(received) if packet.kind == "NEWLEADER"}
    uptodate = {packet.connection: time for time, packet in reversed(received) if packet.kind == "UPTODATE"}
    leaderinfo = [packet.time for packet in sent if packet.kind == "LEADERINFO"]
    reasons = _reasons_to_deliver(received, others_in_quorum)
    delivered: dict[int, int] = {}
    answer: dict[int, int] = {}  # by connection: when NEWLEADER was read at the earliest
    moments: list[Moment] = []
    now = started
    for line, iteration in zip(log.lines, iterations, strict=True):
        now = max(now, line.time)
        connection = iteration.connection
        if isinstance(line, NewLeader) and connection is not None:
            now = max(now, newleader.get(connection, 0))
            answer.setdefault(connection, now)
        elif isinstance(line, UpToDate) and connection is not None:
            now = max(now, uptodate.get(connection, 0))
        elif isinstance(line, Phase) and line.text == LEADING_SYNCHRONIZATION:
            now = max([now, *(time for time in leaderinfo if line.time <= time < line.time + log.cut)])
        elif isinstance(line, Delivering):
            now = max([now, *(time for time in reasons.get(line.zxid, ()) if time < line.time + log.cut)])
            delivered.setdefault(line.zxid, now)
        moments.append(Moment(now, LineLogged(line, iteration)))
    moments += [Moment(time, PacketReceived(packet)) for time, packet in received]
    moments += _sendings(sent, answer)
    for moment in answers:
        assert isinstance(moment.what, ClientAnswered), "the others are put in here"
        record = moment.what.record
        known = delivered.get(record.zxid, 0) if isinstance(record, Acknowledged) else 0
        moments.append(Moment(max(moment.time, known), moment.what))
    return sorted(moments, key=lambda moment: (moment.time, _rank(moment.what)))


def _sendings(sent: Iterable[Sent], answered: Mapping[int, int]) -> Iterator[Moment]:
    """Yield the sent packets, each behind the one before on its connection, and an ACK behind what it answers.

    `answered` has by connection when NEWLEADER was read at the earliest.
    """
    behind: dict[int, int] = {}
    for packet in sent:
        earliest = behind.get(packet.connection, 0)
        if packet.kind == "ACK":
            earliest = max(earliest, answered.get(packet.connection, 0))
        behind[packet.connection] = max(packet.time, earliest)
        yield Moment(behind[packet.connection], PacketSent(packet))


def _reasons_to_deliver(received: Iterable[tuple[int, Sent]], others_in_quorum: int) -> dict[int, list[int]]:
    """Find when a server learned of commits: by COMMIT, INFORM, or as leader by enough ACKs. By zxid."""
    reasons: dict[int, list[int]] = {}
    acknowledged: Counter[int] = Counter()
    for time, packet in sorted(received, key=lambda each: each[0]):
        acknowledged[packet.zxid] += packet.kind == "ACK"
        if packet.plain_kind in ("COMMIT", "INFORM") or (
            packet.kind == "ACK" and acknowledged[packet.zxid] == others_in_quorum
        ):
            reasons.setdefault(packet.zxid, []).append(time)
    return reasons


def _iterations(log: ServerLog, sent: list[Sent]) -> list[LoggedIteration]:
    """Find the iteration of each line of the log."""
    current = LoggedIteration("looking")
    found, starts = [], []
    up_to_date = truncates = False
    for line in log.lines:
        if isinstance(line, State):
            current = LoggedIteration(line.role)
            starts.append((line.time, current))
            up_to_date = truncates = False
        elif isinstance(line, Phase):
            truncates = line.text.endswith("- trunc")
        elif isinstance(line, SnapshotRead) and truncates and current.loaded is None:
            current.loaded = line.zxid
        elif isinstance(line, Supporters):
            current.epoch = epoch_of(line.zxid)
        elif isinstance(line, Persisted):
            current.persisted = True
        elif isinstance(line, Forced):
            current.forced = True
        elif isinstance(line, UpToDate):
            up_to_date = True
        elif isinstance(line, Delivering) and up_to_date and current.first_delivery is None:
            current.first_delivery = line.zxid
        found.append(current)
    for packet in sent:
        role = {"FOLLOWERINFO": "following", "OBSERVERINFO": "observing", "LEADERINFO": "leading"}.get(packet.kind)
        begun = [each for time, each in starts if time <= packet.time and each.role == role]
        if begun and role != "leading":
            begun[-1].connection = packet.connection
        elif begun and begun[-1].epoch is None:
            begun[-1].epoch = epoch_of(packet.zxid)
    return found
