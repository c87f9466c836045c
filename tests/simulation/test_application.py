"""The replicated key-value state: changes that a primary computes, and the digest that every process shows."""

import pytest

from invariants import Broadcast, Deliver, Event, Restore, State, Txn, Zxid
from tests.invariants.builders import A, B
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches, ZabSwitches
from zabcheck.simulation.application import NOTHING, Values
from zabcheck.simulation.choices import Choice, Crash, Cut, Elect, Heal, Lead, Recover, Request, Settle, Snapshot, Split
from zabcheck.simulation.simulator import Simulator

KEY_VALUE = Switches(application="key-value")
LED: tuple[Choice, ...] = (Lead(1, (2, 3)), Settle(8))


def zab(*choices: Choice, mutant: str | None = None) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    simulator = Simulator(mutated("zab", mutant), 3, events.append, switches=KEY_VALUE)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


def change(counter: int, text: str, epoch: int = 1) -> Txn:
    return Txn(Zxid(epoch, counter), text)


def applied(*texts: str) -> Values:
    state = NOTHING
    for counter, text in enumerate(texts, 1):
        state = state.apply(change(counter, text))
    return state


def states(events: list[Event], process: int) -> list[State]:
    return [event for event in events if isinstance(event, State) and event.process == process]


# The state.


def test_a_change_sets_a_path_to_a_value_and_a_version() -> None:
    assert applied("/a=v1@1", "/b=v2@1", "/a=v3@2").entries == {"/a": ("v3", 2), "/b": ("v2", 1)}


def test_the_digest_is_of_what_is_there_not_of_how_it_came_about() -> None:
    assert applied("/a=v1@1", "/b=v2@1").digest == applied("/b=v2@1", "/a=v1@1").digest
    assert applied("/a=v1@1", "/a=v2@2").digest == applied("/a=v2@2").digest


@pytest.mark.parametrize("other", ["/a=v1@2", "/a=v2@1", "/b=v1@1", "/a=v1", "v1"])
def test_another_path_value_or_version_has_another_digest(other: str) -> None:
    assert applied(other).digest != applied("/a=v1@1").digest


def test_a_value_that_is_no_change_counts_too() -> None:
    assert applied("x").entries == {"x": ("", 1)}
    assert applied("x", "x").entries == {"x": ("", 2)}
    assert applied("x", "x").digest != applied("x").digest


def test_the_same_change_twice_is_idempotent_but_for_the_length() -> None:
    once, twice = applied("/a=v1@1"), applied("/a=v1@1", "/a=v1@1")
    assert twice.digest == once.digest
    assert (once.length, twice.length) == (1, 2)


def test_a_state_is_not_changed_by_what_follows_it() -> None:
    before = applied("/a=v1@1")
    before.apply(B)
    assert before.entries == {"/a": ("v1", 1)}
    assert before.apply(A) is before.apply(A)
    assert before.apply(B).entries != before.apply(A).entries


# In a run.


def test_a_primary_computes_from_its_changes_that_wait_to_be_broadcast_too() -> None:
    events: list[Event] = []
    one_by_one = ZabSwitches(application="key-value", outstanding=1)
    simulator = Simulator(mutated("zab"), 3, events.append, switches=one_by_one)
    for choice in (*LED, *[Request(1)] * 7, Settle(40)):
        simulator.execute(choice)
    changes = [event.txn.value for event in events if isinstance(event, Broadcast)]
    assert changes == ["/b=v1@1", "/c=v2@1", "/a=v3@1", "/b=v4@2", "/c=v5@2", "/a=v6@2", "/b=v7@3"]


def test_a_primary_computes_from_what_it_has_delivered_and_broadcast() -> None:
    """Several are outstanding, and each builds on the one before (LADIS 2008, 1: the future state)."""
    _, events = zab(*LED, *[Request(1)] * 7)
    assert [event.txn.value for event in events if isinstance(event, Broadcast)] == [
        "/b=v1@1",
        "/c=v2@1",
        "/a=v3@1",
        "/b=v4@2",
        "/c=v5@2",
        "/a=v6@2",
        "/b=v7@3",
    ]


def test_every_process_shows_its_state_after_each_delivery() -> None:
    _, events = zab(*LED, Request(1), Request(1), Settle(4))
    shown = [[(s.length, s.zxid, s.digest) for s in states(events, process)] for process in (1, 2, 3)]
    assert [length for length, _, _ in shown[0]] == [1, 2]
    assert shown[0] == shown[1] == shown[2]
    for index, event in enumerate(events):
        if isinstance(event, Deliver):
            after = events[index + 1]
            assert isinstance(after, State)
            assert (after.process, after.incarnation, after.zxid) == (event.process, event.incarnation, event.txn.zxid)


def test_what_a_client_asks_for_by_name_is_broadcast_as_it_is() -> None:
    _, events = zab(*LED, Request(1, "x"))
    assert events[-1] == Broadcast(1, 0, 1, change(1, "x"))


