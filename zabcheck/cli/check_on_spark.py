"""`zabcheck check --engine spark`: any number of stored runs, or one trace of any length."""

from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from invariants import Status, TraceError, Verdict, select
from zabcheck.cli.commands import BadInput, Format
from zabcheck.cli.files import STDIN
from zabcheck.cli.output import doing, make_console, print_json, print_path
from zabcheck.cli.tables import STATUS_STYLES
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.counterexample.forms import terminal
from zabcheck.text.words import as_text, clean, counted

if TYPE_CHECKING:
    from zabcheck.campaign.judging.checking import BrokenRun, CheckedRuns

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
    try:
        from zabcheck.campaign.judging.verdicts import SIX
        from zabcheck.campaign.session import NoSpark
        from zabcheck.java import NoJava
    except ImportError as error:
        raise BadInput(f"--engine spark: pip install 'zabcheck[spark]' ({error})") from None
    names = [kind.name for kind in select(properties)] if properties else list(SIX)
    missing = [name for name in names if name not in SIX]
    if missing:
        raise BadInput(f"--engine spark: judges {', '.join(SIX)}; found {', '.join(missing)}")
    from zabcheck.campaign.judging.checking import check_stored

    try:
        with doing("starting Spark") as say:
            checked = check_stored(paths, names, master, say)
    except (NoSpark, NoJava, TraceError) as error:
        raise BadInput(str(error)) from None
    return _show(checked, format)


def _show(checked: "CheckedRuns", format: Format) -> int:
    code, why = _outcome(checked)
    if format is Format.json:
        print_json("check", **_as_json(checked))
        return code
    console = make_console()
    _print(console, checked)
    first = checked.broken[0].trace if code == VIOLATED and checked.broken else None
    return conclude(console, code, why, "" if first is None else f"zabcheck check {quote(str(first))}, or explain")


def _outcome(checked: "CheckedRuns") -> tuple[int, str]:
    """Return the exit code, and why."""
    runs = counted(checked.runs, "run", "runs")
    if checked.violated:
        broken = [name for name, counts in checked.counts.items() if counts.get("violated")]
        return VIOLATED, f"{checked.violated:,} of {runs} violate {named(broken)}"
    found = {status for counts in checked.counts.values() for status in counts}
    if "inconclusive" in found:
        return INCONCLUSIVE, "some runs have no complete `end`, so what could yet change is left open"
    if "holds" in found:
        return OK, f"nothing is violated in {runs}"
    return INCONCLUSIVE, f"nothing in {runs} exercised any property"


def _as_json(checked: "CheckedRuns") -> dict[str, Any]:
    properties = [
        {"property": name, **{status.replace(" ", "_"): counts.get(status, 0) for status in STATUSES}}
        for name, counts in checked.counts.items()
    ]
    broken = [
        {
            "trace": as_text(each.trace),
            "run": each.run,
            "way": each.how,
            "violated": each.violated,
            "violations": [msgspec.to_builtins(verdict.violation) for verdict in each.verdicts],
            "shown_at": [{"property": name, "zxid": zxid} for name, zxid in each.at.items()],
        }
        for each in checked.broken
    ]
    ways = {way.replace(" ", "_"): checked.ways.get(way, 0) for way in ("on a path", "forked", "streamed")}
    return {
        "engine": "spark",
        "runs": checked.runs,
        "lines": checked.events,
        "properties": properties,
        "ways": ways,
        "violated_runs": checked.violated,
        "broken": broken,
    }


def _print(console: Console, checked: "CheckedRuns") -> None:
    for each in checked.broken[:SHOWN]:
        print_path(console, f"{each.trace}, run {each.run}", style="bold")
        for verdict in each.verdicts:
            if _is_alone(checked) and verdict.violation is not None:
                console.print(terminal.render_violation(verdict.violation))
            else:
                console.print(_line(console, verdict))
        for line in _without_witness(each):
            console.print(line)
    if checked.violated > SHOWN:
        console.print(
            f"and {counted(checked.violated - SHOWN, 'more run', 'more runs')} in which something is violated"
        )
    if checked.broken:
        console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("property", no_wrap=True)
    if _is_alone(checked):
        table.add_column("verdict")
        for name, counts in checked.counts.items():
            [status] = counts
            table.add_row(name, Text(status, STATUS_STYLES[status]))
    else:
        for status in STATUSES:
            table.add_column(status, justify="right")
        for name, counts in checked.counts.items():
            table.add_row(name, *(f"{counts.get(status, 0):,}" for status in STATUSES))
    console.print(table)
    ways = ", ".join(f"{number:,} {way}" for way, number in sorted(checked.ways.items()))
    console.print(f"{counted(checked.runs, 'run', 'runs')}, {checked.events:,} lines, judged by Spark: {ways}")
    if any("inconclusive" in counts for counts in checked.counts.values()):
        which = "the run does" if _is_alone(checked) else "some runs do"
        console.print(f"{which} not end with a complete `end`: what could yet change is left open")


def _is_alone(checked: "CheckedRuns") -> bool:
    return checked.runs == 1


def _line(console: Console, verdict: Verdict) -> Text:
    """Return a line that says how one of many runs breaks a property."""
    assert verdict.violation is not None
    said = f"  {verdict.property} is violated: {verdict.violation.summary}"
    return Text(clean(said, console.options.ascii_only))


def _without_witness(broken: "BrokenRun") -> list[str]:
    """Return what the DataFrame code knows of the violations in a run that is too long for a witness."""
    lines = []
    for name in broken.violated:
        if name not in {verdict.property for verdict in broken.verdicts}:
            where = broken.at.get(name)
            shown = f", as what is at zxid [{where[0]}, {where[1]}] shows" if where else ""
            lines.append(f"  {name} is violated{shown}")
    return lines
