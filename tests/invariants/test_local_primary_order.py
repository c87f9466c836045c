"""Local primary order (DSN 2011, III-A): what a primary broadcasts is delivered in that order, and without gaps."""

from invariants import Broadcast, Deliver, Event
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, judge, restore, summary, witness

NAME = "local primary order"


def test_a_gap_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B))
    assert summary(verdict) == (
        "p1, primary of epoch 1, broadcast a⟨1,1⟩ before b⟨1,2⟩, but p2 delivered b⟨1,2⟩ without a⟨1,1⟩"
    )


def test_the_other_order_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B), Deliver(2, 0, A))
    assert summary(verdict) == (
        "p1, primary of epoch 1, broadcast a⟨1,1⟩ before b⟨1,2⟩, but p2 delivered b⟨1,2⟩ before a⟨1,1⟩"
    )


def test_a_prefix_of_what_was_broadcast_may_be_delivered() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B, C), *deliveries(2, A, B)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_a_primarys_first_transaction_does_not_exercise_it() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, A)]).status == "not exercised"


def test_it_holds_for_all_pairs_not_for_some() -> None:
    """The right order of a and c is no excuse for what happened to b."""
    events = [*broadcasts(1, 1, A, B, C), *deliveries(2, A, C)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, B), Broadcast(1, 0, 1, C), Deliver(2, 0, C))
    events = [*broadcasts(1, 1, A, B, C), *deliveries(2, A, C, B)]
    assert judge(NAME, events).status == "violated"


def test_a_pair_need_not_be_neighbours() -> None:
    events = [*broadcasts(1, 1, A, B, C), *deliveries(2, C)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, C), Deliver(2, 0, C))


def test_the_order_of_broadcasts_counts_not_that_of_zxids() -> None:
    events = [*broadcasts(1, 1, B, A), *deliveries(2, A, B)]
    assert witness(judge(NAME, events)) == (
        Broadcast(1, 0, 1, B),
        Broadcast(1, 0, 1, A),
        Deliver(2, 0, A),
        Deliver(2, 0, B),
    )
    assert judge(NAME, [*broadcasts(1, 1, B, A), *deliveries(2, B, A)]).status == "holds"


def test_each_epoch_has_a_primary_of_its_own() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 2, D), *deliveries(2, D)]
    assert judge(NAME, events).status == "not exercised"


def test_each_incarnation_is_a_primary_of_its_own() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 1, B, incarnation=1), *deliveries(2, B)]
    assert judge(NAME, events).status == "not exercised"


def test_two_primaries_of_one_epoch_are_kept_apart() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 1, B), *broadcasts(1, 1, C), *deliveries(3, A, C)]
    assert judge(NAME, events).status == "holds"


def test_a_repeated_broadcast_counts_once() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B, A), *deliveries(2, A, B)]).status == "holds"


def test_a_broadcast_may_come_later_in_the_file() -> None:
    events: list[Event] = [*deliveries(2, B), *broadcasts(1, 1, A, B)]
    assert judge(NAME, events).status == "violated"
    assert judge(NAME, [*deliveries(2, A, B), *broadcasts(1, 1, A, B)]).status == "holds"


def test_a_recovery_does_not_erase_the_gap() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B), *deliveries(2, A, B, incarnation=1)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B))


def test_what_an_earlier_incarnation_delivered_does_not_fill_the_gap() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A), *deliveries(2, B, incarnation=1)]
    assert witness(judge(NAME, events))[-1] == Deliver(2, 1, B)


def test_what_a_snapshot_held_fills_the_gap() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A), restore(2, A, incarnation=1)]
    assert judge(NAME, [*events, *deliveries(2, B, incarnation=1)]).status == "holds"


def test_what_follows_a_snapshot_is_judged_when_its_prefix_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [*broadcasts(1, 1, A, B, C), restore(2, A), *deliveries(2, C)]
    assert judge(NAME, waiting).status == "not exercised"
    verdict = judge(NAME, [*waiting, *deliveries(1, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, B), Broadcast(1, 0, 1, C), Deliver(2, 0, C))


def test_all_sequences_of_the_process_are_looked_at_for_the_least_witness() -> None:
    """p2 lacks b in one sequence, a and b in the other that it began after a snapshot of nothing."""
    for first, second in (((A, C), (C,)), ((C,), (A, C))):
        events = [*broadcasts(1, 1, A, B, C), *deliveries(2, *first), restore(2), *deliveries(2, *second)]
        assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, C), Deliver(2, 0, C))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:2], complete=False).status == "inconclusive"


def test_after_a_snapshot_of_what_nobody_broadcast_nothing_can_fail() -> None:
    nobody_delivered_it: list[Event] = [*broadcasts(1, 1, A, B), restore(2, D), *deliveries(2, B, A)]
    assert judge(NAME, nobody_delivered_it).status == "not exercised"
    nobody_broadcast_it = [*deliveries(3, C, D), restore(2, C, D), *broadcasts(1, 1, A), *deliveries(2, A)]
    assert judge(NAME, nobody_broadcast_it).status == "not exercised"
    assert (
        judge("integrity", nobody_delivered_it).status == judge("integrity", nobody_broadcast_it).status == "violated"
    )
