"""Prefix (LADIS 2008, 2): of what a leader proposed, a process delivers no more than it has the whole beginning of."""

from invariants import Broadcast, Deliver, Event, Judge, select
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, judge, restore, summary, witness

NAME = "prefix"


def test_a_gap_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B))
    assert summary(verdict) == (
        "p1, leader of epoch 1, proposed a⟨1,1⟩ before b⟨1,2⟩, but p2 delivered b⟨1,2⟩ and never a⟨1,1⟩"
    )


def test_a_beginning_of_what_was_proposed_is_right() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A, B, C), *deliveries(2, A, B)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_the_order_does_not_matter() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B, A)]
    assert judge(NAME, events).status == "holds"
    assert judge("local primary order", events).status == "violated"


def test_the_first_proposal_does_not_exercise_it() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, A)]).status == "not exercised"


def test_a_gap_may_be_anywhere_before() -> None:
    events = [*broadcasts(1, 1, A, B, C), *deliveries(2, C, B)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 1, B), Deliver(2, 0, B))


def test_being_elected_again_makes_a_different_leader() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), *broadcasts(1, 2, D), *deliveries(2, D)]).status == "not exercised"
    events = [*broadcasts(1, 1, A), *broadcasts(1, 1, B, incarnation=1), *deliveries(2, B)]
    assert judge(NAME, events).status == "not exercised"


def test_what_another_incarnation_delivered_does_not_fill_the_gap() -> None:
    events = [
        *broadcasts(1, 1, A, B),
        *deliveries(2, A),
        *deliveries(2, B, incarnation=1),
        *deliveries(2, incarnation=2),
    ]
    assert witness(judge(NAME, events))[-1] == Deliver(2, 1, B)


def test_what_a_snapshot_held_fills_the_gap() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(1, A), restore(2, A), *deliveries(2, B)]
    assert judge(NAME, events).status == "holds"


def test_a_snapshot_of_less_does_not_erase_the_gap() -> None:
    events: list[Event] = [*broadcasts(1, 1, A, B), *deliveries(2, B), restore(2), *deliveries(2, A, B)]
    assert witness(judge(NAME, events))[-1] == Deliver(2, 0, B)


def test_what_was_missing_may_still_come() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B)]
    judged = Judge(select([NAME]), "global")
    for event in events:
        judged.observe(event)
    assert judged.violated() == NAME
    judged.observe(Deliver(2, 0, A))
    assert judged.violated() is None
    assert judge(NAME, events, complete=False).status == "inconclusive"


def test_a_process_that_follows_one_that_caught_up_has_to_catch_up_too() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, B, A), *deliveries(3, B)]
    assert witness(judge(NAME, events))[-1] == Deliver(3, 0, B)


def test_a_broadcast_may_come_later_in_the_file() -> None:
    assert judge(NAME, [*deliveries(2, B), *broadcasts(1, 1, A, B)]).status == "violated"
    assert judge(NAME, [*deliveries(2, B, A), *broadcasts(1, 1, A, B)]).status == "holds"


def test_what_follows_a_snapshot_is_judged_when_its_prefix_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [*broadcasts(1, 1, A, B, C), restore(2, A), *deliveries(2, C)]
    assert judge(NAME, waiting).status == "not exercised"
    assert witness(judge(NAME, [*waiting, *deliveries(1, A)]))[0] == Broadcast(1, 0, 1, B)


def test_the_witness_is_the_least() -> None:
    events = [*broadcasts(1, 1, B, A, C), *broadcasts(2, 1, D, A), *deliveries(4, C), *deliveries(3, C, A)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, B), Broadcast(1, 0, 1, A), Deliver(3, 0, A))
    events = [*broadcasts(1, 1, C, B, A), *deliveries(3, A)]
    assert witness(judge(NAME, events))[0] == Broadcast(1, 0, 1, B)
