"""`zabcheck play`: a run that goes on by hand, on a page in the browser or in the terminal."""

import inspect
import os
import re
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Annotated, BinaryIO, get_origin

import msgspec
import typer
from msgspec import structs
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.cli.commands import (
    BadInput,
    Exec,
    FixedQuorums,
    Mutants,
    Properties,
    ProtocolFailed,
    Protocols,
    command,
    lessons,
    named,
    scenarios,
    switches,
)
from zabcheck.cli.explain import Named, looks_like_trace, show_step, story_of, walk
from zabcheck.cli.files import STDIN, bad_input_for, bad_path, opened, read
from zabcheck.cli.next_step import again
from zabcheck.cli.output import make_console, print_path
from zabcheck.cli.replay import load_schedule, named_instead, protocol_of, with_protocol
from zabcheck.cli.scenario import scenario_of
from zabcheck.cli.verdict import INCONCLUSIVE, OK, are_violated, asked_for, conclude, on_story
from zabcheck.cli.zookeeper.builds import Classpath, Home, Java, found_distribution
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.story import Story, flights_of
from zabcheck.extras import pip_install
from zabcheck.invariants import Deliver, Event, select
from zabcheck.invariants.diagnosis import like
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.papers.lessons import LESSONS
from zabcheck.papers.lessons.base import Lesson
from zabcheck.papers.scenarios.base import HandWrittenTrace
from zabcheck.play import lesson as own_lesson
from zabcheck.play.ahead import Offer, waiting
from zabcheck.play.chances import TRIES, TRIES_TO_BREAK, break_from_here, chances
from zabcheck.play.desk import ActRefused, Desk, Exercise, Layer
from zabcheck.play.lesson import LessonError
from zabcheck.play.link import LinkError, is_link, link_of, linked
from zabcheck.play.naming import ROUND, named_at, told, typed
from zabcheck.play.session import NotPossible, Option, Position, Session
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.protocols.switch_settings import switches_of
from zabcheck.search.run import DEFAULT_PROCESSES, MAX_PROCESSES, named_by, replay_on
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import FAULTS, KINDS, AnyChoice, Choice, Lead, Quiesce, Snapshot
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import write
from zabcheck.text.pen import BOLD, DIM, Drawing, Pen
from zabcheck.text.words import clean, counted

if TYPE_CHECKING:
    from zabcheck.cli.zookeeper.beside import Ensemble
    from zabcheck.play.reading import Reading

HELP = (
    ("Enter", "the next step of the known run, or else the first that is possible"),
    ("a number", "that choice, of those that are listed"),
    ("crash 2, cut 1 3, …", "any choice of a schedule, with its fields"),
    ("lead 1 2, elect 3 1", "p1 leads, and of the others only p2 follows; p3 follows p1, which goes on"),
    ("settle 9", f"at most nine rounds, until nothing is left to be done: {ROUND}"),
    ("o", "every choice, also where many of one kind are shown as one"),
    ("w", "the messages that are under way and cannot be handled yet, and why"),
    ("b, f", "back, and forward again"),
    ("t, g 4", "all that was tried, as a tree, which numbers the positions; to position 4"),
    ("r", "the same choices without the known bug"),
    ("p, p chosen", "how likely the property breaks from each position: where it jumps the bug happened"),
    ("v", "go on to a violation, if random continuations from here find one"),
    ("e", "explain the run up to here"),
    ("h", "in a lesson: the choices of a way to do its task"),
    ("x", "with --on-zookeeper: have the servers do the run up to here, and tell what they did beside each step"),
    ("s FILE", "save it as a schedule; as a lesson with a text for each step, if the name ends in .lesson.json"),
    ("l", "print it as a link, which `zabcheck play` takes up anywhere"),
    ("? crash", "the choice `crash`, and its fields"),
    ("q", "end"),
)
OTHERWISE = {
    "help": "?",
    "undo": "b",
    "back": "b",
    "redo": "f",
    "n": "Enter",
    "next": "Enter",
    "quit": "q",
    "exit": "q",
    "list": "o",
    "isolate": "split",
    "partition": "split",
    "deliver": "receive",
}
"""Words that others say, with what is typed here."""
MOST_ALIKE = 6
"""The most choices of one kind, in a row, that are listed each for itself."""
AT_WILL = "faults and snapshots"
"""The title of the choices that can come at any time."""
NAMES: dict[str, type[Choice]] = {str(kind.__struct_config__.tag): kind for kind in KINDS}

