"""Measures how soon the swarm finds each known bug of ZooKeeper in the release that has it, over twenty seeds.

The tables of docs/notes/zookeeper-model-searches.md. A search ends without the bug once it has cost 30 CPU seconds, so
a figure of a seed that fails is at least that. Bugs that come upon an error and break no property are found with
`errors=raised`.
"""

from collections.abc import Sequence
from statistics import median
from time import process_time

from tests.zookeeper.model.test_search import ERRORS, FOUND
from zabcheck.invariants import select
from zabcheck.protocols import PROTOCOLS
from zabcheck.search import swarm
from zabcheck.search.run import ProtocolRaised, Search

SEEDS = range(1, 21)
_RUNS = 1_000
"""The runs of a search are made in parts, between which its cost is looked at."""
_MOST_SECONDS = 30.0


def main(bugs: Sequence[str] = (*FOUND, *ERRORS), seeds: Sequence[int] = SEEDS) -> None:
    """Print a Markdown table, a line for each bug when it is measured; up to ten CPU minutes for a rare one."""
    print("| bug | release | grain | found | CPU s, median (worst) | runs, median (worst) |")
    print("|---|---|---|---|---|---|")
    for bug in bugs:
        release, grain, *_ = (FOUND | ERRORS)[bug]
        found = [found_with(bug, seed) for seed in seeds]
        seconds, runs = [each[1] for each in found], [each[2] for each in found]
        print(
            f"| {bug} | {release} | {grain} | {sum(each[0] for each in found)} of {len(found)} "
            f"| {median(seconds):.1f} ({max(seconds):.1f}) | {median(runs):,.0f} ({max(runs):,}) |",
            flush=True,
        )


def found_with(bug: str, seed: int) -> tuple[bool, float, int]:
    """Search for one bug; return whether it was found, the CPU seconds and the number of runs that it took."""
    protocol = PROTOCOLS["zookeeper"]
    properties = tuple(kind.name for kind in select(protocol.properties))
    release, grain, *_ = (FOUND | ERRORS)[bug]
    runs = 0

    def count(_: object) -> None:
        nonlocal runs
        runs += 1

    errors = "raised" if bug in ERRORS else "handled"
    fixed = {"version": release, "grain": grain, "defects": bug, "errors": errors}
    start = process_time()
    while process_time() - start < _MOST_SECONDS:
        search = Search(protocol, None, properties, _RUNS, rng=swarm.run_seed(seed, runs), on_run=count, fixed=fixed)
        try:
            found = swarm.find(search) is not None
        except ProtocolRaised:
            found = True
            count(None)  # `on_run` is not told of a run that ends so
        if found:
            return True, process_time() - start, runs
    return False, process_time() - start, runs
