"""A lesson: a run to take up, a question about it, a task, and the ways that a reader may go on."""

from collections.abc import Iterable
from dataclasses import dataclass

from zabcheck.invariants import Deliver, Event, Local, Promise, Ready
from zabcheck.simulation.choices import AnyChoice, Choice, Cut, Mend
from zabcheck.simulation.schedule import Schedule

_TO_DO: dict[type[Event], str] = {
    Promise: "has to promise an epoch",
    Ready: "has to be established as a leader",
    Deliver: "has to deliver a transaction",
}


@dataclass(frozen=True)
class Task:
    """A state of affairs that the reader has to bring about.

    Each pair of `events` is a kind of event and the process at which one has to happen; `breaks` is the property that
    has to be violated, None if none has to; the properties of `unless` must not be.
    """

    sentence: str
    events: tuple[tuple[type[Local], int], ...] = ()
    breaks: str | None = None
    unless: tuple[str, ...] = ()

    def is_done(self, events: Iterable[Event], broken: Iterable[str]) -> bool:
        """Tell whether a run with these events, in which these properties are violated, does the task."""
        return not self.left(events, broken)

    def left(self, events: Iterable[Event], broken: Iterable[str]) -> tuple[str, ...]:
        """Return, in words, what is still to do after a run with these events that violates these properties."""
        seen, broken = {(type(event), event.process) for event in events if isinstance(event, Local)}, {*broken}
        left = [f"p{process} {_TO_DO[kind]}" for kind, process in self.events if (kind, process) not in seen]
        if self.breaks is not None and self.breaks not in broken:
            left.append(f"{self.breaks} has to be violated")
        if too_much := [each for each in self.unless if each in broken]:
            left.append(f"{', '.join(too_much)} must not be violated: go back")
        return tuple(left)


@dataclass(frozen=True)
class Way:
    """One way to go on: its choices, `label` for them, and why it ends as it does. `does_it`: it does the task."""

    label: str
    choices: tuple[AnyChoice, ...]
    why: str
    does_it: bool = False


@dataclass(frozen=True)
class Lesson:
    """A lesson of a minute or two.

    The `introduction` is to be read first. The run `given` has been made already; the reader predicts the answer to
    `question`, then does the `task`. Each of `ways` answers the question, and at least one does the task.
    """

    name: str
    title: str
    source: str
    teaches: str
    given: Schedule
    question: str
    task: Task
    ways: tuple[Way, ...]

    @property
    def introduction(self) -> str:
        """The text `teaches`, and whether the run has steps for the disk."""
        at_once = " In this run each write is on the disk at once." if self.given.switches.sync == "atomic" else ""
        return f"{self.teaches}{at_once}"

    @property
    def needs(self) -> frozenset[type[Choice]]:
        """The kinds of the choices of its ways, and those that undo a cut."""
        kinds = {type(choice) for way in self.ways for choice in way.choices}
        return frozenset(kinds | ({Mend} if Cut in kinds else set()))

    @property
    def solution(self) -> Way:
        """The first way that does the task."""
        return next(way for way in self.ways if way.does_it)
