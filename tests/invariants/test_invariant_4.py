"""Invariant 4 (DSN 2011, VI-B): an initial history is that of some follower, and no message alters it."""

import pytest

from invariants import NO_ZXID, AckEpoch, Adopt, Event, Txn, Zxid
from invariants.events import Local
from tests.invariants.builders import (
    A,
    B,
    C,
    D,
    E,
    accepts,
    ack_epoch,
    adopt,
    broadcasts,
    deliveries,
    judge,
    summary,
    told,
    witness,
)

NAME = "invariant 4"
EPOCH_1 = [ack_epoch(1, 1, 0), ack_epoch(2, 1, 0), adopt(1, 1), adopt(2, 1)]


def test_an_answer_that_lacks_what_was_accepted_is_a_violation() -> None:
    verdict = judge(NAME, [*EPOCH_1, *accepts(2, 1, A, B), ack_epoch(2, 2, 1, A)])
    assert witness(verdict) == (ack_epoch(2, 2, 1, A),)
    assert summary(verdict) == (
        f"p2 provided a history of length 1 up to ⟨1,1⟩ (hash …{told([A])[2] % 10_000:04}) for epoch 2, but has "
        f"accepted a history of length 2 up to ⟨1,2⟩ (hash …{told([A, B])[2] % 10_000:04})"
    )


@pytest.mark.parametrize("wrong", [(A, B, C), (B,), (B, A), (A, Txn(B.zxid, "other")), ()])
def test_so_is_one_with_more_or_in_another_order_or_of_other_values(wrong: tuple[Txn, ...]) -> None:
    verdict = judge(NAME, [*EPOCH_1, *accepts(2, 1, A, B), ack_epoch(2, 2, 1, *wrong)])
    assert witness(verdict) == (ack_epoch(2, 2, 1, *wrong),)


def test_an_initial_history_that_nobody_provided_is_a_violation() -> None:
    verdict = judge(NAME, [*EPOCH_1, *accepts(1, 1, A), ack_epoch(1, 2, 1, A), ack_epoch(2, 2, 1), adopt(2, 2, B)])
    assert witness(verdict) == (adopt(2, 2, B),)
    assert summary(verdict) == (
        f"p2 adopted a history of length 1 up to ⟨1,2⟩ (hash …{told([B])[2] % 10_000:04}) for epoch 2, which is no "
        "history that a follower provided for it, nor one with what was broadcast in it"
    )


def test_an_epoch_for_which_nobody_provided_any_has_no_initial_history() -> None:
    assert witness(judge(NAME, [*EPOCH_1, adopt(2, 2)])) == (adopt(2, 2),)


def test_the_history_of_any_follower_will_do() -> None:
    """It is another matter which of them has to be chosen."""
    provided: list[Event] = [*EPOCH_1, *accepts(1, 1, A), ack_epoch(1, 2, 1, A), ack_epoch(2, 2, 1)]
    for history in ([], [A]):
        verdict = judge(NAME, [*provided, adopt(2, 2, *history)])
        assert (verdict.status, verdict.judged) == ("holds", 7)


def test_a_late_joiner_adopts_what_was_broadcast_too() -> None:
    start: list[Event] = [*EPOCH_1, *broadcasts(1, 1, A, B, C)]
    for length in range(4):
        assert judge(NAME, [*start, adopt(3, 1, *[A, B, C][:length])]).status == "holds"
    for wrong in ([B], [A, C], [A, B, C, D], [B, A]):
        assert witness(judge(NAME, [*start, adopt(3, 1, *wrong)])) == (adopt(3, 1, *wrong),)


def test_what_is_broadcast_in_another_epoch_does_not_count() -> None:
    start: list[Event] = [*EPOCH_1, ack_epoch(1, 2, 1), *broadcasts(1, 2, D)]
    assert judge(NAME, [*start, adopt(3, 1, D)]).status == "violated"
    assert judge(NAME, [*start, adopt(3, 2, D)]).status == "holds"


