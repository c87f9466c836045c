"""The sum of a search's observations over its runs."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from zabcheck.invariants import Invariant
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.search.goals import GOALS
from zabcheck.search.run import Run
from zabcheck.simulation.choices import FAULTS


class PropertySummary(Struct, frozen=True):
    """One property over all runs of a search."""

    property: str
    status: str
    exercised: int
    """The number of runs in which its condition was met."""
    judged: int
    """How often its condition was met, in all runs together."""


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


class Tally:
    """Counts runs, steps, and for each property and goal how often it was exercised and reached."""

    def __init__(self, properties: list[type[Invariant]]) -> None:
        self.runs = 0
        self.steps = 0
        self.exercised = {kind.name: 0 for kind in properties}  # in how many runs
        self.judged = {kind.name: 0 for kind in properties}  # how often, in all runs together
        self.violated: str | None = None
        self.goals = dict.fromkeys(GOALS, 0)  # in how many runs
        self._sizes: dict[int, int] = {}
        self.weighted = 0
        self._faults = dict.fromkeys(FAULTS, 0)

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

    @property
    def sizes(self) -> dict[int, int]:
        """The number of runs by their number of processes, ascending."""
        return dict(sorted(self._sizes.items()))

    @property
    def faults(self) -> dict[str, int]:
        """The number of runs in which each fault happened, by name."""
        return {FAULTS[fault]: runs for fault, runs in self._faults.items() if runs}
