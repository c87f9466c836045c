"""Nodes in other languages: steps a second, beside the same protocol in Python, and how soon a planted bug is found.

`make -C kits` builds them. A step that waits for another process costs by the clock more than in CPU seconds, which are
those of zabcheck and of the nodes together.
"""

from collections.abc import Callable
from functools import partial
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import monotonic

from tests.kits.kits import KITS
from zabcheck.invariants import select
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.external import pool
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.zab import ZAB
from zabcheck.search.run import Search
from zabcheck.search.swarm import find
from zabcheck.search.tally import Tally
from zabcheck.simulation.simulator import Simulator

RUNS, STEPS = 20, 200
SIZES = (3, 5)
PROPERTIES = ("core", "causality", "protocol")


def main() -> None:
    for size in SIZES:
        rates = {"in Python": measured(lambda: ZAB, size)}
        for name, kit in KITS.items():
            rates[name] = measured(partial(external, kit.command), size)
        least = rates["in Python"][1]
        for name, (steps, cpu, clock) in rates.items():
            told = f"{steps / clock:8,.0f} steps a second, {steps / cpu:8,.0f} a CPU second"
            print(f"{size} processes  {name:10}  {told}, {least and cpu / least:5.1f} times the CPU time", flush=True)
    for name, kit in KITS.items():
        found = [first(kit.command, kit.bug, seed) for seed in range(1, 6)]
        print(f"{name:10}  {kit.bug}: {'; '.join(found)}", flush=True)


def measured(protocol: Callable[[], Protocol], size: int) -> tuple[int, float, float]:
    """Return the steps of the same runs, the CPU seconds and the seconds by the clock that they take."""
    searched = protocol()
    tally_steps = 0

    def count(simulator: Simulator) -> None:
        nonlocal tally_steps
        tally_steps += simulator.steps

    cpu, clock = spent(), monotonic()
    switches = {"histories": "full", "application": "none"}
    search = Search(searched, size, ("core",), RUNS, STEPS, 1, lambda run: count(run.simulator), fixed=switches)
    broken = find(search)
    assert broken is None, broken
    end = monotonic()
    pool.close_all()
    return tally_steps, spent() - cpu, end - clock


def spent() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def first(command: str, bug: str, seed: int) -> str:
    """Return how many runs and seconds it takes until a planted bug is found."""
    plant = external(command).plant
    assert plant is not None
    tally, clock = Tally(select(PROPERTIES)), monotonic()
    broken = find(Search(plant(bug), 3, PROPERTIES, 5000, STEPS, seed, tally.add))
    assert broken is not None, (bug, seed)
    return f"{tally.runs} runs, {monotonic() - clock:.1f} s"
