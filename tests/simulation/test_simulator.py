"""Choices move the processes, and nothing else does: the same choices give the same events."""

import gc
import weakref
from collections.abc import Sequence
from itertools import product

import pytest

from invariants import Event
from invariants.events import ENVIRONMENT_EVENTS
from tests.search.walk import Walk
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import (
    AnyChoice,
    Bridge,
    Choice,
    Crash,
    Cut,
    Drain,
    Elect,
    Flap,
    Heal,
    Hold,
    Lead,
    Mend,
    Mute,
    Notice,
    Overtake,
    Pause,
    PowerLoss,
    Receive,
    Recover,
    Request,
    Reset,
    Ring,
    Settle,
    Sever,
    Snapshot,
    Split,
    Stall,
    Sync,
    Timeout,
    Wake,
)
from zabcheck.simulation.simulator import Simulator

ZAB = PROTOCOLS["zab"]
EPOCH: list[AnyChoice] = [Lead(1, (2, 3)), Settle(9)]
COARSE: list[AnyChoice] = [
    Lead(1, (1, 2, 3)),
    Settle(9),
    Request(1),
    Request(1),
    Drain(2, 1),
    Split((3, 1)),
    Settle(2),
    Sever(1, 2),
    Settle(0),
    Heal(),
    Settle(3),
    Snapshot(2),
    PowerLoss(1),
    Recover(2),
    Recover(3),
    Lead(3, (2,)),
    Settle(9),
]


def simulator_after(choices: Sequence[Choice], n: int = 3) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    simulator = Simulator(ZAB, n, events.append, network=True)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


def walked(seed: int, steps: int, n: int = 3) -> list[Choice]:
    """The fine choices of a random walk."""
    simulator = Simulator(ZAB, n, lambda _: None)
    walk = Walk(simulator, seed)
    for _ in range(steps):
        walk.step()
    return simulator.executed


@pytest.mark.parametrize(
    ("before", "choice"),
    [
        ([], Receive(1, 2)),
        ([], Receive(1, 1)),
        ([], Sync(1)),
        ([], Request(1)),
        ([], Timeout(1)),
        ([], Notice(1, 2)),
        ([], Recover(1)),
        ([], Snapshot(1)),
        ([], Cut(1, 1)),
        ([], Heal()),
        ([], Reset(1, 2)),
        ([Lead(1, (2,))], Request(1)),
        (EPOCH, Request(2)),
        (EPOCH, Drain(1, 2)),
        (EPOCH, Settle(5)),
        (EPOCH, Split(())),
        (EPOCH, Split((1, 2, 3))),
        (EPOCH, Sever(2, 2)),
        (EPOCH, Mute(())),
        (EPOCH, Mute((1, 2, 3))),
        (EPOCH, Bridge(1, (2, 3))),
        (EPOCH, Bridge(1, (1,))),
        (EPOCH, Ring()),
        (EPOCH, Flap(1, 2, 0)),
        (EPOCH, Stall(2, 3)),
        (EPOCH, Stall(2, 2)),
        (EPOCH, Mend(1, 2)),
        (EPOCH, Hold(2, 2, "ACK")),
        (EPOCH, Hold(1, 2, "commit")),
        (EPOCH, Wake(1)),
        ([*EPOCH, Request(1), Request(1)], Overtake(1, 2)),
        ([Pause(1)], Pause(1)),
        ([Crash(1)], Pause(1)),
        ([Pause(1), Crash(1)], Wake(1)),
        ([*EPOCH, Pause(1)], Request(1)),
        ([*EPOCH, Request(1), Pause(1)], Sync(1)),
        ([*EPOCH, Request(1), Pause(2)], Receive(2, 1)),
        ([*EPOCH, Pause(2)], Timeout(2)),
        ([*EPOCH, Pause(2)], Elect(2, 3)),
        ([*EPOCH, Pause(2), Crash(1)], Notice(2, 1)),
        ([*EPOCH, Request(1), Settle(9), Pause(2)], Snapshot(2)),
        ([Crash(1)], Crash(1)),
        ([Crash(1)], Elect(1, 1)),
        ([Crash(1)], Timeout(1)),
        ([Crash(1)], Request(1)),
        ([Crash(1)], Snapshot(1)),
        ([PowerLoss()], PowerLoss()),
    ],
)
def test_a_choice_that_is_not_enabled_counts_nothing_and_changes_nothing(
    before: Sequence[Choice], choice: Choice
) -> None:
    simulator, events = simulator_after(before)
    other = simulator.fork(lambda _: None)
    shown, steps = len(events), simulator.steps
    assert simulator.execute(choice) == 0
    assert (simulator.steps, len(simulator.executed), len(events)) == (steps, steps, shown)
    assert simulator.states == other.states
    assert simulator.waiting() == other.waiting()
    assert simulator.obstructed() == other.obstructed()
    assert (simulator.paused, simulator.holds) == (other.paused, other.holds)
    assert (simulator.cuts, simulator.messages, simulator.requests) == (other.cuts, other.messages, other.requests)
    assert (simulator.following, simulator.incarnations) == (other.following, other.incarnations)


