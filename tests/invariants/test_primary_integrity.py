"""Primary integrity (DSN 2011, III-A): before it broadcasts, a primary delivers what is delivered of earlier epochs."""

import pytest

from invariants import Broadcast, Deliver, Event, Txn, Zxid
from tests.invariants.builders import A, B, D, E, broadcasts, deliveries, judge, restore, summary, witness

NAME = "primary integrity"
F = Txn(Zxid(3, 1), "f")


def test_a_primary_that_lacks_what_was_delivered_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(2, 2, D)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(1, 0, A))
    assert summary(verdict) == (
        "p2, primary of epoch 2, broadcast d⟨2,1⟩ before it had delivered a⟨1,1⟩ of epoch 1, which p1 delivers"
    )


def test_a_primary_that_delivered_all_of_it_first_is_right() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A), *broadcasts(2, 2, D)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_what_nobody_delivers_need_not_be_delivered() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(1, D)]).status == "not exercised"


def test_the_first_epoch_does_not_exercise_it() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(1, A, B)]).status == "not exercised"


def test_a_delivery_after_the_broadcast_counts_as_well() -> None:
    """Some process delivers it, at whatever time: the broadcast was made without it."""
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(1, A)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(1, 0, A))


def test_it_is_too_late_for_the_primary_once_it_has_broadcast() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(2, A)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(2, 0, A))
    events = [*broadcasts(2, 2, D), *deliveries(2, A), *broadcasts(2, 2, E), *broadcasts(1, 1, A)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(2, 0, A))


def test_all_earlier_epochs_count() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D), *broadcasts(3, 3, F)]
    assert judge(NAME, events).status == "holds"
    assert witness(judge(NAME, [*events, *deliveries(1, A)])) == (
        Broadcast(1, 0, 1, A),
        Broadcast(2, 0, 2, D),
        Deliver(1, 0, A),
    )


def test_what_a_primary_delivered_as_an_earlier_incarnation_does_not_count() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D, incarnation=1)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(2, 1, 2, D), Deliver(2, 0, A))


@pytest.mark.parametrize("again", [deliveries(2, A, incarnation=1), [restore(2, A, incarnation=1)]])
def test_a_primary_that_recovered_delivers_again_or_takes_over_a_snapshot(again: list[Event]) -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *again, *broadcasts(2, 2, D, incarnation=1)]
    assert judge(NAME, events).status == "holds"


def test_a_recovery_does_not_erase_what_was_delivered_before() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(1, D, incarnation=1), *broadcasts(2, 2, D)]
    assert witness(judge(NAME, events))[-1] == Deliver(1, 0, A)


def test_a_snapshot_between_two_broadcasts_can_take_back_what_the_primary_had() -> None:
    events: list[Event] = [*broadcasts(1, 1, A, B), *deliveries(2, A, B), *broadcasts(2, 2, D)]
    assert judge(NAME, events).status == "holds"
    back = [*events, restore(2, A), *broadcasts(2, 2, E)]
    assert witness(judge(NAME, back)) == (Broadcast(1, 0, 1, B), Broadcast(2, 0, 2, E), Deliver(2, 0, B))


def test_a_primary_is_judged_when_what_it_took_over_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [*broadcasts(1, 1, A, B), restore(2, A), *broadcasts(2, 2, D)]
    assert judge(NAME, waiting).status == "not exercised"
    assert judge(NAME, [*waiting, *deliveries(1, A)]).status == "holds"
    verdict = judge(NAME, [*waiting, *deliveries(1, A, B)])
    assert witness(verdict) == (Broadcast(1, 0, 1, B), Broadcast(2, 0, 2, D), Deliver(1, 0, B))


def test_a_primary_is_not_judged_by_what_it_broadcast_after_a_snapshot_of_nobody() -> None:
    waiting: list[Event] = [*broadcasts(1, 1, A, B), *deliveries(1, A), restore(2, B), *broadcasts(2, 2, D)]
    assert judge(NAME, waiting).status == "not exercised"
    assert judge(NAME, [*waiting, restore(2, A), *broadcasts(2, 2, E)]).status == "holds"
    assert judge(NAME, [*waiting, restore(2), *broadcasts(2, 2, E)]).status == "violated"


def test_the_epoch_of_the_primary_counts_not_that_of_the_zxid() -> None:
    events = [*broadcasts(1, 2, A), *deliveries(1, A)]
    assert judge(NAME, [*events, *broadcasts(2, 2, D)]).status == "not exercised"
    assert judge(NAME, [*events, *broadcasts(2, 3, D)]).status == "violated"


def test_broadcasts_may_come_later_in_the_file() -> None:
    assert judge(NAME, [*deliveries(3, A), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]).status == "violated"
    events = [*deliveries(3, A), *deliveries(2, A), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]
    assert judge(NAME, events).status == "holds"


def test_the_witness_is_the_least_by_zxid_then_process() -> None:
    events = [
        *broadcasts(1, 1, A, B),
        *deliveries(4, A, B),
        *deliveries(3, B),
        *broadcasts(2, 2, E, D),
    ]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(4, 0, A))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(2, 2, D)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:-1], complete=False).status == "inconclusive"