def test_two_primaries_of_an_epoch_have_sequences_of_their_own() -> None:
    start: list[Event] = [*EPOCH_1, *broadcasts(1, 1, A, C), *broadcasts(2, 1, A, B)]
    for history in ([A, C], [A, B]):
        assert judge(NAME, [*start, adopt(3, 1, *history)]).status == "holds"
    assert judge(NAME, [*start, adopt(3, 1, A, B, C)]).status == "violated"


def test_an_adopted_history_is_gone_on_with() -> None:
    events = [*EPOCH_1, *accepts(2, 1, A, B), ack_epoch(1, 2, 1), adopt(2, 2), *accepts(2, 2, D)]
    assert judge(NAME, [*events, ack_epoch(2, 3, 2, D)]).status == "holds"
    assert judge(NAME, [*events, ack_epoch(2, 3, 2, A, B, D)]).status == "violated"


def test_a_history_is_durable() -> None:
    events = [*EPOCH_1, *accepts(2, 1, A)]
    assert judge(NAME, [*events, ack_epoch(2, 2, 1, A, incarnation=3)]).status == "holds"


@pytest.mark.parametrize("change", ["zxid", "length", "hash"])
def test_all_that_is_told_has_to_be_right(change: str) -> None:
    zxid, length, hash_ = told([A])
    wrong = {"zxid": (Zxid(1, 2), length, hash_), "length": (zxid, 2, hash_), "hash": (zxid, length, hash_ + 1)}[change]
    events: list[Event] = [*EPOCH_1, *accepts(1, 1, A), ack_epoch(1, 2, 1, A)]
    assert judge(NAME, [*events, Adopt(1, 0, 2, *wrong)]).status == "violated"
    assert judge(NAME, [*events, AckEpoch(1, 0, 3, 1, *wrong)]).status == "violated"


def test_in_merged_logs_the_answer_may_come_later_in_the_file() -> None:
    events: list[Local] = [adopt(3, 2, A, D), *EPOCH_1, *accepts(2, 1, A), ack_epoch(2, 2, 1, A), *broadcasts(1, 2, D)]  # type: ignore[list-item]  # all are local
    assert judge(NAME, events).status == "holds"


def test_a_trace_without_any_answer_says_nothing() -> None:
    """Protocol events are optional."""
    assert judge(NAME, [adopt(2, 1, A), *accepts(2, 1, B)]).status == "not exercised"
    assert judge(NAME, deliveries(2, A)).status == "not exercised"


def test_a_history_that_may_yet_be_provided_is_judged_at_the_end() -> None:
    made_up: list[Event] = [*EPOCH_1, adopt(2, 2)]
    assert judge(NAME, made_up, complete=False).status == "inconclusive"
    altered = ack_epoch(1, 9, 1, A)
    assert witness(judge(NAME, [*made_up, altered], complete=False)) == (altered,)


def test_the_witness_is_the_least_by_epoch_then_zxid_then_process() -> None:
    adopted = [adopt(3, 5, E), adopt(2, 5, D), adopt(1, 5, D), adopt(1, 6)]
    assert witness(judge(NAME, [*EPOCH_1, *adopted])) == (adopt(1, 5, D),)
    acks = [ack_epoch(3, 8, 1, B), ack_epoch(2, 8, 1, B), ack_epoch(1, 9, 1, A)]
    assert witness(judge(NAME, [*EPOCH_1, *adopted, *acks])) == (ack_epoch(2, 8, 1, B),)


def test_an_empty_history_is_told_as_such() -> None:
    verdict = judge(NAME, [*EPOCH_1, *accepts(2, 1, A), ack_epoch(2, 2, 1)])
    assert witness(verdict) == (AckEpoch(2, 0, 2, 1, NO_ZXID, 0, 0),)
    assert summary(verdict).startswith("p2 provided an empty history for epoch 2, but has accepted a history of length")


def test_a_trace_that_is_cut_off_may_lack_what_an_earlier_incarnation_accepted() -> None:
    assert judge(NAME, [ack_epoch(2, 1, 0, A)], complete=False).status == "violated"
    assert judge(NAME, [ack_epoch(2, 1, 0, A, incarnation=1)]).status == "violated"
    assert judge(NAME, [ack_epoch(2, 1, 0, A, incarnation=1)], complete=False).status == "inconclusive"
