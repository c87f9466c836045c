"""The command `zabcheck`.

Exit codes: 0 nothing is broken, 1 a property is violated, 2 the usage or an input is wrong, 3 inconclusive: something
was not exercised, a trace has no end, or the search was interrupted. Results go to standard output, progress and
errors to standard error.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from secrets import randbelow
from shlex import quote
from shutil import get_terminal_size
from threading import current_thread, main_thread
from time import process_time
from typing import Annotated, Any, BinaryIO, NamedTuple, ParamSpec, cast

import msgspec
import typer
from msgspec import Struct, structs
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from invariants import GROUPS, PROPERTIES, Event, TraceError, Verdict, check, select
from invariants import trace as trace_format
from zabcheck import schema as schemas
from zabcheck.counterexample import counterexample, save, write
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.quorums import MAJORITY, quorums_of
from zabcheck.protocols.switches import switches_of
from zabcheck.report import summary as summaries
from zabcheck.report import terminal
from zabcheck.report.story import Story
from zabcheck.report.summary import PropertySummary, Summary
from zabcheck.report.words import clean, counted
from zabcheck.search.explain import explain_replay
from zabcheck.search.goals import GOALS
from zabcheck.search.run import MAX_STEPS, Replay, collect_garbage_less_often, replay, schedule_of
from zabcheck.search.tally import Tally
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import ScheduleError

OK, VIOLATED, BAD_INPUT, INCONCLUSIVE = range(4)
OUTPUT_VERSION = 1
STDIN = "-"
TEXT_WIDTH = 120
MAX_PROCESSES = 99

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A property-based model checker for Zab and other primary order atomic broadcast protocols.",
)


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


class Schemas(StrEnum):
    """What there is a JSON Schema of."""

    trace = "trace"
    schedule = "schedule"


class BadInput(Exception):
    """The usage or an input is wrong; the message is one line."""


USAGE_ERROR = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])
"""The base of it, which is click's; recent versions of typer have a click of their own, and older ones import it."""

Protocols = Annotated[str, typer.Option(help="Which protocol to check; see `zabcheck list`.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--property", metavar="P", help="Judge by this property, or group of them, only (may be repeated)."),
]
Formats = Annotated[Format, typer.Option("--format", help="How to print the result.")]
P = ParamSpec("P")


def command(function: Callable[P, int]) -> Callable[P, int]:
    """Register a command that returns its exit code."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> int:
        # Typer has answers of its own to Ctrl-C and to a broken pipe, so they must not get that far.
        return guarded(lambda: function(*args, **kwargs))

    app.command(function.__name__.rstrip("_"))(wrapper)
    return wrapper


def guarded(function: Callable[[], int]) -> int:
    """The exit code; what is wrong with the input becomes one line on standard error."""
    try:
        code = function()
        sys.stdout.flush()
        return code
    except USAGE_ERROR as error:
        return complain(" ".join(error.format_message().split()))
    except (BadInput, TraceError, ScheduleError) as error:
        return complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return complain("interrupted", INCONCLUSIVE)
    except (BrokenPipeError, SystemExit):
        # The reader of a pipe went away: nothing more can be said to it. (To exit is typer's answer to that.)
        discard_output()
        return INCONCLUSIVE
    except OSError as error:
        discard_output()
        return complain(f"standard output: {error.strerror}")


def complain(message: str, code: int = BAD_INPUT) -> int:
    """Say it in one line, whatever a file or a file's name put into it."""
    ascii_only = not (sys.stderr.encoding or "").lower().startswith("utf")
    print(f"zabcheck: {clean(message, ascii_only, terminal.LONGEST_PATH)}", file=sys.stderr)
    return code


