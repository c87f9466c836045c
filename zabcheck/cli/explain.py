"""`zabcheck explain`: tell a saved schedule or a trace so that a person understands it, and write it in other forms."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from shlex import quote
from typing import Annotated, BinaryIO

import msgspec
import typer
from msgspec import structs
from rich.console import Console

from zabcheck.cli.check import is_large, judge_large, places_of, verdicts_of
from zabcheck.cli.commands import BadInput, Exec, Format, Formats, Properties, ProtocolFailed, ProtocolOfFile, command
from zabcheck.cli.files import STDIN, bad_input_for, bad_path, opened, writing
from zabcheck.cli.next_step import again
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.replay import load_schedule
from zabcheck.cli.runs import is_parquet, open_parquet
from zabcheck.cli.tables import render_verdicts
from zabcheck.cli.verdict import INCONCLUSIVE, asked_for, conclude, conclude_on_standard_error, on_story
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms import exports, terminal
from zabcheck.counterexample.forms.story_json import fields
from zabcheck.counterexample.pieces import labels_of
from zabcheck.counterexample.story import Story
from zabcheck.counterexample.traced import story_of_trace
from zabcheck.invariants import End, Event, Header, TraceError, Verdict, check, select
from zabcheck.invariants import trace as trace_format
from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.play.holdings import delivered_at, on_disk
from zabcheck.play.loss import find_loss
from zabcheck.play.session import Position, Session
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.search.run import replay_on
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import write as write_file
from zabcheck.text.words import as_text

MOST_EVENTS = 2_000_000
"""The longest trace that is explained; a longer one would not fit into memory with what is said of it."""

FOLDED_FROM = 300
"""The number of events from which on the work on many transactions shares rows."""
MOST_EVENTS_IN_GRAPHS = 500_000
"""The longest trace that is written in a form that holds a graph."""
MOST_PROCESSES = 999
"""The most processes of a trace: each has a lane."""


Named = tuple[str | None, str | None]
"""The values of `--protocol` and `--exec`."""

STEP_HELP = "Enter: next, b: back, w: next of the witness, a number: to that one, q: end"

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="A schedule or a trace; - is standard input.")]
Merge = Annotated[bool, typer.Option("--merge", help="The files are one trace: each holds some of its processes.")]
RunNumber = Annotated[int | None, typer.Option("--run", metavar="N", min=0, help="This run of a Parquet file.")]
Out = Annotated[
    list[Path] | None,
    typer.Option(
        "--write",
        metavar="OUT",
        help=f"Write it to this file, in the form of its suffix: {', '.join(exports.FORMS)}.",
    ),
]


class NothingLost(Exception):
    """No run was found in which a user loses something."""


@command
def explain_(
    files: Files,
    merge: Merge = False,
    run: RunNumber = None,
    property: Properties = None,
    step: Annotated[bool, typer.Option("--step", help="Walk through it step by step.")] = False,
    loss: Annotated[
        bool,
        typer.Option(
            "--loss", help="Go on to a run in which a user loses something by the same bug, and explain that one."
        ),
    ] = False,
    write: Out = None,
    protocol: ProtocolOfFile = None,
    exec: Exec = None,
    format: Formats = Format.text,
) -> int:
    """Explain a saved schedule or a trace: what went wrong, and why."""
    with bad_input_for(ValueError):
        select(property)
    out = list(dict.fromkeys(write or []))
    for path in out:
        check_form(path, files)
    if loss and property:
        raise BadInput("--loss: does not go with --property")
    try:
        story = story_of(files, merge, run, property, (protocol, exec), loss)
    except NothingLost:
        return conclude_on_standard_error(INCONCLUSIVE, "no run was found in which a user loses something by this bug")
    is_saved = story.schedule and len(files) == 1 and files[0] != STDIN and not loss
    schedule = files[0] if is_saved else "FILE"
    wrote = write_forms(out, story, schedule)
    if story.raised is not None and not story.raised.is_modelled:
        raise ProtocolFailed(story, None if files[0] == STDIN else Path(files[0]), wrote)
    code, why = on_story(story, asked_for(property) if property else ())
    if format is Format.json:
        print_json(
            "explain",
            files=[as_text(file) for file in files],
            **fields(story),
            wrote=[as_text(p) for p in wrote],
        )
        return code
    console = make_console()
    if step:
        walk(story, console, sys.stdin.buffer, _session_of(story, files[0], (protocol, exec)))
    else:
        console.print(terminal.render(story, quote(schedule)), crop=False)
        if story.violation is None and story.raised is None:
            console.print()
            console.print(render_verdicts(story.verdicts))
        for path in wrote:
            print_path(console, f"wrote {path}")
    then = again(step=None, write="run.html") if not out and STDIN not in files else ""
    return conclude(console, code, why, then)


def _session_of(story: Story, name: str, named_as: Named) -> Session | None:
    """Return a session of the run that a story tells; None if it has no schedule."""
    if not story.schedule:
        return None
    protocol, schedule = load_schedule(story.schedule, name, *named_as)
    with bad_input_for((ValueError, StepRaised), f"{name}: "):
        return Session.of(protocol, schedule)


def walk(story: Story, console: Console, answers: BinaryIO, session: Session | None = None) -> None:
    """Show a step, read a line, show the next; until the last one is left, or the lines end.

    Of a run that `session` has made the disks and the deliveries are shown, too. A trace has none.
    """
    steps = [moment.step for moment in story.moments]
    witness = sorted(
        {step for event in (story.violation.witness if story.violation else ()) if (step := story.step_of(event))}
    )
    positions = {} if session is None else _positions(session)
    at = 0
    console.print(terminal.render_heading(story))
    print_path(console, STEP_HELP if session is None else f"{STEP_HELP}; zabcheck play goes another way")
    while at < len(steps):
        show_step(console, story, at, session, positions.get(steps[at]))
        line = answers.readline()
        answer = line.decode(errors="replace").strip()
        if not line or answer == "q":
            return
        at = _next(answer, at, steps, witness)


def _positions(session: Session) -> dict[int, Position]:
    """Return the position after each step of the run up to where a session is, by the number of the step."""
    path = session.here.path[1:]
    return dict(zip(accumulate(len(position.steps) for position in path), path, strict=True))


def show_step(console: Console, story: Story, at: int, session: Session | None, position: Position | None) -> None:
    """Show a step of a story, and the state of each process after it, with what a session knows of that position."""
    if session is None or position is None:
        console.print(terminal.render_step(story, at), crop=False)
        return
    kept, deliveries = on_disk(session, position), delivered_at(session, position)
    console.print(terminal.render_step(story, at, kept, deliveries), crop=False)


def _next(answer: str, at: int, steps: list[int], witness: list[int]) -> int:
    """Return the position that the answer asks for; the same one again if that is not possible."""
    if answer == "b":
        return max(0, at - 1)
    if answer == "w":
        later = [step for step in witness if step > steps[at]] or witness
        return steps.index(later[0]) if later else at
    if answer.isdecimal():
        return steps.index(int(answer)) if int(answer) in steps else at
    return at + 1 if not answer or answer == "n" else at


def write_forms(out: Iterable[Path], story: Story, schedule: str) -> list[Path]:
    """Write what happened to each of these files, in the form of its suffix; nothing if one form cannot be made.

    Return those that could be written.
    """
    contents: dict[Path, bytes] = {}
    for path in out:
        form = exports.FORMS[suffix_of(path)]
        if form.has_graph and len(story.trace) > MOST_EVENTS_IN_GRAPHS:
            raise BadInput(f"--write {path}: expected a trace of at most {MOST_EVENTS_IN_GRAPHS:,} events for that")
        with bad_input_for((ValueError, ImportError), f"--write {path}: "):
            contents[path] = form.make(story, schedule)
    wrote: list[Path] = []
    for path, content in contents.items():
        with writing("--write", path):
            wrote.append(write_file(path, content))
    return wrote


def suffix_of(path: Path) -> str:
    """Return the end of a file's name, which says the form of the file."""
    return path.suffix.lower()


