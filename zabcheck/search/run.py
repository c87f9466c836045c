"""One run: the simulator, the judge and the goals together; and a schedule executed again."""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

import zabcheck.proof.monitors  # noqa: F401  # adds the properties `refinement` and `proof`
from zabcheck.invariants import FURTHER, End, Event, Halt, Header, Invariant, Judge, Verdict, select
from zabcheck.invariants import trace as trace_format
from zabcheck.invariants.quorums import MAJORITY, Quorums, quorums_of
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.base import Protocol, StepRaised, check_quorums
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.search.goals import Goals
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator


def collect_garbage_less_often() -> None:
    """Have the garbage collector run seldom: a search leaves little behind that only the collector can free."""
    gc.set_threshold(max(50_000, gc.get_threshold()[0]))


DEFAULT_PROCESSES = 3
MAX_PROCESSES = 99

MAX_STEPS = 5000
"""The longest run that Hypothesis can drive: it gives up on an example that draws more than some thousand times."""

Observer = Callable[[Any], None]


def dispatch(*tables: Mapping[type[Event], Observer]) -> Callable[[Event], None]:
    """Return a function that shows an event to the observers that `tables` have for its kind, in that order."""
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

    Each event is shown to the judge, then to the goals, then to those of `watchers` that have an observer for its kind.
    `exits` has the ends of processes that ended by themselves, for good.
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
        check_quorums(protocol, quorums)
        self.judge = Judge(properties, quorums=quorums)
        self.goals = Goals(quorums)
        self.exits: list[Halt] = []
        show = dispatch(self.judge.observers, self.goals.observers, {Halt: self.exits.append}, *watchers)
        self.simulator = Simulator(protocol, processes, show, quorums=quorums, switches=switches, remember=remember)

    @classmethod
    def of(cls, simulator: Simulator, judge: Judge) -> "Run":
        """Return the run that `simulator` goes on with and `judge` has judged so far, without what is for drawing only.

        Both are forked: the run changes neither of them.
        """
        run = cls.__new__(cls)
        run.judge = judge.fork()
        run.goals = Goals(simulator.quorums)
        run.exits = []
        run.simulator = simulator.fork(run.judge.observe)
        run.simulator.draw_nothing()
        return run

    def execute(self, choice: Choice) -> int:
        """Execute `choice` and return the number of its steps. StepRaised if the protocol's code raises."""
        return self.simulator.execute(choice)

    @property
    def broken(self) -> str | None:
        """The property that was found broken first; None while all are whole."""
        return self.judge.violated() if self.judge.broken else None


class RunFailed(Exception):
    """A run of `protocol` failed after `choices`, the fine ones that it executed, with these switches and quorums.

    `seed` is the seed of this one run; None if it has none of its own.
    """

    def __init__(
        self,
        why: str,
        protocol: Protocol,
        choices: Iterable[Choice],
        switches: Switches,
        quorums: Quorums,
        seed: int | None,
    ) -> None:
        super().__init__(why)
        self.protocol = protocol
        self.choices = tuple(choices)
        self.switches = switches
        self.quorums = quorums
        self.seed = seed

    @property
    def schedule(self) -> Schedule:
        """The schedule of the run, in the current version of the format."""
        protocol, quorums = self.protocol, self.quorums
        return schedule_of(
            protocol.name, protocol.mutant, quorums.size, self.choices, quorums=quorums.name, switches=self.switches
        )


class PropertyBroken(RunFailed):
    """A run broke a property."""

    def __init__(self, property_: str, run: Run, seed: int | None = None) -> None:
        simulator = run.simulator
        super().__init__(property_, simulator.protocol, simulator.executed, simulator.switches, simulator.quorums, seed)
        self.property = property_


class ProtocolRaised(RunFailed):
    """A step of the protocol raised `raised`; `choices` include the one that led to it.

    No property is judged in such a run.
    """

    def __init__(
        self,
        raised: StepRaised,
        protocol: Protocol,
        choices: Iterable[Choice],
        switches: Switches,
        quorums: Quorums,
        seed: int | None = None,
    ) -> None:
        super().__init__(str(raised), protocol, choices, switches, quorums, seed)
        self.raised = raised


