"""`LearnerHandler.syncFollower`, row by row (zookeeper-model, 3.2), and `Leader.startForwarding`."""

from invariants import NO_ZXID, Zxid
from tests.zookeeper.model.builders import A, B, C, D, leading, memory, snapshot, switches, txn
from zabcheck.protocols.base import Message
from zabcheck.zookeeper.model.leader import synchronise_with
from zabcheck.zookeeper.model.messages import Commit, Diff, Proposal, Snap, Trunc
from zabcheck.zookeeper.model.server import Leader, Outstanding
from zabcheck.zookeeper.model.synchronisation import forwarded, queued

E = txn(3, 1)


def synchronise(leader: Leader, peer: Zxid) -> list[Message]:
    """Return what a follower is sent where nothing comes between the two parts of it."""
    queue = queued(leader, peer)
    return [*queue.packets, *forwarded(leader, 2, queue.zxid)]


def both(*txns: object) -> list[Message]:
    return [packet for each in txns for packet in (Proposal(each), Commit(each.zxid))]  # type: ignore[attr-defined,arg-type]


def test_sync_follower_who_has_the_same() -> None:
    leader = leading(A, B, database=memory(A, B))
    assert synchronise(leader, B.zxid) == [Diff(B.zxid)]


def test_a_follower_without_any_history_passes_for_one_that_lacks_nothing_in_3_4_0_rc0() -> None:
    """1319: until the leader proposes something; a follower that has some history is compared."""
    leader = leading(A, B, switches=switches("3.4.0-rc0", "1319"))
    assert synchronise(leader, NO_ZXID) == [Diff(NO_ZXID)]
    assert synchronise(leader, A.zxid) == [Diff(B.zxid), *both(B)]
    leader.counter = 1
    assert synchronise(leader, NO_ZXID) == [Snap(Zxid(2, 0), leader.database.tree)]
    repaired = leading(A, B, switches=switches("3.4.0-rc0", "none"))
    assert synchronise(repaired, NO_ZXID) == [Snap(Zxid(2, 0), repaired.database.tree)]


def test_sync_follower_who_has_more() -> None:
    assert synchronise(leading(A, B), C.zxid) == [Trunc(B.zxid)]


def test_sync_follower_by_committed_log() -> None:
    assert synchronise(leading(A, B, C), A.zxid) == [Diff(C.zxid), *both(B, C)]


def test_sync_follower_who_has_a_proposal_that_the_leader_lacks() -> None:
    leader = leading(A, C, D)
    assert synchronise(leader, B.zxid) == [Trunc(A.zxid), *both(C, D)]


def test_sync_follower_does_not_truncate_across_epochs() -> None:
    leader = leading(A, E)
    assert synchronise(leader, B.zxid) == [Snap(Zxid(2, 0), leader.database.tree)]


def test_sync_follower_keeps_the_branch_of_whoever_is_within_committed_log_in_3_3() -> None:
    """1154: B is in no history of the leader."""
    one = leading(A, C, D, switches=switches("3.3.1", "1154"))
    assert synchronise(one, B.zxid) == [Diff(D.zxid), *both(C, D)]
    other = leading(A, C, D, switches=switches("3.4.2", "1154"))
    assert synchronise(other, B.zxid) == [Trunc(A.zxid), *both(C, D)]


def test_sync_follower_by_log() -> None:
    leader = leading(A, B, C, database=memory(A, B, C, lpz=Zxid(2, 0), cache=(C,)))
    assert synchronise(leader, A.zxid) == [Diff(C.zxid), *both(B, C)]


def test_sync_follower_by_log_overlooks_a_gap_in_it() -> None:
    """2846: the leader got B and C by SNAP, so its log has neither."""
    database = memory(A, B, C, D, lpz=Zxid(2, 1), cache=(D,))
    leader = leading(A, D, database=database, snapshots=(snapshot(C.zxid, A, B, C),))
    assert synchronise(leader, A.zxid) == [Diff(D.zxid), *both(D)]
    repaired = leading(A, D, database=database, switches=switches(defects="none"))
    assert synchronise(repaired, A.zxid) == [Snap(D.zxid, database.tree)]


def test_sync_follower_by_log_sends_a_snapshot_over_a_gap_before_committed_log() -> None:
    """2418: 3.5 sends the gap."""
    database = memory(A, B, C, D, lpz=Zxid(2, 1), cache=(D,))
    leader = leading(A, database=database)
    assert synchronise(leader, A.zxid) == [Snap(D.zxid, database.tree)]
    assert synchronise(leading(A, database=database, switches=switches("3.5.5")), A.zxid) == [Diff(D.zxid), *both(D)]


def test_sync_follower_who_is_behind_the_log() -> None:
    leader = leading(C, database=memory(A, B, C, cache=(C,)))
    assert synchronise(leader, A.zxid) == [Snap(C.zxid, leader.database.tree)]


def test_sync_follower_of_a_new_epoch_gets_a_diff() -> None:
    leader = leading(A, D, database=memory(A, D))
    assert synchronise(leader, Zxid(2, 0)) == [Diff(D.zxid), *both(D)]


def test_sync_follower_of_3_4_has_no_log() -> None:
    leader = leading(A, B, C, database=memory(A, B, C, cache=(B, C)), switches=switches("3.4.10"))
    assert synchronise(leader, NO_ZXID) == [Snap(C.zxid, leader.database.tree)]
    assert synchronise(leader, B.zxid) == [Diff(C.zxid), *both(C)]
    assert synchronise(leader, D.zxid) == [Trunc(C.zxid)]


def test_start_forwarding_sends_what_is_committed_and_not_applied() -> None:
    leader = leading(A, B, D, database=memory(A), to_apply=(B,), outstanding=(Outstanding(D),))
    assert synchronise(leader, A.zxid) == [Diff(A.zxid), *both(B), Proposal(D)]


def test_start_forwarding_sends_what_is_outstanding() -> None:
    leader = leading(A, outstanding=(Outstanding(D),))
    assert synchronise(leader, A.zxid) == [Diff(A.zxid), Proposal(D)]


def test_sync_follower_who_has_what_is_outstanding() -> None:
    """N1: what the follower has acknowledged is cut off, and its acknowledgement still counts."""
    leader = leading(A, outstanding=(Outstanding(D, (2,)),), database=memory(A))
    assert synchronise(leader, D.zxid) == [Trunc(A.zxid), Proposal(D)]
    assert synchronise_with(leader, 2)
    assert leader.outstanding == (Outstanding(D, (2,)),)
    repaired = leading(A, outstanding=(Outstanding(D, (2,)),), database=memory(A), switches=switches(defects="none"))
    assert synchronise(repaired, D.zxid) == [Trunc(A.zxid), Proposal(D)]
    assert synchronise_with(repaired, 2)
    assert repaired.outstanding == (Outstanding(D),)


def test_sync_follower_who_has_what_is_committed_and_not_applied() -> None:
    """N1: it is cut off too."""
    leader = leading(A, D, to_apply=(D,), database=memory(A))
    assert synchronise(leader, D.zxid) == [Trunc(A.zxid), *both(D)]
    repaired = leading(A, D, to_apply=(D,), database=memory(A), switches=switches(defects="none"))
    assert synchronise(repaired, D.zxid) == [Diff(D.zxid)]
