"""A session: a run that goes on by the choices of a person, who may go back and choose otherwise.

What was tried is kept as a tree. Its latest positions, and some of the others, have the simulator and the judge as they
were there, so that to go back costs next to nothing; between those, some choices are executed again. A session reads
no input and shows nothing: a terminal, a notebook or a page does that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import structs

from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.page import framed
from zabcheck.counterexample.story import Story
from zabcheck.invariants import End, Event, Judge, Verdict, select
from zabcheck.invariants.quorums import MAJORITY, Configuration, quorums_of
from zabcheck.play.possible import candidates, obstacle, unknown
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.search.goals import Goals
from zabcheck.search.run import Replay, header, replay_on, schedule_of, simulate
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator

LATEST = 256
"""The positions, visited last, whose states are kept: one takes some ten kilobytes."""
LONG = 2000
"""The choices of a run from which on the states that are kept get fewer, as each of them grows with the run."""
FEWEST_LATEST = 64
"""The fewest of them, however long the run is."""
EVERY = 64
"""The distance between the other positions whose state is kept: at most as many choices are executed again."""


class NotPossible(Exception):
    """A choice that cannot be made here. The message says why, in a few words."""


@dataclass(eq=False)
class Position:
    """The run after some choices. `number` counts positions in the order in which they were reached, from 0."""

    number: int
    depth: int
    """The number of choices that led here."""
    before: "Position | None"
    choice: Choice | None
    """The choice that led here; None at the beginning."""
    executed: tuple[Choice, ...]
    """The fine choices that it stood for."""
    events: tuple[Event, ...]
    """The events that it led to, messages included."""
    steps: tuple[tuple[Choice, tuple[Event, ...]], ...]
    """The steps that it consisted of, each with its events."""
    broken: tuple[str, ...]
    """The properties that are violated if the run ends here, in the order in which they were found to be. A later
    delivery may repair agreement."""
    raised: StepRaised | None
    """The exception of the protocol's code that ended the run here."""
    after: "list[Position]" = field(default_factory=list)
    """The positions that were reached from here, in the order in which they were tried first."""
    latest: "Position | None" = None
    """The one of them that was visited last."""

    @property
    def breaks(self) -> tuple[str, ...]:
        """The properties that are violated here and were not before."""
        before = () if self.before is None else self.before.broken
        return tuple(each for each in self.broken if each not in before)

    @property
    def path(self) -> "list[Position]":
        """The positions from the beginning to this one."""
        back: list[Position] = []
        at: Position | None = self
        while at is not None:
            back.append(at)
            at = at.before
        return back[::-1]


@dataclass(frozen=True)
class Option:
    """A choice that is possible, with the events that it would lead to."""

    choice: Choice
    events: tuple[Event, ...]


