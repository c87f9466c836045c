"""Integrity (DSN 2011, III-A): what some process delivers, some process has broadcast."""

import pytest

from invariants import Deliver, Restore, Txn, Zxid
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, judge, restore, summary, witness

NAME = "integrity"


def test_a_delivery_that_nobody_broadcast_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *deliveries(2, A, B)])
    assert witness(verdict) == (Deliver(2, 0, B),)
    assert summary(verdict) == "p2 delivered b⟨1,2⟩, which nobody broadcast"


def test_what_was_broadcast_may_be_delivered() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, A, B), *deliveries(1, A)])
    assert (verdict.status, verdict.judged) == ("holds", 2)  # transactions, however many deliver them


def test_without_a_delivery_it_is_not_exercised() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), restore(2)]).status == "not exercised"


def test_a_transaction_is_its_value_and_its_zxid() -> None:
    other = Txn(A.zxid, "another value")
    verdict = judge(NAME, [*broadcasts(1, 1, A), *deliveries(2, other)])
    assert witness(verdict) == (Deliver(2, 0, other),)


@pytest.mark.parametrize("order", ["global", "per-process"])
def test_a_broadcast_later_in_the_file_will_do(order: str) -> None:
    """Some process *has* broadcast it: the statement says nothing of the order of the file."""
    events = [*deliveries(2, A), *broadcasts(1, 1, A)]
    assert judge(NAME, events, order).status == "holds"  # type: ignore[arg-type]  # as parametrised


def test_the_witness_is_the_least_by_zxid_then_process() -> None:
    verdict = judge(NAME, [*deliveries(3, C, B), *deliveries(2, B), *deliveries(1, C)])
    assert witness(verdict) == (Deliver(2, 0, B),)


def test_a_recovery_does_not_erase_the_delivery() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, B), *deliveries(2, A, incarnation=1)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, B),)


def test_a_snapshot_that_holds_no_prefix_of_a_delivered_sequence_is_a_violation() -> None:
    taken = restore(3, A, C)
    verdict = judge(NAME, [*broadcasts(1, 1, A, B, C), *deliveries(1, A, B, C), taken])
    assert witness(verdict) == (taken,)
    assert summary(verdict) == ("p3 took over a snapshot up to ⟨1,3⟩ that holds no prefix of what anybody delivered")


@pytest.mark.parametrize(
    "wrong",
    [
        Restore(2, 0, B.zxid, 2, restore(2, A, B).hash + 1),
        Restore(2, 0, B.zxid, 1, restore(2, A, B).hash),
        Restore(2, 0, A.zxid, 2, restore(2, A, B).hash),
        Restore(2, 0, Zxid(0, 1), 0, 0),
        Restore(2, 0, Zxid(0, 0), 1, 0),
    ],
    ids=["hash", "length", "zxid", "zxid-of-nothing", "length-of-nothing"],
)
def test_each_part_of_a_restore_must_match(wrong: Restore) -> None:
    assert witness(judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(1, A, B), wrong])) == (wrong,)


def test_what_follows_an_unmatched_snapshot_is_judged_too() -> None:
    """A delivery that nobody broadcast comes before the snapshot as a witness."""
    events = [*broadcasts(1, 1, A), restore(2, C), *deliveries(2, A, D)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, D),)


def test_the_least_unmatched_snapshot_is_the_witness() -> None:
    first, second = restore(1, C), restore(2, B)
    assert witness(judge(NAME, [first, second])) == (second,)


def test_a_snapshot_may_precede_the_deliveries_that_it_holds() -> None:
    events = [*broadcasts(1, 1, A, B), restore(2, A, B), *deliveries(1, A, B)]
    assert judge(NAME, events).status == "holds"


def test_a_snapshot_may_hold_what_an_earlier_incarnation_delivered() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A), restore(2, A, incarnation=1)]
    assert judge(NAME, events).status == "holds"


def test_a_snapshot_may_hold_what_was_delivered_after_a_snapshot() -> None:
    events = [*broadcasts(1, 1, A, B, C), restore(3, A, B, C), restore(2, A, B), *deliveries(2, C)]
    assert judge(NAME, events).status == "violated"
    assert judge(NAME, [*events, *deliveries(1, A, B)]).status == "holds"


@pytest.mark.parametrize("last", [*deliveries(2, B), restore(2, B)])
def test_a_trace_that_is_cut_off_may_still_show_the_broadcast_or_the_prefix(last: Deliver | Restore) -> None:
    assert judge(NAME, [last]).status == "violated"
    assert judge(NAME, [last], complete=False).status == "inconclusive"
