"""The faults of db-19: each suspicion of docs/db19.md, as a schedule or as a run of the lab's own cluster."""

from pathlib import Path

import pytest
from msgspec import structs

from invariants import PROPERTIES, Broadcast, Judge, Send, Zxid, select
from invariants.quorums import Quorums
from tests.protocols.db19.configurations import run
from tests.protocols.db19.findings import began_without_promises, fails, nodes
from tests.search.builders import failure_of, simulator_of
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.db19 import DB19
from zabcheck.protocols.db19.cluster import Cluster, Setting
from zabcheck.protocols.db19.messages import AckEpoch
from zabcheck.protocols.db19.node import Role
from zabcheck.search.run import Search, replay
from zabcheck.search.swarm import find
from zabcheck.simulation.choices import Heal, Overtake, Receive, Request, Reset, Settle, Split, Timeout
from zabcheck.simulation.schedule import Schedule, load
from zabcheck.simulation.simulator import Simulator

RECORDED = {
    path.stem: load(path.read_bytes(), path.name)
    for path in sorted(Path(__file__).with_name("schedules").glob("*.json"))
}
BROKEN = [name for name, schedule in RECORDED.items() if schedule.violates]
each_broken = pytest.mark.parametrize("name", BROKEN)

UNBROKEN = ("integrity", "global primary order", "clock", "invariant 4", "invariant 5")
"""The properties that no search has broken."""


def recorded(protocol: str) -> set[str]:
    return {
        str(schedule.violates) for schedule in RECORDED.values() if schedule.protocol == protocol and schedule.violates
    }


# What a search finds.


@pytest.mark.parametrize("protocol", ["db19", "db19-fifo"])
def test_there_is_a_schedule_for_each_property_that_breaks(protocol: str) -> None:
    judged = {kind.name for kind in select(DB19.properties)}
    assert recorded(protocol) == judged - set(UNBROKEN)


@each_broken
def test_a_recorded_schedule_breaks_its_property_and_every_choice_of_it_is_a_step(name: str) -> None:
    schedule = RECORDED[name]
    assert schedule.violates in PROPERTIES
    replayed = replay(schedule, [str(schedule.violates)])
    assert [verdict.status for verdict in replayed.verdicts] == ["violated"]
    assert (replayed.skipped, replayed.steps) == (0, len(schedule.choices))


@pytest.mark.slow
@each_broken
def test_nothing_can_be_left_out_of_it(name: str) -> None:
    schedule = RECORDED[name]
    shorter = (schedule.choices[:index] + schedule.choices[index + 1 :] for index in range(len(schedule.choices)))
    violates = str(schedule.violates)
    assert not any(failure_of(structs.replace(schedule, choices=choices), violates) for choices in shorter)


def test_the_search_finds_that_it_is_broken_on_links_of_both_kinds() -> None:
    for name in ("db19", "db19-fifo"):
        broken = find(Search(PROTOCOLS[name], properties=("zxid uniqueness",), runs=200, steps=200, rng=1))
        assert broken is not None
        assert broken.property == "zxid uniqueness"


# 1. Links reorder.


@pytest.mark.parametrize("property_", ["total-order", "local-primary-order", "po-causal-order", "prefix", "chosen"])
def test_with_two_nodes_it_takes_one_message_that_overtakes(property_: str) -> None:
    schedule = RECORDED[f"db19.{property_}"]
    assert schedule.processes == 2
    assert [type(choice) for choice in schedule.choices].count(Overtake) == 1
    in_order = structs.replace(schedule, protocol="db19-fifo")
    assert failure_of(in_order, str(schedule.violates)) is None


@pytest.mark.parametrize("name", [name for name in BROKEN if name.startswith("db19-fifo.")])
def test_but_each_of_these_breaks_on_links_that_keep_the_order_too(name: str) -> None:
    assert not any(isinstance(choice, Overtake) for choice in RECORDED[name].choices)


# 2. An AckEpoch is not bound to an epoch.


