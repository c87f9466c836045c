"""A recording, sorted by server and incarnation: disks, lines of logs, and the times of acts."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from zabcheck.zookeeper.recording.folder import RecordingError, log_file, read
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    AnyRecord,
    Asked,
    Disk,
    Ended,
    Exited,
    Killed,
    Opened,
    Passed,
    PowerLost,
    Read,
    Run,
    Sent,
    Started,
    Stopped,
    Undecoded,
    Wiped,
)
from zabcheck.zookeeper.trace.moments import ClientAnswered, Moment, moments_of
from zabcheck.zookeeper.trace.names import Names
from zabcheck.zookeeper.trace.notes import NoEnd, NoLog, NotComplete, Note, Undecodable
from zabcheck.zookeeper.trace.server_log import Delivering, Proposing, ServerLog, read_log


class Incarnation(Struct, eq=False):
    """Incarnation number `number` of a server.

    `before` and `after` are the contents of its disk. `last`: no other incarnation follows. `wiped`: the data directory
    was emptied before it started, or replaced by an older copy, which is `before` then.

    `power_lost` has the losses by power failures, in it or right after it. `moments` are its acts and the packets that
    it received, in order.
    """

    server: int
    number: int
    started: Started
    log: ServerLog
    before: Disk | None = None
    after: Disk | None = None
    ended: Killed | Exited | Stopped | None = None
    last: bool = True
    wiped: bool = False
    power_lost: list[PowerLost] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)


class SortedRecording(Struct, eq=False):
    """A whole recording, sorted by server: `by_server` has the incarnations of each server, in order.

    `missing` lists the gaps of the recording. `names` has the names of all transactions in it.
    """

    run: Run
    records: list[AnyRecord]
    by_server: dict[int, list[Incarnation]]
    complete: bool
    missing: list[Note]
    folder: Path = Path()
    names: Names = field(default_factory=lambda: Names(()))


def read_sorted(folder: Path) -> SortedRecording:
    """Read the recording in `folder`, and sort it by server. RecordingError if it is malformed.

    O(n log n) in records and lines of the logs.
    """
    records = list(read(folder))
    if not records or not isinstance(records[0], Run):
        raise RecordingError(f"{folder}, line 1: expected the record `run`")
    run = records[0]
    recording = SortedRecording(run, records, {number: [] for number in range(1, run.servers + 1)}, False, [], folder)
    wiped: dict[int, Disk | None] = {}
    quorum: set[int] = set()  # connections between quorum ports
    for record in records[1:]:
        if isinstance(record, Wiped):
            wiped[record.server] = record.copy
        elif isinstance(record, Opened) and record.port == "quorum":
            quorum.add(record.connection)
        elif isinstance(record, Undecoded) and record.connection in quorum:
            recording.missing.append(Undecodable(record.sender, record.receiver, record.reason))
        _take(record, recording)
        if isinstance(record, Started) and record.server in wiped:
            incarnation = recording.by_server[record.server][-1]
            incarnation.wiped, incarnation.before = True, wiped.pop(record.server)
    recording.names = _names(recording)
    _give_answers(recording)
    traffic = _Traffic(records, recording)
    for server in recording.by_server.values():
        for incarnation in server:
            key = incarnation.server, incarnation.number
            incarnation.moments = moments_of(
                incarnation.log,
                incarnation.started.time,
                traffic.sent.get(key, []),
                traffic.received.get(key, []),
                incarnation.moments,
                run.quorum - 1,
            )
        _keep_apart(server)
    ended = records[-1]
    if not isinstance(ended, Ended):
        recording.missing.append(NoEnd())
    elif not ended.complete:
        recording.missing.append(NotComplete(ended.error))
    else:
        recording.complete = True
    return recording


def _take(record: AnyRecord, recording: SortedRecording) -> None:
    """Record in its incarnation that a server has started or ended, or the contents of its disk."""
    if isinstance(record, Started):
        server = _server(recording, record.server)
        if record.incarnation != len(server):
            raise RecordingError(
                f"{recording.folder}: expected incarnation {len(server)} of server {record.server} to start, "
                f"found {record.incarnation}"
            )
        before = None
        if server:
            server[-1].last = False
            before = server[-1].after
        log = _log(record, recording)
        server.append(Incarnation(record.server, record.incarnation, record, log, before))
    elif isinstance(record, Killed | Exited | Stopped):
        _latest(recording, record.server).ended = record
    elif isinstance(record, PowerLost):
        _latest(recording, record.server).power_lost.append(record)
    elif isinstance(record, Disk):
        incarnation = _latest(recording, record.server)
        if record.incarnation != incarnation.number:
            raise RecordingError(
                f"{recording.folder}: a disk of incarnation {record.incarnation} while {incarnation.number} runs"
            )
        incarnation.after = record


def _server(recording: SortedRecording, number: int) -> list[Incarnation]:
    server = recording.by_server.get(number)
    if server is None:
        raise RecordingError(f"{recording.folder}: expected a server from 1 to {recording.run.servers}, found {number}")
    return server


def _latest(recording: SortedRecording, number: int) -> Incarnation:
    server = _server(recording, number)
    if not server:
        raise RecordingError(f"{recording.folder}: server {number} ended, and was never started")
    return server[-1]


def _log(record: Started, recording: SortedRecording) -> ServerLog:
    path = log_file(recording.folder, record.server, record.incarnation)
    try:
        return read_log(path)
    except OSError as error:
        recording.missing.append(NoLog(path.name, str(error.strerror)))
        return ServerLog(path.name)


def _give_answers(recording: SortedRecording) -> None:
    """Assign each answer to a client to the incarnation that gave it.

    An acknowledgement that came at the time of a crash belongs to the last incarnation whose log says that the write
    was delivered; if no log says so, to the incarnation that was up.
    """
    delivered = {
        number: [
            (incarnation, {line.zxid for line in incarnation.log.lines if isinstance(line, Delivering)})
            for incarnation in server
        ]
        for number, server in recording.by_server.items()
    }
    paths: dict[tuple[int, int], str] = {}
    for record in recording.records:
        if isinstance(record, Asked):
            paths[record.client, record.number] = record.path
        if not isinstance(record, Acknowledged | Read):
            continue
        _server(recording, record.server)
        up = [pair for pair in delivered[record.server] if pair[0].started.time <= record.time]
        path = ""
        if isinstance(record, Acknowledged):
            up = [pair for pair in up if record.zxid in pair[1]] or up
            path = paths.get((record.client, record.number), "")
        if up:
            up[-1][0].moments.append(Moment(record.time, ClientAnswered(record, path)))


class _Traffic:
    """The packets of a recording, by the incarnations that sent and received them.

    A connection belongs to one incarnation at each end: the one that was up when this end first sent or got a packet.
    """

    def __init__(self, records: Iterable[AnyRecord], recording: SortedRecording) -> None:
        self.passed: dict[int, int] = {}
        self.connections: dict[int, list[Sent]] = {}
        for record in records:
            if isinstance(record, Sent):
                self.connections.setdefault(record.connection, []).append(record)
            elif isinstance(record, Passed):
                self.passed[record.packet] = record.time
        self.sent: dict[tuple[int, int], list[Sent]] = {}  # by server and incarnation
        self.received: dict[tuple[int, int], list[tuple[int, Sent]]] = {}  # with the time
        for connection in self.connections.values():
            self._share_out(connection, recording)

    def _share_out(self, packets: list[Sent], recording: SortedRecording) -> None:
        ends: dict[int, Incarnation] = {}
        arrived = _arrivals(packets, self.passed)
        for packet in packets:
            sender = self._end(ends, packet.sender, packet.time, recording)
            if sender is not None:
                self.sent.setdefault((sender.server, sender.number), []).append(packet)
            time = arrived.get(packet.packet)
            if time is None:
                continue
            receiver = self._end(ends, packet.receiver, time, recording)
            if receiver is not None and (receiver.ended is None or time <= receiver.ended.time):
                self.received.setdefault((receiver.server, receiver.number), []).append((time, packet))

    def _end(
        self, ends: dict[int, Incarnation], server: int, time: int, recording: SortedRecording
    ) -> Incarnation | None:
        if server not in ends:
            up = [incarnation for incarnation in _server(recording, server) if incarnation.started.time <= time]
            if not up:
                return None
            ends[server] = up[-1]
        return ends[server]


def _arrivals(packets: list[Sent], passed: dict[int, int]) -> dict[int, int]:
    """Return the latest arrival of each packet of a connection; a packet that did not arrive is left out.

    A packet has arrived when it was passed on; or when its receiver has answered it, or a later one, before that was
    written down.
    """
    arrived: dict[int, int] = {}
    waiting: dict[int, list[Sent]] = {}  # by receiver, in order
    for packet in packets:
        if packet.kind == "ACK":
            own = waiting.get(packet.sender, [])
            answered = next(
                (i for i, sent in enumerate(own) if (sent.kind, sent.zxid) == ("PROPOSAL", packet.zxid)), -1
            )
            for sent in own[: answered + 1]:
                arrived[sent.packet] = min(packet.time, passed.get(sent.packet, packet.time))
            del own[: answered + 1]
        waiting.setdefault(packet.receiver, []).append(packet)
        if packet.packet in passed:
            arrived[packet.packet] = passed[packet.packet]
    return arrived


def _keep_apart(server: list[Incarnation]) -> None:
    """Make sure that no moment of an incarnation comes after one of the next incarnation."""
    now = 0
    for incarnation in server:
        moments = []
        for moment in incarnation.moments:
            now = max(now, moment.time)
            moments.append(Moment(now, moment.what))
        incarnation.moments = moments


def _names(recording: SortedRecording) -> Names:
    """Name all transactions in logs, packets and on disks. O(their number)."""
    names = Names(recording.records)
    for record in recording.records:
        if isinstance(record, Disk):
            for logged in record.log:
                names.learn(logged)
        elif isinstance(record, Sent) and record.txn is not None and record.plain_kind in ("PROPOSAL", "INFORM"):
            names.learn(record.txn)
    for server in recording.by_server.values():
        for incarnation in server:
            for line in incarnation.log.lines:
                if isinstance(line, Proposing | Delivering):
                    names.txn(line)
    return names
