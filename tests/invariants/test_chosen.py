"""DSN 2011, definition VI.1: what is delivered has been accepted by a quorum in one epoch."""

import pytest

from invariants import Accept, Adopt, Crash, Deliver, Event, Judge, Recover, Txn, Verdict, check, select
from invariants.quorums import Quorums
from tests.invariants.builders import (
    A,
    B,
    C,
    D,
    Order,
    accepts,
    ack_epoch,
    adopt,
    broadcasts,
    deliveries,
    restore,
    summary,
    told,
    witness,
)
from tests.invariants.builders import judge as judge_property

NAME = "chosen"
BEGUN: list[Event] = [*broadcasts(1, 1, A, B), *(adopt(process, 1) for process in (1, 2, 3))]
both_orders = pytest.mark.parametrize("order", ["global", "per-process"])


def judge(
    events: list[Event],
    order: Order = "global",
    *,
    complete: bool = True,
    processes: int = 3,
    quorums: str = "majority",
) -> Verdict:
    return judge_property(NAME, events, order, complete=complete, processes=processes, quorums=quorums)


@both_orders
def test_a_transaction_that_one_process_of_three_accepted_is_not_chosen(order: Order) -> None:
    verdict = judge([*BEGUN, *accepts(1, 1, A), *deliveries(1, A)], order)
    assert witness(verdict) == (Accept(1, 0, 1, A), Deliver(1, 0, A))
    assert summary(verdict) == "p1 delivered a⟨1,1⟩, which only p1 had accepted in epoch 1: no quorum"


@both_orders
def test_a_transaction_that_two_accepted_is_chosen(order: Order) -> None:
    verdict = judge([*BEGUN, *accepts(1, 1, A), *accepts(3, 1, A), *deliveries(1, A), *deliveries(2, A)], order)
    assert (verdict.status, verdict.judged) == ("holds", 1)  # once chosen, it cannot fail any more


@both_orders
def test_a_transaction_that_nobody_accepted_is_not_chosen(order: Order) -> None:
    verdict = judge([*BEGUN, *accepts(1, 1, A), *deliveries(2, B)], order)
    assert witness(verdict) == (Deliver(2, 0, B),)
    assert summary(verdict) == "p2 delivered b⟨1,2⟩, which nobody had accepted"


def test_in_the_order_of_time_it_has_to_be_chosen_before() -> None:
    events = [*BEGUN, *accepts(1, 1, A), *deliveries(1, A), *accepts(2, 1, A), *deliveries(2, A)]
    verdict = judge(events)
    assert witness(verdict) == (Accept(1, 0, 1, A), Deliver(1, 0, A))
    assert verdict.violation is not None
    assert verdict.violation.detected == len(events) - 3
    assert judge(events, "per-process").status == "holds"


def test_a_process_that_accepts_twice_is_one_process() -> None:
    twice = [*accepts(1, 1, A), Crash(1, 0), Recover(1, 1), *accepts(1, 1, A, incarnation=1)]
    assert witness(judge([*BEGUN, *twice, *deliveries(1, A, incarnation=1)]))[0] == Accept(1, 0, 1, A)


@both_orders
def test_acceptances_of_different_epochs_do_not_add_up(order: Order) -> None:
    events: list[Event] = [*BEGUN, *accepts(1, 1, A), adopt(2, 2), *accepts(2, 2, A)]
    assert witness(judge([*events, *deliveries(2, A)], order)) == (Accept(1, 0, 1, A), Deliver(2, 0, A))
    verdict = judge([*events, *accepts(3, 2, A), *deliveries(2, A)], order)
    assert verdict.status == "holds"


@both_orders
def test_the_epoch_in_which_most_accepted_is_shown(order: Order) -> None:
    events = [*BEGUN, *accepts(1, 1, A), *accepts(3, 2, A), *accepts(2, 2, A), *deliveries(2, A)]
    verdict = judge(events, order, processes=5)
    assert witness(verdict) == (Accept(2, 0, 2, A), Accept(3, 0, 2, A), Deliver(2, 0, A))
    assert summary(verdict) == "p2 delivered a⟨1,1⟩, which only p2, p3 had accepted in epoch 2: no quorum"


