"""Links between all processes, without connections, as db-19 has them."""

import pytest

from invariants import Event
from zabcheck.protocols import PROTOCOLS
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Cut,
    Elect,
    Flap,
    Heal,
    Hold,
    Lead,
    Mend,
    Notice,
    Overtake,
    Pause,
    PowerLoss,
    Receive,
    Recover,
    Reset,
    Settle,
    Snapshot,
    Split,
    Stabilise,
    Stall,
    Sync,
    Timeout,
    Wake,
)
from zabcheck.simulation.simulator import Simulator


def running(processes: int = 3, protocol: str = "db19") -> Simulator:
    return Simulator(PROTOCOLS[protocol], processes, lambda _: None)


def test_what_is_sent_before_the_first_choice_waits_on_a_link_of_its_own_for_each_two_processes() -> None:
    assert sorted(running().waiting()) == [(p, q, 2) for p in (1, 2, 3) for q in (1, 2, 3) if p != q]


def test_messages_of_a_link_arrive_in_their_order_unless_one_overtakes() -> None:
    for overtaken, expected in ((False, ["LookForLeader", "Vote"]), (True, ["Vote", "LookForLeader"])):
        simulator = running()
        if overtaken:
            assert simulator.execute(Overtake(2, 1))
        queue = simulator.connections[2, 1].to_leader
        assert [type(message).__name__ for message, _ in queue] == expected
        assert simulator.execute(Receive(1, 2))
        assert (1, 2, 1) in simulator.waiting()


def test_on_links_that_keep_the_order_none_overtakes() -> None:
    assert not running(protocol="db19-fifo").execute(Overtake(2, 1))


@pytest.mark.parametrize(("obstacle", "repair"), [(Cut(2, 1), Heal()), (Stall(2, 1), Mend(2, 1)), (Pause(1), Wake(1))])
def test_what_stands_in_the_way_holds_messages_back_and_loses_none(obstacle: Choice, repair: Choice) -> None:
    simulator = running()
    before = sorted(simulator.waiting())
    assert simulator.execute(obstacle)
    assert not simulator.execute(Receive(1, 2))
    assert simulator.execute(Receive(2, 1))
    assert simulator.execute(repair)
    assert sorted(simulator.waiting()) == [(p, q, n - (p == 2 and q == 1)) for p, q, n in before]


def test_a_link_may_hold_one_kind_of_message_and_what_is_behind_it() -> None:
    simulator = running()
    simulator.execute(Hold(2, 1, "Vote"))
    assert [simulator.execute(Receive(1, 2)) for _ in range(2)] == [1, 0]


def test_coarse_choices_do_what_they_do_elsewhere() -> None:
    simulator = running()
    assert simulator.execute(Split((1,))) == 4
    assert simulator.execute(Settle(3)) > 0
    assert {(p, q) for p, q, _ in simulator.waiting()} <= {(2, 3), (3, 2)}
    assert simulator.execute(Flap(2, 3, 1)) > 0


@pytest.mark.parametrize(
    "choice",
    [
        *(Crash(1), PowerLoss(), Recover(1), Reset(1, 1), Notice(1, 2), Sync(1), Snapshot(1), Elect(1, 2)),
        *(Lead(1, (1, 2)), Stabilise(1, (1, 2))),
    ],
)
def test_what_the_lab_does_not_have_is_not_enabled(choice: Choice) -> None:
    simulator = running()
    assert simulator.execute(choice) == 0
    assert simulator.execute(Timeout(1)) == 1


def test_a_reset_loses_what_is_under_way_between_two_and_nothing_that_comes_later() -> None:
    simulator = running()
    assert simulator.execute(Reset(2, 1)) == 1
    assert simulator.execute(Reset(1, 2)) == 0, "there is nothing left to lose"
    assert sorted(simulator.waiting()) == [(1, 3, 2), (2, 3, 2), (3, 1, 2), (3, 2, 2)]
    simulator.execute(Timeout(1))
    assert (2, 1, 2) in simulator.waiting()


def test_a_copy_goes_its_own_way() -> None:
    simulator = running()
    shown: list[Event] = []
    twin = simulator.fork(shown.append)
    for choice in (Receive(1, 3), Receive(3, 1), Receive(3, 1), Receive(3, 1)):
        twin.execute(choice)
    assert shown
    assert sorted(simulator.waiting()) == [(p, q, 2) for p in (1, 2, 3) for q in (1, 2, 3) if p != q]
    assert simulator.states[3] != twin.states[3]