ProcessCount = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        max=MAX_PROCESSES,
        help=f"The number of processes; by default {DEFAULT_PROCESSES}.",
    ),
]
FixedSwitches = Annotated[
    list[str] | None,
    typer.Option(
        "--switch",
        metavar="NAME=VALUE",
        autocompletion=switches,
        help="Set a switch (may be repeated); see `zabcheck list switches`.",
    ),
]
FromScenario = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="NAME",
        autocompletion=scenarios,
        help="Go on with the run of this scenario: see `zabcheck list scenarios`.",
    ),
]
OfLesson = Annotated[
    str | None,
    typer.Option(
        "--lesson",
        metavar="NAME|FILE",
        autocompletion=lessons,
        help="Take this lesson on Zab, of `zabcheck list lessons`, or the one in this file.",
    ),
]
OfServers = Annotated[
    Path | None,
    typer.Option(
        "--servers",
        metavar="REPORT",
        help="Show beside a run of the model `zookeeper` what servers did for it: the file with what "
        "`replay --on-zookeeper --format json` has printed.",
    ),
]
OnZookeeper = Annotated[
    bool,
    typer.Option(
        "--on-zookeeper",
        help="Have real servers do a run of the model `zookeeper` first, and later each that you ask them to, and show "
        "what they did beside it.",
    ),
]
SimulatedServers = Annotated[
    bool, typer.Option("--simulated", help="With --on-zookeeper: simulate the servers instead of starting processes.")
]
OnPage = Annotated[
    bool | None,
    typer.Option(
        "--page/--terminal",
        help="Show the run on a page in the browser, or in the terminal. By default the page, if the extra `play` is "
        "installed and standard input is a terminal.",
    ),
]
File = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]", help="A saved schedule, or a link to a run, to go on with; or a trace, to be read only."
    ),
]


@command
def play(
    file: File = None,
    protocol: Protocols = None,
    exec: Exec = None,
    mutant: Mutants = None,
    processes: ProcessCount = None,
    quorums: FixedQuorums = None,
    switch: FixedSwitches = None,
    scenario: FromScenario = None,
    lesson: OfLesson = None,
    servers: OfServers = None,
    on_zookeeper: OnZookeeper = False,
    simulated: SimulatedServers = False,
    java: Java = None,
    home: Home = None,
    classpath: Classpath = None,
    property: Properties = None,
    page: OnPage = None,
) -> int:
    """Go on with a run by hand: step by step, back, and another way."""
    with bad_input_for(ValueError):
        select(property)
    known, taken, layer = file or scenario or lesson, None, None
    _check_beside(file, lesson, servers, on_zookeeper)
    ensemble = _ensemble_of(on_zookeeper, simulated, java, home, classpath)
    if known is None:
        session = _begun(named(protocol, exec), mutant, processes or DEFAULT_PROCESSES, quorums, switch, property)
        if ensemble is not None:
            session = Session.of(session.protocol, ensemble.first(session.schedule(), switch or ()), property)
    else:
        options = {"mutant": mutant, "processes": processes, "quorums": quorums, "switch": switch}
        if file is None and (lesson is None or not _is_file(lesson)):
            options |= {"protocol": protocol, "exec": exec}
        _check_known(known, options, {"scenario": scenario, "lesson": lesson})
        if file is not None and not is_link(file) and _is_trace(file):
            return _read_only(file, property, (protocol, exec), page)
        if lesson is None:
            session, layer = _known(file, known, protocol, exec, property, ensemble, servers)
        elif _is_file(lesson):
            session, taken = _from_file(lesson, protocol, exec, property)
        else:
            session, taken = lesson_of(lesson, property)
    console = make_console()
    is_on_page = _is_on_page(page, console)
    desk = desk_of(session, taken) if is_on_page else Desk(session, taken)
    if layer is not None:
        desk.layers.append(layer)
    if ensemble is not None:
        desk.servers = ensemble.to_be_asked()
    if is_on_page:
        _serve(desk, console)
    else:
        _Play(desk, console, sys.stdin.buffer).go_on()
    return _concluded(console, desk.session, desk.exercise)


