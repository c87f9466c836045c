"""Invariant 3 (DSN 2011, VI-B): a follower that provides its history for epoch e has promised to accept no e' < e."""

from invariants import Accept, Event, Promise
from tests.invariants.builders import A, D, accepts, ack_epoch, adopt, deliveries, judge, summary, witness

NAME = "invariant 3"


def test_to_provide_a_history_without_a_promise_is_a_violation() -> None:
    verdict = judge(NAME, [Promise(2, 0, 1), ack_epoch(2, 2, 0), Promise(2, 0, 2)])
    assert witness(verdict) == (ack_epoch(2, 2, 0),)
    assert summary(verdict) == "p2 provided its history for epoch 2 without having promised that epoch"


def test_so_is_it_to_accept_a_proposal_of_an_earlier_epoch_after_it() -> None:
    verdict = judge(NAME, [adopt(2, 1), Promise(2, 0, 3), *accepts(2, 1, A)])
    assert witness(verdict) == (Promise(2, 0, 3), Accept(2, 0, 1, A))
    assert summary(verdict) == "p2 accepted a⟨1,1⟩ of epoch 1 after it had promised epoch 3"


def test_so_is_it_to_adopt_the_initial_history_of_an_earlier_epoch() -> None:
    verdict = judge(NAME, [Promise(2, 0, 3), adopt(2, 2)])
    assert witness(verdict) == (Promise(2, 0, 3), adopt(2, 2))
    assert summary(verdict) == "p2 accepted the initial history of epoch 2 after it had promised epoch 3"


def test_a_promise_before_and_later_epochs_after_are_right() -> None:
    events = [Promise(2, 0, 2), ack_epoch(2, 2, 0), adopt(2, 2), *accepts(2, 2, D)]
    verdict = judge(NAME, events)
    assert (verdict.status, verdict.judged) == ("holds", 3)


def test_the_promise_of_a_later_epoch_will_do() -> None:
    assert judge(NAME, [Promise(2, 0, 3), ack_epoch(2, 2, 0)]).status == "holds"


def test_a_promise_holds_for_the_incarnations_to_come() -> None:
    events: list[Event] = [Promise(2, 0, 2), ack_epoch(2, 2, 0, incarnation=1)]
    assert judge(NAME, events).status == "holds"
    assert judge(NAME, [*events, adopt(2, 1, incarnation=4)]).status == "violated"


def test_a_lower_promise_takes_none_back() -> None:
    events = [Promise(2, 0, 3), Promise(2, 0, 1), adopt(2, 2)]
    assert witness(judge(NAME, events)) == (Promise(2, 0, 3), adopt(2, 2))


def test_the_promises_of_others_do_not_count() -> None:
    assert judge(NAME, [Promise(3, 0, 2), ack_epoch(2, 2, 0)]).status == "violated"
    assert judge(NAME, [Promise(3, 0, 2), adopt(2, 1), *accepts(2, 1, A)]).status == "not exercised"


def test_without_protocol_events_it_is_not_exercised() -> None:
    assert judge(NAME, deliveries(2, A)).status == "not exercised"


def test_the_witness_is_the_least_by_epoch_then_zxid_then_process() -> None:
    late = [ack_epoch(3, 2, 0), ack_epoch(2, 2, 0, A)]
    assert witness(judge(NAME, [ack_epoch(1, 3, 0), *late])) == (ack_epoch(3, 2, 0),)
    early = [Promise(4, 0, 9), *accepts(4, 1, A)]
    assert witness(judge(NAME, [*late, *early])) == (Promise(4, 0, 9), Accept(4, 0, 1, A))


def test_a_trace_that_is_cut_off_may_lack_what_an_earlier_incarnation_promised() -> None:
    assert judge(NAME, [ack_epoch(2, 1, 0)], complete=False).status == "violated"
    assert judge(NAME, [ack_epoch(2, 1, 0, incarnation=1)]).status == "violated"
    assert judge(NAME, [ack_epoch(2, 1, 0, incarnation=1)], complete=False).status == "inconclusive"
    assert judge(NAME, [Promise(2, 0, 2), adopt(2, 1, incarnation=1)], complete=False).status == "violated"
