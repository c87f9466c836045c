"""Phase 3 of the lab: Propose, Ack, Commit; and histories whose zxids do not ascend."""

from copy import copy
from random import Random

from invariants import Accept, Broadcast, Deliver, Zxid
from tests.protocols.db19.nodes import (
    NONE,
    history,
    leader,
    node,
    request,
    resets,
    sent,
    shown,
    synced_leader,
    take,
    txn,
)
from zabcheck.protocols.db19.messages import Ack, Commit, Propose
from zabcheck.protocols.db19.node import Role, identity

A, B, C = txn(1, 1, "a"), txn(1, 2, "b"), txn(1, 3, "c")


def test_a_leader_broadcasts_with_the_next_counter() -> None:
    n = synced_leader()
    effects = request(n, "a")
    assert sent(effects) == [(1, Propose(A)), (2, Propose(A))]
    assert shown(effects) == [Broadcast(3, 1, 1, A), Accept(3, 1, 1, A)]
    assert sent(request(n, "b")) == [(1, Propose(B)), (2, Propose(B))]
    assert n.history == history(A, B)


def test_nobody_else_does() -> None:
    for n in (node(1), leader()):
        assert request(n, "a") == []
        assert n.history == history()


def test_a_node_alone_commits_at_once() -> None:
    n = node(1, 1)
    assert shown(request(n, "a")) == [Broadcast(1, 1, 1, A), Accept(1, 1, 1, A), Deliver(1, 1, A)]
    assert n.last_committed == Zxid(1, 1)


def test_a_follower_accepts_what_comes_from_its_leader() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3)
    effects = take(n, Propose(A), 3)
    assert (sent(effects), shown(effects), resets(effects)) == ([(3, Ack(Zxid(1, 1)))], [Accept(1, 1, 1, A)], True)
    assert n.history == history(A)
    assert take(n, Propose(A), 3) == [], "not twice"


def test_it_accepts_nothing_of_others_and_whoever_looks_for_a_leader_accepts_nothing() -> None:
    assert take(node(1, role=Role.FOLLOWING, leader_id=2), Propose(A), 3) == []
    assert take(node(1), Propose(A), 3) == []


def test_it_accepts_a_proposal_behind_a_gap() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3)
    assert sent(take(n, Propose(C), 3)) == [(3, Ack(Zxid(1, 3)))]
    assert take(n, Propose(B), 3) == [], "what is missing comes too late"
    assert n.history == history(C)


def test_a_quorum_of_acknowledgements_commits() -> None:
    n = synced_leader(5)
    request(n, "a")
    assert take(n, Ack(Zxid(1, 1)), 1) == []
    assert take(n, Ack(Zxid(1, 1)), 1) == [], "each node counts once"
    effects = take(n, Ack(Zxid(1, 1)), 2)
    assert sent(effects) == [(peer, Commit(Zxid(1, 1))) for peer in (1, 2, 4, 5)]
    assert shown(effects) == [Deliver(3, 1, A)]
    assert (take(n, Ack(Zxid(1, 1)), 4), n.last_committed) == ([], Zxid(1, 1))


def test_what_comes_before_is_committed_too_acknowledged_or_not() -> None:
    n = synced_leader()
    request(n, "a")
    request(n, "b")
    assert shown(take(n, Ack(Zxid(1, 2)), 1)) == [Deliver(3, 1, A), Deliver(3, 1, B)]


def test_an_acknowledgement_of_what_was_never_proposed_counts_from_its_sender_on() -> None:
    n = synced_leader()
    take(n, Ack(Zxid(1, 1)), 1)
    assert n.ack_set == {Zxid(1, 1): {1}}
    request(n, "a")
    assert n.ack_set == {Zxid(1, 1): {3}}, "the proposal begins to count anew"
    assert take(node(1), Ack(Zxid(1, 1)), 2) == [], "only a leader counts"


def test_a_commit_is_believed_whoever_says_it_but_only_the_leaders_resets_the_timer() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3, history=history(A, B))
    effects = take(n, Commit(Zxid(1, 1)), 2)
    assert (shown(effects), resets(effects)) == ([Deliver(1, 1, A)], False)
    effects = take(n, Commit(Zxid(1, 2)), 3)
    assert (shown(effects), resets(effects)) == ([Deliver(1, 1, B)], True)
    effects = take(n, Commit(Zxid(1, 1)), 3)
    assert (shown(effects), resets(effects), n.last_committed) == ([], True, Zxid(1, 2))


def test_a_commit_of_what_a_node_does_not_have_commits_what_it_has_before() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3, history=history(A, C))
    assert shown(take(n, Commit(Zxid(1, 2)), 3)) == [Deliver(1, 1, A)]
    assert take(n, Commit(Zxid(1, 4)), 2) == [], "beyond its history it does nothing"
    assert n.last_committed == Zxid(1, 2)


def test_between_two_zxids_is_what_the_text_says_also_where_they_do_not_ascend() -> None:
    random = Random(1)
    for _ in range(300):
        txns = [txn(1, random.randint(1, 9), str(number)) for number in range(random.randint(0, 20))]
        after, up_to = sorted(Zxid(1, random.randint(0, 10)) for _ in range(2))
        expected = [each for each in txns if after < each.zxid <= up_to]
        assert history(*txns).between(after, up_to) == expected


def test_a_copy_of_a_node_goes_its_own_way() -> None:
    n = synced_leader()
    request(n, "a")
    twin = copy(n)
    assert identity(twin) == identity(n)
    take(twin, Ack(Zxid(1, 1)), 1)
    assert n.last_committed == NONE
    assert n.ack_set == {Zxid(1, 1): {3}}
