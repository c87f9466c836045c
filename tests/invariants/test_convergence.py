"""Convergence (DSN 2011, VI-D, claim 7): an undisturbed leader broadcasts, and its quorum delivers it."""

import pytest

from invariants import Broadcast, Crash, Event, Halt, Recover, Stabilised
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, judge, restore, summary, witness

NAME = "convergence"
CALM = Stabilised(1, 0, (1, 2))
DONE: list[Event] = [CALM, *broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A)]


def test_what_a_member_of_the_quorum_lacks_is_a_violation() -> None:
    verdict = judge(NAME, [*DONE, *broadcasts(1, 1, B), *deliveries(1, B)])
    assert witness(verdict) == (CALM, Broadcast(1, 0, 1, B))
    assert summary(verdict) == "p2 never delivered b⟨1,2⟩, which p1 broadcast while it led undisturbed"


def test_a_leader_that_never_broadcasts_is_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A), CALM, *broadcasts(2, 2, D)])
    assert witness(verdict) == (CALM,)
    assert summary(verdict) == "p1 led undisturbed, and never broadcast anything"


def test_what_all_members_delivered_is_right() -> None:
    verdict = judge(NAME, DONE)
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_what_was_broadcast_before_may_be_lost() -> None:
    assert judge(NAME, [*broadcasts(1, 1, C), *DONE]).status == "holds"


def test_processes_that_are_not_members_may_lack_it() -> None:
    assert judge(NAME, [*DONE, *deliveries(3, B), Crash(3, 0)]).status == "holds"


def test_what_a_snapshot_brought_is_delivered() -> None:
    events: list[Event] = [CALM, *broadcasts(1, 1, A, B), *deliveries(1, A, B), restore(2, A), *deliveries(2, B)]
    assert judge(NAME, events).status == "holds"


def test_only_the_last_incarnation_counts() -> None:
    again: list[Event] = [*DONE, Crash(2, 0), Recover(2, 1)]
    assert witness(judge(NAME, again)) == (CALM, Broadcast(1, 0, 1, A))
    assert judge(NAME, [*again, *deliveries(2, A, incarnation=1)]).status == "holds"


@pytest.mark.parametrize("end", [Crash(2, 0), Halt(2, 0, "why not"), Crash(1, 0), Recover(1, 1), Stabilised(1, 0, ())])
def test_an_environment_that_broke_its_promise_is_owed_nothing(end: Event) -> None:
    assert judge(NAME, [CALM, *broadcasts(1, 1, A), end]).status == "not exercised"


def test_a_leader_in_another_incarnation_was_disturbed() -> None:
    assert judge(NAME, [CALM, *broadcasts(1, 2, D, incarnation=1)]).status == "not exercised"


def test_a_later_one_of_the_same_leader_takes_its_place() -> None:
    assert judge(NAME, [CALM, *broadcasts(1, 1, C), *DONE]).status == "holds"
    assert judge(NAME, [CALM, *broadcasts(1, 1, C)]).status == "violated"


def test_each_of_several_leaders_is_judged() -> None:
    other = Stabilised(3, 0, (3, 2))
    assert witness(judge(NAME, [*DONE, other])) == (other,)
    verdict = judge(NAME, [*DONE, other, *broadcasts(3, 2, D), *deliveries(3, A, D), *deliveries(2, D)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_a_process_that_went_on_from_what_is_not_on_record_may_have_it() -> None:
    assert judge(NAME, [CALM, *broadcasts(1, 1, A), *deliveries(1, A), restore(2, A, B)]).status == "holds"


def test_before_the_end_nothing_is_concluded() -> None:
    assert judge(NAME, [CALM, *broadcasts(1, 1, A)], complete=False).status == "inconclusive"


def test_without_such_an_event_it_is_not_exercised() -> None:
    assert judge(NAME, broadcasts(1, 1, A)).status == "not exercised"


def test_the_witness_is_the_least_by_zxid_and_names_the_least_member() -> None:
    calm = Stabilised(2, 0, (2, 4, 3))
    verdict = judge(NAME, [calm, *broadcasts(2, 1, B, A)])
    assert witness(verdict) == (calm, Broadcast(2, 0, 1, A))
    assert summary(verdict).startswith("p2 never delivered a⟨1,1⟩")


def test_a_member_that_is_seen_in_a_later_incarnation_is_up_again() -> None:
    """A trace may lack the line that tells its recovery."""
    start: list[Event] = [CALM, *broadcasts(1, 1, A), *deliveries(1, A)]
    assert judge(NAME, [*start, Crash(2, 0), *deliveries(2, A, incarnation=1)]).status == "holds"
    assert judge(NAME, [Crash(2, 0), *deliveries(2, B, incarnation=1), *start]).status == "violated"
    assert judge(NAME, [*start, *deliveries(2, A, incarnation=1), Crash(2, 1)]).status == "not exercised"


def test_it_is_exercised_if_a_member_was_behind_when_the_calm_began() -> None:
    """In merged logs nobody knows who was behind then."""
    assert judge(NAME, DONE, "global").status == "not exercised"
    for before in (broadcasts(1, 1, B), [*broadcasts(1, 1, B), *deliveries(1, B)]):
        for lost in (False, True):
            done = DONE if lost else [*DONE, *deliveries(1, B), *deliveries(2, B)]
            assert judge(NAME, [*before, *done], "global").judged == 1
    caught_up = [*broadcasts(1, 1, B), *deliveries(1, B), *deliveries(2, B), *DONE]
    assert judge(NAME, caught_up, "global").status == "not exercised"
    assert judge(NAME, caught_up, "per-process").status == "holds"


def test_what_is_violated_counts_in_any_case() -> None:
    verdict = judge(NAME, [CALM], "global")
    assert (verdict.status, verdict.judged) == ("violated", 1)
