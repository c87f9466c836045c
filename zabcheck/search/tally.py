"""The sum of a search's observations over its runs."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from zabcheck.invariants import Event, Invariant, Txn
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.search.goals import GOALS, possible, unseen
from zabcheck.search.run import Run
from zabcheck.simulation.choices import FAULTS, Corrupt, Stabilise

SEVERAL = 3
"""The number of runs in which a process has to have broadcast before it matters that it never delivered anything."""


class PropertySummary(Struct, frozen=True):
    """One property over all runs of a search."""

    property: str
    status: str
    exercised: int
    """The number of runs in which its condition was met."""
    judged: int
    """The number of times that its condition was met, in all runs together."""


class SilentFollowers(Struct, frozen=True):
    """The followers of a search that never delivered anything, so that a pass would say nothing of them.

    `undisturbed` is the number of runs that ended with a leader whom nothing disturbed, in none of which a follower
    delivered what that leader broadcast. `processes` broadcast in some runs and delivered nothing in any; that is only
    looked at where no run ends undisturbed.
    """

    undisturbed: int
    processes: tuple[int, ...] = ()


class Exits(Struct, frozen=True):
    """The number of runs in which a process ended by itself, for good, and the first such end: the run is from 1 on.

    Runs with an altered record do not count: a process that finds one has to end.
    """

    runs: int
    run: int
    process: int
    reason: str


class Summary(Struct, frozen=True):
    """A search as data. `goals` counts the runs that reached each goal; `seconds` is CPU time.

    `processes` or `quorums` None: each run drew its own. `found_by` is the seed of the run that broke a property, if
    it has one of its own.
    """

    protocol: str
    mutant: str | None
    engine: str
    processes: int | None
    seed: int
    runs: int
    steps: int
    seconds: float
    properties: tuple[PropertySummary, ...]
    goals: Mapping[str, int]
    interrupted: bool = False
    quorums: str | None = MAJORITY
    switches: Mapping[str, Any] = {}
    """The fixed switches; the others were drawn for each run."""
    found_by: int | None = None
    sizes: Mapping[int, int] = {}
    """The number of runs by their number of processes."""
    weighted: int = 0
    """The number of runs with other quorums than majorities."""
    faults: Mapping[str, int] = {}
    """The number of runs in which each fault happened, by name. Faults that never happened are left out."""
    unseen: Mapping[str, tuple[str, ...]] = {}
    """The goals that these runs could not reach, each with the kinds of event that it needs and no run showed."""
    undelivered: SilentFollowers | None = None
    """The followers that never delivered anything; None if all is well."""
    exits: Exits | None = None


class Tally:
    """Counts runs, steps, and for each property and goal how often it was exercised and reached.

    With `followers` it also looks if they deliver anything: for a search that is judged by no properties of the user's
    own choice.
    """

    def __init__(self, properties: list[type[Invariant]], followers: bool = False) -> None:
        self.runs = 0
        self.steps = 0
        self.exercised = {kind.name: 0 for kind in properties}  # in how many runs
        self.judged = {kind.name: 0 for kind in properties}  # how often, in all runs together
        self.violated: str | None = None
        self.goals = dict.fromkeys(GOALS, 0)  # in how many runs
        self._sizes: dict[int, int] = {}
        self.weighted = 0
        self._faults = dict.fromkeys(FAULTS, 0)
        self.exits: Exits | None = None
        self._shown: set[type[Event]] = set()
        self._follows = not followers  # True once a follower has delivered what its undisturbed leader broadcast
        self._undisturbed = 0
        self._broadcast_in: dict[int, int] = {}  # process -> the number of runs
        self._delivers: set[int] = set()

    def add(self, run: Run) -> None:
        """Count a run that is over."""
        simulator = run.simulator
        self.runs += 1
        self.steps += simulator.steps
        size = simulator.quorums.size
        self._sizes[size] = self._sizes.get(size, 0) + 1
        self.weighted += simulator.quorums.name != MAJORITY
        kinds = {type(choice) for choice in simulator.executed}
        for fault in self._faults:
            self._faults[fault] += fault in kinds
        self.violated = self.violated or run.broken
        for verdict in run.judge.finish():
            if verdict.status == "violated":
                self.violated = self.violated or verdict.property  # only the end of the run settles it
            self.judged[verdict.property] += verdict.judged
            if verdict.judged:
                self.exercised[verdict.property] += 1
        for goal in run.goals.reached:
            self.goals[goal] += 1
        if run.exits and Corrupt not in kinds:
            first = Exits(0, self.runs, run.exits[0].process, run.exits[0].reason)
            self.exits = structs.replace(self.exits or first, runs=(self.exits or first).runs + 1)
        self._shown |= run.goals.shown | possible(simulator.protocol, simulator.switches.never)
        self._look_at_followers(run)

    def _look_at_followers(self, run: Run) -> None:
        """Note if a follower delivered what its leader broadcast after nothing disturbed them any more."""
        record, simulator = run.judge.record, run.simulator
        last = simulator.executed[-1] if simulator.executed else None
        if self._follows:
            return
        if "stabilise" in simulator.protocol.environment.never:
            senders = {sent.event.process for sent in record.sent.values()}
            for process in simulator.ids:
                self._broadcast_in[process] = self._broadcast_in.get(process, 0) + (process in senders)
                at = record.position(process)
                if at is not None and at.length:
                    self._delivers.add(process)
        elif isinstance(last, Stabilise) and run.simulator.may_broadcast(last.leader):
            followers = [process for process in last.quorum if process != last.leader]
            txns = _last_of(run, last.leader)
            if txns and followers:
                positions = [record.position(process) for process in followers]
                self._follows = any(at and record.contains(at, txn) for at in positions for txn in txns)
                self._undisturbed += 1

    @property
    def undelivered(self) -> SilentFollowers | None:
        """The followers that never delivered anything; None if all is well, or nothing is known."""
        silent = [p for p, runs in self._broadcast_in.items() if runs >= SEVERAL and p not in self._delivers]
        if silent:
            return SilentFollowers(0, tuple(sorted(silent)))
        return SilentFollowers(self._undisturbed) if self._undisturbed and not self._follows else None

    @property
    def unseen(self) -> dict[str, tuple[str, ...]]:
        """The goals that these runs could not reach, as `goals.unseen`."""
        return unseen(self._shown)

    @property
    def sizes(self) -> dict[int, int]:
        """The number of runs by their number of processes, ascending."""
        return dict(sorted(self._sizes.items()))

    @property
    def faults(self) -> dict[str, int]:
        """The number of runs in which each fault happened, by name."""
        return {FAULTS[fault]: runs for fault, runs in self._faults.items() if runs}


def _last_of(run: Run, process: int) -> list[Txn]:
    """Return what the process has broadcast in its last epoch, in its last incarnation."""
    record = run.judge.record
    incarnation = record.incarnation(process)
    own = [sent for sent in record.sent.values() if sent.primary[1:] == (process, incarnation)]
    last = max((sent.epoch for sent in own), default=0)
    return [sent.txn for sent in own if sent.epoch == last]