def check_form(path: Path, files: list[str]) -> None:
    """Check that a form can be written to `path`. BadInput if not, or if there is no form of that name."""
    if suffix_of(path) not in exports.FORMS:
        forms = ", ".join(f"{suffix} ({form.what})" for suffix, form in exports.FORMS.items())
        raise BadInput(f"--write {path}: expected a name that ends in one of: {forms}")
    with bad_path("--write", path):
        if not path.absolute().parent.is_dir():
            raise BadInput(f"--write {path}: there is no folder {path.parent}")
        if path.exists() and not path.is_file():
            raise BadInput(f"--write {path}: expected the name of a file")
        if any(path.exists() and Path(file).exists() and path.samefile(file) for file in files if file != STDIN):
            raise BadInput(f"--write {path}: expected another file than what is read")


def story_of(
    names: list[str], merge: bool, run: int | None, properties: list[str] | None, named: Named, loss: bool = False
) -> Story:
    """Read the files, execute the schedule if there is one, and tell what happened.

    With `loss` tell the run that `find_loss` finds instead. BadInput if there is no schedule; NothingLost.
    """
    if len(names) > 1 and not merge:
        raise BadInput(f"{names[1]}: expected one file, or --merge, if they are one trace")
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{name}: named more than once, expected at most once")
    with ExitStack() as stack:
        sources = {name: stack.enter_context(opened(name)) for name in names}
        first, name = sources[names[0]], names[0]
        if loss and (merge or is_parquet(first) or looks_like_trace(first)):
            raise BadInput(f"--loss: expected a schedule, {name} is a trace")
        if is_parquet(first) and not merge:
            return explain_parquet(name, first, run, properties)
        if run is not None:
            raise BadInput(f"{name}: expected a Parquet file, as --run {run} names one of its runs")
        if merge or looks_like_trace(first):
            return explain_lines(sources, properties, named)
        data = first.read(schedules.MAX_BYTES + 1)
        return explain_schedule(*load_schedule(data, name, *named), name, properties, loss)


