"""A disk: nothing is promised before it is synced, and a crash keeps a prefix of what was written since."""

import pytest

import invariants
from invariants import NO_ZXID, Accept, AckEpoch, Adopt, Broadcast, Event, Promise, Send, Txn, Zxid
from tests.simulation.chatter import connected
from zabcheck.protocols import PROTOCOLS
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Elect,
    Lead,
    Receive,
    Recover,
    Request,
    Settle,
    Snapshot,
    Sync,
    Timeout,
)
from zabcheck.simulation.disk import Disk, Write
from zabcheck.simulation.simulator import Simulator

WORDS = ("a", "b", "c")


def written(*values: int) -> Disk:
    disk = Disk()
    for value in values:
        disk.unsynced.append(Write({"x": value, f"x{value}": value}, []))
    return disk


def zab(*choices: Choice, n: int = 3, network: bool = False) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    simulator = Simulator(PROTOCOLS["zab"], n, events.append, network=network)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


def test_a_sync_makes_everything_durable_in_the_order_of_writing() -> None:
    disk = written(1, 2)
    assert [write.fields["x"] for write in disk.sync()] == [1, 2]
    assert disk.durable == {"x": 2, "x1": 1, "x2": 2}
    assert disk.sync() == []


@pytest.mark.parametrize(("keep", "value"), [(0, None), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_crash_keeps_a_prefix(keep: int, value: int | None) -> None:
    disk = written(1, 2, 3)
    assert disk.crash(keep) == max(0, 3 - keep)
    assert disk.durable.get("x") == value
    assert [name for name in disk.durable if name != "x"] == [f"x{i}" for i in range(1, (value or 0) + 1)]
    assert disk.unsynced == []


def test_a_copy_of_a_disk_is_a_disk_of_its_own() -> None:
    disk = written(1, 2)
    twin = disk.copy()
    twin.unsynced[0].withheld = [Broadcast(1, 0, 1, Txn(Zxid(1, 1), "v"))]
    twin.crash(1)
    assert disk.durable == {}
    assert [write.withheld for write in disk.unsynced] == [[], []]


def test_nothing_leaves_before_what_it_promises_is_durable() -> None:
    chat = connected(2)
    chat.say(2, 1, *WORDS, disk=True)
    assert chat.receive_all(1, 2) == []
    assert chat.do(Sync(2), Sync(2)) == [True, False]
    assert chat.receive_all(1, 2) == list(WORDS)


def test_what_promises_nothing_does_not_wait() -> None:
    chat = connected(2)
    chat.say(2, 1, "later", disk=True)
    chat.say(2, 1, "now")
    assert chat.receive_all(1, 2) == ["now"]


@pytest.mark.parametrize("keep", range(5))
def test_a_process_comes_up_with_any_prefix_of_its_writes(keep: int) -> None:
    chat = connected(2)
    chat.say(2, 1, *WORDS, disk=True)
    chat.do(Crash(2, keep), Recover(2))
    assert chat.simulator.states[2].kept == WORDS[:keep]
    assert invariants.Crash(2, 0, max(0, 3 - keep)) in chat.events
    assert chat.receive_all(1, 2) == []


def test_a_crash_takes_nothing_that_was_synced() -> None:
    chat = connected(2)
    chat.say(2, 1, "a", disk=True)
    chat.do(Sync(2))
    chat.say(2, 1, "b", disk=True)
    chat.do(Crash(2), Recover(2))
    assert chat.simulator.states[2].kept == ("a",)
    assert invariants.Crash(2, 0, 1) in chat.events


@pytest.mark.parametrize("end", [Elect(2, 1), Elect(2, 3), Timeout(2)])
def test_what_an_abandoned_iteration_withheld_never_leaves(end: Choice) -> None:
    """The write itself is durable all the same."""
    chat = connected(2)
    chat.say(2, 1, "old", disk=True)
    chat.do(end, Elect(2, 1))
    chat.say(2, 1, "new", disk=True)
    chat.do(Sync(2))
    assert chat.receive_all(1, 2) == ["new"]
    assert chat.simulator.disks[2].durable == {"kept": ("old", "new")}


def test_a_disk_of_a_process_that_is_down_has_nothing_to_sync() -> None:
    chat = connected(2)
    chat.say(2, 1, "a", disk=True)
    assert chat.do(Crash(2, 1), Sync(2)) == [True, False]


# The same in Zab.


PROMISED: list[Event] = [Promise(2, 0, 1, 1), AckEpoch(2, 0, 1, 0, NO_ZXID, 0, 0)]
"""The two events of p2, which has nothing: the promise and the answer."""


def test_a_promise_shows_when_it_is_durable_and_so_does_its_answer() -> None:
    simulator, events = zab(Lead(1, (2,)), Receive(1, 2), Receive(2, 1))
    assert events == []
    simulator.execute(Sync(2))
    assert events == PROMISED


@pytest.mark.parametrize("end", [Timeout(2), Elect(2, 3)])
def test_an_answer_that_an_abandoned_iteration_withheld_does_not_show(end: Choice) -> None:
    _, events = zab(Lead(1, (2,)), Receive(1, 2), Receive(2, 1), end, Sync(2))
    assert events == PROMISED[:1]


@pytest.mark.parametrize("keep", [0, 1])
def test_a_write_that_survives_a_crash_shows_although_nobody_was_told(keep: int) -> None:
    simulator, events = zab(Lead(1, (2,)), Receive(1, 2), Receive(2, 1), Crash(2, keep), Recover(2), network=True)
    shown = [event for event in events if isinstance(event, Promise | AckEpoch | invariants.Crash | invariants.Recover)]
    assert shown == [
        *([Promise(2, 0, 1, 1)] if keep else []),
        invariants.Crash(2, 0, 1 - keep),
        invariants.Recover(2, 1),
    ]
    assert simulator.states[2].accepted_epoch == keep
    assert [event.kind for event in events if isinstance(event, Send) and event.process == 2] == ["CEPOCH"]


@pytest.mark.parametrize("keep", [0, 1])
def test_the_epoch_and_its_initial_history_survive_together_or_not_at_all(keep: int) -> None:
    first = (Lead(1, (2, 3)), Settle(9), Request(1, "x"), Settle(9), Crash(3), Request(1, "y"), Settle(9))
    to_newleader = (Recover(3), Elect(3, 1), Receive(1, 3), Receive(3, 1), Sync(3), Receive(3, 1))
    simulator, events = zab(*first, Elect(1, 1), Elect(2, 1), Settle(9), *to_newleader)
    [write] = simulator.disks[3].unsynced
    assert list(write.fields) == ["current_epoch", "history"]
    simulator.execute(Crash(3, keep))
    simulator.execute(Recover(3))
    f = simulator.states[3]
    assert (f.accepted_epoch, f.current_epoch, f.history.length) == ((2, 2, 2) if keep else (2, 1, 1))
    assert any(isinstance(event, Adopt) and event.process == 3 and event.epoch == 2 for event in events) == bool(keep)


def test_a_leader_sends_its_proposal_before_its_own_disk_has_it() -> None:
    simulator, events = zab(Lead(1, (2, 3)), Settle(9), Request(1, "x"))
    assert len(simulator.waiting()) == 2
    assert not [event for event in events if isinstance(event, Accept)]
    simulator.execute(Sync(1))
    assert [event.process for event in events if isinstance(event, Accept)] == [1]


def test_a_snapshot_is_durable_only_when_it_is_synced() -> None:
    epoch = (Lead(1, (2, 3)), Settle(9), Request(1, "x"), Settle(9))
    for end, length in (((Crash(2),), 0), ((Crash(2, 1),), 1), ((Sync(2), Crash(2)), 1)):
        simulator, _ = zab(*epoch, Snapshot(2), *end, Recover(2))
        assert simulator.states[2].delivered.length == length
