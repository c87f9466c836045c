"""Agreement (DSN 2011, III-A): of any two sets of delivered transactions, one contains the other."""

import pytest

from invariants import Deliver, Event
from tests.invariants.builders import A, B, C, D, deliveries, judge, restore, summary, witness

NAME = "agreement"


def test_two_sequences_that_part_are_a_violation() -> None:
    verdict = judge(NAME, [*deliveries(1, A, C), *deliveries(2, A, B)])
    assert witness(verdict) == (Deliver(2, 0, B), Deliver(1, 0, C))
    assert summary(verdict) == ("p2 delivered b⟨1,2⟩ and never c⟨1,3⟩, p1 delivered c⟨1,3⟩ and never b⟨1,2⟩")


def test_a_process_may_lag() -> None:
    verdict = judge(NAME, [*deliveries(1, A, B, C), *deliveries(2, A, B), *deliveries(3, A)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_the_order_of_deliveries_is_left_to_total_order() -> None:
    events = [*deliveries(1, A, B), *deliveries(2, B, A)]
    assert judge(NAME, events).status == "holds"
    assert judge("total order", events).status == "violated"


def test_one_process_that_delivers_does_not_exercise_it() -> None:
    assert judge(NAME, [*deliveries(1, A, B), restore(2)]).status == "not exercised"


def test_a_process_may_catch_up() -> None:
    """The deliveries of the processes are compared when the trace ends, not on the way there."""
    apart = [*deliveries(1, A), *deliveries(2, B)]
    assert judge(NAME, apart).status == "violated"
    assert judge(NAME, [*apart, *deliveries(1, B)]).status == "holds"


def test_a_trace_that_is_cut_off_may_still_show_that_a_process_catches_up() -> None:
    assert judge(NAME, [*deliveries(1, A), *deliveries(2, B)], complete=False).status == "inconclusive"
    assert judge(NAME, [*deliveries(1, A), *deliveries(2, A)], complete=False).status == "inconclusive"


def test_the_next_incarnation_cannot_catch_up_for_the_one_before() -> None:
    events = [*deliveries(1, A), *deliveries(2, B), *deliveries(1, B, A, incarnation=1)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, A), Deliver(2, 0, B))


def test_two_incarnations_of_one_process_must_agree() -> None:
    events = [*deliveries(1, A), *deliveries(1, B, incarnation=1)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, A), Deliver(1, 1, B))


def test_a_process_that_recovers_may_start_again_from_the_first_transaction() -> None:
    assert judge(NAME, [*deliveries(1, A, B), *deliveries(1, A, incarnation=1)]).status == "holds"


def test_what_a_snapshot_held_counts_as_delivered() -> None:
    events: list[Event] = [*deliveries(1, A, B), restore(2, A)]
    assert judge(NAME, [*events, *deliveries(2, B)]).status == "holds"
    assert witness(judge(NAME, [*events, *deliveries(2, C)])) == (Deliver(1, 0, B), Deliver(2, 0, C))


@pytest.mark.parametrize("incarnation", [0, 1])
@pytest.mark.parametrize("process", [1, 2])
def test_a_process_that_only_takes_a_snapshot_over_cannot_diverge(process: int, incarnation: int) -> None:
    taken: list[Event] = [restore(process, A, B, incarnation=incarnation)] * 2
    events = [*deliveries(1, A, B), *taken, *deliveries(process, A, incarnation=incarnation)]  # a repeat is nothing new
    assert judge(NAME, events).status == "not exercised"
    assert judge(NAME, [*events, *deliveries(process, C, D, incarnation=incarnation)]).judged == 1


def test_so_it_is_where_the_prefix_turns_up_later_in_the_file() -> None:
    late: list[Event] = [restore(3, A, B), restore(2, A), *deliveries(2, B), *deliveries(1, A, B)]
    assert judge(NAME, late).judged == 1
    assert judge(NAME, [*late, *deliveries(3, C)]).judged == 2


def test_what_follows_a_snapshot_is_judged_when_its_prefix_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [restore(2, A), *deliveries(2, C)]
    assert judge(NAME, [*waiting, *deliveries(1, B)]).status == "not exercised"
    verdict = judge(NAME, [*waiting, *deliveries(1, A, B)])
    assert witness(verdict) == (Deliver(1, 0, B), Deliver(2, 0, C))


def test_the_witness_is_the_least_by_zxid_then_process() -> None:
    events = [*deliveries(4, A, D), *deliveries(3, A, C), *deliveries(2, A, B), *deliveries(1, A, B)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, B), Deliver(3, 0, C))
