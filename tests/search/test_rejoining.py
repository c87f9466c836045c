"""`zabcheck.search.rejoining`: a process falls behind, comes back, and is interrupted."""

from itertools import islice
from random import Random

import pytest

from invariants import select
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.moves import Moves
from zabcheck.search.rejoining import Rejoining
from zabcheck.search.run import Search
from zabcheck.search.swarm import configure, drive
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator

ZOOKEEPER = PROTOCOLS["zookeeper"]
SEARCH = Search(ZOOKEEPER, 3, fixed={"defects": "none", "grain": "G2"})
REJOINING = [seed for seed in range(12) if configure(SEARCH, seed, Random(seed).random).order == "rejoining"]


def test_seven_runs_of_ten_rejoin_where_the_protocol_says_so() -> None:
    orders = [configure(Search(ZOOKEEPER), seed, Random(seed).random).order for seed in range(200)]
    assert 120 < orders.count("rejoining") < 160
    others = [protocol for protocol in PROTOCOLS.values() if protocol is not ZOOKEEPER]
    for protocol in others:
        drawn = [configure(Search(protocol), seed, Random(seed).random).order for seed in range(20)]
        assert "rejoining" not in drawn, protocol.name


def test_one_seed_gives_one_run_that_ends_with_its_steps() -> None:
    runs = [drive(SEARCH, select(("core",)), REJOINING[0]).simulator for _ in range(2)]
    assert runs[0].executed == runs[1].executed
    assert runs[0].steps == SEARCH.steps


def test_a_run_goes_on_while_processes_can() -> None:
    simulator = Simulator(ZOOKEEPER, 3, lambda _: None, switches=configure(SEARCH, 1, Random(1).random).switches)
    rejoining = Rejoining(Moves(simulator), Random(1).random)
    assert len(list(islice(rejoining.choices(), 20))) == 20, "none is executed, and still there is another"
    simulator.halted[1:] = [True] * 3
    assert list(Rejoining(Moves(simulator), Random(1).random).choices()) == []


def executed(random: Random, most: int) -> list[Choice]:
    simulator = Simulator(ZOOKEEPER, 3, lambda _: None, switches=configure(SEARCH, 1, Random(1).random).switches)
    for choice in islice(Rejoining(Moves(simulator), random.random).choices(), most):
        simulator.execute(choice)
    return simulator.executed


@pytest.mark.parametrize("kind", [choices.Lead, choices.Elect, choices.Request, choices.Crash, choices.Timeout])
def test_elections_requests_returns_and_interruptions_all_occur(kind: type[Choice]) -> None:
    assert any(type(each) is kind for seed in range(4) for each in executed(Random(seed), 300))
