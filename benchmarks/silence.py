"""The protocol without a bug: nothing may break, and every goal has to be reached."""

from collections.abc import Sequence
from time import process_time

from zabcheck.invariants import PROPERTIES
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.engines import Engine, find
from zabcheck.search.run import Search
from zabcheck.search.tally import Tally

RUNS = {Engine.hypothesis: 20_000, Engine.swarm: 200_000}
STEPS = 200


def main(sizes: Sequence[int] = (1, 2, 3, 5, 7)) -> None:
    for engine, runs in RUNS.items():
        for processes in sizes:
            search(engine, runs, processes)


def search(engine: Engine, runs: int, processes: int) -> None:
    tally = Tally(list(PROPERTIES.values()))
    start = process_time()
    broken = find(engine, Search(PROTOCOLS["zab"], processes, None, runs, STEPS, processes, tally.add))
    spent = process_time() - start
    print(
        f"{engine}, {processes} processes, seed {processes}: {tally.runs:,} runs, {tally.steps:,} steps, "
        f"{spent:.0f} CPU s, broken: {broken}",
        flush=True,
    )
    for goal, count in tally.goals.items():
        print(f"  {goal}: {100 * count / tally.runs:.1f} % of runs")
    for name in tally.judged:
        exercised = 100 * tally.exercised[name] / tally.runs
        print(f"  {name}: exercised in {exercised:.1f} % of runs, judged {tally.judged[name]:,} times")
