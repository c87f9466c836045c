"""The contents of a campaign's report, wherever it is shown: sentences, and sheets, which are tables of text.

The terminal (`zabcheck.campaign.report.terminal`) and the page (`zabcheck.campaign.report.page`) show the same ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from zabcheck.campaign.findings import FINDINGS
from zabcheck.campaign.report.wording import (
    AS_IT_IS,
    by_influence,
    drawn,
    figures_name,
    named,
    percent,
    ratio,
    stands_out,
    what_failing_runs_do,
)
from zabcheck.campaign.results import CampaignReport, Saturation, SettingRow
from zabcheck.search.report.matrix import code
from zabcheck.search.report.summary import cannot_be_seen
from zabcheck.text.words import counted

Tone = Literal["", "good", "warning", "bad"]


class Phrase(Struct, frozen=True):
    """A piece of text, and its tone, which decides the colour. `file` is its link's target in the campaign's folder."""

    text: str
    tone: Tone = ""
    file: str = ""


class Sheet(Struct, frozen=True):
    """A table. Its first `words` columns are text, the others are figures; `note` explains how to read it."""

    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    words: int
    rows: Sequence[Sequence[Phrase]]


# In short.


def title(report: CampaignReport) -> str:
    """Return the plan in one line."""
    plan = report.plan
    fixed = [] if plan["processes"] is None else [counted(plan["processes"], "process", "processes")]
    fixed += [] if plan["quorums"] is None else [f"quorums {plan['quorums']}"]
    fixed += [f"{name} {value}" for name, value in plan["switches"].items()]
    fixed += [f"seed {plan['seed']}", f"{plan['steps']} steps a run"]
    return ", ".join([f"a campaign on {plan['protocol']}", *fixed])


def headlines(report: CampaignReport) -> Iterator[Phrase]:
    """Yield the sentences that matter most."""
    tables = report.tables
    [total], [end] = tables.overview, tables.saturation
    yield Phrase(
        f"{counted(total.runs, 'run', 'runs')}, {counted(total.steps, 'step', 'steps')}, "
        f"{counted(total.events, 'event', 'events')}, {counted(total.deliveries, 'delivery', 'deliveries')}, "
        f"{total.seconds:,.1f} CPU seconds"
    )
    missing = total.planned_parts - total.parts
    if missing:
        are = "is" if missing == 1 else "are"
        runs = total.planned_runs - total.runs
        yield Phrase(
            f"unfinished: {missing:,} of {counted(total.planned_parts, 'part', 'parts')} {are} missing, "
            f"with {counted(runs, 'run', 'runs')}",
            "warning",
        )
    if total.as_it_is:
        runs_as_it_is = f"the protocol {AS_IT_IS}: {counted(total.as_it_is, 'run', 'runs')}"
        if total.broken_as_it_is:
            what = what_failing_runs_do(row for row in tables.broken if row.mutant is None)
            yield Phrase(f"{runs_as_it_is}, {total.broken_as_it_is:,} of them {what}", "bad")
        else:
            yield Phrase(f"{runs_as_it_is}, none violates a property", "good")
    if total.raised:
        said = "the protocol's own code raised in"
        yield Phrase(f"{said} {counted(total.raised, 'run', 'runs')}; nothing is judged there", "bad")
    yield from _covered(report)
    yield Phrase(saturated(end))


def _covered(report: CampaignReport) -> Iterator[Phrase]:
    """Yield what was found, exercised and reached, and what was not."""
    tables = report.tables
    mutants = [row for row in tables.mutants if row.mutant is not None]
    survived = [named(row.mutant) for row in mutants if not row.violating]
    if survived:
        yield Phrase(f"mutants not found: {', '.join(survived)}", "bad")
    elif mutants:
        yield Phrase(
            f"mutants: {'the one planted was' if len(mutants) == 1 else f'all {len(mutants)} were'} found", "good"
        )
    idle = [row.property for row in tables.properties if not row.exercised]
    if idle:
        yield Phrase(f"not exercised: {', '.join(idle)}", "warning")
    else:
        yield Phrase(f"properties: all {len(tables.properties)} were exercised", "good")
    unreached = [row.goal for row in tables.goals if not row.runs and row.goal not in report.unseen]
    if unreached:
        yield Phrase(f"not reached: {', '.join(unreached)}", "warning")
    if report.unseen:
        yield Phrase(cannot_be_seen(report.unseen))
    elif not unreached:
        yield Phrase(f"goals: all {len(tables.goals)} were reached", "good")


def saturated(end: Saturation) -> str:
    """Return one sentence: how much the last runs found, and what the next ones would find."""
    found = f"{end.last_new:,} of them new in the last {counted(end.last_runs, 'run', 'runs')}"
    who = f"{percent(end.chance)} of these runs ({percent(end.low)} to {percent(end.high)}) reached a new one"
    said = f"saturation: {counted(end.states, 'abstract state', 'abstract states')}, {found}; {who}"
    if end.next_part is None:
        return said
    return f"{said}; the next {counted(end.part_runs, 'run', 'runs')} would find about {end.next_part:,.0f}"


# Tables.


def overview(report: CampaignReport) -> Sheet:
    """Make the sheet of totals, one figure a row."""
    [total] = report.tables.overview
    figures = [
        ("runs", f"{total.runs:,}"),
        ("runs that were planned", f"{total.planned_runs:,}"),
        ("parts that are finished", f"{total.parts:,} of {total.planned_parts:,}"),
        ("steps", f"{total.steps:,}"),
        ("events", f"{total.events:,}"),
        ("broadcasts", f"{total.broadcasts:,}"),
        ("deliveries", f"{total.deliveries:,}"),
        ("crashes", f"{total.crashes:,}"),
        ("epochs that were established", f"{total.epochs:,}"),
        ("longest delivered sequence", counted(total.longest, "transaction", "transactions")),
        ("abstract states", f"{total.states:,}"),
        (f"runs that {what_failing_runs_do(report.tables.broken)}", f"{total.violating:,}"),
        ("of these, without a mutant", f"{total.broken_as_it_is:,}"),
        ("runs in which the code raised", f"{total.raised:,}"),
        ("CPU seconds", f"{total.seconds:,.1f}"),
    ]
    return sheet("overview", "Overview", "", ("what", "figure"), 1, figures)


def findings(report: CampaignReport) -> Sheet | None:
    """Make the sheet of findings; None if the campaign has written none, or found none."""
    if not report.findings:
        return None
    rows = [
        (
            named(each["mutant"]),
            each["property"],
            Phrase(each["summary"], file=f"{FINDINGS}/{each['report']}"),
            Phrase(each["schedule"], file=f"{FINDINGS}/{each['schedule']}"),
            f"{each['steps']:,}",
            f"{each['runs']:,}",
            f"{each['run']:,}",
            each["seed"],
        )
        for each in report.findings
    ]
    note = "Each is a minimised counterexample, with the number of runs that led to it. The files are in findings/."
    columns = ("mutant", "property", "what happened", "schedule", "steps", "runs", "first run", "seed")
    return sheet("findings", "Findings", note, columns, 4, rows)


def properties(report: CampaignReport) -> Sheet:
    """Make the sheet of properties, in the order of the plan."""
    runs = report.tables.overview[0].runs
    rows = [
        (
            row.property,
            _share(row.exercised, runs) if row.exercised else Phrase("not exercised", "warning"),
            f"{row.judged:,}",
            _some(row.violated),
            _some(row.first),
        )
        for row in report.tables.properties
    ]
    note = "How often its condition was met; in how many runs it was violated, and was the first to be."
    columns = ("property", "runs that exercised it", "judged", "violated", "broke first")
    return sheet("properties", "Properties", note, columns, 1, rows)


def goals(report: CampaignReport) -> Sheet:
    """Make the sheet of goals, each with its meaning."""
    runs = report.tables.overview[0].runs
    rows = [
        (
            row.goal,
            row.meaning,
            _share(row.runs, runs) if row.runs else _not_reached(row.goal in report.unseen),
            "" if row.first is None else f"{row.first:,}",
        )
        for row in report.tables.goals
    ]
    note = "What a search has to have seen before its silence means anything."
    return sheet("goals", "Goals", note, ("goal", "what it is", "runs", "first run"), 2, rows)


def _not_reached(is_unseen: bool) -> Phrase:
    return Phrase("cannot be seen") if is_unseen else Phrase("not reached", "warning")


def growth(report: CampaignReport, most: int | None = None) -> Sheet:
    """Make the sheet of growth: all points, or about `most` of them. New states are counted since the row above."""
    points = report.tables.growth
    every = -(-len(points) // most) if most else 1
    shown = points[(len(points) - 1) % every :: every]
    rows, runs, states = [], 0, 0
    for row in shown:
        per_1000 = 1000 * (row.states - states) / (row.runs - runs)
        runs, states = row.runs, row.states
        rows.append((f"{runs:,}", f"{states:,}", f"{per_1000:,.1f}", f"{row.goals}", f"{row.violating:,}"))
    columns = ("after runs", "abstract states", "new in 1,000 runs", "goals", "violating runs")
    note = "A campaign is saturated when new states get rare."
    return sheet("growth", "Growth", note, columns, 0, rows)


def saturation(report: CampaignReport) -> Sheet:
    """Make the sheet with the three estimates of how much more runs would find."""
    [end] = report.tables.saturation
    figures = [
        ("abstract states", f"{end.states:,}"),
        ("runs in the last tenth", f"{end.last_runs:,}"),
        ("states that they were the first to reach", f"{end.last_new:,}"),
        (
            "of them, those that reached a new state",
            f"{end.last_discovering:,}: {percent(end.chance)} ({percent(end.low)} to {percent(end.high)})",
        ),
        ("states that only one part reached", f"{end.only_once:,}"),
        (f"new in {counted(end.part_runs, 'more run', 'more runs')} (Good, Turing)", _estimate(end.next_part)),
        ("that can be reached at all, at least (Chao)", _estimate(end.reachable)),
    ]
    note = "What the last runs found, and what the next ones would."
    return sheet("saturation", "Saturation", note, ("what", "figure"), 1, figures)


def mutants(report: CampaignReport, in_short: bool = False) -> Sheet:
    """Make the sheet of the unchanged protocol and each mutant.

    With `in_short`, initials stand for the properties, and the note explains them.
    """
    first: dict[str | None, list[str]] = {}
    used = {}
    for each in sorted(report.tables.broken, key=lambda row: -row.first):
        if each.first:
            used[each.property] = code(each.property) if in_short else each.property
            first.setdefault(each.mutant, []).append(f"{used[each.property]} {each.first:,}")
    rows = []
    for row in report.tables.mutants:
        expected = (row.mutant is None) == (row.violating == 0)
        rows.append(
            (
                named(row.mutant),
                ", ".join(first.get(row.mutant, [])),
                f"{row.runs:,}",
                f"{row.steps:,}",
                Phrase(f"{row.violating:,}", "" if expected else "bad"),
                f"{row.rate:,.1f}",
                ""
                if row.median_seconds is None or row.worst_seconds is None
                else f"{row.median_seconds:.3f} ({row.worst_seconds:.3f})",
            )
        )
    note = "What broke first, and how often; detections in 10^6 steps; CPU seconds for a detection, median and worst."
    if in_short and used:
        note += f" {', '.join(f'{short} {name}' for name, short in sorted(used.items()))}."
    columns = ("mutant", "broke first", "runs", "steps", "violating", "in 10^6 steps", "CPU s")
    return sheet("mutants", "Mutants", note, columns, 2, rows)


def raised(report: CampaignReport) -> Sheet | None:
    """Make the sheet of exceptions of the protocol's own code and errors of the modelled code; None if empty."""
    if not report.tables.raised:
        return None
    rows = [(named(row.mutant), row.raised, f"{row.runs:,}", f"{row.first:,}") for row in report.tables.raised]
    note = "What the protocol's own code raised, or an error of the code that is modelled; the most frequent ones."
    return sheet("raised", "Exceptions", note, ("mutant", "exception", "runs", "first run"), 2, rows)