def test_an_epoch_begins_that_no_quorum_has_promised() -> None:
    schedule = RECORDED["db19.unbound-ack-epoch"]
    failure = fails(schedule, began_without_promises)
    assert failure is not None
    assert failure.choices == schedule.choices, "it is so only after the last choice"
    simulator = executed(schedule.processes, "db19", *schedule.choices[:-1])
    assert type(simulator.connections[1, 2].to_leader[0][0]) is AckEpoch
    assert [(n.role, n.accepted_epoch) for n in nodes(simulator)] == [
        (Role.FOLLOWING, 1),
        (Role.LEADING, 3),
        (Role.LEADING, 2),
    ]


def test_it_counts_although_its_sender_has_promised_an_older_epoch_only() -> None:
    schedule = RECORDED["db19.unbound-ack-epoch"]
    simulator = executed(schedule.processes, "db19", *schedule.choices)
    leader = simulator.states[2]
    assert (leader.current_epoch, sorted(leader.epoch_acks)) == (3, [1, 2])
    assert simulator.states[1].accepted_epoch == 1


# 3. A late AckEpoch sets the counter back.


@pytest.mark.parametrize("protocol", ["db19", "db19-fifo"])
def test_a_late_acknowledgement_makes_a_leader_give_a_zxid_twice(protocol: str) -> None:
    schedule = RECORDED[f"{protocol}.zxid-uniqueness"]
    assert not any(isinstance(choice, Overtake | Timeout) for choice in schedule.choices)
    *before, late, last = schedule.choices
    assert isinstance(late, Receive)
    assert isinstance(last, Request)
    simulator = executed(3, protocol, *before)
    assert (simulator.states[late.process].synced, simulator.states[late.process].next_counter) == (True, 1)
    simulator.execute(late)
    assert simulator.states[late.process].next_counter == 0
    simulator.execute(last)
    assert [txn.zxid for txn in simulator.states[late.process].history.chain] == [Zxid(1, 1), Zxid(1, 1)]


# 4. Nothing steps a leader down.


@pytest.mark.parametrize("protocol", ["db19", "db19-fifo"])
def test_a_leader_without_followers_leads_on_after_the_partition_and_hears_of_a_later_epoch(protocol: str) -> None:
    """Node 3 leads, is cut off, and loses what is sent to it; 1 and 2 elect 2, which sends its heartbeats to 3."""
    cut_off = (Settle(8), Split((3,)), Timeout(1), Timeout(2), Settle(10))
    healed = (Reset(1, 3), Reset(2, 3), Heal())
    simulator = executed(3, protocol, *cut_off, *healed, Settle(10))
    for _ in range(5):
        for choice in (Request(2), Timeout(2), Request(3), Timeout(3), Settle(10)):
            assert simulator.execute(choice)
    _, new, old = nodes(simulator)
    assert [(n.role, n.synced, n.current_epoch) for n in (new, old)] == [
        (Role.LEADING, True, 2),
        (Role.LEADING, True, 1),
    ]
    assert (new.last_committed, new.history.chain.length) == (Zxid(2, 5), 5)
    assert (old.last_committed, old.history.chain.length) == (Zxid(0, 0), 5), "what clients ask of it is never done"


def test_in_the_lab_two_lead_for_ever_and_clients_ask_the_one_that_commits_nothing() -> None:
    cluster, events = run(Setting(37, 5, 1000, 1, ((3, 4), (4, 3))))
    leaders = [node for node in cluster.nodes if can_lead(cluster, node.id)]
    assert [(node.id, node.current_epoch, node.last_committed) for node in leaders] == [
        (4, 1, Zxid(0, 0)),
        (5, 1, Zxid(0, 0)),
    ]
    assert [event.process for event in events if isinstance(event, Broadcast)] == [4]


def can_lead(cluster: Cluster, process: int) -> bool:
    node = cluster.nodes[process - 1]
    return node.role is Role.LEADING and node.synced


# 5. An isolated node may never rejoin.