@both_orders
def test_an_initial_history_is_accepted_in_its_epoch(order: Order) -> None:
    """All of it, and with what the others accept as proposals of that epoch."""
    recovered = [*BEGUN, *accepts(1, 1, A, B), adopt(1, 2, A, B), adopt(2, 2, A, B)]
    assert judge([*recovered, *deliveries(2, A, B)], order).status == "holds"
    alone = [*BEGUN, *accepts(1, 1, A, B), adopt(2, 2, A), *deliveries(2, A)]
    assert witness(judge(alone, order)) == (Accept(1, 0, 1, A), Deliver(2, 0, A))
    late_joiner = [*BEGUN, *accepts(1, 1, A), adopt(3, 1, A)]
    assert judge([*late_joiner, *deliveries(3, A)], order).status == "holds"
    assert witness(judge([*late_joiner[:-2], adopt(3, 1, A), *accepts(2, 2, A), *deliveries(3, A)], order)) != ()


def test_a_chosen_transaction_stays_chosen() -> None:
    """Whatever replaces it later, and however many adopt that."""
    events = [*BEGUN, *accepts(1, 1, A), adopt(1, 2), adopt(1, 1), *accepts(2, 1, A), *deliveries(2, A)]
    assert judge(events).status == "holds"


def test_what_a_snapshot_brings_is_not_delivered_by_who_takes_it_over() -> None:
    events = [*BEGUN, *accepts(1, 1, A), restore(2, A)]
    assert judge(events).status == "not exercised"
    assert witness(judge([*events, *deliveries(2, B)]))[-1] == Deliver(2, 0, B)


@pytest.mark.parametrize(
    ("quorums", "right", "wrong"),
    [("weights 3,1,1", [1], [2, 3]), ("sets 2", [2], [1, 3]), ("sets 1+2,2+3", [2, 3], [1, 3])],
)
def test_the_header_tells_which_sets_are_quorums(quorums: str, right: list[int], wrong: list[int]) -> None:
    for members, status in ((right, "holds"), (wrong, "violated")):
        accepted = [event for process in members for event in accepts(process, 1, A)]
        assert judge([*BEGUN, *accepted, *deliveries(1, A)], quorums=quorums).status == status


def test_without_a_header_there_are_no_quorums_to_ask_for() -> None:
    events = [*BEGUN, *accepts(1, 1, A), *deliveries(1, A)]
    assert [verdict.status for verdict in check(events, [NAME])] == ["not exercised"]


def test_processes_that_the_header_does_not_count_are_in_no_quorum() -> None:
    for quorums in ("majority", "weights 1,1,1"):
        events = [*BEGUN, *accepts(1, 1, A), *accepts(7, 1, A), *accepts(8, 1, A), *deliveries(1, A)]
        assert judge(events, quorums=quorums).status == "violated"


@both_orders
def test_a_trace_that_does_not_show_who_accepted_says_nothing(order: Order) -> None:
    for events in (
        [*broadcasts(1, 1, A), *deliveries(2, A)],
        [*BEGUN, *deliveries(2, A)],
        [*broadcasts(1, 1, A), *accepts(1, 1, A), *deliveries(2, A)],
    ):
        assert judge(events, order).status == "not exercised"


def test_a_delivery_before_the_first_protocol_event_is_judged_too() -> None:
    verdict = judge([*deliveries(2, A), adopt(1, 1), *accepts(1, 1, A), *accepts(1, 1, B)])
    assert witness(verdict) == (Deliver(2, 0, A),)
    assert verdict.violation is not None
    assert verdict.violation.detected == 2


# Histories that are not known.


@both_orders
def test_a_process_that_adopted_a_history_that_is_not_known_may_have_accepted_anything(order: Order) -> None:
    unknown: list[Event] = [adopt(2, 2, A, B), adopt(3, 2, A, B)]
    for delivered in (A, B, C):
        assert judge([*BEGUN, *accepts(1, 1, A), *unknown, *deliveries(2, delivered)], order).judged == 0
    one = judge([*BEGUN, *accepts(1, 1, A), *unknown[:1], *deliveries(2, A)], order)
    assert witness(one) == (Accept(1, 0, 1, A), Deliver(2, 0, A))
    with_the_other = [*BEGUN, *accepts(1, 1, A), *unknown[:1], *accepts(1, 2, C), *deliveries(2, C)]
    assert judge(with_the_other, order).status == "not exercised"