class Search(Struct, frozen=True):
    """The protocol to search, and the limits, for any engine.

    The search makes `runs` runs of up to `most_steps` steps each. If `processes` or `quorums` is None, the engine
    chooses the number of processes, or the quorum system. `on_run` is called with each run when it ends. `rng` is the
    seed; with None the swarm draws one, and Hypothesis takes that of `pytest --hypothesis-seed`. Each run draws its
    switches, except for those in `fixed`.
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

    @property
    def most_steps(self) -> int:
        """The most steps of a run, about: `steps`, or twice as many if the messages of elections are steps."""
        return min(2 * self.steps, MAX_STEPS) if self.fixed.get("elections") == "fle" else self.steps


class Replay(Struct, frozen=True):
    """A schedule executed again, with everything that the run showed.

    `protocol` and `quorums` are those that the schedule names.
    """

    protocol: Protocol
    quorums: Quorums
    schedule: Schedule
    events: list[Event]
    verdicts: list[Verdict]
    goals: list[str]
    steps: int
    skipped: int
    """The number of choices that were not enabled when their turn came."""
    raised: StepRaised | None = None
    """The exception of the protocol's code that ended the run; None if it did not raise."""

    @property
    def trace(self) -> bytes:
        """The trace in its JSON Lines form, header and end included."""
        return b"".join(trace_format.dump(self.events))

    @property
    def sha256(self) -> str:
        """The SHA-256 of the trace, which is the same on every machine."""
        return sha256(self.trace).hexdigest()


def header(schedule: Schedule) -> Header:
    """Return the first line of the trace of this schedule."""
    builtins = msgspec.to_builtins(schedule)
    return Header(1, schedule.processes, schedule.protocol, schedule.quorums, schedule=builtins)


def named_by(schedule: Schedule) -> Protocol:
    """Look up the protocol that a schedule names, with its mutant. ValueError if there is no such protocol or mutant.

    A caller that reads a schedule calls this once and hands the protocol on, so that all parts of a report are about
    the same protocol.
    """
    return mutated(schedule.protocol, schedule.mutant)


def simulate(
    protocol: Protocol, schedule: Schedule, show: Callable[[Event], None], *, network: bool = False
) -> Simulator:
    """Return a simulator of `protocol`, which `schedule` names, with none of the choices executed.

    ValueError if there is no such quorum system as the schedule names; StepRaised if a process cannot start.
    """
    assert (protocol.name, protocol.mutant) == (schedule.protocol, schedule.mutant), "it is the one that is named"
    quorums = quorums_of(schedule.quorums, schedule.processes)
    check_quorums(protocol, quorums)
    return Simulator(
        protocol,
        schedule.processes,
        show,
        quorums=quorums,
        switches=schedule.switches,
        network=network,
    )


def replay(schedule: Schedule, properties: Iterable[str] | None = None) -> Replay:
    """Look up the protocol that a schedule names, execute the schedule, and judge what it shows.

    ValueError if there is no such protocol, mutant, quorum system or property.
    """
    return replay_on(named_by(schedule), schedule, properties)


def replay_on(protocol: Protocol, schedule: Schedule, properties: Iterable[str] | None = None) -> Replay:
    """Execute a schedule on `protocol`, which it names, and judge what it shows by these properties.

    None: by all, and by the one that it is said to violate if that is chosen by its name only. ValueError if there is
    no such quorum system or property. Cost: one execution; memory O(events).
    """
    quorums = quorums_of(schedule.quorums, schedule.processes)
    kinds = select(properties, quorums)
    if properties is None and schedule.violates in FURTHER and FURTHER[schedule.violates] not in kinds:
        kinds.append(FURTHER[schedule.violates])
    judge = Judge(kinds, quorums=quorums)
    goals = Goals(quorums)
    events: list[Event] = [header(schedule)]

    def show(event: Event) -> None:
        events.append(event)
        judge.observe(event)
        goals.observe(event)

    steps, skipped, raised = 0, 0, None

    def on_step(choice: Choice) -> None:
        nonlocal steps
        steps += 1

    try:
        simulator = simulate(protocol, schedule, show, network=True)
        simulator.on_step = on_step
        for choice in schedule.choices:
            skipped += not simulator.execute(choice)
    except StepRaised as error:
        raised = error
    events.append(End(len(events) - 1, complete=raised is None))
    return Replay(
        protocol, quorums, schedule, events, judge.finish(raised is None), list(goals.reached), steps, skipped, raised
    )


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
    """Make a schedule of these choices, in the current version of the format."""
    known = tuple(choices)
    return Schedule(1, protocol, processes, known, mutant, quorums, violates, switches)
