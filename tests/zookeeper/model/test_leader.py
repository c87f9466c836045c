"""`Leader` and `LearnerHandler`."""

import pytest

from invariants import NO_ZXID, Accept, Adopt, Broadcast, Chain, CommitEpoch, Deliver, Establish, Ready, Zxid
from tests.zookeeper.model.builders import (
    A,
    B,
    D,
    leading,
    memory,
    raising,
    sent,
    server,
    shown,
    snapshot,
    switches,
    txn,
    written,
)
from zabcheck.protocols.base import Elected, GiveUp, Lost, Message, Request
from zabcheck.zookeeper.model import describe, leader, messages
from zabcheck.zookeeper.model.database import FIRST
from zabcheck.zookeeper.model.leader import (
    can_broadcast,
    forwarding,
    on_elected,
    on_follower_info,
    on_lost,
)
from zabcheck.zookeeper.model.server import Link, Outstanding, Phase, Server, ServerError
from zabcheck.zookeeper.model.switches import Defects, Release, ZooKeeperSwitches
from zabcheck.zookeeper.model.threads import with_threads

# With all that the threads of the server do because of it, at once.
on_ack = with_threads(leader.on_ack)
on_ack_epoch = with_threads(leader.on_ack_epoch)
on_request = with_threads(leader.on_request)

D_VALUE = D.value


def elected(*log: object, **fields: object) -> Server:
    """Server 1, which an election has just named."""
    leader = server(1, *log, **fields)  # type: ignore[arg-type]  # passed on as they came
    on_elected(leader, 1, Elected(1))
    return leader


def test_lead_writes_a_snapshot_of_whatever_it_has() -> None:
    assert elected(A, B).snapshots == (FIRST, snapshot(B.zxid, A, B))
    assert elected(A, B, switches=switches("3.4.10")).snapshots == (FIRST,)


def test_get_epoch_to_propose_takes_the_next_of_a_quorum() -> None:
    leader = elected(A)
    effects = on_follower_info(leader, 2, messages.FollowerInfo(4))
    assert leader.accepted_epoch == 5
    assert written(effects) == ["accepted_epoch"]
    assert sent(effects) == [(2, messages.LeaderInfo(5))]
    assert sent(on_follower_info(leader, 3, messages.FollowerInfo(9))) == [(3, messages.LeaderInfo(5))]


def test_get_epoch_to_propose_may_be_the_one_that_was_accepted_in_3_4_2() -> None:
    """1343: where another has accepted the epoch before."""
    old, other, new = (elected(A, switches=switches(version)) for version in ("3.4.2", "3.4.2", "3.4.10"))
    for elect, accepted in ((old, 2), (other, 3), (new, 2)):
        on_follower_info(elect, 2, messages.FollowerInfo(accepted))
    assert (old.epoch, other.epoch, new.epoch) == (2, 4, 3)


@pytest.mark.parametrize(("defects", "lpz"), [("335", A.zxid), ("790", Zxid(2, 0))])
def test_a_leader_asks_nobody_for_an_epoch_in_3_3(defects: Defects, lpz: Zxid) -> None:
    """335, and 790: that it leads counts before anybody has heard of it."""
    leader = elected(A, switches=switches("3.3.1", defects))
    assert (leader.epoch, leader.database.lpz) == (2, lpz)
    assert sent(on_follower_info(leader, 2, messages.FollowerInfo(9))) == [(2, messages.LeaderInfo(2))]
    assert written(on_elected(leader, 1, Elected(1))) == ["snapshots"], "and it writes none"


def serving_while_3_is_synchronised(version: Release, defects: Defects, peer: Zxid) -> tuple[Server, list[Message]]:
    """A leader that has applied D after it had found out what to send to server 3, and what it sent to that one."""
    one = leading(
        *(A, B),
        database=memory(A, B, lpz=Zxid(2, 0), cache=(A, B) if peer > NO_ZXID else ()),
        switches=switches(version, defects),
        links={2: Link.SYNCED, 3: Link.DISCOVERED},
        peers={2: NO_ZXID, 3: peer},
    )
    effects = leader.synchronise_with(one, 3)
    effects += on_request(one, 1, Request(D_VALUE))
    effects += on_ack(one, 2, messages.Ack(D.zxid))
    assert tuple(one.database.tree) == (A, B, D)
    return one, [message for to, message in sent(effects) if to == 3]


def test_what_is_applied_before_forwarding_starts_is_sent_to_nobody() -> None:
    """962."""
    one, at_once = serving_while_3_is_synchronised("3.3.1", "962", A.zxid)
    assert at_once == []
    diff = [messages.Diff(B.zxid), messages.Proposal(B), messages.Commit(B.zxid), messages.NewLeader(2)]
    assert sent(leader.send_late(one)) == [(3, message) for message in diff]
    assert (3, messages.Proposal(txn(2, 2))) in sent(on_request(one, 1, Request("2.2"))), (
        "from now on it is forwarded to"
    )
    _, at_once = serving_while_3_is_synchronised("3.4.0-rc0", "962", A.zxid)
    assert at_once == [*diff, messages.Proposal(D), messages.Commit(D.zxid)]


def test_a_snap_holds_what_is_applied_while_it_is_written() -> None:
    """3104: and what is queued behind it has that once more."""
    one, at_once = serving_while_3_is_synchronised("3.4.10", "3104", NO_ZXID)
    assert at_once == []
    rest = [messages.NewLeader(2), messages.Proposal(D), messages.Commit(D.zxid)]
    assert describe(one)["queued"] == ("p3 NEWLEADER(2)", f"p3 PROPOSAL({D})", f"p3 COMMIT({D.zxid})")
    snap = messages.Snap(Zxid(2, 0), Chain.of((A, B, D)))
    assert sent(leader.send_late(one)) == [(3, message) for message in (snap, *rest)]
    _, at_once = serving_while_3_is_synchronised("3.5.5", "3104", NO_ZXID)
    assert at_once == [messages.Snap(Zxid(2, 0), Chain.of((A, B))), *rest]