@pytest.mark.parametrize("protocol", ["db19", "db19-fifo"])
def test_a_node_that_was_cut_off_looks_for_ever_for_a_leader_that_is_there(protocol: str) -> None:
    """Node 3 has the highest id, so it goes on to vote for itself, whomever the others name."""
    simulator = executed(3, protocol, Split((3,)), Settle(10), Reset(1, 3), Reset(2, 3), Heal())
    assert simulator.states[2].synced
    for _ in range(5):
        for choice in (Timeout(3), Settle(10), Timeout(2), Settle(10)):
            assert simulator.execute(choice)
    n = simulator.states[3]
    assert (n.role, n.vote_target_id) == (Role.LOOKING, 3)
    assert dict(n.vote_view) == {1: 2, 2: 2, 3: 3}, "both others have told it whom they follow"


def test_one_that_rejoins_gets_no_history_and_delivers_with_a_gap() -> None:
    """Node 1 is cut off while a transaction is committed; then it is named the leader, which never sends NewLeader."""
    cut_off = (Settle(9), Split((1,)), Request(3), Settle(6), Reset(1, 2), Reset(1, 3), Heal())
    simulator = executed(3, "db19-fifo", *cut_off, Timeout(1), Settle(4), Request(3), Settle(8))
    rejoined, leader = simulator.states[1], simulator.states[3]
    assert (rejoined.role, rejoined.leader_id) == (Role.FOLLOWING, 3)
    assert [txn.zxid for txn in leader.history.chain] == [Zxid(1, 1), Zxid(1, 2)]
    assert [txn.zxid for txn in rejoined.history.chain] == [Zxid(1, 2)]
    assert rejoined.last_committed == Zxid(1, 2)


def test_in_the_lab_a_node_all_of_whose_links_work_looks_for_a_leader_to_the_end() -> None:
    cluster, _ = run(Setting(13, 5, 2000, 3, ((4, 3),)))
    assert [node.role for node in cluster.nodes].count(Role.LEADING) >= 1
    assert cluster.nodes[2].role is Role.LOOKING


# Besides.


def test_two_nodes_with_a_leader_send_each_other_votes_for_ever() -> None:
    """Nothing is proposed, and yet several messages a tick are sent, nearly all of them votes."""
    _, events = run(Setting(1, 3, 3000, 0), network=True)
    kinds = [event.kind for event in events if isinstance(event, Send)]
    assert kinds.count("Vote") > 3 * 3000
    assert len(kinds) - kinds.count("Vote") < 200


LAB = [
    (Setting(19, 2, 15, 2), "total order, local primary order, po causal order, prefix, chosen"),
    (Setting(22, 2, 14, 2), "chosen"),
    (Setting(13, 3, 17, 3), "agreement"),
    (Setting(87, 3, 20, 2), "invariant 2, zxid uniqueness"),
    (Setting(80, 3, 12, 3), "causal order"),
    (Setting(5, 5, 12, 0, ((4, 3),)), "epoch uniqueness"),
]
"""The smallest runs of the lab's cluster that were found: by nodes, links cut, proposals, ticks, seed."""


@pytest.mark.parametrize(("setting", "expected"), LAB, ids=[f"{s.nodes} nodes, {p}" for s, p in LAB])
def test_plain_runs_of_the_lab_break_properties(setting: Setting, expected: str) -> None:
    judge = Judge(select(DB19.properties), quorums=Quorums(setting.nodes))
    for event in run(setting)[1]:
        judge.observe(event)
    violated = [verdict.property for verdict in judge.finish() if verdict.status == "violated"]
    assert [name for name in expected.split(", ") if name not in violated] == []


def executed(processes: int, protocol: str, *choices: object) -> Simulator:
    """The simulator after these choices."""
    simulator = simulator_of(Schedule(1, protocol, processes, ()))
    for choice in choices:
        simulator.execute(choice)  # type: ignore[arg-type]  # they are choices
    return simulator
