"""Claim 7 (DSN 2011, VI-D): a quorum that is left in peace gets going, from whatever state a run has reached."""

from collections.abc import Mapping
from itertools import combinations

import pytest
from msgspec import structs

from invariants import Broadcast, Deliver, Event, Halt, Ready, Stabilised, check
from invariants.quorums import Quorums, quorums_of
from tests.invariants.builders import whole
from tests.search.walk import Walk
from tests.tiers import sweep
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, Message, Step, StepRaised
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.protocols.zab.leader import on_cepoch
from zabcheck.protocols.zab.messages import CEpoch, NewEpoch
from zabcheck.protocols.zab.process import Process
from zabcheck.simulation.choices import (
    MOST_TRIES,
    Choice,
    Corrupt,
    Crash,
    Cut,
    Elect,
    Lead,
    PowerLoss,
    Recover,
    Request,
    Settle,
    Split,
    Stabilise,
    Timeout,
    is_least,
    least,
)
from zabcheck.simulation.simulator import Simulator

LED: tuple[Choice, ...] = (Lead(1, (2, 3)), Settle(8))


def zab(*choices: Choice, n: int = 3, switches: Switches = LETTER) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    simulator = Simulator(PROTOCOLS["zab"], n, events.append, switches=switches)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


def after_it(events: list[Event]) -> list[Event]:
    [start] = [index for index, event in enumerate(events) if isinstance(event, Stabilised)]
    return events[start:]


def assert_delivered(events: list[Event], leader: int, quorum: tuple[int, ...], requests: int = 2) -> None:
    """Assert that each of the quorum delivers what the leader broadcasts after it was chosen."""
    first, *rest = after_it(events)
    assert isinstance(first, Stabilised)
    assert (first.process, first.quorum) == (leader, quorum)
    sent = [event.txn for event in rest if isinstance(event, Broadcast)]
    assert len(sent) == requests
    for process in quorum:
        delivered = [event.txn for event in rest if isinstance(event, Deliver) and event.process == process]
        assert delivered[-requests:] == sent


@pytest.mark.parametrize(
    "before",
    [
        (),
        LED,
        (Split((1,)), *LED),
        (*LED, PowerLoss()),
        (*LED, Crash(2), Cut(3, 1)),
        (*LED, Timeout(1)),
        (Elect(1, 3), Elect(3, 2), Elect(2, 1)),
        (*LED, Split((1,)), Request(1), Lead(2, (3,)), Settle(8)),
    ],
    ids=["nothing", "led", "split", "power loss", "crash and cut", "time-out", "a circle", "two leaders"],
)
@pytest.mark.parametrize(("leader", "quorum"), [(1, (1, 2)), (3, (1, 3)), (2, (2, 3))])
def test_whatever_was_before_the_quorum_gets_going(
    before: tuple[Choice, ...], leader: int, quorum: tuple[int, ...]
) -> None:
    _, events = zab(*before, Stabilise(leader, quorum))
    assert_delivered(events, leader, quorum)


