"""Liveness of the model: planted bugs that break no safety are found by runs and by `explore`, and told apart."""

from typing import Any

import pytest
from msgspec import structs

from invariants import Quiescent, Stabilised, check, select
from tests.invariants.builders import whole
from tests.zookeeper.model.builders import A, following, leading
from zabcheck.explore import Bounds, explore
from zabcheck.explore.report import facts
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, ProcessId, Protocol, Run, Send, Step
from zabcheck.search import swarm
from zabcheck.search.run import ProtocolRaised, Search, replay_on
from zabcheck.search.tally import Tally
from zabcheck.simulation.choices import Elect, Lead, Quiesce, Request, Settle, Stabilise, winner
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import learner, messages
from zabcheck.zookeeper.model.database import Exit
from zabcheck.zookeeper.model.server import Follower, Leader, Phase, is_overdue, vote
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.model.threads import reading, with_threads

ZOOKEEPER = PROTOCOLS["zookeeper"]
REPAIRED = ZooKeeperSwitches(defects="none", elections="oracle", sync="atomic", closing="abrupt")
LIVENESS = ("convergence", "reliable delivery", "epoch progress")


def planted(name: str, **fields: Any) -> Protocol:
    steps = {**ZOOKEEPER.steps, **fields.pop("steps", {})}
    return structs.replace(ZOOKEEPER, mutant=name, steps=steps, **fields)


def without_commits_to_the_third(step: Step) -> Step:
    def taken(l: Leader, sender: ProcessId, m: Any) -> list[Effect]:  # noqa: E741  # as the steps call the leader
        effects = step(l, sender, m)
        return [
            e for e in effects if not (isinstance(e, Send) and e.to == 3 and isinstance(e.message, messages.Commit))
        ]

    return taken


def exit_with_a_log(f: Follower, sender: ProcessId, m: messages.NewLeader) -> list[Effect]:
    if f.log:
        raise Exit("it has been here before")
    return learner.on_new_leader(f, sender, m)


NEVER_SENT = planted(
    "commits-not-sent",
    steps={kind: without_commits_to_the_third(ZOOKEEPER.steps[kind]) for kind in (messages.Ack, Run)},
)
BY_ID = planted("vote-by-id", vote=lambda f: (f.id,))
EXITING = planted("exits", steps={messages.NewLeader: with_threads(reading(exit_with_a_log))})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "grain"),
    [(NEVER_SENT, "G0"), (NEVER_SENT, "G3"), (BY_ID, "G0")],
)
def test_a_bug_of_liveness_alone_is_found_by_runs(bug: Protocol, grain: str) -> None:
    search = Search(bug, 3, ZOOKEEPER.properties, 100, 200, 1, fixed={"defects": "none", "grain": grain})
    found = swarm.find(search)
    assert found is not None
    assert found.property in LIVENESS
    assert replay_on(bug, found.schedule, [found.property]).verdicts[0].status == "violated"
    assert swarm.find(structs.replace(search, protocol=ZOOKEEPER)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "bounds", "broken", "trap"),
    [
        (NEVER_SENT, Bounds(3, 1, 1, 0, 0), "convergence", "trap"),
        pytest.param(BY_ID, Bounds(3, 1, 1, 0, 0), "convergence", "trap", marks=pytest.mark.slow),
    ],
)
def test_a_bug_of_liveness_alone_is_found_by_explore(bug: Protocol, bounds: Bounds, broken: str, trap: str) -> None:
    found = explore(bug, bounds=bounds, switches=REPAIRED, symmetry=False)
    assert (found.broken, found.trap) == (broken, trap)
    assert explore(bug, bounds=bounds, switches=REPAIRED, symmetry=False, properties=["core"]).broken is None
    right = explore("zookeeper", bounds=bounds, switches=REPAIRED)
    assert right.broken is None
    assert set(LIVENESS) <= set(right.exercised)


