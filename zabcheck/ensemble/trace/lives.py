"""A recording, sorted by server: for each of its incarnations everything that it did or was told, in its own order.

The order of one server is all that the properties need. It is put together from three sources, each with an order of
its own: the server's log, the packets that it sent, and the packets that it received. Between them time decides, and
what is known of causes: the times of a log are cut to milliseconds, so a line that tells of a packet is moved behind
the packet, and an answer behind the line. Nothing is moved against the order of its source.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from zabcheck.ensemble.recording import (
    Acknowledged,
    AnyRecord,
    Asked,
    Disk,
    Ended,
    Exited,
    Killed,
    Opened,
    Passed,
    Read,
    RecordingError,
    Run,
    Sent,
    Started,
    Stopped,
    Undecoded,
    Wiped,
    log_file,
    read,
)
from zabcheck.ensemble.trace.names import Names
from zabcheck.ensemble.trace.server_log import (
    AnyLine,
    Delivering,
    Forced,
    NewLeader,
    Persisted,
    Phase,
    Proposing,
    ServerLog,
    State,
    Supporters,
    UpToDate,
    read_log,
)

MILLISECOND = 1000
"""In microseconds: the times of a server's log are cut to so much."""
LEADING_SYNCHRONIZATION = "leading - synchronization"
"""The phase of a leader to which a quorum has told its histories."""


class Iteration(Struct, eq=False):
    """What a server does between two elections; what is known of it as a whole.

    `epoch` is the one that it leads or follows in, None if that is not known. `connection` is that of a follower to
    its leader. `persisted`, `forced`: there is such a line in it. `first_delivery` is the first transaction that it
    says it delivers after it is up to date, packed; None if there is none.
    """

    role: str
    epoch: int | None = None
    connection: int | None = None
    persisted: bool = False
    forced: bool = False
    first_delivery: int | None = None


class Said(Struct, frozen=True):
    """A line of the server's log."""

    line: AnyLine
    iteration: Iteration


class Received(Struct, frozen=True):
    """A packet was passed on to it; that it read the packet is not sure before it says so."""

    packet: Sent


class Left(Struct, frozen=True):
    """It sent a packet."""

    packet: Sent


class Told(Struct, frozen=True):
    """It told a client that a write is done, which created the node `path`; or it showed what it has."""

    record: Acknowledged | Read
    path: str = ""


What = Said | Received | Left | Told


def _rank(what: What) -> int:
    """What comes first of what happened at one time: what it was told, then what it said and did."""
    match what:
        case Received():
            return 0
        case Said():
            return 1
        case Left():
            return 2
        case Told():
            return 3


class Moment(Struct, frozen=True):
    """Something that happened at a server; `time` only orders what different servers did."""

    time: int
    what: What


class Life(Struct, eq=False):
    """One incarnation of a server. `before` and `after` are what was on its disk; `last` if none follows it.

    `wiped` if its data directory was emptied before it started.
    """

    server: int
    incarnation: int
    started: Started
    log: ServerLog
    before: Disk | None = None
    after: Disk | None = None
    ended: Killed | Exited | Stopped | None = None
    last: bool = True
    wiped: bool = False
    moments: list[Moment] = field(default_factory=list)


class Lives(Struct, eq=False):
    """A whole recording. `by_server` has the incarnations of each server in order; `missing` says what is not there.

    `names` has the names of all transactions that anybody tells of.
    """

    run: Run
    records: list[AnyRecord]
    by_server: dict[int, list[Life]]
    complete: bool
    missing: list[str]
    folder: Path = Path()
    names: Names = field(default_factory=lambda: Names(()))


def read_lives(folder: Path) -> Lives:
    """The recording in `folder`, sorted by server. RecordingError if it is malformed.

    O(n log n) in records and lines of the logs.
    """
    records = list(read(folder))
    if not records or not isinstance(records[0], Run):
        raise RecordingError(f"{folder}, line 1: expected the record `run`")
    run = records[0]
    lives = Lives(run, records, {number: [] for number in range(1, run.servers + 1)}, False, [], folder)
    wiped: set[int] = set()
    quorum: set[int] = set()  # connections between quorum ports
    for record in records[1:]:
        if isinstance(record, Wiped):
            wiped.add(record.server)
        elif isinstance(record, Opened) and record.port == "quorum":
            quorum.add(record.connection)
        elif isinstance(record, Undecoded) and record.connection in quorum:
            link = f"from server {record.sender} to server {record.receiver}"
            lives.missing.append(f"what was sent {link} could not be decoded: {record.reason}")
        _take(record, lives, folder)
        if isinstance(record, Started) and record.server in wiped:
            wiped.remove(record.server)
            life = lives.by_server[record.server][-1]
            life.wiped, life.before = True, None
    lives.names = _names(lives)
    _give_answers(lives)
    traffic = _Traffic(records, lives)
    for server in lives.by_server.values():
        for life in server:
            _put_in_order(life, traffic)
        _keep_apart(server)
    ended = records[-1]
    if not isinstance(ended, Ended):
        lives.missing.append("the recording has no end")
    elif not ended.complete:
        lives.missing.append(f"the recording is not complete: {ended.error}")
    else:
        lives.complete = True
    return lives