@pytest.mark.parametrize("histories", ["full", "missing"])
@pytest.mark.parametrize("seed", sweep(range(40), normal=range(10)))
def test_from_any_state_that_a_walk_reaches(seed: int, histories: str) -> None:
    n = (1, 2, 3, 3, 5)[seed % 5]
    switches = Switches(histories=histories)  # type: ignore[arg-type]  # one of the two
    simulator, events = zab(n=n, switches=switches)
    walk = Walk(simulator, seed)
    while simulator.steps < 200 + 20 * seed:
        walk.step()
    leader = 1 + seed % n
    quorum = least(Quorums(n), leader, [1 + (seed // n + i) % n for i in range(n)])
    assert quorum is not None
    simulator.execute(Stabilise(leader, quorum))
    assert_delivered(events, leader, quorum)


def test_elections_as_one_choice() -> None:
    _, events = zab(Stabilise(2, (2, 3)), switches=Switches(elections="together"))
    assert_delivered(events, 2, (2, 3))


def test_no_more_is_asked_for_than_an_epoch_has_counters() -> None:
    _, events = zab(Stabilise(2, (2, 3)), switches=Switches(counter_limit=1))
    assert_delivered(events, 2, (2, 3), requests=1)


def test_a_process_alone() -> None:
    _, events = zab(Stabilise(1, (1,)), n=1)
    assert_delivered(events, 1, (1,))


def test_nothing_is_enabled_after_it() -> None:
    simulator, _ = zab(*LED, Stabilise(1, (1, 2)))
    steps = simulator.steps
    for choice in (Request(1), Crash(2), Settle(3), Lead(2, (3,)), Stabilise(1, (1, 2)), PowerLoss()):
        assert simulator.execute(choice) == 0
    assert simulator.steps == steps


def test_it_is_one_choice_of_many_steps() -> None:
    simulator, _ = zab(*LED)
    before = simulator.steps
    choice = Stabilise(1, (1, 2))
    assert simulator.execute(choice) == simulator.steps - before > 10
    assert simulator.executed[-1] == choice
    assert len(simulator.executed) == before + 1


@pytest.mark.parametrize(
    ("leader", "quorum"), [(1, (1,)), (1, (2, 3)), (1, (1, 2, 3)), (1, ())], ids=["too few", "without", "more", "none"]
)
def test_it_needs_a_quorum_of_which_no_follower_can_be_left_out(leader: int, quorum: tuple[int, ...]) -> None:
    simulator, events = zab(Stabilise(leader, quorum))
    assert simulator.steps == 0
    assert events == []


def test_it_needs_processes_that_can_be_up() -> None:
    halted: tuple[Choice, ...] = (*LED, Request(1), Settle(4), Crash(2), Corrupt(2), Recover(2))
    simulator, events = zab(*halted, Stabilise(1, (1, 2)))
    assert isinstance(events[-1], Halt)
    assert simulator.execute(Stabilise(1, (1, 3)))


def test_a_process_that_halts_as_it_comes_up_ends_the_run_and_nothing_is_promised() -> None:
    simulator, events = zab(*LED, Request(1), Settle(4), Crash(2), Corrupt(2), Stabilise(1, (1, 2)))
    assert isinstance(events[-1], Halt)
    assert not any(isinstance(event, Stabilised) for event in events)
    assert simulator.execute(Request(1)) == 0


def test_the_leader_is_ready_before_it_is_asked() -> None:
    _, events = zab(Stabilise(1, (1, 2)))
    rest = after_it(events)
    first = next(index for index, event in enumerate(rest) if isinstance(event, Broadcast))
    assert any(isinstance(event, Ready) for event in rest[:first])


# Quorums of which nobody can be left out.


@pytest.mark.parametrize("name", ["majority", "weights 1,1,2,3,0", "sets 1+2,2+3+4,1+3+5,2+5"])
def test_the_least_quorum_is_one(name: str) -> None:
    quorums = quorums_of(name, 5)
    for leader in range(1, 6):
        for size in range(6):
            for members in combinations(range(1, 6), size):
                found = least(quorums, leader, members)
                possible = leader in members and quorums.contains(members)
                assert (found is not None) == possible
                if found is not None:
                    assert set(found) <= set(members)
                    assert is_least(quorums, leader, found)
                assert not is_least(quorums, leader, members) or found == members


# More than one try.


def own_next(leader: Process, sender: int, m: CEpoch) -> list[Effect]:
    """Step l.1.1 in another way: e' is the epoch after the one that the leader itself has promised."""
    return on_cepoch(leader, sender, m, choose=lambda _: leader.accepted_epoch + 1)


def behind(epochs: int, steps: Mapping[type[Message], Step] = {}) -> tuple[Simulator, list[Event]]:
    """A run in which p3 is so many epochs behind p1 and p2, and takes the one after its own."""
    events: list[Event] = []
    protocol = structs.replace(PROTOCOLS["zab"], steps={**PROTOCOLS["zab"].steps, CEpoch: own_next, **steps})
    simulator = Simulator(protocol, 3, events.append)
    for _ in range(epochs):
        for choice in (Lead(1, (2,)), Settle(8)):
            simulator.execute(choice)
    return simulator, events


@pytest.mark.parametrize("epochs", [0, 1, 2, 5])
def test_a_leader_that_gets_on_in_a_later_try_converges(epochs: int) -> None:
    simulator, events = behind(epochs)
    simulator.execute(Stabilise(3, (2, 3)))
    assert_delivered(events, 3, (2, 3))
    [verdict] = check(whole(events, processes=3), ["convergence"])
    assert verdict.status == "holds"


@pytest.mark.parametrize(("epochs", "elections"), [(0, 2), (3, 5), (30, MOST_TRIES)])
def test_a_leader_that_never_gets_on_is_chosen_within_a_bound(epochs: int, elections: int) -> None:
    simulator, events = behind(epochs, {NewEpoch: lambda *_: []})
    for process in (1, 2):
        simulator.states[process].accepted_epoch = epochs
    seen: list[Choice] = []
    simulator.on_step = seen.append
    simulator.execute(Stabilise(3, (2, 3)))
    assert seen.count(Elect(3, 3)) == elections
    [verdict] = check(whole(events, processes=3), ["convergence"])
    assert verdict.status == "violated"


def test_a_protocol_that_cannot_tell_its_epochs_has_raised() -> None:
    protocol = structs.replace(PROTOCOLS["zab"], highest_epoch=lambda _: 1 // 0)
    simulator = Simulator(protocol, 3, lambda _: None)
    with pytest.raises(StepRaised, match="ZeroDivisionError"):
        simulator.execute(Stabilise(1, (1, 2)))
