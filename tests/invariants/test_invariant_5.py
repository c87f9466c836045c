"""Invariant 5 (DSN 2011, VI-B): what a follower delivers in the broadcast phase of e is a prefix of β_e."""

import pytest

from invariants import CommitEpoch, Crash, Deliver, Event, Recover, Txn, Zxid
from tests.invariants.builders import A, B, C, D, E, adopt, broadcasts, deliveries, judge, restore, summary, witness

NAME = "invariant 5"
BEGUN: list[Event] = [*broadcasts(1, 1, A, B, C), adopt(2, 1), CommitEpoch(2, 0, 1)]


def test_a_gap_is_a_violation() -> None:
    verdict = judge(NAME, [*BEGUN, *deliveries(2, A, C, B)])
    assert witness(verdict) == (CommitEpoch(2, 0, 1), Deliver(2, 0, C))
    assert summary(verdict) == "p2 delivered c⟨1,3⟩ in the broadcast phase of epoch 1, in which b⟨1,2⟩ comes next"


def test_so_is_what_was_not_broadcast_in_that_epoch() -> None:
    verdict = judge(NAME, [*BEGUN, *broadcasts(1, 2, D), *deliveries(2, A, B, C, D)])
    assert witness(verdict) == (CommitEpoch(2, 0, 1), Deliver(2, 0, D))
    assert summary(verdict) == (
        "p2 delivered d⟨2,1⟩ in the broadcast phase of epoch 1, in which nothing was broadcast that comes next"
    )


def test_so_is_another_value() -> None:
    other = Txn(B.zxid, "other")
    assert witness(judge(NAME, [*BEGUN, *deliveries(2, A, other)]))[1] == Deliver(2, 0, other)


def test_a_prefix_is_right() -> None:
    for length in range(1, 4):
        verdict = judge(NAME, [*BEGUN, *deliveries(2, *[A, B, C][:length])])
        assert (verdict.status, verdict.judged) == ("holds", length)


def test_the_initial_history_is_not_of_this_phase() -> None:
    """It is delivered with COMMIT-LD, from wherever the follower was; β_e begins after it."""
    start = [adopt(2, 2, A, B), CommitEpoch(2, 0, 2), *broadcasts(1, 2, D, E)]
    for before in ([], [B], [A, B], [B, A]):
        assert judge(NAME, [*start, *deliveries(2, *before, D, E)]).status == "holds"
    assert witness(judge(NAME, [*start, *deliveries(2, A, E)])) == (CommitEpoch(2, 0, 2), Deliver(2, 0, E))


def test_a_late_joiner_goes_on_from_what_it_adopted() -> None:
    start = [*broadcasts(1, 1, A, B, C), adopt(2, 1, A, B), CommitEpoch(2, 0, 1)]
    for right in ([A, B, C], [C], [B, C]):
        assert judge(NAME, [*start, *deliveries(2, *right)]).status == "holds"
    assert judge(NAME, [*start[:-2], adopt(2, 1, A), CommitEpoch(2, 0, 1), *deliveries(2, C)]).status == "violated"


@pytest.mark.parametrize(
    "end",
    [[CommitEpoch(2, 0, 7)], [adopt(2, 2, A)], [Crash(2, 0)], [Recover(2, 1)]],
    ids=["commit_epoch", "adopt", "crash", "recover"],
)
def test_after_the_phase_it_says_nothing(end: list[Event]) -> None:
    incarnation = 1 if isinstance(end[0], Recover) else 0
    events = [*BEGUN, *deliveries(2, A), *end, *deliveries(2, C, incarnation=incarnation)]
    assert judge(NAME, events).status == "holds"


def test_after_a_snapshot_the_sequence_begins_above_it() -> None:
    for prefix, rest in ((), [A, B, C]), ([A], [B, C]), ([A, B], [C]):
        assert judge(NAME, [*BEGUN, restore(2, *prefix), *deliveries(2, *rest)]).status == "holds"
    verdict = judge(NAME, [*BEGUN, restore(2, A), *deliveries(2, C)])
    assert witness(verdict) == (CommitEpoch(2, 0, 1), Deliver(2, 0, C))
    assert judge(NAME, [*BEGUN, *deliveries(2, A, B), restore(2, A), *deliveries(2, B, C)]).status == "holds"
    assert judge(NAME, [*BEGUN, *deliveries(2, A), restore(2), *deliveries(2, B)]).status == "violated"


