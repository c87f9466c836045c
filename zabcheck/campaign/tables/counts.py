"""The totals of a campaign: events of runs, mutants found, distributions of figures."""

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
from zabcheck.campaign.tables.engines import Ask
from zabcheck.search.goals import GOALS

MILLION = 1_000_000
"""Detections are counted in a million steps, and seconds in a million microseconds."""

SUMS = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs")
"""The columns of `runs` whose sums the overview has."""

FIGURES = (*SUMS, "longest", "seconds")
"""The columns of `runs` whose distribution is shown; the seconds are counted in microseconds."""

BINS = 30
"""The most bins of a histogram, one more for all above the 99th percentile not counted."""

MOST_RAISED = 20
"""The most exceptions in the table; the most frequent ones are kept."""

PLACES = 9
"""The decimal places of a percentile that are kept: in the next ones, two ways to interpolate may differ.

A percentile of whole numbers or of whole microseconds has at most eight, so nothing hangs on how halves are rounded."""

_BY_FIGURE = f"""
(SELECT {", ".join(f"cast({'micros' if name == 'seconds' else name} AS bigint) AS {name}" for name in FIGURES)}
FROM runs) UNPIVOT (value FOR figure IN ({", ".join(FIGURES)}))
"""


def overview_table(ask: Ask, plan: Plan) -> Overview:
    """Sum up the campaign in one row. Its `states` are 0: `saturation_table` counts them."""
    counts = {
        "runs": "count(*)",
        "parts": "count(DISTINCT part)",
        **{name: f"sum({name})" for name in SUMS},
        "longest": "max(longest)",
        "violating": "count(broken)",
        "raised": "count(*) FILTER (WHERE raised IS NOT NULL AND broken IS NULL)",
        "as_it_is": "count(*) FILTER (WHERE mutant IS NULL)",
        "broken_as_it_is": "count(broken) FILTER (WHERE mutant IS NULL)",
        "seconds": "sum(micros)",
    }
    [row] = ask(f"SELECT {', '.join(counts.values())} FROM runs")
    found = dict(zip(counts, row, strict=True))
    found["seconds"] /= MILLION
    return Overview(**found, planned_runs=plan.runs, planned_parts=plan.parts, states=0)


def properties_table(ask: Ask, properties: Sequence[str], broken: Sequence[BrokenRow]) -> tuple[PropertyRow, ...]:
    """Make a row for each of the plan's properties, also for one that no run exercised."""
    judged = ask("""
        SELECT entry.key, count(*) FILTER (WHERE entry.value > 0), sum(entry.value)
        FROM (SELECT explode(map_entries(judged)) AS entry FROM runs)
        GROUP BY entry.key
    """)
    counts = {name: (exercised, times) for name, exercised, times in judged}
    rows = []
    for name in properties:
        exercised, times = counts.get(name, (0, 0))
        mine = [row for row in broken if row.property == name]
        violated, first = sum(row.violated for row in mine), sum(row.first for row in mine)
        rows.append(PropertyRow(name, exercised, times, violated, first))
    return tuple(rows)


def goals_table(ask: Ask) -> tuple[GoalRow, ...]:
    """Make a row for each known goal, also for one that no run reached."""
    reached = ask("""
        SELECT goal, count(*), min(run) FROM (SELECT run, explode(goals) AS goal FROM runs) GROUP BY goal
    """)
    counts = {goal: (runs, first) for goal, runs, first in reached}
    return tuple(GoalRow(goal, *counts.get(goal, (0, None)), said) for goal, said in GOALS.items())


def mutants_table(ask: Ask, mutants: Sequence[str | None]) -> tuple[MutantRow, ...]:
    """Make a row for each mutant, in the order of the plan.

    The time of a detection is the CPU time of all runs of the mutant since the detection before it.
    """
    totals = ask("SELECT mutant, count(*), sum(steps), sum(micros), count(broken) FROM runs GROUP BY mutant")
    waits = ask("""
        SELECT mutant, percentile_cont(0.5) WITHIN GROUP (ORDER BY wait), max(wait)
        FROM (
            SELECT mutant, sum(micros) AS wait
            FROM (
                SELECT mutant, micros, broken, count(broken) OVER (
                    PARTITION BY mutant ORDER BY run ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS earlier
                FROM runs
            )
            GROUP BY mutant, earlier
            HAVING count(broken) = 1
        )
        GROUP BY mutant
    """)
    sums = {mutant: row for mutant, *row in totals}
    spent = {mutant: (round(median / MILLION, PLACES), worst / MILLION) for mutant, median, worst in waits}
    rows = []
    for mutant in dict.fromkeys(mutants):
        count, steps, micros, violating = sums.get(mutant, (0, 0, 0, 0))
        rate = violating * MILLION / steps if steps else 0.0
        rows.append(
            MutantRow(mutant, count, steps, micros / MILLION, violating, rate, *spent.get(mutant, (None, None)))
        )
    return tuple(rows)