def groups(report: CampaignReport) -> list[tuple[str, list[SettingRow]]]:
    """Return the name and the rows of each group of runs: all runs first, then each mutant's."""
    found: dict[str, list[SettingRow]] = {}
    for row in report.tables.settings:
        found.setdefault("all runs" if row.in_all else named(row.mutant), []).append(row)
    return list(found.items())


def settings(name: str, rows: Sequence[SettingRow], all_of_them: bool = True) -> Sheet:
    """Make the sheet of one group's draws, by influence; or only of those that stand out."""
    detections = rows[0].measure == "detections"
    shown = [
        (
            drawn(row),
            Phrase(ratio(row), "good" if stands_out(row) else ""),
            f"{row.rate:,.1f}",
            f"{row.rate_without:,.1f}",
            f"{row.found:,} in {row.runs:,}",
            f"{row.found_without:,} in {row.runs_without:,}",
        )
        for row in by_influence(rows)
        if all_of_them or stands_out(row)
    ]
    what = "detections in 10^6 steps" if detections else "new states a run; no property was violated"
    standing = sum(map(stands_out, rows))
    note = (
        f"Runs that drew it, and runs that did not: {what}. The ratio has a 95 % interval, which 1 is outside of in "
        f"{standing} of {len(rows)}; of twenty that make no difference one is, by chance."
    )
    columns = ("drawn", "ratio", "rate with", "without", "found in runs with", "without")
    return sheet("settings", f"What matters: {name}", note, columns, 1, shown)


