"""A record that is altered on the disk: its digest tells, and the process stops (LADIS 2008, 2)."""

import pytest

import invariants
from invariants import NO_ZXID, Chain, Deliver, Event, Halt, Txn, Zxid
from tests.invariants.builders import A, B, C
from zabcheck.mutants.catalogue import mutated
from zabcheck.simulation.choices import Choice, Corrupt, Crash, Lead, Recover, Request, Settle, Snapshot
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.simulator import Simulator

ABC = Chain.of([A, B, C])
TWO_DELIVERED: tuple[Choice, ...] = (Lead(1, (2, 3)), Settle(8), Request(1, "a"), Request(1, "b"), Settle(4))


def disk(base: Chain | None = None) -> Disk:
    made = Disk()
    made.write({"history": ABC, "accepted_epoch": 1, **({} if base is None else {"base": base})})
    return made


def values(history: Chain) -> list[str]:
    return [txn.value for txn in history]


def zab(*choices: Choice, mutant: str | None = None) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    simulator = Simulator(mutated("zab", mutant), 3, events.append, network=True)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


def who_delivered(value: str, events: list[Event]) -> list[int]:
    return sorted(event.process for event in events if isinstance(event, Deliver) and event.txn.value == value)


# The disk.


def test_an_intact_log_is_read_as_it_was_written() -> None:
    assert disk().read() == ({"history": ABC, "accepted_epoch": 1}, True)


@pytest.mark.parametrize(
    ("record", "altered"), [(0, ["a", "b", "c(altered)"]), (1, ["a", "b(altered)", "c"]), (2, ["a(altered)", "b", "c"])]
)
def test_an_altered_record_holds_another_value_and_its_digest_tells(record: int, altered: list[str]) -> None:
    written = disk()
    assert written.alter(record) == ("history", ABC.prefix(3 - record).zxid)
    found, intact = written.read()
    assert not intact
    assert values(found["history"]) == altered
    assert [txn.zxid for txn in found["history"]] == [txn.zxid for txn in ABC]


def test_only_what_is_in_the_log_can_be_altered_and_only_once() -> None:
    written = disk()
    assert written.alter(4) is None
    assert written.alter(0) is not None
    assert written.alter(0) is None
    assert Disk().alter(0) is None


def test_what_was_cut_off_can_not_be_altered() -> None:
    written = disk(base=ABC.prefix(2))
    assert written.records == 2
    assert written.alter(1) == ("accepted_epoch", NO_ZXID)
    assert written.alter(0) == ("history", C.zxid)


def test_a_record_that_was_truncated_since_is_not_read() -> None:
    written = disk()
    written.alter(0)
    written.write({"history": Chain.of([A, B, Txn(Zxid(2, 1), "d")])})
    assert written.read()[1]


def test_a_record_that_was_cut_off_since_is_not_read() -> None:
    written = disk()
    written.alter(2)
    written.write({"base": ABC.prefix(1)})
    assert written.read()[1]


def test_a_record_stays_altered_when_more_is_written_after_it() -> None:
    written = disk()
    written.alter(0)
    written.write({"history": ABC.append(Txn(Zxid(2, 1), "d"))})
    assert values(written.read()[0]["history"]) == ["a", "b", "c(altered)", "d"]


def test_a_copy_is_altered_by_itself() -> None:
    written = disk()
    twin = written.copy()
    twin.alter(0)
    assert written.read()[1]
    assert not twin.read()[1]


@pytest.mark.parametrize(
    ("record", "variable", "altered"),
    [(3, "accepted_epoch", 1), (4, "snapshot", Chain.of([A, Txn(B.zxid, "b(altered)")]))],
)
def test_any_other_variable_is_a_record_too(record: int, variable: str, altered: object) -> None:
    written = Disk()
    written.write({"history": ABC, "accepted_epoch": 2, "snapshot": ABC.prefix(2), "current_epoch": 0})
    assert written.records == 5
    assert written.alter(record) == (variable, NO_ZXID)
    assert written.alter(record) is None
    found, intact = written.read()
    assert not intact
    assert found[variable] == altered


def test_a_variable_that_was_written_anew_since_is_intact() -> None:
    written = disk()
    assert written.alter(3) == ("accepted_epoch", NO_ZXID)
    written.write({"accepted_epoch": 2})
    assert written.read() == ({"history": ABC, "accepted_epoch": 2}, True)


# The process.


def test_a_process_that_finds_an_altered_record_halts_for_good() -> None:
    simulator, events = zab(*TWO_DELIVERED, Corrupt(2, 1), Crash(2), Recover(2))
    assert events[-1] == Halt(2, 1, "the digest of a record in its log does not match")
    assert not simulator.is_up(2)
    assert simulator.execute(Recover(2)) == 0
    assert not any(isinstance(event, Deliver) and event.incarnation for event in events)


def test_the_others_go_on_without_it() -> None:
    _, events = zab(*TWO_DELIVERED, Corrupt(2), Crash(2), Recover(2), Request(1, "c"), Settle(4))
    assert who_delivered("c", events) == [1, 3]


def test_nothing_happens_before_the_record_is_read() -> None:
    _, events = zab(*TWO_DELIVERED, Corrupt(2), Request(1, "c"), Settle(4))
    assert invariants.Corrupt(2, 0, "history", Zxid(1, 2)) in events
    assert sorted(event.process for event in events if isinstance(event, Deliver) and event.txn.value == "c") == [
        1,
        2,
        3,
    ]


def test_a_process_may_be_down_when_its_disk_is_altered() -> None:
    simulator, events = zab(*TWO_DELIVERED, Crash(3), Corrupt(3))
    assert isinstance(events[-1], invariants.Corrupt)
    simulator.execute(Recover(3))
    assert isinstance(events[-1], Halt)


def test_there_is_nothing_to_alter_before_something_is_synced() -> None:
    simulator, _ = zab()
    assert simulator.execute(Corrupt(1)) == 0


def test_a_snapshot_hides_what_was_altered_below_it_once_the_log_is_cut() -> None:
    simulator, events = zab(*TWO_DELIVERED, Corrupt(2, 1), Snapshot(2, cut=True), Settle(2), Crash(2), Recover(2))
    assert simulator.is_up(2)
    assert not any(isinstance(event, Halt) for event in events)


def test_without_looking_at_digests_a_wrong_transaction_is_delivered() -> None:
    run = (*TWO_DELIVERED, Corrupt(2), Crash(2), Crash(1), Crash(3), Recover(2), Recover(3))
    simulator, events = zab(*run, Lead(2, (3,)), Settle(8), mutant="ignore-digest")
    assert simulator.is_up(2)
    assert Deliver(2, 1, Txn(Zxid(1, 2), "b(altered)")) in events


def test_a_fork_knows_who_has_halted() -> None:
    simulator, _ = zab(*TWO_DELIVERED, Corrupt(2), Crash(2))
    twin = simulator.fork(lambda _: None)
    simulator.execute(Recover(2))
    assert not simulator.is_up(2)
    assert twin.execute(Recover(2)) == 1
    assert twin.halted[2]
