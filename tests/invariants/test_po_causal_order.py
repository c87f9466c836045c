"""PO causal order (DSN 2011, III-B): what comes before a broadcast is delivered before it."""

from invariants import Broadcast, Deliver
from tests.invariants.builders import (
    FIGURE_3,
    FIGURE_4,
    A,
    B,
    C,
    D,
    E,
    F,
    broadcasts,
    deliveries,
    judge,
    restore,
    summary,
    witness,
)

NAME = "po causal order"


def test_what_the_primary_had_delivered_is_missing() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D), *deliveries(3, D)]
    verdict = judge(NAME, events)
    assert witness(verdict) == (Deliver(2, 0, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D))
    assert summary(verdict) == (
        "p2, primary of epoch 2, delivered a⟨1,1⟩ before it broadcast d⟨2,1⟩, but p3 delivered d⟨2,1⟩ without a⟨1,1⟩"
    )


def test_what_the_primary_had_delivered_comes_too_late() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D), *deliveries(3, D, A)]
    verdict = judge(NAME, events)
    assert witness(verdict) == (Deliver(2, 0, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D), Deliver(3, 0, A))
    assert summary(verdict).endswith("but p3 delivered d⟨2,1⟩ before a⟨1,1⟩")


def test_what_the_primary_had_broadcast_is_missing() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B))
    assert summary(verdict) == (
        "p1, primary of epoch 1, broadcast a⟨1,1⟩ before it broadcast b⟨1,2⟩, but p2 delivered b⟨1,2⟩ without a⟨1,1⟩"
    )


def test_all_predecessors_in_any_order_of_their_own_are_right() -> None:
    """c and d are unrelated to each other, and e comes after both."""
    events = [*broadcasts(1, 1, C), *broadcasts(2, 2, D), *deliveries(3, C, D), *broadcasts(3, 3, F)]
    assert judge(NAME, [*events, *deliveries(4, D, C, F)]).status == "holds"


def test_what_has_no_predecessor_does_not_exercise_it() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D, A)]).status == "not exercised"


def test_figure_3_satisfies_it() -> None:
    """With plain causal order z would have to be delivered, since p1 broadcast it before z''."""
    verdict = judge(NAME, FIGURE_3)
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_figure_4_satisfies_it() -> None:
    assert judge(NAME, FIGURE_4).status == "holds"


def test_it_holds_along_a_chain_and_the_witness_is_the_broken_step() -> None:
    """a precedes d, d precedes f; p3 delivers d and f without a."""
    chain = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D)]
    events = [*chain, *deliveries(3, D), *broadcasts(3, 3, F), *deliveries(3, F)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D))


def test_a_delivery_after_the_broadcast_makes_no_predecessor() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(2, A), *deliveries(3, D)]
    assert judge(NAME, events).status == "not exercised"


def test_what_an_earlier_incarnation_had_delivered_precedes_too() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D, incarnation=1), *deliveries(3, D)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), Broadcast(2, 1, 2, D), Deliver(3, 0, D))


def test_what_an_earlier_incarnation_had_broadcast_does_not() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 1, B, incarnation=1), *deliveries(2, B)]
    assert judge(NAME, events).status == "not exercised"


def test_what_was_delivered_before_a_snapshot_of_less_precedes_too() -> None:
    start = [*broadcasts(1, 1, A, B), *deliveries(2, A, B), restore(2, A), *broadcasts(2, 2, D)]
    assert witness(judge(NAME, [*start, *deliveries(3, A, D)])) == (
        Deliver(2, 0, B),
        Broadcast(2, 0, 2, D),
        Deliver(3, 0, D),
    )


def test_sequences_that_one_process_left_behind_count_all_even_if_they_diverged() -> None:
    start = [*broadcasts(1, 1, A), *broadcasts(3, 1, B), *deliveries(2, A, incarnation=0)]
    start += [*deliveries(2, B, incarnation=1), *broadcasts(2, 2, D, incarnation=2)]
    assert judge(NAME, [*start, *deliveries(4, A, B, D)]).status == "holds"
    assert witness(judge(NAME, [*start, *deliveries(4, A, D)]))[0] == Deliver(2, 1, B)
    assert witness(judge(NAME, [*start, *deliveries(4, B, D)]))[0] == Deliver(2, 0, A)


def test_the_least_incarnation_that_had_delivered_it_is_the_witness() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A), *deliveries(2, A, B, incarnation=1)]
    events += [*broadcasts(2, 2, D, incarnation=1), *deliveries(3, D)]
    assert witness(judge(NAME, events))[0] == Deliver(2, 0, A)


def test_what_a_snapshot_held_precedes() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(1, A), restore(2, A), *broadcasts(2, 2, D), *deliveries(3, D)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D))


def test_a_snapshot_whose_prefix_turns_up_later_in_the_file_is_settled_at_the_end() -> None:
    waiting = [restore(2, A), *broadcasts(2, 2, D), *deliveries(3, D), *broadcasts(1, 1, A)]
    assert judge(NAME, waiting).status == "not exercised"
    assert witness(judge(NAME, [*waiting, *deliveries(1, A)]))[0] == Deliver(2, 0, A)
    left = [restore(2, A), *broadcasts(2, 2, D, incarnation=1), *deliveries(3, D), *broadcasts(1, 1, A)]
    assert witness(judge(NAME, [*left, *deliveries(1, A)])) == (
        Deliver(2, 0, A),
        Broadcast(2, 1, 2, D),
        Deliver(3, 0, D),
    )


def test_a_broadcast_may_come_later_in_the_file() -> None:
    events = [*deliveries(3, D), *deliveries(2, A), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D))


def test_what_nobody_broadcast_precedes_nothing() -> None:
    events = [*deliveries(2, A), *broadcasts(2, 2, D), *deliveries(3, D)]
    assert judge(NAME, events).status == "not exercised"


def test_a_transaction_does_not_precede_itself() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, A), *deliveries(3, A)]
    assert judge(NAME, events).status == "not exercised"


def test_any_broadcast_of_a_transaction_brings_predecessors() -> None:
    events = [*broadcasts(1, 2, D), *broadcasts(2, 1, A, D), *deliveries(3, D)]
    assert witness(judge(NAME, events)) == (Broadcast(2, 0, 1, A), Broadcast(2, 0, 1, D), Deliver(3, 0, D))


def test_an_earlier_broadcast_goes_before_a_delivery_of_the_same_in_the_witness() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(1, 1, B), *deliveries(2, B)]
    assert witness(judge(NAME, events))[0] == Broadcast(1, 0, 1, A)


def test_the_witness_is_the_least() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A, B), *broadcasts(2, 2, D, E)]
    events += [*deliveries(4, E), *deliveries(3, D), *deliveries(4, D)]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:2], complete=False).status == "inconclusive"
