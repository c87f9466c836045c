"""The work of a task: it judges the runs of a share, as `zabcheck check` does, and counts the results."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from io import BufferedReader
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct

from zabcheck.campaign.files import file_system, in_one_line, name_of
from zabcheck.campaign.judging.shares import RunRange, Share, opened_parquet
from zabcheck.invariants import AnyEvent, Status, TraceError, Verdict, Violation, select
from zabcheck.invariants.base import judge_events
from zabcheck.invariants.columns.lines import judge_in_order
from zabcheck.invariants.columns.parquet import BATCH, Disorder, Summary, judge, only_run
from zabcheck.invariants.events import EventError
from zabcheck.invariants.trace import Reader

MOST_BROKEN = 20
"""The number of broken runs of which the violations are kept."""


class FoundViolation(Violation, frozen=True):
    """A violation whose witness msgspec can decode: the type lists the kinds of events."""

    witness: tuple[AnyEvent, ...]


class BrokenRun(Struct, frozen=True):
    """A run that violates something: its trace (a file, or the path of a table), its number there, its violations."""

    trace: str
    run: int
    violations: tuple[FoundViolation, ...]


class CheckedRuns(Struct, frozen=True):
    """The results of some runs together. `+` adds the results of other runs behind them."""

    runs: int = 0
    lines: int = 0
    in_arrays: int = 0
    """The number of runs that were judged in arrays (see `invariants.columns`), not event by event."""

    counts: dict[str, dict[Status, int]] = {}
    """For each property, the number of runs in which it has each status."""

    violated: int = 0
    """The number of runs that violate something."""

    broken: tuple[BrokenRun, ...] = ()
    """The first `MOST_BROKEN` of these."""

    def __add__(self, other: "CheckedRuns") -> "CheckedRuns":
        counts = {name: dict(each) for name, each in self.counts.items()}
        for name, each in other.counts.items():
            mine = counts.setdefault(name, {})
            for status, number in each.items():
                mine[status] = mine.get(status, 0) + number
        numbers = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        return CheckedRuns(counts=counts, broken=(self.broken + other.broken)[:MOST_BROKEN], **numbers)


_NUMBERS = ("runs", "lines", "in_arrays", "violated")


def judge_share(share: Share, properties: Sequence[str]) -> CheckedRuns:
    """Judge the runs of a share. TraceError, in one line with its name, for a trace that cannot be read."""
    if isinstance(share, RunRange):
        return _judge_range(share, properties)
    return reduce(CheckedRuns.__add__, (_judge_lines(file, properties) for file in share.files))


# Parquet.


class _Rows:
    """The rows of a range of runs, as they are stored (`invariants.columns.parquet.Source`)."""

    def __init__(self, share: RunRange) -> None:
        self.share = share
        self.name = share.name

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        for file, groups in groupby(self.share.groups, key=lambda each: each.file):
            with opened_parquet(file) as source:
                for batch in source.batches(size, [each.group.number for each in groups]):
                    yield self._of_range(batch)

    def rows_of(self, run: int) -> Iterator[pa.RecordBatch]:
        for batch in self.batches(BATCH):
            yield from only_run(batch, run)

    def _of_range(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Leave out the runs that other tasks judge."""
        run = np.asarray(batch.column("run"))
        mine = (run >= self.share.least) & (run < self.share.end)
        return batch if mine.all() else batch.filter(pa.array(mine))


class _SortedRows:
    """The same rows by run and `seq`, in memory."""

    def __init__(self, rows: _Rows) -> None:
        self.name = rows.name
        table = pa.Table.from_batches(list(rows.batches(BATCH))).unify_dictionaries()
        self.table = table.sort_by([("run", "ascending"), ("seq", "ascending")])

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        yield from self.table.to_batches(size)

    def rows_of(self, run: int) -> Iterator[pa.RecordBatch]:
        for batch in self.batches(BATCH):
            yield from only_run(batch, run)


def _judge_range(share: RunRange, properties: Sequence[str]) -> CheckedRuns:
    rows, kinds = _Rows(share), select(properties)
    try:
        summary = judge(rows, kinds)
    except Disorder:
        summary = judge(_SortedRows(rows), kinds)
    return _counted(share.name, summary)


def _counted(name: str, summary: Summary) -> CheckedRuns:
    broken = groupby(summary.broken, key=lambda each: each.run)
    runs = [BrokenRun(name, run, tuple(map(_found, (each.violation for each in found)))) for run, found in broken]
    return CheckedRuns(
        summary.runs,
        summary.rows,
        summary.runs - summary.by_a_judge,
        summary.statuses,
        len(runs),
        tuple(runs[:MOST_BROKEN]),
    )


def _found(violation: Violation) -> FoundViolation:
    return FoundViolation(**msgspec.structs.asdict(violation))


# JSON Lines.


class _Counting:
    """A file that counts the lines that were read."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.lines = 0
        self._is_whole = True

    def read(self, size: int) -> bytes:
        data: bytes = self.source.read(size)
        if data:
            self.lines += data.count(b"\n") + (not data.endswith(b"\n")) - (not self._is_whole)
            self._is_whole = data.endswith(b"\n")
        return data


def _judge_lines(file: str, properties: Sequence[str]) -> CheckedRuns:
    """Judge a trace in arrays, or else from its start again, line by line. Memory for a block of it."""
    name, kinds = name_of(file), select(properties)
    with _opened(file) as stream:
        source = _Counting(stream)
        verdicts = judge_in_order(source, kinds)
    if verdicts is not None:
        return _of_one(name, source.lines, True, verdicts)
    with _opened(file) as stream:
        reader = Reader(BufferedReader(stream), name)
        try:
            verdicts = judge_events(reader, kinds)
        except EventError as error:
            raise TraceError(f"{name}, line {reader.line}, {error}") from None
    return _of_one(name, reader.line, False, verdicts)


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """Open a file to be read from its start, unpacked if it is compressed. TraceError if it cannot be read."""
    try:
        files, place = file_system(file)
        with files.open_input_stream(place) as stream:
            yield stream
    except TraceError:
        raise
    except (OSError, ValueError) as error:
        raise TraceError(f"{name_of(file)}: {in_one_line(error)}") from None


def _of_one(name: str, lines: int, in_arrays: bool, verdicts: Sequence[Verdict]) -> CheckedRuns:
    violations = tuple(_found(each.violation) for each in verdicts if each.violation is not None)
    counts: dict[str, dict[Status, int]] = {each.property: {each.status: 1} for each in verdicts}
    broken = (BrokenRun(name, 0, violations),) if violations else ()
    return CheckedRuns(1, lines, int(in_arrays), counts, len(broken), broken)
