"""Elections by vote in an exhaustive search: those that the simulator knows, and no others."""

from itertools import combinations
from random import Random

import pytest
from msgspec import structs

from invariants import select
from invariants.quorums import Quorums
from tests.tiers import sweep
from zabcheck.explore import Bounds, explore
from zabcheck.explore.bounds import UNLIMITED
from zabcheck.explore.exploration import COARSE
from zabcheck.explore.space import Space
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import completed
from zabcheck.simulation.choices import (
    AnyChoice,
    Crash,
    Elect,
    Hear,
    Lead,
    Notice,
    Receive,
    Recover,
    Request,
    Reset,
    Run,
    Timeout,
)
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model.switches import Grain, ZooKeeperSwitches

ZOOKEEPER = PROTOCOLS["zookeeper"]
ORACLE = structs.replace(completed(COARSE, ZooKeeperSwitches), elections="oracle")
BOUNDS = Bounds(processes=3, epochs=9, txns=9, timeouts=UNLIMITED, crashes=UNLIMITED)


def enabled(run: Simulator) -> list[AnyChoice]:
    """The elections and joins that are enabled in a run of the simulator."""
    found: list[AnyChoice] = []
    for leader in run.ids:
        others = [process for process in run.ids if process != leader]
        for size in range(len(others) + 1):
            for followers in combinations(others, size):
                everybody = (leader, *followers)
                fork = run.fork(lambda _: None)
                fork.execute(Lead(leader, followers))
                if all(map(run.is_up, everybody)) and all(fork.following[each] == leader for each in everybody):
                    found.append(Lead(leader, followers))
    joins = [Elect(process, leader) for process in run.ids for leader in run.ids]
    return found + [each for each in joins if run.fork(lambda _: None).execute(each)]


@pytest.mark.parametrize("grain", sweep(("G0", "G3"), normal=("G3",)))
def test_a_search_has_the_elections_of_the_simulator(grain: Grain) -> None:
    switches = structs.replace(ORACLE, grain=grain)
    space = Space(ZOOKEEPER, Quorums(3), switches, BOUNDS, select(("core",)), symmetry=False)
    random = Random(1)
    joined = 0
    for _ in range(3):
        row = (*space.local_states.start, 0, 0)
        run = Simulator(ZOOKEEPER, 3, lambda _: None, switches=switches)
        for _ in range(40):
            successors = space.successors.of(row)
            chosen = [space.local_states.choices[each.first] for each in successors]
            elections = [each for each in chosen if isinstance(each, Lead | Elect)]
            assert elections == enabled(run)
            joined += any(isinstance(each, Elect) for each in elections)
            quiet = [index for index, each in enumerate(chosen) if not isinstance(each, Lead)]
            index = random.choice(quiet if quiet and random.random() < 0.6 else range(len(chosen)))
            choice = chosen[index]
            assert choice is not None
            assert run.execute(choice) == 1
            row = tuple(successors[index].row)
    assert joined


def test_an_election_uses_the_time_outs_of_those_who_leave_an_iteration() -> None:
    bounds = structs.replace(BOUNDS, timeouts=1, crashes=0)
    space = Space(ZOOKEEPER, Quorums(3), ORACLE, bounds, select(("core",)), symmetry=False)
    first = space.successors.of((*space.local_states.start, 0, 0))
    assert [space.local_states.choices[each.first] for each in first] == [
        *(Lead(2, (1,)), Lead(3, (1,)), Lead(3, (2,)), Lead(3, (1, 2)))
    ]
    after = space.successors.of(tuple(first[0].row))
    elections = [space.local_states.choices[each.first] for each in after]
    assert Lead(3, (1,)) in elections, "one is in an iteration"
    assert Lead(2, (1,)) not in elections, "two are"


