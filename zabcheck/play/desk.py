"""A desk: a session, with what a person asked about it; the acts of a person, and the answers.

A page shows a desk (`zabcheck.play.regions`), a server hands acts on to it (`zabcheck.play.server`). An act that cannot
be done changes nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, structs

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.chances import TRIES, TRIES_TO_BREAK, GivenUp, break_from_here, chances
from zabcheck.play.lesson import SUFFIX
from zabcheck.play.lesson import dump as dump_lesson
from zabcheck.play.link import LinkError, link_of, linked
from zabcheck.play.session import NotPossible, Position, Session
from zabcheck.play.standalone import standalone
from zabcheck.protocols.base import StepRaised
from zabcheck.search.recording import variables_of
from zabcheck.search.run import MAX_STEPS
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.nodes import option_of
from zabcheck.text.words import counted

MOST_TRIES = 8000
"""The most random continuations of a curve: from each position of a long run fewer start."""
FEWEST_TRIES = 20
PATIENCE = 60
"""The seconds that random continuations may take: steps of a program of the user's may be slow, or not return."""
SERVED = "zookeeper"
"""The protocol whose runs servers can do."""

_Name = Annotated[str, Meta(max_length=200)]


class Act(Struct, frozen=True, tag_field="act", tag=str.lower, forbid_unknown_fields=True):
    """Base of the acts of a person; `act` is the name of the kind in the JSON form."""


class Do(Act, frozen=True):
    """Make a choice."""

    choice: AnyChoice


class Undo(Act, frozen=True):
    """Be one choice back."""


class Redo(Act, frozen=True):
    """Be again where the last visit went on from here."""


class Go(Act, frozen=True):
    """Be at a position; without a number, where the last visit of the run ended."""

    number: int | None = None


class Compare(Act, frozen=True):
    """Lay the run to this position beside the run that the session is at; without a number, no run."""

    number: int | None = None


class Ask(Act, frozen=True):
    """Ask a question about the run up to here."""

    question: Literal["right step", "violation", "decided", "chances", "servers"]
    name: _Name = ""
    """The property of the question, or the known bug."""


class Open(Act, frozen=True):
    """Add the run of a link as a branch."""

    link: str


class Continue(Act, frozen=True):
    """Begin the next lesson."""


AnyAct = Do | Undo | Redo | Go | Compare | Ask | Open | Continue

_ACTS: msgspec.json.Decoder[AnyAct] = msgspec.json.Decoder(AnyAct)


class ActRefused(Exception):
    """An act that cannot be done. The message says why, in a sentence."""


class Curve(Struct, frozen=True):
    """In how many of `tries` random continuations from each position a property breaks."""

    property: str
    tries: int
    found: tuple[tuple[Position, int], ...]


class Said(Struct, frozen=True):
    """An answer in words."""

    text: str


class Beside(Struct, frozen=True):
    """Another run beside the one up to `here`: that of `session`, up to `other`. `title` says which it is.

    `apart` are the first positions after as many choices of each at which their variables differ; None if none do.
    """

    title: str
    here: Position
    session: Session
    other: Position
    apart: tuple[Position, Position] | None


Answer = Curve | Said | Beside


class Exercise(Struct, frozen=True):
    """Texts to read, a question, and a task. If it `is_done` at a position, `why` is told, and what comes `after`.

    `left` says in words what of the task is still to do at a position. `hint` does the task. `steps` has a text for
    the position of each number from 1. Any text may be "". `following` makes the desk of the next lesson. `needs` are
    the kinds of the choices that are offered first; None: all.
    """

    title: str
    source: str
    teaches: str
    question: str
    task: str
    left: Callable[[Position], tuple[str, ...]]
    why: str
    after: str
    name: str = ""
    hint: tuple[AnyChoice, ...] = ()
    steps: tuple[str, ...] = ()
    following: "Callable[[], Desk] | None" = None
    needs: frozenset[type[Choice]] | None = None

    def is_done(self, position: Position) -> bool:
        """Tell whether there is a task, and it is done at a position."""
        return bool(self.task) and not self.left(position)

    def is_needed(self, choice: Choice) -> bool:
        """Tell whether a choice is of a kind that is offered first."""
        return self.needs is None or type(choice) in self.needs

    def said_at(self, position: Position) -> str:
        """Return the text of the step that led to a position, with its number; "" if it has none."""
        number = position.number
        if not 0 < number <= len(self.steps) or not self.steps[number - 1]:
            return ""
        return f"{number} of {len(self.steps)}: {self.steps[number - 1]}"


