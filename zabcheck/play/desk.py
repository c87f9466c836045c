"""A desk: a session, with what a person asked about it; the acts of a person, and the answers.

A page shows a desk (`zabcheck.play.regions`), a server hands acts on to it (`zabcheck.play.server`). An act that cannot
be done changes nothing.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.chances import TRIES, TRIES_TO_BREAK, break_from_here, chances
from zabcheck.play.lesson import SUFFIX
from zabcheck.play.lesson import dump as dump_lesson
from zabcheck.play.link import LinkError, link_of, linked
from zabcheck.play.session import NotPossible, Position, Session
from zabcheck.play.standalone import standalone
from zabcheck.protocols.base import StepRaised
from zabcheck.search.run import MAX_STEPS
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.text.nodes import option_of
from zabcheck.text.words import counted

MOST_TRIES = 4000
"""The most random continuations of a curve: from each position of a long run fewer start."""
FEWEST_TRIES = 20

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

    question: Literal["right step", "violation", "decided", "chances"]
    name: _Name = ""
    """The property of the question, or the known bug."""


class Open(Act, frozen=True):
    """Add the run of a link as a branch."""

    link: str


class Continue(Act, frozen=True):
    """Begin the next lesson."""


AnyAct = Do | Undo | Redo | Go | Compare | Ask | Open | Continue

_ACTS: msgspec.json.Decoder[AnyAct] = msgspec.json.Decoder(AnyAct)


class Refused(Exception):
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
    """Another run beside the one up to `here`: that of `session`, up to `other`. `title` says which it is."""

    title: str
    here: Position
    session: Session
    other: Position


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
    """A record of what servers did for each choice of the run that a session began with.

    `title` names them. For each choice `done` says in words what was done to them, and `compared` how many of them
    were compared with the run then. Each execution that came to an end `ended` at a choice at which it differed (-1:
    before the first; None: at none), with words for what came of it; `cut_off` tells of the others.
    """

    title: str
    done: tuple[tuple[str, ...], ...]
    compared: tuple[int, ...]
    ended: tuple[tuple[int | None, str], ...]
    cut_off: tuple[str, ...] = ()

    def _choice(self, position: Position) -> int | None:
        """Return the number of the choice that led to a position of the run, from 0; None if another one led there."""
        return position.number - 1 if 0 < position.number <= len(self.done) else None

    def _differ(self, choice: int) -> list[str]:
        """Return what is said of the executions that differ at a choice; at the first one also of the start."""
        return [said for place, said in self.ended if place is not None and choice == max(place, 0)]

    def mark(self, position: Position) -> str:
        """Return "=" if servers were compared there and all were as the run, "≠" if one differed; "" otherwise."""
        choice = self._choice(position)
        if choice is None or not self.ended:
            return ""
        if self._differ(choice):
            return "≠"
        same = all(place is None or place > choice for place, _ in self.ended)
        return "=" if same and self.compared[choice] else ""

    def said_at(self, position: Position) -> list[str]:
        """Return what was done for the choice that led to a position, and what came of it; nothing if not known."""
        choice = self._choice(position)
        if choice is None:
            return []
        same = sum(place is None or place > choice for place, _ in self.ended)
        before = sum(place is not None and max(place, 0) < choice for place, _ in self.ended)
        reached = len(self.ended) - before
        lines = [*self.done[choice]]
        if self.compared[choice] and reached:
            servers = counted(self.compared[choice], "server", "servers")
            executions = counted(reached, "execution", "executions")
            lines.append(f"{servers} compared: as in the model in {same} of {executions}")
        lines += self._differ(choice)
        if before:
            lines.append(f"{counted(before, 'execution', 'executions')} differed before")
        return lines

    def result(self) -> list[str]:
        """Return what came of each execution, those first that came to an end."""
        return [*(said for _, said in self.ended), *self.cut_off]


class Desk:
    """A session with the last answer, an exercise and a layer if there are any. `version` counts what was done."""

    def __init__(self, session: Session, exercise: Exercise | None = None, layer: Layer | None = None) -> None:
        self.session = session
        self.exercise = exercise
        self.layer = layer
        self.version = 0
        self.answer: Answer | None = None
        self.compared: Beside | None = None

    def act(self, data: bytes) -> None:
        """Do what the JSON of an act says. Refused if it cannot be done; then nothing is changed."""
        act = act_in(data)
        try:
            self._do(act)
        except NotPossible as error:
            raise Refused(f"not possible: {error}") from None
        except (ValueError, StepRaised) as error:
            raise Refused(str(error)) from None
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
                self.compared = Beside(f"the run to position {number}", session.here, session, other)
            case Ask(question, name):
                self.answer = self._answer(question, name)
            case Open(link):
                self._open(link)
            case Continue():
                self._continue()
                return
        if session.here is not before:
            self.answer = None
            if self.compared is not None:
                other = self.compared.other
                self.compared = Beside(self.compared.title, session.here, session, other)

    def _continue(self) -> None:
        if self.exercise is None or self.exercise.following is None:
            raise Refused("there is no next lesson")
        following = self.exercise.following()
        self.session, self.exercise, self.layer = following.session, following.exercise, following.layer
        self.answer = self.compared = None

    def _position(self, number: int) -> Position:
        if not 0 <= number < len(self.session.positions):
            raise Refused(f"expected a position from 0 to {len(self.session.positions) - 1}, found {number}")
        return self.session.positions[number]

    def _answer(self, question: str, name: str) -> Answer | None:
        session = self.session
        match question:
            case "right step":
                return self._twin(name)
            case "violation":
                found = break_from_here(session, session.properties)
                if found is None:
                    return Said(f"{TRIES_TO_BREAK:,} random continuations from here break no property.")
                session.follow(found)
                return None
            case "decided":
                decisive = explain_replay(session.replay(), decisive=True).decisive
                return Said(decisive.sentence if decisive else "Nothing is violated here, or nothing decides it.")
            case _:
                return self._curve(name or next(iter(session.here.broken), session.properties[0]))

    def _twin(self, bug: str) -> Beside:
        """Give the same choices to the protocol without its known bug, or with one if it has none."""
        session, protocol = self.session, self.session.protocol
        if protocol.mutant is None and not bug:
            raise Refused("expected a known bug: none is planted in this protocol")
        twin = session.with_protocol(mutated(protocol.name, None if protocol.mutant is not None else bug))
        how = f"without {protocol.mutant}" if protocol.mutant is not None else f"with {bug}"
        return Beside(f"the same choices {how}", session.here, twin, twin.here)

    def _curve(self, property_: str) -> Curve:
        path = self.session.here.path
        tries = max(FEWEST_TRIES, min(TRIES, MOST_TRIES // len(path)))
        found = chances(self.session, property_, tries)
        return Curve(property_, tries, tuple(zip(path, found, strict=True)))

    def _open(self, link: str) -> None:
        session = self.session
        try:
            schedule = schedules.load(linked(link).schedule, "the link")
        except (LinkError, schedules.ScheduleError) as error:
            raise Refused(f"the link: {error}") from None
        mine = session.schedule(session.positions[0])
        fields = ("protocol", "mutant", "processes", "quorums", "switches")
        if any(getattr(schedule, field) != getattr(mine, field) for field in fields):
            raise Refused("the link: it is a run of something else; zabcheck play and the link opens it")
        if len(schedule.choices) > MAX_STEPS:
            raise Refused(f"the link: expected at most {MAX_STEPS:,} choices")
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
            raise Refused(str(error)) from None
        raise Refused(f"there is no file {name}")


def act_in(data: bytes) -> AnyAct:
    """Return the act that this JSON says. Refused if there is no such act."""
    try:
        return _ACTS.decode(data)
    except NOT_DECODED as error:
        raise Refused(f"no such act: {error}") from None


def parting(one: Sequence[Position], other: Sequence[Position]) -> int:
    """Return how many positions two runs begin with that have the same choices."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a.choice != b.choice:
            break
        same += 1
    return same
