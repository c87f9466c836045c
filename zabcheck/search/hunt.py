"""The hunt for a known bug: how soon a search finds it, and how short its counterexample becomes."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time

from msgspec import Struct

from zabcheck.invariants import FURTHER, PROPERTIES, select
from zabcheck.mutants.catalogue import mutated
from zabcheck.mutants.mutant import Mutant
from zabcheck.protocols.base import Protocol
from zabcheck.search.engines import DEFAULT, Engine, find
from zabcheck.search.minimise import Shortened, shortest
from zabcheck.search.run import Run, Search, replay_on
from zabcheck.search.tally import Tally
from zabcheck.simulation.schedule import Schedule


class Budget(Struct, frozen=True):
    """The limits of a hunt: at most `runs` runs of at most `steps` steps each, in about `seconds` CPU seconds."""

    runs: int = 20_000
    steps: int = 200
    seconds: float = 60.0


class Hunt(Struct, frozen=True):
    """One search for one mutant. `property` is the one that broke first, None if none did within the budget.

    The search took `runs`, `steps` and `seconds` (of CPU time) until then. `minimised` is the number of steps of the
    minimised counterexample, which took `minimising` CPU seconds more.
    """

    mutant: str
    seed: int
    property: str | None
    runs: int
    steps: int
    seconds: float
    minimised: int | None = None
    minimising: float = 0.0
    schedule: Schedule | None = None


class Spread(Struct, frozen=True):
    """The spread of a figure over several seeds."""

    median: float
    least: float
    most: float


class MutantSummary(Struct, frozen=True):
    """One mutant, hunted once for each seed. `first` counts the hunts in which each property was the first to break.

    A search took `runs`, `steps` and `seconds` (of CPU time) until then. `minimised` is the number of steps of the
    minimised counterexample. All of them None if no hunt found it.
    """

    mutant: str
    hunts: int
    found: int
    first: Mapping[str, int]
    runs: Spread | None
    steps: Spread | None
    seconds: Spread | None
    minimised: Spread | None
    minimising: Spread | None
    """CPU seconds of minimising."""


def spread(figures: Sequence[float]) -> Spread | None:
    """Return the median, the least and the largest of the figures; None if there are none."""
    return Spread(median(figures), min(figures), max(figures)) if figures else None


class OutOfTime(KeyboardInterrupt):
    """The budget is used up. It is a KeyboardInterrupt, as Hypothesis lets nothing else through."""


def hunt(
    mutant: Mutant,
    seed: int,
    engine: Engine = DEFAULT,
    budget: Budget = Budget(),  # noqa: B008  # it is immutable
    properties: tuple[str, ...] | None = None,
    on_run: Callable[[Run], None] = lambda _: None,
    shorten: Callable[[Protocol, Schedule, str], Shortened] = shortest,
    over: Callable[[], bool] = lambda: False,
) -> Hunt:
    """Search for `mutant` until it breaks one of `properties` (None: any of its protocol), or the budget is used up.

    `on_run` is called with each run when it ends; `over` returns True if something other than the budget ends the hunt.
    `shorten` makes the schedule that was found shorter: `minimise` takes less time than `shortest`.
    """
    protocol = mutated(mutant.protocol, None if mutant.is_whole else mutant.name)
    if properties is None:
        properties = protocol.properties  # it may break any other without the bug
    tally = Tally(select(properties))
    start = process_time()

    def count(run: Run) -> None:
        tally.add(run)
        on_run(run)
        # The end of a run may show what no event of it did, so `run.broken` does not tell.
        if tally.violated is None and (process_time() - start > budget.seconds or over()):
            raise OutOfTime

    # The swarm draws the number of processes; Hypothesis takes one with which the bug shows soon.
    processes = None if engine is Engine.swarm else mutant.processes
    search = Search(protocol, processes, properties, budget.runs, budget.steps, seed, count)
    try:
        broken = find(engine, search)
    except OutOfTime:
        broken = None
    seconds = process_time() - start
    if broken is None:
        return Hunt(mutant.name, seed, None, tally.runs, tally.steps, seconds)
    start = process_time()
    schedule = shorten(protocol, broken.schedule, broken.property).schedule
    minimising = process_time() - start
    steps = replay_on(protocol, schedule, [broken.property]).steps
    return Hunt(mutant.name, seed, broken.property, tally.runs, tally.steps, seconds, steps, minimising, schedule)


def row_of(mutant: str, hunts: Sequence[Hunt]) -> MutantSummary:
    """Sum up the hunts for one mutant."""
    found = [each for each in hunts if each.property is not None]
    first = [each.property for each in found]
    return MutantSummary(
        mutant,
        len(hunts),
        len(found),
        {name: first.count(name) for name in (*PROPERTIES, *FURTHER) if name in first},
        spread([each.runs for each in found]),
        spread([each.steps for each in found]),
        spread([round(each.seconds, 3) for each in found]),
        spread([each.minimised for each in found if each.minimised is not None]),
        spread([round(each.minimising, 3) for each in found]),
    )
