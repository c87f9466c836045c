"""Histories of clients as Parquet: a row for each line, in the order of the file; `seq` numbers them.

Fields that most lines have, and those of a Stat, have columns of their own, so that tools can select by them, and the
checker can compare whole columns; `rest` has all others as a JSON object. The fields of a Stat have the names that
ZooKeeper's own shell gives them. Reading a row gives the line that it was made from.

Needs pyarrow: the extra `parquet`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zabcheck.zookeeper.clients.history import HistoryError, HistoryLine, decoded_lines

COLUMNS = {
    "record": pa.string(),
    "client": pa.int64(),
    "connection": pa.int64(),
    "xid": pa.int64(),
    "op": pa.string(),
    "type": pa.string(),
    "path": pa.string(),
    "zxid": pa.int64(),
    "time": pa.int64(),
    "version": pa.int64(),
    "mode": pa.string(),
    "watch": pa.string(),
    "data": pa.string(),
    "error": pa.string(),
}
"""The columns that are fields of a line. Several modes are separated by spaces; data that is not text is in `rest`."""
STAT = {
    "czxid": "czxid",
    "mzxid": "mzxid",
    "pzxid": "pzxid",
    "dataVersion": "version",
    "cversion": "cversion",
    "aclVersion": "aversion",
    "ctime": "ctime",
    "mtime": "mtime",
    "ephemeralOwner": "ephemeralOwner",
    "dataLength": "dataLength",
    "numChildren": "numChildren",
}
"""The columns that are fields of a Stat, with the names that they have there. Without a Stat `czxid` is null."""
SCHEMA = pa.schema(
    [
        pa.field("seq", pa.int64(), nullable=False),
        *(pa.field(name, kind) for name, kind in COLUMNS.items()),
        *(pa.field(name, pa.string() if name == "ephemeralOwner" else pa.int64()) for name in STAT),
        pa.field("rest", pa.string()),
    ]
)
"""The columns of a history."""
_STRINGS = [field.name for field in SCHEMA if field.type == pa.string()]
_READ = pa.schema(
    [
        pa.field(field.name, pa.dictionary(pa.int32(), pa.string()) if field.name in _STRINGS[:-1] else field.type)
        for field in SCHEMA
        if field.name != "seq"
    ]
)
"""The columns that a line is made from."""
BATCH = 1 << 16
"""Rows that are read or written at once."""
_FEW = 50
"""The number of rows below which each is made a line by itself: working in columns loads pandas, if it is installed."""

_encode = msgspec.json.Encoder().encode
_fields = msgspec.json.Decoder(dict[str, Any]).decode


def dump(lines: Iterable[HistoryLine], target: BinaryIO) -> None:
    """Write the lines of a history as Parquet. O(lines) time, O(1) memory."""
    with pq.ParquetWriter(target, SCHEMA, compression="zstd", use_dictionary=_STRINGS) as writer:
        numbers = count()
        for some in _batches(lines):
            rows = [_row(line) for line in some]
            columns = {name: [row.get(name) for row in rows] for name in SCHEMA.names if name != "seq"}
            writer.write_table(pa.table({"seq": [next(numbers) for _ in rows], **columns}, SCHEMA))


def _batches(lines: Iterable[HistoryLine]) -> Iterator[list[HistoryLine]]:
    batch: list[HistoryLine] = []
    for line in lines:
        batch.append(line)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _row(line: HistoryLine) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(line)
    row = {name: fields.pop(name) for name in COLUMNS if name in fields}
    if "mode" in row:
        row["mode"] = " ".join(row["mode"])
    if isinstance(row.get("data"), dict):
        fields["data"] = row.pop("data")
    stat = fields.pop("stat", {})
    row |= {column: stat[name] for column, name in STAT.items() if name in stat}
    return row | {"rest": _encode(fields).decode() if fields else None}


def load(source: BinaryIO, name: str) -> Iterator[HistoryLine]:
    """Yield the lines of a file, each valid by itself. HistoryError, with name, line and field, for anything else."""
    return chain.from_iterable(blocks(source, name))


def blocks(source: BinaryIO, name: str, groups: Sequence[int] | None = None) -> Iterator[list[HistoryLine]]:
    """Yield the lines of a file, or of some row groups, in lists. HistoryError as for `load`."""
    number = 0
    for batch in batches(source, name, groups):
        yield lines_of(batch, name, number)
        number += len(batch)


def batches(source: BinaryIO, name: str, groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, or of some row groups, in batches without `seq`. HistoryError if it is not a history.

    Columns of strings, except `rest`, are dictionaries.
    """
    try:
        found = pq.read_metadata(source)
        if missing := [column for column in SCHEMA.names if column not in found.schema.names]:
            raise HistoryError(f"{name}: expected the columns of a history, `{missing[0]}` is not there")
        file = pq.ParquetFile(source, metadata=found, read_dictionary=_STRINGS[:-1])
        is_empty = True
        for batch in file.iter_batches(BATCH, row_groups=groups, columns=_READ.names, use_threads=False):
            is_empty = False
            yield batch.select(_READ.names).cast(_READ)
        if is_empty:
            raise HistoryError(f"{name}, line 1: expected a header, the file is empty")
    except (pa.ArrowException, msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: Exception) -> HistoryError:
    return HistoryError(f"{name}: a Parquet file that cannot be read: {' '.join(str(error).split())}")


