"""A history as columns: an array for each field of its requests, answers and events; also checks their rules.

Paths, sessions and errors are numbers here; data is its CRC and length, a list of children its hash. An array has
`NONE` where a field has no value.
"""

import re
import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, compress
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from zabcheck.zookeeper.clients.exchange import UNKNOWN, WRITES
from zabcheck.zookeeper.clients.history import (
    ERROR,
    NOBODY,
    PATH,
    SESSION,
    Answer,
    Connect,
    Connected,
    Content,
    Data,
    HistoryEnd,
    HistoryHeader,
    HistoryLine,
    Lost,
    OperationName,
    Part,
    Record,
    Request,
    Result,
    Stat,
    WatchEvent,
    content_of,
)
from zabcheck.zookeeper.clients.screen.digests import digests_of, hashes_of
from zabcheck.zookeeper.clients.watches import lists_of
from zabcheck.zookeeper.wire.client import EventType

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Table = dict[str, npt.NDArray[Any]]
"""Columns of equal length."""

NONE = -(1 << 62)
"""The value of a field that is not there."""
NO_ID = -1
"""The number of a path, error or session if there is none."""
OPS: dict[str, int] = {name: number for number, name in enumerate(get_args(OperationName))}
"""The numbers of operations."""
TYPES: dict[str, int] = {name: number for number, name in enumerate(get_args(EventType))}
"""The numbers of the types of events."""
MODES = {"sequential": 1, "ephemeral": 2, "container": 4, "ttl": 8}
"""The bits of the modes of a node."""
LENGTH = (1 << 31) - 1
"""The bits of a content that are its length."""
DONE, NO_NODE, NODE_EXISTS, BAD_VERSION, OF_NO_PART, NOT_EMPTY, OF_EPHEMERAL, NO_WATCHER = range(8)
"""The numbers of some errors."""
_ERRORS = (
    *("", "NoNode", "NodeExists", "BadVersion", "RuntimeInconsistency"),
    *("NotEmpty", "NoChildrenForEphemerals", "NoWatcher"),
    *UNKNOWN,
)
_UNKNOWN = [_ERRORS.index(error) for error in UNKNOWN]
_NEVER = (1 << 63) - 1
_MOST_CONNECTIONS = 1 << 26
_HIGHEST_ZXID = (1 << 62) - 1
"""The highest zxid that is compared in columns: one more still fits into 64 bits, and differs from `nodes.NEVER`."""
STAT = ("czxid", "mzxid", "pzxid", "version", "cversion", "mtime", "owner", "length", "count")
"""The columns of a Stat; `czxid` is `NONE` where there is none."""


class Unusual(Exception):
    """The history cannot be taken into columns, or is none."""


