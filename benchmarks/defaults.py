"""Measures how soon `zabcheck run` finds each known bug with no option but --seed, and whether every seed does."""

from collections.abc import Sequence
from statistics import median
from time import process_time

from tests.search.more_bugs import MORE_BUGS
from zabcheck.invariants import select
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import Protocol
from zabcheck.search.engines import DEFAULT, find
from zabcheck.search.run import Search
from zabcheck.search.tally import Tally

SEEDS = range(1, 21)


def main(seeds: Sequence[int] = SEEDS) -> None:
    """Print a Markdown table, a line for each bug when it is measured; some minutes of CPU time."""
    known = {name: mutated(bug.protocol, name) for name, bug in CATALOGUE.items()}
    print("| bug | found | runs, median (worst) | CPU s, median (worst) |", "|---|---|---|---|", sep="\n")
    for name, protocol in {**known, **MORE_BUGS}.items():
        found = [found_with(protocol, seed) for seed in seeds]
        hits = [each for each in found if each is not None]
        figures = "| |"
        if hits:
            runs, seconds = zip(*hits, strict=True)
            figures = f"{median(runs):.0f} ({max(runs):,}) | {median(seconds):.2f} ({max(seconds):.2f}) |"
        print(f"| {name} | {len(hits)} of {len(seeds)} | {figures}", flush=True)


def found_with(protocol: Protocol, seed: int) -> tuple[int, float] | None:
    """Search as `zabcheck run --seed SEED` does; return the runs and CPU seconds that it took, None if not found."""
    kinds = select(protocol.properties)
    tally = Tally(kinds)
    start = process_time()
    broken = find(DEFAULT, Search(protocol, None, tuple(kind.name for kind in kinds), rng=seed, on_run=tally.add))
    return None if broken is None else (tally.runs, process_time() - start)
