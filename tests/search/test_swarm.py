"""The swarm: a seed means one run everywhere, runs differ in all that can differ, and known bugs are found soon."""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from random import Random

import msgspec
import pytest

from invariants import PROPERTIES, select
from invariants.quorums import MAJORITY, Quorums
from tests.search.builders import FINE_OF_ZAB
from tests.tiers import sweep
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import WITHOUT_CLIENTS
from zabcheck.search.goals import GOALS
from zabcheck.search.moves import MOVES, Moves
from zabcheck.search.run import Run, Search
from zabcheck.search.settings import SETTINGS
from zabcheck.search.swarm import Priorities, draw, drive, find, run_seed
from zabcheck.search.tally import Tally
from zabcheck.simulation.choices import Choice, Lead, Quiesce, Receive, Request, Settle, Stabilise

ZAB = mutated("zab")
ALL = select(None)


def run(seed: int, **search: object) -> Run:
    return drive(Search(ZAB, **search), ALL, seed)  # type: ignore[arg-type]  # as the fields of Search are


def digest(seed: int) -> str:
    made = run(seed)
    switches = msgspec.to_builtins(made.simulator.switches)  # without those that are at their defaults
    return sha256(repr((made.simulator.ids, switches, made.simulator.executed)).encode()).hexdigest()


# Seeds.


def test_one_seed_gives_one_run() -> None:
    assert digest(7) == digest(7)
    assert len({digest(seed) for seed in range(20)}) == 20


def test_a_seed_means_the_same_run_on_every_machine() -> None:
    """This one was made on another. A change of what the swarm draws, or of the steps of Zab, changes it too."""
    assert digest(2**63 + 5)[:16] == "4df5ce9da306b5b0"


def test_the_first_run_of_a_search_has_the_search_s_own_seed() -> None:
    assert run_seed(5, 0) == 5
    assert len({run_seed(5, index) for index in range(1000)}) == 1000
    assert all(0 <= run_seed(2**64 - 1, index) < 2**64 for index in range(10))


@pytest.mark.slow
def test_the_seed_of_the_run_that_broke_something_makes_that_run_first() -> None:
    mutant = mutated("zab", "history-by-zxid-only")
    first = find(Search(mutant, rng=3))
    assert first is not None
    assert first.seed is not None
    again = find(Search(mutant, runs=1, rng=first.seed))
    assert again is not None
    assert (again.property, again.choices, again.seed) == (first.property, first.choices, first.seed)


def test_a_search_without_a_seed_differs_from_the_next() -> None:
    seen: list[str] = []
    for _ in range(2):
        find(Search(ZAB, runs=1, on_run=lambda made: seen.append(repr(made.simulator.executed))))
    assert seen[0] != seen[1]


# What runs draw.


def test_runs_differ_in_size_quorums_switches_faults_and_order() -> None:
    drawn = [draw(Search(ZAB), seed, Random(seed).random) for seed in range(400)]
    assert {each.quorums.size for each in drawn} == set(SETTINGS.sizes)
    weighted = [each for each in drawn if each.quorums.name != MAJORITY]
    assert 10 < len(weighted) < 100
    assert {each.order for each in drawn} == {"moves", "priorities"}
    assert len({each.cycle for each in drawn}) == 3
    for switch in ("histories", "sync", "elections", "application", "counter_limit"):
        assert len({getattr(each.switches, switch) for each in drawn}) > 1
    for name in SETTINGS.optional:
        assert 100 < sum(name in each.weights for each in drawn) < 300
        assert len({each.weights[name] for each in drawn if name in each.weights}) == 3
    assert {sum(name in each.weights for name in SETTINGS.seldom) for each in drawn} == {1, 2}


def test_a_fixed_setting_is_not_drawn() -> None:
    quorums = Quorums(4)
    for seed in range(10):
        made = run(seed, processes=4, quorums=quorums, fixed={"sync": "atomic", "counter_limit": 2})
        assert made.simulator.quorums is quorums
        assert made.simulator.switches.sync == "atomic"
        assert made.simulator.switches.counter_limit == 2


def test_no_application_runs_that_no_property_looks_at() -> None:
    for seed in range(20):
        assert run(seed, properties=("total order",)).simulator.application is None
    assert any(run(seed, properties=("state",)).simulator.application for seed in range(10))


@pytest.mark.slow
def test_every_kind_of_fault_happens() -> None:
    kinds: Counter[type[Choice]] = Counter()
    for seed in range(150):
        kinds.update({type(choice) for choice in run(seed).simulator.executed})
    assert {kind: kinds[kind] for kind in FINE_OF_ZAB if kinds[kind] < 3} == {}


def test_messages_overtake_where_channels_do_not_keep_the_order() -> None:
    mutant = mutated("zab", "non-fifo-link")
    executed = [choice for seed in range(20) for choice in drive(Search(mutant), ALL, seed).simulator.executed]
    assert any(type(choice).__name__ == "Overtake" for choice in executed)


# Runs.


def test_a_run_has_its_steps_and_then_is_left_in_peace() -> None:
    for seed in range(20):
        made = run(seed, processes=3, steps=100)
        assert made.simulator.steps < 100 + 150  # of a coarse move, and of the end
        assert isinstance(made.simulator.executed[-1], Stabilise | Quiesce) or any(made.simulator.halted)


