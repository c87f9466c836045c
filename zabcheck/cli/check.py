"""`zabcheck check`: traces, from whatever wrote them."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from rich.console import Console

from invariants import Event, TraceError, Verdict, check, select
from invariants import trace as trace_format
from zabcheck.cli.commands import INCONCLUSIVE, OK, VIOLATED, BadInput, Format, Formats, Properties, command
from zabcheck.cli.files import STDIN, bad_input_for, opened
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.report import terminal
from zabcheck.report.words import as_text


@command
def check_(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE...", help="JSON Lines files; - is standard input.")],
    merge: Annotated[
        bool, typer.Option("--merge", help="The files are one trace: each holds some of its processes.")
    ] = False,
    property: Properties = None,
    format: Formats = Format.text,
) -> int:
    """Judge traces, from whatever wrote them."""
    with bad_input_for(ValueError):
        select(property)
    for name in traces:
        if traces.count(name) > 1 and (merge or name == STDIN):
            raise BadInput(f"{name}: named more than once, expected at most once")
    results = [judge_files(names, property, merge) for names in ([traces] if merge else [[name] for name in traces])]
    if format is Format.json:
        print_json("check", traces=[judged.as_json() for judged in results])
    else:
        console = make_console()
        for judged in results:
            print_judged(console, judged)
    codes = [exit_code(judged.verdicts) for judged in results]
    return VIOLATED if VIOLATED in codes else max(codes)


class Place(NamedTuple):
    """A line of a file."""

    trace: str
    line: int


class Judged(NamedTuple):
    """One trace, from one file or merged from several, what is said of it, and where the events of witnesses stand."""

    files: list[str]
    verdicts: list[Verdict]
    places: dict[Event, Place | None]

    def as_json(self) -> dict[str, Any]:
        files = [as_text(file) for file in self.files]
        verdicts = [{**msgspec.to_builtins(verdict), "found_at": self._found_at(verdict)} for verdict in self.verdicts]
        return {"trace": " + ".join(files), "files": files, "verdicts": verdicts}

    def _found_at(self, verdict: Verdict) -> list[dict[str, Any] | None] | None:
        if verdict.violation is None:
            return None
        places = [self.places.get(event) for event in verdict.violation.witness]
        return [place and {"trace": as_text(place.trace), "line": place.line} for place in places]

    def as_texts(self) -> dict[Event, str]:
        """The places for a reader, who knows the name of the file if there is only one."""
        return {event: self._as_text(place) for event, place in self.places.items()}

    def _as_text(self, place: Place | None) -> str:
        if place is None:
            return "in a snapshot"
        return f"line {place.line}" if len(self.files) == 1 else f"{place.trace}, line {place.line}"


def print_judged(console: Console, judged: Judged) -> None:
    """What is said of one trace, as text."""
    for number, name in enumerate(judged.files):
        print_path(console, f"+ {name}" if number else name, style="bold")
    for verdict in judged.verdicts:
        if verdict.violation is not None:
            console.print(terminal.render_violation(verdict.violation, places=judged.as_texts()))
            console.print()
    console.print(terminal.render_verdicts(judged.verdicts))
    if any(verdict.status == "inconclusive" for verdict in judged.verdicts):
        which = "the trace does" if len(judged.files) == 1 else "one of the files does"
        console.print(f"{which} not end with a complete `end`: what could yet change is left open")


def exit_code(verdicts: list[Verdict]) -> int:
    """Of one trace: not every property has to be exercised by it, but one at least."""
    statuses = {verdict.status for verdict in verdicts}
    if "violated" in statuses:
        return VIOLATED
    return OK if "holds" in statuses and "inconclusive" not in statuses else INCONCLUSIVE


def judge_files(names: list[str], properties: list[str] | None, merge: bool) -> Judged:
    """Judge one trace while it is read, from one file or from several."""
    with ExitStack() as stack:
        readers = [
            trace_format.Reader(stack.enter_context(opened(name)), "standard input" if name == STDIN else name)
            for name in names
        ]
        source = trace_format.Merged(readers) if merge else readers[0]

        def events() -> Iterator[Event]:
            with bad_input_for(TraceError):
                yield from source

        with bad_input_for(TraceError, lambda: f"{source.name}, line {source.line}, "):
            verdicts = check(events(), properties)
        wanted = {event for verdict in verdicts if verdict.violation is not None for event in verdict.violation.witness}
        places = places_of(wanted, dict(zip(names, readers, strict=True)) if wanted else {})
        return Judged(names, verdicts, places)


def places_of(wanted: set[Event], readers: dict[str, trace_format.Reader]) -> dict[Event, Place | None]:
    """Where each event stands first, as far as the files can be read again; None for what is in no file.

    That is a delivery which a process did not make itself: a snapshot that it took over brought it.
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
