"""What happened in a campaign: how many runs did what, which mutants were found, how long runs are."""

from collections.abc import Iterable, Sequence
from math import ceil

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
from zabcheck.campaign.tables.questions import BINS, FIGURES, MILLION, Questions
from zabcheck.search.goals import GOALS

PLACES = 9
"""The decimal places of a percentile that are kept: in those that follow, two ways to interpolate may differ.

A percentile of whole numbers or of whole microseconds has at most eight, so nothing hangs on how halves are rounded."""


def overview_table(runs: Questions, plan: Plan) -> Overview:
    """Sum up the campaign in one row. Its `states` are 0: `saturation_table` counts them."""
    return Overview(**runs.overview(), planned_runs=plan.runs, planned_parts=plan.parts, states=0)


def properties_table(
    runs: Questions, properties: Sequence[str], broken: Sequence[BrokenRow]
) -> tuple[PropertyRow, ...]:
    """Make a row for each of the plan's properties, also for one that no run exercised."""
    judged = runs.judged()
    rows = []
    for name in properties:
        exercised, times = judged.get((name,), (0, 0))
        mine = [row for row in broken if row.property == name]
        violated, first = sum(row.violated for row in mine), sum(row.first for row in mine)
        rows.append(PropertyRow(name, exercised, times, violated, first))
    return tuple(rows)


def goals_table(runs: Questions) -> tuple[GoalRow, ...]:
    """Make a row for each known goal, also for one that no run reached."""
    reached = runs.goals()
    found = {goal: reached.get((goal,), (0, None)) for goal in GOALS}
    return tuple(GoalRow(goal, number, first, GOALS[goal]) for goal, (number, first) in found.items())


def mutants_table(runs: Questions, mutants: Sequence[str | None]) -> tuple[MutantRow, ...]:
    """Make a row for each mutant, in the order of the plan.

    The time of a detection is the CPU time of all runs of the mutant since the detection before it.
    """
    totals, spent = runs.mutants(), runs.waits()
    rows = []
    for mutant in dict.fromkeys(mutants):
        count, steps, seconds, violating = totals.get((mutant,), (0, 0, 0.0, 0))
        rate = violating * MILLION / steps if steps else 0.0
        median, worst = spent.get((mutant,), (None, None))
        median = median if median is None else round(median, PLACES)
        rows.append(MutantRow(mutant, count, steps, seconds, violating, rate, median, worst))
    return tuple(rows)


def broken_table(runs: Questions) -> tuple[BrokenRow, ...]:
    """Make a row for each mutant and broken property; the unchanged protocol first, then the mutants by name."""
    first, violated = runs.broken_first(), runs.violated()
    keys = sorted({**first, **violated}, key=lambda key: (key[0] is not None, key))
    return tuple(BrokenRow(*key, *first.get(key, (0,)), *violated.get(key, (0,))) for key in keys)


def raised_table(runs: Questions) -> tuple[RaisedRow, ...]:
    """Make a row for each exception, the most frequent first; of equally frequent ones the earliest first."""
    return tuple(RaisedRow(*row) for row in runs.raised())


def distributions_table(runs: Questions) -> tuple[DistributionRow, ...]:
    """Make a row for each figure. CPU time is rounded to microseconds, so that there are fewer distinct values."""
    found = runs.percentiles()
    return tuple(DistributionRow(name, *(round(each, PLACES) for each in found[name])) for name in FIGURES)


def histograms_table(runs: Questions, distributions: Iterable[DistributionRow]) -> tuple[HistogramRow, ...]:
    """Count the runs in bins of equal width up to the 99th percentile, and in one bin for what lies above."""
    widths: dict[str, float] = {}
    for row in distributions:
        width = (row.p99 - row.least) / BINS
        widths[row.figure] = width if row.figure == "seconds" else max(1, ceil(width))
    counts = runs.bins({row.figure: row.least for row in distributions}, widths)
    rows = []
    for row in distributions:
        last = max(place for figure, place in counts if figure == row.figure)
        for place in range(last + 1):
            low = row.least + place * widths[row.figure]
            high = max(low, row.most) if place == BINS else low + widths[row.figure]
            rows.append(HistogramRow(row.figure, low, high, *counts.get((row.figure, place), (0,))))
    return tuple(rows)