def _take(record: AnyRecord, lives: Lives, folder: Path) -> None:
    """What a record says of the lives of servers."""
    if isinstance(record, Started):
        server = _server(lives, record.server)
        if record.incarnation != len(server):
            raise RecordingError(
                f"{folder}: expected incarnation {len(server)} of server {record.server} to start, "
                f"found {record.incarnation}"
            )
        before = None
        if server:
            server[-1].last = False
            before = server[-1].after
        log = _log(folder, record, lives)
        server.append(Life(record.server, record.incarnation, record, log, before))
    elif isinstance(record, Killed | Exited | Stopped):
        _latest(lives, record.server, folder).ended = record
    elif isinstance(record, Disk):
        life = _latest(lives, record.server, folder)
        if record.incarnation != life.incarnation:
            raise RecordingError(f"{folder}: a disk of incarnation {record.incarnation} while {life.incarnation} runs")
        life.after = record


def _server(lives: Lives, number: int) -> list[Life]:
    server = lives.by_server.get(number)
    if server is None:
        raise RecordingError(f"{lives.folder}: expected a server from 1 to {lives.run.servers}, found {number}")
    return server


def _latest(lives: Lives, number: int, folder: Path) -> Life:
    server = _server(lives, number)
    if not server:
        raise RecordingError(f"{folder}: server {number} ended, and was never started")
    return server[-1]


def _log(folder: Path, record: Started, lives: Lives) -> ServerLog:
    path = log_file(folder, record.server, record.incarnation)
    try:
        return read_log(path)
    except OSError as error:
        lives.missing.append(f"{path.name}: {error.strerror}")
        return ServerLog(path.name)


def _give_answers(lives: Lives) -> None:
    """Give each answer to the incarnation that gave it.

    An acknowledgement that a client got at the time of a crash is of the last incarnation that says it delivered the
    write. What no log tells of is of the one that was up.
    """
    delivered = {
        number: [(life, {line.zxid for line in life.log.lines if isinstance(line, Delivering)}) for life in server]
        for number, server in lives.by_server.items()
    }
    paths: dict[tuple[int, int], str] = {}
    for record in lives.records:
        if isinstance(record, Asked):
            paths[record.client, record.number] = record.path
        if not isinstance(record, Acknowledged | Read):
            continue
        _server(lives, record.server)
        up = [pair for pair in delivered[record.server] if pair[0].started.time <= record.time]
        path = ""
        if isinstance(record, Acknowledged):
            up = [pair for pair in up if record.zxid in pair[1]] or up
            path = paths.get((record.client, record.number), "")
        if up:
            up[-1][0].moments.append(Moment(record.time, Told(record, path)))


class _Traffic:
    """The packets of a recording, by the incarnations that sent and received them.

    A connection belongs to one incarnation at each end: the one that was up when it sent its first packet, or got it.
    """

    def __init__(self, records: Iterable[AnyRecord], lives: Lives) -> None:
        self.others_in_quorum = lives.run.servers // 2
        """How many have to acknowledge, beside the leader."""
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
            self._share_out(connection, lives)

    def _share_out(self, packets: list[Sent], lives: Lives) -> None:
        ends: dict[int, Life] = {}
        arrived = _arrivals(packets, self.passed)
        for packet in packets:
            sender = self._end(ends, packet.sender, packet.time, lives)
            if sender is not None:
                self.sent.setdefault((sender.server, sender.incarnation), []).append(packet)
            time = arrived.get(packet.packet)
            if time is None:
                continue
            receiver = self._end(ends, packet.receiver, time, lives)
            if receiver is not None and (receiver.ended is None or time <= receiver.ended.time):
                self.received.setdefault((receiver.server, receiver.incarnation), []).append((time, packet))

    def _end(self, ends: dict[int, Life], server: int, time: int, lives: Lives) -> Life | None:
        if server not in ends:
            up = [life for life in _server(lives, server) if life.started.time <= time]
            if not up:
                return None
            ends[server] = up[-1]
        return ends[server]


