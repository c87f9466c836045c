"""What a gate does: search each protocol, count what was exercised and reached, hunt for the mutants."""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from shlex import quote
from time import monotonic, process_time
from typing import Literal

from msgspec import Struct, structs

from invariants import select
from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.saving import counterexample, explain_raise, save
from zabcheck.counterexample.story import Story
from zabcheck.gate.configuration import Configuration, goals_of, kills_of
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.search.engines import find
from zabcheck.search.goals import GOALS
from zabcheck.search.hunt import Budget, MutantSummary, OutOfTime, hunt, row_of
from zabcheck.search.minimise import minimise
from zabcheck.search.run import ProtocolRaised, Replay, Run, Search
from zabcheck.search.tally import Tally
from zabcheck.text.words import as_text, counted

MUTANTS = "known bugs"
NO_TIME = "the time limit was reached"


Status = Literal["passed", "failed", "inconclusive", "error"]


class Outcome(Struct, frozen=True):
    """One thing that the gate demanded, and how it went.

    failed: a property is broken, or a mutant survived. inconclusive: something was not exercised or reached, or there
    was no time for it. error: the protocol's own code raised.
    """

    suite: str
    """What it is about: a protocol, or the mutants."""
    name: str
    status: Status
    message: str
    """One line."""
    detail: str = ""
    """A counterexample, as text."""
    seconds: float = 0.0
    """CPU time."""
    files: tuple[str, ...] = ()


class GateReport(Struct, frozen=True):
    """All outcomes, the hunts for mutants, and the totals. `seconds` is CPU time."""

    outcomes: tuple[Outcome, ...]
    kills: tuple[MutantSummary, ...]
    runs: int
    steps: int
    seconds: float

    def of(self, *statuses: Status) -> list[Outcome]:
        return [each for each in self.outcomes if each.status in statuses]


class Gate:
    """One pass of the gate; `on_run` is called with every run that ends, and `doing` says what it was for."""

    def __init__(self, configuration: Configuration, on_run: Callable[[Run], None] = lambda _: None) -> None:
        self.configuration = configuration
        self.on_run = on_run
        self.doing = ""
        self.place = 0
        """How far it has come, in runs. Those that a search had no need of count, too."""
        self.searches = 0
        self.stories: list[tuple[Story, str]] = []
        """What was found, each with the file of its schedule."""
        self.runs = 0
        self.steps = 0
        self.kills: list[MutantSummary] = []
        self.deadline = 0.0
        self.interrupted = False

    def check(self) -> GateReport:
        """Everything that the configuration demands. KeyboardInterrupt ends it early, with what is known until then."""
        start = process_time()
        self.deadline = monotonic() + self.configuration.time_limit
        outcomes = [each for protocol in self.configuration.protocols for each in self._check_protocol(protocol)]
        outcomes += self._hunt_mutants()
        return GateReport(tuple(outcomes), tuple(self.kills), self.runs, self.steps, round(process_time() - start, 3))

    @property
    def over(self) -> bool:
        return self.interrupted or monotonic() > self.deadline

    def _begin(self, what: str) -> None:
        """A search."""
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

    def _check_protocol(self, protocol: str) -> Iterator[Outcome]:
        wanted = self.configuration
        kinds = select(wanted.properties or mutated(protocol).properties)
        tally = Tally(kinds)
        for seed in wanted.seeds:
            yield self._search(protocol, seed, tally)
        if not tally.runs:
            yield Outcome(protocol, "properties and goals", "inconclusive", "there was no run to count")
            return
        done = counted(tally.runs, "run", "runs")
        for name, runs in tally.exercised.items():
            if tally.violated != name:
                yield _seen(protocol, f"{name} is exercised", runs, f"exercised by none of {done}")
        for name in goals_of(wanted):
            said = f"reached by none of {done}: {GOALS[name]}"
            yield _seen(protocol, f"goal {name}", tally.goals[name], said)

    def _search(self, protocol: str, seed: int, tally: Tally) -> Outcome:
        wanted = self.configuration
        start, before = process_time(), tally.runs

        def on_run(run: Run) -> None:
            tally.add(run)
            self._count(run)
            # The end of a run may show what no event of it did, so `run.broken` does not tell.
            left = tally.runs - before < wanted.runs
            if left and self.over and not any(verdict.status == "violated" for verdict in run.judge.finish()):
                raise OutOfTime

        search = Search(
            mutated(protocol),
            wanted.processes,
            tuple(tally.judged),
            wanted.runs,
            wanted.steps,
            seed,
            on_run,
        )
        name = f"seed {seed}"
        self._begin(f"{protocol}, {name}")
        if self.over:
            return Outcome(protocol, name, "inconclusive", f"not searched: {self._why_over}")
        try:
            found = find(wanted.engine, search)
        except KeyboardInterrupt as error:
            self.interrupted |= not isinstance(error, OutOfTime)  # a second Ctrl-C does not wait for the end of a run
            said = f"{tally.runs - before:,} of {wanted.runs:,} runs: {self._why_over}"
            return Outcome(protocol, name, "inconclusive", said, seconds=round(process_time() - start, 3))
        except ProtocolRaised as failed:
            outcome = Outcome(protocol, name, "error", f"the protocol's own code raised {failed.raised.said}")
            explain = partial(explain_raise, failed.schedule(protocol, None), failed.raised)
            return self._explained(outcome, explain, start)
        if found is None:
            said = f"{counted(tally.runs - before, 'run', 'runs')}, nothing broken"
            return Outcome(protocol, name, "passed", said, seconds=round(process_time() - start, 3))
        outcome = Outcome(protocol, name, "failed", f"{found.property} is violated")
        return self._explained(outcome, partial(counterexample, found.schedule(protocol, None), found.property), start)

    def _explained(self, outcome: Outcome, explain: Callable[..., tuple[Replay, Story]], start: float) -> Outcome:
        """The outcome with its counterexample, minimised (Ctrl-C costs only that) and saved.

        Where one of these is not possible the message says so; what failed stays what failed.
        """
        message, files = outcome.message, []
        try:
            try:
                replayed, story = explain()
            except KeyboardInterrupt:
                self.interrupted = True
                replayed, story = explain(seconds=0)
        except ValueError as error:  # the protocol does something else each time
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
        for name in kills_of(wanted):
            if self.over:
                yield Outcome(MUTANTS, name, "inconclusive", f"not searched for: {self._why_over}")
                continue
            self._begin(name)
            budget = Budget(wanted.runs, wanted.steps, inf)  # CPU seconds; what counts here is the clock
            try:
                found = hunt(
                    CATALOGUE[name],
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
            self.kills.append(row_of(name, [found]))
            seconds = round(found.seconds + found.minimising, 3)
            if found.property is not None:
                said = f"{found.property} broke in {counted(found.minimised or 0, 'step', 'steps')}"
                yield Outcome(MUTANTS, name, "passed", said, seconds=seconds)
            elif found.runs < wanted.runs:
                yield Outcome(MUTANTS, name, "inconclusive", f"not found yet: {self._why_over}", seconds=seconds)
            else:
                said = f"survived {counted(found.runs, 'run', 'runs')}: {CATALOGUE[name].wrong}"
                yield Outcome(MUTANTS, name, "failed", said, seconds=seconds)


def _seen(suite: str, name: str, runs: int, otherwise: str) -> Outcome:
    """Whether some run did it."""
    if runs:
        return Outcome(suite, name, "passed", f"in {counted(runs, 'run', 'runs')}")
    return Outcome(suite, name, "inconclusive", otherwise)
