"""Steps a CPU second, and how the cost of a step and the memory grow with the length of a run."""

import resource
from statistics import median
from time import process_time

from tests.search.walk import Walk
from zabcheck.invariants import GROUPS, Judge, select
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.search.run import Run, Search, dispatch
from zabcheck.search.swarm import find
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator

ZAB = PROTOCOLS["zab"]
SIX = ["integrity", "total order", "agreement", "local primary order", "global primary order", "primary integrity"]
REPEATS = 5
LONG = 1_000_000


def main() -> None:
    before = memory()
    run = Run(ZAB, 3, select(SIX), remember=False)
    long = seconds(run, 1, LONG) / LONG
    distinct = len(run.judge.record.sent)
    each = (memory() - before) / distinct
    del run
    print(f"steps a CPU second, 3 processes, default faults, median of {REPEATS} walks of 200,000 steps:")
    print(f"  six properties and goals: {median(walked(seed, 200_000) for seed in range(REPEATS)):,.0f}")
    print(f"  six properties:           {median(plain(seed, 200_000, True) for seed in range(REPEATS)):,.0f}")
    print(f"  neither:                  {median(plain(seed, 200_000, False) for seed in range(REPEATS)):,.0f}")
    print("the same with goals, and one group of properties after the other switched on:")
    names: list[str] = []
    for group in GROUPS:
        names.append(group)
        rate = median(judged(seed, names) for seed in range(REPEATS))
        print(f"  {'+ ' if len(names) > 1 else ''}{group}: {rate:,.0f}")
    key_value = Switches(application="key-value")
    print(f"  and the application: {median(judged(seed, names, key_value) for seed in range(REPEATS)):,.0f}")
    print("the swarm, 2,000 runs of about 200 steps, configurations drawn: steps and runs a CPU second")
    print(f"  six properties: {swarm(SIX)}")
    print(f"  all:            {swarm(None)}")
    print("fault-free broadcasts a CPU second that all 3 processes delivered, by how many are outstanding:")
    for outstanding in (1, 10, 100, 1000):
        print(f"  {outstanding:5}: {median(fault_free(outstanding) for _ in range(REPEATS)):,.0f}")
    short = median(1 / walked(seed, 1000) for seed in range(200))
    print(f"CPU time a step in a run of {LONG:,} steps, relative to runs of 1,000: {long / short:.2f}")
    print(f"memory after {LONG:,} steps: {each:,.0f} bytes for each of {distinct:,} transactions")


def seconds(run: Run, seed: int, steps: int) -> float:
    """Return the CPU seconds for a walk of `steps` steps."""
    walk = Walk(run.simulator, seed)
    start = process_time()
    while run.simulator.steps < steps:
        walk.step()
    assert run.broken is None
    return process_time() - start


def walked(seed: int, steps: int) -> float:
    return steps / seconds(Run(ZAB, 3, select(SIX)), seed, steps)


def judged(seed: int, names: list[str], switches: Switches = LETTER, steps: int = 100_000) -> float:
    return steps / seconds(Run(ZAB, 3, select(names), switches=switches), seed, steps)


def plain(seed: int, steps: int, judged: bool) -> float:
    """Measure steps a CPU second without goals, and without properties unless `judged`."""
    show = dispatch(Judge(select(SIX)).observers) if judged else dispatch()
    simulator = Simulator(ZAB, 3, show)
    walk = Walk(simulator, seed)
    start = process_time()
    while simulator.steps < steps:
        walk.step()
    return steps / (process_time() - start)


def swarm(names: list[str] | None, runs: int = 2000) -> str:
    """Measure what the swarm does in a CPU second, and the share of its runs that reach three epochs."""
    steps, reached = 0, 0

    def on_run(run: Run) -> None:
        nonlocal steps, reached
        steps += run.simulator.steps
        reached += "three epochs" in run.goals.reached

    start = process_time()
    broken = find(Search(ZAB, None, None if names is None else tuple(names), runs, rng=1, on_run=on_run))
    spent = process_time() - start
    assert broken is None
    return f"{steps / spent:,.0f}, {runs / spent:,.0f}; three epochs in {100 * reached / runs:.0f} % of runs"


def fault_free(outstanding: int, broadcasts: int = 20_000) -> float:
    """Measure broadcasts a CPU second, for a number of requests before each round of deliveries."""
    run = Run(ZAB, 3, select(SIX))
    run.execute(choices.Lead(1, (2, 3)))
    run.execute(choices.Settle(8))
    start = process_time()
    for _ in range(broadcasts // outstanding):
        for _ in range(outstanding):
            run.execute(choices.Request(1))
        run.execute(choices.Settle(8))
    spent = process_time() - start
    assert run.judge.record.deliveries == 3 * broadcasts
    return broadcasts / spent


def memory() -> int:
    """Return the peak of this process's memory, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
