"""The checks of a gate: search each protocol, count what was exercised and reached, hunt for the mutants."""

from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from shlex import quote
from time import monotonic, process_time
from typing import Literal

from msgspec import Struct, structs

from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.making import counterexample
from zabcheck.counterexample.saving import save
from zabcheck.counterexample.story import Story
from zabcheck.gate.configuration import Configuration, goals_of, kills_of
from zabcheck.invariants import select
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.base import Protocol
from zabcheck.search.engines import find
from zabcheck.search.goals import GOALS
from zabcheck.search.hunt import Budget, MutantSummary, OutOfTime, hunt, row_of
from zabcheck.search.minimise import SECONDS, minimise
from zabcheck.search.report.summary import shows, undelivered
from zabcheck.search.run import PropertyBroken, ProtocolRaised, Run, Search
from zabcheck.search.tally import Tally
from zabcheck.simulation.processes import in_the_middle_of
from zabcheck.text.words import as_text, counted

MUTANTS = "known bugs"
NO_TIME = "the time limit was reached"
MOST_A_STEP = 0.1
"""The most that a single step may take of the gate's time, if that is less than the protocol's own limit."""
LEAST_MINIMISING = 1.0
"""The CPU seconds that a counterexample may take if the time limit has been reached."""


Status = Literal["passed", "failed", "inconclusive", "error"]


class Outcome(Struct, frozen=True):
    """One demand of the gate, and how it went.

    failed: a property is broken, or a mutant survived. inconclusive: something was not exercised or reached, or time
    ran out first. error: the protocol's own code raised.
    """

    suite: str
    """The protocol that was checked, or `MUTANTS`."""
    name: str
    status: Status
    message: str
    """One line."""
    detail: str = ""
    """A counterexample, as text."""
    seconds: float = 0.0
    """CPU time."""
    files: tuple[str, ...] = ()
    lacking: Literal["", "events", "deliveries"] = ""
    """Things that more runs would not bring: the events by which a goal is seen, or deliveries of followers."""


class GateReport(Struct, frozen=True):
    """The result of a gate: all outcomes, the hunts for mutants, and totals. `seconds` is CPU time."""

    outcomes: tuple[Outcome, ...]
    kills: tuple[MutantSummary, ...]
    runs: int
    steps: int
    seconds: float

    @property
    def done(self) -> str:
        """The search, in words."""
        runs, steps = counted(self.runs, "run", "runs"), counted(self.steps, "step", "steps")
        return f"{runs}, {steps}, {self.seconds:.1f} CPU seconds"

    def of(self, *statuses: Status) -> list[Outcome]:
        return [each for each in self.outcomes if each.status in statuses]


