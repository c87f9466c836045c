"""Global primary order (DSN 2011, III-A): what a primary broadcast is delivered before what a later primary did."""

from invariants import Broadcast, Deliver, Event
from tests.invariants.builders import A, B, D, E, broadcasts, deliveries, judge, restore, summary, witness

NAME = "global primary order"
BROADCASTS = [*broadcasts(1, 1, A, B), *broadcasts(2, 2, D, E)]


def test_the_earlier_epoch_after_the_later_is_a_violation() -> None:
    verdict = judge(NAME, [*BROADCASTS, *deliveries(3, D, A)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(3, 0, D), Deliver(3, 0, A))
    assert summary(verdict) == "p3 delivered d⟨2,1⟩ of epoch 2 before a⟨1,1⟩ of epoch 1"


def test_epochs_in_their_order_are_right() -> None:
    verdict = judge(NAME, [*BROADCASTS, *deliveries(3, A, B, D), *deliveries(1, A, D)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_one_epoch_does_not_exercise_it() -> None:
    events = [*BROADCASTS, *deliveries(3, A, B), *deliveries(1, D, E)]
    assert judge(NAME, events).status == "not exercised"


def test_a_process_that_never_delivers_the_earlier_one_is_not_judged() -> None:
    """The property is about a process that delivers *both*: a gap is for the other properties to report."""
    assert judge(NAME, [*BROADCASTS, *deliveries(3, D)]).status == "not exercised"


def test_one_process_counts_even_if_all_others_are_right() -> None:
    events = [*BROADCASTS, *deliveries(1, A, D), *deliveries(2, A, D), *deliveries(3, D, A)]
    assert judge(NAME, events).status == "violated"


def test_the_order_within_an_epoch_is_left_to_local_primary_order() -> None:
    events = [*BROADCASTS, *deliveries(3, B, A, D)]
    assert judge(NAME, events).status == "holds"
    assert judge("local primary order", events).status == "violated"


def test_the_epoch_of_the_primary_counts_not_that_of_the_zxid() -> None:
    events = [*broadcasts(1, 2, A), *broadcasts(2, 1, D)]
    assert judge(NAME, [*events, *deliveries(3, D, A)]).status == "holds"
    verdict = judge(NAME, [*events, *deliveries(3, A, D)])
    assert witness(verdict) == (Broadcast(2, 0, 1, D), Broadcast(1, 0, 2, A), Deliver(3, 0, A), Deliver(3, 0, D))


def test_a_transaction_of_two_epochs_comes_both_before_and_after_what_lies_between() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *broadcasts(1, 3, A)]
    for sequence in ((A, D), (D, A)):
        assert judge(NAME, [*events, *deliveries(3, *sequence)]).status == "violated"
    assert judge(NAME, [*events, *deliveries(3, A)]).status == "not exercised"


def test_broadcasts_may_come_later_in_the_file() -> None:
    assert judge(NAME, [*deliveries(3, D, A), *BROADCASTS]).status == "violated"
    assert judge(NAME, [*deliveries(3, A, D), *BROADCASTS]).status == "holds"


def test_a_later_epoch_between_two_of_the_earlier_is_a_violation() -> None:
    events = [*BROADCASTS, *deliveries(3, A, D, B)]
    assert witness(judge(NAME, events)) == (
        Broadcast(1, 0, 1, B),
        Broadcast(2, 0, 2, D),
        Deliver(3, 0, D),
        Deliver(3, 0, B),
    )


def test_the_witness_is_the_least_by_zxid_then_process() -> None:
    events = [*BROADCASTS, *deliveries(3, D, B), *deliveries(2, E, A), *deliveries(1, E, D, A)]
    assert witness(judge(NAME, events)) == (
        Broadcast(1, 0, 1, A),
        Broadcast(2, 0, 2, D),
        Deliver(1, 0, D),
        Deliver(1, 0, A),
    )


def test_each_incarnation_is_judged_by_itself() -> None:
    events = [*BROADCASTS, *deliveries(3, D), *deliveries(3, A, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_a_recovery_does_not_erase_the_violation() -> None:
    events = [*BROADCASTS, *deliveries(3, D, A), *deliveries(3, A, D, incarnation=1)]
    assert witness(judge(NAME, events))[-1] == Deliver(3, 0, A)


def test_what_a_snapshot_held_counts_as_delivered() -> None:
    events: list[Event] = [*BROADCASTS, *deliveries(1, D), restore(3, D), *deliveries(3, A)]
    assert witness(judge(NAME, events))[2:] == (Deliver(3, 0, D), Deliver(3, 0, A))


def test_what_follows_a_snapshot_is_judged_when_its_prefix_turns_up_later_in_the_file() -> None:
    waiting: list[Event] = [*BROADCASTS, restore(3, D), *deliveries(3, A)]
    assert judge(NAME, waiting).status == "not exercised"
    assert judge(NAME, [*waiting, *deliveries(1, D)]).status == "violated"


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*BROADCASTS, *deliveries(3, D, A)]
    assert judge(NAME, events, complete=False).status == "violated"
    assert judge(NAME, events[:-1], complete=False).status == "inconclusive"


def test_one_transaction_of_two_primaries_is_in_no_order_with_itself() -> None:
    """Zxid uniqueness and zxid assignment say what is wrong with it."""
    twice = [*broadcasts(1, 1, A), *broadcasts(2, 2, A), *deliveries(3, A)]
    assert judge(NAME, twice).status == "not exercised"
    assert [judge(name, twice).status for name in ("zxid uniqueness", "zxid assignment")] == ["violated"] * 2


def test_with_any_other_transaction_it_counts_as_one_of_either_epoch() -> None:
    sent = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *broadcasts(3, 3, A)]
    assert witness(judge(NAME, [*sent, *deliveries(1, A, D)])) == (sent[1], sent[2], Deliver(1, 0, A), Deliver(1, 0, D))
    assert witness(judge(NAME, [*sent, *deliveries(1, D, A)])) == (sent[0], sent[1], Deliver(1, 0, D), Deliver(1, 0, A))
    assert judge(NAME, [*sent[:2], *broadcasts(2, 2, A), *deliveries(1, A, D)]).status == "holds"
