"""Takes the columns of Parquet as they are: of a row that has all its fields there no line is made.

Needs pyarrow: the extra `parquet`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from msgspec.json import Decoder

from zabcheck.zookeeper.clients import parquet
from zabcheck.zookeeper.clients.history import LATEST, Count, Data, HistoryError, Part, Result
from zabcheck.zookeeper.clients.screen.columns import (
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
    contents_of,
    hash_of,
)

_LEAST = -1 << 63
_PATH = re.compile("/([^/]+(/[^/]+)*)?")
_SESSION = re.compile("0x[0-9a-f]{1,16}")
_RECORD = ("record", "client", "connection", "time", "rest")
_REQUEST = (*_RECORD, "xid", "op", "path", "version", "mode", "watch", "data")
_ANSWER = (*_RECORD, "xid", "zxid", "path", "error", "data", *parquet.STAT)
_EVENT = (*_RECORD, "type", "path", "zxid")
_AS_LINES = ("addWatch", "removeWatches", "setWatches", "txn", "append")
"""The operations whose requests are taken as lines."""


class _OfRequest(Struct, forbid_unknown_fields=True):
    """The fields of a request that may be in `rest`, without those that are taken as lines."""

    parts: tuple[Part, ...] = ()
    ttl: Count = 0
    data: Data | None = None


class _OfAnswer(Struct, forbid_unknown_fields=True):
    """The fields of an answer that may be in `rest`."""

    children: tuple[str, ...] | None = None
    results: tuple[Result, ...] = ()
    data: Data | None = None


_decode_request = Decoder(_OfRequest).decode
_decode_answer = Decoder(_OfAnswer).decode
T = TypeVar("T", _OfRequest, _OfAnswer)


class _Doubtful(Exception):
    """A row that may be no line of a history."""


def gather(source: BinaryIO, name: str, gathering: Gathering, groups: Sequence[int] | None = None) -> None:
    """Take the rows of a file, or of some row groups.

    HistoryError as for `parquet.load`; Unusual as for `Gathering.add`.
    """
    for batch in parquet.batches(source, name, groups):
        _Batch(batch, name, gathering).take()
        gathering.length += len(batch)


class _Batch:
    """Rows that follow those that were gathered."""

    def __init__(self, batch: pa.RecordBatch, name: str, gathering: Gathering) -> None:
        self.batch, self.name, self.gathering = batch, name, gathering
        self.places = np.arange(gathering.length, gathering.length + len(batch))
        self.valid = {each: _is_valid(batch.column(each)) for each in batch.schema.names}

    def take(self) -> None:
        record = self._looked_up("record", {"request": 1, "answer": 2, "event": 3}.get, 0)
        record[self.valid["rest"] & (record == 3)] = 0
        record[self._looked_up("op", dict.fromkeys(_AS_LINES, 1).get, 0) > 0] = 0
        self._take_lines(record == 0)
        gathering = self.gathering
        kinds: tuple[tuple[Any, Callable[[], Table], tuple[str, ...]], ...] = (
            (gathering.requests, self._requests, _REQUEST),
            (gathering.answers, self._answers, _ANSWER),
            (gathering.events, self._events, _EVENT),
        )
        for kind, (target, read, columns) in enumerate(kinds, 1):
            self.chosen = record == kind
            self.rows = np.flatnonzero(self.chosen)
            if len(self.rows):
                try:
                    if any((self.valid[each] & self.chosen).any() for each in self.valid if each not in columns):
                        raise _Doubtful
                    target.add(self._records() | read())
                except (_Doubtful, KeyError, msgspec.DecodeError, UnicodeDecodeError):
                    self._take_lines(self.chosen)

    def _take_lines(self, chosen: Bools) -> None:
        """Take rows as lines. HistoryError for the first row of all that is none."""
        try:
            lines = parquet.lines_of(self.batch.filter(pa.array(chosen)), self.name, 0)
        except HistoryError:
            parquet.lines_of(self.batch, self.name, self.gathering.length)
            raise
        self.gathering.add_at(self.places[chosen], lines)

    def _records(self) -> Table:
        whose = self.gathering.whose(self._given("connection"), self._given("client"))
        time = self._ints("time")
        if (time > LATEST).any():
            raise _Doubtful
        return {"line": self.places[self.rows], **whose, "time": time}

    def _requests(self) -> Table:
        self._need("op")
        lines, rest = self._rest(_decode_request)
        content, ttl = self._contents[self.rows], np.zeros(len(self.rows), np.int64)
        ttl[lines] = [each.ttl for each in rest]
        self._put_data(content, lines, rest)
        table: Table = {
            "xid": self._given("xid", _LEAST),
            "op": self._looked_up("op", OPS.__getitem__, NO_ID)[self.rows].astype(np.int8),
            "path": self._paths[self.rows],
            "expected": self._ints("version", _LEAST, -1),
            "mode": self._looked_up("mode", self._mode, 0)[self.rows].astype(np.int8),
            "content": content,
            "ttl": ttl,
            "watch": self._looked_up("watch", WATCHES.__getitem__, 0)[self.rows].astype(np.int8),
        }
        of_multi = np.isin(table["op"][lines], [OPS["multi"], OPS["multiRead"]])
        places = self.places[self.rows[lines]].tolist()
        self.gathering.take_parts(
            [(place, each.parts) for place, each, is_multi in zip(places, rest, of_multi, strict=True) if is_multi]
        )
        return table

    def _answers(self) -> Table:
        has_stat, valid = self.valid["czxid"] & self.chosen, self.valid
        for name in parquet.STAT:
            needed = has_stat if name in ("mzxid", "pzxid", "dataVersion") else valid[name] & self.chosen
            if (needed & ~(valid[name] & has_stat)).any():
                raise _Doubtful
        owner = self._looked_up("ephemeralOwner", partial(_matched, _SESSION, self.gathering.sessions), 0)[self.rows]
        lines, rest = self._rest(_decode_answer)
        content, children, names = (
            self._contents[self.rows],
            np.full(len(self.rows), NONE),
            np.full(len(self.rows), NONE),
        )
        self._put_data(content, lines, rest)
        listed = [number for number, each in enumerate(rest) if each.children is not None]
        children[lines[listed]] = [hash_of(rest[number].children or ()) for number in listed]
        names[lines[listed]] = [len(rest[number].children or ()) for number in listed]
        table: Table = {
            "xid": self._given("xid", _LEAST),
            "zxid": np.maximum(self._ints("zxid", -1, 0), 0),
            "error": self._looked_up("error", self.gathering.errors.__getitem__, DONE)[self.rows].astype(np.int32),
            "created": self._paths[self.rows],
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
        places = self.places[self.rows[lines]].tolist()
        self.gathering.take_results(
            [(place, each.results) for place, each in zip(places, rest, strict=True) if each.results]
        )
        return table

    def _events(self) -> Table:
        self._need("type")
        self._need("path")
        return {
            "type": self._looked_up("type", TYPES.__getitem__, NO_ID)[self.rows].astype(np.int8),
            "path": self._paths[self.rows],
            "zxid": self._ints("zxid", -1, -1),
        }

    def _rest(self, decode: Callable[[str], T]) -> tuple[Ints, list[T]]:
        """Return the other fields of the rows that have some, after their places among the rows."""
        lines = np.flatnonzero(self.valid["rest"][self.rows])
        column = self.batch.column("rest").take(pa.array(self.rows[lines])).dictionary_encode()
        decoded: list[T] = [decode(each) for each in column.dictionary.to_pylist()]
        return lines, [decoded[each] for each in column.indices.to_pylist()]

    def _put_data(self, content: Ints, lines: Ints, rest: Sequence[_OfRequest | _OfAnswer]) -> None:
        """Put in the data that is no text."""
        for place, each in zip(lines.tolist(), rest, strict=True):
            if each.data is not None:
                [content[place]] = contents_of([each.data])

    # Columns.

    def _ints(self, name: str, least: int = 0, missing: int = NONE) -> Ints:
        """Return numbers; `missing` where there is none."""
        column = self.batch.column(name)
        if column.null_count == len(column):
            return np.full(len(self.rows), missing)
        values: Ints = _raw(column, np.int64)[self.rows]
        valid = self.valid[name][self.rows]
        if least != _LEAST and (valid & (values < least)).any():
            raise _Doubtful
        values[~valid] = missing
        return values

    def _given(self, name: str, least: int = 0) -> Ints:
        """Return numbers that each row has to have."""
        self._need(name)
        return self._ints(name, least)

    def _need(self, name: str) -> None:
        if (self.chosen & ~self.valid[name]).any():
            raise _Doubtful

    def _looked_up(self, name: str, number: Callable[[str], int | None], missing: int) -> Ints:
        """Return the number of each string, `missing` where there is none. Equal strings are looked up once."""
        found = [number(each) for each in self.batch.column(name).dictionary.to_pylist()]
        return self._at(name, [missing if each is None else each for each in found], missing)

    def _at(self, name: str, numbers: Sequence[int], missing: int) -> Ints:
        """Return numbers, which are those of the dictionary of a column, by row."""
        indices = _raw(self.batch.column(name).indices, np.int32)
        found: Ints = np.array([*numbers, missing], np.int64)[np.where(self.valid[name], indices, len(numbers))]
        return found

    @cached_property
    def _paths(self) -> npt.NDArray[np.int32]:
        return self._looked_up("path", partial(_matched, _PATH, self.gathering.paths), NO_ID).astype(np.int32)

    @cached_property
    def _contents(self) -> Ints:
        return self._at("data", contents_of(self.batch.column("data").dictionary.to_pylist()), NONE)

    def _mode(self, text: str) -> int:
        return self.gathering.modes[tuple(text.split(" "))]


def _matched(pattern: re.Pattern[str], numbers: Mapping[Any, int], text: str) -> int:
    if not pattern.fullmatch(text):
        raise _Doubtful
    return numbers[text]


def _raw(column: pa.Array, kind: Any) -> npt.NDArray[Any]:
    """Return numbers as they are in memory: any number where there is none."""
    begin = column.offset
    return np.frombuffer(column.buffers()[1], kind)[begin : begin + len(column)]


def _is_valid(column: pa.Array) -> Bools:
    if column.null_count in (0, len(column)):
        return np.full(len(column), column.null_count == 0)
    bits = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")
    found: Bools = bits[column.offset : column.offset + len(column)].view(np.bool_)
    return found