def test_a_run_in_which_everybody_halts_comes_to_an_end() -> None:
    """Alone, a process that finds a record altered is all that there was."""
    assert any(all(run(seed, processes=1).simulator.halted[1:]) for seed in range(100))


@pytest.mark.parametrize("processes", sweep((1, 2, 3, 5, 7), normal=(3,)))
def test_nothing_is_broken_without_a_bug(processes: int) -> None:
    tally, runs = Tally(list(PROPERTIES.values())), 60 if processes == 3 else 150
    assert find(Search(ZAB, processes, runs=runs, rng=1, on_run=tally.add)) is None
    assert tally.runs == runs
    if processes >= 3:
        assert tally.goals["three epochs"] > runs // 2


@pytest.mark.slow
def test_every_goal_is_reached_and_every_property_exercised() -> None:
    tally = Tally(select(WITHOUT_CLIENTS))
    assert find(Search(ZAB, properties=WITHOUT_CLIENTS, runs=400, rng=1, on_run=tally.add)) is None
    assert [goal for goal in GOALS if not tally.goals[goal]] == []
    assert [name for name, runs in tally.exercised.items() if not runs] == []


SOON = [name for name in CATALOGUE if name != "keep-cut-off-change"]
"""The bugs that the runs of this test are enough for: the one left out takes up to all runs of the default."""
CHANGING = [name for name in SOON if CATALOGUE[name].protocol == "zab-reconfiguration"]
RARE = (*CHANGING[2:], "receive-of-old-iteration")
"""Bugs that only tests/search/test_defaults.py looks for: they are alike, or take hundreds of runs."""


@pytest.mark.parametrize("mutant", [name for name in SOON if name not in RARE][::6])
def test_every_known_bug_is_found(mutant: str) -> None:
    protocol = mutated(CATALOGUE[mutant].protocol, mutant)
    found = find(Search(protocol, properties=protocol.properties, runs=2000, rng=1))
    assert found is not None
    assert found.property in CATALOGUE[mutant].breaks


@pytest.mark.slow
@pytest.mark.parametrize("processes", [3, 5])
@pytest.mark.parametrize("protocol", ["zab", "ladis"])
def test_without_a_bug_a_running_epoch_owes_nothing(protocol: str, processes: int) -> None:
    tally = Tally(select(["epoch progress"]))
    search = Search(mutated(protocol), processes, ("epoch progress",), runs=400, rng=7, on_run=tally.add)
    assert find(search) is None
    assert tally.exercised["epoch progress"] > 50


# The order of messages.


def test_the_highest_priority_that_waits_comes_first() -> None:
    made = Run(ZAB, 3, ALL)
    made.execute(Lead(1, (2, 3)))
    in_order = Priorities(made.simulator, lambda: 0.5, demoted=0.0)
    in_order.priorities = {(1, 2): 1.0, (1, 3): 2.0}
    in_order.go(1)
    assert made.simulator.executed[-1] == Receive(1, 3)


def test_what_falls_behind_stays_there_while_there_is_something_else() -> None:
    made = Run(ZAB, 3, ALL)
    for choice in (Lead(1, (2, 3)), Settle(8), Request(1), Request(1)):
        made.execute(choice)
    in_order = Priorities(made.simulator, lambda: 0.0, demoted=0.0)
    in_order.priorities = {(2, 1): -1.0}
    in_order.go(SETTINGS.most_in_order)
    executed = made.simulator.executed[-SETTINGS.most_in_order :]
    others = [index for index, choice in enumerate(executed) if choice != Receive(2, 1)]
    late = [index for index, choice in enumerate(executed) if choice == Receive(2, 1)]
    assert late
    assert min(late) > 2
    assert others


def test_what_was_done_falls_behind_now_and_then() -> None:
    """Always, here: so nothing is done twice in a row while there is something else."""
    made = Run(ZAB, 3, ALL)
    for choice in (Lead(1, (2, 3)), Settle(8), Request(1), Request(1), Request(1)):
        made.execute(choice)
    before = len(made.simulator.executed)
    Priorities(made.simulator, lambda: 0.5, demoted=1.0).go(SETTINGS.most_in_order)
    executed = made.simulator.executed[before:]
    assert len(executed) == SETTINGS.most_in_order
    assert not [one for one, other in pairwise(executed) if one == other]


def test_where_priorities_decide_no_move_brings_messages_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A move that takes no step gives way to the next one: so may a request where nobody may broadcast."""
    made: Counter[tuple[str, str]] = Counter()
    order = ""

    def noted(name: str, move: Callable[[Moves, int], Choice | None]) -> Callable[[Moves, int], Choice | None]:
        def noting(moves: Moves, pick: int) -> Choice | None:
            made[order, name] += 1
            return move(moves, pick)

        return noting

    for name, move in MOVES.items():
        monkeypatch.setitem(MOVES, name, noted(name, move))
    for seed in range(60):
        order = draw(Search(ZAB), seed, Random(seed).random).order
        run(seed)
    for name in ("settle", "drain", "receive", "sync"):
        assert made["moves", name] > 5
        assert made["priorities", name] == 0
    assert made["priorities", "request"] > 5


def test_nothing_is_done_where_nothing_waits() -> None:
    made = Run(ZAB, 3, ALL)
    Priorities(made.simulator, lambda: 0.5, demoted=0.5).go(5)
    assert made.simulator.steps == 0