def discard_output() -> None:
    """What is still in a buffer would fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@command
def run(
    protocol: Protocols = "zab",
    mutant: Annotated[str | None, typer.Option(help="Plant this known bug; see `zabcheck list`.")] = None,
    processes: Annotated[int, typer.Option(min=1, max=MAX_PROCESSES, help="How many processes.")] = 3,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed gives the same search.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="At least how many runs.")] = 5000,
    steps: Annotated[int, typer.Option(min=1, max=MAX_STEPS, help="At most about so many steps a run.")] = 200,
    quorums: Annotated[str, typer.Option(help="`majority`, `weights 3,1,1` or `sets 1+2,2+3,1+3`.")] = MAJORITY,
    switch: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Fix a switch that each run would draw (may be repeated)."),
    ] = None,
    property: Properties = None,
    out: Annotated[Path, typer.Option(help="Where a counterexample is written.")] = Path("reports"),
    format: Formats = Format.text,
) -> int:
    """Search for a run that breaks a property, minimise it, and explain it."""
    from zabcheck.search.machine import Search, find  # Hypothesis is slow to load, and only this command needs it

    with bad_input_for(ValueError):
        checked, kinds = mutated(protocol, mutant), select(property)
    with bad_input_for(ValueError, "--quorums: "):
        family = quorums_of(quorums, processes)
    with bad_input_for(ValueError, "--switch: "):
        fixed = switches_of(switch or ())
    check_out(out)
    seed = randbelow(2**32) if seed is None else seed
    tally = Tally(kinds)
    start = process_time()
    found, interrupted = None, False
    with progress(runs, "searching") as advance, interrupts() as look_for_interrupt:

        def on_run(each: Any) -> None:
            tally.add(each)
            advance(f"{tally.steps:,} steps")
            look_for_interrupt()

        names = tuple(kind.name for kind in kinds)
        search = Search(checked, processes, names, runs, steps, seed, on_run, family, fixed)
        try:
            found = find(search)
        except KeyboardInterrupt:
            interrupted = True
    seconds = process_time() - start
    summary = summarise(tally, protocol, mutant, processes, seed, seconds, interrupted, quorums, fixed)
    if found is None:
        return finish_run(summary, format)
    schedule = schedule_of(
        protocol, mutant, processes, found.choices, found.property, quorums=quorums, switches=found.switches
    )
    try:
        replayed, story = counterexample(schedule, found.property)
    except KeyboardInterrupt:
        summary = structs.replace(summary, interrupted=True)
        replayed, story = counterexample(schedule, found.property, seconds=0)
    try:
        files = save(out, replayed, story)
    except OSError as error:
        finish_run(summary, format, Counterexample(replayed, story, []))
        raise BadInput(f"--out {out}: {error.strerror}") from None
    return finish_run(summary, format, Counterexample(replayed, story, files))


@command
def replay_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A saved schedule.")],
    trace: Annotated[Path | None, typer.Option(metavar="OUT", help="Write the trace of the run to this file.")] = None,
    format: Formats = Format.text,
) -> int:
    """Execute a saved schedule again; the same everywhere."""
    data = read(file, schedules.MAX_BYTES)
    schedule = schedules.load(data, str(file))
    with bad_input_for(ValueError, f"{file}, field `protocol`: "):
        protocol = mutated(schedule.protocol)
    with bad_input_for(ValueError, f"{file}, field `mutant`: "):
        mutated(schedule.protocol, schedule.mutant)
    if schedule.violates is not None and schedule.violates not in PROPERTIES:
        raise BadInput(
            f"{file}, field `violates`: no property `{schedule.violates}`; expected one of: {', '.join(PROPERTIES)}"
        )
    schedules.check_kinds(schedule, tuple(protocol.kinds.values()), data, str(file))
    if trace is not None:
        check_trace(trace, file)
    replayed = replay(schedule)
    if trace is not None:
        with bad_path("--trace", trace):
            write(trace, replayed.trace)
    if format is Format.json:
        print_json(
            "replay",
            schedule=as_text(file),
            steps=replayed.steps,
            skipped=replayed.skipped,
            sha256=replayed.sha256,
            trace=trace and as_text(trace),
            goals=replayed.goals,
            verdicts=replayed.verdicts,
        )
    else:
        console = make_console()
        if any(verdict.violation is not None for verdict in replayed.verdicts):
            console.print(terminal.render(explain_replay(replayed), quote(str(file))), crop=False)
            console.print()
        console.print(terminal.render_verdicts(replayed.verdicts))
        console.print(f"\n{counted(replayed.steps, 'step', 'steps')}, trace SHA-256 {replayed.sha256}")
        if schedule.violates in [v.property for v in replayed.verdicts if v.status != "violated"]:
            console.print(f"the schedule is said to violate {schedule.violates}; it does not")
        if replayed.skipped:
            console.print(f"choices that were not possible when their turn came: {replayed.skipped}")
        if trace is not None:
            print_path(console, f"wrote {trace}")
    return exit_code(replayed.verdicts)


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


@command
def list_(format: Formats = Format.text) -> int:
    """List the protocols, mutants, properties, groups of properties, and goals."""
    catalogue = {
        "protocols": {p.name: (p.summary, p.source) for p in PROTOCOLS.values()},
        "mutants": {m.name: (f"{m.wrong}; breaks {', '.join(m.breaks)}", m.source) for m in CATALOGUE.values()},
        "properties": {k.name: (k.statement, k.source) for k in PROPERTIES.values()},
        "groups": {name: (", ".join(members), "zabcheck") for name, members in GROUPS.items()},
        "goals": {name: (meaning, "zabcheck") for name, meaning in GOALS.items()},
    }
    if format is Format.json:
        print_json(
            "list",
            **{
                kind: [{"name": name, "summary": text, "source": source} for name, (text, source) in entries.items()]
                for kind, entries in catalogue.items()
            },
        )
    else:
        make_console().print(terminal.render_catalogue(catalogue))
    return OK


@command
def schema(what: Annotated[Schemas, typer.Argument(metavar="trace|schedule", help="Of which file.")]) -> int:
    """Print the JSON Schema of a line of a trace, or of a schedule."""
    sys.stdout.flush()
    sys.stdout.buffer.write(schemas.as_file(what))
    return OK


def show_version(value: bool) -> None:
    """Before anything else is looked at, so that it needs no command."""
    if value:
        print(f"zabcheck {version('zabcheck')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A property-based model checker for Zab and other primary order atomic broadcast protocols."""


