"""Traces in columns: the Parquet form, for many runs in one file, or for one that is too long for lines of text.

A row is a line of the JSON Lines form (see `invariants.trace`), header and end included, so nothing is lost either way.
Two columns have the numbers of the run and of the line; then come the columns that properties read, and `rest` with all
other fields of the line. A column is null if the kind of event has no such field.

    run           int64    the trace in the file that the row belongs to, from 0
    seq           int64    its line in that trace: 1 is the header
    event         string   the kind: "header", "broadcast", "deliver", …, "end"
    process       int32    from 1
    incarnation   int64    from 0
    epoch         int64    the field `epoch`
    zxid_epoch    int64    of the field `txn` or `zxid`
    zxid_counter  int64
    value         string   of the field `txn`
    length        int64    the field `length`
    hash          int64    the field `hash`, or `digest` of a state
    rest          string   a JSON object of all other fields; null if there is none

The rows of a run stand together in its order; a program that reads row groups apart orders them by `seq`. As Parquet,
run and seq are delta encoded, the rest by dictionary: a stored run takes a few bytes an event.

Needs pyarrow: the extra `parquet`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa

from zabcheck.invariants.diagnosis import NOT_DECODED, why_not_decoded
from zabcheck.invariants.events import EVENTS, End, Event, Header, TraceError

SCHEMA = pa.schema(
    [
        pa.field("run", pa.int64(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("event", pa.string(), nullable=False),
        pa.field("process", pa.int32()),
        pa.field("incarnation", pa.int64()),
        pa.field("epoch", pa.int64()),
        pa.field("zxid_epoch", pa.int64()),
        pa.field("zxid_counter", pa.int64()),
        pa.field("value", pa.string()),
        pa.field("length", pa.int64()),
        pa.field("hash", pa.int64()),
        pa.field("rest", pa.string()),
    ]
)
"""The columns of a table of events."""

PARQUET: Mapping[str, Any] = {
    "compression": "zstd",
    "use_dictionary": [name for name in SCHEMA.names if name not in ("run", "seq", "hash")],
    "column_encoding": {"run": "DELTA_BINARY_PACKED", "seq": "DELTA_BINARY_PACKED"},
}
"""The options with which `pyarrow.parquet` writes such a table."""

_FIELDS = {
    "process": "process",
    "incarnation": "incarnation",
    "epoch": "epoch",
    "length": "length",
    "hash": "hash",
    "digest": "hash",
}
"""The column of a field that has one of its own; `txn` and `zxid` have several."""

_PLAIN = ("process", "incarnation", "epoch", "length")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def _reader(kind: type[Event]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the columns from `event` on, for an event of this kind."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    tag = str(kind.__struct_config__.tag)
    paths: dict[str, str] = {_FIELDS[name]: name for name in fields if name in _FIELDS}
    if "txn" in fields:
        paths |= {"zxid_epoch": "txn.zxid.epoch", "zxid_counter": "txn.zxid.counter", "value": "txn.value"}
    elif "zxid" in fields:
        paths |= {"zxid_epoch": "zxid.epoch", "zxid_counter": "zxid.counter"}
    others = [(name, fields[name].default) for name in fields if name not in _FIELDS and name not in ("txn", "zxid")]
    names = list(paths)
    places = [names.index(column) if column in paths else -1 for column in SCHEMA.names[3:-1]]
    known = attrgetter(*paths.values()) if len(paths) > 1 else None

    def read(event: Any) -> tuple[Any, ...]:
        found = (None,) if known is None else (*known(event), None)  # the last is what -1 points to
        extra = None
        if others:
            # A default is left out, so that most rows have nothing extra.
            left = {name: value for name, default in others if (value := getattr(event, name)) != default}
            extra = _encode(left).decode() if left else None
        return (tag, *[found[place] for place in places], extra)

    return read


_READERS: dict[type[Event], Callable[[Any], tuple[Any, ...]]] = {kind: _reader(kind) for kind in (*EVENTS, Header, End)}
_KINDS = {str(kind.__struct_config__.tag): kind for kind in _READERS}


def kinds_by_tag() -> Mapping[str, type[Event]]:
    """Return the kinds of event that a row can be, by the tag in its column `event`."""
    return _KINDS


class Rows:
    """Collects traces, and returns their rows as one table. O(1) an event."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.runs: list[int] = []
        self.seqs: list[int] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, run: int, lines: Sequence[Event]) -> None:
        """Add one trace, header and end included, as run number `run`."""
        self.rows += [_READERS[type(line)](line) for line in lines]
        self.runs += [run] * len(lines)
        self.seqs += range(1, len(lines) + 1)

    def take(self) -> pa.RecordBatch:
        """Return the rows that were added since the last call."""
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * (len(SCHEMA) - 2)
        arrays = [
            pa.array(values, field.type) for values, field in zip([self.runs, self.seqs, *columns], SCHEMA, strict=True)
        ]
        self.rows, self.runs, self.seqs = [], [], []
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def events_of(batches: Iterable[pa.RecordBatch], name: str) -> Iterator[tuple[int, int, Event]]:
    """Yield run, line and event of each row, validated; `name` is for messages.

    TraceError, with name, run, line and field, for a row that is no line of a trace.
    """
    for batch in batches:
        columns = [batch.column(batch.schema.get_field_index(column)).to_pylist() for column in SCHEMA.names]
        for run, seq, *row in zip(*columns, strict=True):
            yield run, seq, _event(row, f"{name}, run {run}, line {seq}")


def _event(row: Sequence[Any], where: str) -> Event:
    tag, process, incarnation, epoch, zxid_epoch, zxid_counter, value, length, hash_, extra = row
    kind = _KINDS.get(tag)
    if kind is None:
        raise TraceError(f"{where}, field `event`: expected a kind of event, found `{tag}`")
    plain = zip(_PLAIN, (process, incarnation, epoch, length), strict=True)
    line: dict[str, Any] = {"event": tag, **{name: found for name, found in plain if found is not None}}
    if hash_ is not None:
        line["digest" if "digest" in kind.__struct_fields__ else "hash"] = hash_
    if value is not None or (zxid_epoch is not None and "txn" in kind.__struct_fields__):
        line["txn"] = {"zxid": (zxid_epoch, zxid_counter), "value": value}
    elif zxid_epoch is not None:
        line["zxid"] = (zxid_epoch, zxid_counter)
    try:
        if extra is not None:
            line |= _decode(extra)
        return msgspec.convert(line, kind)
    except NOT_DECODED as error:
        raise TraceError(f"{where}: expected a `{tag}`, {why_not_decoded(error)}") from None


__all__ = ["PARQUET", "SCHEMA", "Rows", "events_of", "kinds_by_tag"]
