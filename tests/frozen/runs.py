"""Runs of each protocol, as the engines draw them: schedules, traces, verdicts and goals."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from invariants import select
from zabcheck.mutants.catalogue import mutated
from zabcheck.search.engines import Engine, find
from zabcheck.search.run import ProtocolRaised, Run, Search, replay_on, schedule_of
from zabcheck.search.swarm import drive, run_seed
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule

PROTOCOLS = (
    "zab",
    "ladis",
    "ladis-2008",
    "paxos",
    "paxos-unordered",
    "paxos-one-outstanding",
    "paxos-batches",
    "paxos-barrier",
    "paxos-one-proposer",
    "db19",
    "db19-fifo",
    "zookeeper",
)
VARIANTS: dict[str, tuple[str, Mapping[str, Any]]] = {
    **{name: (name, {}) for name in PROTOCOLS},
    "zookeeper-3.4.10": ("zookeeper", {"version": "3.4.10", "grain": "G0"}),
    "zookeeper-3.8.0": ("zookeeper", {"version": "3.8.0", "grain": "G2"}),
    "zookeeper-3.9.3": ("zookeeper", {"version": "3.9.3", "grain": "G4"}),
    "zookeeper-master": ("zookeeper", {"version": "master", "grain": "G5"}),
    "zookeeper-fle": ("zookeeper", {"elections": "fle"}),
    "zookeeper-3.3.1-fle": ("zookeeper", {"version": "3.3.1", "elections": "fle"}),
}
"""Name to protocol and fixed switches."""
SEEDS = 50
REPLAYED = 10
"""The number of schedules of which the whole trace is taken, messages included: that is a second execution."""
HYPOTHESIS_RUNS = 20


def swarm(name: str) -> dict[str, Any]:
    """Return what the swarm makes of 50 seeds of a protocol."""
    protocol, fixed = VARIANTS[name]
    search = Search(mutated(protocol), runs=1, rng=1, fixed=fixed)
    kinds = select(None)
    drawn, verdicts = [], []
    for index in range(SEEDS):
        try:
            run = drive(search, kinds, run_seed(1, index))
        except ProtocolRaised as raised:
            drawn.append(raised.schedule)
            verdicts.append([str(raised.raised)])
            continue
        drawn.append(_schedule(run))
        verdicts.append([(each.property, str(each.status), each.judged) for each in run.judge.finish()])
    return {"verdicts": verdicts, **_replayed(drawn, REPLAYED)}


def hypothesis(name: str) -> dict[str, Any]:
    """Return what Hypothesis draws for a protocol."""
    protocol, fixed = VARIANTS[name]
    drawn: list[Schedule] = []
    search = Search(
        mutated(protocol), processes=3, runs=HYPOTHESIS_RUNS, steps=100, rng=1, fixed=fixed, on_run=_to(drawn)
    )
    try:
        find(Engine.hypothesis, search)
    except ProtocolRaised as raised:
        drawn.append(raised.schedule)
    return _replayed(drawn, HYPOTHESIS_RUNS)


def _to(drawn: list[Schedule]) -> Callable[[Run], None]:
    return lambda run: drawn.append(_schedule(run))


def _schedule(run: Run) -> Schedule:
    simulator = run.simulator
    return schedule_of(
        simulator.protocol.name,
        simulator.protocol.mutant,
        simulator.quorums.size,
        simulator.executed,
        quorums=simulator.quorums.name,
        switches=simulator.switches,
    )


def _replayed(drawn: list[Schedule], number: int) -> dict[str, Any]:
    return {
        "schedules": [sha256(schedules.dump(each)).hexdigest() for each in drawn],
        "traces": [*_traces(drawn[:number])],
    }


def _traces(drawn: list[Schedule]) -> Iterator[tuple[str, list[str], int, int]]:
    for each in drawn:
        shown = replay_on(mutated(each.protocol, each.mutant), each)
        yield sha256(shown.trace).hexdigest(), shown.goals, shown.steps, shown.skipped
