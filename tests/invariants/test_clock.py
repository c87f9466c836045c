"""Clock: where the order of the file is that of time, a broadcast comes before its deliveries."""

from invariants import Broadcast, Deliver, Event
from tests.invariants.builders import A, B, broadcasts, deliveries, judge, restore, summary, witness

NAME = "clock"


def test_a_delivery_before_the_broadcast_is_a_violation() -> None:
    verdict = judge(NAME, [*deliveries(2, A), *broadcasts(1, 1, A)], "global")
    assert witness(verdict) == (Deliver(2, 0, A), Broadcast(1, 0, 1, A))
    assert summary(verdict).startswith("p2 delivered a⟨1,1⟩ before p1 broadcast it (if the lines are not in the order")


def test_a_delivery_after_the_broadcast_is_right() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *deliveries(2, A), *deliveries(1, A)], "global")
    assert (verdict.status, verdict.judged) == ("holds", 1)  # the second delivery could not come before it any more


def test_without_a_delivery_it_is_not_exercised() -> None:
    assert judge(NAME, broadcasts(1, 1, A), "global").status == "not exercised"


def test_merged_logs_have_no_clock() -> None:
    assert judge(NAME, [*deliveries(2, A), *broadcasts(1, 1, A)], "per-process").status == "not exercised"


def test_a_delivery_that_nobody_broadcast_is_left_to_integrity() -> None:
    assert judge(NAME, deliveries(2, A), "global").status == "not exercised"
    verdict = judge(NAME, [*broadcasts(1, 1, B), *deliveries(2, A, B)], "global")
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_a_second_broadcast_may_come_after_the_delivery() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, A)]
    assert judge(NAME, events, "global").status == "holds"


def test_the_witness_is_the_first_broadcast() -> None:
    events = [*deliveries(2, A), *broadcasts(3, 1, A), *broadcasts(1, 1, A)]
    assert witness(judge(NAME, events, "global")) == (Deliver(2, 0, A), Broadcast(3, 0, 1, A))


def test_the_witness_is_the_least_of_all_early_deliveries_not_the_first() -> None:
    early = [*deliveries(3, B, A), *deliveries(2, B, A), *deliveries(1, B)]
    events = [*early, *broadcasts(4, 1, B), *deliveries(1, A), *broadcasts(4, 1, A)]
    assert witness(judge(NAME, events, "global")) == (Deliver(1, 0, A), Broadcast(4, 0, 1, A))


def test_a_process_that_delivered_after_the_broadcast_is_no_witness() -> None:
    events = [*deliveries(2, A), *broadcasts(3, 1, A), *deliveries(1, A)]
    assert witness(judge(NAME, events, "global"))[0] == Deliver(2, 0, A)


def test_an_early_delivery_of_an_incarnation_that_is_gone_counts() -> None:
    events: list[Event] = [*deliveries(2, A), restore(2, incarnation=1), *broadcasts(1, 1, A)]
    assert witness(judge(NAME, events, "global"))[0] == Deliver(2, 0, A)


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    events = [*deliveries(2, A), *broadcasts(1, 1, A)]
    assert judge(NAME, events, "global", complete=False).status == "violated"
    assert judge(NAME, events[:1], "global", complete=False).status == "inconclusive"
