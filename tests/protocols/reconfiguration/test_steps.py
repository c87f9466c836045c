"""USENIX ATC 2012 on Zab: a run for each step from R.0 to R.12, and hundreds of runs in which nothing breaks."""

from typing import Any

import pytest

from invariants import Activate, Broadcast, Deliver, Establish, Event, Promise, Ready, Txn, Zxid, select
from invariants.quorums import quorums_of
from zabcheck.protocols.reconfiguration import RECONFIGURATION
from zabcheck.search.engines import Engine, find
from zabcheck.search.run import Run, Search
from zabcheck.search.tally import Tally
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator

V = Txn(Zxid(1, 1), "config 1,2,4")


class Ensemble:
    """A run of `size` processes that begins with the configuration of 1, 2 and 3, or another one."""

    def __init__(self, size: int = 5, first: str = "config 1,2,3") -> None:
        self.events: list[Event] = []
        self.run = Simulator(RECONFIGURATION, size, self.events.append, quorums=quorums_of(first, size))

    def do(self, *taken: choices.Choice) -> bool:
        """Take these choices; return True if the last one was enabled."""
        return bool([self.run.execute(choice) for choice in taken][-1])

    def lead(self, leader: int, *followers: int, rounds: int = 9) -> None:
        """Elect a leader, and let it come as far as it comes in so many rounds."""
        self.do(choices.Lead(leader, followers), choices.Settle(rounds))

    def change(self, leader: int, to: str) -> bool:
        return self.do(choices.Request(leader, to))

    def settle(self, rounds: int = 9) -> None:
        self.do(choices.Settle(rounds))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def active(self, process: int) -> str:
        return str(self.run.states[process].acting.configuration.name)

    def delivered(self, process: int) -> list[str]:
        return [event.txn.value for event in self.of(Deliver) if event.process == process]


def test_r0_a_joiner_gets_history_and_proposals_and_its_acknowledgement_does_not_count() -> None:
    e = Ensemble()
    e.lead(1, 2, 4)
    e.do(choices.Sever(1, 2), choices.Request(1))
    e.settle()
    assert str(e.run.states[4].history) == "Chain.of([Txn(zxid=Zxid(epoch=1, counter=1), value='v1')])"
    assert e.of(Deliver) == [], "1 and 4 are no quorum of 1, 2 and 3"
    e.do(choices.Heal())
    e.settle()
    assert e.delivered(4) == ["v1"]


def test_r1_a_change_needs_a_quorum_of_the_new_configuration_that_is_synchronised() -> None:
    e = Ensemble()
    e.lead(1, 2, 3)
    assert not e.change(1, "config 3,4,5"), "only 3 is there"
    assert e.change(1, "config 1,2,4")
    assert not e.change(1, "config 1,2,3"), "one change at a time"
    assert e.of(Broadcast) == [Broadcast(1, 0, 1, V)]


def test_r2_what_comes_behind_a_change_is_not_committed_before_it() -> None:
    """2 and 4 are to lead on in a configuration without 1, and 4 acknowledges late."""
    e = Ensemble(first="config 1,2,3")
    e.lead(1, 2, 3, 4)
    e.do(choices.Hold(1, 4, "PROPOSE"))
    assert e.change(1, "config 1,4")
    e.do(choices.Request(1))
    e.settle()
    assert e.of(Deliver) == []
    e.do(choices.Heal())
    e.settle()
    assert e.delivered(1) == ["config 1,4", "v1"]


def test_r3_what_comes_before_a_change_is_committed_by_the_configuration_before() -> None:
    e = Ensemble()
    e.lead(1, 2, 4)
    e.do(choices.Request(1), choices.Hold(1, 4, "PROPOSE"))
    assert e.change(1, "config 4")
    e.settle()
    assert e.delivered(1) == ["v1"], "the change itself waits for 4"


@pytest.mark.parametrize("silent", [2, 4])
def test_r4_a_change_is_committed_by_a_quorum_of_each_configuration(silent: int) -> None:
    """The leader has only 2 of 1, 2 and 3 beside it, and of 1 and 4 it needs 4."""
    e = Ensemble()
    e.lead(1, 2, 4)
    assert e.change(1, "config 1,4")
    e.do(choices.Cut(silent, 1))
    e.settle()
    assert e.of(Deliver) == e.of(Activate) == []
    e.do(choices.Heal())
    e.settle()
    assert {event.process for event in e.of(Activate)} == {1, 2, 4}


def test_r5_a_process_activates_what_it_delivers_and_remembers_it() -> None:
    e = Ensemble()
    e.lead(1, 2, 4)
    e.change(1, "config 1,2,4")
    e.settle()
    assert [e.active(process) for process in (1, 2, 3, 4)] == [*[V.value] * 2, "config 1,2,3", V.value]
    own = [event for event in e.events if event in (Deliver(4, 0, V), Activate(4, 0, V))]
    assert own == [Deliver(4, 0, V), Activate(4, 0, V)]
    e.do(choices.Crash(4), choices.Recover(4))
    assert e.active(4) == V.value


def test_r6_and_r7_a_leader_outside_names_another_which_leads_on_without_an_election() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4)
    assert e.change(1, "config 2,3,4")
    e.settle()
    assert [(event.process, event.epoch) for event in e.of(Ready)] == [(1, 1), (2, 2)]
    assert {event.process for event in e.of(Promise) if event.epoch == 2} >= {2, 3}
    e.do(choices.Request(2))
    e.settle()
    assert e.delivered(4) == ["config 2,3,4", "v1"]