def _arrivals(packets: list[Sent], passed: dict[int, int]) -> dict[int, int]:
    """When each packet of a connection had arrived at the latest, for those that did.

    It was passed on; or its receiver answered it, or a later one, before that was written down.
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


def _put_in_order(life: Life, traffic: _Traffic) -> None:
    """Give the life its moments: lines and packets, merged by time and by what is known of causes."""
    key = life.server, life.incarnation
    sent, received = traffic.sent.get(key, []), traffic.received.get(key, [])
    iterations = _iterations(life.log, sent)
    newleader = {packet.connection: time for time, packet in reversed(received) if packet.kind == "NEWLEADER"}
    uptodate = {packet.connection: time for time, packet in reversed(received) if packet.kind == "UPTODATE"}
    leaderinfo = [packet.time for packet in sent if packet.kind == "LEADERINFO"]
    reasons = _reasons_to_deliver(received, traffic.others_in_quorum)
    delivered: dict[int, int] = {}
    answer: dict[int, int] = {}  # by connection: when NEWLEADER was read at the earliest
    moments: list[Moment] = []
    now = life.started.time
    for line, iteration in zip(life.log.lines, iterations, strict=True):
        now = max(now, line.time)
        connection = iteration.connection
        if isinstance(line, NewLeader) and connection is not None:
            now = max(now, newleader.get(connection, 0))
            answer.setdefault(connection, now)
        elif isinstance(line, UpToDate) and connection is not None:
            now = max(now, uptodate.get(connection, 0))
        elif isinstance(line, Phase) and line.text == LEADING_SYNCHRONIZATION:
            now = max([now, *(time for time in leaderinfo if line.time <= time < line.time + MILLISECOND)])
        elif isinstance(line, Delivering):
            now = max([now, *(time for time in reasons.get(line.zxid, ()) if time < line.time + MILLISECOND)])
            delivered.setdefault(line.zxid, now)
        moments.append(Moment(now, Said(line, iteration)))
    for time, packet in received:
        moments.append(Moment(time, Received(packet)))
    behind: dict[int, int] = {}  # by connection: the last that was sent
    for packet in sent:
        earliest = behind.get(packet.connection, 0)
        if packet.kind == "ACK":
            earliest = max(earliest, answer.get(packet.connection, 0))
        behind[packet.connection] = max(packet.time, earliest)
        moments.append(Moment(behind[packet.connection], Left(packet)))
    for moment in life.moments:
        assert isinstance(moment.what, Told), "the others are put in here"
        record = moment.what.record
        known = delivered.get(record.zxid, 0) if isinstance(record, Acknowledged) else 0
        moments.append(Moment(max(moment.time, known), moment.what))
    life.moments = sorted(moments, key=lambda moment: (moment.time, _rank(moment.what)))


def _reasons_to_deliver(received: Iterable[tuple[int, Sent]], others_in_quorum: int) -> dict[int, list[int]]:
    """When a server learned that a transaction is committed: by COMMIT, or as leader by enough acknowledgements."""
    reasons: dict[int, list[int]] = {}
    acknowledged: Counter[int] = Counter()
    for time, packet in sorted(received, key=lambda each: each[0]):
        acknowledged[packet.zxid] += packet.kind == "ACK"
        if packet.kind == "COMMIT" or (packet.kind == "ACK" and acknowledged[packet.zxid] == others_in_quorum):
            reasons.setdefault(packet.zxid, []).append(time)
    return reasons


def _keep_apart(server: list[Life]) -> None:
    """No moment of an incarnation comes after one of the next."""
    now = 0
    for life in server:
        moments = []
        for moment in life.moments:
            now = max(now, moment.time)
            moments.append(Moment(now, moment.what))
        life.moments = moments


def _iterations(log: ServerLog, sent: list[Sent]) -> list[Iteration]:
    """The iteration of each line."""
    current = Iteration("looking")
    found, starts = [], []
    up_to_date = False
    for line in log.lines:
        if isinstance(line, State):
            current = Iteration(line.role)
            starts.append((line.time, current))
            up_to_date = False
        elif isinstance(line, Supporters):
            current.epoch = line.zxid >> 32
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
        role = {"FOLLOWERINFO": "following", "LEADERINFO": "leading"}.get(packet.kind)
        begun = [each for time, each in starts if time <= packet.time and each.role == role]
        if begun and role == "following":
            begun[-1].connection = packet.connection
        elif begun and begun[-1].epoch is None:
            begun[-1].epoch = packet.zxid >> 32
    return found


def _names(lives: Lives) -> Names:
    """The names of all transactions that anybody tells of. O(their number)."""
    names = Names(lives.records)
    for record in lives.records:
        if isinstance(record, Disk):
            for logged in record.log:
                names.learn(logged)
        elif isinstance(record, Sent) and record.txn is not None and record.kind in ("PROPOSAL", "INFORM"):
            names.learn(record.txn)
    for server in lives.by_server.values():
        for life in server:
            for line in life.log.lines:
                if isinstance(line, Proposing | Delivering):
                    names.txn(line)
    return names
