"""Stored traces, read as one DataFrame of events, whatever their format.

A path is what Spark accepts: a file, a folder or a pattern, on any file system that Spark reads.

- Parquet, with the columns of `invariants.columns`. All files of one path are one table: a run may be spread over
  several files, and rows with the same run number are one run. So give files of different campaigns as different paths.
- JSON Lines (any other file), each file one trace. Spark reads a long file in blocks. So that each line has its number,
  the lines of each block are counted first. The executors decode lines with the package's own decoder.

The column `run` of the result numbers all runs of all paths: the place of the path (or file), and the run in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import TraceError
from invariants.columns import SCHEMA, Rows, events_of
from invariants.trace import decode
from zabcheck.campaign.judging.facts import MALFORMED
from zabcheck.campaign.spark_errors import one_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_RUN_BITS = 40
_TYPES = {"int64": "bigint", "int32": "int", "string": "string"}
_COLUMNS = {field.name: _TYPES[str(field.type)] for field in SCHEMA}
_DDL = ", ".join(f"`{name}` {type_}" for name, type_ in _COLUMNS.items())


class StoredTraces:
    """The events of several paths, and what messages call a run."""

    def __init__(self, events: "DataFrame", names: Sequence[str], numbered: bool) -> None:
        self.events = events
        self.names = names
        self.numbered = numbered  # whether a name has many runs

    def place_of(self, run: int) -> tuple[str, int]:
        """Return the path or file of a run, and the run's number in it."""
        return self.names[run >> _RUN_BITS], run & ((1 << _RUN_BITS) - 1)

    def name_of(self, run: int) -> str:
        """Return what messages call a run."""
        name, number = self.place_of(run)
        return f"{name}, run {number}" if self.numbered else name

    def raise_for(self, wrong: "Row") -> None:
        """Raise the TraceError for a row of facts that has something in `wrong`."""
        where = f"{self.name_of(wrong['run'])}, line {wrong['wrong_at']}"
        if wrong["wrong"] != MALFORMED:
            said = wrong["wrong"]
            raise TraceError(f"{where}{', ' if said.startswith('field') else ': '}{said}")
        at = (F.col("run") == wrong["run"]) & (F.col("seq") == wrong["wrong_at"])
        [row, *_] = self.events.filter(at).collect()
        if row["event"] == MALFORMED:
            raise TraceError(row["rest"])
        name, number = self.place_of(wrong["run"])
        columns = {**row.asDict(), "run": number}
        batch = pa.RecordBatch.from_pylist([{key: columns[key] for key in SCHEMA.names}], pa.schema(list(_nullable())))
        list(events_of([batch], name))
        raise TraceError(f"{where}: expected a `{row['event']}`, found other columns than it has")


def _nullable() -> Iterator[Any]:
    return (field.with_nullable(True) for field in SCHEMA)


def read(spark: "SparkSession", paths: Sequence[str]) -> StoredTraces:
    """Read the traces in the paths, whose files have to be of one kind.

    TraceError for a file that is no trace, as far as that is seen this early. What cannot be read raises an error of
    Spark, which `one_line_about` shortens.
    """
    files = {path: spark.read.text(path).inputFiles() for path in paths}
    for path, found in files.items():
        if not found:
            raise TraceError(f"{path}: expected a trace, found no file")
    is_parquet = {path: any(file.endswith(".parquet") for file in found) for path, found in files.items()}
    if all(is_parquet.values()):
        return _parquet(spark, paths, uuid4().hex)
    other = next((path for path in paths if is_parquet[path]), None)
    if other is not None:
        raise TraceError(f"{other}: expected JSON Lines as in the other files, found Parquet")
    return _json_lines(spark, list(dict.fromkeys(paths)), [file for found in files.values() for file in found])


def _parquet(spark: "SparkSession", paths: Sequence[str], nonce: str) -> StoredTraces:
    tables = []
    for number, path in enumerate(paths):
        table = spark.read.parquet(path)
        found = dict(table.dtypes)
        for column, expected in _COLUMNS.items():
            if found.get(column) != expected:
                is_ = f"found {found[column]}" if column in found else "found no such column"
                raise TraceError(f"{path}, column `{column}`: expected {expected}, {is_}")
        # A run number that needs more bits lands in another run, which then has no header.
        run = F.shiftleft(F.lit(number).cast("long"), _RUN_BITS).bitwiseOR(F.col("run"))
        tables.append(table.select(run.alias("run"), *list(_COLUMNS)[1:]))
    events = tables[0]
    for table in tables[1:]:
        events = events.union(table)
    # Spark reuses the kept result of an equal query even if the files have changed since, so no two queries are equal.
    return StoredTraces(events.filter(F.lit(nonce) != ""), paths, numbered=True)


def _json_lines(spark: "SparkSession", paths: list[str], files: list[str]) -> StoredTraces:
    lines = (
        spark.read.option("lineSep", "\n")
        .text(paths)
        .filter(F.lit(uuid4().hex) != "")  # see `_parquet`
        .select(
            F.col("_metadata.file_path").alias("file"),
            F.col("_metadata.file_block_start").alias("block"),
            F.col("value").cast("binary").alias("line"),
        )
    )
    blocks = sorted(
        (row["file"], row["block"], row["count"]) for row in lines.groupBy("file", "block").count().collect()
    )
    names = list(dict.fromkeys(file for file, _, _ in blocks))
    for file in files:
        if plain(file) not in {plain(name) for name in names}:
            raise TraceError(f"{plain(file)}, line 1: expected a header, the file is empty")
    before: list[tuple[str, int, int, int, str]] = []
    last, count = "", 0
    for file, block, size in blocks:
        count = 0 if file != last else count
        before.append((file, block, names.index(file) << _RUN_BITS, count, plain(file)))
        last, count = file, count + size
    offsets = spark.createDataFrame(before, "file string, block long, run long, before long, name string")
    decoded = (
        lines.join(F.broadcast(offsets), ["file", "block"])
        .select("run", "before", "name", "line")
        .mapInArrow(_decoded, _DDL)
        .persist()
    )
    return StoredTraces(decoded, [plain(name) for name in names], numbered=False)


def plain(file: str) -> str:
    """Return a file's name as people write it: without the scheme, if the file is on this machine."""
    return "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:/") else file


def _decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode lines into rows of events. The lines of a block have to come in their order, block after block."""
    at, number = None, 0
    for batch in batches:
        rows = Rows()
        wrong: list[dict[str, Any]] = []
        for run, before, name, line in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if (run, before) != at:
                at, number = (run, before), before
            number += 1
            try:
                rows.add(run, [decode(line, name, number)])
                rows.seqs[-1] = number
            except TraceError as error:
                wrong.append({"run": run, "seq": number, "event": MALFORMED, "rest": str(error)})
        yield rows.take()
        if wrong:
            yield pa.RecordBatch.from_pylist(wrong, SCHEMA)


def one_line_about(error: Exception, paths: Sequence[str]) -> str:
    """Return an error of Spark about an input, in one line that has the name of a path."""
    text = one_line(error)
    return text if any(path in text for path in paths) else f"{', '.join(paths)}: {text}"