def test_or_above_the_initial_history_if_that_ends_later() -> None:
    start = [*broadcasts(1, 1, A, B, C), adopt(2, 1, A, B), CommitEpoch(2, 0, 1), restore(2, A)]
    for right in ([B, C], [C]):
        assert judge(NAME, [*start, *deliveries(2, *right)]).status == "holds"


def test_what_was_delivered_wrong_stays_on_record_after_a_snapshot() -> None:
    assert judge(NAME, [*BEGUN, *deliveries(2, B), restore(2, A, B), *deliveries(2, C)]).status == "violated"


def test_a_snapshot_before_the_phase_or_in_another_incarnation_begins_none() -> None:
    recovered: list[Event] = [restore(2, A, B), *BEGUN[-2:]]
    assert judge(NAME, [*BEGUN[:3], *recovered, *deliveries(2, A, B, C)]).status == "holds"
    events = [*BEGUN, restore(2, A, incarnation=1), *deliveries(2, C, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_a_new_incarnation_ends_the_phase_even_if_nothing_else_shows_it() -> None:
    assert judge(NAME, [*BEGUN, *deliveries(2, A), *deliveries(2, C, incarnation=1)]).status == "holds"


def test_what_was_delivered_wrong_stays_on_record_after_the_phase() -> None:
    assert judge(NAME, [*BEGUN, *deliveries(2, B), Crash(2, 0), Recover(2, 1)]).status == "violated"


def test_a_repeat_does_not_count() -> None:
    verdict = judge(NAME, [*BEGUN, *deliveries(2, A, A, B, A, B, C)])
    assert verdict.status == "holds"


def test_a_phase_of_an_epoch_that_was_not_adopted_is_left_alone() -> None:
    assert judge(NAME, [*BEGUN[:-1], CommitEpoch(2, 0, 2), *deliveries(2, C)]).status == "not exercised"
    assert judge(NAME, [*BEGUN[:-2], CommitEpoch(2, 0, 1), *deliveries(2, C)]).status == "not exercised"


def test_without_protocol_events_it_is_not_exercised() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B), *deliveries(2, B)]).status == "not exercised"


def test_in_merged_logs_the_broadcast_may_come_later_in_the_file() -> None:
    log = [adopt(2, 1), CommitEpoch(2, 0, 1), *deliveries(2, A, B)]
    for order in ("global", "per-process"):
        assert judge(NAME, [*log, *broadcasts(1, 1, A, B)], order).status == "holds"  # type: ignore[arg-type]  # orders
        assert judge(NAME, [*log, *broadcasts(1, 1, B, A)], order).status == "violated"  # type: ignore[arg-type]  # orders
    assert judge(NAME, log, complete=False).status == "inconclusive"


def test_one_of_two_primaries_of_an_epoch_has_to_have_broadcast_all_of_it() -> None:
    start = [*broadcasts(1, 1, A, B), *broadcasts(3, 1, A, C), adopt(2, 1), CommitEpoch(2, 0, 1)]
    for right in ([A, B], [A, C]):
        assert judge(NAME, [*start, *deliveries(2, *right)]).status == "holds"
    verdict = judge(NAME, [*start, *deliveries(2, A, B, C)])
    assert witness(verdict) == (CommitEpoch(2, 0, 1), Deliver(2, 0, C))


def test_the_sequence_is_that_of_broadcasting_even_if_its_zxids_descend() -> None:
    start = [*broadcasts(1, 1, B, A), adopt(2, 1), CommitEpoch(2, 0, 1)]
    assert judge(NAME, [*start, *deliveries(2, B, A)]).status == "holds"
    assert judge(NAME, [*start, *deliveries(2, A)]).status == "violated"


def test_the_witness_is_the_least_by_epoch_then_zxid_then_process() -> None:
    def wrong(process: int, epoch: int, txn: Txn) -> list[Event]:
        return [adopt(process, epoch), CommitEpoch(process, 0, epoch), *deliveries(process, txn)]

    later = Txn(Zxid(3, 3), "later")
    events = [*wrong(1, 3, later), *wrong(5, 2, E), *wrong(4, 2, D), *wrong(3, 2, D)]
    assert witness(judge(NAME, events)) == (CommitEpoch(3, 0, 2), Deliver(3, 0, D))