def broken_table(ask: Ask) -> tuple[BrokenRow, ...]:
    """Make a row for each mutant and broken property; the unchanged protocol first, then the mutants by name."""
    first = ask("SELECT mutant, broken, count(*) FROM runs WHERE broken IS NOT NULL GROUP BY mutant, broken")
    violated = ask("""
        SELECT mutant, property, count(*)
        FROM (SELECT mutant, explode(violated) AS property FROM runs)
        GROUP BY mutant, property
    """)
    counts = [{(mutant, name): number for mutant, name, number in rows} for rows in (first, violated)]
    keys = sorted({**counts[0], **counts[1]}, key=lambda key: (key[0] is not None, key))
    return tuple(BrokenRow(*key, *(each.get(key, 0) for each in counts)) for key in keys)


def raised_table(ask: Ask) -> tuple[RaisedRow, ...]:
    """Make a row for each exception, the most frequent first; of equally frequent ones the earliest first."""
    rows = ask(f"""
        SELECT mutant, raised, count(*) AS times, min(run) AS earliest
        FROM runs
        WHERE raised IS NOT NULL
        GROUP BY mutant, raised
        ORDER BY times DESC, earliest
        LIMIT {MOST_RAISED}
    """)
    return tuple(RaisedRow(*row) for row in rows)


def distributions_table(ask: Ask) -> tuple[DistributionRow, ...]:
    """Make a row for each figure."""
    rows = ask(f"""
        SELECT
            figure,
            min(value),
            percentile_cont(0.5) WITHIN GROUP (ORDER BY value),
            percentile_cont(0.9) WITHIN GROUP (ORDER BY value),
            percentile_cont(0.99) WITHIN GROUP (ORDER BY value),
            max(value)
        FROM {_BY_FIGURE}
        GROUP BY figure
    """)
    found = {name: [round(value / unit_of(name), PLACES) for value in values] for name, *values in rows}
    return tuple(DistributionRow(name, *found[name]) for name in FIGURES)


def unit_of(figure: str) -> int:
    """Return the factor from a figure's unit to that in which it is counted."""
    return MILLION if figure == "seconds" else 1


def histograms_table(ask: Ask, distributions: Iterable[DistributionRow]) -> tuple[HistogramRow, ...]:
    """Count the runs in bins of equal width up to the 99th percentile, and in one bin for all above it."""
    widths: dict[str, float] = {}
    for row in distributions:
        width = (row.p99 - row.least) / BINS
        widths[row.figure] = width if row.figure == "seconds" else max(1, ceil(width))
    least = " ".join(f"WHEN '{row.figure}' THEN {round(row.least * unit_of(row.figure))}" for row in distributions)
    # Written with an exponent, a number is a double, and not a decimal fraction, to both engines.
    wide = " ".join(f"WHEN '{name}' THEN {(width or 1.0) * unit_of(name):.17e}" for name, width in widths.items())
    counted = ask(f"""
        SELECT figure, bin, count(*)
        FROM (
            SELECT figure, least(
                cast(floor((value - CASE figure {least} END) / CASE figure {wide} END) AS bigint), {BINS}
            ) AS bin
            FROM {_BY_FIGURE}
        )
        GROUP BY figure, bin
    """)
    counts = {(figure, place): runs for figure, place, runs in counted}
    rows = []
    for row in distributions:
        last = max(place for figure, place in counts if figure == row.figure)
        for place in range(last + 1):
            low = row.least + place * widths[row.figure]
            high = max(low, row.most) if place == BINS else low + widths[row.figure]
            rows.append(HistogramRow(row.figure, low, high, counts.get((row.figure, place), 0)))
    return tuple(rows)
