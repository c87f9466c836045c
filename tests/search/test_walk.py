"""A seeded random walk: one seed, one walk; and the protocol as it is survives it."""

import pytest
from msgspec import structs

from invariants import PROPERTIES, select
from tests.search.walk import DEFAULT_FAULTS, NO_FAULTS, Walk
from tests.tiers import sweep
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import WITHOUT_CLIENTS
from zabcheck.protocols.switches import LETTER
from zabcheck.search.goals import GOALS
from zabcheck.search.run import Run
from zabcheck.simulation.choices import (
    FINE,
    Bridge,
    Choice,
    Corrupt,
    Elect,
    Lead,
    Overtake,
    Pause,
    PowerLoss,
    Quiesce,
    Receive,
    Request,
    Ring,
    Settle,
    Stabilise,
    Sync,
    Wake,
    least,
)

ALL = list(PROPERTIES.values())


def walk(seed: int, steps: int, processes: int = 3, mutant: str | None = None, **switches: object) -> Run:
    run = Run(mutated("zab", mutant), processes, ALL, switches=structs.replace(LETTER, **switches))
    walking = Walk(run.simulator, seed)
    while run.simulator.steps < steps:
        walking.step()
    return run


def broken(run: Run) -> list[str]:
    return [verdict.property for verdict in run.judge.finish() if verdict.status == "violated"]


def test_one_seed_gives_one_walk() -> None:
    assert walk(7, 1000).simulator.executed == walk(7, 1000).simulator.executed
    assert walk(7, 1000).simulator.executed != walk(8, 1000).simulator.executed


def test_a_longer_walk_begins_like_a_shorter_one() -> None:
    assert walk(7, 1000).simulator.executed[:500] == walk(7, 500).simulator.executed


def test_a_step_says_whether_it_did_something() -> None:
    run = Run(PROTOCOLS["zab"], 3, ALL)
    walking = Walk(run.simulator, 1)
    for _ in range(500):
        before = run.simulator.steps
        assert walking.step() == (run.simulator.steps > before)


def test_every_kind_of_fault_happens() -> None:
    run = walk(1, 10_000)
    kinds = {type(choice) for choice in run.simulator.executed}
    assert set(DEFAULT_FAULTS) & set(FINE) < kinds
    assert "power loss" in run.goals.reached  # a coarse choice: it is executed as one crash each


def test_coarse_faults_happen() -> None:
    run = Run(PROTOCOLS["zab"], 5, ALL)
    walking = Walk(run.simulator, 1, {PowerLoss: 1, Bridge: 1, Ring: 1})
    for _ in range(10_000):
        walking.step()
    assert "power loss" in run.goals.reached
    assert len(run.simulator.cuts) >= 10


def test_messages_overtake_where_channels_do_not_keep_the_order() -> None:
    run = Run(mutated("zab", "non-fifo-link"), 3, ALL)
    walking = Walk(run.simulator, 1, {**DEFAULT_FAULTS, Overtake: 30})
    for _ in range(2000):
        walking.step()
    assert Overtake in {type(choice) for choice in run.simulator.executed}


def test_a_walk_goes_on_although_everybody_was_paused() -> None:
    run = Run(PROTOCOLS["zab"], 3, ALL)
    for process in run.simulator.ids:
        run.execute(Pause(process))
    walking = Walk(run.simulator, 1, {Elect: 1})
    for _ in range(200):
        walking.step()
    kinds = [type(choice) for choice in run.simulator.executed[3:]]
    assert kinds[:3] == [Wake] * 3
    assert Request in kinds


def test_without_faults_an_epoch_just_goes_on() -> None:
    run = Run(PROTOCOLS["zab"], 3, ALL)
    for choice in (Lead(1, (2, 3)), Settle(9)):
        run.execute(choice)
    before = len(run.simulator.executed)
    walking = Walk(run.simulator, 0, NO_FAULTS)
    for _ in range(1000):
        walking.step()
    kinds: set[type[Choice]] = {type(choice) for choice in run.simulator.executed[before:]}
    assert {Request, Receive, Sync} <= kinds <= {Request, Receive, Sync, Elect}
    assert broken(run) == []


TOO_FEW = {1: {"agreement", "epoch uniqueness", "reliable delivery"}, 2: {"epoch uniqueness", "reliable delivery"}}
"""What so few processes may not exercise: nobody else chooses an epoch, and after a rest nobody is behind."""


@pytest.mark.parametrize("processes", sweep((1, 2, 3, 5), normal=()))
def test_the_protocol_breaks_nothing(processes: int) -> None:
    exercised: set[str] = set()
    for seed in range(20):
        run = walk(seed, 2000, processes, application="key-value")
        quorum = least(run.simulator.quorums, 1, run.simulator.ids)
        assert quorum is not None
        for choice in (Quiesce(), Stabilise(1, quorum)):
            run.execute(choice)
        assert broken(run) == []
        exercised |= {verdict.property for verdict in run.judge.finish() if verdict.status == "holds"}
    demanded = {kind.name for kind in select(WITHOUT_CLIENTS)}
    assert exercised >= demanded - TOO_FEW.get(processes, set())


@pytest.mark.slow
@pytest.mark.parametrize("processes", [3, 4, 5, 7])
def test_the_protocol_breaks_nothing_on_long_walks(processes: int) -> None:
    for seed in range(20):
        assert broken(walk(1000 + seed, 50_000, processes)) == []


@pytest.mark.slow
def test_walks_reach_every_goal() -> None:
    reached: set[str] = set()
    for seed in range(20):
        reached |= set(walk(seed, 2000).goals.reached)
    assert reached == set(GOALS) - {"altered record"}


def test_a_walk_that_alters_records_ends_when_nobody_is_left() -> None:
    """So it is not among the faults that a walk of any length has."""
    run = Run(mutated("zab"), 3, ALL)
    walking = Walk(run.simulator, 1, {**DEFAULT_FAULTS, Corrupt: 20})
    for _ in range(50_000):
        walking.step()
    assert "altered record" in run.goals.reached
    assert all(run.simulator.halted[1:])
    assert broken(run) == []


@pytest.mark.parametrize("mutant", ["commit-on-own-ack", "broadcast-before-established", "no-truncation"])
def test_walks_find_the_bugs_that_show_often(mutant: str) -> None:
    assert any(broken(walk(seed, 2000, mutant=mutant)) for seed in range(40))
