"""Invariant 2 (DSN 2011, VI-B): in the broadcast phase a follower accepts and delivers in the order of zxids."""

import pytest

from invariants import Accept, CommitEpoch, Crash, Deliver, Event, Recover
from tests.invariants.builders import A, B, C, D, E, accepts, adopt, deliveries, judge, restore, summary, witness

NAME = "invariant 2"


def test_accepting_a_lower_zxid_after_a_higher_one_is_a_violation() -> None:
    verdict = judge(NAME, [adopt(2, 1), *accepts(2, 1, B, A)])
    assert witness(verdict) == (Accept(2, 0, 1, B), Accept(2, 0, 1, A))
    assert summary(verdict) == "p2 accepted a⟨1,1⟩ after it had accepted b⟨1,2⟩"


def test_so_is_accepting_what_the_initial_history_has() -> None:
    verdict = judge(NAME, [adopt(2, 1, A, B), *accepts(2, 1, B, C)])
    assert witness(verdict) == (adopt(2, 1, A, B), Accept(2, 0, 1, B))
    assert summary(verdict) == "p2 accepted b⟨1,2⟩ after it had adopted a history up to ⟨1,2⟩"


def test_so_is_delivering_a_lower_zxid_in_one_phase() -> None:
    verdict = judge(NAME, [CommitEpoch(2, 0, 1), *deliveries(2, A, C, B)])
    assert witness(verdict) == (Deliver(2, 0, C), Deliver(2, 0, B))
    assert summary(verdict) == "p2 delivered b⟨1,2⟩ after it had delivered c⟨1,3⟩"


def test_ascending_zxids_are_right_with_gaps_or_without() -> None:
    events = [adopt(2, 1), CommitEpoch(2, 0, 1), *accepts(2, 1, A, C), *deliveries(2, A, C)]
    verdict = judge(NAME, events)
    assert (verdict.status, verdict.judged) == ("holds", 3)


def test_a_history_goes_on_over_incarnations() -> None:
    events: list[Event] = [adopt(2, 1), *accepts(2, 1, B), Crash(2, 0), Recover(2, 1)]
    assert judge(NAME, [*events, *accepts(2, 1, A, incarnation=1)]).status == "violated"


def test_an_initial_history_begins_anew() -> None:
    assert judge(NAME, [adopt(2, 1), *accepts(2, 1, A, B), adopt(2, 1, A), *accepts(2, 1, B)]).status == "holds"


def test_what_is_accepted_in_another_epoch_is_left_to_invariant_1() -> None:
    assert judge(NAME, [adopt(2, 1), *accepts(2, 1, B), *accepts(2, 2, A)]).status == "holds"
    assert judge(NAME, accepts(2, 1, B, A)).status == "not exercised"


@pytest.mark.parametrize(
    "between",
    [[CommitEpoch(2, 0, 2)], [adopt(2, 2, A, B)], [Crash(2, 0)], [Recover(2, 1)]],
    ids=["commit_epoch", "adopt", "crash", "recover"],
)
def test_what_ends_the_phase_ends_its_order(between: list[Event]) -> None:
    """With a new epoch, and in a new life, a process may deliver from the start again."""
    incarnation = 1 if isinstance(between[0], Recover) else 0
    events = [CommitEpoch(2, 0, 1), *deliveries(2, A, B), *between, *deliveries(2, A, incarnation=incarnation)]
    assert judge(NAME, events).status == "holds"


def test_the_order_goes_on_after_a_snapshot() -> None:
    start: list[Event] = [adopt(3, 1), CommitEpoch(3, 0, 1), restore(3, A)]
    assert witness(judge(NAME, [*start, *deliveries(3, B, D, C)])) == (Deliver(3, 0, D), Deliver(3, 0, C))
    assert judge(NAME, [*start, *deliveries(3, B, C, D)]).status == "holds"


def test_a_snapshot_counts_as_the_last_delivery() -> None:
    start: list[Event] = [CommitEpoch(2, 0, 1), *deliveries(2, A), restore(2, A, B)]
    verdict = judge(NAME, [*start, *deliveries(2, B)])
    assert witness(verdict) == (restore(2, A, B), Deliver(2, 0, B))
    assert summary(verdict) == "p2 delivered b⟨1,2⟩ after it had taken over a snapshot up to ⟨1,2⟩"
    verdict = judge(NAME, [*start, *deliveries(2, C)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_a_snapshot_may_take_a_process_back() -> None:
    events = [CommitEpoch(2, 0, 1), *deliveries(2, A, B), restore(2), *deliveries(2, A, B)]
    assert judge(NAME, events).status == "holds"


def test_a_snapshot_before_the_phase_or_in_another_incarnation_begins_none() -> None:
    assert judge(NAME, [restore(2, A, B), CommitEpoch(2, 0, 1), *deliveries(2, A, B)]).status == "holds"
    assert judge(NAME, [restore(2, A, B), *deliveries(2, A)]).status == "not exercised"
    events: list[Event] = [CommitEpoch(2, 0, 1), restore(2, A, B, incarnation=1), *deliveries(2, A, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_a_new_incarnation_ends_the_phase_even_if_nothing_else_shows_it() -> None:
    events = [CommitEpoch(2, 0, 1), *deliveries(2, B), *deliveries(2, A, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_delivering_twice_in_one_phase_is_out_of_order() -> None:
    assert judge(NAME, [CommitEpoch(2, 0, 1), *deliveries(2, A, A)]).status == "violated"


def test_outside_of_a_broadcast_phase_it_says_nothing_of_deliveries() -> None:
    assert judge(NAME, deliveries(2, B, A)).status == "not exercised"


def test_the_witness_is_the_least_by_zxid_then_process_then_what_was_done() -> None:
    events: list[Event] = [CommitEpoch(3, 0, 1), *deliveries(3, E, D, B)]
    events += [adopt(2, 2), *accepts(2, 2, D, B), CommitEpoch(2, 0, 1), *deliveries(2, C, B)]
    assert witness(judge(NAME, events)) == (Accept(2, 0, 2, D), Accept(2, 0, 2, B))


def test_a_trace_that_is_cut_off_may_lack_what_an_earlier_incarnation_adopted() -> None:
    events = [adopt(2, 1), *accepts(2, 1, B), *accepts(2, 1, A, incarnation=1)]
    assert judge(NAME, events).status == "violated"
    assert judge(NAME, events, complete=False).status == "inconclusive"
    assert judge(NAME, [adopt(2, 1), *accepts(2, 1, B, A)], complete=False).status == "violated"