class Session:
    """A run of `protocol` that is `here`; and all `positions` in which it has been.

    >>> from zabcheck.mutants.catalogue import mutated
    >>> from zabcheck.simulation import choices
    >>> session = Session(mutated("zab", "commit-on-own-ack"), 3)
    >>> session.follow([choices.Lead(1, (2, 3)), choices.Settle(9), choices.Request(1)])
    0
    >>> session.do(choices.Sync(1)).broken
    ('chosen',)
    >>> session.undo().broken
    ()
    """

    def __init__(
        self,
        protocol: Protocol,
        processes: int = 3,
        *,
        quorums: str | None = None,
        switches: Switches | None = None,
        properties: Sequence[str] | None = None,
    ) -> None:
        """Begin with processes that are all up. `properties` are those to judge by; None: those of the protocol.

        `quorums` names the quorum system; None: majorities, or for a protocol that changes its configuration one of
        all processes. ValueError if the protocol has no such quorum system, or if there is no such property;
        StepRaised if a process cannot start.
        """
        self.protocol = protocol
        self._properties = properties if properties is not None else protocol.properties
        if quorums is None:
            everyone = Configuration(processes, tuple(range(1, processes + 1)))
            quorums = everyone.name if protocol.environment.configurations else MAJORITY
        self._quorums = quorums_of(quorums, processes)
        self._kinds = select(self._properties, self._quorums)
        self.properties = tuple(kind.name for kind in self._kinds)
        """The names of the properties that the run is judged by."""
        self._switches = protocol.switches() if switches is None else switches
        events: list[Event] = []
        simulator = simulate(protocol, self._schedule_of(()), events.append, network=True)
        judge = Judge(self._kinds, quorums=self._quorums)
        for event in events:
            judge.observe(event)
        simulator.remember = False
        self.positions = [Position(0, 0, None, None, (), tuple(events), (), tuple(judge.violated_at_end()), None)]
        self._anchors = {0: (simulator, judge)}
        self._raising: dict[tuple[int, Choice], tuple[Event, ...]] = {}
        """The events of choices that raise, by position: a step that does not return is not waited for again."""
        self._latest: dict[int, tuple[Simulator, Judge]] = {}
        """The states of positions by number, the one that was visited last at the end."""
        self.here = self.positions[0]

    @classmethod
    def of(cls, protocol: Protocol, schedule: Schedule, properties: Sequence[str] | None = None) -> "Session":
        """Execute a schedule, which names `protocol`, and be at its end. A choice that is not possible is passed over.

        Each choice of the schedule leads to a position. Errors as in `Session()`.
        """
        session = cls(
            protocol,
            schedule.processes,
            quorums=schedule.quorums,
            switches=schedule.switches,
            properties=properties,
        )
        session.follow(schedule.choices)
        return session

    def follow(self, choices: Sequence[Choice]) -> int:
        """Make these choices from here, as far as they are possible. Return how many were not."""
        passed_over = 0
        for choice in choices:
            try:
                self.do(choice)
            except NotPossible:
                passed_over += 1
        return passed_over

    # What can happen next.

    @property
    def simulator(self) -> Simulator:
        """The simulator as it is here: to be looked at, and not to be moved."""
        return self.simulator_at(self.here)

    def simulator_at(self, position: Position) -> Simulator:
        """Return the simulator as it was at a position, likewise. Cost: up to EVERY choices, if it is an old one."""
        return self._state(position)[0]

    def _state(self, position: Position) -> tuple[Simulator, Judge]:
        """Return the simulator and the judge at a position; if they are not kept, by executing some choices again."""
        number = position.number
        if number in self._anchors:
            return self._anchors[number]
        state = self._latest.pop(number, None)
        if state is None:
            state = self._executed_again(position)
        self._keep(position, *state)
        return state

    def _executed_again(self, position: Position) -> tuple[Simulator, Judge]:
        again: list[Position] = []
        at = position
        while at.number not in self._anchors and at.number not in self._latest:
            again.append(at)
            assert at.before is not None, "the first position has its state"
            at = at.before
        simulator, judge = self._anchors.get(at.number) or self._latest[at.number]
        simulator, judge = simulator.fork(lambda _: None), judge.fork()
        for each in reversed(again):
            assert each.choice is not None
            simulator.execute(each.choice)
            for event in each.events:
                judge.observe(event)
        return simulator, judge

    def _keep(self, position: Position, simulator: Simulator, judge: Judge) -> None:
        # A step that raised is not taken again.
        is_anchor = position.raised is not None or position.depth % EVERY == 0
        (self._anchors if is_anchor else self._latest)[position.number] = simulator, judge
        most = min(LATEST, max(FEWEST_LATEST, LATEST * LONG // max(LONG, position.depth)))
        while len(self._latest) > most:
            del self._latest[next(iter(self._latest))]

    def options(self) -> list[Option]:
        """Return the choices that are possible here, those of the protocol first, then elections, then faults.

        A crash comes once for each number of writes that may survive it. Cost: an execution of each, on a copy.
        """
        if self.here.raised is not None:
            return []
        tried = ((choice, self._events_of(choice)) for choice in candidates(self.simulator))
        return [Option(choice, events) for choice, events in tried if events is not None]

    def _events_of(self, choice: Choice) -> tuple[Event, ...] | None:
        """Return the events that a choice would lead to; None if it is not possible."""
        known = self._raising.get((self.here.number, choice))
        if known is not None:
            return known
        events: list[Event] = []
        simulator = self.simulator.fork(events.append)
        try:
            possible = simulator.execute(choice)
        except StepRaised:
            self._raising[self.here.number, choice] = tuple(events)
            possible = 1
        return tuple(events) if possible else None

    def why_not(self, choice: Choice) -> str:
        """Return why a choice is not possible here, in a few words; "" if it is."""
        if self.here.raised is not None:
            return "the protocol's own code raised an exception, so the run is over"
        if nobody := unknown(self.simulator, choice):
            return nobody
        return obstacle(self.simulator, choice) if self._events_of(choice) is None else ""

    # Going on, and back.

    def do(self, choice: Choice) -> Position:
        """Make a choice, and be where it leads: where it led before, if it was made here before. NotPossible.

        A protocol whose code raises ends the run there.
        """
        for known in self.here.after:
            if known.choice == choice:
                return self._be_at(known)
        if self.here.raised is not None or unknown(self.simulator, choice):
            raise NotPossible(self.why_not(choice))
        simulator, judge = self._state(self.here)
        judge = judge.fork()
        events: list[Event] = []

        def show(event: Event) -> None:
            events.append(event)
            judge.observe(event)

        simulator = simulator.fork(show)
        executed: list[Choice] = []
        simulator.remember, simulator.executed = True, executed
        ends: list[tuple[Choice, int]] = []
        simulator.on_step = lambda step: ends.append((step, len(events)))
        raised = None
        try:
            possible = simulator.execute(choice)
        except StepRaised as error:
            possible, raised = 1, error
        if not possible:
            raise NotPossible(obstacle(self.simulator, choice))
        simulator.remember, simulator.executed, simulator.on_step = False, [], None
        starts = [0, *(end for _, end in ends)]
        steps = tuple((step, tuple(events[start:end])) for start, (step, end) in zip(starts, ends, strict=False))
        broken = tuple(judge.violated_at_end() if raised is None else judge.all_violated())
        number, depth = len(self.positions), self.here.depth + 1
        position = Position(number, depth, self.here, choice, tuple(executed), tuple(events), steps, broken, raised)
        self.here.after.append(position)
        self.positions.append(position)
        self._keep(position, simulator, judge)
        return self._be_at(position)

    def undo(self) -> Position:
        """Be one choice back; at the beginning, stay."""
        return self._be_at(self.here.before or self.here)

    def redo(self) -> Position:
        """Be again where the last visit went on from here; if it did not, stay."""
        return self._be_at(self.here.latest or self.here)

    def go(self, number: int) -> Position:
        """Be at the position of this number. IndexError if there is none."""
        if not 0 <= number < len(self.positions):
            raise IndexError(f"expected a position from 0 to {len(self.positions) - 1}, found {number}")
        return self._be_at(self.positions[number])

    def _be_at(self, position: Position) -> Position:
        for each in position.path:
            if each.before is not None:
                each.before.latest = each
        self.here = position
        return position

    def branches(self) -> list[Position]:
        """Return the positions from which nothing was tried yet, in the order in which they were reached."""
        return [position for position in self.positions if not position.after]

    # What it comes to.

    def schedule(self, at: Position | None = None) -> Schedule:
        """Return the run up to here, or to a position, as a schedule of fine choices for `zabcheck replay`."""
        at = self.here if at is None else at
        schedule = self._schedule_of(tuple(choice for each in at.path for choice in each.executed))
        return structs.replace(schedule, violates=next(iter(at.broken), None))

    def _schedule_of(self, choices: tuple[Choice, ...]) -> Schedule:
        return schedule_of(
            self.protocol.name,
            self.protocol.mutant,
            self._quorums.size,
            choices,
            quorums=self._quorums.name,
            switches=self._switches,
        )

    def replay(self, at: Position | None = None) -> Replay:
        """Execute the run up to here, or to a position, once more, and judge it as a run that ends there. O(events)."""
        return replay_on(self.protocol, self.schedule(at), self._properties)

    def verdicts(self) -> list[Verdict]:
        """Judge the run up to here as one that ends here. O(what the judge remembers)."""
        return self._state(self.here)[1].fork().finish(self.here.raised is None)

    def shown(self) -> Replay:
        """Return what `replay` returns, but from what the run has shown already: nothing is executed. O(events)."""
        path = self.here.path
        events: list[Event] = [event for position in path for event in position.events]
        goals = Goals(self._quorums)
        for event in events:
            goals.observe(event)
        schedule, raised = self.schedule(), self.here.raised
        whole = [header(schedule), *events, End(len(events), complete=raised is None)]
        steps = sum(len(position.steps) for position in path)
        return Replay(
            self.protocol, self._quorums, schedule, whole, self.verdicts(), list(goals.reached), steps, 0, raised
        )

    def story(self, at: Position | None = None) -> Story:
        """Tell the run up to here, or to a position. ValueError if the protocol is not deterministic. O(events)."""
        return explain_replay(self.replay(at))

    def _repr_html_(self) -> str:
        """Show the run up to here in a notebook, as a page to step through."""
        return framed(self.story())

    def with_protocol(self, protocol: Protocol) -> "Session":
        """Return a session in which `protocol` is given the choices that led here, as far as they are possible.

        So it tells what would have happened if a planted bug were not there, or if it were.
        """
        session = Session(
            protocol,
            self._quorums.size,
            quorums=self._quorums.name,
            switches=self._switches,
            properties=self._properties,
        )
        session.follow([each.choice for each in self.here.path if each.choice is not None])
        return session
