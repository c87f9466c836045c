"""Configurations of ZooKeeper: a run for each thing that they decide, and what searches find and do not find."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from invariants import Activate, Deliver, Halt, Zxid
from tests.zookeeper.model.reconfigured import C, Ensemble, V
from zabcheck.explore import Bounds, explore
from zabcheck.invariants.quorums import quorums_of
from zabcheck.protocols.base import StepRaised
from zabcheck.search import swarm
from zabcheck.search.run import Search, replay_on
from zabcheck.simulation import choices
from zabcheck.simulation.schedule import load
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.reconfiguration import RECONFIGURATION
from zabcheck.zookeeper.model.reconfiguration.switches import ReconfigurationSwitches

REPAIRED = {"uptodate": "active", "newleader": "both", "epochs": "both", "pending": "history", "defects": "none"}


def test_a_change_is_seen_acknowledged_by_both_quorums_and_activated_when_it_is_committed() -> None:
    e = Ensemble()
    e.lead(1, 2, 3)
    assert not e.change(1, "config 3,4"), "4 is not synchronised, so there is no quorum of it"
    e.do(choices.Elect(4, 1), choices.Settle(9), choices.Hold(4, 1, "ACK"), choices.Hold(2, 1, "ACK"))
    assert e.change(1)
    assert not e.change(1, C), "one change at a time"
    e.settle()
    assert [e.known(each) for each in (1, 2, 3, 4)] == [(C, V)] * 4, "1 and 3 are no quorum of the new configuration"
    assert e.of(Activate) == [] == e.of(Deliver)
    e.do(choices.Heal())
    e.settle()
    assert [e.known(each) for each in (1, 2, 3, 4)] == [(V, V)] * 4
    assert {event.txn.zxid for event in e.of(Activate)} == {Zxid(1, 1)}
    assert e.change(1, C)


def test_what_is_proposed_while_a_change_is_pending_needs_both_quorums_for_good() -> None:
    e = Ensemble(5)
    e.lead(1, 2, 3, 4, 5)
    e.do(choices.Hold(4, 1, "ACK"), choices.Hold(5, 1, "ACK"))
    assert e.change(1, "config 1,4,5")
    e.do(choices.Request(1), choices.Settle(9), choices.Heal(), choices.Receive(1, 4), choices.Settle(0))
    assert e.known(1)[0] == "config 1,4,5"
    assert [each.required for each in e.run.states[1].outstanding] == [
        tuple(quorums_of(name, 5) for name in (C, "config 1,4,5"))
    ]


def test_both_configurations_are_in_files_and_outlive_a_crash() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4)
    e.do(choices.Hold(2, 1, "ACK"), choices.Hold(3, 1, "ACK"))
    e.change(1)
    e.settle()
    e.do(choices.Crash(2), choices.Recover(2))
    assert e.known(2) == (C, V)
    e.do(choices.Heal(), choices.Settle(9), choices.Crash(4), choices.Recover(4))
    assert e.known(4) == (V, V)
    assert e.run.states[4].next is None


@pytest.mark.parametrize(("epochs", "chosen"), [("active", 2), ("both", 1)])
def test_a_leader_with_a_pending_change_chooses_an_epoch_with_the_active_configuration(
    epochs: str, chosen: int
) -> None:
    """So two leaders may have one epoch (R4). NEWLEADER takes both quorums."""
    e = Ensemble(5, epochs=epochs)
    e.lead(1, 2, 3, 4, 5)
    e.do(*(choices.Hold(each, 1, "ACK") for each in (2, 3, 4, 5)))
    e.change(1, "config 2,4,5")
    e.settle()
    e.do(choices.Heal(), choices.Crash(1), *map(choices.Timeout, (2, 3, 4, 5)))
    e.lead(2, 3)
    assert e.run.states[3].accepted_epoch == chosen
    assert e.epochs() == [(1, 1)]
    e.do(choices.Elect(4, 2))
    e.settle()
    assert e.epochs() == [(1, 1), (2, 2)]
    assert e.known(2) == e.known(4) == ("config 2,4,5", "config 2,4,5")


def test_a_leader_outside_the_new_configuration_hands_over_without_an_election() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4)
    assert e.change(1, "config 3,4")
    e.settle()
    assert e.epochs() == [(1, 1), (3, 2)], "3 has acknowledged as much as 4 has, and is the lower one"
    assert e.run.following[2] == e.run.following[4] == 3
    assert e.do(choices.Request(1))
    e.settle()
    assert [event.txn.value for event in e.of(Deliver) if event.process == 1] == ["config 3,4"], "1 commits no more"
    e.do(choices.Timeout(1))
    assert e.run.following[1] == 3


def test_who_elects_hears_what_is_active_and_a_leader_with_an_epoch_refuses_who_is_ahead() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4)
    e.do(choices.Cut(1, 2), choices.Cut(1, 3))
    e.do(*(choices.Timeout(each) for each in (2, 3)), choices.Heal(), choices.Elect(2, 1), choices.Settle(9))
    e.do(choices.Cut(1, 2))
    assert e.change(1, "config 1,4")
    e.settle()
    assert e.known(4)[0] == C, "nobody of 2 and 3 has the change"
    e.do(choices.Heal(), choices.Receive(2, 1), choices.Receive(1, 2), choices.Cut(1, 2))
    e.settle()
    assert [e.known(each)[0] for each in (2, 4)] == [C, "config 1,4"]
    e.do(choices.Heal(), choices.Timeout(4), choices.Timeout(2))
    e.lead(2, 3)
    assert e.run.states[2].epoch == 2
    e.do(choices.Elect(4, 2))
    e.settle()
    assert e.known(2)[0] == C, "follower is ahead of the leader"
    e.do(choices.Timeout(2), choices.Timeout(4))
    e.lead(2, 4, rounds=1)
    assert e.known(2)[0] == "config 1,4"
    assert e.run.following[2] == 0, "it is no candidate there"


@pytest.mark.parametrize(
    ("repair", "active"), [({}, C), ({"uptodate": "active"}, V), ({"kept": "any"}, V), ({"errors": "raised"}, None)]
)
def test_a_change_committed_behind_a_write_while_a_server_is_synchronised_is_passed_over(
    repair: dict[str, str], active: str | None
) -> None:
    """Only the first proposal that NEWLEADER has left to do is looked at (R6)."""
    e = Ensemble(**repair)
    e.lead(1, 2, 3)
    e.do(choices.Elect(4, 1), choices.Hold(4, 1, "ACK"))
    e.settle()
    e.do(choices.Request(1), choices.Request(1, V), choices.Settle(9), choices.Heal())
    if active is None:
        with pytest.raises(StepRaised):
            e.settle()
        return
    e.settle()
    assert e.known(2)[0] == V
    assert e.known(4) == (active, V)


@pytest.mark.parametrize(("version", "uniqueness"), [("3.5.3", ["epoch uniqueness"]), ("3.5.5", [])])
def test_servers_that_are_no_voters_settle_an_epoch_up_to_3_5_3(version: str, uniqueness: list[str]) -> None:
    """2959: 4 follows 1, and 2 follows 3, each in epoch 1; then 2 changes sides."""
    e = Ensemble(version=version, defects="2959" if uniqueness else "none")
    e.do(choices.Lead(1, (4,)), choices.Lead(3, (2,)))
    read = ((1, 4), (3, 2), (4, 1), (2, 3), (1, 4), (3, 2), (2, 3), (2, 3))
    e.do(*(choices.Receive(*each) for each in read), choices.Elect(2, 1))
    e.settle()
    assert e.broken() == uniqueness


@pytest.mark.parametrize(("addresses", "order"), [("changed", ["local primary order"]), ("checked", [])])
def test_nobody_leads_on_in_a_configuration_that_is_its_leader_alone_at_another_address(
    addresses: str, order: list[str]
) -> None:
    """R12: the change is outstanding no more, and the next write overtakes it; 3 ends itself."""
    e = Ensemble(3, addresses=addresses)
    e.lead(1, 2, 3)
    assert e.change(1, "config 1") is bool(order)
    e.do(choices.Receive(2, 1), choices.Receive(1, 2), choices.Request(1))
    e.settle()
    assert e.of(Activate) == []
    assert e.broken()[:1] == order
    assert [event.process for event in e.of(Halt)] == [3] * bool(order)


@pytest.mark.parametrize(("pending", "active"), [("file", "config 2,3"), ("history", "config 1,2,4")])
def test_a_leader_completes_the_change_that_its_file_names_although_no_log_has_it(pending: str, active: str) -> None:
    """A proposal that comes while a server is synchronised is in `.next` before it is in the log."""
    e = Ensemble(first="config 1,2,4", pending=pending)
    e.lead(1, 2, 3, 4)
    e.do(*(choices.Hold(1, each, "PROPOSAL") for each in (2, 3, 4)))
    assert e.change(1, "config 2,3")
    e.do(choices.Timeout(2), choices.Heal(), choices.Cut(1, 3), choices.Cut(1, 4), choices.Hold(1, 2, "NEWLEADER"))
    e.do(choices.Elect(2, 1), choices.Settle(9), choices.Crash(1), *map(choices.Timeout, (2, 3, 4)), choices.Heal())
    assert e.known(2) == ("config 1,2,4", "config 2,3")
    assert e.run.states[2].log == ()
    e.lead(2, 3, 4)
    assert e.epochs() == [(1, 1), (2, 2)]
    assert e.known(2) == (active, active)


def test_two_leaders_take_one_epoch_where_a_pending_change_does_not_have_to_promise() -> None:
    """R4: 2 leads on in {1,2,3}, where the change to {2,4,5} is pending, while 5 and 4 have it active."""
    broken: dict[str, list[str]] = {}
    for epochs in ("active", "both"):
        e = Ensemble(5, **{**REPAIRED, "epochs": epochs})
        e.lead(1, 2, 3, 4, 5)
        e.do(choices.Hold(1, 3, "PROPOSAL"))
        assert e.change(1, "config 2,4,5")
        e.do(*(choices.Receive(each, 1) for each in (2, 4, 5)))
        e.do(choices.Request(1), choices.Receive(2, 1), *(choices.Receive(1, each) for each in (2, 4, 5)))
        e.do(choices.Timeout(5), choices.Elect(5, 1), choices.Receive(1, 5), choices.Receive(5, 1), choices.Crash(1))
        assert [e.known(each)[0] for each in (2, 4, 5)] == [C, C, "config 2,4,5"]
        e.do(*map(choices.Timeout, (2, 3, 4, 5)), choices.Heal(), choices.Cut(4, 2))
        e.lead(2, 3, 4)
        assert e.epochs() == [(1, 1)]
        e.do(choices.Timeout(4), choices.Heal())
        e.lead(5, 4)
        e.do(choices.Request(5), choices.Crash(5), *map(choices.Timeout, (2, 3, 4)))
        e.lead(2, 4)
        broken[epochs] = e.broken()
    assert broken == {"active": ["primary integrity"], "both": []}


def test_a_leader_that_takes_epochs_in_vain_makes_others_forget_what_is_chosen() -> None:
    """R4, as on servers: 2 takes epochs 2 and 3 in vain, with {2,3} alone, and so has a greater vote than 4 has."""
    broken: dict[str, list[str]] = {}
    for epochs in ("active", "both"):
        e = Ensemble(5, **{**REPAIRED, "epochs": epochs})
        e.lead(1, 2, 3, 4, 5)
        assert e.change(1, "config 2,4,5")
        e.do(*(choices.Receive(each, 1) for each in (2, 3, 4, 5)), *(choices.Receive(1, each) for each in (2, 4, 5)))
        e.do(choices.Timeout(5), choices.Elect(5, 1), choices.Receive(1, 5), choices.Receive(5, 1), choices.Crash(1))
        e.do(*map(choices.Timeout, (2, 3, 4, 5)), choices.Heal(), choices.Cut(4, 2))
        for _ in range(2):
            e.lead(2, 3, 4)
            e.do(*map(choices.Timeout, (2, 3, 4)))
        assert e.epochs() == [(1, 1)]
        e.do(choices.Heal())
        e.lead(5, 4)
        e.do(choices.Request(5), choices.Settle(9), choices.Crash(5), *map(choices.Timeout, (2, 3, 4)))
        e.lead(2, 4)
        e.do(choices.Request(2))
        e.settle()
        broken[epochs] = sorted(e.broken())
    assert broken == {
        "active": ["agreement", "primary integrity", "redelivery", "strict causality", "total order"],
        "both": [],
    }


def test_a_configuration_that_two_servers_have_passed_over_goes_on_beside_theirs() -> None:
    """R2: 1 and 2 are synchronised while {3,4,5} becomes active, and see the change after that one."""
    broken: dict[str, list[str]] = {}
    for newleader in ("seen", "both"):
        e = Ensemble(5, **{**REPAIRED, "newleader": newleader})
        e.lead(3, 1, 2, 4, 5)
        e.do(choices.Hold(3, 2, "PROPOSAL"))
        assert e.change(3, "config 3,4,5")
        e.do(*(choices.Receive(each, 3) for each in (1, 4, 5)), choices.Receive(3, 1), choices.Heal())
        for each in (1, 2):
            e.do(choices.Timeout(each), choices.Elect(each, 3), choices.Receive(3, each), choices.Receive(each, 3))
        e.do(choices.Receive(3, 4), choices.Receive(3, 5), choices.Receive(4, 3), choices.Receive(5, 3))
        assert [e.known(each)[0] for each in (1, 2, 3, 4, 5)] == [C, C, *["config 3,4,5"] * 3]
        e.do(choices.Receive(3, 2))
        assert e.change(3, C)
        e.do(choices.Hold(3, 4, "PROPOSAL"), choices.Hold(3, 5, "PROPOSAL"), choices.Receive(3, 1))
        e.do(*(choices.Receive(each, 3) for each in (1, 1, 1, 2, 2, 2)), choices.Crash(3))
        e.do(*map(choices.Timeout, (1, 2, 4, 5)), choices.Heal())
        e.lead(2, 1)
        e.lead(5, 4)
        e.do(choices.Request(2), choices.Request(5))
        e.settle()
        broken[newleader] = e.broken()
    assert broken == {"seen": ["agreement", "chosen", "epoch uniqueness", "zxid uniqueness"], "both": []}


def test_three_servers_are_enough_to_pass_a_configuration_over() -> None:
    """R2: 2 is about to be brought up to date when {3} becomes active, and sees the change after that one."""
    broken: dict[str, list[str]] = {}
    for newleader in ("seen", "both"):
        e = Ensemble(3, **{**REPAIRED, "newleader": newleader})
        e.do(choices.Hold(2, 3, "ACKEPOCH"), *(choices.Elect(each, 3) for each in (3, 1, 2)))
        e.settle()
        assert e.change(3, "config 3")
        e.do(choices.Receive(1, 3), choices.Receive(3, 1), choices.Heal(), choices.Receive(3, 2), choices.Request(3))
        assert [e.known(each)[0] for each in (1, 2, 3)] == [C, C, "config 3"]
        assert e.change(3, C)
        e.do(*[choices.Receive(2, 3)] * 5, choices.Crash(3), choices.Notice(1, 3), choices.Notice(2, 3))
        assert e.run.states[2].last_seen.configuration.name == C
        e.lead(2, 1)
        e.do(choices.Request(2))
        e.settle()
        broken[newleader] = e.broken()
    assert broken == {"seen": ["agreement", "primary integrity", "chosen"], "both": []}


def test_an_observer_is_told_of_what_is_committed_and_comes_back_as_a_voter() -> None:
    e = Ensemble(outsiders="observers")
    e.lead(1, 2, 3)
    e.do(choices.Elect(4, 1))
    e.settle()
    assert not e.change(1, "config 1,4"), "an observer does not count as synchronised"
    e.do(choices.Hold(2, 1, "ACK"), choices.Hold(3, 1, "ACK"), choices.Request(1))
    assert e.change(1)
    e.settle()
    assert (e.run.states[4].observes, e.run.states[4].log, len(e.run.states[2].log)) == (True, (), 2)
    e.do(choices.Heal(), choices.Settle(9))
    assert [(each.observes, len(each.log)) for each in (e.run.states[3], e.run.states[4])] == [(True, 2), (False, 2)]
    e.do(choices.Crash(3), choices.Crash(2), choices.Request(1))
    e.settle()
    assert [event.process for event in e.of(Deliver)][-2:] == [1, 4], "4 votes"


@pytest.mark.parametrize(("outsiders", "broken"), [("unlogged", True), ("saved", False), ("observers", False)])
def test_an_observer_that_logs_nothing_becomes_a_voter_with_a_hole_in_its_log(outsiders: str, broken: bool) -> None:
    """R3: 4 has a write in memory alone, and a later one in its log."""
    e = Ensemble(outsiders=outsiders)
    e.lead(1, 2, 3)
    e.do(choices.Elect(4, 1), choices.Settle(9), choices.Request(1), choices.Settle(9))
    assert e.change(1, "config 1,2,3,4")
    e.settle()
    e.do(choices.Request(1), choices.Settle(9), choices.Crash(4), choices.Recover(4), choices.Crash(1))
    e.do(choices.Timeout(2), choices.Timeout(3))
    e.lead(4, 2, 3)
    assert ("total order" in e.broken()) is broken


@pytest.mark.parametrize(("observed", "broken"), [("counted", True), ("ignored", False)])
def test_an_observer_that_is_to_be_a_voter_counts_although_it_has_logged_nothing(observed: str, broken: bool) -> None:
    """4 is the third voter of {1,...,5} that acknowledges NEWLEADER, and leaves without what it was sent."""
    e = Ensemble(5, **{**REPAIRED, "outsiders": "observers", "observed": observed})
    e.lead(1, 2, 3)
    e.do(choices.Elect(4, 1), choices.Settle(9), choices.Request(1), choices.Settle(9))
    e.do(choices.Hold(1, 3, "PROPOSAL"), choices.Hold(1, 4, "INFORM"))
    e.do(choices.Request(1), choices.Settle(9))
    assert e.change(1, "config 1,2,3,4,5")
    e.settle()
    assert e.known(1)[0] == C
    e.do(choices.Crash(1), choices.Recover(1), choices.Heal(), *map(choices.Timeout, (2, 3, 4)))
    e.lead(2, 1)
    assert e.epochs() == [(1, 1)]
    e.do(choices.Hold(4, 2, "FOLLOWERINFO"), choices.Elect(4, 2), choices.Settle(9))
    assert (e.known(2)[0] == e.known(4)[0] == "config 1,2,3,4,5") is broken
    assert len(e.run.states[4].log) == 1
    e.do(choices.Crash(1), choices.Crash(2), choices.Timeout(4), choices.Heal())
    e.lead(4, 3, 5)
    e.do(choices.Request(4), choices.Settle(9))
    assert ("agreement" in e.broken()) is broken


BEGUN = Path(__file__).parents[3] / "docs/examples/write-in-the-new-configuration.json"
"""1 has a write acknowledged in {1,2,4}, which is active there; at 2 it is pending."""


def test_explore_goes_on_where_a_write_is_acknowledged_and_finds_it_lost() -> None:
    """R4 with four servers: 2 takes an epoch with 3, in vain; so its vote is greater than that of 1."""
    begun = load(BEGUN.read_bytes(), str(BEGUN))
    in_vain = [choices.Elect(2, 2), choices.Elect(3, 2), choices.Receive(2, 3), choices.Receive(3, 2)]
    steps = (*begun.choices, *in_vain, choices.Receive(2, 3), choices.Elect(2, 2), choices.Elect(1, 2))
    bounds = Bounds(processes=4, epochs=3, txns=2, timeouts=3, changes=("config 1,2,4",))
    judged: Any = {"quorums": C, "bounds": bounds, "properties": ("primary integrity",), "reduction": False}
    after = structs.replace(begun, choices=steps)
    found = explore(RECONFIGURATION, switches=begun.switches, after=after, **judged)
    assert (found.broken, found.steps, found.tried) == ("primary integrity", 39, 38)
    assert found.counterexample is not None
    repaired = structs.replace(found.counterexample.schedule, switches=structs.replace(begun.switches, epochs="both"))
    verdicts = replay_on(RECONFIGURATION, repaired, RECONFIGURATION.properties).verdicts
    assert [each.property for each in verdicts if each.status == "violated"] == []


BOUNDS = Bounds(processes=3, epochs=1, txns=0, timeouts=0, changes=("config 1,2",))


def test_explore_finds_a_pending_change_that_is_activated() -> None:
    """R1: no fault is needed, and with the repair nothing breaks within the same bounds."""
    chosen = ReconfigurationSwitches(sync="atomic", closing="abrupt")
    judged: Any = {"bounds": BOUNDS, "quorums": C, "properties": ("activation",)}
    found = explore(RECONFIGURATION, switches=chosen, **judged)
    assert (found.broken, found.steps) == ("activation", 18)
    repaired = explore(RECONFIGURATION, switches=structs.replace(chosen, uptodate="active"), **judged)
    assert repaired.whole
    assert "activation" in repaired.exercised


@pytest.mark.parametrize(
    ("first", "bounds", "bug", "steps", "repair"),
    [
        (
            "config 1,2",
            Bounds(processes=3, epochs=1, txns=0, timeouts=0, changes=(C,)),
            {"version": "3.5.2", "defects": "2172", "errors": "raised", "uptodate": "seen"},
            23,
            {"version": "3.5.3", "defects": "none"},
        ),
        (
            "config 1,2",
            Bounds(processes=3, epochs=1, txns=0, timeouts=0, changes=("config 1",)),
            {"version": "3.5.0", "defects": "1784", "errors": "raised", "uptodate": "seen", "kept": "any"}
            | {"outsiders": "observers"},
            22,
            {"version": "3.5.2", "defects": "none"},
        ),
        (
            "config 1",
            Bounds(processes=2, epochs=2, txns=0, timeouts=0, crashes=1, changes=("config 2",)),
            {"folder": "full"},
            17,
            {"folder": "writable"},
        ),
    ],
    ids=("2172", "1784", "unwritten-config"),
)
def test_explore_finds_the_shortest_run_and_none_where_the_bug_is_repaired(
    first: str, bounds: Bounds, bug: dict[str, str], steps: int, repair: dict[str, str]
) -> None:
    values: Any = {"sync": "atomic", "closing": "abrupt", **REPAIRED, **bug}
    judged: Any = {"bounds": bounds, "quorums": first, "properties": ("integrity", "epoch uniqueness")}
    assert explore(RECONFIGURATION, switches=ReconfigurationSwitches(**values), **judged).steps == steps
    repaired = explore(RECONFIGURATION, switches=ReconfigurationSwitches(**{**values, **repair}), **judged)
    assert repaired.whole


def test_nothing_breaks_with_all_repairs() -> None:
    search = Search(RECONFIGURATION, None, RECONFIGURATION.properties, 40, 200, 1, fixed=REPAIRED)
    assert swarm.find(search) is None


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({"grain": "G2"}, "expected G0"),
        ({"version": "3.4.10"}, "expected 3.5.0 or later"),
        ({"defects": "2959"}, "version 3.9.5 does not have it, expected version=3.5.0 or 3.5.2 or 3.5.3"),
        ({"defects": "4712"}, "version 3.9.5 does not have it"),
        ({"defects": "2959", "version": "3.5.3"}, ""),
    ],
)
def test_what_a_release_does_not_have_is_refused(values: dict[str, str], refused: str) -> None:
    found = RECONFIGURATION.contradiction(values)
    assert refused in found
    assert bool(found) is bool(refused)
    if "version" in values and not refused:
        assert "only of the protocol zookeeper-reconfiguration" in ZOOKEEPER.contradiction(values)