def _ensemble_of(
    on_zookeeper: bool, simulated: bool, java: Path | None, home: Path | None, classpath: str | None
) -> "Ensemble | None":
    """Return the ensemble that does the run, None without --on-zookeeper. BadInput if only its options are given."""
    if on_zookeeper:
        from zabcheck.cli.zookeeper.beside import Ensemble

        return Ensemble(found_distribution(java, home, classpath), simulated, Flag())
    built = {"simulated": simulated or None, "java": java, "zookeeper-home": home, "classpath": classpath}
    for name, given in built.items():
        if given is not None:
            raise BadInput(f"--{name}: only with --on-zookeeper")
    return None


def _check_known(known: str, decided: Mapping[str, object], names: Mapping[str, str | None]) -> None:
    """Raise BadInput for an option that the run called `known` decides, or one that names another run."""
    for name, value in decided.items():
        if value:
            raise BadInput(f"--{name}: only for a run that begins anew, {known} says it")
    for name, other in names.items():
        if other is not None and other != known:
            raise BadInput(f"--{name}: expected nothing beside it to begin with, found {known}")


def _concluded(console: Console, session: Session, taken: Exercise | None) -> int:
    """Print the verdict on the task of a lesson, or on the run, when it is left; return the exit code."""
    with bad_input_for(ValueError):
        story = session.story()
    if story.raised is not None and not story.raised.is_modelled:
        raise ProtocolFailed(story, None)
    if taken is not None and taken.task:
        done = any(taken.is_done(position) for position in session.positions)
        return conclude(
            console, OK if done else INCONCLUSIVE, f"the task of {taken.name} is {'' if done else 'not '}done"
        )
    if taken is not None and session.here.number < len(taken.steps):
        left = f"{taken.name} was left after step {session.here.number} of {len(taken.steps)}"
        return conclude(console, INCONCLUSIVE, left)
    return conclude(console, *on_story(story))


def _is_on_page(asked: bool | None, console: Console) -> bool:
    """Return whether to show a page. BadInput if it was asked for and its extra is not installed."""
    is_installed = all(map(find_spec, ("starlette", "uvicorn")))
    if asked and not is_installed:
        raise BadInput(f"--page: needs a web server: {pip_install('play')}")
    if asked is None and not is_installed and sys.stdin.isatty():
        print_path(console, f"the same as a page in the browser: {pip_install('play')}")
    return asked if asked is not None else is_installed and sys.stdin.isatty()


def desk_of(session: Session, exercise: Exercise | None) -> Desk:
    """Return a desk with this session, at the end of its run; at the beginning of one whose steps have texts."""
    while session.here.latest is not None and not (exercise is not None and exercise.steps):
        session.redo()
    return Desk(session, exercise)


def _serve(shown: "Desk | Reading", console: Console) -> None:
    """Show a page until Ctrl-C ends its server."""
    from zabcheck.play.server import Server

    with bad_input_for(OSError, "127.0.0.1: "):
        server = Server(shown)
    print_path(console, server.address)
    print_path(console, "open this address in a browser of this machine; Ctrl-C ends the server")
    sys.stdout.flush()
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(server.address)
    with suppress(KeyboardInterrupt):
        server.serve()


