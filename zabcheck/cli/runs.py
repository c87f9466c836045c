"""`zabcheck check` on a Parquet file: many runs, or one; for the form of the file see `invariants.columns`."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from rich.console import Console

from zabcheck.cli.commands import BadInput
from zabcheck.cli.files import bad_input_for
from zabcheck.cli.output import print_path
from zabcheck.cli.tables import render_counts, render_runs
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, named, unexercised
from zabcheck.extras import pip_install
from zabcheck.invariants import Event, TraceError, Verdict, Violation, select
from zabcheck.text.words import as_text, counted

if TYPE_CHECKING:
    from zabcheck.invariants.columns.parquet import File

MAGIC = b"PAR1"
SHOWN = 10
"""The number of violated runs that are named in the text; the others are counted."""

STATUSES = ("holds", "violated", "not exercised", "inconclusive")


class JudgedRuns(NamedTuple):
    """The runs of one file, judged together."""

    file: str
    runs: int
    statuses: dict[str, dict[str, int]]  # by property: in how many runs it has which status
    judged: dict[str, int]  # by property: how often it was exercised, in all runs
    violations: list[tuple[int, Violation]]  # each with its run, in the order of the file

    def as_json(self) -> dict[str, Any]:
        """Return the entry of `traces` in the JSON result."""
        file = as_text(self.file)
        properties = [
            {
                "property": name,
                **{status.replace(" ", "_"): found[status] for status in STATUSES},
                "judged": self.judged[name],
            }
            for name, found in self.statuses.items()
        ]
        violated = [
            {"run": run, "property": violation.property, "summary": violation.summary}
            for run, violation in self.violations
        ]
        return {"trace": file, "files": [file], "runs": self.runs, "properties": properties, "violated_runs": violated}

    def print(self, console: Console) -> None:
        """Print the result as text."""
        print_path(console, self.file, style="bold")
        console.print(counted(self.runs, "run", "runs"))
        numbers = {
            name: [*(found[status] for status in STATUSES), self.judged[name]] for name, found in self.statuses.items()
        }
        console.print(render_counts(("property", *STATUSES, "judged"), numbers))
        if self.violations:
            console.print()
            console.print(render_runs(self.violations[:SHOWN]))
            if len(self.violations) > SHOWN:
                console.print(f"and {len(self.violations) - SHOWN:,} more; --format json names all of them")
            console.print("--run N shows what broke in one")
        if any(found["inconclusive"] for found in self.statuses.values()):
            console.print("some runs do not end with a complete `end`: what could yet change is left open")

    def outcome(self, asked: Collection[str]) -> tuple[int, str]:
        """Return the exit code, and why: the runs together have to exercise each property in `asked`."""
        found = self.statuses.values()
        runs = counted(self.runs, "run", "runs")
        if self.violations:
            broken = len(dict.fromkeys(run for run, _ in self.violations))
            names = named(dict.fromkeys(violation.property for _, violation in self.violations))
            return VIOLATED, f"{broken:,} of {runs} violate {names}"
        if any(each["inconclusive"] for each in found):
            return INCONCLUSIVE, "some runs have no complete `end`, so what could yet change is left open"
        wanting = unexercised({name: each["holds"] for name, each in self.statuses.items()}, asked)
        if wanting:
            return INCONCLUSIVE, f"nothing in {runs} exercised {named(wanting)}"
        return OK, f"nothing is violated in {runs}"


def is_parquet(source: BinaryIO) -> bool:
    """Tell by the first bytes, which stay unread, whether this is a Parquet file."""
    peek = getattr(source, "peek", None)
    try:
        return peek is not None and peek(len(MAGIC))[: len(MAGIC)] == MAGIC
    except OSError:
        return False  # the reader will say why it cannot be read


class JudgedRun(NamedTuple):
    """One run of a file: the verdicts, and for each event of the witnesses its line; None if it has none."""

    verdicts: list[Verdict]
    lines: dict[Event, int | None]


def judge_parquet(
    file: str, name: str, source: BinaryIO, properties: list[str] | None, run: int | None
) -> JudgedRuns | JudgedRun:
    """Judge all runs of a file, or `run` only; a single run is told in full. `name` is for messages."""
    with bad_input_for(TraceError):
        parquet = open_parquet(source, name)
        chosen = select(properties)
        if run is not None:
            return _in_full(parquet, run, parquet.judge_run(run, chosen))
        summary = parquet.judge(chosen)
        if summary.run is not None:
            return _in_full(parquet, summary.run, summary.last)
    statuses = {name: {str(status): count for status, count in each.items()} for name, each in summary.statuses.items()}
    violations = [(broken.run, broken.violation) for broken in summary.broken]
    return JudgedRuns(file, summary.runs, statuses, summary.judged, violations)


def _in_full(parquet: "File", run: int, verdicts: list[Verdict]) -> JudgedRun:
    wanted = [event for each in verdicts if each.violation is not None for event in each.violation.witness]
    lines = parquet.find(run, wanted) if wanted else {}
    return JudgedRun(verdicts, {event: lines.get(event) for event in wanted})


def open_parquet(source: BinaryIO, name: str) -> "File":
    """Open a Parquet file. BadInput or TraceError if `source` is none, or cannot be read here."""
    try:
        from zabcheck.invariants.columns.parquet import File
    except ImportError:
        raise BadInput(f"{name}: to read Parquet files, {pip_install('parquet')}") from None
    if not source.seekable():
        raise BadInput(f"{name}: expected a Parquet file that can be read from its end, found a pipe")
    source.seek(0)
    return File(source, name)
