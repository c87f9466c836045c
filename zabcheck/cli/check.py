"""`zabcheck check`: traces, from whatever wrote them.

A Parquet file is told by its first bytes; `zabcheck.cli.runs` judges it. JSON Lines are judged line by line, or, if the
file is so large that loading numpy pays, block by block.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from enum import StrEnum
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec
import typer
from rich.console import Console

from zabcheck.cli.check_on_spark import check_on_spark
from zabcheck.cli.commands import BadInput, Format, Formats, Properties, command
from zabcheck.cli.files import STDIN, bad_input_for, opened
from zabcheck.cli.next_step import another
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.runs import JudgedRuns, is_parquet, judge_parquet
from zabcheck.cli.tables import render_verdicts
from zabcheck.cli.verdict import INCONCLUSIVE, VIOLATED, asked_for, conclude, on_verdicts
from zabcheck.counterexample.forms import terminal
from zabcheck.invariants import Event, Header, Local, TraceError, Verdict, check, explaining_first, select
from zabcheck.invariants import trace as trace_format
from zabcheck.text.words import as_text

LARGE = 8 * 1024 * 1024
"""Bytes. Below that, loading numpy and pyarrow takes longer than they save."""


class JudgingEngine(StrEnum):
    """The place where traces are judged: this process, or Spark."""

    local = "local"
    spark = "spark"


@command
def check_(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="JSON Lines or Parquet files; - is standard input.")
    ],
    merge: Annotated[
        bool, typer.Option("--merge", help="The files are one trace: each holds some of its processes.")
    ] = False,
    run: Annotated[
        int | None, typer.Option("--run", metavar="N", min=0, help="Judge only this run of a Parquet file.")
    ] = None,
    property: Properties = None,
    format: Formats = Format.text,
    engine: Annotated[
        JudgingEngine, typer.Option(help="Where to judge: in this process, or by Spark (docs/spark.md).")
    ] = JudgingEngine.local,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="With --engine spark: the master, as spark-submit takes it.")
    ] = None,
) -> int:
    """Judge traces, from whatever wrote them."""
    with bad_input_for(ValueError):
        select(property)
    if engine is JudgingEngine.spark:
        if run is not None:
            raise BadInput(f"--run {run}: only with --engine local")
        return check_on_spark(traces, property, master, format, merge)
    if master is not None:
        raise BadInput("--master: only with --engine spark")
    for name in traces:
        if traces.count(name) > 1 and (merge or name == STDIN):
            raise BadInput(f"{name}: named more than once, expected at most once")
    groups = [traces] if merge else [[name] for name in traces]
    return _show([judge_files(names, property, merge, run) for names in groups], groups, asked_for(property), format)


def _show(
    results: list["JudgedTrace | JudgedRuns"], groups: list[list[str]], asked: Collection[str], format: Format
) -> int:
    """Print the verdicts on the traces, each from the files of its group, and return the exit code."""
    outcomes = [
        each.outcome(asked) if isinstance(each, JudgedRuns) else on_verdicts(each.verdicts, asked) for each in results
    ]
    codes = [code for code, _ in outcomes]
    code = VIOLATED if VIOLATED in codes else max(codes)
    if format is Format.json:
        print_json("check", traces=[judged.as_json() for judged in results])
        return code
    console = make_console()
    for judged in results:
        if isinstance(judged, JudgedRuns):
            judged.print(console)
        else:
            print_judged(console, judged)
    first = codes.index(code)
    why = outcomes[first][1]
    if len(results) > 1:
        why = f"{codes.count(code):,} of {len(results):,} traces, the first of them {groups[first][0]}: {why}"
    return conclude(console, code, why, next_step(results[first], groups[first], code))


def next_step(judged: "JudgedTrace | JudgedRuns", names: list[str], code: int) -> str:
    """Return what to do next about a trace, or the traces of a file, that has this exit code."""
    if isinstance(judged, JudgedTrace) and judged.misses_others:
        merged = another("check", *names, "FILE...", keep=["property"], merge=True)
        return f"{merged} # with the files of the other processes"
    if code == VIOLATED and STDIN not in names:
        run = judged.run if isinstance(judged, JudgedTrace) else judged.violations[0][0]
        return another("explain", *names, keep=["property"], merge=True if len(names) > 1 else None, run=run)
    if code == INCONCLUSIVE:
        return "record it to its end, through what the properties judge (docs/traces.md)"
    return ""


class Place(NamedTuple):
    """A line of a file."""

    trace: str
    line: int


class JudgedTrace(NamedTuple):
    """One trace, from one file or merged from several, with its verdicts and the places of the events of witnesses."""

    files: list[str]
    verdicts: list[Verdict]
    places: dict[Event, Place | None]
    run: int | None = None  # of a Parquet file, if it was asked for
    misses_others: bool = False
    """True if a trace of several processes shows one only, and a delivery that nobody broadcast."""

    def as_json(self) -> dict[str, Any]:
        files = [as_text(file) for file in self.files]
        verdicts = [{**msgspec.to_builtins(verdict), "found_at": self._found_at(verdict)} for verdict in self.verdicts]
        return {"trace": " + ".join(files) + self._of_run(), "files": files, "verdicts": verdicts}

    def titles(self) -> list[str]:
        """Return the names of the files, a line each, to print above the verdicts."""
        return [f"+ {name}" if number else name + self._of_run() for number, name in enumerate(self.files)]

    def _of_run(self) -> str:
        return "" if self.run is None else f", run {self.run}"

    def _found_at(self, verdict: Verdict) -> list[dict[str, Any] | None] | None:
        if verdict.violation is None:
            return None
        places = [self.places.get(event) for event in verdict.violation.witness]
        return [place and {"trace": as_text(place.trace), "line": place.line} for place in places]

    def as_texts(self) -> dict[Event, str]:
        """Return the places as text; the file is named only if there are several."""
        return {event: self._as_text(place) for event, place in self.places.items()}

    def _as_text(self, place: Place | None) -> str:
        if place is None:
            return "in a snapshot"
        return f"line {place.line}" if len(self.files) == 1 else f"{place.trace}, line {place.line}"


def print_judged(console: Console, judged: JudgedTrace) -> None:
    """Print the verdicts on one trace."""
    for title in judged.titles():
        print_path(console, title, style="bold")
    violations = [each.violation for each in explaining_first(judged.verdicts) if each.violation is not None]
    if len(violations) > 1:
        console.print(
            f"{len(violations)} properties are violated; read {violations[0].property} first, the table has the others"
        )
        console.print()
    if violations:
        console.print(terminal.render_violation(violations[0], judged.as_texts()))
        console.print()
    console.print(render_verdicts(judged.verdicts))
    if judged.misses_others:
        console.print(
            "only one process's events are in this trace: if other files hold the others', judge them together: "
            "zabcheck check --merge FILE..."
        )
    if any(verdict.status == "inconclusive" for verdict in judged.verdicts):
        which = "the trace does" if len(judged.files) == 1 else "one of the files does"
        console.print(f"{which} not end with a complete `end`: what could yet change is left open")


def judge_files(
    names: list[str], properties: list[str] | None, merge: bool, run: int | None
) -> JudgedTrace | JudgedRuns:
    """Judge one trace while it is read, from one file or from several; or a Parquet file, or one run of it."""
    with ExitStack() as stack:
        sources = {name: stack.enter_context(opened(name)) for name in names}
        for name, source in sources.items():
            if is_parquet(source):
                if merge:
                    raise BadInput(f"{name}: expected JSON Lines, as --merge reads no others, found a Parquet file")
                shown = "standard input" if name == STDIN else name
                found = judge_parquet(name, shown, source, properties, run)
                if isinstance(found, JudgedRuns):
                    return found
                places = {event: None if line is None else Place(name, line) for event, line in found.lines.items()}
                return JudgedTrace([name], found.verdicts, places, run)
            if run is not None:
                raise BadInput(f"{name}: expected a Parquet file, as --run {run} names one of its runs")
        if not merge and (verdicts := judge_large(sources[names[0]], properties)) is not None:
            return JudgedTrace(names, verdicts, {}, misses_others=misses_others(verdicts, sources))
        judged = judge_lines(sources, properties, merge)
        return judged if merge else judged._replace(misses_others=misses_others(judged.verdicts, sources))


def judge_large(source: BinaryIO, properties: list[str] | None) -> list[Verdict] | None:
    """Judge a large file of JSON Lines block by block; None for any other file, which is then at its start again."""
    verdicts = None
    if is_large(source):
        with suppress(ImportError):  # the libraries are not installed
            from zabcheck.invariants.columns.lines import judge_in_order

            verdicts = judge_in_order(source, select(properties))
            source.seek(0)
    return verdicts


def is_large(source: BinaryIO) -> bool:
    """Return True if this is a large file, which can be read more than once."""
    with suppress(OSError):
        return source.seekable() and os.fstat(source.fileno()).st_size >= LARGE
    return False


def judge_lines(sources: dict[str, BinaryIO], properties: list[str] | None, merge: bool) -> JudgedTrace:
    """Judge one trace line by line."""
    names = list(sources)
    readers = [
        trace_format.Reader(source, "standard input" if name == STDIN else name) for name, source in sources.items()
    ]
    source = trace_format.Merged(readers) if merge else readers[0]

    verdicts = verdicts_of(source, properties)
    wanted = {event for verdict in verdicts if verdict.violation is not None for event in verdict.violation.witness}
    places = places_of(wanted, dict(zip(names, readers, strict=True)) if wanted else {})
    return JudgedTrace(names, verdicts, places)


def verdicts_of(source: trace_format.Reader | trace_format.Merged, properties: list[str] | None) -> list[Verdict]:
    """Judge a trace line by line. BadInput, with the place, if it is none."""

    def events() -> Iterator[Event]:
        with bad_input_for(TraceError):
            yield from source

    with bad_input_for(TraceError, lambda: f"{source.name}, line {source.line}, "):
        return check(events(), properties)


def misses_others(verdicts: list[Verdict], sources: dict[str, BinaryIO]) -> bool:
    """Return True if a trace of several processes shows one only, and a delivery that nobody broadcast."""
    if not any(verdict.property == "integrity" and verdict.status == "violated" for verdict in verdicts):
        return False
    [(name, source)] = sources.items()
    shown = None
    with suppress(OSError, TraceError):  # a pipe, or a file that has changed meanwhile
        if name == STDIN:
            return False
        source.seek(0)
        for event in trace_format.Reader(source, name):
            if isinstance(event, Header) and event.processes == 1:
                return False
            if isinstance(event, Local):
                if shown not in (None, event.process):
                    return False
                shown = event.process
    return shown is not None


def places_of(wanted: set[Event], readers: dict[str, trace_format.Reader]) -> dict[Event, Place | None]:
    """Find where each event stands first, as far as the files can be read again; None for an event that is in no file.

    Such an event is a delivery that a process did not make itself: a snapshot that it took over brought it.
    """
    places: dict[Event, Place | None] = {}
    unread = 0
    for name, reader in readers.items():
        try:
            if name == STDIN:
                raise OSError
            reader.source.seek(0)
            lines = trace_format.Reader(reader.source, name).find(wanted - places.keys())
            places |= {event: Place(name, line) for event, line in lines.items()}
        except (OSError, TraceError):  # a pipe, or a file that has changed meanwhile: that only loses the line numbers
            unread += 1
    return places if unread else {event: places.get(event) for event in wanted}
