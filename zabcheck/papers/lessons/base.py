"""A lesson: a run to take up, a question about it, a task, and the ways that a reader may go on."""

from collections.abc import Iterable
from dataclasses import dataclass

from zabcheck.invariants import Event, Local
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule


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
        missing = set(self.events) - {(type(event), event.process) for event in events if isinstance(event, Local)}
        broken = set(broken)
        return not missing and (self.breaks is None or self.breaks in broken) and broken.isdisjoint(self.unless)


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
    def solution(self) -> Way:
        """The first way that does the task."""
        return next(way for way in self.ways if way.does_it)