def _known(
    file: str | None,
    known: str,
    protocol: str | None,
    exec: str | None,
    properties: Sequence[str] | None,
    ensemble: "Ensemble | None",
    servers: Path | None,
) -> tuple[Session, Layer | None]:
    """Return a session of the run that is known by this name, at its beginning.

    With servers that do it, or have done it by a report, the run is the one that they had, and the layer is theirs.
    """
    if file is None:
        executed, schedule = _of_scenario(known)
    elif is_link(file):
        known = "the link"
        executed, schedule = _linked(file, protocol, exec)
    else:
        executed, schedule = load_schedule(read(Path(file), schedules.MAX_BYTES), file, protocol, exec)
    layer = None
    if ensemble is not None:
        schedule, layer = ensemble.done(schedule, known)
    elif servers is not None:
        from zabcheck.cli.zookeeper.layer import layer_of

        schedule, layer = layer_of(read(servers, schedules.MAX_BYTES), str(servers), schedule, known)
    with bad_input_for((ValueError, StepRaised), f"{known}: "):
        session = Session.of(executed, schedule, properties)
    session.go(0)
    return session, layer


def _check_beside(file: str | None, lesson: str | None, servers: Path | None, on_zookeeper: bool) -> None:
    """Raise BadInput if there is no run that servers could be shown beside, or if there are two layers of servers."""
    if on_zookeeper and servers is not None:
        raise BadInput("--on-zookeeper and --servers: expected one of them")
    is_of_trace = file is not None and not is_link(file) and (on_zookeeper or servers is not None) and _is_trace(file)
    if on_zookeeper and (lesson is not None or is_of_trace):
        raise BadInput("--on-zookeeper: only for a run of the model `zookeeper` that goes on")
    if servers is not None and (file is None or is_link(file) or is_of_trace):
        raise BadInput("--servers: only beside a saved schedule")


def _linked(link: str, protocol: str | None, exec: str | None) -> tuple[Protocol, Schedule]:
    """Return the run of a link. BadInput if it has none, or if its trace is another one here."""
    with bad_input_for(LinkError, "the link: "):
        content = linked(link)
    executed, schedule = load_schedule(content.schedule, "the link", protocol, exec)
    if protocol is None and exec is None:
        with bad_input_for(ValueError, "the link: "):
            found = replay_on(executed, schedule).sha256
        if found != content.sha256:
            raise BadInput(
                f"the link: it was made by a zabcheck whose {schedule.protocol} took other steps: its trace has "
                f"SHA-256 {content.sha256[:16]}, here {found[:16]}; the zabcheck that made it shows it"
            )
    return executed, schedule


def _is_trace(file: str) -> bool:
    if file == STDIN:
        raise BadInput("expected the name of a file: standard input has the answers")
    with opened(file) as source:
        return looks_like_trace(source)


def _read_only(trace: str, properties: Sequence[str] | None, named_as: Named, page: bool | None) -> int:
    """Go through a trace, which has no choices, step by step."""
    story = story_of([trace], False, None, None if properties is None else [*properties], named_as)
    console = make_console()
    if _is_on_page(page, console):
        from zabcheck.play.reading import Reading

        _serve(Reading(story, again()), console)
    else:
        walk(story, console, sys.stdin.buffer)
    return conclude(console, *on_story(story, asked_for(properties) if properties else ()))


def _of_scenario(name: str) -> tuple[Protocol, Schedule]:
    run = scenario_of(name).run
    if isinstance(run, HandWrittenTrace):
        raise BadInput(f"--scenario {name}: expected one that is executed, its events are written by hand")
    return named_by(run), run


def lesson_of(name: str, properties: Sequence[str] | None) -> tuple[Session, Exercise]:
    """Return the lesson of this name or number, at the end of its run. BadInput if there is none."""
    if name.isdecimal() and 0 < int(name) <= len(LESSONS):
        name = [*LESSONS][int(name) - 1]
    if name not in LESSONS:
        raise BadInput(f"no lesson `{clean(name, False, 99)}`; {like(name, LESSONS)}")
    lesson, following = LESSONS[name], _following(name)
    exercise = Exercise(
        f"Lesson {[*LESSONS].index(name) + 1} of {len(LESSONS)}: {lesson.title}",
        lesson.source,
        lesson.introduction,
        lesson.question,
        lesson.task.sentence,
        lambda position: _left(lesson, position),
        lesson.solution.why,
        "That was the last lesson." if following is None else f"next: zabcheck play --lesson {following}",
        name,
        lesson.solution.choices,
        following=None if following is None else lambda: desk_of(*lesson_of(following, properties)),
        needs=lesson.needs,
    )
    return Session.of(named_by(lesson.given), lesson.given, properties), exercise


