"""One run: the simulator, the judge and the goals together; and a schedule executed again."""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from invariants import End, Event, Header, Invariant, Judge, Verdict, select
from invariants import trace as trace_format
from invariants.quorums import MAJORITY, Quorums, quorums_of
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.search.goals import Goals
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator


def collect_garbage_less_often() -> None:
    """For a process that does nothing but search: runs leave little behind that only the collector can free."""
    gc.set_threshold(50_000)


DEFAULT_PROCESSES = 3
MAX_PROCESSES = 99

MAX_STEPS = 5000
"""The longest run that Hypothesis can drive: it gives up on an example that draws more than some thousand times."""

Observer = Callable[[Any], None]


def dispatch(*tables: Mapping[type[Event], Observer]) -> Callable[[Event], None]:
    """One function that shows an event to the observers that its kind has in `tables`, and to nobody else."""
    observers: dict[type[Event], Observer] = {}
    for table in tables:
        for kind, observer in table.items():
            observers[kind] = _both(observers[kind], observer) if kind in observers else observer

    def show(event: Event) -> None:
        observer = observers.get(type(event))
        if observer is not None:
            observer(event)

    return show


def _both(first: Observer, second: Observer) -> Observer:
    def observer(event: Event) -> None:
        first(event)
        second(event)

    return observer


class Run:
    """A run that is judged while it goes on. Its events are not kept: `replay` shows them again.

    `watchers` are shown each event of the kinds that they name, after the judge.
    """

    def __init__(
        self,
        protocol: Protocol,
        processes: int,
        properties: Sequence[type[Invariant]],
        *,
        quorums: Quorums | None = None,
        switches: Switches = LETTER,
        remember: bool = True,
        watchers: Sequence[Mapping[type[Event], Observer]] = (),
    ) -> None:
        quorums = Quorums(processes) if quorums is None else quorums
        self.judge = Judge(properties, quorums=quorums)
        self.goals = Goals(quorums)
        show = dispatch(self.judge.observers, self.goals.observers, *watchers)
        self.simulator = Simulator(protocol, processes, show, quorums=quorums, switches=switches, remember=remember)

    def execute(self, choice: Choice) -> int:
        """The number of steps that `choice` took."""
        return self.simulator.execute(choice)

    @property
    def broken(self) -> str | None:
        """The property that was found broken first, if one is."""
        return self.judge.violated() if self.judge.broken else None


class Failed(Exception):
    """A run failed: after `choices`, the fine ones that it executed, with these switches and quorums.

    `seed` is the run's own, if it has one.
    """

    def __init__(
        self, why: str, choices: Iterable[Choice], switches: Switches, quorums: Quorums, seed: int | None
    ) -> None:
        super().__init__(why)
        self.choices = tuple(choices)
        self.switches = switches
        self.quorums = quorums
        self.seed = seed

    def schedule(self, protocol: str, mutant: str | None) -> Schedule:
        """The schedule of the run, in the current version of the format."""
        quorums = self.quorums
        return schedule_of(protocol, mutant, quorums.size, self.choices, quorums=quorums.name, switches=self.switches)


class PropertyBroken(Failed):
    """A run broke a property."""

    def __init__(self, property_: str, run: Run, seed: int | None = None) -> None:
        simulator = run.simulator
        super().__init__(property_, simulator.executed, simulator.switches, simulator.quorums, seed)
        self.property = property_


class ProtocolRaised(Failed):
    """A step of the protocol raised, as `raised` tells; `choices` include the one that led to it.

    No property is judged then.
    """

    def __init__(
        self,
        raised: StepRaised,
        choices: Iterable[Choice],
        switches: Switches,
        quorums: Quorums,
        seed: int | None = None,
    ) -> None:
        super().__init__(str(raised), choices, switches, quorums, seed)
        self.raised = raised


class Search(Struct, frozen=True):
    """What to search, and how far, by whatever engine.

    `runs` runs of up to `steps` steps each. `processes` None leaves their number to the engine, as `quorums` None does
    the quorum system. `on_run` is called with each run when it ends. `rng` is the seed; None leaves it to chance, and
    Hypothesis to `pytest --hypothesis-seed`. Each run draws its switches, but for those in `fixed`.
    """

    protocol: Protocol
    processes: int | None = None
    properties: tuple[str, ...] | None = None
    runs: int = 5000
    steps: int = 200
    rng: int | None = None
    on_run: Callable[[Run], None] = lambda _: None
    quorums: Quorums | None = None
    fixed: Mapping[str, Any] = {}


class Replay(Struct, frozen=True):
    """A schedule executed again, with everything that it showed."""

    schedule: Schedule
    events: list[Event]
    verdicts: list[Verdict]
    goals: list[str]
    steps: int
    skipped: int
    """How many choices were not possible when their turn came."""
    raised: StepRaised | None = None
    """What ended it before its time, if the protocol's code raised."""

    @property
    def trace(self) -> bytes:
        """The trace in its JSON Lines form, header and end included."""
        return b"".join(trace_format.dump(self.events))

    @property
    def sha256(self) -> str:
        """Of the trace; the same on every machine."""
        return sha256(self.trace).hexdigest()


def header(schedule: Schedule) -> Header:
    """The first line of the trace of this schedule."""
    builtins = msgspec.to_builtins(schedule)
    return Header(1, schedule.processes, schedule.protocol, schedule.quorums, schedule=builtins)


def simulate(schedule: Schedule, show: Callable[[Event], None], *, network: bool = False) -> Simulator:
    """A simulator as `schedule` wants it, with none of its choices executed.

    ValueError if it names a protocol, mutant or quorum system that there is not; StepRaised if a process cannot start.
    """
    return Simulator(
        mutated(schedule.protocol, schedule.mutant),
        schedule.processes,
        show,
        quorums=quorums_of(schedule.quorums, schedule.processes),
        switches=schedule.switches,
        network=network,
    )


def replay(schedule: Schedule, properties: Iterable[str] | None = None) -> Replay:
    """Execute a schedule and judge what it shows. ValueError if it names a protocol or mutant that there is not."""
    kinds = select(properties)
    quorums = quorums_of(schedule.quorums, schedule.processes)
    judge = Judge(kinds, quorums=quorums)
    goals = Goals(quorums)
    events: list[Event] = [header(schedule)]

    def show(event: Event) -> None:
        events.append(event)
        judge.observe(event)
        observer = goals.observers.get(type(event))
        if observer is not None:
            observer(event)

    steps, skipped, raised = 0, 0, None

    def on_step(choice: Choice) -> None:
        nonlocal steps
        steps += 1

    try:
        simulator = simulate(schedule, show, network=True)
        simulator.on_step = on_step
        for choice in schedule.choices:
            skipped += not simulator.execute(choice)
    except StepRaised as error:
        raised = error
    events.append(End(len(events) - 1, complete=raised is None))
    return Replay(schedule, events, judge.finish(raised is None), list(goals.reached), steps, skipped, raised)


def schedule_of(
    protocol: str,
    mutant: str | None,
    processes: int,
    choices: Iterable[Choice],
    violates: str | None = None,
    *,
    quorums: str = MAJORITY,
    switches: Switches = LETTER,
) -> Schedule:
    """A schedule of these choices, in the current version of the format."""
    known = tuple(choices)
    return Schedule(1, protocol, processes, known, mutant, quorums, violates, switches)  # type: ignore[arg-type]  # all are AnyChoice
