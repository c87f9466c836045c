"""Zxid uniqueness: one value and one primary a zxid."""

import pytest

from invariants import Accept, Broadcast, Deliver, Event, Txn
from tests.invariants.builders import A, B, C, D, accepts, broadcasts, deliveries, judge, restore, summary, witness

NAME = "zxid uniqueness"
OTHER = Txn(A.zxid, "other")


def test_two_values_under_one_zxid_are_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *broadcasts(1, 1, OTHER)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, OTHER))
    assert summary(verdict) == "⟨1,1⟩ has two values: p1 broadcast a⟨1,1⟩, p1 broadcast other⟨1,1⟩"


@pytest.mark.parametrize(
    "other",
    [Accept(2, 0, 1, OTHER), Deliver(2, 0, OTHER), Broadcast(2, 0, 1, OTHER)],
    ids=["a", "d", "b"],
)
@pytest.mark.parametrize("known", [Accept(3, 0, 1, A), Deliver(3, 0, A), Broadcast(3, 0, 1, A)], ids=["a", "d", "b"])
def test_values_clash_whichever_process_shows_them(known: Event, other: Event) -> None:
    for events in ([known, other], [other, known]):
        assert witness(judge(NAME, events)) == (known, other)


def test_two_primaries_that_broadcast_one_transaction_are_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(2, 2, A), *broadcasts(1, 1, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, A))
    assert summary(verdict) == "p1 broadcast a⟨1,1⟩ in epoch 1, and p2 in epoch 2"


def test_another_incarnation_is_another_primary() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), *broadcasts(1, 1, A, incarnation=1)]).status == "violated"


def test_one_primary_that_broadcasts_the_same_again_does_so_once() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B, A), *accepts(2, 1, A, A), *deliveries(2, A, B), *deliveries(1, A)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_one_value_under_two_zxids_is_right() -> None:
    other = Txn(B.zxid, A.value)
    assert judge(NAME, [*broadcasts(1, 1, A, other), *deliveries(1, A, other)]).status == "holds"


@pytest.mark.parametrize(
    "again",
    [*deliveries(1, A), *accepts(1, 1, A), *deliveries(1, OTHER)],
    ids=["delivered", "accepted", "with a value"],
)
def test_a_lone_broadcast_exercises_nothing_and_the_second_event_of_its_zxid_does(again: Event) -> None:
    lone = [*broadcasts(1, 1, A, B, B), *broadcasts(2, 2, D)]
    assert judge(NAME, lone).status == "not exercised"
    assert judge(NAME, [*lone, again]).judged == 1


def test_two_processes_that_accept_it_exercise_it_and_one_that_does_so_twice_does_not() -> None:
    assert judge(NAME, [*accepts(1, 1, A), *accepts(1, 2, A)]).status == "not exercised"
    assert judge(NAME, [*accepts(1, 1, A), *accepts(2, 1, A)]).judged == 1


def test_what_is_delivered_after_a_snapshot_that_is_not_on_record_counts() -> None:
    verdict = judge(NAME, [restore(2, C), *deliveries(2, OTHER), *broadcasts(1, 1, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Deliver(2, 0, OTHER))
    assert judge(NAME, [restore(2, C), *deliveries(2, A, OTHER)]).status == "violated"


def test_a_broadcast_is_the_best_witness_then_a_delivery_then_an_accept() -> None:
    events = [*accepts(1, 1, A), *accepts(1, 1, OTHER), *deliveries(3, A), *deliveries(2, A)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), Accept(1, 0, 1, OTHER))
    assert witness(judge(NAME, [*events, *broadcasts(4, 1, A)]))[0] == Broadcast(4, 0, 1, A)


def test_the_witness_is_the_least_zxid_and_its_two_least_values() -> None:
    least = Txn(A.zxid, "0")
    events = [*broadcasts(1, 1, B), *accepts(2, 1, Txn(B.zxid, "other"))]
    events += [*accepts(3, 1, A, OTHER, least), *accepts(2, 1, A, OTHER), *accepts(4, 1, least)]
    assert witness(judge(NAME, events)) == (Accept(3, 0, 1, least), Accept(2, 0, 1, A))


def test_without_a_transaction_it_is_not_exercised() -> None:
    assert judge(NAME, [restore(2)]).status == "not exercised"
