"""Phase 0 of the lab: timers and votes."""

from invariants import Zxid
from tests.protocols.db19.nodes import NONE, history, leader, node, resets, sent, synced_leader, take, time_out, txn
from zabcheck.protocols.base import Started
from zabcheck.protocols.db19.messages import AckEpoch, Commit, LookForLeader, NewEpoch, NewLeader, Vote
from zabcheck.protocols.db19.node import Role


def test_a_node_that_begins_votes_for_itself_and_tells_all_in_ascending_order_twice() -> None:
    effects = take(node(2), Started())
    assert resets(effects)
    look, vote = LookForLeader(2, NONE, 0), Vote(2, NONE, 0, 2)
    assert sent(effects) == [(1, look), (3, look), (1, vote), (3, vote)]


def test_a_node_alone_leads_at_once_and_is_synced() -> None:
    n = node(1, 1)
    assert (n.role, n.leader_id, n.synced, n.current_epoch, n.accepted_epoch) == (Role.LEADING, 1, True, 1, 1)


def test_a_process_that_times_out_looks_for_a_leader_and_forgets_the_one_it_had() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3, synced=True, history=history(txn(2, 5)), current_epoch=2)
    effects = time_out(n)
    assert (n.role, n.leader_id, n.synced, n.vote_target_id, n.vote_view) == (Role.LOOKING, None, False, 1, {1: 1})
    assert n.vote_target_zxid == Zxid(2, 5)
    assert resets(effects)
    assert sent(effects)[-1] == (3, Vote(1, Zxid(2, 5), 2, 1))


def test_a_vote_of_one_who_is_ahead_is_followed_and_told_to_all() -> None:
    """Ahead is who has the higher zxid, or the same and the higher id."""
    n = node(2, 5)
    assert sent(take(n, Vote(3, NONE, 0, 3), 3)) == [(peer, Vote(2, NONE, 0, 3)) for peer in (1, 3, 4, 5)]
    assert n.vote_view == {2: 3, 3: 3}
    assert sent(take(n, Vote(1, Zxid(1, 1), 0, 1), 1)) == [(peer, Vote(2, NONE, 0, 1)) for peer in (1, 3, 4, 5)]
    assert n.vote_view == {2: 1, 1: 1}
    assert (n.vote_target_id, n.vote_target_zxid) == (1, Zxid(1, 1))


def test_a_vote_of_one_who_is_not_ahead_is_counted_for_whom_it_names() -> None:
    n = node(3, 5)
    assert sent(take(n, Vote(1, NONE, 0, 5), 1)) == []
    assert n.vote_view == {3: 3, 1: 5}


def test_the_target_is_the_voter_not_whom_it_votes_for() -> None:
    n = node(1, 5)
    take(n, Vote(3, NONE, 0, 2), 3)
    assert n.vote_target_id == 3
    assert n.vote_view == {1: 3, 3: 2}


def test_to_look_for_a_leader_is_a_vote_for_oneself() -> None:
    one, other = node(1), node(1)
    assert take(one, LookForLeader(3, NONE, 0), 3) == take(other, Vote(3, NONE, 0, 3), 3)
    assert one == other


def test_with_a_quorum_of_votes_for_its_target_a_node_follows_it() -> None:
    n = node(1)
    effects = take(n, Vote(2, NONE, 0, 2), 2)
    assert (n.role, n.leader_id) == (Role.FOLLOWING, 2)
    assert resets(effects)


def test_with_a_quorum_of_votes_for_itself_a_node_leads() -> None:
    n = node(3, accepted_epoch=4, current_epoch=2)
    effects = take(n, Vote(1, NONE, 0, 3), 1)
    assert (n.role, n.leader_id, n.pending_new_epoch, n.accepted_epoch, n.current_epoch) == (Role.LEADING, 3, 5, 5, 2)
    assert sent(effects) == [(1, NewEpoch(5)), (2, NewEpoch(5))]
    assert resets(effects), "its heartbeat begins"


def test_three_of_five_are_a_quorum() -> None:
    n = node(5, 5)
    take(n, Vote(1, NONE, 0, 5), 1)
    assert n.role is Role.LOOKING
    take(n, Vote(1, NONE, 0, 5), 1)
    assert n.role is Role.LOOKING, "the vote of one node counts once"
    take(n, Vote(2, NONE, 0, 5), 2)
    assert n.role is Role.LEADING


def test_a_process_that_has_a_leader_names_it_to_the_sender_alone_also_when_that_has_one_too() -> None:
    """Two nodes that have found the same leader therefore send each other votes for ever."""
    one, other = node(1), node(2)
    take(one, Vote(2, NONE, 0, 2), 2)
    take(other, NewEpoch(1), 3)
    answer = sent(take(one, Vote(2, NONE, 0, 3), 2))
    assert answer == [(2, Vote(1, NONE, 0, 2))]
    assert sent(take(other, answer[0][1], 1)) == [(1, Vote(2, NONE, 0, 3))]
    assert sent(take(other, LookForLeader(1, NONE, 0), 1)) == [(1, Vote(2, NONE, 0, 3))]


def test_a_leader_sends_nothing_at_first_then_newleader_then_its_last_commit() -> None:
    n = leader()
    assert (sent(time_out(n)), n.role) == ([], Role.LEADING)
    assert resets(time_out(n)), "also when there is nothing to send"
    take(n, AckEpoch(0, NONE), 1)
    assert sent(time_out(n)) == [(1, NewLeader(1, history())), (2, NewLeader(1, history()))]
    n = synced_leader()
    assert sent(time_out(n)) == [(1, Commit(NONE)), (2, Commit(NONE))]
