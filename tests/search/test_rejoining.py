"""`zabcheck.search.rejoining`: a process falls behind, comes back, and is interrupted."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

import pytest

from invariants import select
from invariants.quorums import quorums_of
from zabcheck.protocols import PROTOCOLS
from zabcheck.search import machine
from zabcheck.search.moves import Moves
from zabcheck.search.rejoining import Rejoining
from zabcheck.search.run import Search
from zabcheck.search.settings import Habits
from zabcheck.search.swarm import draw, drive
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator

ZOOKEEPER = PROTOCOLS["zookeeper"]
SEARCH = Search(ZOOKEEPER, 3, fixed={"defects": "none", "grain": "G2"})
REJOINING = [seed for seed in range(12) if draw(SEARCH, seed, Random(seed).random).order == "rejoining"]


def test_nine_runs_of_ten_rejoin_where_the_protocol_says_so() -> None:
    drawn = [draw(Search(ZOOKEEPER), seed, Random(seed).random) for seed in range(200)]
    assert 170 < [each.order for each in drawn].count("rejoining") < 198
    assert 110 < [each.quorums.size for each in drawn].count(3) < 170
    others = [protocol for protocol in PROTOCOLS.values() if protocol is not ZOOKEEPER]
    for protocol in others:
        orders = [draw(Search(protocol), seed, Random(seed).random).order for seed in range(20)]
        assert "rejoining" not in orders, protocol.name


def test_one_seed_gives_one_run_that_ends_with_its_steps() -> None:
    runs = [drive(SEARCH, select(("core",)), REJOINING[0]).simulator for _ in range(2)]
    assert runs[0].executed == runs[1].executed
    *before, last = runs[0].executed
    assert len(before) == SEARCH.steps
    assert isinstance(last, choices.Stabilise | choices.Quiesce)


@pytest.mark.parametrize("protocol", ["zookeeper", "zab"])
def test_hypothesis_makes_such_runs_where_the_protocol_says_so(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def searched() -> list[Sequence[Choice]]:
        runs: list[Sequence[Choice]] = []
        fixed = {"defects": "none"} if protocol == "zookeeper" else {}
        search = Search(
            PROTOCOLS[protocol], 3, ("core",), 10, 80, 1, lambda run: runs.append(run.simulator.executed), fixed=fixed
        )
        assert machine.find(search) is None
        return runs

    made: list[Rejoining] = []

    class Counted(Rejoining):
        def __init__(self, moves: Moves, random: Callable[[], float]) -> None:
            super().__init__(moves, random)
            made.append(self)

    monkeypatch.setattr(machine, "Rejoining", Counted)
    first = searched()
    assert (len(made) > 7) is (protocol == "zookeeper")
    assert bool(made) is (protocol == "zookeeper")
    assert searched() == first, "with the same seed Hypothesis makes the same runs"


def rejoining(random: Random, habits: Habits | None = None) -> Rejoining:
    switches = draw(SEARCH, 1, Random(1).random).switches
    made = Rejoining(Moves(Simulator(ZOOKEEPER, 3, lambda _: None, switches=switches)), random.random)
    made.habits = habits or made.habits
    return made


def executed(random: Random, most: int = 300, habits: Habits | None = None) -> Iterator[tuple[Choice, Simulator]]:
    """Yield each choice with the simulator, which is about to execute it."""
    run = rejoining(random, habits)
    for choice in islice(run.choices(), most):
        yield choice, run.simulator
        run.simulator.execute(choice)


def test_a_run_goes_on_while_processes_can() -> None:
    run = rejoining(Random(1))
    assert len(list(islice(run.choices(), 20))) == 20, "none is executed, and still there is another"
    run.simulator.halted[1:] = [True] * 3
    assert list(Rejoining(run.moves, Random(1).random).choices()) == []


def test_a_run_goes_on_where_nobody_that_is_up_may_lead() -> None:
    switches = draw(SEARCH, 1, Random(1).random).switches
    simulator = Simulator(ZOOKEEPER, 3, lambda _: None, quorums=quorums_of("weights 1,1,0", 3), switches=switches)
    for process in (1, 2):
        simulator.states[process], simulator.halted[process] = None, True
    run = Rejoining(Moves(simulator), Random(1).random)
    assert len(list(islice(run.choices(), 20))) == 20


@pytest.mark.parametrize("kind", [choices.Lead, choices.Elect, choices.Request, choices.Crash, choices.Timeout])
def test_elections_requests_returns_and_interruptions_all_occur(kind: type[Choice]) -> None:
    assert any(type(each) is kind for seed in range(4) for each, _ in executed(Random(seed)))


@pytest.mark.slow
def test_a_run_has_its_habits() -> None:
    def how_many(kind: type[Choice], habits: Habits) -> int:
        return sum(type(each) is kind for seed in range(20) for each, _ in executed(Random(seed), habits=habits))

    assert len({rejoining(Random(seed)).habits for seed in range(40)}) == 3
    assert how_many(choices.Request, Habits(0.3, idle=0.8)) * 2 < how_many(choices.Request, Habits(0.3))
    assert how_many(choices.Timeout, Habits(0.0)) < how_many(choices.Timeout, Habits(1.0))


def test_it_may_be_the_leader_that_crashes() -> None:
    def of_leaders(habits: Habits) -> float:
        leads = [
            each.process in simulator.following  # others follow it
            for seed in range(20)
            for each, simulator in executed(Random(seed), habits=habits)
            if isinstance(each, choices.Crash)
        ]
        return sum(leads) / len(leads)

    assert of_leaders(Habits(0.0, leader_crashes=1.0)) > 1.5 * of_leaders(Habits(0.0))


@pytest.mark.slow
def test_a_leader_may_be_left_as_soon_as_it_is_alone_with_a_transaction() -> None:
    def joined(habits: Habits) -> int:
        """Return how often a process joins a leader that has a transaction of which nobody has heard."""
        found = alone = 0
        for seed in range(40):
            for each, _ in executed(Random(seed), habits=habits):
                if isinstance(each, choices.Request):
                    alone = each.process
                elif isinstance(each, choices.Lead) or (isinstance(each, choices.Receive) and each.sender == alone):
                    alone = 0
                elif isinstance(each, choices.Elect):
                    found += each.leader == alone
        return found

    assert joined(Habits(0.0, abandoned=1.0)) < 0.8 * joined(Habits(0.0))


def test_a_thread_of_who_came_back_may_lag_until_it_crashes() -> None:
    def with_work(habits: Habits) -> int:
        return sum(
            any(process == each.process for process, _ in simulator.threads())
            for seed in range(20)
            for each, simulator in executed(Random(seed), habits=habits)
            if isinstance(each, choices.Crash)
        )

    assert with_work(Habits(0.0, lags=1.0)) > 1.5 * with_work(Habits(0.0))