class Layer(Struct, frozen=True):
    """A record of what servers did for each fine choice of a run of a session.

    `title` names them. For each choice `done` says in words what was done to them, `compared` which of them were
    compared with the run then, and `places` has the number of the position to which it led, alone or with others. Each
    execution that came to an end `ended` at a choice at which it differed (-1: before the first; None: at none), with
    words for what came of it; `cut_off` tells of the others.
    """

    title: str
    done: tuple[tuple[str, ...], ...]
    compared: tuple[frozenset[str], ...]
    ended: tuple[tuple[int | None, str], ...]
    cut_off: tuple[str, ...]
    places: tuple[int, ...]

    def _choices(self, position: Position) -> list[int]:
        """Return the numbers of the fine choices that led to a position, from 0; none if servers did none of them."""
        return [choice for choice, place in enumerate(self.places) if place == position.number]

    def _differ(self, choices: Sequence[int]) -> list[str]:
        """Return what is said of the executions that differ at one of these choices; at the first also of the start."""
        return [said for place, said in self.ended if place is not None and max(place, 0) in choices]

    def knows(self, position: Position) -> bool:
        """Tell whether servers did what led to a position."""
        return position.number in self.places

    def mark(self, position: Position) -> str:
        """Return "=" if servers were compared there and all were as the run, "≠" if one differed; "" otherwise."""
        choices = self._choices(position)
        if not choices or not self.ended:
            return ""
        if self._differ(choices):
            return "≠"
        same = all(place is None or place > choices[-1] for place, _ in self.ended)
        return "=" if same and any(self.compared[choice] for choice in choices) else ""

    def said_at(self, position: Position) -> list[str]:
        """Return what was done for the choice that led to a position, and what came of it; nothing if not known."""
        choices = self._choices(position)
        if not choices:
            return []
        same = sum(place is None or place > choices[-1] for place, _ in self.ended)
        before = sum(place is not None and max(place, 0) < choices[0] for place, _ in self.ended)
        reached = len(self.ended) - before
        lines = [line for choice in choices for line in self.done[choice]]
        compared = frozenset[str]().union(*(self.compared[choice] for choice in choices))
        if compared and reached:
            servers = counted(len(compared), "server", "servers")
            executions = counted(reached, "execution", "executions")
            lines.append(f"{servers} compared: as in the model in {same} of {executions}")
        lines += self._differ(choices)
        if before:
            lines.append(f"{counted(before, 'execution', 'executions')} differed before")
        return lines

    def result(self) -> list[str]:
        """Return what came of each execution, those first that came to an end."""
        return [*(said for _, said in self.ended), *self.cut_off]


class Servers(Struct, frozen=True):
    """Servers that do a run of the session when they are asked to; `title` names them.

    `execute` has them do a schedule once and returns the record of it, with a place for each choice. It ends soon once
    `stop` is set. Refused if they cannot be had, or cannot do it.
    """

    title: str
    execute: Callable[[Schedule], Layer]
    stop: Event


