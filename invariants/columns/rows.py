"""A batch of the rows of a Parquet file as arrays: their values, and those that may be no line of a trace."""

import numpy as np
import pyarrow as pa

from zabcheck.invariants.columns import kinds_by_tag
from zabcheck.invariants.columns.hashes import hashes_of
from zabcheck.invariants.columns.in_order import BROADCAST, DELIVER, RESTORE, Array, Block, Keys
from zabcheck.invariants.events import Broadcast, Deliver, End, Event, Header, Local, Restore, TraceError

_NUMBERED = ("process", "incarnation", "epoch", "zxid_epoch", "zxid_counter", "length", "hash")
_NULLABLE = (*_NUMBERED, "value")
_ABOVE = {"epoch": 1 << 32, "zxid_epoch": 1 << 32, "zxid_counter": 1 << 32}
"""The bound of a number, which has to be below it; all are 0 or more."""

# Kinds of event, by number.

_TAGS = list(kinds_by_tag())
KINDS = list(kinds_by_tag().values())
_KIND_OF = {tag: number for number, tag in enumerate(_TAGS)}
_UNKNOWN = len(KINDS)
HEADER, END = KINDS.index(Header), KINDS.index(End)
NO_ROW = 255
"""The kind of a row that no property looks at in columns."""


def _present(kind: type[Event]) -> int:
    """Return the columns that are not null for an event of this kind, as bits."""
    fields = kind.__struct_fields__
    names = {"process", "incarnation", "epoch", "length", "hash"}.intersection(fields)
    names |= {"hash"} if "digest" in fields else set()
    names |= {"zxid_epoch", "zxid_counter"} if "txn" in fields or "zxid" in fields else set()
    names |= {"value"} if "txn" in fields else set()
    return sum(1 << bit for bit, name in enumerate(_NULLABLE) if name in names)


_PRESENT = np.array([*map(_present, KINDS), 0], np.uint8)
IS_LOCAL = np.array([*(issubclass(kind, Local) for kind in KINDS), False])
_WITHOUT_EXTRA = np.array([*(kind in (Broadcast, Deliver, Restore) for kind in KINDS), False])
ROW_KIND = np.full(len(KINDS) + 1, NO_ROW, np.uint8)
for _kind, _number in ((Broadcast, BROADCAST), (Deliver, DELIVER), (Restore, RESTORE)):
    ROW_KIND[KINDS.index(_kind)] = _number


class BatchArrays:
    """A batch of rows in arrays: their values, and those that are odd."""

    def __init__(self, batch: pa.RecordBatch, first: int, name: str) -> None:
        self.batch = batch
        self.first = first  # the number of its first row in the file
        for column in ("run", "seq", "event"):
            if batch.column(column).null_count:
                row = first + int(np.flatnonzero(np.asarray(batch.column(column).is_null()))[0])
                raise TraceError(f"{name}, row {row + 1}, column `{column}`: expected a value, found null")
        self.run = np.asarray(batch.column("run"))
        self.seq = np.asarray(batch.column("seq"))
        event = _dictionary(batch.column("event"))
        tags = [_KIND_OF.get(tag, _UNKNOWN) for tag in event.dictionary.to_pylist()]
        self.kind = np.array([*tags, _UNKNOWN], np.uint8)[_indices(event, len(tags))]
        self.columns: dict[str, Array] = {}
        present = np.zeros(batch.num_rows, np.uint8)
        self.odd = self.kind == _UNKNOWN
        for bit, name in enumerate(_NULLABLE):
            column = batch.column(name)
            if column.null_count == batch.num_rows:
                if name != "value":
                    self.columns[name] = np.zeros(batch.num_rows, np.int64)
                continue
            if column.null_count:
                present |= np.asarray(column.is_valid()).astype(np.uint8) << bit
            else:
                present |= np.uint8(1 << bit)
            if name == "value":
                continue
            numbers = np.asarray(column.fill_null(0) if column.null_count else column).astype(np.int64, copy=False)
            self.columns[name] = numbers
            if numbers.min() < 0 or numbers.max() >= _ABOVE.get(name, 1 << 63):
                self.odd |= (numbers < 0) | (numbers >= _ABOVE.get(name, 1 << 63))
        self.odd |= present != _PRESENT[self.kind]
        extra = batch.column("rest")
        if extra.null_count < batch.num_rows:
            self.odd |= _WITHOUT_EXTRA[self.kind] & np.asarray(extra.is_valid())
        self._hashes: Array | None = None

    def hashes(self) -> Array:
        """Return the hash of each entry of the column `value`; computed once."""
        if self._hashes is None:
            self._hashes = hashes_of(_plain(self.batch.column("value")))
        return self._hashes

    def block(self, begin: int, end: int, run: Array, wanted: Array, keys: Keys) -> Block:
        """Return the rows from `begin` to `end`, of which the `wanted` ones count; `run` numbers runs from 0."""
        here = slice(begin, end)
        columns = {name: column[here] for name, column in self.columns.items()}
        values = _plain(self.batch.column("value"))
        return Block(
            np.flatnonzero(wanted),
            self.first + begin,
            run,
            ROW_KIND[self.kind[here]],
            columns["process"],
            columns["incarnation"],
            columns["epoch"],
            keys.of(run, columns["zxid_epoch"], columns["zxid_counter"]),
            self.hashes()[here],
            columns["length"],
            columns["hash"],
            lambda rows: values.take(pa.array(rows + begin)),
        )


def _dictionary(column: pa.Array) -> pa.DictionaryArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _indices(column: pa.DictionaryArray, null: int) -> Array:
    """Return for each row the index of its value in the dictionary; `null` where it has no value."""
    return np.asarray(column.indices.fill_null(null) if column.null_count else column.indices)


def _plain(column: pa.Array) -> pa.StringArray:
    return column if pa.types.is_string(column.type) else column.cast(pa.string())
