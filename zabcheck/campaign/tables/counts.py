"""What happened in a campaign: how many runs did what, which mutants were found, how long runs are."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from zabcheck.campaign.plan import Plan
from zabcheck.campaign.results import (
    BrokenRow,
    DistributionRow,
    GoalRow,
    HistogramRow,
    MutantRow,
    Overview,
    PropertyRow,
    RaisedRow,
)
from zabcheck.campaign.tables.collected import MILLION, by_key
from zabcheck.search.goals import GOALS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BINS = 30
"""The most bins of a histogram, one more for what lies above the 99th percentile not counted."""
MOST_RAISED = 20
"""The most exceptions in the table; the most frequent ones are kept."""
FIGURES = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs", "longest", "seconds")
"""The columns of `runs` whose distribution is shown."""


def overview_table(runs: "DataFrame", plan: Plan) -> Overview:
    """Sum up the campaign in one row. Its `states` are 0: `saturation_table` counts them."""
    as_it_is = f.col("mutant").isNull()
    sums = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs")
    [row] = runs.agg(
        f.count("*").alias("runs"),
        f.count_distinct("part").alias("parts"),
        *(f.sum(name).alias(name) for name in sums),
        f.max("longest").alias("longest"),
        f.count("broken").alias("violating"),
        f.count("raised").alias("raised"),
        f.count_if(as_it_is).alias("as_it_is"),
        f.count_if(as_it_is & f.col("broken").isNotNull()).alias("broken_as_it_is"),
        _seconds("seconds"),
    ).collect()
    planned = {"planned_runs": plan.runs, "planned_parts": plan.parts, "states": 0}
    return Overview(**row.asDict(), **planned)


def properties_table(
    runs: "DataFrame", properties: Sequence[str], broken: Sequence[BrokenRow]
) -> tuple[PropertyRow, ...]:
    """Make a row for each of the plan's properties, also for one that no run exercised."""
    judged = by_key(
        runs.select(f.explode("judged").alias("property", "times"))
        .groupBy("property")
        .agg(f.count_if(f.col("times") > 0).alias("exercised"), f.sum("times").alias("judged"))
    )
    rows = []
    for name in properties:
        exercised, times = judged.get((name,), (0, 0))
        mine = [row for row in broken if row.property == name]
        violated, first = sum(row.violated for row in mine), sum(row.first for row in mine)
        rows.append(PropertyRow(name, exercised, times, violated, first))
    return tuple(rows)


def goals_table(rows: "DataFrame") -> tuple[GoalRow, ...]:
    """Make a row for each known goal, also for one that no run reached."""
    reached = by_key(
        rows.select("run", f.explode("goals").alias("goal")).groupBy("goal").agg(f.count("*"), f.min("run"))
    )
    found = {goal: reached.get((goal,), (0, None)) for goal in GOALS}
    return tuple(GoalRow(goal, runs, first, GOALS[goal]) for goal, (runs, first) in found.items())


def mutants_table(runs: "DataFrame", mutants: Sequence[str | None]) -> tuple[MutantRow, ...]:
    """Make a row for each mutant, in the order of the plan.

    The time of a detection is the CPU time of all runs of the mutant since the detection before it. Runs that belong to
    the same detection are those with the same number of detections before them (the column `before`).
    """
    totals = by_key(runs.groupBy("mutant").agg(f.count("*"), f.sum("steps"), _seconds("seconds"), f.count("broken")))
    before = Window.partitionBy("mutant").orderBy("run").rowsBetween(Window.unboundedPreceding, -1)
    waits = (
        runs.select("mutant", "run", "seconds", "broken")
        .withColumn("before", f.count("broken").over(before))
        .groupBy("mutant", "before")
        .agg(f.sum("seconds").alias("wait"), f.count("broken").alias("detections"))
        .where("detections = 1")
    )
    spent = by_key(waits.groupBy("mutant").agg(f.round(f.percentile("wait", 0.5), 6), f.round(f.max("wait"), 6)))
    rows = []
    for mutant in dict.fromkeys(mutants):
        count, steps, seconds, violating = totals.get((mutant,), (0, 0, 0.0, 0))
        rate = violating * MILLION / steps if steps else 0.0
        rows.append(MutantRow(mutant, count, steps, seconds, violating, rate, *spent.get((mutant,), (None, None))))
    return tuple(rows)


def broken_table(runs: "DataFrame") -> tuple[BrokenRow, ...]:
    """Make a row for each mutant and broken property; the unchanged protocol first, then the mutants by name."""
    first = by_key(runs.where("broken is not null").groupBy("mutant", "broken").count(), 2)
    violated = by_key(runs.select("mutant", f.explode("violated")).groupBy("mutant", "col").count(), 2)
    keys = sorted({**first, **violated}, key=lambda key: (key[0] is not None, key))
    return tuple(BrokenRow(*key, *first.get(key, (0,)), *violated.get(key, (0,))) for key in keys)


def raised_table(runs: "DataFrame") -> tuple[RaisedRow, ...]:
    """Make a row for each exception, the most frequent first; of equally frequent ones the earliest first."""
    grouped = runs.where("raised is not null").groupBy("mutant", "raised")
    found = grouped.agg(f.count("*").alias("runs"), f.min("run").alias("first"))
    return tuple(RaisedRow(*row) for row in found.orderBy(f.desc("runs"), "first").limit(MOST_RAISED).collect())


def distributions_table(runs: "DataFrame") -> tuple[DistributionRow, ...]:
    """Make a row for each figure: exact percentiles, interpolated between neighbouring values.

    CPU time is rounded to microseconds, so that there are fewer distinct values.
    """
    at = f.array(*map(f.lit, (0.0, 0.5, 0.9, 0.99, 1.0)))
    [row] = runs.agg(*(f.percentile(_figure(name), at).alias(name) for name in FIGURES)).collect()
    return tuple(DistributionRow(name, *row[name]) for name in FIGURES)


def histograms_table(runs: "DataFrame", distributions: Iterable[DistributionRow]) -> tuple[HistogramRow, ...]:
    """Count the runs in bins of equal width up to the 99th percentile, and in one bin for what lies above."""
    widths, bins = {}, []
    for row in distributions:
        width = (row.p99 - row.least) / BINS
        widths[row.figure] = width = width if row.figure == "seconds" else max(1, ceil(width))
        place = f.floor((_figure(row.figure) - row.least) / (width or 1.0))
        bins.append(f.struct(f.lit(row.figure).alias("figure"), f.least(place, f.lit(BINS)).alias("bin")))
    counts = by_key(runs.select(f.inline(f.array(*bins))).groupBy("figure", "bin").count(), 2)
    rows = []
    for row in distributions:
        last = max(place for figure, place in counts if figure == row.figure)
        for place in range(last + 1):
            low = row.least + place * widths[row.figure]
            high = max(low, row.most) if place == BINS else low + widths[row.figure]
            rows.append(HistogramRow(row.figure, low, high, *counts.get((row.figure, place), (0,))))
    return tuple(rows)


def _figure(name: str) -> "Column":
    return f.round(name, 6) if name == "seconds" else f.col(name)


def _seconds(name: str) -> "Column":
    """Sum a column of seconds, rounded: the last digits depend on the order in which machines finish."""
    return f.round(f.sum(name), 6).alias(name)
