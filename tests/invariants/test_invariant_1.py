"""Invariant 1 (DSN 2011, VI-B): a follower accepts a proposal of epoch e only if f.a = e."""

from invariants import Accept, Crash, Event, Promise, Recover
from tests.invariants.builders import A, B, D, accepts, adopt, broadcasts, deliveries, judge, summary, witness

NAME = "invariant 1"


def test_a_proposal_of_another_epoch_than_the_current_one_is_a_violation() -> None:
    verdict = judge(NAME, [adopt(2, 1), *accepts(2, 1, A), *accepts(2, 2, D)])
    assert witness(verdict) == (adopt(2, 1), Accept(2, 0, 2, D))
    assert summary(verdict) == "p2 accepted d⟨2,1⟩ of epoch 2, although its current epoch was 1"


def test_so_is_any_proposal_where_no_initial_history_was_adopted() -> None:
    verdict = judge(NAME, [Promise(2, 0, 1), *accepts(2, 1, A)])
    assert witness(verdict) == (Accept(2, 0, 1, A),)
    assert summary(verdict) == "p2 accepted a⟨1,1⟩ of epoch 1, although it had adopted no initial history"


def test_a_proposal_of_the_current_epoch_may_be_accepted() -> None:
    verdict = judge(NAME, [adopt(2, 1), *accepts(2, 1, A, B), adopt(2, 2, A, B), *accepts(2, 2, D)])
    assert (verdict.status, verdict.judged) == ("holds", 3)


def test_the_current_epoch_is_durable() -> None:
    """It holds in the incarnations to come."""
    events: list[Event] = [adopt(2, 1), Crash(2, 0), Recover(2, 1), *accepts(2, 1, A, incarnation=1)]
    assert judge(NAME, events).status == "holds"


def test_the_epoch_of_the_zxid_does_not_matter() -> None:
    assert judge(NAME, [adopt(2, 2), *accepts(2, 2, A)]).status == "holds"


def test_what_others_adopted_does_not_matter() -> None:
    verdict = judge(NAME, [adopt(2, 1), adopt(3, 2), *accepts(2, 2, D)])
    assert witness(verdict) == (adopt(2, 1), Accept(2, 0, 2, D))


def test_an_older_epoch_is_a_violation_too() -> None:
    assert judge(NAME, [adopt(2, 1), adopt(2, 2), *accepts(2, 1, A)]).status == "violated"


def test_without_an_accept_it_is_not_exercised() -> None:
    assert judge(NAME, [adopt(2, 1), *broadcasts(1, 1, A), *deliveries(2, A)]).status == "not exercised"


def test_the_witness_is_the_least_by_zxid_then_process() -> None:
    verdict = judge(NAME, [*accepts(3, 1, B), *accepts(2, 1, B), *accepts(3, 1, A), *accepts(4, 1, A)])
    assert witness(verdict) == (Accept(3, 0, 1, A),)


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    verdict = judge(NAME, [adopt(2, 1), *accepts(2, 2, D)], complete=False)
    assert verdict.violation is not None
    assert verdict.violation.detected == 1


def test_a_trace_that_is_cut_off_may_lack_what_an_earlier_incarnation_adopted() -> None:
    again = accepts(2, 2, D, incarnation=1)
    for events in ([adopt(2, 1), *again], again):
        assert judge(NAME, events, complete=False).status == "inconclusive"
        assert judge(NAME, events).status == "violated"
    assert judge(NAME, [adopt(2, 1, incarnation=1), *again], complete=False).status == "violated"
    assert judge(NAME, accepts(2, 2, D), complete=False).status == "violated"
