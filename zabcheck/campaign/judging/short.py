"""Short traces as JSON Lines: each file is judged whole, in one Spark job, by the incremental judge.

DataFrame code would judge them alike. But Spark compiles each of its queries, and starts several jobs, which takes
sixty CPU seconds for any trace. So for short traces there is no second opinion.
"""

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from invariants import TraceError, check
from invariants.trace import Reader
from zabcheck.campaign.judging.stored import plain
from zabcheck.campaign.judging.streamed import verdicts_of
from zabcheck.campaign.judging.verdicts import SIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from invariants import Verdict

SHORT = 64 * 2**20
"""The most bytes of files that are judged like this, all together."""

_PATTERN = frozenset("*?[]{}\\")
_JUDGED = pa.schema([("path", pa.string()), ("lines", pa.int64()), ("verdicts", pa.string()), ("error", pa.string())])
_encode = msgspec.json.Encoder().encode


def are_short(paths: Sequence[str]) -> bool:
    """Whether these are names of short files of JSON Lines that this machine sees, and no patterns or folders."""
    files = [Path(path) for path in paths if _PATTERN.isdisjoint(path) and not path.endswith(".parquet")]
    if len(files) < len(paths) or not all(file.is_file() for file in files):
        return False
    return sum(file.stat().st_size for file in files) <= SHORT


def judge_short(spark: "SparkSession", paths: Sequence[str]) -> "list[tuple[str, int, list[Verdict]]]":
    """Return name, number of lines and verdicts on the six properties of each file, by name.

    TraceError for a file that is no trace.
    """
    for path in paths:  # Spark passes over a file without content
        if not Path(path).stat().st_size:
            raise TraceError(f"{Path(path).absolute()}, line 1: expected a header, the file is empty")
    files = spark.read.format("binaryFile").load(list(dict.fromkeys(paths))).select("path", "content")
    rows = files.mapInArrow(_judge, "path string, lines long, verdicts string, error string").collect()
    rows.sort(key=lambda row: str(row["path"]))
    for row in rows:
        if row["error"] is not None:
            raise TraceError(row["error"])
    return [(plain(row["path"]), row["lines"], verdicts_of(row["verdicts"])) for row in rows]


def _judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            reader = Reader(BytesIO(content), plain(path))
            verdicts, error = "", None
            try:
                verdicts = _encode(check(reader, SIX)).decode()
            except TraceError as wrong:
                said = str(wrong)
                error = said if said.startswith(reader.name) else f"{reader.name}, line {reader.line}, {said}"
            yield pa.RecordBatch.from_pylist(
                [{"path": path, "lines": reader.line, "verdicts": verdicts, "error": error}], _JUDGED
            )
