"""Redelivery (LADIS 2008, 2): after a failure, what a process delivers again comes in the order of the first time."""

import pytest

from invariants import Deliver, Event, Txn, Zxid
from tests.invariants.builders import A, B, C, D, E, F, Order, deliveries, judge, restore, summary, witness

NAME = "redelivery"
TWIN = Txn(Zxid(1, 1), "twin")

orders = pytest.mark.parametrize("order", ["global", "per-process"])


def test_something_else_after_a_redelivery_is_a_violation() -> None:
    verdict = judge(NAME, [*deliveries(2, A, B), *deliveries(2, A, C, incarnation=1)])
    assert witness(verdict) == (Deliver(2, 0, A), Deliver(2, 0, B), Deliver(2, 1, A), Deliver(2, 1, C))
    assert summary(verdict) == (
        "p2 delivered b⟨1,2⟩ directly after a⟨1,1⟩, but c⟨1,3⟩ after it had delivered a⟨1,1⟩ again"
    )


def test_the_same_again_and_more_is_right() -> None:
    verdict = judge(NAME, [*deliveries(2, A, B), *deliveries(2, A, B, C, incarnation=1)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_a_process_need_not_come_as_far_again() -> None:
    assert judge(NAME, [*deliveries(2, A, B, C), *deliveries(2, A, B, incarnation=1)]).status == "holds"
    assert judge(NAME, [*deliveries(2, A, B), *deliveries(2, A, incarnation=1)]).status == "not exercised"


def test_a_transaction_without_successor_may_get_any() -> None:
    events = [*deliveries(2, A), *deliveries(2, A, C, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"
    events += deliveries(2, A, B, incarnation=2)
    assert witness(judge(NAME, events)) == (Deliver(2, 1, A), Deliver(2, 1, C), Deliver(2, 2, A), Deliver(2, 2, B))


def test_what_another_process_delivered_does_not_matter() -> None:
    assert judge(NAME, [*deliveries(2, A, B), *deliveries(3, A, C)]).status == "not exercised"


def test_an_incarnation_may_begin_anywhere() -> None:
    assert judge(NAME, [*deliveries(2, A, B), *deliveries(2, B, C, incarnation=1)]).status == "not exercised"


def test_after_a_snapshot_comes_what_came_after_it_before() -> None:
    start: list[Event] = [*deliveries(2, A, B, C), restore(2, A, B, incarnation=1)]
    assert judge(NAME, [*start, *deliveries(2, C, D, incarnation=1)]).status == "holds"
    verdict = judge(NAME, [*start, *deliveries(2, D, incarnation=1)])
    assert witness(verdict) == (Deliver(2, 0, B), Deliver(2, 0, C), start[-1], Deliver(2, 1, D))
    assert summary(verdict) == (
        "p2 delivered c⟨1,3⟩ directly after b⟨1,2⟩, but d⟨2,1⟩ after it took over a snapshot up to b⟨1,2⟩ again"
    )


def test_a_snapshot_of_all_that_was_delivered_demands_nothing_and_is_held_to_what_follows() -> None:
    events: list[Event] = [*deliveries(2, A), restore(2, A, incarnation=1), *deliveries(2, B, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"
    events += deliveries(2, A, C, incarnation=2)
    assert witness(judge(NAME, events)) == (Deliver(2, 1, A), Deliver(2, 1, B), Deliver(2, 2, A), Deliver(2, 2, C))


def test_a_snapshot_of_what_the_process_has_not_delivered_demands_nothing() -> None:
    events: list[Event] = [*deliveries(2, A, B), restore(2, C, incarnation=1), *deliveries(2, D, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_a_snapshot_of_nothing_demands_nothing() -> None:
    events: list[Event] = [*deliveries(2, A, B), restore(2, incarnation=1), *deliveries(2, B, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_a_snapshot_in_between_takes_the_place_of_what_came_before() -> None:
    events: list[Event] = [*deliveries(2, A, B, C), restore(2, A), *deliveries(2, B), restore(2, D), *deliveries(2, A)]
    verdict = judge(NAME, events)
    assert (verdict.status, verdict.judged) == ("holds", 1)


@orders
def test_a_process_may_deliver_all_of_it_again_without_a_failure(order: Order) -> None:
    """Step f.2.2 of DSN 2011 to the letter: COMMIT-LD delivers the whole initial history."""
    verdict = judge(NAME, deliveries(2, A, B, A, B, C), order)
    assert (verdict.status, verdict.judged) == ("holds", 1)
    events = [*deliveries(2, A), *deliveries(2, A, B, A, B, C, incarnation=1), *deliveries(2, A, B, C, incarnation=2)]
    assert judge(NAME, events, order).status == "holds"


@orders
def test_what_is_delivered_after_a_snapshot_may_be_in_it_already(order: Order) -> None:
    start: list[Event] = [*deliveries(2, A, B, C), restore(2, A, B, incarnation=1)]
    assert judge(NAME, [*start, *deliveries(2, A, B, C, incarnation=1)], order).status == "holds"
    assert judge(NAME, [*start, *deliveries(2, A, B, C, D, incarnation=1)], order).status == "holds"
    assert judge(NAME, [*start[:-1], restore(2, A, B), *deliveries(2, A, B, C)], order).status == "holds"
    wrong = judge(NAME, [*start, *deliveries(2, A, C, incarnation=1)], order)
    assert witness(wrong) == (Deliver(2, 0, A), Deliver(2, 0, B), Deliver(2, 1, A), Deliver(2, 1, C))


@orders
def test_a_pass_may_be_cut_off_and_begun_again_without_a_failure(order: Order) -> None:
    verdict = judge(NAME, deliveries(2, A, B, C, A, B, A, B, C), order)
    assert (verdict.status, verdict.judged) == ("holds", 3)
    start = [*deliveries(2, A, B, C), *deliveries(2, A, B, incarnation=1)]
    assert judge(NAME, [*start, *deliveries(2, A, B, A, B, C, D, incarnation=2)], order).status == "holds"
    assert judge(NAME, [*start, *deliveries(2, A, B, A, C, incarnation=2)], order).status == "violated"


def test_going_back_demands_nothing_and_makes_nothing_a_successor() -> None:
    assert judge(NAME, deliveries(2, A, B, C, B, A)).status == "not exercised"
    assert judge(NAME, [*deliveries(2, A, B, A), *deliveries(2, B, C, incarnation=1)]).status == "not exercised"


def test_going_forward_over_the_successor_is_a_violation_even_to_what_was_delivered() -> None:
    start = deliveries(2, A, B, C)
    verdict = judge(NAME, [*start, *deliveries(2, A, C, incarnation=1)])
    assert witness(verdict) == (Deliver(2, 0, A), Deliver(2, 0, B), Deliver(2, 1, A), Deliver(2, 1, C))
    assert judge(NAME, [*start, *deliveries(2, B, A, C, incarnation=1)]).status == "violated"
    assert judge(NAME, [*start, *deliveries(2, B, A, B, C, incarnation=1)]).status == "holds"


def test_what_is_new_may_only_follow_what_has_no_successor() -> None:
    start = [*deliveries(2, A, B, C), *deliveries(2, A, B, incarnation=1)]
    verdict = judge(NAME, [*start, *deliveries(2, D, incarnation=1)])
    assert witness(verdict) == (Deliver(2, 0, B), Deliver(2, 0, C), Deliver(2, 1, B), Deliver(2, 1, D))
    assert judge(NAME, [*start, *deliveries(2, C, D, incarnation=1)]).status == "holds"


def test_after_a_violation_the_successor_stays_what_it_was() -> None:
    events = [*deliveries(2, B, C), *deliveries(2, B, D, incarnation=1), *deliveries(2, B, C, B, D, incarnation=2)]
    judged = judge(NAME, events)
    assert (judged.judged, witness(judged)[2:]) == (3, (Deliver(2, 1, B), Deliver(2, 1, D)))


def test_a_zxid_with_two_values_says_nothing_of_a_snapshot() -> None:
    start = [*deliveries(2, A, B), *deliveries(2, TWIN, C, incarnation=1)]
    events: list[Event] = [*start, restore(2, A, incarnation=2), *deliveries(2, C, incarnation=2)]
    assert judge(NAME, events).status == "not exercised"
    assert judge(NAME, [*start, *deliveries(2, TWIN, D, incarnation=2)]).status == "violated"


def test_repeats_within_an_incarnation_count_too() -> None:
    assert witness(judge(NAME, deliveries(2, A, B, A, C))) == (
        Deliver(2, 0, A),
        Deliver(2, 0, B),
        Deliver(2, 0, A),
        Deliver(2, 0, C),
    )
    assert judge(NAME, deliveries(2, A, B, A, B)).status == "holds"


def test_twice_in_a_row_is_once() -> None:
    assert judge(NAME, deliveries(2, A, B, B, C)).status == "not exercised"
    assert judge(NAME, [*deliveries(2, A, B, C), *deliveries(2, A, A, B, B, C, incarnation=1)]).status == "holds"


def test_a_snapshot_that_nobody_else_knows_is_as_good() -> None:
    """Deliveries after a prefix that is not on record are the process's own all the same."""
    start: list[Event] = [restore(2, C), *deliveries(2, A, B), restore(2, C, A, incarnation=1)]
    assert judge(NAME, [*start, *deliveries(2, B, incarnation=1)]).status == "holds"
    assert judge(NAME, [*start, *deliveries(2, D, incarnation=1)]).status == "violated"


def test_the_witness_is_the_least_and_of_an_incarnation_the_first() -> None:
    events = [*deliveries(3, A, B), *deliveries(3, A, D, incarnation=1), *deliveries(2, B, C)]
    events += [*deliveries(2, B, A, incarnation=2), *deliveries(2, A, E, A, F, A, D, incarnation=3)]
    assert witness(judge(NAME, events)) == (Deliver(2, 3, A), Deliver(2, 3, E), Deliver(2, 3, A), Deliver(2, 3, F))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*deliveries(2, A, B), *deliveries(2, A, C, incarnation=1)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:3], complete=False).status == "inconclusive"


@pytest.mark.parametrize(
    "events",
    [
        [restore(1, A, B, C), *deliveries(1, D, E), *deliveries(1, A, B, C, D, A, B, C, D, E, incarnation=1)],
        [restore(1, A), *deliveries(1, B, C), restore(1, A, B), *deliveries(1, A, B, C)],
    ],
    ids=["a snapshot of more than it delivered", "a snapshot that is ahead of what is replayed"],
)
def test_what_a_snapshot_brought_may_be_delivered_for_the_first_time_later(events: list[Event]) -> None:
    assert judge("redelivery", events).status != "violated"