class Numbers(dict[Any, int]):
    """The number of each value, in the order in which they were first asked for."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


class _Paths(Numbers):
    """The numbers of paths; None has `NO_ID`. Unusual for text that is not a path."""

    def __init__(self) -> None:
        super().__init__({None: NO_ID})

    def __missing__(self, path: str) -> int:
        if not _is_path(path):
            raise Unusual
        self[path] = number = len(self) - 1
        return number


class _Sessions(Numbers):
    """The numbers of sessions. Unusual for text that is not a session."""

    def __missing__(self, session: str) -> int:
        if not _is_session(session):
            raise Unusual
        return super().__missing__(session)


class _Errors(Numbers):
    """The numbers of errors. Unusual for text that is not an error."""

    def __missing__(self, error: str) -> int:
        if not _is_error(error):
            raise Unusual
        return super().__missing__(error)


_is_path, _is_session, _is_error = (re.compile(each).search for each in (PATH, SESSION, ERROR))


def contents_of(data: Sequence[str | Data | None]) -> Ints:
    """Return the CRC and length of each datum as one number. Unusual for digests of another kind."""
    contents = np.full(len(data), NONE)
    is_there = _bytes([each is not None for each in data], np.bool_)
    given = [*compress(data, is_there.tobytes())]
    try:
        contents[is_there] = digests_of(given)  # type: ignore[arg-type]
    except TypeError:
        contents[is_there] = [_content_number(content_of(each)) for each in given]
    return contents


def _content_number(content: Content | None) -> int:
    if content is None:
        return NONE
    kind, _, digest = content.digest.partition(":")
    if kind != "crc32" or len(digest) != 8 or content.length > LENGTH:
        raise Unusual
    return int(digest, 16) << 31 | content.length


class _Modes(dict[tuple[str, ...], int]):
    def __missing__(self, mode: tuple[str, ...]) -> int:
        self[mode] = bits = sum({MODES[each] for each in mode})
        return bits


class GrowingTable:
    """Columns of equal length, to which pieces are added."""

    def __init__(self) -> None:
        self._pieces: list[Table] = []

    def add(self, piece: Table) -> None:
        self._pieces.append(piece)

    def take(self, *empty: str) -> Table:
        """Return the whole columns; without pieces, empty ones with the given names."""
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return {name: np.zeros(0, np.int64) for name in empty}
        if len(pieces) == 1:
            return pieces[0]
        return {name: np.concatenate([piece.pop(name) for piece in pieces]) for name in [*pieces[0]]}


def _ints(values: Sequence[int], kind: Any = np.int64) -> npt.NDArray[Any]:
    """Return numbers as an array. `np.fromiter` takes one and a half times as long."""
    raw = bytearray(8 * len(values))
    struct.pack_into(f"{len(values)}q", raw, 0, *values)
    return np.frombuffer(raw, np.int64).astype(kind, copy=False)


def _bytes(values: Sequence[int], kind: Any = np.int8) -> npt.NDArray[Any]:
    """Return numbers below 128, or flags, as an array of one byte each."""
    return np.frombuffer(bytearray(values), kind)


def _given(values: Sequence[int | None]) -> Ints:
    """Return numbers, with `NONE` in place of None."""
    try:
        return _ints(values)  # type: ignore[arg-type]
    except struct.error:
        return _ints([NONE if value is None else value for value in values])


class Gathering:
    """A collector of the lines of a history, which makes columns of them."""

    def __init__(self) -> None:
        self.header: HistoryHeader | None = None
        self.paths, self.sessions, self.errors = _Paths(), _Sessions({NOBODY: 0}), _Errors()
        for error in _ERRORS:
            self.errors[error]
        self.end: tuple[int, int] | None = None
        """The place of the `end` line, and its count."""
        self.length = 0
        self.connects: list[tuple[int, Connect]] = []
        """Each with its place in the file, as in the lists that follow."""
        self.connected: list[tuple[int, Connected]] = []
        self.lost: list[tuple[int, Lost]] = []
        self.watches: dict[int, Request] = {}
        """The requests that only concern watches, by place in the file."""
        self.requests, self.answers, self.events = GrowingTable(), GrowingTable(), GrowingTable()
        self.parts, self.results = GrowingTable(), GrowingTable()
        self.tables = self.requests, self.answers, self.events, self.parts, self.results
        self.modes = _Modes()

    def add(self, lines: Sequence[HistoryLine]) -> None:
        """Add the next lines. Unusual."""
        self.add_at(np.arange(self.length, self.length + len(lines)), lines)
        self.length += len(lines)

    def add_at(self, places: Ints, lines: Sequence[HistoryLine]) -> None:
        """Add lines with these places in the file, which need not be consecutive. Unusual."""
        kinds = _bytes([_KINDS[type(line)] for line in lines])
        for kind, take in enumerate((self._other, self._request, self._answer, self._event)):
            chosen = kinds == kind
            if chosen.any():
                take(places[chosen], [*compress(lines, chosen.tobytes())])

    def _other(self, places: Ints, lines: Sequence[Any]) -> None:
        for place, line in zip(places.tolist(), lines, strict=True):
            if isinstance(line, Connect):
                self.connects.append((place, line))
            elif isinstance(line, Connected):
                self.connected.append((place, line))
            elif isinstance(line, Lost):
                self.lost.append((place, line))
            elif isinstance(line, HistoryHeader) and not place:
                self.header = line
            elif isinstance(line, HistoryEnd) and self.end is None:
                self.end = place, line.count
            else:
                raise Unusual

    # A list comprehension for each field is the quickest way to read it.

    def _of_records(
        self, places: Ints, connections: Sequence[int], clients: Sequence[int], times: Sequence[int | None]
    ) -> Table:
        return {"line": places, **self.whose(_ints(connections), _ints(clients)), "time": _given(times)}

    def whose(self, connections: Ints, clients: Ints) -> Table:
        """Return the columns of the connection and the client of lines. Unusual for high numbers."""
        if connections.max(initial=0) >= _MOST_CONNECTIONS or clients.max(initial=0) >= 1 << 31:
            raise Unusual
        return {"connection": connections.astype(np.int32), "client": clients.astype(np.int32)}

    def _request(self, places: Ints, lines: Sequence[Request]) -> None:
        columns = self._of_records(
            places,
            [each.connection for each in lines],
            [each.client for each in lines],
            [each.time for each in lines],
        )
        columns["xid"] = _ints([each.xid for each in lines])
        columns |= self._asked(lines)
        columns["watch"] = _bytes([WATCHES[each.watch] for each in lines])
        self.requests.add(columns)
        op = columns["op"]
        if is_one_of(op, _OF_JEPSEN).any() or [True for each in lines if each.expects is not None]:
            raise Unusual
        about_watches = np.flatnonzero(is_one_of(op, ABOUT_WATCHES)).tolist()
        self.take_watches([(int(places[number]), lines[number]) for number in about_watches])
        of_parts = np.flatnonzero(is_one_of(op, [OPS["multi"], OPS["multiRead"]])).tolist()
        self.take_parts(places[of_parts], [lines[number].parts for number in of_parts], np.arange(len(of_parts)))

    def _asked(self, asked: Sequence[Any]) -> Table:
        if True in [each.restricted for each in asked]:
            raise Unusual
        paths, modes = self.paths, self.modes
        return {
            "op": _bytes([OPS[each.op] for each in asked]),
            "path": _ints([paths[each.path] for each in asked], np.int32),
            "expected": _ints([each.version for each in asked]),
            "mode": _bytes([modes[each.mode] for each in asked]),
            "content": contents_of([each.data for each in asked]),
            "ttl": _ints([each.ttl for each in asked]),
        }

    def _answer(self, places: Ints, lines: Sequence[Answer]) -> None:
        columns = self._of_records(
            places,
            [each.connection for each in lines],
            [each.client for each in lines],
            [each.time for each in lines],
        )
        columns["xid"] = _ints([each.xid for each in lines])
        columns["zxid"] = np.maximum(_ints([each.zxid for each in lines]), 0)
        columns |= self._result(lines)
        self.answers.add(columns)
        if True in [each.stray for each in lines]:
            raise Unusual
        some = [number for number, each in enumerate(lines) if each.results]
        self.take_results(places[some], [lines[number].results for number in some], np.arange(len(some)))

    def _result(self, results: Sequence[Any]) -> Table:
        paths, errors = self.paths, self.errors
        children = [each.children for each in results]
        listed = [number for number, names in enumerate(children) if names is not None]
        columns = {
            "error": _ints([errors[each.error] for each in results], np.int32),
            "created": _ints([paths[each.path] for each in results], np.int32),
            "shown": contents_of([each.data for each in results]),
            "children": np.full(len(results), NONE),
            "names": np.full(len(results), NONE),
        }
        columns["children"][listed], columns["names"][listed] = hashes_of([children[number] for number in listed])
        return columns | self._stats([each.stat for each in results])

    def _stats(self, stats: Sequence[Stat | None]) -> Table:
        has = _bytes([each is not None for each in stats], np.bool_)
        given, sessions = [each for each in stats if each is not None], self.sessions
        fields = {
            "czxid": _ints([each.czxid for each in given]),
            "mzxid": _ints([each.mzxid for each in given]),
            "pzxid": _ints([each.pzxid for each in given]),
            "version": _ints([each.version for each in given]),
            "cversion": _given([each.cversion for each in given]),
            "mtime": _given([each.mtime for each in given]),
            "owner": _ints([sessions[each.ephemeral_owner] for each in given]),
            "length": _given([each.data_length for each in given]),
            "count": _given([each.num_children for each in given]),
        }
        for name, values in fields.items():
            fields[name] = np.full(len(stats), NONE)
            fields[name][has] = values
        return fields

    def take_watches(self, requests: Sequence[tuple[int, Request]]) -> None:
        """Add requests that only concern watches, each with its place in the file."""
        self.watches.update(requests)
        for _, request in requests:
            for _, paths in lists_of(request):
                for path in paths:
                    self.paths[path]

    def take_parts(self, places: Ints, parts: Sequence[Sequence[Part]], numbers: npt.NDArray[Any]) -> None:
        """Add the parts of multis: those of the line at each place are `parts[number]`."""
        self._several(self.parts, self._asked, places, parts, numbers)

    def take_results(self, places: Ints, results: Sequence[Sequence[Result]], numbers: npt.NDArray[Any]) -> None:
        """Add the results of multis: those of the line at each place are `results[number]`."""
        self._several(self.results, self._result, places, results, numbers)

    def _several(
        self,
        target: GrowingTable,
        columns: Callable[[Sequence[Any]], Table],
        places: Ints,
        several: Sequence[Sequence[Any]],
        numbers: npt.NDArray[Any],
    ) -> None:
        each = [*chain.from_iterable(several)]
        if each:
            lengths = _ints([*map(len, several)])
            starts, counts = (np.cumsum(lengths) - lengths)[numbers], lengths[numbers]
            number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            rows = np.repeat(starts, counts) + number
            table = {name: values[rows] for name, values in columns(each).items()}
            target.add({"line": np.repeat(places, counts), "number": number} | table)

    def _event(self, places: Ints, lines: Sequence[WatchEvent]) -> None:
        columns = self._of_records(
            places,
            [each.connection for each in lines],
            [each.client for each in lines],
            [each.time for each in lines],
        )
        columns["type"] = _bytes([TYPES[each.type] for each in lines])
        columns["path"] = _ints([self.paths[each.path] for each in lines], np.int32)
        columns["zxid"] = _ints([each.zxid for each in lines])
        self.events.add(columns)


class _Kinds(dict[type[HistoryLine], int]):
    """The kind of a line by its type."""

    def __missing__(self, line: type[HistoryLine]) -> int:
        self[line] = kind = next(
            (kind for kind, of in enumerate((Request, Answer, WatchEvent), 1) if issubclass(line, of)), 0
        )
        return kind


_KINDS = _Kinds()
WATCHES = {
    name: number for number, name in enumerate(("", "standard", "persistent", "recursive", "data", "children", "any"))
}
_OF_JEPSEN = [OPS["txn"], OPS["append"]]
ABOUT_WATCHES = [OPS[name] for name in ("addWatch", "removeWatches", "setWatches")]
_BESIDE = [OPS["ping"], OPS["auth"]]


class Columns:
    """A history that keeps the rules of `exchange.read`, joined: a row for each request, with its answer.

    Rows are in the order of the file; `sent` and `answered` are places in it, `answered` is `NONE` without an answer.
    """

    def __init__(self, gathered: Gathering) -> None:
        """Join the gathered lines. Unusual, also if a rule may be broken."""
        if gathered.header is None or gathered.header.initial == "given":
            raise Unusual
        self.is_whole = gathered.end is not None
        if gathered.end not in (None, (gathered.length - 1, gathered.length - 2)):
            raise Unusual
        self.header, self.watches = gathered.header, gathered.watches
        self.connects = [line for _, line in gathered.connects]
        self._whose = self._clients_of_connections()
        numbers = self._connected_numbers = self._numbers_of(gathered.connected)
        self.connected = dict(zip(numbers.tolist(), (line for _, line in gathered.connected), strict=True))
        if len(self.connected) < len(gathered.connected):
            raise Unusual
        self.paths = [*gathered.paths][1:]
        self.path_numbers, self.session_numbers = gathered.paths, gathered.sessions
        self.session_of = np.array(
            [
                gathered.sessions[self.connected.get(number, connect).session]
                for number, connect in enumerate(self.connects)
            ],
            np.int32,
        )
        """The session of each connection."""
        self.sessions = [*gathered.sessions]
        requests = gathered.requests.take(*_REQUESTED)
        self.answers = gathered.answers.take(*_ANSWERED)
        self.events = gathered.events.take(*_HEARD)
        self.parts, self.results = gathered.parts.take(*_PARTS), gathered.results.take(*_RESULTS)
        for table in (requests, self.answers, self.events, self.parts, self.results):
            _in_order(table)
        for table in (requests, self.answers, self.events):
            table["connection"] = self._numbered(table["connection"], table.pop("client"))
        self._look_at_lines(gathered, requests)
        self._join(requests)

    def _clients_of_connections(self) -> tuple[npt.NDArray[np.int32], Ints]:
        """Return the number of each connection in the order of the file, by its number there, and their clients.

        Unusual if one is opened twice.
        """
        opened = _given([each.connection for each in self.connects])
        if opened.max(initial=0) >= _MOST_CONNECTIONS:
            raise Unusual
        table = np.full(opened.max(initial=-1) + 2, -1, np.int32)  # the last stands for unknown connections
        table[opened] = np.arange(len(opened), dtype=np.int32)
        if (table >= 0).sum() < len(opened):
            raise Unusual
        return table, _given([each.client for each in self.connects])

    def _numbered(self, connections: Ints, clients: Ints) -> npt.NDArray[np.int32]:
        """Return the numbers of connections that were opened by these clients. Unusual, if one was not."""
        table, client_of = self._whose
        connection = table[np.minimum(connections, len(table) - 1)]
        if (connection < 0).any() or not np.array_equal(client_of[connection], clients):
            raise Unusual
        return connection

    def _numbers_of(self, lines: Sequence[tuple[int, Record]]) -> npt.NDArray[np.int32]:
        """Return the numbers of the connections of lines. Unusual."""
        return self._numbered(_ints([line.connection for _, line in lines]), _ints([line.client for _, line in lines]))

    def _look_at_lines(self, gathered: Gathering, requests: Table) -> None:
        """Check the place and the time of each line of a connection. Unusual."""
        opened = self.opened = _ints([line for line, _ in gathered.connects])
        lost = self._numbers_of(gathered.lost)
        ended = np.full(len(opened), _NEVER)
        ended[lost] = _ints([line for line, _ in gathered.lost])
        if (np.bincount(lost, minlength=1) > 1).any():
            raise Unusual
        beside: tuple[tuple[npt.NDArray[Any], Sequence[tuple[int, Record]]], ...] = (
            (np.arange(len(opened)), gathered.connects),
            (self._connected_numbers, gathered.connected),
            (lost, gathered.lost),
        )
        tables = [
            (table["line"], table["connection"], table["time"]) for table in (requests, self.answers, self.events)
        ]
        tables += [
            (_ints([place for place, _ in some]), connection, _given([line.time for _, line in some]))
            for connection, some in beside
        ]
        tables[3][2][tables[3][2] == NONE] = 0
        time = np.full(gathered.length, NONE)
        for lines, connection, when in tables:
            if (opened[connection] > lines).any() or (ended[connection] < lines).any():
                raise Unusual
            time[lines] = when
        if (np.diff(time[time != NONE]) < 0).any():
            connection_of = np.full(gathered.length, -1, np.int32)
            for lines, connection, _ in tables:
                connection_of[lines] = connection
            timed = np.flatnonzero(time != NONE)
            order = timed[grouped(connection_of[timed], len(opened))]
            same = np.diff(connection_of[order]) == 0
            if (np.diff(time[order])[same] < 0).any():
                raise Unusual

    def _join(self, requests: Table) -> None:
        """Find the answer of each request. Unusual."""
        answers, connections = self.answers, len(self.connects)
        self.by_connection = grouped(requests["connection"], connections)
        """The rows, those of a connection together, in the order of requests."""
        self.answers_by_connection = grouped(answers["connection"], connections)
        """The answers, those of a connection together, in their order."""
        asked = np.bincount(requests["connection"], minlength=connections)
        told = np.bincount(answers["connection"], minlength=connections)
        if (told > asked).any():
            raise Unusual
        first = np.cumsum(asked) - asked
        place = np.arange(len(answers["line"])) - np.repeat(np.cumsum(told) - told - first, told)
        answered = self.by_connection[place]
        answer = np.full(len(requests["xid"]), -1)
        if np.array_equal(answers["xid"][self.answers_by_connection], requests["xid"][answered]):
            answer[answered] = self.answers_by_connection
            if _is_ambiguous(requests, self.by_connection, answers["line"], answer):
                raise Unusual
        else:
            answer = _by_xid(requests, answers)
        self.answer = answer
        """The row of the answer, −1 if there is none."""
        self.connection = requests["connection"]
        self.session = self.session_of[self.connection]
        self.sent, self.op, self.path = requests["line"], requests["op"], requests["path"]
        self.expected, self.mode, self.content = requests["expected"], requests["mode"], requests["content"]
        self.watch, self.time, self.ttl = requests["watch"], requests["time"], requests["ttl"]
        has = answer >= 0
        self.answered = self.of_answer("line")
        if (self.answered[has] < self.sent[has]).any():
            raise Unusual
        self.zxid = np.where(has, self.of_answer("zxid"), 0)
        if self.zxid.max(initial=0) > _HIGHEST_ZXID:
            raise Unusual
        self.error = np.where(has, self.of_answer("error"), NO_ID)
        self.is_write = is_one_of(self.op, _WRITES)
        self.is_known = has & ~is_one_of(self.error, _UNKNOWN)
        refused = np.zeros(len(answers["line"]) + 1, np.bool_)
        wrong = self.results["line"][self.results["error"] != DONE]
        refused[np.searchsorted(answers["line"], wrong)] = True
        self.is_done = has & (self.error == DONE) & ~((self.op == OPS["multi"]) & refused[answer])

    def of_answer(self, name: str) -> Ints:
        """Return a column of the answers by request; any value where there is none."""
        column = self.answers[name]
        return column[self.answer] if len(column) else np.full(len(self.answer), NONE)

    @cached_property
    def all_paths(self) -> list[str]:
        """The paths that lines name, and their parents."""
        return [*self.path_numbers][1:]

    @cached_property
    def done(self) -> Ints:
        """The rows of writes that were done at a known zxid."""
        return np.flatnonzero(self.is_write & self.is_done & (self.zxid > 0))

    @cached_property
    def is_beside_the_order(self) -> Bools:
        return is_one_of(self.op, _BESIDE)

    def by_session(self, rows: Ints) -> Ints:
        """Return rows, those of a session together, in their order."""
        return rows[grouped(self.session[rows], len(self.sessions))]


_OF_RECORDS = ("line", "connection", "client", "time")
_ASKED = ("op", "path", "expected", "mode", "content", "ttl")
_REQUESTED = (*_OF_RECORDS, "xid", *_ASKED, "watch")
_RESULTED = ("error", "created", "shown", "children", "names", *STAT)
_ANSWERED = (*_OF_RECORDS, "xid", "zxid", *_RESULTED)
_HEARD = (*_OF_RECORDS, "type", "path", "zxid")
_PARTS = ("line", "number", *_ASKED)
_RESULTS = ("line", "number", *_RESULTED)
_WRITES = [OPS[name] for name in WRITES]


def _in_order(table: Table) -> None:
    """Put rows into the order of their lines."""
    if (np.diff(table["line"]) < 0).any():
        order = np.argsort(table["line"], kind="stable")
        for name in table:
            table[name] = table[name][order]


def _is_ambiguous(requests: Table, by_connection: Ints, answered: Ints, answer: Ints) -> bool:
    """Return True if a number is used again on its connection before its request was answered."""
    xid, connection = requests["xid"][by_connection], requests["connection"][by_connection]
    rises = (np.diff(xid) > 0) | (np.diff(connection) != 0)
    if rises.all():
        return False
    order = np.lexsort((xid, connection))  # equal ones in the order of requests
    again = np.flatnonzero((np.diff(xid[order]) == 0) & (np.diff(connection[order]) == 0))
    first, second = by_connection[order[again]], by_connection[order[again + 1]]
    if (answer[first] < 0).any():
        return True
    return bool((answered[answer[first]] > requests["line"][second]).any())


def _by_xid(requests: Table, answers: Table) -> Ints:
    """Return the answer of each request: on a connection, requests and answers of one number take turns. Unusual."""
    line = np.concatenate([requests["line"], answers["line"]])
    xid = np.concatenate([requests["xid"], answers["xid"]])
    connection = np.concatenate([requests["connection"], answers["connection"]])
    order = np.lexsort((line, xid, connection))
    is_answer = order >= len(requests["line"])
    again = (np.diff(xid[order]) == 0) & (np.diff(connection[order]) == 0)
    if is_answer[:1].any() or (is_answer[1:] & ~again).any() or (again & (is_answer[1:] == is_answer[:-1])).any():
        raise Unusual
    answer = np.full(len(requests["line"]), -1)
    answer[order[:-1][is_answer[1:]]] = order[1:][is_answer[1:]] - len(requests["line"])
    return answer


def is_one_of(values: npt.NDArray[Any], numbers: Sequence[int]) -> Bools:
    """Return which values are among a few numbers. `np.isin` takes 20 times as long."""
    found: Bools = values == numbers[0]
    for number in numbers[1:]:
        found |= values == number
    return found


def distinct(values: Ints) -> Ints:
    """Return the different values in order. `np.unique` takes 30 times as long."""
    values = np.sort(values)
    found: Ints = values[np.append(True, np.diff(values) != 0)[: len(values)]]
    return found


def grouped(numbers: npt.NDArray[Any], count: int) -> Ints:
    """Return the order that sorts numbers below `count`, stably. O(numbers)."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    for digit in range(16, (count - 1).bit_length(), 16):
        order = order[np.argsort((numbers[order] >> digit).astype(np.uint16), kind="stable")]
    return order


def highest(values: Ints, group: npt.NDArray[Any]) -> Ints:
    """Return the highest value so far within each group; the values of a group are together. Unusual if too large."""
    rank = np.cumsum(np.diff(group, prepend=group[:1]) != 0)
    bits = int(values.max(initial=0)).bit_length()
    if bits + int(rank[-1:].max(initial=0)).bit_length() > 62:
        raise Unusual
    return np.maximum.accumulate(rank << bits | values) & ((1 << bits) - 1)