def test_remove_learner_handler_forgets_what_was_not_sent() -> None:
    one, _ = serving_while_3_is_synchronised("3.4.10", "3104", NO_ZXID)
    on_lost(one, 3, Lost(3))
    assert one.unsent == {}


def test_wait_for_epoch_ack_refuses_who_is_newer() -> None:
    leader = elected(A)
    on_follower_info(leader, 2, messages.FollowerInfo(1))
    assert on_ack_epoch(leader, 2, messages.AckEpoch(1, B.zxid)) == []
    assert leader.links == {2: Link.REFUSED}


def test_wait_for_epoch_ack_does_not_count_an_old_promise() -> None:
    leader = elected(A)
    on_follower_info(leader, 2, messages.FollowerInfo(1))
    assert on_ack_epoch(leader, 2, messages.AckEpoch(None, A.zxid)) == []
    assert not leader.finished


def test_wait_for_epoch_ack_settles_the_history_of_the_leader() -> None:
    leader = elected(A, B)
    on_follower_info(leader, 2, messages.FollowerInfo(1))
    effects = on_ack_epoch(leader, 2, messages.AckEpoch(1, A.zxid))
    chain = Chain.of([A, B])
    assert shown(effects) == [Adopt(1, 0, 2, B.zxid, 2, chain.hash)]
    assert [type(message).__name__ for _, message in sent(effects)] == ["Diff", "Proposal", "Commit", "NewLeader"]
    assert leader.links == {2: Link.SYNCING}


def test_wait_for_new_leader_ack_starts_the_server() -> None:
    leader = leading(
        A, phase=Phase.SYNCHRONIZATION, links={2: Link.SYNCING}, new_leader_acks=(1,), delivered=Chain.of([])
    )
    effects = on_ack(leader, 2, messages.Ack(Zxid(2, 0)))
    assert shown(effects) == [Establish(1, 0, 2), CommitEpoch(1, 0, 2), Deliver(1, 0, A), Ready(1, 0, 2)]
    assert sent(effects) == [(2, messages.UpToDate())]
    assert leader.database.lpz == Zxid(2, 0)
    assert can_broadcast(leader)


def test_wait_for_new_leader_ack_does_not_count_another_zxid() -> None:
    """4685: what comes first is taken for it."""
    leader = leading(A, phase=Phase.SYNCHRONIZATION, links={2: Link.SYNCING}, new_leader_acks=(1,))
    assert on_ack(leader, 2, messages.Ack(A.zxid)) == []
    assert not leader.running
    leader = leading(A, phase=Phase.SYNCHRONIZATION, links={2: Link.SYNCING}, switches=raising("3.8.0"))
    with pytest.raises(ServerError, match="p2 answers NEWLEADER with an ACK of ⟨1,1⟩"):
        on_ack(leader, 2, messages.Ack(A.zxid))


def test_a_late_joiner_is_sent_uptodate_at_once() -> None:
    leader = leading(A, links={2: Link.SYNCED, 3: Link.SYNCING})
    assert sent(on_ack(leader, 3, messages.Ack(Zxid(2, 0)))) == [(3, messages.UpToDate())]


def test_propose_sends_before_it_logs() -> None:
    leader = leading(A, links={2: Link.SYNCED, 3: Link.SYNCING})
    effects = on_request(leader, 1, Request(D_VALUE))
    assert sent(effects) == [(2, messages.Proposal(D)), (3, messages.Proposal(D))]
    assert shown(effects) == [Broadcast(1, 0, 2, D), Accept(1, 0, 2, D)]
    assert leader.outstanding == (Outstanding(D, (1,)),)
    assert forwarding(leader) == [2, 3]


def test_propose_ends_with_the_counters() -> None:
    leader = leading(A, counter=7, switches=ZooKeeperSwitches(counter_limit=7))
    assert isinstance(on_request(leader, 1, Request("x"))[0], GiveUp)


def test_process_ack_commits_with_a_quorum() -> None:
    leader = leading(A, outstanding=(Outstanding(D, (1,)),))
    effects = on_ack(leader, 2, messages.Ack(D.zxid))
    assert sent(effects) == [(2, messages.Commit(D.zxid))]
    assert shown(effects) == [Deliver(1, 0, D)]
    assert leader.outstanding == ()


def test_process_ack_ignores_counter_0_and_what_is_not_outstanding() -> None:
    leader = leading(A)
    assert on_ack(leader, 2, messages.Ack(Zxid(2, 0))) == []
    assert on_ack(leader, 2, messages.Ack(A.zxid)) == []


def test_try_to_commit_waits_for_the_one_before_since_3_5() -> None:
    first, second = Outstanding(D, (1,)), Outstanding(B, (1,))
    assert on_ack(leading(A, outstanding=(first, second)), 2, messages.Ack(B.zxid)) == []
    old = leading(A, outstanding=(first, second), switches=switches("3.4.10"))
    assert sent(on_ack(old, 2, messages.Ack(B.zxid))) == [(2, messages.Commit(B.zxid))]


def test_remove_learner_handler_leaves_acknowledgements() -> None:
    """N1."""
    leader = leading(A, outstanding=(Outstanding(D, (2,)),))
    assert on_lost(leader, 1, Lost(2)) == []
    assert (leader.links, leader.outstanding) == ({}, (Outstanding(D, (2,)),))


def test_memory_is_that_of_the_log() -> None:
    assert leading(A).database == memory(A, lpz=Zxid(2, 0))
