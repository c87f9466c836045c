"""Traces as files, for the judges that work on columns."""

from collections.abc import Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from invariants import Event, Verdict, check, select, trace
from invariants.columns import PARQUET, SCHEMA, Rows
from invariants.columns.lines import judge_in_order
from invariants.columns.parquet import File, Summary

Traces = Sequence[Sequence[Event]]


def table_of(traces: Traces) -> pa.Table:
    """The runs of a file, numbered from 0."""
    rows = Rows()
    for run, lines in enumerate(traces):
        rows.add(run, lines)
    return pa.Table.from_batches([rows.take()], SCHEMA)


def parquet_of(table: pa.Table, row_group: int = 1 << 20) -> BytesIO:
    file = BytesIO()
    pq.write_table(table, file, row_group_size=row_group, **PARQUET)
    file.seek(0)
    return file


def opened(traces: Traces, row_group: int = 1 << 20) -> File:
    return File(parquet_of(table_of(traces), row_group), "x.parquet")


def by_lines(lines: Sequence[Event], block: int, properties: Sequence[str] | None = None) -> list[Verdict] | None:
    """The verdicts by counting on JSON Lines, read in blocks of so many bytes; None if it gave up."""
    return judge_in_order(BytesIO(b"".join(trace.dump(lines))), select(properties), block)


def assert_agrees(found: Summary, verdicts: Sequence[Sequence[Verdict]]) -> None:
    """Assert that the verdicts on a file are the sum of those on each run."""
    assert found.runs == len(verdicts)
    for place, name in enumerate(found.names):
        each = [run[place] for run in verdicts]
        assert [verdict.property for verdict in each] == [name] * len(each)
        statuses = dict.fromkeys(found.statuses[name], 0)
        for verdict in each:
            statuses[verdict.status] += 1
        assert (name, found.statuses[name], found.judged[name]) == (name, statuses, sum(v.judged for v in each))
    violations = [(run, v.violation) for run, each in enumerate(verdicts) for v in each if v.violation is not None]
    assert [(broken.run, broken.violation) for broken in found.broken] == violations
    assert found.last == list(verdicts[-1])


def verdicts_of(traces: Traces, properties: Sequence[str] | None = None) -> list[list[Verdict]]:
    return [check(lines, properties) for lines in traces]