def _is_file(lesson: str) -> bool:
    return lesson not in LESSONS and (lesson.endswith(".json") or Path(lesson).is_file())


def _from_file(
    file: str, protocol: str | None, exec: str | None, properties: Sequence[str] | None
) -> tuple[Session, Exercise]:
    """Return the lesson in a file, at the beginning of its run. BadInput with line and field if it is none."""
    data = read(Path(file), schedules.MAX_BYTES)
    said = named_instead(data, file, protocol, exec)
    with bad_input_for(LessonError):
        lesson = own_lesson.load(data, file)
    run = with_protocol(lesson.schedule, said, exec)
    executed = protocol_of(run, data, file, own_lesson.CHOICES)
    with bad_input_for((ValueError, StepRaised), f"{file}: "), bad_input_for(LessonError):
        session = own_lesson.begun(lesson, executed, data, file, properties)
    exercise = Exercise(
        lesson.title,
        "",
        lesson.introduction,
        lesson.question,
        lesson.task,
        lambda position: () if lesson.breaks in position.broken else (f"{lesson.breaks} has to be violated",),
        "",
        "",
        file,
        (),
        tuple(step.text for step in lesson.steps),
    )
    return session, exercise


def _begun(
    protocol: str,
    mutant: str | None,
    processes: int,
    quorums: str | None,
    switch: Sequence[str] | None,
    properties: Sequence[str] | None,
) -> Session:
    with bad_input_for(ValueError):
        checked = mutated(protocol, mutant)
    with bad_input_for(ValueError, "--switch: "):
        switches = checked.switches(**switches_of(switch or (), checked))
    with bad_input_for((ValueError, StepRaised), "" if quorums is None else "--quorums: "):
        return Session(checked, processes, quorums=quorums, switches=switches, properties=properties)


