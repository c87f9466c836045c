"""Gathers the columns of Parquet as they are: no line is made from a row, except from unusual ones.

Needs pyarrow: the extra `parquet`.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from msgspec.json import Decoder

from zabcheck.invariants.trace import decode_block
from zabcheck.zookeeper.clients import parquet
from zabcheck.zookeeper.clients.history import (
    LATEST,
    Connect,
    Connected,
    Count,
    Data,
    HistoryError,
    Lost,
    Request,
    Session,
    Zxid,
)
from zabcheck.zookeeper.clients.screen.columns import (
    ABOUT_WATCHES,
    DONE,
    NO_ID,
    NONE,
    OPS,
    TYPES,
    WATCHES,
    Bools,
    Gathering,
    Ints,
    Table,
    Unusual,
    contents_of,
    is_one_of,
)
from zabcheck.zookeeper.clients.screen.digests import digests_within, hashes_of
from zabcheck.zookeeper.clients.screen.lines import UnmatchedPart, UnmatchedResult

_LEAST = -1 << 63
_PATH = re.compile("/([^/]+(/[^/]+)*)?")
_SESSION = re.compile("0x[0-9a-f]{1,16}")
_RECORD = ("record", "client", "connection", "time", "rest")
_REQUEST = (*_RECORD, "xid", "op", "path", "version", "mode", "watch", "data")
_ANSWER = (*_RECORD, "xid", "zxid", "path", "error", "data", *parquet.STAT)
_EVENT = (*_RECORD, "type", "path", "zxid")
_KINDS = {"request": 1, "answer": 2, "event": 3, "connect": 4, "connected": 5, "lost": 6}
_AS_LINES = ("txn", "append")
"""The operations whose requests are taken as lines."""
_OP_NAMES = [*OPS]


class _Rest(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """Base of the fields that a kind of line may have in `rest`."""


class _RestOfRequest(_Rest):
    """The fields in `rest` of a request that is not taken as a line."""

    parts: tuple[UnmatchedPart, ...] = ()
    ttl: Count = 0
    data: Data | None = None
    relative: Zxid = 0
    data_watches: tuple[str, ...] = ()
    exist_watches: tuple[str, ...] = ()
    child_watches: tuple[str, ...] = ()
    persistent_watches: tuple[str, ...] = ()
    recursive_watches: tuple[str, ...] = ()
    restricted: bool = False


class _RestOfAnswer(_Rest):
    children: tuple[str, ...] | None = None
    results: tuple[UnmatchedResult, ...] = ()
    data: Data | None = None


class _RestOfConnect(_Rest):
    session: Session
    server: str | None = None
    seen: Zxid = 0
    timeout: Count = 0


class _RestOfConnected(_Rest):
    session: Session
    timeout: Count = 0
    read_only: bool = False
    local: bool = False


class _RestOfLost(_Rest):
    why: str = ""


T = TypeVar("T", bound=_Rest)
_REQUESTS, _ANSWERS = Decoder(_RestOfRequest), Decoder(_RestOfAnswer)
_CONNECTS, _CONNECTEDS, _LOSTS = Decoder(_RestOfConnect), Decoder(_RestOfConnected), Decoder(_RestOfLost)


class _Doubtful(Exception):
    """A row may not be a line of a history."""


def gather(source: BinaryIO, name: str, gathering: Gathering, groups: Sequence[int] | None = None) -> None:
    """Add the rows of a file, or of some row groups, to columns.

    HistoryError as for `parquet.load`; Unusual as for `Gathering.add`.
    """
    for batch in parquet.batches(source, name, groups):
        _Batch(batch, name, gathering).take()
        gathering.length += len(batch)


class _Batch:
    """A batch of rows that follows those that were gathered."""

    def __init__(self, batch: pa.RecordBatch, name: str, gathering: Gathering) -> None:
        self.batch, self.name, self.gathering = batch, name, gathering
        self.places = np.arange(gathering.length, gathering.length + len(batch))
        self.valid = {each: _is_valid(batch.column(each)) for each in batch.schema.names}

    def take(self) -> None:
        self.rows = np.arange(len(self.batch))
        record = self._looked_up("record", [_KINDS.get(each, 0) for each in self._values("record")], 0, np.int8)
        record[self.valid["rest"] & (record == 3)] = 0
        if any(each in _AS_LINES for each in self._values("op")):
            record[self._looked_up("op", [each in _AS_LINES for each in self._values("op")], 0, np.bool_)] = 0
        self._take_lines(record == 0)
        kinds: tuple[tuple[Callable[[], None], tuple[str, ...]], ...] = (
            (lambda: self.gathering.requests.add(self._records() | self._requests()), _REQUEST),
            (lambda: self.gathering.answers.add(self._records() | self._answers()), _ANSWER),
            (lambda: self.gathering.events.add(self._records() | self._events()), _EVENT),
            (self._connects, _RECORD),
            (self._connecteds, _RECORD),
            (self._lost, _RECORD),
        )
        for kind, (take, columns) in enumerate(kinds, 1):
            self.chosen = record == kind
            self.rows = np.flatnonzero(self.chosen)
            if len(self.rows):
                try:
                    if any((self.valid[each] & self.chosen).any() for each in self.valid if each not in columns):
                        raise _Doubtful
                    take()
                except (_Doubtful, KeyError, msgspec.DecodeError, UnicodeDecodeError):
                    self._take_lines(self.chosen)

    def _take_lines(self, chosen: Bools) -> None:
        """Add rows as lines. HistoryError for the first bad row of the batch."""
        if not chosen.any():
            return
        try:
            lines = parquet.lines_of(self.batch.filter(_flags(chosen)), self.name, 0)
        except HistoryError:
            parquet.lines_of(self.batch, self.name, self.gathering.length)
            raise
        self.gathering.add_at(self.places[chosen], lines)

    # The kinds of lines. Each method reads all rows before it adds any.

    def _whose(self) -> tuple[list[int], list[int], list[int], list[int | None]]:
        """Return the places, clients, connections and times of the rows."""
        table = self._records()
        times = [None if each == NONE else each for each in table["time"].tolist()]
        return table["line"].tolist(), table["client"].tolist(), table["connection"].tolist(), times

    def _connects(self) -> None:
        self._need("rest")
        self.gathering.connects += [
            (
                place,
                Connect(
                    client=client,
                    connection=connection,
                    time=time,
                    session=each.session,
                    server=each.server,
                    seen=each.seen,
                    timeout=each.timeout,
                ),
            )
            for place, client, connection, time, each in zip(*self._whose(), self._rest(_CONNECTS)[1], strict=True)
        ]

    def _connecteds(self) -> None:
        self._need("rest")
        self.gathering.connected += [
            (
                place,
                Connected(
                    client=client,
                    connection=connection,
                    time=time,
                    session=each.session,
                    timeout=each.timeout,
                    read_only=each.read_only,
                    local=each.local,
                ),
            )
            for place, client, connection, time, each in zip(*self._whose(), self._rest(_CONNECTEDS)[1], strict=True)
        ]

    def _lost(self) -> None:
        lines, rest = self._rest(_LOSTS)
        why = dict(zip(lines.tolist(), [each.why for each in rest], strict=True))
        self.gathering.lost += [
            (place, Lost(client=client, connection=connection, time=time, why=why.get(row, "")))
            for row, (place, client, connection, time) in enumerate(zip(*self._whose(), strict=True))
        ]

    def _records(self) -> Table:
        """Return the columns that each kind of line has."""
        whose = self.gathering.whose(self._given("connection"), self._given("client"))
        time = self._ints("time")
        if (time > LATEST).any():
            raise _Doubtful
        return {"line": self.places[self.rows], **whose, "time": time}

    def _requests(self) -> Table:
        self._need("op")
        lines, rest, numbers = self._distinct_rest(_REQUESTS)
        if True in [each.restricted for each in rest]:
            raise Unusual
        content, ttl = self._contents(), np.zeros(len(self.rows), np.int64)
        ttl[lines] = np.array([each.ttl for each in rest], np.int64)[numbers]
        self._put_data(content, lines, rest, numbers)
        modes = self.gathering.modes
        table: Table = {
            "xid": self._given("xid", _LEAST),
            "op": self._looked_up("op", [OPS[each] for each in self._values("op")], NO_ID, np.int8),
            "path": self._paths(),
            "expected": self._ints("version", _LEAST, -1),
            "mode": self._looked_up(
                "mode", [modes[tuple(each.split(" "))] for each in self._values("mode")], 0, np.int8
            ),
            "content": content,
            "ttl": ttl,
            "watch": self._looked_up("watch", [WATCHES[each] for each in self._values("watch")], 0, np.int8),
        }
        of_multi = is_one_of(table["op"][lines], [OPS["multi"], OPS["multiRead"]])
        about_watches = self._about_watches(table, lines, rest, numbers)
        places = self.places[self.rows[lines[of_multi]]]
        self.gathering.take_parts(places, [each.parts for each in rest], numbers[of_multi])
        self.gathering.take_watches(about_watches)
        return table

    def _about_watches(
        self, table: Table, lines: Ints, rest: Sequence[_RestOfRequest], numbers: npt.NDArray[Any]
    ) -> list[tuple[int, Request]]:
        """Return the requests that only concern watches, each with its place in the file."""
        found = np.flatnonzero(is_one_of(table["op"], ABOUT_WATCHES))
        records, none, texts, watches = self._records(), _RestOfRequest(), self._values("path"), [*WATCHES]
        path = self._looked_up("path", range(len(texts)), NO_ID)[found].tolist()
        of_row = np.full(len(self.rows), -1)
        of_row[lines] = numbers
        more = [rest[each] if each >= 0 else none for each in of_row[found].tolist()]
        columns = [records[name][found] for name in ("line", "client", "connection", "time")]
        columns += [table[name][found] for name in ("xid", "op", "watch")]
        return [
            (
                line,
                Request(
                    client=client,
                    connection=connection,
                    time=None if time == NONE else time,
                    xid=xid,
                    op=_OP_NAMES[op],
                    path=None if text == NO_ID else texts[text],
                    watch=watches[watch],
                    relative=each.relative,
                    data_watches=each.data_watches,
                    exist_watches=each.exist_watches,
                    child_watches=each.child_watches,
                    persistent_watches=each.persistent_watches,
                    recursive_watches=each.recursive_watches,
                ),
            )
            for line, client, connection, time, xid, op, watch, text, each in zip(
                *(each.tolist() for each in columns), path, more, strict=True
            )
        ]

    def _answers(self) -> Table:
        has_stat, valid = self.valid["czxid"] & self.chosen, self.valid
        for name in parquet.STAT:
            needed = has_stat if name in ("mzxid", "pzxid", "dataVersion") else valid[name] & self.chosen
            if (needed & ~(valid[name] & has_stat)).any():
                raise _Doubtful
        sessions = _numbered(_SESSION, self.gathering.sessions, self._values("ephemeralOwner"))
        owner = self._looked_up("ephemeralOwner", sessions, 0)
        lines, rest, numbers = self._distinct_rest(_ANSWERS)
        content, children, names = (
            self._contents(),
            np.full(len(self.rows), NONE),
            np.full(len(self.rows), NONE),
        )
        self._put_data(content, lines, rest, numbers)
        is_list = np.array([each.children is not None for each in rest], np.bool_)
        hashes, lengths = hashes_of([each.children or () for each in rest])
        listed = is_list[numbers]
        children[lines[listed]], names[lines[listed]] = hashes[numbers[listed]], lengths[numbers[listed]]
        errors = self.gathering.errors
        table: Table = {
            "xid": self._given("xid", _LEAST),
            "zxid": np.maximum(self._ints("zxid", -1, 0), 0),
            "error": self._looked_up("error", [errors[each] for each in self._values("error")], DONE, np.int32),
            "created": self._paths(),
            "shown": content,
            "children": children,
            "names": names,
            "czxid": self._ints("czxid"),
            "mzxid": self._ints("mzxid"),
            "pzxid": self._ints("pzxid"),
            "version": self._ints("dataVersion", _LEAST),
            "cversion": self._ints("cversion", _LEAST),
            "mtime": self._ints("mtime", _LEAST),
            "owner": np.where(has_stat[self.rows], owner, NONE),
            "length": self._ints("dataLength"),
            "count": self._ints("numChildren"),
        }
        self.gathering.take_results(self.places[self.rows[lines]], [each.results for each in rest], numbers)
        return table

    def _events(self) -> Table:
        self._need("type")
        self._need("path")
        return {
            "type": self._looked_up("type", [TYPES[each] for each in self._values("type")], NO_ID, np.int8),
            "path": self._paths(),
            "zxid": self._ints("zxid", -1, -1),
        }

    def _rest(self, decoder: Decoder[T]) -> tuple[Ints, list[T]]:
        """Return the places of the rows that have other fields, and these fields."""
        lines, decoded, numbers = self._distinct_rest(decoder)
        return lines, [*map(decoded.__getitem__, numbers.tolist())]

    def _distinct_rest(self, decoder: Decoder[T]) -> tuple[Ints, list[T], npt.NDArray[Any]]:
        """Return the places of the rows that have other fields, the distinct values of these, and their numbers."""
        lines = np.flatnonzero(self.valid["rest"][self.rows])
        if not len(lines):
            return lines, [], lines
        column = self.batch.column("rest").take(_numbers(self.rows[lines])).dictionary_encode()
        texts = column.dictionary.to_pylist()
        decoded = decode_block(decoder, ("\n".join(texts) + "\n").encode())
        if decoded is None or len(decoded) != len(texts):
            decoded = [decoder.decode(text) for text in texts]
        return lines, decoded, _raw(column.indices, np.int32)

    def _put_data(
        self, content: Ints, lines: Ints, rest: Sequence[_RestOfRequest | _RestOfAnswer], numbers: npt.NDArray[Any]
    ) -> None:
        """Add the data that is not text."""
        data = contents_of([each.data for each in rest])[numbers]
        some = np.flatnonzero(data != NONE)
        content[lines[some]] = data[some]

    # Columns.

    def _ints(self, name: str, least: int = 0, missing: int = NONE) -> Ints:
        """Return a column of numbers; `missing` where there is none."""
        column = self.batch.column(name)
        if column.null_count == len(column):
            return np.full(len(self.rows), missing)
        values: Ints = _raw(column, np.int64)[self.rows]
        wrong = values < least
        if column.null_count:
            valid = self.valid[name][self.rows]
            wrong &= valid
            values = np.where(valid, values, missing)
        if least != _LEAST and wrong.any():
            raise _Doubtful
        return values

    def _given(self, name: str, least: int = 0) -> Ints:
        """Return a column of numbers, without which a row is doubtful."""
        self._need(name)
        return self._ints(name, least)

    def _need(self, name: str) -> None:
        if (self.chosen & ~self.valid[name]).any():
            raise _Doubtful

    def _values(self, name: str) -> list[str]:
        """Return the strings in the dictionary of a column: all that the rows have, and maybe others."""
        found: list[str] = self.batch.column(name).dictionary.to_pylist()
        return found

    def _looked_up(
        self, name: str, numbers: Sequence[int] | npt.NDArray[Any], missing: int, kind: Any = np.int64
    ) -> npt.NDArray[Any]:
        """Return for each row the number of its string in a column's dictionary; `missing` where there is none."""
        if not len(numbers):
            return np.full(len(self.rows), missing, kind)
        column = self.batch.column(name)
        of_row = _raw(column.indices, np.int32)[self.rows].astype(np.intp)
        table = np.empty(len(numbers) + 1, kind)
        table[:-1], table[-1] = numbers, missing
        if column.null_count:
            of_row[~self.valid[name][self.rows]] = len(numbers)
        return table[of_row]

    @cached_property
    def _path_numbers(self) -> list[int]:
        return _numbered(_PATH, self.gathering.paths, self._values("path"))

    def _paths(self) -> npt.NDArray[Any]:
        return self._looked_up("path", self._path_numbers, NO_ID, np.int32)

    @cached_property
    def _digests(self) -> Ints:
        """The digest of each text in the dictionary of the column `data`."""
        texts = self.batch.column("data").dictionary
        if not len(texts):
            return np.zeros(0, np.int64)
        _, offsets, raw = texts.buffers()
        ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        data = np.frombuffer(raw, np.uint8) if raw is not None else np.zeros(0, np.uint8)
        return digests_within(data, ends[:-1], np.diff(ends))

    def _contents(self) -> Ints:
        return self._looked_up("data", self._digests, NONE)


def _numbered(pattern: re.Pattern[str], numbers: dict[Any, int], texts: Sequence[str]) -> list[int]:
    """Return the numbers of texts; new ones have to match the pattern."""
    found = [*map(numbers.get, texts)]
    for place, number in enumerate(found):
        if number is None:
            if not pattern.fullmatch(texts[place]):
                raise _Doubtful
            found[place] = numbers[texts[place]]
    return found  # type: ignore[return-value]


def _flags(values: Bools) -> pa.Array:
    """Return an Arrow array of flags. `pyarrow.array` would load pandas, if that is installed."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def _numbers(values: Ints) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _raw(column: pa.Array, kind: Any) -> npt.NDArray[Any]:
    """Return numbers as they are in memory, with any number in place of null."""
    begin = column.offset
    return np.frombuffer(column.buffers()[1], kind)[begin : begin + len(column)]


def _is_valid(column: pa.Array) -> Bools:
    if column.null_count in (0, len(column)):
        return np.full(len(column), column.null_count == 0)
    bits = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")
    found: Bools = bits[column.offset : column.offset + len(column)].view(np.bool_)
    return found
