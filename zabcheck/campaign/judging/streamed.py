"""The incremental judge on Spark: each run goes through it in one process of an executor.

It has two uses. It finds the canonical witness of a run that is known to be broken. And it decides the few runs that
DataFrame code cannot decide (see `properties`); their verdict is no second opinion. It needs memory for the distinct
transactions of one run at a time.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from invariants import (
    AnyEvent,
    Broadcast,
    Deliver,
    Event,
    Judge,
    Restore,
    TraceError,
    Txn,
    Verdict,
    Violation,
    Zxid,
    select,
)
from zabcheck.campaign.judging.verdicts import HOLDS, NOT_EXERCISED, SIX, VIOLATED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = ("event", "process", "incarnation", "epoch", "zxid_epoch", "zxid_counter", "value", "length", "hash")
_CODES = {"holds": HOLDS, "violated": VIOLATED, "not exercised": NOT_EXERCISED}
_encode = msgspec.json.Encoder().encode


def judge_streamed(events: "DataFrame") -> "DataFrame":
    """Make a row for each run: `run`, `codes` of the six properties in their order, `verdicts` (JSON), or an `error`.

    Each run is judged as if it had been recorded to its end.
    """
    rows = (
        events.filter(events["event"].isin("deliver", "broadcast", "restore"))
        .select("run", "seq", *_COLUMNS)
        .repartition("run")
        .sortWithinPartitions("run", "seq")
    )
    return rows.mapInArrow(_judge, "run long, codes array<int>, verdicts string, error string")


def _judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    run: int | None = None
    judge = Judge([])
    error: str | None = None
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        for number, seq, *row in zip(*columns, strict=True):
            if number != run:
                if run is not None:
                    yield _result(run, judge, error)
                run, judge, error = number, Judge(select(SIX)), None
            try:
                if error is None:
                    judge.observe(_event(*row))
            except TraceError as wrong:
                error = f"line {seq}, {wrong}"
    if run is not None:
        yield _result(run, judge, error)


def _event(
    kind: str, process: int, incarnation: int, epoch: int, z: int, c: int, value: str, length: int, hash_: int
) -> Event:
    if kind == "deliver":
        return Deliver(process, incarnation, Txn(Zxid(z, c), value))
    if kind == "broadcast":
        return Broadcast(process, incarnation, epoch, Txn(Zxid(z, c), value))
    return Restore(process, incarnation, Zxid(z, c), length, hash_)


def _result(run: int, judge: Judge, error: str | None) -> pa.RecordBatch:
    verdicts = [] if error else judge.finish()
    row: dict[str, list[Any]] = {
        "run": [run],
        "codes": [[_CODES[verdict.status] for verdict in verdicts]],
        "verdicts": [_encode(verdicts).decode()],
        "error": [error],
    }
    return pa.RecordBatch.from_pydict(row, _SCHEMA)


_SCHEMA = pa.schema(
    [("run", pa.int64()), ("codes", pa.list_(pa.int32())), ("verdicts", pa.string()), ("error", pa.string())]
)


class _Violation(Violation, frozen=True):
    """A violation whose witness msgspec can decode: the type says which events there are."""

    witness: tuple[AnyEvent, ...]


class _Verdict(Verdict, frozen=True):
    violation: _Violation | None = None


def verdicts_of(text: str) -> list[Verdict]:
    """Decode the column `verdicts` of `judge_streamed`."""
    return list(msgspec.json.decode(text, type=list[_Verdict]))