# Results.


def summarise(
    tally: Tally,
    protocol: str,
    mutant: str | None,
    processes: int,
    seed: int,
    seconds: float,
    interrupted: bool,
    quorums: str,
    switches: dict[str, Any],
) -> Summary:
    """The search as data."""

    def status(name: str) -> str:
        if name == tally.violated:
            return "violated"
        return "holds" if tally.exercised[name] else "not exercised"

    properties = [
        PropertySummary(name, status(name), tally.exercised[name], tally.judged[name]) for name in tally.judged
    ]
    return Summary(
        protocol,
        mutant,
        processes,
        seed,
        tally.runs,
        tally.steps,
        round(seconds, 3),
        tuple(properties),
        tally.goals,
        interrupted,
        quorums,
        switches,
    )


class Counterexample(NamedTuple):
    """What a search found, and where it was written."""

    replayed: Replay
    story: Story
    files: list[Path]

    def as_json(self) -> dict[str, Any]:
        return {
            "violation": self.story.violation,
            "steps": self.replayed.steps,
            "sha256": self.replayed.sha256,
            "schedule": self.replayed.schedule,
            "files": [as_text(file) for file in self.files],
        }


def finish_run(summary: Summary, format: Format, found: Counterexample | None = None) -> int:
    """Print what a search found; its exit code."""
    if format is Format.json:
        print_json("run", **msgspec.to_builtins(summary), counterexample=found and found.as_json())
    else:
        console = make_console()
        console.print(summaries.render(summary, GOALS))
        if found is not None:
            console.print()
            saved = quote(str(found.files[0])) if found.files else "FILE"
            console.print(terminal.render(found.story, saved), crop=False)
            for file in found.files:
                print_path(console, f"wrote {file}")
    if found is not None:
        return VIOLATED
    if summary.interrupted or any(each.status != "holds" for each in summary.properties):
        return INCONCLUSIVE
    return OK


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