def test_r6_a_leader_that_has_named_another_commits_no_more() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4)
    e.change(1, "config 2,3,4")
    e.do(choices.Settle(2), choices.Sever(1, 2), choices.Sever(1, 3), choices.Sever(1, 4), choices.Request(1))
    e.do(choices.Heal())
    e.settle()
    assert [event for event in e.of(Deliver) if event.txn.value == "v1" and event.process == 1] == []


def test_r8_what_comes_behind_an_active_change_takes_a_quorum_of_the_new_configuration_alone() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4, 5)
    e.change(1, "config 1,4,5")
    e.settle()
    e.do(choices.Sever(1, 2), choices.Sever(1, 3), choices.Request(1))
    e.settle()
    assert e.delivered(5) == ["config 1,4,5", "v1"]
    e.do(choices.Heal(), choices.Sever(1, 4), choices.Sever(1, 5), choices.Request(1))
    e.settle()
    assert e.delivered(1) == ["config 1,4,5", "v1"], "1, 2 and 3 decide nothing any more"


@pytest.mark.parametrize("reached", [False, True])
def test_r9_and_r10_a_new_leader_that_finds_the_change_asks_both_configurations(reached: bool) -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4, 5)
    e.do(choices.Hold(1, 3, "PROPOSE"), choices.Hold(1, 4, "PROPOSE"), choices.Hold(1, 5, "PROPOSE"))
    e.change(1, "config 2,4,5")
    e.do(choices.Settle(1), choices.Crash(1), choices.Heal())
    e.lead(2, 3, *((4,) if reached else ()))
    assert [event.process for event in e.of(Establish)] == ([1, 2] if reached else [1])
    assert (e.active(2) == "config 2,4,5") == reached


def test_r11_a_change_that_is_not_found_was_not_committed() -> None:
    e = Ensemble()
    e.lead(1, 2, 3, 4)
    e.do(choices.Sever(1, 2), choices.Sever(1, 3), choices.Sever(1, 4))
    e.change(1, "config 1,4")
    e.do(choices.Settle(1), choices.Heal())
    e.lead(2, 3)
    e.do(choices.Request(2))
    e.settle()
    assert e.delivered(3) == ["v1"]
    e.lead(2, 1, 3)
    assert (e.active(1), e.run.states[1].history.length) == ("config 1,2,3", 1), "1 dropped its change"


def test_r12_who_is_told_of_an_active_configuration_goes_on_with_it() -> None:
    e = Ensemble()
    e.lead(1, 2, 4)
    e.change(1, "config 1,2,4")
    e.settle()
    e.lead(3, 2)
    assert (e.active(3), e.run.following[3]) == (V.value, 0), "3 does not belong to it, and does not lead"
    e.lead(4, 2, 3)
    assert e.of(Ready)[-1] == Ready(4, 0, e.of(Ready)[-1].epoch)
    assert Activate(3, 0, V) in e.of(Activate)


def test_r12_a_leader_that_has_chosen_its_epoch_does_not_go_on_with_what_became_active_later() -> None:
    """p1 has ACK-LDs of p4 and p5 for epoch 2; p2 leads epoch 3 without x, and a change makes them a quorum there."""
    e = Ensemble(6)
    e.lead(1, 2)
    e.do(choices.Hold(1, 2, "PROPOSE"), choices.Request(1, "x"))
    e.settle()
    e.do(choices.Mend(1, 2), choices.Hold(1, 2, "NEWLEADER"), choices.Hold(6, 1, "ACK-LD"))
    e.lead(1, 2, 4, 5, 6)
    e.do(*(choices.Sever(1, other) for other in (2, 4, 5)))
    e.lead(2, 3, 4, 5)
    assert e.change(2, "config 1,4,5")
    e.settle()
    e.do(choices.Heal(), choices.Hold(6, 1, "ACK-LD"), choices.Elect(5, 1), choices.Receive(1, 5))
    assert e.active(1) == "config 1,4,5"
    e.do(choices.Heal(), choices.Receive(1, 6))
    e.settle()
    assert e.delivered(1) == []


def test_who_is_outside_does_not_lead() -> None:
    e = Ensemble()
    assert not e.do(choices.Elect(4, 4))
    assert e.do(choices.Elect(3, 3))


@pytest.mark.parametrize(("seed", "runs"), [(1, 60), pytest.param(2, 700, marks=pytest.mark.slow)])
def test_nothing_breaks_in_runs_that_change_their_configuration(seed: int, runs: int) -> None:
    tally = Tally(select(RECONFIGURATION.properties))
    changed: list[str] = []

    def on_run(run: Run) -> None:
        tally.add(run)
        changed.extend({s.acting.configuration.name for s in run.simulator.states[1:] if s and s.acting.zxid})

    search = Search(RECONFIGURATION, None, RECONFIGURATION.properties, runs, 200, seed, on_run)
    assert find(Engine.swarm, search) is None
    assert len(changed) > runs / 4
    assert tally.exercised["activation"] > runs / 8
    assert tally.exercised["one chain"] > runs / 8


def test_hypothesis_draws_configurations_too() -> None:
    first: set[str] = set()

    def on_run(run: Run) -> None:
        first.add(run.simulator.quorums.name)

    assert find(Engine.hypothesis, Search(RECONFIGURATION, 4, ("core",), 12, 60, 1, on_run)) is None
    assert len(first) > 2
