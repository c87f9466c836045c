"""The switches of a run: drawn by the search, kept in the schedule, and set back where they do not matter."""

from collections import Counter
from collections.abc import Callable

import pytest
from msgspec import structs

from invariants import Event, State
from tests.search.builders import minimised
from tests.tiers import sweep
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import LETTER, Switches, ZabSwitches
from zabcheck.protocols.zab.histories import Missing, Whole
from zabcheck.protocols.zab.messages import NewLeader
from zabcheck.search.machine import find
from zabcheck.search.run import Run, Search, schedule_of
from zabcheck.search.settings import SETTINGS
from zabcheck.simulation.choices import Choice, Elect, Lead, Receive, Request, Settle, Snapshot, Split, Sync
from zabcheck.simulation.schedule import dump, load
from zabcheck.simulation.simulator import Simulator

NAMES = list(Switches.__struct_fields__)


def run_with(choices: tuple[Choice, ...], **switches: object) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    chosen = structs.replace(LETTER, **switches)
    simulator = Simulator(mutated("zab"), 3, events.append, switches=chosen, network=True)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


@pytest.fixture(scope="module")
def drawn() -> list[Switches]:
    found: list[Switches] = []

    def on_run(run: Run) -> None:
        found.append(run.simulator.switches)

    find(Search(mutated("zab"), runs=300, steps=4, rng=1, on_run=on_run))
    return found


@pytest.mark.xdist_group("switches that are drawn")
@pytest.mark.parametrize("name", NAMES)
def test_a_search_draws_every_value_of_a_switch(name: str, drawn: list[Switches]) -> None:
    counts = Counter(getattr(switches, name) for switches in drawn)
    assert set(counts) == {getattr(LETTER, name), *(value for _, value in SETTINGS.switches.get(name, ()))}
    assert counts[getattr(LETTER, name)] > len(drawn) / 4


@pytest.mark.parametrize(
    ("name", "value"),
    sweep(
        [("histories", "missing"), ("sync", "atomic"), ("application", "none"), ("counter_limit", 7)],
        normal=[("histories", "missing")],
    ),
)
def test_a_fixed_switch_is_the_same_in_every_run(name: str, value: object) -> None:
    found: list[Switches] = []

    def on_run(run: Run) -> None:
        found.append(run.simulator.switches)

    find(Search(mutated("zab"), runs=40, steps=4, rng=1, on_run=on_run, fixed={name: value}))
    assert {getattr(switches, name) for switches in found} == {value}
    assert len(set(map(str, found))) > 1


def test_a_schedule_keeps_its_switches() -> None:
    switches = ZabSwitches("missing", "atomic", "together", "key-value", 3, outstanding=2)
    schedule = schedule_of("zab", None, 3, (Lead(1, (2,)),), switches=switches)
    assert load(dump(schedule), "run.json") == schedule
    assert dump(schedule).count(b"missing") == 1


# What each of them does.


@pytest.mark.parametrize(("histories", "carried"), [("full", Whole), ("missing", Missing)])
def test_histories_are_sent_whole_or_as_far_as_they_are_missing(histories: str, carried: type) -> None:
    led = (Lead(1, (2, 3)), Settle(8), *[Request(1)] * 5, Settle(4))
    simulator, _ = run_with((*led, Elect(3, 1), Receive(1, 3)), histories=histories)
    *_, (message, _) = simulator.connections[3, 1].to_follower
    assert isinstance(message, NewLeader)
    assert isinstance(message.history, carried)
    assert message.history.zxid.counter == 5
    if isinstance(message.history, Missing):
        assert message.history.txns == ()


def test_an_atomic_sync_needs_no_choice() -> None:
    for sync, synced in (("separate", 0), ("atomic", 1)):
        simulator, _ = run_with((Lead(1, (2, 3)), Settle(8), Request(1)), sync=sync)
        assert bool(simulator.disks[1].unsynced) == (not synced)
        assert simulator.execute(Sync(1)) == 1 - synced


def test_an_election_together_is_one_step_and_no_oracle_changes_its_mind_alone() -> None:
    simulator, _ = run_with((Lead(1, (2, 3)),), elections="together")
    assert (simulator.steps, simulator.executed) == (1, [Lead(1, (2, 3))])
    assert simulator.following == [0, 1, 1, 1]
    assert simulator.execute(Elect(2, 3)) == 0
    apart, _ = run_with((Lead(1, (2, 3)),))
    assert (apart.steps, len(apart.executed)) == (3, 3)


def test_an_application_shows_its_state() -> None:
    run = (Lead(1, (2, 3)), Settle(8), Request(1), Settle(4), Snapshot(1))
    for application, shown in (("none", 0), ("key-value", 3)):
        _, events = run_with(run, application=application)
        assert sum(isinstance(event, State) for event in events) == shown


# Minimising.


def on_own_ack(elect: Callable[[int, tuple[int, ...]], list[Choice]]) -> tuple[Choice, ...]:
    """p1 commits alone what nobody else has, and p2 leads on without it."""
    apart = [*elect(1, (2, 3)), Settle(8), Split((1,)), Request(1), Sync(1)]
    return (*apart, *elect(2, (3,)), Settle(8), Request(2), Settle(4))


@pytest.mark.parametrize(
    "switches",
    sweep(
        [
            Switches(histories="missing"),
            Switches(sync="atomic"),
            Switches(elections="together"),
            Switches(application="key-value"),
            Switches(counter_limit=3),
            Switches(closing="abrupt"),
            Switches("missing", "atomic", "together", "key-value", 2),
        ],
        normal=[Switches(closing="abrupt"), Switches("missing", "atomic", "together", "key-value", 2)],
    ),
    ids=lambda switches: ",".join(name for name in NAMES if getattr(switches, name) != getattr(LETTER, name)),
)
def test_what_the_bug_does_not_need_is_set_back(switches: Switches) -> None:
    choices = on_own_ack(lambda leader, followers: [Lead(leader, followers)])
    found = minimised(schedule_of("zab", "commit-on-own-ack", 3, choices, switches=switches), "primary integrity")
    assert found.switches == Switches(sync="atomic", elections="together")  # which takes fewer steps
    assert len(found.choices) <= 14