class Output(Struct, frozen=True):
    """What every JSON result starts with; docs/output.md describes the rest."""

    version: int
    command: str


def print_json(name: str, **fields: Any) -> None:
    """The result of the command `name` as one JSON document."""
    document = {**msgspec.to_builtins(Output(OUTPUT_VERSION, name)), **msgspec.to_builtins(fields)}
    # JSON is UTF-8, whatever the terminal's encoding is.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def make_console() -> Console:
    """Standard output; not narrower for a pipe than a page. With NO_COLOR it gets no escape at all, not even bold."""
    width = get_terminal_size((TEXT_WIDTH, 25)).columns
    return Console(width=width, highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")


def print_path(console: Console, text: str, style: str = "") -> None:
    """A line that can be copied, so it is not broken; a file's name is cleaned like any other text."""
    cleaned = clean(text, console.options.ascii_only, terminal.LONGEST_PATH)
    console.print(Text(cleaned, style), soft_wrap=True)


def as_text(path: str | Path) -> str:
    """A file's name for JSON; bytes of it that are no UTF-8 become escapes."""
    return str(path).encode(errors="backslashreplace").decode()


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[str], None]]:
    """A bar on standard error, if that is a terminal; the function advances it by one."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} runs, {task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=total, note="")
        yield lambda note: bar.update(task, advance=1, note=note)


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Ctrl-C is taken note of; the function raises it. A second one comes through at once.

    In the middle of a run Hypothesis may lose it, or take the run for one that behaves differently than before.
    """
    came = False

    def take_note(number: int, frame: object) -> None:
        nonlocal came
        came = True
        signal.signal(number, signal.default_int_handler)

    def look() -> None:
        if came:
            raise KeyboardInterrupt

    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield look  # it is somebody else's business
        return
    signal.signal(signal.SIGINT, take_note)
    try:
        yield look
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Files.


def read(path: Path, limit: int) -> bytes:
    """The content of a file, up to one byte more than `limit`. BadInput if it cannot be read."""
    with opened(str(path)) as file:
        return file.read(limit + 1)


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


def check_out(out: Path) -> None:
    """BadInput if nothing can be written to `out`. It is not created before there is something to write."""
    with bad_path("--out", out):
        folder = next(each for each in (out, *out.absolute().parents) if each.exists())
        if not folder.is_dir():
            raise BadInput(f"--out {out}: expected a directory, {folder} is a file")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"--out {out}: {folder} may not be written")


def check_trace(trace: Path, schedule: Path) -> None:
    """BadInput if `trace` is not to be replaced: a device, a folder, the schedule itself."""
    with bad_path("--trace", trace):
        if str(trace) == STDIN or (trace.exists() and not trace.is_file()):
            raise BadInput(f"--trace {trace}: expected the name of a file")
        if trace.exists() and schedule.exists() and trace.samefile(schedule):
            raise BadInput(f"--trace {trace}: expected another file than the schedule")


@contextmanager
def bad_path(option: str, path: Path) -> Iterator[None]:
    """What the system says against a path that an option names is the user's input."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{option} {path}: {error.strerror}") from None


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """A file to read, or standard input for STDIN. BadInput if that cannot be."""
    try:
        if name == STDIN:
            yield sys.stdin.buffer
        else:
            with open(name, "rb") as file:
                yield file
    except OSError as error:
        reason = "expected a file, found a directory" if isinstance(error, IsADirectoryError) else error.strerror
        raise BadInput(f"{name}: {reason}") from None


@contextmanager
def bad_input_for(kind: type[Exception], prefix: Callable[[], str] | str = "") -> Iterator[None]:
    """What a library function raises for an unknown name is the user's input here."""
    try:
        yield
    except kind as error:
        raise BadInput(f"{prefix if isinstance(prefix, str) else prefix()}{error}") from None


def main() -> None:
    """The entry point."""
    collect_garbage_less_often()
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started this process closed it
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for as long as the process lives
    sys.exit(guarded(lambda: app(sys.argv[1:] or ["--help"], prog_name="zabcheck", standalone_mode=False)))
