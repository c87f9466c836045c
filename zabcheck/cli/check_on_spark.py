"""`zabcheck check --engine spark`: any number of stored runs, or one trace of any length."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zabcheck.cli.commands import BadInput, Format
from zabcheck.cli.files import STDIN, bad_input_for
from zabcheck.cli.next_step import another
from zabcheck.cli.output import doing, make_console, print_json, print_path
from zabcheck.cli.tables import STATUS_STYLES
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, asked_for, conclude, named, unexercised
from zabcheck.counterexample.forms import terminal
from zabcheck.invariants import Status, TraceError, select
from zabcheck.text.words import as_text, clean, counted

if TYPE_CHECKING:
    from zabcheck.campaign.judging.task import CheckedRuns

STATUSES: tuple[Status, ...] = ("holds", "violated", "not exercised", "inconclusive")
SHOWN = 10
"""The number of violated runs that are shown as text."""


def check_on_spark(
    paths: list[str], properties: list[str] | None, master: str | None, format: Format, merge: bool
) -> int:
    """Judge the traces in `paths`, print the verdicts, and return the exit code. BadInput if they cannot be read."""
    if merge:
        raise BadInput("--merge: not with --engine spark")
    if STDIN in paths:
        raise BadInput("-: expected files, as Spark reads no standard input")
    from zabcheck.cli.campaign.report import needed

    with needed():
        from zabcheck.campaign.judging.checking import SIX, check_stored

        names = [kind.name for kind in select(properties)] if properties else SIX
        with bad_input_for(TraceError), doing("reading what is stored") as say:
            checked = check_stored(paths, names, master, say)
    return _show(checked, asked_for(properties), format)


def _show(checked: "CheckedRuns", asked: Collection[str], format: Format) -> int:
    code, why = _outcome(checked, asked)
    if format is Format.json:
        print_json("check", **_as_json(checked))
        return code
    console = make_console()
    _print(console, checked)
    first = checked.broken[0].trace if code == VIOLATED and checked.broken else None
    return conclude(console, code, why, "" if first is None else another("check", str(first), keep=["property"]))


def _outcome(checked: "CheckedRuns", asked: Collection[str]) -> tuple[int, str]:
    """Return the exit code, and why: the runs together have to exercise each property in `asked`."""
    runs = counted(checked.runs, "run", "runs")
    if checked.violated:
        broken = [name for name, counts in checked.counts.items() if counts.get("violated")]
        return VIOLATED, f"{checked.violated:,} of {runs} violate {named(broken)}"
    found = {status for counts in checked.counts.values() for status, runs_of_it in counts.items() if runs_of_it}
    if "inconclusive" in found:
        return INCONCLUSIVE, "some runs have no complete `end`, so what could yet change is left open"
    wanting = unexercised({name: counts.get("holds") for name, counts in checked.counts.items()}, asked)
    if wanting:
        return INCONCLUSIVE, f"nothing in {runs} exercised {named(wanting)}"
    return OK, f"nothing is violated in {runs}"


def _as_json(checked: "CheckedRuns") -> dict[str, Any]:
    properties = [
        {"property": name, **{status.replace(" ", "_"): counts.get(status, 0) for status in STATUSES}}
        for name, counts in checked.counts.items()
    ]
    broken = [
        {
            "trace": as_text(each.trace),
            "run": each.run,
            "violated": [violation.property for violation in each.violations],
            "violations": msgspec.to_builtins(each.violations),
        }
        for each in checked.broken
    ]
    return {
        "engine": "spark",
        "runs": checked.runs,
        "lines": checked.lines,
        "properties": properties,
        "ways": {"in_arrays": checked.in_arrays, "event_by_event": checked.runs - checked.in_arrays},
        "violated_runs": checked.violated,
        "broken": broken,
    }


def _print(console: Console, checked: "CheckedRuns") -> None:
    for each in checked.broken[:SHOWN]:
        print_path(console, f"{each.trace}, run {each.run}", style="bold")
        if checked.runs == 1:
            console.print(terminal.render_violation(each.violations[0], others=each.violations[1:]))
            continue
        for violation in each.violations:
            said = f"  {violation.property} is violated: {violation.summary}"
            console.print(Text(clean(said, console.options.ascii_only)))
    if checked.violated > SHOWN:
        console.print(
            f"and {counted(checked.violated - SHOWN, 'more run', 'more runs')} in which something is violated"
        )
    if checked.broken:
        console.print()
    console.print(_table(checked))
    one_by_one = checked.runs - checked.in_arrays
    ways = f"{checked.in_arrays:,} in arrays, {one_by_one:,} event by event"
    console.print(f"{counted(checked.runs, 'run', 'runs')}, {checked.lines:,} lines, judged by Spark: {ways}")
    if any(counts.get("inconclusive") for counts in checked.counts.values()):
        which = "the run does" if checked.runs == 1 else "some runs do"
        console.print(f"{which} not end with a complete `end`: what could yet change is left open")


def _table(checked: "CheckedRuns") -> Table:
    """Return the verdicts of the only run, or how many runs have which verdict."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("property", no_wrap=True)
    if checked.runs == 1:
        table.add_column("verdict")
        for name, counts in checked.counts.items():
            [status] = [each for each in STATUSES if counts.get(each)]
            table.add_row(name, Text(status, STATUS_STYLES[status]))
        return table
    for status in STATUSES:
        table.add_column(status, justify="right")
    for name, counts in checked.counts.items():
        table.add_row(name, *(f"{counts.get(status, 0):,}" for status in STATUSES))
    return table
