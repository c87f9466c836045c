"""The picture of a broken promise: its witness and the few records around it, in lanes of clients, along an axis.

The axis has the zxids at which something happened, in a second picture the times. A row stands for a request with its
answer, an event, or a connection.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, NamedTuple

from zabcheck.zookeeper.clients.edn import JEPSEN
from zabcheck.zookeeper.clients.exchange import UNKNOWN, WRITES
from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
    Connect,
    Connected,
    HistoryHeader,
    HistoryLine,
    InitialNode,
    Lost,
    Record,
    Request,
    WatchEvent,
)
from zabcheck.zookeeper.clients.promise import Breach
from zabcheck.zookeeper.clients.words import brief
from zabcheck.zookeeper.wire.zxids import shown

AROUND = 6
"""The most records that are shown beside the witness."""
IN_REAL_TIME = ("linearizable writes", "sync", "timeliness", "session", "one order", "containers and TTL")
"""The promises that are about times."""

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs"), (1, "ns"))

Sign = Literal["write", "read", "refused", "unknown", "event", "node", "connection"]


class Line(NamedTuple):
    """A line in a row between two places of the axis; without an end it extends to the edge."""

    since: int
    until: int | None
    kind: Literal["connection", "watch", "shows", "unknown", "time"]


class Row(NamedTuple):
    """A row of a lane: a sign at a place of the axis, a line, and, if it belongs to the witness, its mark there."""

    text: str
    sign: Sign
    at: int | None
    line: Line | None = None
    mark: str = ""
    is_wrong: bool = False


class Lane(NamedTuple):
    """The rows of a client, in the order of its stream."""

    title: str
    rows: tuple[Row, ...]


class Picture(NamedTuple):
    """Lanes along an axis, whose `ticks` have names."""

    axis: Literal["zxid", "time", "operation"]
    ticks: dict[int, str]
    lanes: tuple[Lane, ...]


@dataclass(slots=True, eq=False)
class _Link:
    """A connection: its first records, and its end."""

    connect: Connect
    connected: Connected | None = None
    lost: Lost | None = None

    @property
    def records(self) -> tuple[Record | None, ...]:
        return self.connect, self.connected, self.lost


@dataclass(slots=True, eq=False)
class _Item:
    """A request and its answer, an event, or an initial node. `reached` is the highest zxid its connection had seen."""

    number: int
    reached: int
    request: Request | None = None
    answer: Answer | None = None
    other: WatchEvent | InitialNode | None = None

    @property
    def records(self) -> tuple[Record | InitialNode | None, ...]:
        return self.request, self.answer, self.other

    @property
    def record(self) -> Record | InitialNode:
        return next(each for each in self.records if each is not None)

    @property
    def is_open(self) -> bool:
        """True if nobody knows whether the request was done."""
        return self.other is None and (self.answer is None or self.answer.error in UNKNOWN)

    @property
    def zxid(self) -> int:
        """The zxid as of which it is; 0 if that is unknown."""
        told = self.answer if self.other is None else self.other
        return max(0, told.zxid) if told is not None else 0

    @property
    def place(self) -> int:
        return self.zxid or self.reached

    @property
    def sign(self) -> Sign:
        if isinstance(self.other, InitialNode):
            return "node"
        if self.other is not None:
            return "event"
        if self.request is None or self.request.op not in WRITES:
            return "read"
        if self.answer is None or self.is_open:
            return "unknown"
        is_refused = self.answer.error or any(result.error for result in self.answer.results)
        return "refused" if is_refused else "write"

    def sees(self, items: "Sequence[_Item]" = ()) -> int:
        """Return the zxid of the state that a read shows; 0 if it shows none.

        That is the state of the children if the read lists them, or if `items` have writes of children only.
        """
        if self.sign != "read" or self.answer is None or self.answer.stat is None or self.request is None:
            return 0
        written = {path for each in items if each.sign == "write" and each.request for path in paths_of(each.request)}
        is_of_children = self.request.op == "getChildren" or (
            self.request.path not in written and any(each.startswith(f"{self.request.path}/") for each in written)
        )
        return self.answer.stat.pzxid if is_of_children else self.answer.stat.mzxid


@dataclass
class _Found:
    """The records of a history that may be drawn for a breach, collected in one pass over its lines."""

    witness: tuple[Record | InitialNode, ...]
    links: dict[int, _Link] = field(default_factory=dict)
    items: list[_Item] = field(default_factory=list)
    is_timed: bool = False
    """True if all times are of one clock."""
    are_times_numbers: bool = False
    """True if times are numbers of operations, as in histories of Jepsen."""

    def __post_init__(self) -> None:
        records = [each for each in self.witness if isinstance(each, Record)]
        self._connections = {each.connection for each in records}
        self._paths = {path for each in self.witness for path in paths_of(each)}
        self._reached: dict[int, int] = {}
        self._open: dict[tuple[int, int], _Item] = {}

    def read(self, lines: Iterable[HistoryLine]) -> None:
        for number, line in enumerate(lines, 1):
            match line:
                case HistoryHeader():
                    self.is_timed = line.clock == "one"
                    self.are_times_numbers = line.service == JEPSEN
                case Connect():
                    self.links[line.connection] = _Link(line)
                    self._reached[line.connection] = line.seen
                case Connected():
                    self.links[line.connection].connected = line
                case Lost():
                    self.links[line.connection].lost = line
                case Request():
                    if self._is_near(line):
                        self._open[line.connection, line.xid] = self._add(number, line, request=line)
                case Answer():
                    self._answer(number, line)
                case WatchEvent() if line.connection in self._connections and line.path in self._paths:
                    self._add(number, line, other=line)
                case InitialNode() if line in self.witness:
                    self.items.append(_Item(number, 0, other=line))

    def _is_near(self, line: Request | Answer) -> bool:
        """Return True if a request or answer belongs to the witness, or a request is about its paths."""
        if line.connection in self._connections and line in self.witness:
            return True
        return isinstance(line, Request) and any(path in self._paths for path in paths_of(line))

    def _add(self, number: int, line: Record, **fields: Request | Answer | WatchEvent) -> _Item:
        item = _Item(number, self._reached.get(line.connection, 0), **fields)  # type: ignore[arg-type]
        self.items.append(item)
        return item

    def _answer(self, number: int, line: Answer) -> None:
        item = self._open.pop((line.connection, line.xid), None)
        if item is not None:
            item.answer, item.number = line, number
        elif line.stray and self._is_near(line):
            self._add(number, line, answer=line)
        if line.zxid > self._reached.get(line.connection, 0):
            self._reached[line.connection] = line.zxid

    def near(self) -> list[_Item]:
        """Return the items of the witness and those nearest to it: changes and events first, then reads."""
        mine = [each for each in self.items if self.is_of_witness(each.records)]
        places = [place for each in mine for place in (each.place, each.sees()) if place]
        least, most = min(places, default=0), max(places, default=0)
        last = max((each.number for each in mine), default=0)
        others = [
            each
            for each in self.items
            if not self.is_of_witness(each.records) and least <= each.place <= most and each.sign != "refused"
        ]
        wrong = max((each.place for each in mine if each.number == last), default=0)
        others.sort(key=lambda each: (each.sign == "read", abs(each.place - wrong), abs(each.number - last)))
        return sorted([*mine, *others[:AROUND]], key=lambda each: each.number)

    def is_of_witness(self, records: Sequence[Record | InitialNode | None]) -> bool:
        return any(each is not None and each in self.witness for each in records)


def paths_of(record: HistoryLine | Record) -> Iterator[str]:
    """Yield the paths of the nodes that a record is about."""
    match record:
        case Request():
            yield from (part.path for part in record.parts)
            if record.path is not None and record.op != "sync":
                yield record.path
        case Answer() if record.path is not None:
            yield record.path
        case WatchEvent() | InitialNode():
            yield record.path


def pictures(lines: Iterable[HistoryLine], breach: Breach, promises: Sequence[str]) -> list[Picture]:
    """Return a picture along the zxids, and one in real time if a promise is about that; empty ones are left out.

    O(lines) time.
    """
    found = _Found(breach.witness)
    found.read(lines)
    drawn = [_by_zxid(found, _marks(found))]
    if found.is_timed and any(each in IN_REAL_TIME for each in promises):
        drawn.append(_in_real_time(found, _marks(found)))
    return [each for each in drawn if any(each.ticks)]


def marks_of(witness: Sequence[Record | InitialNode]) -> list[str]:
    """Return the marks W1, W2, … of the records of a witness, one for each row."""
    keys = [_row_of(each) for each in witness]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys), 1)}
    return [f"W{numbers[key]}" for key in keys]


def _row_of(record: Record | InitialNode) -> object:
    match record:
        case Request() | Answer():
            return record.connection, record.xid
        case Connect() | Connected() | Lost():
            return record.connection
    return record


def _marks(found: _Found) -> dict[Record | InitialNode, str]:
    return dict(zip(found.witness, marks_of(found.witness), strict=True))


class _Marked(NamedTuple):
    mark: str = ""
    is_wrong: bool = False


def _marked(records: Sequence[Record | InitialNode | None], marks: dict[Record | InitialNode, str]) -> _Marked:
    """Return the mark of the first of these records that has one; it is wrong if it is the last of all marks."""
    mark = next((marks[each] for each in records if each in marks), "")
    return _Marked(mark, bool(mark) and mark == [*marks.values()][-1])


# Along the zxids.


def _by_zxid(found: _Found, marks: dict[Record | InitialNode, str]) -> Picture:
    items = found.near()
    rows: dict[int, dict[int, list[Row]]] = {}
    for item in items:
        record = item.record
        client, connection = (record.client, record.connection) if isinstance(record, Record) else (-1, -1)
        row = Row(_text(item), item.sign, item.place, _line(item, items, found), *_marked(item.records, marks))
        rows.setdefault(client, {}).setdefault(connection, []).append(row)
    for number, link in found.links.items():
        if found.is_of_witness(link.records):
            rows.setdefault(link.connect.client, {}).setdefault(number, [])
    lanes = [
        Lane(_title(found, client, [*of_client]), tuple(_with_connections(found, of_client, marks)))
        for client, of_client in sorted(rows.items())
    ]
    places = [row.at for lane in lanes for row in lane.rows if row.at is not None]
    places += [end for lane in lanes for row in lane.rows if row.line for end in row.line[:2] if end is not None]
    ticks = {place: shown(place) if place else "not told" for place in sorted({*places})}
    return Picture("zxid", ticks, tuple(lanes))


def _title(found: _Found, client: int, connections: Sequence[int]) -> str:
    if client < 0:
        return "at the start"
    links = [found.links[each] for each in connections]
    given = dict.fromkeys(each.connect.session if each.connected is None else each.connected.session for each in links)
    sessions = ", ".join(each for each in given if each != NOBODY)
    return f"client {client}" + (f", session {sessions}" if sessions else "")


def _with_connections(
    found: _Found, by_connection: dict[int, list[Row]], marks: dict[Record | InitialNode, str]
) -> Iterator[Row]:
    """Yield the rows of a client: each connection, followed by its requests and events."""
    for connection, rows in sorted(by_connection.items()):
        if connection >= 0:
            link = found.links[connection]
            marked = _marked(link.records, marks)
            seen = link.connect.seen if marked.mark or len(by_connection) > 1 else 0
            places = [row.at for row in rows if row.at is not None] + ([seen] if seen else [])
            bar = Line(min(places), max(places), "connection") if places else None
            text = _of_connection(link, seen)
            yield Row(text, "connection", (seen or None) if marked.mark else None, bar, *marked)
        yield from rows


def _of_connection(link: _Link, seen: int) -> str:
    said = f"connection {link.connect.connection}" + (f" to {link.connect.server}" if link.connect.server else "")
    if link.connected is not None and link.connected.session == NOBODY:
        said += f", session {link.connect.session} has expired"
    elif link.connected is not None and link.connected.session != link.connect.session != NOBODY:
        said += f", asks for {link.connect.session}"
    said += f", has seen {shown(seen)}" if seen else ""
    return said + (", lost" if link.lost is not None else "")


def _text(item: _Item) -> str:
    """Return a request with its outcome, or an event, as text."""
    if isinstance(item.other, InitialNode):
        return item.other.path
    if item.other is not None:
        return f"{item.other.type} {item.other.path}"
    if item.request is None:
        assert item.answer is not None
        return f"an answer to {item.answer.xid}, which was not asked"
    return brief(item.request, item.answer)


def _line(item: _Item, items: Sequence[_Item], found: _Found) -> Line | None:
    """Return the line of a watch to its event, of a read from the state it shows, or of a write of unknown outcome."""
    if item.sign == "unknown":
        return Line(item.place, None, "unknown")
    asked = item.request
    if asked is not None and asked.watch and asked.op != "removeWatches" and item.answer is not None:
        return Line(item.place, _end_of_watch(item, asked, items, found), "watch")
    sees = item.sees(items)
    is_passed_over = any(other.sign == "write" and sees <= other.place <= item.place for other in items)
    return Line(sees, item.place, "shows") if 0 < sees < item.place and is_passed_over else None


def _end_of_watch(item: _Item, asked: Request, items: Sequence[_Item], found: _Found) -> int | None:
    """Return the place of the first event of a watch, or that where its connection is lost; None if it has neither."""
    for each in items:
        if each.number > item.number and isinstance(each.other, WatchEvent):
            event = each.other
            if event.connection == asked.connection and event.path == asked.path:
                return each.place
    if found.links[asked.connection].lost is None:
        return None
    mine = (each for each in items if isinstance(each.record, Record) and each.record.connection == asked.connection)
    return max(each.place for each in mine)


# In real time.


def _in_real_time(found: _Found, marks: dict[Record | InitialNode, str]) -> Picture:
    """Draw each record of the witness from the time it was sent to the time it was answered."""
    rows: list[tuple[int, Row]] = []
    for item in found.items:
        if found.is_of_witness(item.records):
            rows += _spanned(_text(item), item.sign, item.records, marks)
    for link in found.links.values():
        if found.is_of_witness(link.records):
            rows += _spanned(_of_connection(link, 0), "connection", (link.connect, link.connected), marks)
    lanes: dict[int, list[Row]] = {}
    for client, row in sorted(rows, key=lambda each: _since_and_until(each[1])):
        lanes.setdefault(client, []).append(row)
    times = sorted({end for _, row in rows if row.line for end in row.line[:2] if end is not None})
    by_client = tuple(Lane(f"client {each}", tuple(lanes[each])) for each in sorted(lanes))
    if found.are_times_numbers:
        return Picture("operation", {time: str(time) for time in times}, by_client)
    size, unit = next(each for each in _UNITS if not times or times[-1] - times[0] >= each[0] or each[0] == 1)
    ticks = {time: f"{(time - times[0]) / size:.4g} {unit}" for time in times}
    return Picture("time", ticks, by_client)


def _since_and_until(row: Row) -> tuple[int, float]:
    assert row.line is not None
    return row.line.since, inf if row.line.until is None else row.line.until


def _spanned(
    text: str,
    sign: Sign,
    records: Sequence[Record | InitialNode | None],
    marks: dict[Record | InitialNode, str],
) -> Iterator[tuple[int, Row]]:
    """Yield the row of a request, an event or a connection, with its client, if its times are known."""
    known = [each for each in records if isinstance(each, Record) and each.time is not None]
    if known:
        begins, ends = known[0].time, known[-1].time
        assert begins is not None
        is_open = sign == "unknown" or (sign == "read" and len(known) < 2)
        line = Line(begins, None if is_open else ends, "time")
        yield known[0].client, Row(text, sign, begins if is_open else ends, line, *_marked(records, marks))
