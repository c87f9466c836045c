"""Judges stored traces on Spark, and adds up the results of its tasks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

import msgspec
import pyarrow as pa

from zabcheck.campaign.judging.shares import Share, shares_of
from zabcheck.campaign.judging.task import CheckedRuns, judge_share
from zabcheck.campaign.session import session
from zabcheck.campaign.tasks import as_task_failed
from zabcheck.invariants import TraceError

SIX = (
    "integrity",
    "total order",
    "agreement",
    "local primary order",
    "global primary order",
    "primary integrity",
)
"""The properties of DSN 2011, III-A."""

_FOUND = pa.schema([("share", pa.int64()), ("found", pa.binary()), ("error", pa.string())])


def check_stored(
    paths: Sequence[str],
    properties: Sequence[str] = SIX,
    master: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> CheckedRuns:
    """Judge all runs at these paths (see `shares`) by the properties, on Spark.

    Only counts come to this process and, from each task, its first broken runs. `say` is called with progress messages.
    TraceError, in one line, for a file that is no trace or cannot be read; NoSpark and NoJava as for `session`;
    TaskFailed if Spark gives up.
    """
    shares = shares_of(paths)
    say("starting Spark, to judge")
    spark = session(master, short=True)
    say("Spark is judging")
    with as_task_failed():
        numbers = spark.range(0, len(shares), 1, len(shares))
        task = _task_function(shares, tuple(properties))
        rows = numbers.mapInArrow(task, "share long, found binary, error string").collect()
    rows.sort(key=lambda row: int(row["share"]))
    for row in rows:
        if row["error"] is not None:
            raise TraceError(row["error"])
    return reduce(CheckedRuns.__add__, (msgspec.msgpack.decode(row["found"], type=CheckedRuns) for row in rows))


def _task_function(
    shares: Sequence[Share], properties: Sequence[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                found, error = b"", None
                try:
                    found = msgspec.msgpack.encode(judge_share(shares[number], properties))
                except TraceError as wrong:
                    error = str(wrong)
                yield pa.RecordBatch.from_pylist([{"share": number, "found": found, "error": error}], _FOUND)

    return task