def test_a_fine_choice_is_one_step() -> None:
    simulator, _ = simulator_after([])
    assert simulator.execute(Elect(1, 1)) == 1
    assert simulator.steps == 1


@pytest.mark.parametrize(
    ("before", "choice", "fine"),
    [
        ([], Lead(2, (3, 2, 1)), [Elect(2, 2), Elect(3, 2), Elect(1, 2)]),
        ([Crash(3)], Lead(2, (3, 1)), [Elect(2, 2), Elect(1, 2)]),
        ([], Split((1,)), [Cut(1, 2), Cut(2, 1), Cut(1, 3), Cut(3, 1)]),
        ([Cut(2, 1)], Split((1,)), [Cut(1, 2), Cut(1, 3), Cut(3, 1)]),
        ([], Sever(1, 3), [Cut(1, 3), Cut(3, 1)]),
        ([], Mute((1, 2)), [Cut(1, 3), Cut(2, 3)]),
        ([], Bridge(2, (3,)), [Cut(3, 1), Cut(1, 3)]),
        ([], Bridge(2, (3, 2)), [Cut(3, 1), Cut(1, 3)]),
        (
            [*EPOCH, Cut(1, 3), Request(1)],
            Flap(1, 2, 2),
            [
                *(Cut(1, 2), Cut(2, 1), Sync(1), Mend(1, 2), Mend(2, 1), Receive(2, 1), Sync(2)),
                *(Cut(1, 2), Cut(2, 1), Mend(1, 2), Mend(2, 1), Receive(1, 2)),
            ],
        ),
        ([*EPOCH, Request(1), Pause(3)], Settle(1), [Receive(2, 1), Sync(1), Sync(2)]),
        ([*EPOCH, Request(1), Stall(1, 3)], Settle(1), [Receive(2, 1), Sync(1), Sync(2)]),
        ([*EPOCH, Request(1), Request(1), Hold(1, 3, "PROPOSE")], Settle(1), [*[Receive(2, 1)] * 2, Sync(1), Sync(2)]),
        ([*EPOCH, Request(1), Settle(2), Request(1), Hold(1, 2, "PROPOSE")], Drain(2, 1), [Receive(2, 1)]),
        ([Crash(2)], PowerLoss(2), [Crash(1, 2), Crash(3, 2)]),
        ([*EPOCH, Request(1), Request(1)], Drain(2, 1), [Receive(2, 1), Receive(2, 1)]),
        ([*EPOCH, Request(1)], Settle(1), [Receive(2, 1), Receive(3, 1), Sync(1), Sync(2), Sync(3)]),
        ([*EPOCH, Request(1), Cut(1, 3)], Settle(1), [Receive(2, 1), Sync(1), Sync(2)]),
    ],
)
def test_a_coarse_choice_counts_the_fine_ones_that_it_executes(
    before: Sequence[Choice], choice: Choice, fine: Sequence[Choice]
) -> None:
    simulator, _ = simulator_after(before)
    steps = simulator.steps
    assert simulator.execute(choice) == len(fine)
    assert simulator.executed[steps:] == fine
    assert simulator.steps == steps + len(fine)


def test_a_ring_leaves_the_links_to_neighbours() -> None:
    simulator, _ = simulator_after([Ring()], n=5)
    assert sorted({*product(range(1, 6), repeat=2)} - simulator.cuts) == sorted(
        link for p in range(1, 6) for link in ((p, p), (p, p % 5 + 1), (p % 5 + 1, p))
    )
    assert simulator_after([Ring()], n=3)[0].cuts == simulator_after([Ring()], n=1)[0].cuts == set()


def test_the_sides_of_a_bridge_see_each_other_through_it_only() -> None:
    simulator, _ = simulator_after([Bridge(3, (1, 2))], n=5)
    assert simulator.cuts == {link for pair in product((1, 2), (4, 5)) for link in (pair, pair[::-1])}