class _Play:
    """A session on a console: shows where it is, reads a line, does what it says; until the lines end."""

    def __init__(self, desk: Desk, console: Console, answers: BinaryIO) -> None:
        self._desk = desk
        self._session, self._lesson = desk.session, desk.exercise
        self._console = console
        self._answers = answers
        self._options: list[Option] = []
        self._left = () if self._lesson is None else self._lesson.left(self._session.here)
        """The part of the task that was left when it was told last, or at the beginning."""

    def go_on(self) -> None:
        if self._lesson is not None:
            self._console.print(_render_lesson(self._lesson))
        elif (bug := CATALOGUE.get(self._session.protocol.mutant or "")) is not None:
            self._say(f"{bug.name}: {bug.wrong}")
        self._say("?: help")
        self._show()
        while line := self._answers.readline():
            words = line.decode(errors="replace").split()
            if words == ["q"]:
                return
            try:
                moved = self._answer(words)
            except (NotPossible, BadInput, ActRefused, StepRaised) as refused:
                self._say(f"not possible: {refused}" if isinstance(refused, NotPossible) else str(refused))
                continue
            if moved:
                self._show()
                self._tell_if_done()

    def _answer(self, words: Sequence[str]) -> bool:
        """Do what a line says. Return True if the session has moved. NotPossible or BadInput if it cannot be done."""
        if self._told(words):
            return False
        session = self._session
        match words:
            case []:
                if session.here.latest is not None:
                    session.redo()
                elif self._options:
                    session.do(self._options[0].choice)
                else:
                    raise NotPossible("the run is over")
            case ["b"]:
                session.undo()
            case ["f"]:
                session.redo()
            case ["g", number] if number.isdecimal() and int(number) < len(session.positions):
                session.go(int(number))
            case ["g", *_]:
                raise BadInput(f"expected a position from 0 to {len(session.positions) - 1}")
            case ["r"]:
                return self._without_the_bug()
            case ["x"]:
                self._say(self._desk.ask_servers())
            case ["v"]:
                found = break_from_here(session, session.properties)
                if found is None:
                    raise NotPossible(f"none of {TRIES_TO_BREAK:,} random continuations breaks a property")
                session.follow(found)
            case [number] if number.isdecimal():
                if not 0 < int(number) <= len(self._options):
                    raise BadInput(f"expected a number from 1 to {len(self._options)}")
                session.do(self._options[int(number) - 1].choice)
            case _:
                session.do(choice_of(words))
        return True

    def _told(self, words: Sequence[str]) -> bool:
        """Tell or write what a line asks for. Return False if it asks for neither. Errors as in `_answer`."""
        session = self._session
        match words:
            case ["o"]:
                self._list(self._options, everything=True)
            case ["w"]:
                waits = self._waiting()
                for offer in waits:
                    self._say(f"  {offer.words}: {offer.why_not}")
                if not waits:
                    self._say("no message waits")
            case ["p", *name]:
                self._tell_chances(" ".join(name).replace("-", " "))
            case ["t"]:
                for line in tree(session):
                    self._say(line)
            case ["e"]:
                self._console.print(terminal.render(session.story(), ""), crop=False)
            case ["h"]:
                if self._lesson is None:
                    raise BadInput("h: only in a lesson, as in `zabcheck play --lesson quorum`")
                if not self._lesson.hint:
                    raise BadInput("h: this lesson has no hint")
                self._say(", ".join(typed(choice) for choice in self._lesson.hint))
            case ["s", name]:
                is_lesson = name.endswith(own_lesson.SUFFIX)
                content = own_lesson.dump(session) if is_lesson else schedules.dump(session.schedule())
                with bad_path("s", Path(name)):
                    self._say(f"wrote {write(Path(name), content)}")
            case ["l"]:
                replayed = session.replay()
                self._say(link_of(replayed))
                self._say(f"trace SHA-256 {replayed.sha256}")
            case ["?"]:
                self._console.print(_help(self._console.options.ascii_only))
            case ["?", name] if name in NAMES:
                self._say(f"{form_of(NAMES[name])}: {inspect.getdoc(NAMES[name])}")
            case _:
                return False
        return True

    def _tell_if_done(self) -> None:
        """Say that the task of the lesson is done, if the last choice did it, or what is left, if that is new."""
        lesson, here = self._lesson, self._session.here
        if lesson is None or not lesson.task:
            return
        told, self._left = self._left, lesson.left(here)
        if self._left:
            if self._left != told:
                self._say(f"Still to do: {'; '.join(self._left)}.")
        elif here.before is None or not lesson.is_done(here.before):
            self._console.print(Text("Done.", "bold green"), lesson.why)
            if lesson.after:
                self._say(lesson.after)

    def _tell_chances(self, property_: str) -> None:
        session = self._session
        if not property_ and not session.here.broken:
            raise BadInput(f"expected p and a property, as in: p {session.properties[0]}")
        property_ = property_ or session.here.broken[0]
        with bad_input_for(ValueError):
            found = chances(session, property_)
        self._say(f"how many of {TRIES} random continuations from each position break {property_}:")
        for position, number in zip(session.here.path, found, strict=True):
            self._say(f"  {number:3} {'█' * round(20 * number / TRIES):20} {position.number} {named_at(position)}")

    def _without_the_bug(self) -> bool:
        protocol = self._session.protocol
        if protocol.mutant is None:
            raise BadInput("no known bug is planted in this protocol")
        twin = self._session.with_protocol(mutated(protocol.name))
        self._say(f"without {protocol.mutant}:")
        _show_step(self._console, twin)
        broken = twin.here.broken
        self._say(f"it breaks {', '.join(broken)}, too" if broken else "it breaks nothing")
        return False

    def _show(self) -> None:
        session = self._session
        _show_step(self._console, session)
        if self._lesson is not None and (said := self._lesson.said_at(session.here)):
            self._console.print()
            self._console.print(Drawing(lambda pen: [pen.write(f"Step {said}", BOLD)]))
        if (layer := self._desk.layer_at(session.here)) is not None:
            if lines := layer.said_at(session.here):
                self._say(f"{layer.title}:")
            for line in lines:
                self._say(f"  {line}")
        self._options = session.options()
        self._list(self._options)
        if waits := len(self._waiting()):
            messages = counted(waits, "message", "messages")
            self._say(f"  {messages} under way cannot be handled yet (w lists {'it' if waits == 1 else 'them'})")

    def _waiting(self) -> list[Offer]:
        return waiting(self._session, self._options, flights_of(_shown(self._session.here)))

    def _list(self, options: Sequence[Option], everything: bool = False) -> None:
        """List the options: of many of one kind the first and the last, and of faults those that a lesson needs."""
        most, lesson = len(options) if everything else MOST_ALIKE, None if everything else self._lesson
        flights = {flight.number: flight for flight in flights_of(_shown(self._session.here))}
        if options:
            self._say("what can happen next:")
        for title, group in _groups(options):
            texts = []
            listed = group
            if title == AT_WILL and lesson is not None:
                listed = [each for each in group if lesson.is_needed(each[1].choice)]
            for _, same in groupby(listed, lambda each: type(each[1].choice)):
                alike = [(number, told(option, flights)) for number, option in same]
                if len(alike) > most:
                    (first, words), (last, others) = alike[0], alike[-1]
                    texts.append(f"{first} to {last} {words} … {others} (o lists them)")
                else:
                    texts += [f"{number} {words}" for number, words in alike]
            if more := len(group) - len(listed):
                texts.append(f"o lists {more} more")
            self._say(f"  {title}")
            cleaned = [Text("    " + clean(text, self._console.options.ascii_only)) for text in texts]
            self._console.print(Columns(cleaned, padding=(0, 2), column_first=True))

    def _say(self, text: str) -> None:
        print_path(self._console, text)