@pytest.mark.slow
def test_the_shortest_run_of_2845_is_the_one_that_is_kept() -> None:
    switches = structs.replace(ORACLE, version="3.4.10", defects="2845")
    bounds = Bounds(processes=2, epochs=3, txns=2, timeouts=UNLIMITED, crashes=1)
    found = explore("zookeeper", bounds=bounds, switches=switches, properties=("core",))
    assert (found.broken, found.steps, found.tried, found.reduction) == ("primary integrity", 25, 24, True)


@pytest.mark.slow
def test_nothing_is_found_there_where_2845_is_repaired() -> None:
    switches = structs.replace(ORACLE, version="3.5.5", defects="none")
    bounds = Bounds(processes=2, epochs=2, txns=2, timeouts=UNLIMITED, crashes=1)
    found = explore("zookeeper", bounds=bounds, switches=switches, properties=("core",))
    assert found.whole
    assert found.broken is None


FLE = structs.replace(completed(COARSE, ZooKeeperSwitches), elections="fle")
MOVES = (Receive, Hear, Run, Timeout, Crash, Recover, Request, Notice, Reset)


def moves(run: Simulator) -> set[AnyChoice]:
    """The choices of an exhaustive search that are enabled in a run of the simulator."""
    ids = run.ids
    pairs = [kind(p, q) for kind in (Receive, Hear, Notice, Reset) for p in ids for q in ids if p != q]
    alone = [kind(p) for kind in (Timeout, Crash, Recover, Request) for p in ids]
    tried = [*pairs, *alone, *(Run(*each) for each in run.threads()), *(Elect(p, q) for p in ids for q in ids)]
    return {each for each in tried if not isinstance(each, Elect) and run.fork(lambda _: None).execute(each)}


@pytest.mark.parametrize("grain", sweep(("G0", "G3"), normal=("G3",)))
def test_a_search_makes_the_choices_of_the_simulator_where_messages_elect(grain: Grain) -> None:
    """The same ones all along random runs; so what it makes of each is the same as well."""
    switches = structs.replace(FLE, grain=grain)
    bounds = structs.replace(BOUNDS, cuts=UNLIMITED)
    space = Space(ZOOKEEPER, Quorums(3), switches, bounds, select(("core",)), symmetry=False)
    random = Random(1)
    led = 0
    for _ in range(2):
        row = (*space.local_states.start, 0, 0)
        run = Simulator(ZOOKEEPER, 3, lambda _: None, switches=switches)
        for _ in range(60):
            successors = space.successors.of(row)
            chosen = [space.local_states.choices[each.first] for each in successors]
            # A connection is reset from the end that has opened it, and a leader takes requests, as in the simulator.
            opened = {each for each in moves(run) if not isinstance(each, Reset)}
            assert {each for each in chosen if not isinstance(each, Reset)} == opened
            index = random.choice([i for i, each in enumerate(chosen) if isinstance(each, Receive | Hear | Run)] or [0])
            if random.random() < 0.1:
                index = random.randrange(len(chosen))
            choice = chosen[index]
            assert choice is not None
            assert run.execute(choice) == 1
            row = tuple(successors[index].row)
            led += any(run.following[p] == p for p in run.ids)
    assert led


@pytest.mark.slow
def test_the_shortest_run_of_2845_where_messages_elect() -> None:
    """With an oracle it takes 28 steps within the same bounds."""
    switches = structs.replace(FLE, version="3.4.10", defects="2845")
    bounds = Bounds(processes=2, epochs=3, txns=2, timeouts=1, crashes=1)
    found = explore("zookeeper", bounds=bounds, switches=switches, properties=("core",))
    assert (found.broken, found.steps, found.tried, found.reduction) == ("primary integrity", 44, 43, False)


def test_a_repaired_version_is_proved_where_messages_elect() -> None:
    bounds = Bounds(processes=2, epochs=2, txns=1, timeouts=1, crashes=0)
    found = explore("zookeeper", bounds=bounds, switches=structs.replace(FLE, defects="none"), properties=("core",))
    assert found.whole
    assert found.broken is None