def test_settling_ends_when_nothing_is_left_to_do() -> None:
    simulator, _ = simulator_after([*EPOCH, Request(1), Settle(2**31 - 1)])
    assert simulator.waiting() == []
    assert [state.delivered.length for state in simulator.states[1:]] == [1, 1, 1]


def test_the_fine_choices_of_a_run_give_the_same_run() -> None:
    simulator, events = simulator_after(COARSE)
    again, same = simulator_after(simulator.executed)
    assert same == events
    assert again.executed == simulator.executed
    assert again.steps == simulator.steps == len(simulator.executed)


@pytest.mark.parametrize("seed", range(3))
def test_every_choice_of_a_walk_is_enabled_again(seed: int) -> None:
    choices = walked(seed, 500, n=5)
    assert simulator_after(choices, n=5)[0].executed == choices


def test_requests_get_fresh_values_unless_they_name_one() -> None:
    simulator, _ = simulator_after([*EPOCH, Request(1), Request(1, "mine"), Request(2), Request(1)])
    assert [txn.value for txn in simulator.states[1].proposed] == ["v1", "mine", "v2"]


def test_the_network_is_shown_only_on_demand_and_changes_nothing() -> None:
    choices = walked(1, 800)
    quiet: list[Event] = []
    simulator = Simulator(ZAB, 3, quiet.append)
    for choice in choices:
        simulator.execute(choice)
    for_drawing = tuple(kind.__name__ for kind in ENVIRONMENT_EVENTS)
    _, events = simulator_after(choices)
    assert quiet == [event for event in events if type(event).__name__ not in for_drawing]
    assert len(events) > len(quiet)


@pytest.mark.parametrize("seed", range(3))
def test_the_simulator_shares_the_state_of_its_parts(seed: int) -> None:
    """The simulator has the lists, dicts and sets of its parts, so no part may replace one."""
    simulator, _ = simulator_after([*walked(seed, 1500), Cut(1, 2), Heal(), Pause(1), Wake(1), PowerLoss()])
    for each in (simulator, simulator.fork(lambda _: None)):
        channels, obstacles, processes = each.channels, each.obstacles, each.processes
        assert obstacles is channels.obstacles
        assert processes.channels is channels
        assert obstacles.connections is each.connections is channels.connections
        assert each.following is channels.following
        assert each.cuts is obstacles.cuts
        assert each.holds is obstacles.holds
        assert each.paused is obstacles.paused
        assert each.incarnations is processes.incarnations
        assert each.disks is processes.disks
        assert each.states is processes.states
        assert each.halted is processes.halted


# Determinism.


def test_the_trace_of_a_fixed_schedule_never_changes() -> None:
    """Another machine, another day: the same bytes."""
    sha256 = "cd0968589cf3c2a5b93655cd19011311897119a903e2d6fa9f79ba87c089baa5"
    assert replay(schedule_of("zab", None, 3, COARSE)).sha256 == sha256


# Forks.


@pytest.mark.parametrize("seed", range(3))
def test_a_fork_shows_the_same_for_the_same_choices(seed: int) -> None:
    choices = walked(seed, 1500)
    half = len(choices) // 2
    simulator, events = simulator_after(choices[:half])
    shown: list[Event] = []
    twin = simulator.fork(shown.append)
    before = len(events)
    for choice in choices[half:]:
        twin.execute(choice)
    assert len(events) == before
    for choice in choices[half:]:
        simulator.execute(choice)
    assert events[before:] == shown
    assert twin.executed == simulator.executed
    assert twin.states == simulator.states


@pytest.mark.parametrize("seed", range(3))
def test_a_fork_and_its_origin_go_their_own_ways(seed: int) -> None:
    choices, others = walked(seed, 600), walked(seed + 100, 600)
    half = len(choices) // 2
    simulator, events = simulator_after(choices[:half])
    twin = simulator.fork(lambda _: None)
    for choice in others:
        twin.execute(choice)
    twin.execute(PowerLoss())
    for choice in choices[half:]:
        simulator.execute(choice)
    assert events == simulator_after(choices)[1]


def test_a_run_is_freed_as_soon_as_nobody_uses_it() -> None:
    """Not when Python looks for garbage: a search makes thousands of them."""
    run = Simulator(ZAB, 3, [].append, network=True)
    run.execute(EPOCH[0])
    twin = run.fork([].append)
    freed = [weakref.ref(run), weakref.ref(twin)]
    gc.disable()
    try:
        del run, twin
        assert [each() for each in freed] == [None, None]
    finally:
        gc.enable()