def _help(ascii_only: bool) -> Table:
    """Return a table of the lines that can be typed."""
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True)
    for line, meaning in (*HELP, ("choices", ", ".join(NAMES))):
        lines.add_row(*(Text(clean(text, ascii_only)) for text in (f"  {line}", meaning)))
    return lines


def _left(lesson: Lesson, position: Position) -> tuple[str, ...]:
    return lesson.task.left((event for each in position.path for event in each.events), position.broken)


def _following(name: str) -> str | None:
    """Return the name of the lesson after this one; None if it is the last."""
    names = list(LESSONS)
    return next(iter(names[names.index(name) + 1 :]), None)


def _render_lesson(lesson: Exercise) -> RenderableType:
    def draw(pen: Pen) -> Iterator[RenderableType]:
        yield pen.write(lesson.title, BOLD)
        if lesson.source:
            yield pen.write(lesson.source, DIM)
        yield Text()
        if lesson.teaches:
            yield pen.write(lesson.teaches)
            yield Text()
        if lesson.question:
            yield pen.write(f"Predict: {lesson.question}")
        if lesson.task:
            yield pen.write(f"Then do: {lesson.task}", BOLD)
        yield Text()
        first = "Enter takes the next step of the run. " if lesson.steps else ""
        yield pen.write(
            f"{first}Type the number of a choice, or a choice: lead 1 2 (p1 leads p2), request 1, settle 9 (at most "
            f"nine rounds, of which ? tells), …{' h tells a way to do it.' if lesson.hint else ''}"
        )

    return Drawing(draw)


def _show_step(console: Console, session: Session) -> None:
    """Show the last step, and what it broke."""
    here = session.here
    with bad_input_for(ValueError):
        story = session.story()
    if story.moments:
        for line in steps_before_last(story, len(here.steps)):
            print_path(console, line)
        show_step(console, story, len(story.moments) - 1, session, here)
    else:
        print_path(console, f"{session.protocol.name} with {counted(story.processes, 'process', 'processes')}, all up")
    if here.raised is not None:
        print_path(console, f"the protocol's own code raised {here.raised}", "bold red")
    elif here.broken and here.breaks == here.broken:
        console.print()
        console.print(terminal.render_heading(story), crop=False)
        if len(here.broken) > 1:
            print_path(console, are_violated(here.broken), "bold red")
    elif here.broken:
        print_path(console, are_violated(here.broken), "bold red")