def row_groups(source: BinaryIO, name: str) -> int:
    """Return the number of row groups of a file. HistoryError if it is no Parquet."""
    try:
        return int(pq.ParquetFile(source).num_row_groups)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, error) from None


def lines_of(batch: pa.RecordBatch, name: str, before: int) -> list[HistoryLine]:
    """Return rows, which follow `before` others, as lines. HistoryError, with its number, at the first bad row."""
    try:
        return decoded_lines(_text(batch), name, before)
    except (pa.ArrowException, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(name, error) from None


def _text(batch: pa.RecordBatch) -> bytes:
    """Return rows as JSON Lines."""
    rest = batch.column("rest")
    if len(batch) < _FEW:
        return b"".join(map(_line, batch.to_pylist()))
    if pc.all(pc.starts_with(rest, '{"')).as_py() is False:
        return b"".join(map(_line, batch.to_pylist()))
    fields = [_field(name, batch.column(name)) for name in COLUMNS]
    counters = _joined(*(_field(name, batch.column(column)) for column, name in STAT.items()))
    stats = pc.if_else(pc.not_equal(counters, ""), _joined(_begun(counters, ',"stat":{'), "}"), "")
    others = pc.coalesce(_begun(rest, ","), "}")
    lines = _joined("{", _begun(_joined(*fields), ""), stats, others, "\n")
    return bytes(lines.buffers()[2])[: pc.sum(pc.binary_length(lines)).as_py()]


def _joined(*texts: pa.Array | str) -> pa.Array:
    """Concatenate texts, row by row; null counts as the empty text."""
    return pc.binary_join_element_wise(*texts, "", null_handling="replace")


def _begun(text: pa.Array, begin: str) -> pa.Array:
    """Replace the first character of each text by `begin`."""
    return pc.binary_replace_slice(text.cast(pa.binary()), 0, 1, begin.encode()).cast(pa.string())


def _field(name: str, column: pa.Array) -> pa.Array:
    """Return a field of each row as JSON, after a comma; null where there is none. Equal values are encoded once."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    if isinstance(column, pa.DictionaryArray) and len(column.dictionary) > len(column):
        column = column.dictionary_decode()
    values = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    texts = values.dictionary.to_pylist()
    if name == "mode":
        texts = [text.split(" ") for text in texts]
    fields = [f',"{name}":{_encode(text).decode()}' for text in texts]
    return pa.array(fields, pa.string()).take(values.indices)


def _line(row: dict[str, Any]) -> bytes:
    rest = row.pop("rest")
    stat = {name: value for column, name in STAT.items() if (value := row.pop(column)) is not None}
    fields = {key: value for key, value in row.items() if value is not None}
    if "mode" in fields:
        fields["mode"] = fields["mode"].split(" ")
    return _encode(fields | ({"stat": stat} if stat else {}) | (_fields(rest) if rest else {})) + b"\n"