class Desk:
    """A session with the last answer, and with an exercise, servers and layers if there are any.

    `version` counts what was done.
    """

    def __init__(
        self,
        session: Session,
        exercise: Exercise | None = None,
        layers: Sequence[Layer] = (),
        servers: Servers | None = None,
    ) -> None:
        self.session = session
        self.exercise = exercise
        self.layers = [*layers]
        self.servers = servers
        self.version = 0
        self._ends, self._until = Event(), 0.0
        """Questions are given up once it is set, and at this time."""
        self.answer: Answer | None = None
        self.compared: Beside | None = None

    def act(self, data: bytes) -> None:
        """Do what the JSON of an act says. Refused if it cannot be done; then nothing is changed."""
        act = act_in(data)
        try:
            self._do(act)
        except NotPossible as error:
            raise ActRefused(f"not possible: {error}") from None
        except (ValueError, StepRaised) as error:
            raise ActRefused(str(error)) from None
        self.version += 1

    def _do(self, act: AnyAct) -> None:
        session, before = self.session, self.session.here
        match act:
            case Do(choice):
                session.do(choice)
            case Undo():
                session.undo()
            case Redo():
                session.redo()
            case Go(None):
                while session.here.latest is not None:
                    session.redo()
            case Go(number) if number is not None:
                session.go(self._position(number).number)
            case Compare(None):
                self.compared = None
            case Compare(number) if number is not None:
                other = self._position(number)
                self.compared = self._beside(f"the run to position {number}", session, other)
            case Ask(question, name):
                self._until = monotonic() + PATIENCE
                self.answer = self._answer(question, name)
            case Open(link):
                self._open(link)
            case Continue():
                self._continue()
                return
        if session.here is not before:
            self.answer = None
            if self.compared is not None:
                self.compared = self._beside(self.compared.title, session, self.compared.other)

    def _continue(self) -> None:
        if self.exercise is None or self.exercise.following is None:
            raise ActRefused("there is no next lesson")
        following = self.exercise.following()
        self.session, self.exercise = following.session, following.exercise
        self.answer = self.compared = None

    def _position(self, number: int) -> Position:
        if not 0 <= number < len(self.session.positions):
            raise ActRefused(f"expected a position from 0 to {len(self.session.positions) - 1}, found {number}")
        return self.session.positions[number]

    def _answer(self, question: str, name: str) -> Answer | None:
        session = self.session
        match question:
            case "right step":
                return self._twin(name)
            case "violation":
                try:
                    found = break_from_here(session, session.properties, is_over=self._is_over)
                except GivenUp as over:
                    return Said(
                        f"In {PATIENCE} seconds {over.tried:,} random continuations from here broke no property."
                    )
                if found is None:
                    return Said(f"{TRIES_TO_BREAK:,} random continuations from here break no property.")
                session.follow(found)
                return None
            case "decided":
                decisive = explain_replay(session.replay(), decisive=True).decisive
                return Said(decisive.sentence if decisive else "Nothing is violated here, or nothing decides it.")
            case "servers":
                return Said(self.ask_servers())
            case _:
                return self._curve(name or next(iter(session.here.broken), session.properties[0]))

    def ask_servers(self) -> str:
        """Have the servers do the run up to here; return in words what came of it. Refused if they cannot."""
        if self.servers is None:
            raise ActRefused("expected servers: zabcheck play --on-zookeeper has some")
        session = self.session
        layer = self.servers.execute(session.schedule())
        places = tuple(position.number for position in session.here.path for _ in position.executed)
        self.layers.append(structs.replace(layer, places=places))
        return f"{layer.title}: {'; '.join(layer.result())}."

    def layer_at(self, position: Position) -> Layer | None:
        """Return the last layer that knows a position; else the last of all; None if there is none."""
        knowing = [layer for layer in self.layers if layer.knows(position)]
        return next(reversed(knowing or self.layers), None)

    def end(self) -> None:
        """Have an act that takes long end soon. May be called from another thread."""
        self._ends.set()
        if self.servers is not None:
            self.servers.stop.set()

    def _twin(self, bug: str) -> Beside:
        """Give the same choices to the protocol without its known bug, or with one if it has none."""
        session, protocol = self.session, self.session.protocol
        if protocol.mutant is None and not bug:
            raise ActRefused("expected a known bug: none is planted in this protocol")
        twin = session.with_protocol(mutated(protocol.name, None if protocol.mutant is not None else bug))
        how = f"without {protocol.mutant}" if protocol.mutant is not None else f"with {bug}"
        return self._beside(f"the same choices {how}", twin, twin.here)

    def _is_over(self) -> bool:
        return self._ends.is_set() or monotonic() > self._until

    def _beside(self, title: str, session: Session, other: Position) -> Beside:
        here = self.session.here
        return Beside(title, here, session, other, apart(self.session, here, session, other))

    def _curve(self, property_: str) -> Curve:
        path = self.session.here.path
        tries = max(FEWEST_TRIES, min(TRIES, MOST_TRIES // len(path)))
        try:
            found = chances(self.session, property_, tries, is_over=self._is_over)
        except GivenUp as over:
            whole = len(path) * tries
            raise ActRefused(f"given up after {PATIENCE} seconds: {over.tried:,} of {whole:,} continuations") from None
        return Curve(property_, tries, tuple(zip(path, found, strict=True)))

    def _open(self, link: str) -> None:
        session = self.session
        try:
            schedule = schedules.load(linked(link).schedule, "the link")
        except (LinkError, schedules.ScheduleError) as error:
            raise ActRefused(f"the link: {error}") from None
        mine = session.schedule(session.positions[0])
        fields = ("protocol", "mutant", "processes", "quorums", "switches")
        if any(getattr(schedule, field) != getattr(mine, field) for field in fields):
            raise ActRefused("the link: it is a run of something else; zabcheck play and the link opens it")
        if len(schedule.choices) > MAX_STEPS:
            raise ActRefused(f"the link: expected at most {MAX_STEPS:,} choices")
        session.go(0)
        session.follow(schedule.choices)

    @property
    def heading(self) -> str:
        """The protocol, its known bug and the number of processes, in a few words."""
        protocol = self.session.protocol
        bug = f" with {protocol.mutant}" if protocol.mutant is not None else ""
        return f"{protocol.name}{bug}, {counted(len(self.session.simulator.ids), 'process', 'processes')}"

    # What is taken away.

    def link(self) -> tuple[str, str]:
        """Return the run up to here as a link, and the SHA-256 of its trace."""
        shown = self.session.shown()
        return link_of(shown), shown.sha256

    def command(self, link: str) -> str:
        """Return the command that takes the run up."""
        return f"zabcheck play {link}{option_of(self.session.protocol.name)}"

    def file(self, name: str) -> bytes:
        """Return the content of `run.schedule.json`, `run.lesson.json`, `test_run.py` or `run.html`.

        Refused if there is none.
        """
        try:
            if name == "run.schedule.json":
                return schedules.dump(self.session.schedule())
            if name == f"run{SUFFIX}":
                return dump_lesson(self.session)
            if name == "test_run.py":
                return regression_test(self.session.story()).encode()
            if name == "run.html":
                return standalone(self.session, self.heading).encode()
        except ValueError as error:
            raise ActRefused(str(error)) from None
        raise ActRefused(f"there is no file {name}")


def act_in(data: bytes) -> AnyAct:
    """Return the act that this JSON says. Refused if there is no such act."""
    try:
        return _ACTS.decode(data)
    except NOT_DECODED as error:
        raise ActRefused(f"no such act: {error}") from None


def parting(one: Sequence[Position], other: Sequence[Position]) -> int:
    """Return how many positions two runs begin with that have the same choices."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a.choice != b.choice:
            break
        same += 1
    return same


def apart(session: Session, here: Position, other: Session, there: Position) -> tuple[Position, Position] | None:
    """Return the first positions, after as many choices of each of two runs, at which their variables differ.

    None if they differ at none that both have. Cost: an execution of the choices up to there.
    """
    pairs = list(zip(here.path, there.path, strict=False))
    start = max(0, sum(one is two for one, two in pairs) - 1)  # the last that they share
    simulators = [
        each.simulator_at(position).fork(lambda _: None)
        for each, position in zip((session, other), pairs[start], strict=True)
    ]
    with suppress(StepRaised):
        for place, pair in enumerate(pairs[start:]):
            for simulator, position in zip(simulators, pair, strict=True):
                if place and position.choice is not None:
                    simulator.execute(position.choice)
            one, two = map(variables_of, simulators)
            if one != two:
                return pair
    return None