class Gate:
    """One pass of the gate. `on_run` is called with every finished run; `doing` then says what the run was for."""

    def __init__(self, configuration: Configuration, on_run: Callable[[Run], None] = lambda _: None) -> None:
        self.configuration = configuration
        self.on_run = on_run
        self.doing = ""
        self.place = 0
        """The number of runs so far, counting those that a search did not need."""
        self.searches = 0
        self.stories: list[tuple[Story, str]] = []
        """The counterexamples found, each with the file of its schedule."""
        self.runs = 0
        self.steps = 0
        self.kills: list[MutantSummary] = []
        self.deadline = 0.0
        self.interrupted = False

    def check(self) -> GateReport:
        """Check everything that the configuration demands. KeyboardInterrupt ends it early, with what is known."""
        start = process_time()
        self.deadline = monotonic() + self.configuration.time_limit
        outcomes = [each for protocol in self.configuration.protocols for each in self._check_protocol(protocol)]
        outcomes += self._hunt_mutants()
        return GateReport(tuple(outcomes), tuple(self.kills), self.runs, self.steps, round(process_time() - start, 3))

    @property
    def over(self) -> bool:
        return self.interrupted or monotonic() > self.deadline

    def _begin(self, what: str) -> None:
        """Note that a search begins."""
        self.doing = what
        self.place = self.searches * self.configuration.runs
        self.searches += 1

    def _count(self, run: Run) -> None:
        self.runs += 1
        self.place += 1
        self.steps += run.simulator.steps
        try:
            self.on_run(run)
        except KeyboardInterrupt:
            self.interrupted = True

    @property
    def _why_over(self) -> str:
        return "interrupted" if self.interrupted else NO_TIME

    # Protocols.

    def _check_protocol(self, name: str) -> Iterator[Outcome]:
        wanted = self.configuration
        protocol = mutated(name)
        # A step that never returns must not use up the time of all the others.
        patience = min(protocol.step_seconds, wanted.time_limit * MOST_A_STEP)
        protocol = structs.replace(protocol, step_seconds=patience)
        kinds = select(wanted.properties or protocol.properties)
        tally = Tally(kinds, followers=wanted.properties is None)
        for seed in wanted.seeds:
            yield self._search(protocol, seed, tally)
        if not tally.runs:
            yield Outcome(name, "properties and goals", "inconclusive", "there was no run to count")
            return
        done = counted(tally.runs, "run", "runs")
        for property_, runs in tally.exercised.items():
            if tally.violated != property_:
                yield _seen(name, f"{property_} is exercised", runs, f"exercised by none of {done}")
        if tally.undelivered is not None:
            message = undelivered(tally.undelivered)
            yield Outcome(name, "followers deliver", "inconclusive", message, lacking="deliveries")
        for goal in goals_of(wanted):
            missing = tally.unseen.get(goal, ())
            message = (
                f"cannot be seen: no run {shows(missing)}" if missing else f"reached by none of {done}: {GOALS[goal]}"
            )
            outcome = _seen(name, f"goal {goal}", tally.goals[goal], message)
            yield structs.replace(outcome, lacking="events" if missing else "")

    def _search(self, protocol: Protocol, seed: int, tally: Tally) -> Outcome:
        wanted = self.configuration
        start, before = process_time(), tally.runs

        def on_run(run: Run) -> None:
            tally.add(run)
            self._count(run)
            # The end of a run may show a violation that no event of the run did, so `run.broken` is not enough.
            left = tally.runs - before < wanted.runs
            if left and self.over and not any(verdict.status == "violated" for verdict in run.judge.finish()):
                raise OutOfTime

        search = Search(
            protocol,
            wanted.processes,
            tuple(tally.judged),
            wanted.runs,
            wanted.steps,
            seed,
            on_run,
        )
        name = f"seed {seed}"
        self._begin(f"{protocol.name}, {name}")
        if self.over:
            return Outcome(protocol.name, name, "inconclusive", f"not searched: {self._why_over}")
        try:
            found = find(wanted.engine, search)
        except KeyboardInterrupt as error:
            self.interrupted |= not isinstance(error, OutOfTime)  # a second Ctrl-C does not wait for the end of a run
            message = f"{tally.runs - before:,} of {counted(wanted.runs, 'run', 'runs')}: {self._why_over}"
            message += in_the_middle_of(error)
            return Outcome(protocol.name, name, "inconclusive", message, seconds=round(process_time() - start, 3))
        except ProtocolRaised as failed:
            outcome = Outcome(protocol.name, name, "error", f"the protocol's own code raised {failed.raised.said}")
            return self._explained(outcome, failed, start)
        if found is None:
            message = f"{counted(tally.runs - before, 'run', 'runs')}, nothing broken"
            return Outcome(protocol.name, name, "passed", message, seconds=round(process_time() - start, 3))
        outcome = Outcome(protocol.name, name, "failed", f"{found.property} is violated")
        return self._explained(outcome, found, start)

    def _explained(self, outcome: Outcome, found: PropertyBroken | ProtocolRaised, start: float) -> Outcome:
        """Return the outcome with its counterexample, minimised and saved. Ctrl-C only ends the minimisation.

        If the counterexample cannot be reproduced or saved, the message says so; a failure stays a failure.
        """
        message, files = outcome.message, []
        try:
            try:
                left = max(self.deadline - monotonic(), LEAST_MINIMISING)
                replayed, story = counterexample(found, min(SECONDS, left))
            except KeyboardInterrupt:
                self.interrupted = True
                replayed, story = counterexample(found, seconds=0)
        except ValueError as error:  # the protocol does something else each time it is run
            return structs.replace(outcome, status="error", message=f"{message}, but not again: {error}")
        if story.violation is not None:
            message += f": {story.violation.summary}"
        out = Path(self.configuration.out)
        try:
            files = save(out, replayed, story)
        except OSError as error:
            message += f" (not saved: {out}: {error.strerror})"
        saved = quote(str(files[0])) if files else "FILE"
        self.stories.append((story, saved))
        return structs.replace(
            outcome,
            message=message,
            detail=to_text(story, TEXT_WIDTH, file=saved),
            seconds=round(process_time() - start, 3),
            files=tuple(map(as_text, files)),
        )

    # Mutants.

    def _hunt_mutants(self) -> Iterator[Outcome]:
        wanted = self.configuration
        for mutant in kills_of(wanted):
            name = mutant.name
            if self.over:
                yield Outcome(MUTANTS, name, "inconclusive", f"not searched for: {self._why_over}")
                continue
            self._begin(name)
            start = process_time()
            budget = Budget(wanted.runs, wanted.steps, inf)  # no limit of CPU seconds: the gate goes by the clock
            try:
                found = hunt(
                    mutant,
                    wanted.seeds[0],
                    wanted.engine,
                    budget,
                    wanted.properties,
                    self._count,
                    minimise,
                    lambda: self.over,
                )
            except KeyboardInterrupt:
                self.interrupted = True
                yield Outcome(MUTANTS, name, "inconclusive", f"not found yet: {self._why_over}")
                continue
            except ProtocolRaised as failed:
                outcome = Outcome(MUTANTS, name, "error", f"the code of the known bug raised {failed.raised.said}")
                yield self._explained(outcome, failed, start)
                continue
            self.kills.append(row_of(name, [found]))
            seconds = round(found.seconds + found.minimising, 3)
            if found.property is not None:
                message = f"{found.property} broke in {counted(found.minimised or 0, 'step', 'steps')}"
                yield Outcome(MUTANTS, name, "passed", message, seconds=seconds)
            elif found.runs < wanted.runs:
                yield Outcome(MUTANTS, name, "inconclusive", f"not found yet: {self._why_over}", seconds=seconds)
            else:
                message = f"survived {counted(found.runs, 'run', 'runs')}: {mutant.wrong}"
                yield Outcome(MUTANTS, name, "failed", message, seconds=seconds)


def _seen(suite: str, name: str, runs: int, otherwise: str) -> Outcome:
    """Return the outcome "passed" if there are such runs, else "inconclusive" with the message `otherwise`."""
    if runs:
        return Outcome(suite, name, "passed", f"in {counted(runs, 'run', 'runs')}")
    return Outcome(suite, name, "inconclusive", otherwise)
