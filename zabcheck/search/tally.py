"""Add up what a search has seen over its runs."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from invariants import Invariant
from invariants.quorums import MAJORITY
from zabcheck.search.goals import GOALS
from zabcheck.search.run import Run


class PropertySummary(Struct, frozen=True):
    """One property over all runs of a search."""

    property: str
    status: str
    exercised: int
    """In how many runs its condition was met."""
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
    """Those that were fixed; the others were drawn for each run."""
    found_by: int | None = None


class Tally:
    """Counts runs, steps, and for each property and goal how often it was exercised and reached."""

    def __init__(self, properties: list[type[Invariant]]) -> None:
        self.runs = 0
        self.steps = 0
        self.exercised = {kind.name: 0 for kind in properties}  # in how many runs
        self.judged = {kind.name: 0 for kind in properties}  # how often, in all runs together
        self.violated: str | None = None
        self.goals = dict.fromkeys(GOALS, 0)  # in how many runs

    def add(self, run: Run) -> None:
        """Count a run that is over."""
        self.runs += 1
        self.steps += run.simulator.steps
        self.violated = self.violated or run.broken
        for verdict in run.judge.finish():
            if verdict.status == "violated":
                self.violated = self.violated or verdict.property  # settled only by the end of the run
            self.judged[verdict.property] += verdict.judged
            if verdict.judged:
                self.exercised[verdict.property] += 1
        for goal in run.goals.reached:
            self.goals[goal] += 1
