"""A process that comes up again has what its disk kept (table 1), and delivers from its snapshot on."""

from collections.abc import Mapping
from typing import Any

from invariants import EMPTY, Chain, CommitEpoch, Deliver, Restore
from invariants.quorums import Quorums
from tests.invariants.builders import A, B, C
from tests.protocols.zab.builders import AB, EPOCH, following, synced, up, written
from zabcheck.protocols.base import Started, TakeSnapshot
from zabcheck.protocols.switches import LETTER
from zabcheck.protocols.zab.follower import on_commit_ld
from zabcheck.protocols.zab.messages import CommitLd
from zabcheck.protocols.zab.process import Process, on_started, on_take_snapshot, start

DURABLE: Mapping[str, Any] = {"accepted_epoch": 2, "current_epoch": 1, "history": AB, "snapshot": Chain.of([A])}


def recovered(durable: Mapping[str, Any]) -> Process:
    return start(2, 1, Quorums(3), durable, LETTER)


def test_everything_is_bottom_at_first() -> None:
    assert recovered({}) == up(incarnation=1)


def test_the_persistent_variables_survive_and_nothing_else_does() -> None:
    assert recovered(DURABLE) == up(incarnation=1, **DURABLE)


def test_without_a_snapshot_everything_will_be_delivered_again() -> None:
    f = recovered({"history": AB})
    assert on_started(f, 2, Started()) == []
    assert f.delivered == EMPTY


def test_recovery_from_a_snapshot_shows_what_it_held() -> None:
    f = recovered(DURABLE)
    assert on_started(f, 2, Started()) == [Restore(2, 1, A.zxid, 1, Chain.of([A]).hash)]


def test_what_the_snapshot_held_is_not_delivered_again() -> None:
    f = recovered({**DURABLE, "current_epoch": EPOCH})
    on_started(f, 2, Started())
    f.leader, f.phase = 1, synced().phase
    assert on_commit_ld(f, 1, CommitLd(EPOCH, B.zxid)) == [CommitEpoch(2, 1, EPOCH), Deliver(2, 1, B)]


def test_a_snapshot_holds_what_was_delivered_and_not_what_was_only_accepted() -> None:
    f = following(history=AB.append(C))
    assert written(on_take_snapshot(f, 2, TakeSnapshot())) == [{"snapshot": AB}]


def test_a_snapshot_of_nothing_new_is_not_taken() -> None:
    assert on_take_snapshot(up(), 2, TakeSnapshot()) == []
    assert on_take_snapshot(following(snapshot=AB), 2, TakeSnapshot()) == []


def test_if_the_new_history_does_not_go_on_from_what_was_delivered_all_of_it_is_delivered() -> None:
    """Only a broken protocol gets here, and this is how it shows."""
    f = synced(delivered=Chain.of([A, C]))
    assert on_commit_ld(f, 1, CommitLd(EPOCH, B.zxid)) == [
        CommitEpoch(2, 0, EPOCH),
        Deliver(2, 0, A),
        Deliver(2, 0, B),
    ]
