"""What a search has seen, added up over its runs."""

from invariants import Invariant
from zabcheck.search.goals import GOALS
from zabcheck.search.run import Run


class Tally:
    """Runs, steps, and for each property and goal how often it was exercised and reached."""

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
