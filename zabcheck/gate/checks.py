"""What a gate does: search each protocol, count what was exercised and reached, hunt for the mutants."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, process_time

from invariants import select
from zabcheck.counterexample import TEXT_WIDTH, counterexample, explain_raise, save
from zabcheck.gate.configuration import Configuration, goals_of, kills_of
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.report.gate import GateReport, Outcome
from zabcheck.report.matrix import Row
from zabcheck.report.story import Story
from zabcheck.report.terminal import to_text
from zabcheck.search.engines import find
from zabcheck.search.goals import GOALS
from zabcheck.search.hunt import Budget, OutOfTime, hunt, row_of
from zabcheck.search.minimise import minimise
from zabcheck.search.run import PropertyBroken, ProtocolRaised, Replay, Run, Search
from zabcheck.search.tally import Tally

MUTANTS = "known bugs"
NO_TIME = "the time limit was reached first"


class Gate:
    """One pass of the gate; `on_run` is called with every run that ends."""

    def __init__(self, configuration: Configuration, on_run: Callable[[Run], None] = lambda _: None) -> None:
        self.configuration = configuration
        self.on_run = on_run
        self.runs = 0
        self.steps = 0
        self.kills: list[Row] = []
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

    def _count(self, run: Run) -> None:
        self.runs += 1
        self.steps += run.simulator.steps
        self.on_run(run)

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
        for name, runs in tally.exercised.items():
            if tally.violated != name:
                yield _seen(protocol, f"{name} is exercised", runs, f"exercised by none of {tally.runs:,} runs")
        for name in goals_of(wanted):
            said = f"reached by none of {tally.runs:,} runs: {GOALS[name]}"
            yield _seen(protocol, f"goal {name}", tally.goals[name], said)

    def _search(self, protocol: str, seed: int, tally: Tally) -> Outcome:
        wanted = self.configuration
        start, before = process_time(), tally.runs

        def on_run(run: Run) -> None:
            tally.add(run)
            self._count(run)
            if self.over and not run.broken:
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
        if self.over:
            return Outcome(protocol, name, "inconclusive", f"not searched: {self._why_over}")
        try:
            found = find(wanted.engine, search)
        except KeyboardInterrupt as error:
            self.interrupted |= not isinstance(error, OutOfTime)
            said = f"{tally.runs - before:,} of {wanted.runs:,} runs: {self._why_over}"
            return Outcome(protocol, name, "inconclusive", said, seconds=process_time() - start)
        except ProtocolRaised as raised:
            replayed, story = explain_raise(raised.schedule(protocol, None), raised.raised)
            said = f"the protocol's own code raised {raised.raised.said}"
            return self._told(Outcome(protocol, name, "error", said), replayed, story, start)
        if found is None:
            said = f"{tally.runs - before:,} runs, nothing broken"
            return Outcome(protocol, name, "passed", said, seconds=process_time() - start)
        return self._broken(protocol, name, found, start)

    def _broken(self, protocol: str, name: str, found: PropertyBroken, start: float) -> Outcome:
        replayed, story = counterexample(found.schedule(protocol, None), found.property)
        assert story.violation is not None
        said = f"{found.property} is violated: {story.violation.summary}"
        return self._told(Outcome(protocol, name, "failed", said), replayed, story, start)

    def _told(self, outcome: Outcome, replayed: Replay, story: Story, start: float) -> Outcome:
        """The outcome with its counterexample, which is saved."""
        files = save(Path(self.configuration.out), replayed, story)
        return Outcome(
            outcome.suite,
            outcome.name,
            outcome.status,
            outcome.message,
            to_text(story, TEXT_WIDTH, file=str(files[0])),
            process_time() - start,
            tuple(map(str, files)),
        )

    # Mutants.

    def _hunt_mutants(self) -> Iterator[Outcome]:
        wanted = self.configuration
        for name in kills_of(wanted):
            if self.over:
                yield Outcome(MUTANTS, name, "inconclusive", f"not searched for: {self._why_over}")
                continue
            budget = Budget(wanted.runs, wanted.steps, self.deadline - monotonic())
            try:
                found = hunt(
                    CATALOGUE[name], wanted.seeds[0], wanted.engine, budget, wanted.properties, self._count, minimise
                )
            except KeyboardInterrupt:
                self.interrupted = True
                yield Outcome(MUTANTS, name, "inconclusive", f"not found yet: {self._why_over}")
                continue
            self.kills.append(row_of(name, [found]))
            seconds = found.seconds + found.minimising
            if found.property is not None:
                said = f"{found.property} broke in {found.minimised} steps"
                yield Outcome(MUTANTS, name, "passed", said, seconds=seconds)
            elif self.over:
                yield Outcome(MUTANTS, name, "inconclusive", f"not found yet: {self._why_over}", seconds=seconds)
            else:
                said = f"survived {found.runs:,} runs: {CATALOGUE[name].wrong}"
                yield Outcome(MUTANTS, name, "failed", said, seconds=seconds)


def _seen(suite: str, name: str, runs: int, otherwise: str) -> Outcome:
    """Whether some run did it."""
    if runs:
        return Outcome(suite, name, "passed", f"{runs:,} runs")
    return Outcome(suite, name, "inconclusive", otherwise)
