"""Traces as one DataFrame, and what is said of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from invariants import Event, check
from invariants.columns import PARQUET, Rows
from zabcheck.campaign.judging.facts import facts_of
from zabcheck.campaign.judging.properties import CHUNK, judge
from zabcheck.campaign.judging.verdicts import SIX, columns_of, status_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Statuses = dict[int, list[str]]
"""For each run the status of the six, in their order."""


def stored(spark: "SparkSession", path: Path, traces: Mapping[int, Sequence[Event]]) -> "DataFrame":
    """These traces, by number of the run, in one Parquet file."""
    rows = Rows()
    for run, lines in traces.items():
        rows.add(run, lines)
    pq.write_table(pa.Table.from_batches([rows.take()]), path, **PARQUET)
    return spark.read.parquet(str(path))


def expected(traces: Mapping[int, Sequence[Event]]) -> Statuses:
    """What the incremental judge says."""
    return {run: [verdict.status for verdict in check(lines, SIX)] for run, lines in traces.items()}


def judged(events: "DataFrame", chunk: int = CHUNK) -> tuple[Statuses, dict[int, str]]:
    """What Spark says of each run, and how the run was judged."""
    facts = facts_of(events).persist()
    complete = {row["run"]: row["complete"] for row in facts.collect()}
    statuses: Statuses = {}
    how: dict[int, str] = {}
    for row in judge(events, facts, chunk).collect():
        run = row["run"]
        assert run not in statuses
        statuses[run] = [status_of(name, row[columns_of(name)[0]], complete[run]) for name in SIX]
        how[run] = row["how"]
    facts.unpersist()
    return statuses, how