def looks_like_trace(source: BinaryIO) -> bool:
    """Tell by the start of the first line, which stays unread, whether this is a trace."""
    peek = getattr(source, "peek", None)
    start = bytes(peek(1)).lstrip() if peek is not None else b""
    with suppress(*NOT_DECODED):
        line = msgspec.json.decode(start.partition(b"\n")[0])
        return isinstance(line, dict) and "event" in line
    return start.startswith(b'{"event"')


def explain_schedule(
    protocol: Protocol, schedule: Schedule, name: str, properties: list[str] | None, loss: bool
) -> Story:
    """Execute a schedule and tell what happened. BadInput if the protocol is not deterministic; `loss` as above."""
    with bad_input_for(ValueError, f"{name}: "):
        replayed = replay_on(protocol, schedule, properties)
        found = find_loss(replayed) if loss else replayed
        if found is None:
            raise NothingLost
        return explain_replay(found, decisive=True)


def explain_lines(sources: Mapping[str, BinaryIO], properties: list[str] | None, named: Named) -> Story:
    """Tell a trace from one file, or merged from several."""
    readers = [trace_format.Reader(source, "standard input" if n == STDIN else n) for n, source in sources.items()]
    source = trace_format.Merged(readers) if len(readers) > 1 else readers[0]
    unit = "line" if len(readers) == 1 else "event"
    placed = enumerate(source, 1 if len(readers) == 1 else 0)  # the first event of several files is event 1

    def where() -> str:
        return f"{source.name}, line {source.line}, "

    verdicts = judge_before(readers[0].source, readers[0].name, properties) if len(readers) == 1 else None
    story = explain_trace(placed, where, " + ".join(sources), properties, unit, named, verdicts)
    if len(readers) == 1 or story.violation is None:
        return story
    labels = labels_of(story.violation)
    places = places_of(set(labels), dict(zip(sources, readers, strict=True)))
    stands = [(label, places.get(event)) for event, label in labels.items()]
    noticed = tuple((label, f"{place.trace}, line {place.line}") for label, place in stands if place is not None)
    return structs.replace(story, noticed=(*story.noticed, *noticed))


