"""Total order (DSN 2011, III-A): who delivers b, delivers everything before it that anybody delivered before b."""

from invariants import Deliver, Event
from tests.invariants.builders import A, B, C, D, deliveries, judge, restore, summary, witness

NAME = "total order"


def test_a_gap_is_a_violation() -> None:
    verdict = judge(NAME, [*deliveries(1, A, B), *deliveries(2, B)])
    assert witness(verdict) == (Deliver(1, 0, A), Deliver(1, 0, B), Deliver(2, 0, B))
    assert summary(verdict) == "p1 delivered a⟨1,1⟩ before b⟨1,2⟩, but p2 delivered b⟨1,2⟩ and never a⟨1,1⟩"


def test_the_other_order_is_a_violation() -> None:
    verdict = judge(NAME, [*deliveries(1, A, B), *deliveries(2, B, A)])
    assert witness(verdict) == (Deliver(2, 0, B), Deliver(2, 0, A), Deliver(1, 0, A), Deliver(1, 0, B))
    assert summary(verdict) == "p2 delivered b⟨1,2⟩ before a⟨1,1⟩, but p1 delivered a⟨1,1⟩ before b⟨1,2⟩"


def test_a_process_may_lag() -> None:
    verdict = judge(NAME, [*deliveries(1, A, B, C), *deliveries(2, A, B), *deliveries(3, A)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_disjoint_sequences_are_allowed() -> None:
    """The paper: total order allows two processes to deliver disjoint sequences; agreement is there to forbid it."""
    assert judge(NAME, [*deliveries(1, A, B), *deliveries(2, C, D)]).status == "not exercised"


def test_two_processes_that_start_with_the_same_do_not_exercise_it() -> None:
    assert judge(NAME, [*deliveries(1, A), *deliveries(2, A, B)]).status == "not exercised"


def test_the_witness_is_the_least_by_zxid_then_process() -> None:
    events = [*deliveries(4, A, B, C, D), *deliveries(2, A, C, D), *deliveries(3, A, B, D), *deliveries(1, A, B, C)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, B), Deliver(1, 0, C), Deliver(2, 0, C))


def test_the_least_predecessor_is_named_not_the_nearest() -> None:
    events = [*deliveries(1, A, B, C, D), *deliveries(2, D)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, A), Deliver(1, 0, D), Deliver(2, 0, D))


def test_a_process_that_recovers_may_start_again_from_the_first_transaction() -> None:
    events = [*deliveries(1, A, B), *deliveries(1, A, B, C, incarnation=1)]
    assert judge(NAME, events).status == "holds"


def test_two_incarnations_of_one_process_must_agree() -> None:
    events = [*deliveries(1, A, B), *deliveries(1, B, incarnation=1)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, A), Deliver(1, 0, B), Deliver(1, 1, B))


def test_a_recovery_does_not_erase_what_the_earlier_incarnation_delivered() -> None:
    events = [*deliveries(1, A, B), *deliveries(2, B), *deliveries(2, A, B, C, incarnation=1)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, A), Deliver(1, 0, B), Deliver(2, 0, B))


def test_repeats_within_an_incarnation_are_not_judged() -> None:
    assert judge(NAME, [*deliveries(1, A, B, A, B, C), *deliveries(2, A, B, C)]).status == "holds"


def test_what_a_snapshot_held_counts_as_delivered() -> None:
    good: list[Event] = [*deliveries(1, A, B, C), restore(2, A, B)]
    assert judge(NAME, good).status == "not exercised"  # what came with the snapshot could not be in another order
    assert judge(NAME, [*good, *deliveries(2, C)]).status == "holds"
    bad = judge(NAME, [*good, *deliveries(2, D, C)])
    assert witness(bad) == (Deliver(2, 0, D), Deliver(2, 0, C), Deliver(1, 0, C))


def test_what_follows_a_snapshot_is_judged_when_its_prefix_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [restore(2, A), *deliveries(2, C)]
    assert judge(NAME, waiting).status == "not exercised"
    verdict = judge(NAME, [*waiting, *deliveries(1, A, B, C)])
    assert witness(verdict) == (Deliver(1, 0, B), Deliver(1, 0, C), Deliver(2, 0, C))


def test_what_follows_a_snapshot_of_nobody_is_not_judged() -> None:
    assert judge(NAME, [*deliveries(1, A, B), restore(2, D), *deliveries(2, B)]).status == "not exercised"


def test_only_the_sequence_that_breaks_it_can_have_the_transaction_later() -> None:
    """p2 delivers b without a; that it delivers a before b after starting anew from a snapshot is no part of that."""
    events = [*deliveries(2, B), restore(2), *deliveries(2, A, B)]
    verdict = judge(NAME, events)
    assert witness(verdict) == (Deliver(2, 0, A), Deliver(2, 0, B), Deliver(2, 0, B))
    assert summary(verdict).endswith("but p2 delivered b⟨1,2⟩ and never a⟨1,1⟩")


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*deliveries(1, A, B), *deliveries(2, B)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:2], complete=False).status == "inconclusive"