def distributions(report: CampaignReport) -> Sheet:
    """Make the sheet of distributions, a row for each figure; CPU time is in milliseconds."""
    rows = [
        (figures_name(row.figure), *(_plain(row.figure, value) for value in _values(row)))
        for row in report.tables.distributions
    ]
    columns = ("of a run", "least", "median", "90 %", "99 %", "most")
    return sheet(
        "distributions", "Distributions", "Nine runs in ten are not above what stands under 90 %.", columns, 1, rows
    )


# Cells.


def _estimate(value: float | None) -> str:
    return "not known from one part" if value is None else f"{value:,.0f}"


def _share(count: int, runs: int) -> str:
    return f"{count:,} ({percent(count / runs)})" if runs else "0"


def _some(count: int) -> str:
    return f"{count:,}" if count else ""


def _values(row: Struct) -> list[float]:
    return [getattr(row, name) for name in ("least", "median", "p90", "p99", "most")]


def _plain(figure: str, value: float) -> str:
    return f"{1000 * value:,.1f}" if figure == "seconds" else f"{value:,.0f}"


def sheet(
    name: str, title: str, note: str, columns: tuple[str, ...], words: int, rows: Iterable[Sequence[str | Phrase]]
) -> Sheet:
    """Make a sheet of rows whose cells are phrases, or plain text."""
    said = [[cell if isinstance(cell, Phrase) else Phrase(cell) for cell in row] for row in rows]
    return Sheet(name, title, note, columns, words, said)
