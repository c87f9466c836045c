"""Judges what is stored on Spark: traces, of which it adds up the results, or anything else in pieces."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from zabcheck.campaign.judging.shares import shares_of
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

_DONE = pa.schema([("piece", pa.int64()), ("found", pa.binary()), ("error", pa.string())])
P = TypeVar("P")


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
    judge = partial(judge_share, properties=tuple(properties))
    found = results_of(shares_of(paths), judge, TraceError, master, say)
    return reduce(CheckedRuns.__add__, (msgspec.msgpack.decode(each, type=CheckedRuns) for each in found))


def results_of(
    pieces: Sequence[P],
    work: Callable[[P], Any],
    fault: type[Exception],
    master: str | None,
    say: Callable[[str], None],
) -> list[bytes]:
    """Do each piece of work in a Spark task of its own, and return the results as MessagePack, in the same order.

    `fault` is what `work` raises for bad input; it is raised here then, with its message. NoSpark, NoJava and
    TaskFailed as for `check_stored`.
    """
    say("starting Spark, to judge")
    spark = session(master, short=True)
    say("Spark is judging")
    with as_task_failed():
        numbers = spark.range(0, len(pieces), 1, len(pieces))
        task = _task_function(pieces, work, fault)
        rows = numbers.mapInArrow(task, "piece long, found binary, error string").collect()
    rows.sort(key=lambda row: int(row["piece"]))
    for row in rows:
        if row["error"] is not None:
            raise fault(row["error"])
    return [bytes(row["found"]) for row in rows]


def _task_function(
    pieces: Sequence[P], work: Callable[[P], Any], fault: type[Exception]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                found, error = b"", None
                try:
                    found = msgspec.msgpack.encode(work(pieces[number]))
                except fault as wrong:
                    error = str(wrong)
                yield pa.RecordBatch.from_pylist([{"piece": number, "found": found, "error": error}], _DONE)

    return task
