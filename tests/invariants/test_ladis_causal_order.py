"""Causal order (LADIS 2008, 2): by server and by epoch, as far as both are delivered."""

from invariants import Broadcast, Deliver, Event
from tests.invariants.builders import A, B, C, D, E, broadcasts, deliveries, judge, restore, summary, witness

NAME = "causal order"


def test_an_older_epoch_after_a_newer_one_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D), Deliver(3, 0, A))
    assert summary(verdict) == (
        "p3 delivered d⟨2,1⟩ before a⟨1,1⟩, but p1 proposed a⟨1,1⟩ in epoch 1, and p2 d⟨2,1⟩ in epoch 2"
    )


def test_the_proposals_of_one_server_in_another_order_are_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B), Deliver(2, 0, A))
    assert summary(verdict) == (
        "p2 delivered b⟨1,2⟩ before a⟨1,1⟩, but p1 proposed a⟨1,1⟩ in epoch 1, and p1 b⟨1,2⟩ after it"
    )


def test_the_order_of_servers_and_epochs_is_right() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *broadcasts(2, 2, D), *deliveries(3, A, B, D), *deliveries(4, A)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_a_gap_is_left_to_prefix() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B, C), *deliveries(2, A, C)]).status == "holds"
    assert judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B)]).status == "not exercised"


def test_both_have_to_be_delivered_by_one_process() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D), *deliveries(4, A)]
    assert judge(NAME, events).status == "not exercised"
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D), *deliveries(3, A, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_two_leaders_of_one_epoch_are_not_ordered() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 1, B), *deliveries(3, B, A)]
    assert judge(NAME, events).status == "not exercised"


def test_a_server_is_a_process_in_all_its_incarnations() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 1, B, incarnation=1), *deliveries(3, B, A)]
    assert witness(judge(NAME, events))[:2] == (Broadcast(1, 0, 1, A), Broadcast(1, 1, 1, B))


def test_the_epoch_of_the_broadcast_counts_not_that_of_the_zxid() -> None:
    events = [*broadcasts(1, 2, A), *broadcasts(2, 1, D), *deliveries(3, D, A)]
    assert judge(NAME, events).status == "holds"


def test_a_server_whose_epochs_descend_cannot_be_right() -> None:
    """By one rule a comes first, by the other d."""
    events = [*broadcasts(1, 2, A), *broadcasts(1, 1, D)]
    assert judge(NAME, [*events, *deliveries(3, A, D)]).status == "violated"
    assert judge(NAME, [*events, *deliveries(3, D, A)]).status == "violated"


def test_what_a_snapshot_held_is_delivered_before() -> None:
    events: list[Event] = [*broadcasts(1, 1, A, B), *deliveries(2, B), restore(3, B), *deliveries(3, A)]
    assert witness(judge(NAME, events))[2:] == (Deliver(3, 0, B), Deliver(3, 0, A))


def test_where_the_sequences_have_forked_it_is_found_with_the_event() -> None:
    events = [*broadcasts(1, 1, A, B), *broadcasts(2, 2, D, E), *deliveries(3, D), *deliveries(4, B, D, A)]
    verdict = judge(NAME, events, "global")
    assert verdict.violation is not None
    assert verdict.violation.detected == len(events) - 1
    assert judge(NAME, events[:-1]).status == "holds"


def test_a_broadcast_may_come_later_in_the_file() -> None:
    assert judge(NAME, [*deliveries(3, D, A), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]).status == "violated"
    assert judge(NAME, [*deliveries(3, A, D), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]).status == "holds"


def test_what_follows_a_snapshot_is_judged_when_its_prefix_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [*broadcasts(1, 1, A, B), restore(2, B), *deliveries(2, A)]
    assert judge(NAME, waiting).status == "not exercised"
    assert judge(NAME, [*waiting, *deliveries(1, B)]).status == "violated"


def test_the_witness_is_the_least() -> None:
    events = [*broadcasts(1, 1, A, B), *broadcasts(2, 2, D, E), *deliveries(4, E, D, B, A), *deliveries(3, D, B, A)]
    assert witness(judge(NAME, events)) == (
        Broadcast(1, 0, 1, A),
        Broadcast(1, 0, 1, B),
        Deliver(3, 0, B),
        Deliver(3, 0, A),
    )


def test_the_least_leaders_of_several_broadcasts_are_named() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *broadcasts(3, 1, A), *broadcasts(3, 3, D)]
    assert witness(judge(NAME, [*events, *deliveries(4, D, A)]))[:2] == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B, A)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:2], complete=False).status == "inconclusive"