@both_orders
def test_it_is_known_from_when_it_can_be_put_together(order: Order) -> None:
    """It is put together from what others accepted after it, too, and whoever went on from it meanwhile."""
    start = [*BEGUN[2:], adopt(3, 1, A), *accepts(3, 1, B), adopt(2, 2, A, B)]
    known, delivered = accepts(1, 1, A), deliveries(2, A)
    for also in ([adopt(3, 2, A, B)], accepts(3, 2, A)):
        assert judge([*start, *also, *known, *delivered], order).status == "holds"
        too_late = judge([*start, *also, *delivered, *known], order)
        assert too_late.status == ("not exercised" if order == "global" else "holds")


@both_orders
def test_or_from_what_was_broadcast(order: Order) -> None:
    """A late joiner may adopt what nobody has accepted yet; a crash may cost the leader that."""
    adopted = [*(adopt(process, 1) for process in (1, 2, 3)), adopt(2, 1, A, B)]
    for also, status in ([adopt(3, 1, A)], "holds"), ([], "violated"):
        events = [*adopted, *also, *broadcasts(1, 1, A, B), *accepts(3, 2, C), *deliveries(3, A)]
        assert judge(events, order).status == status
    assert witness(judge(events, order)) == (adopt(2, 1, A, B), Deliver(3, 0, A))
    recovered = [adopt(2, 3, A, B), adopt(1, 3, A, B), *deliveries(1, A, B)]
    assert judge([*events[:-1], *recovered], order).status == "holds"


def test_a_history_is_what_its_hash_length_and_zxid_say() -> None:
    zxid, length, value = told([A, B])
    for wrong in (Adopt(2, 0, 1, D.zxid, length, value), Adopt(2, 0, 1, zxid, 3, value)):
        events = [*BEGUN, *accepts(1, 1, A, B), wrong, *accepts(2, 1, C), *deliveries(1, A)]
        assert witness(judge(events, processes=5)) == (Accept(1, 0, 1, A), Deliver(1, 0, A))
        assert judge(events).status == "not exercised"


# Traces that are cut off, and the witness.


def test_a_trace_that_is_cut_off_is_certain_only_in_the_order_of_time() -> None:
    events = [*BEGUN, *accepts(1, 1, A), *deliveries(1, A)]
    assert judge(events, complete=False).status == "violated"
    assert judge(events, "per-process", complete=False).status == "inconclusive"


@both_orders
def test_the_witness_is_the_least_by_zxid_then_value_then_process_and_incarnation(order: Order) -> None:
    twin = Txn(A.zxid, "0")
    events = [*BEGUN, *accepts(1, 1, A, B), *deliveries(1, B), *deliveries(3, A)]
    assert witness(judge(events, order))[-1] == Deliver(3, 0, A)
    assert witness(judge([*events, *deliveries(2, A, incarnation=1)], order))[-1] == Deliver(2, 1, A)
    assert witness(judge([*events, *deliveries(3, twin)], order)) == (Deliver(3, 0, twin),)


@both_orders
def test_the_first_proposal_is_shown_rather_than_an_initial_history(order: Order) -> None:
    recovered = [adopt(1, 1, A, incarnation=1), *accepts(1, 1, A, incarnation=2)]
    events = [*BEGUN, *accepts(1, 1, A), adopt(1, 1, A), *recovered, *deliveries(1, A, incarnation=2)]
    assert witness(judge(events, order))[0] == Accept(1, 0, 1, A)
    assert witness(judge([*events[:5], *events[6:]], order))[0] == Accept(1, 2, 1, A)
    adopted = [*BEGUN[:3], *accepts(1, 9, A), *accepts(3, 9, B), adopt(2, 2, A), adopt(2, 2, A, B)]
    best = judge([*adopted, *accepts(3, 2, A), *deliveries(2, A)], order, processes=5)
    assert witness(best)[:2] == (adopt(2, 2, A), Accept(3, 0, 2, A))


def test_a_long_history_is_looked_at_once() -> None:
    """However often it is adopted, once it is chosen."""
    txns = [Txn(A.zxid, str(number)) for number in range(300)]
    judge = Judge(select([NAME]), "global", Quorums(3))
    for event in [*accepts(1, 1, *txns), ack_epoch(1, 2, 1, *txns), adopt(1, 2, *txns), adopt(2, 2, *txns)]:
        judge.observe(event)
    [invariant] = judge.invariants
    assert len(vars(invariant)["settled"]) == 301
    assert all(accepted is None for accepted in vars(invariant)["accepted"].values())