def judge_before(source: BinaryIO, name: str, properties: list[str] | None) -> list[Verdict] | None:
    """Judge a large file before its events are kept, which takes as much memory again; None for any other file."""
    if not is_large(source):
        return None
    if sum(piece.count(b"\n") for piece in iter(lambda: source.read(1 << 20), b"")) > MOST_EVENTS:
        raise too_long(name)
    source.seek(0)
    verdicts = judge_large(source, properties)
    if verdicts is None:
        verdicts = verdicts_of(trace_format.Reader(source, name), properties)
        source.seek(0)
    return verdicts


def too_long(name: str) -> BadInput:
    """Return the refusal of a trace of more than `MOST_EVENTS` events."""
    return BadInput(f"{name}: expected at most {MOST_EVENTS:,} lines; `zabcheck check` judges any number")


def explain_parquet(name: str, source: BinaryIO, run: int | None, properties: list[str] | None) -> Story:
    """Tell a run of a Parquet file: the first one that breaks a property, if none is named."""
    with bad_input_for(TraceError):
        parquet = open_parquet(source, name)
        if run is None:
            summary = parquet.judge(select(properties))
            run = summary.run if summary.run is not None else next((broken.run for broken in summary.broken), None)
        if run is None:
            raise BadInput(f"{name}: none of its runs breaks a property; --run N explains one of them")
        return explain_trace(parquet.events(run), lambda: f"{name}, run {run}, ", name, properties, "line")


def explain_trace(
    placed: Iterable[tuple[int, Event]],
    where: Callable[[], str],
    name: str,
    properties: list[str] | None,
    unit: str,
    named: Named = (None, None),
    verdicts: list[Verdict] | None = None,
) -> Story:
    """Tell a trace, header and end included; by its schedule, if the header has one that gives this very trace.

    `verdicts` are given if it was judged before.
    """
    kept: list[tuple[int, Event]] = []

    def events() -> Iterator[Event]:
        with bad_input_for(TraceError):
            for each in placed:
                if len(kept) == MOST_EVENTS:
                    raise too_long(name)
                kept.append(each)
                yield each[1]

    with bad_input_for(TraceError, where):
        if verdicts is None:
            verdicts = check(events(), properties)
        else:
            deque(events(), 0)
    header = kept[0][1]
    assert isinstance(header, Header), "the reader has seen to that"
    if header.processes > MOST_PROCESSES:
        raise BadInput(
            f"{name}, line 1, field `processes`: expected at most {MOST_PROCESSES}, found {header.processes}"
        )
    executed = executed_again(header, [event for _, event in kept], properties, named)
    if executed is not None:
        return executed
    lines = [each for each in kept[1:] if not isinstance(each[1], End)]
    digest = sha256()
    for line in trace_format.dump(event for _, event in kept):
        digest.update(line)
    folded = len(lines) >= FOLDED_FROM
    return story_of_trace(header, lines, verdicts, unit=unit, sha256=digest.hexdigest(), folded=folded)


def executed_again(header: Header, events: list[Event], properties: list[str] | None, named: Named) -> Story | None:
    """Execute the schedule in the header, and tell the run if it shows just these events; None otherwise."""
    if header.schedule is None:
        return None
    with suppress(schedules.ScheduleError, ValueError, BadInput):
        protocol, schedule = load_schedule(msgspec.json.encode(header.schedule), "the header's schedule", *named)
        replayed = replay_on(protocol, schedule, properties)
        if replayed.events[1:] == events[1:]:
            return explain_replay(replayed, decisive=True)
    return None
