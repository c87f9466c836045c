"""Reliable delivery (LADIS 2008, 2): what one server delivers, all correct servers deliver in the end."""

import pytest

from invariants import Crash, Deliver, Event, Recover, Stabilised
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, judge, restore, summary, witness

NAME = "reliable delivery"
CALM = Stabilised(1, 0, (1, 2))
ALIKE: list[Event] = [*deliveries(1, A, B), *deliveries(2, A, B), CALM]


def test_what_one_delivered_and_a_member_of_the_quorum_lacks_is_a_violation() -> None:
    verdict = judge(NAME, [*ALIKE, *deliveries(3, A, B, C)])
    assert witness(verdict) == (Deliver(3, 0, C), CALM)
    assert summary(verdict) == "p3 delivered c⟨1,3⟩, and p1 never did, although p1 led p1 p2 undisturbed"


def test_what_all_members_delivered_is_right_whoever_else_lacks_it() -> None:
    verdict = judge(NAME, [*ALIKE, *deliveries(3, A)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_the_order_is_the_business_of_others() -> None:
    assert judge(NAME, [*deliveries(1, A, B), *deliveries(2, B, A), CALM]).status == "holds"


def test_what_was_delivered_in_a_life_that_is_over_counts() -> None:
    events = [*ALIKE, *deliveries(3, A, B, C), Crash(3, 0), Recover(3, 1)]
    assert witness(judge(NAME, events)) == (Deliver(3, 0, C), CALM)


def test_a_member_has_to_deliver_it_again_after_a_crash() -> None:
    events = [*ALIKE, Crash(2, 0), Recover(2, 1)]
    assert witness(judge(NAME, events)) == (Deliver(1, 0, A), CALM)
    assert judge(NAME, [*events, *deliveries(2, A, B, incarnation=1)]).status == "holds"
    assert judge(NAME, [*events, restore(2, A, B, incarnation=1)]).status == "holds"


@pytest.mark.parametrize("end", [Crash(2, 0), Crash(1, 0)])
def test_an_environment_that_broke_its_promise_is_owed_nothing(end: Event) -> None:
    assert judge(NAME, [*deliveries(1, A), CALM, end]).status == "not exercised"


def test_what_was_delivered_after_a_snapshot_that_is_not_on_record_counts() -> None:
    events = [*ALIKE, restore(3, C), *deliveries(3, A, D)]
    assert witness(judge(NAME, events)) == (Deliver(3, 0, D), CALM)


def test_a_member_that_delivered_nothing_lacks_everything() -> None:
    assert witness(judge(NAME, [*deliveries(1, A), CALM])) == (Deliver(1, 0, A), CALM)


def test_without_a_delivery_or_a_calm_environment_it_is_not_exercised() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), CALM]).status == "not exercised"
    assert judge(NAME, deliveries(1, A)).status == "not exercised"


def test_before_the_end_nothing_is_concluded() -> None:
    assert judge(NAME, [*deliveries(1, A), CALM], complete=False).status == "inconclusive"


def test_the_witness_is_the_least_by_transaction_then_member_by_the_least_actor() -> None:
    calm = Stabilised(4, 0, (5, 4))
    events = [*deliveries(3, B, A), *deliveries(2, A), *deliveries(5, B), calm]
    assert witness(judge(NAME, events)) == (Deliver(2, 0, A), calm)
    assert "and p4 never did" in summary(judge(NAME, events))


def test_a_member_that_is_seen_in_a_later_incarnation_is_up_again() -> None:
    """A trace may lack the line that tells its recovery."""
    start: list[Event] = [Stabilised(1, 0, (1, 2)), *deliveries(1, A)]
    assert judge(NAME, [*start, Crash(2, 0), *deliveries(2, A, incarnation=1)]).status == "holds"
    assert judge(NAME, [Crash(2, 0), *deliveries(2, B, incarnation=1), *start]).status == "violated"
    assert judge(NAME, [*start, *deliveries(2, A, incarnation=1), Crash(2, 1)]).status == "not exercised"


def test_it_is_exercised_if_a_member_was_behind_when_the_calm_began() -> None:
    """In merged logs nobody knows who was behind then."""
    assert judge(NAME, ALIKE, "global").status == "not exercised"
    assert judge(NAME, [*broadcasts(1, 1, C), *ALIKE], "global").status == "not exercised"
    assert judge(NAME, [*ALIKE, *deliveries(1, C), *deliveries(2, C)], "global").status == "not exercised"
    behind: list[Event] = [*deliveries(3, A, B), *deliveries(1, A, B), CALM, *deliveries(2, A, B)]
    assert judge(NAME, behind, "global").judged == 1
