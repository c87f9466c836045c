"""A server without weight is elected by nobody (`FastLeaderElection.totalOrderPredicate`), whatever its vote."""

from typing import Any

import pytest
from msgspec.structs import replace

from invariants import Ready, Zxid, select
from invariants.quorums import Quorums, quorums_of
from tests.explore.told import all_of
from tests.zookeeper.model.builders import A, server, switches
from zabcheck.explore import portions as portions_module
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.space import Space
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Cast
from zabcheck.search.moves import Moves
from zabcheck.search.run import Search
from zabcheck.search.swarm import drive, run_seed
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import election
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.model.votes import Election, Notification, Vote

ZOOKEEPER = PROTOCOLS["zookeeper"]
ORACLE = ZooKeeperSwitches(sync="atomic", closing="abrupt", elections="oracle", defects="none")
QUORUMS = quorums_of("weights 1,1,0", 3)


@pytest.mark.parametrize(
    ("name", "able"),
    [("majority", [1, 2, 3]), ("weights 2,1,0", [1, 2]), ("weights 0,0,1", [3]), ("sets 1+2,2+3,1+3", [1, 2, 3])],
)
def test_servers_with_weight_may_lead(name: str, able: list[int]) -> None:
    quorums = quorums_of(name, 3)
    assert [process for process in (1, 2, 3) if quorums.may_lead(process)] == able


def run_with(quorums: Quorums) -> Simulator:
    return Simulator(ZOOKEEPER, 3, lambda _: None, quorums=quorums, switches=ORACLE)


def test_the_oracle_names_the_greatest_vote_of_those_that_may_lead() -> None:
    run = run_with(QUORUMS)
    run.execute(choices.Lead(3, (1, 2)))
    assert run.following[1:] == [0, 0, 0]
    run.execute(choices.Lead(1, (2, 3)))
    assert run.following[1:] == [0, 0, 0], "server 2 has the greater id"
    run.execute(choices.Lead(2, (1, 3)))
    assert run.following[1:] == [2, 2, 2]


def test_moves_name_nobody_else() -> None:
    moves = Moves(run_with(QUORUMS))
    named = {move.leader for pick in range(60) if isinstance(move := moves.elected(pick), choices.Lead)}
    assert named == {2}


@pytest.mark.parametrize("elections", ["oracle", "fle"])
def test_the_swarm_elects_nobody_else(elections: str) -> None:
    fixed = {"defects": "none", "elections": elections}
    search = Search(ZOOKEEPER, quorums=quorums_of("weights 1,1,0", 3), fixed=fixed)
    led: set[int] = set()
    for number in range(40):
        drive(search, select(("core",)), run_seed(1, number), lambda _: [{Ready: lambda event: led.add(event.process)}])
    assert 2 in led
    assert 3 not in led


def says(leader: int, zxid: Zxid, round: int) -> Notification:
    return Notification(Vote(1, zxid, leader), round, "LOOKING")


@pytest.mark.parametrize("round", [4, 7], ids=["this round", "a later round"])
def test_a_vote_for_it_is_not_taken_over(round: int) -> None:
    found = server(2, A, switches=replace(switches(), elections="fle"), election=Election(round=3))
    found.quorums = QUORUMS
    election.look(found)
    own = found.election.vote
    effects = election.on_notification(found, 3, says(3, Zxid(1, 9), round))
    assert found.election.vote == own
    assert found.election.round == round
    assert [each.message.vote for each in effects if isinstance(each, Cast)] == ([own] * 2 if round == 7 else [])
    election.on_notification(found, 1, says(1, Zxid(1, 9), round))
    assert found.election.vote == Vote(1, Zxid(1, 9), 1)


def searched(**how: Any) -> Space:
    return Space(ZOOKEEPER, QUORUMS, ORACLE, Bounds(3, 2, 1, 0, 1), select(["core"]), moments=False, **how)


@pytest.mark.slow
def test_explore_elects_nobody_else_in_either_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions_module, "LARGE", 1 << 40)
    one_by_one = searched(reduction=True, symmetry=False)
    expected = all_of(one_by_one, one_by_one.explore())
    following = one_by_one.local_states.following
    led = {following[local] for row in one_by_one.rows() for local in row[:3]}
    assert led == {0, 2}, "of equal votes the greater id decides between the two that may"
    monkeypatch.setattr(portions_module, "LARGE", 1)
    at_once = searched(reduction=True, symmetry=False)
    assert all_of(at_once, at_once.explore()) == expected
    named = searched(reduction=True)
    assert named.symmetry is not None
    assert named.symmetry.renamings == [(0, 1, 2, 3), (0, 2, 1, 3)]
    assert named.explore().whole


def test_names_are_not_exchanged_with_one_that_may_not_lead() -> None:
    """With weights 2, 1, 0 the last two make no difference to quorums."""
    quorums = quorums_of("weights 2,1,0", 3)
    found = Space(ZOOKEEPER, quorums, ORACLE, Bounds(3, 1, 0, 0, 0), select(["core"]), moments=False)
    assert found.symmetry is None or found.symmetry.renamings == [(0, 1, 2, 3)]
