"""Histories of clients as Parquet: a row for each line, in the order of the file, which `seq` numbers.

Some fields have a column of their own, so that tools can select by them; `rest` has all others as a JSON object.
`mzxid` is that of the Stat in an answer, once more. A row is read as the line that it was made of.

Needs pyarrow: the extra `parquet`.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zabcheck.zookeeper.clients.history import HistoryError, HistoryLine, decoded_lines

_COLUMNS = {
    "record": pa.string(),
    "client": pa.int64(),
    "connection": pa.int64(),
    "xid": pa.int64(),
    "op": pa.string(),
    "path": pa.string(),
    "zxid": pa.int64(),
    "time": pa.int64(),
}
"""The columns that are fields of a line."""
SCHEMA = pa.schema(
    [
        pa.field("seq", pa.int64(), nullable=False),
        *(pa.field(name, kind) for name, kind in _COLUMNS.items()),
        pa.field("mzxid", pa.int64()),
        pa.field("rest", pa.string()),
    ]
)
"""The columns of a history."""
_READ = pa.schema([SCHEMA.field(name) for name in (*_COLUMNS, "rest")])
"""The columns that a line is made of."""
BATCH = 1 << 16
"""Rows that are read or written at once."""

_encode = msgspec.json.Encoder().encode
_fields = msgspec.json.Decoder(dict[str, Any]).decode


def dump(lines: Iterable[HistoryLine], target: BinaryIO) -> None:
    """Write the lines of a history. O(lines) time, O(1) memory."""
    with pq.ParquetWriter(target, SCHEMA, compression="zstd") as writer:
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
    row = {name: fields.pop(name) for name in _COLUMNS if name in fields}
    row["mzxid"] = fields["stat"]["mzxid"] if "stat" in fields else None
    return row | {"rest": _encode(fields).decode() if fields else None}


def load(source: BinaryIO, name: str) -> Iterator[HistoryLine]:
    """Yield the lines of a file, each valid by itself. HistoryError, with name, line and field, if it is no history."""
    return chain.from_iterable(blocks(source, name))


def blocks(source: BinaryIO, name: str) -> Iterator[list[HistoryLine]]:
    """Yield the lines as `load` does, many at once. HistoryError as for `load`."""
    try:
        file = pq.ParquetFile(source)
        if missing := [column for column in SCHEMA.names if column not in file.schema_arrow.names]:
            raise HistoryError(f"{name}: expected the columns of a history, `{missing[0]}` is not there")
        number = 0
        for batch in file.iter_batches(BATCH, columns=_READ.names):
            yield decoded_lines(_text(batch.select(_READ.names).cast(_READ)), name, number)
            number += len(batch)
        if not number:
            raise HistoryError(f"{name}, line 1: expected a header, the file is empty")
    except (pa.ArrowException, msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
        why = " ".join(str(error).split())
        raise HistoryError(f"{name}: a Parquet file that cannot be read: {why}") from None


def _text(batch: pa.RecordBatch) -> bytes:
    """Return rows as JSON Lines."""
    rest = batch.column("rest")
    strings = [batch.column(name).unique() for name, kind in _COLUMNS.items() if kind == pa.string()]
    is_escaped = any(pc.any(pc.match_substring_regex(each, r'["\\\x00-\x1f]')).as_py() for each in strings)
    if is_escaped or pc.all(pc.starts_with(rest, '{"')).as_py() is False:
        return b"".join(map(_line, batch.to_pylist()))
    fields = [_field(name, batch.column(name)) for name in _COLUMNS]
    others = pc.coalesce(pc.binary_replace_slice(rest.cast(pa.binary()), 0, 1, b",").cast(pa.string()), "}")
    lines = pc.binary_join_element_wise("{", *fields, others, "\n", "", null_handling="replace")
    return bytes(lines.buffers()[2])[: pc.sum(pc.binary_length(lines)).as_py()]


def _field(name: str, column: pa.Array) -> pa.Array:
    """Return a field of each row as JSON; null where there is none. Equal values are made once."""
    values = column.dictionary_encode()
    quote = '"' if column.type == pa.string() else ""
    begin = f'{"" if name == "record" else ","}"{name}":{quote}'
    return pc.binary_join_element_wise(begin, values.dictionary.cast(pa.string()), quote, "").take(values.indices)


def _line(row: dict[str, Any]) -> bytes:
    rest = row.pop("rest")
    fields = {key: value for key, value in row.items() if value is not None}
    return _encode(fields | (_fields(rest) if rest else {})) + b"\n"
