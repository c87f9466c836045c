"""The results of a search as tables: properties, goals, totals."""

from collections.abc import Iterable, Mapping

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.invariants.quorums import MAJORITY
from zabcheck.search.tally import SilentFollowers, Summary
from zabcheck.text.pen import titled
from zabcheck.text.words import counted

STYLES = {"holds": "green", "violated": "bold red", "not exercised": "yellow", "inconclusive": "yellow"}


def render(summary: Summary, meanings: Mapping[str, str]) -> RenderableType:
    """Draw the tables, or only the totals if a property is broken; `meanings` has the meaning of each goal."""
    if any(each.status == "violated" for each in summary.properties):
        return _totals(summary)
    figures = "runs that exercised it", "judged"
    properties = titled("properties", "property", "verdict", *figures, figures=figures)
    for each in summary.properties:
        status = Text(each.status, STYLES[each.status])
        properties.add_row(each.property, status, _share(each.exercised, summary.runs), f"{each.judged:,}")
    goals = Table(title="sometimes goals", title_justify="left", box=None, pad_edge=False)
    goals.add_column("goal")
    goals.add_column("runs", justify="right", no_wrap=True)
    goals.add_column("what it is", style="dim")
    for goal, count in summary.goals.items():
        reached = _share(count, summary.runs) if count else Text("not reached", "yellow")
        if goal in summary.unseen:
            reached = Text("cannot be seen", "dim")
        goals.add_row(goal, reached, meanings.get(goal, ""))
    return Group(properties, "", goals, "", _totals(summary))


def _totals(summary: Summary) -> Text:
    what = summary.protocol + (f" with mutant {summary.mutant}" if summary.mutant else "")
    size = [sizes_in(summary)]
    size += [] if summary.quorums in (None, MAJORITY) else [str(summary.quorums)]
    size += [f"{switch} {value}" for switch, value in summary.switches.items()]
    broken = any(each.status == "violated" for each in summary.properties)
    missing = [goal for goal, count in summary.goals.items() if not count and not broken and goal not in summary.unseen]
    text = Text(
        f"{', '.join([what, *size, f'engine {summary.engine}', f'seed {summary.seed}'])}: "
        f"{counted(summary.runs, 'run', 'runs')}, "
        f"{counted(summary.steps, 'step', 'steps')}, {summary.seconds:.1f} CPU seconds"
    )
    if not broken:
        text.append(f"\ncovered: {_covered(summary)}")
    if summary.exits is not None:
        runs, number, process, why = msgspec.structs.astuple(summary.exits)
        text.append(
            f"\ngone for good: a process ended by itself in {_share(runs, summary.runs)} runs, "
            f"first p{process} in run {number:,}: {why}",
            "yellow",
        )
    if summary.found_by is not None:
        text.append(f"\nthe last run alone: --seed {summary.found_by} --runs 1")
    if summary.interrupted:
        text.append("\ninterrupted: this is what was done so far", "yellow")
    if missing:
        text.append(f"\ngoals that no run reached: {', '.join(missing)}", "yellow")
    if summary.unseen and not broken:
        text.append(f"\n{cannot_be_seen(summary.unseen)}")
    return text


def cannot_be_seen(unseen: Mapping[str, Iterable[str]]) -> str:
    """Return which goals need kinds of event that no run shows, as text."""
    kinds = dict.fromkeys(kind for kinds in unseen.values() for kind in kinds)
    return f"goals that cannot be seen, as no run {shows(kinds)}: {', '.join(unseen)}"


def shows(kinds: Iterable[str]) -> str:
    """Return the kinds of event that are missing, as text: "shows `adopt` or `establish`"."""
    *first, last = [f"`{kind}`" for kind in kinds]
    return f"shows {', '.join(first)} or {last}" if first else f"shows {last}"


def undelivered(found: SilentFollowers) -> str:
    """Return which followers never delivered anything, as text."""
    if found.processes:
        names = " and ".join(f"p{process}" for process in found.processes)
        return f"nothing was ever delivered at {names}, which broadcast: more runs would not change that"
    runs = counted(found.undisturbed, "run", "runs")
    return f"no follower delivered what its leader broadcast, in any of {runs} that ended undisturbed"


def sizes_in(summary: Summary) -> str:
    """Return the numbers of processes of the runs as text: "3 processes", "2 to 7 processes"."""
    least, most = min(summary.sizes, default=summary.processes), max(summary.sizes, default=summary.processes)
    if least is None or most is None:
        return "processes drawn"
    return counted(most, "process", "processes") if least == most else f"{least} to {most} processes"


def faults_in(summary: Summary) -> str:
    """Return the faults of the runs as text: "crashes, time-outs", "no faults"."""
    return ", ".join(summary.faults) or "no faults"


def _covered(summary: Summary) -> str:
    """Return how many runs had each number of processes, quorums by weights, and each fault, as text."""
    told = {counted(size, "process", "processes"): runs for size, runs in summary.sizes.items()}
    if summary.weighted:
        told["quorums that are no majorities"] = summary.weighted
    told |= summary.faults
    covered = [f"{what} in {_share(runs, summary.runs)}" for what, runs in told.items()]
    return ", ".join(covered if summary.faults else [*covered, "no faults"])


def _share(count: int, runs: int) -> str:
    return f"{count:,} ({100 * count / runs:.0f} %)" if runs else "0"