def test_a_change_that_was_never_delivered_is_not_built_upon() -> None:
    """LADIS 2008, 2, the example: w2 is lost with its leader, and w3 depends on w1 alone."""
    lost: tuple[Choice, ...] = (Request(1), Settle(4), Split((1,)), Request(1), Request(1), Request(1))
    _, events = zab(*LED, *lost, Lead(2, (3,)), Settle(8), Request(2), Request(2), Request(2))
    values = [event.txn.value for event in events if isinstance(event, Broadcast) and event.epoch == 2]
    assert values == ["/c=v5@1", "/a=v6@1", "/b=v7@2"]


def test_a_leader_that_is_elected_again_forgets_what_it_had_outstanding() -> None:
    _, events = zab(*LED, Cut(1, 2), Cut(1, 3), *[Request(1)] * 3, Heal(), Lead(1, (2, 3)), Request(1))
    simulator, events = zab(*LED, Split((1,)), *[Request(1)] * 3, Lead(2, (3,)), Settle(8), Request(2), Settle(4))
    for choice in (Heal(), Crash(1), Recover(1), Lead(1, (2, 3)), Settle(9), Request(1), Request(1), Request(1)):
        simulator.execute(choice)
    assert [event.txn.value for event in events if isinstance(event, Broadcast) and event.epoch == 3] == [
        "/c=v5@1",
        "/a=v6@1",
        "/b=v7@2",
    ]


def test_a_recovered_process_starts_from_nothing_and_applies_all_again() -> None:
    _, events = zab(*LED, Request(1), Request(1), Settle(4), Crash(3), Recover(3), Elect(3, 1), Settle(9))
    assert [(s.incarnation, s.length) for s in states(events, 3)] == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_a_recovered_process_takes_its_snapshot_over_with_the_state_in_it() -> None:
    delivered: tuple[Choice, ...] = (Request(1), Settle(4), Snapshot(3), Settle(1), Request(1), Settle(4))
    _, events = zab(*LED, *delivered, Crash(3), Recover(3), Elect(3, 1), Settle(9))
    [restore] = [event for event in events if isinstance(event, Restore)]
    assert (restore.process, restore.length) == (3, 1)
    first, second = [s for s in states(events, 3) if s.incarnation == 1]
    assert [(s.length, s.digest) for s in states(events, 1)] == [(1, first.digest), (2, second.digest)]


def test_a_process_whose_leader_has_cut_its_log_takes_the_leaders_snapshot_over() -> None:
    cut: tuple[Choice, ...] = (Request(1), Request(1), Settle(4), Snapshot(1, cut=True), Settle(1))
    _, events = zab(Split((3,)), *LED, *cut, Heal(), Elect(3, 1), Settle(9), Request(1), Settle(4))
    [restore] = [event for event in events if isinstance(event, Restore)]
    assert (restore.process, restore.incarnation, restore.length) == (3, 0, 2)
    assert [(s.length, s.digest) for s in states(events, 3)] == [(s.length, s.digest) for s in states(events, 1)][1:]


def test_divergence_is_in_the_state() -> None:
    """Where one transaction is not delivered again after a crash, the state is another one at the same length."""
    run = (*LED, *[Request(1)] * 3, Settle(4), Crash(3), Recover(3), Elect(3, 1), Settle(9))
    _, events = zab(*run, mutant="redeliver-with-gap")
    after = [s for s in states(events, 3) if s.incarnation]
    assert [s.length for s in after] == [1, 2]
    assert after[0].digest != states(events, 1)[0].digest


def test_a_fork_has_states_of_its_own() -> None:
    simulator, _ = zab(*LED, Request(1))
    shown: list[Event] = []
    twin = simulator.fork(shown.append)
    for each in (simulator, twin):
        each.execute(Request(1))
        each.execute(Settle(4))
    assert [s.length for s in states(shown, 2)] == [1, 2]
    assert simulator.application is not None
    assert twin.application is not None
    for process in (1, 2, 3):
        assert simulator.application.states[process].digest == twin.application.states[process].digest


def test_what_is_in_a_state_is_told_where_a_run_is_drawn() -> None:
    for network, text in ((False, ""), (True, "/b=v1@1")):
        events: list[Event] = []
        simulator = Simulator(mutated("zab"), 3, events.append, switches=KEY_VALUE, network=network)
        for choice in (*LED, Request(1), Settle(4)):
            simulator.execute(choice)
        assert {s.text for process in (1, 2, 3) for s in states(events, process)} == {text}


def test_some_of_many_paths_of_a_state_are_shown() -> None:
    assert str(applied(*[f"/{name}=v@1" for name in "fedcba"])) == "/a=v@1 /b=v@1 /c=v@1 /d=v@1 /e=v@1 …"
    assert str(NOTHING) == ""