def steps_before_last(story: Story, count: int) -> Iterator[str]:
    """Yield a line for each of the last `count` steps but the last one, which is shown with the state after it."""
    for moment in story.moments[-count:-1]:
        who = "" if moment.process is None else f"p{moment.process} "
        delivers = [f"  delivers {event.txn}" for event in moment.shown if isinstance(event, Deliver)]
        yield f"{moment.step:3} {who}{moment.action}{''.join(delivers)}"


def _shown(here: Position) -> Iterator[tuple[int, Sequence[Event]]]:
    for number, position in enumerate(here.path):
        yield number, position.events


def _groups(options: Sequence[Option]) -> Iterator[tuple[str, list[tuple[int, Option]]]]:
    """Group the options by kind, each with its number."""
    numbered = list(enumerate(options, 1))
    faults = [each for each in numbered if type(each[1].choice) in (*FAULTS, Snapshot)]
    elections = [each for each in numbered if isinstance(each[1].choice, Lead)]
    to_the_end = [each for each in numbered if isinstance(each[1].choice, Quiesce)]
    rest = [each for each in numbered if each not in (*faults, *elections, *to_the_end)]
    titles = ("the processes go on", "elections", AT_WILL, "no more faults")
    for title, some in zip(titles, (rest, elections, faults, to_the_end), strict=True):
        if some:
            yield title, some


def choice_of(words: Sequence[str]) -> Choice:
    """Return the choice that a line names: its kind, then the values of its fields; a last one may be several.

    A process may be written as it is shown, "p1".

    BadInput, with what was expected.
    """
    tag, *values = (re.sub(r"^p(\d+)$", r"\1", word) for word in words)
    kind = NAMES.get(tag)
    if kind is None:
        meant = f"did you mean {OTHERWISE[tag]}?" if tag in OTHERWISE else like(tag, NAMES, "? lists the choices")
        raise BadInput(f"no choice `{clean(tag)}`; {meant}; ?: help")
    fields = kind.__struct_fields__
    given: dict[str, object] = {"choice": tag, **dict(zip(fields, values, strict=False))}
    if fields and len(values) >= len(fields) - _takes_several(kind, fields[-1]):
        last = values[len(fields) - 1 :]
        given[fields[-1]] = last if _takes_several(kind, fields[-1]) else " ".join(last)
    elif values and not fields:
        raise BadInput(f"expected {tag} alone")
    try:
        return msgspec.convert(given, AnyChoice, strict=False)
    except msgspec.ValidationError:
        raise BadInput(f"expected {form_of(kind)}; ? {tag} says more") from None


def form_of(kind: type[Choice]) -> str:
    """Return how a choice of a kind is typed: its name and its fields, in brackets those that may be left out."""
    words = [str(kind.__struct_config__.tag)]
    for field in structs.fields(kind):
        name = field.name.upper()
        if get_origin(field.type) is tuple:
            words.append(f"[{name} …]")
        else:
            words.append(name if field.required else f"[{name}]")
    return " ".join(words)


def _takes_several(kind: type[Choice], name: str) -> bool:
    [field] = [field for field in structs.fields(kind) if field.name == name]
    return get_origin(field.type) is tuple


def tree(session: Session) -> Iterator[str]:
    """Yield a line for each position: indented where runs part, the one that the session is at with an arrow."""
    at = [(session.positions[0], 0)]
    while at:
        position, depth = at.pop()
        mark = "→" if position is session.here else " "
        broke = f": {are_violated(position.breaks)}" if position.breaks else ""
        yield f"{mark} {'  ' * depth}{position.number} {named_at(position)}{broke}"
        deeper = depth + (len(position.after) > 1)
        at += [(each, deeper) for each in reversed(position.after)]