def test_what_a_running_epoch_owes_is_found_by_explore() -> None:
    found = explore(
        NEVER_SENT,
        bounds=Bounds(3, 1, 1, 0, 0),
        switches=REPAIRED,
        symmetry=False,
        properties=["core", "epoch progress"],
    )
    assert (found.broken, found.trap) == ("epoch progress", "rest")


@pytest.mark.slow
def test_an_incarnation_that_ended_for_good_is_told() -> None:
    tally = Tally(select(ZOOKEEPER.properties))
    search = Search(EXITING, 3, ZOOKEEPER.properties, 30, 200, 1, tally.add, fixed={"defects": "none"})
    assert swarm.find(search) is None
    assert tally.exits is not None
    assert tally.exits.runs > 10
    assert tally.exits.reason == "it has been here before"
    found = explore(EXITING, bounds=Bounds(2, 2, 1, 1, 1), switches=REPAIRED)
    assert found.broken is None
    assert found.exits is not None
    assert 0 < found.exits.states < found.states
    assert dict(facts(found))["ended"].endswith(f"for instance: {found.exits.reason}")
    with pytest.raises(ProtocolRaised):
        swarm.find(structs.replace(search, fixed={"defects": "none", "errors": "raised"}))
    right = explore("zookeeper", bounds=Bounds(2, 2, 1, 1, 1), switches=REPAIRED)
    assert right.exits is None


# What ZooKeeper may do.


def executed(*choices: Any, n: int = 3, **switches: Any) -> tuple[Simulator, list[Any]]:
    events: list[Any] = []
    switches = {"elections": "oracle", "defects": "none", **switches}
    simulator = Simulator(ZOOKEEPER, n, events.append, switches=ZooKeeperSwitches(**switches))
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


LED = (Lead(3, (1, 2)), Settle(12), Request(3), Settle(6))


def test_the_greatest_vote_leads_whoever_is_named() -> None:
    simulator, events = executed(Lead(3, (2,)), Settle(12), Request(3), Settle(6), Stabilise(1, (1, 2)))
    [calm] = [event for event in events if isinstance(event, Stabilised)]
    assert (calm.process, calm.quorum) == (2, (1, 2))
    assert simulator.following[1:] == [2, 2, 3]
    verdicts = {each.property: each.status for each in check(whole(events), LIVENESS)}
    assert verdicts["convergence"] == verdicts["reliable delivery"] == "holds"


def test_the_named_server_leads_among_equal_votes_in_each_grain() -> None:
    for grain in ("G0", "G1", "G2", "G3", "G4"):
        simulator, events = executed(*LED, Stabilise(1, (1, 3)), grain=grain)
        assert simulator.following[1] == simulator.following[3] == 1, grain
        assert {each.status for each in check(whole(events), ["convergence"])} == {"holds"}


def test_a_quorum_that_needs_all_its_members_is_stabilised_and_no_other() -> None:
    assert executed(Stabilise(1, (1, 2, 3)))[0].steps == 0
    assert executed(Stabilise(1, (1, 2)), elections="fle")[0].steps == 0


def test_at_rest_a_server_that_waits_has_timed_out_and_one_that_serves_follows_on() -> None:
    _, events = executed(Lead(3, (2,)), Elect(2, 3), Settle(12), Request(3), Elect(1, 2), Quiesce(), elections="apart")
    seen = {event.process: event for event in events if isinstance(event, Quiescent)}
    assert [(seen[each].leader, seen[each].connection) for each in (1, 2, 3)] == [
        (None, "none"),
        (3, "open"),
        (3, "none"),
    ]
    assert {each.status for each in check(whole(events), ["epoch progress"])} == {"holds"}
    assert is_overdue(leading(A, phase=Phase.DISCOVERY))
    assert not is_overdue(following(A))


def test_only_the_ids_of_equal_votes_give_way() -> None:
    votes = {each.id: vote(each) for each in (following(A), leading(A))}
    assert winner(votes, leading(A).quorums, 1) == 1
    assert winner({**votes, 2: (9, *votes[2][1:])}, leading(A).quorums, 1) == 2
