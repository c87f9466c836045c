"""Phases 1 and 2 of the lab: NewEpoch, AckEpoch, NewLeader, AckLeader."""

import invariants
from invariants import Adopt, Deliver, Establish, Promise, Ready, Truncate, Zxid
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
from zabcheck.protocols.db19.messages import AckEpoch, AckLeader, Commit, NewEpoch, NewLeader
from zabcheck.protocols.db19.node import Role

A, B, C = txn(1, 1), txn(1, 2), txn(2, 1)


def test_a_later_epoch_is_promised_and_its_leader_followed() -> None:
    n = node(1, history=history(A), current_epoch=1)
    effects = take(n, NewEpoch(3), 2)
    assert (n.role, n.leader_id, n.accepted_epoch, n.current_epoch) == (Role.FOLLOWING, 2, 3, 1)
    assert sent(effects) == [(2, AckEpoch(1, Zxid(1, 1)))]
    assert resets(effects)
    hash_ = history(A).chain.hash
    assert shown(effects) == [Promise(1, 1, 3, 2), invariants.AckEpoch(1, 1, 3, 1, Zxid(1, 1), 1, hash_)]


def test_a_process_that_follows_somebody_goes_on_to_do_so() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3)
    take(n, NewEpoch(1), 2)
    assert (n.leader_id, n.accepted_epoch) == (3, 1)
    take(n, NewLeader(1, history(A)), 2)
    assert (n.leader_id, n.current_epoch, n.history) == (3, 1, history(A))


def test_the_same_epoch_is_acknowledged_again_whoever_proposes_it() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3, accepted_epoch=2)
    effects = take(n, NewEpoch(2), 2)
    assert sent(effects) == [(2, AckEpoch(0, NONE))]
    n = leader()
    assert sent(take(n, NewEpoch(1), 2)) == [(2, AckEpoch(0, NONE))], "a leader of that epoch does so, too"
    assert n.role is Role.LEADING


def test_an_older_epoch_is_not_acknowledged_but_resets_the_timer() -> None:
    n = node(1, accepted_epoch=2)
    effects = take(n, NewEpoch(1), 2)
    assert (sent(effects), resets(effects), n.accepted_epoch) == ([], True, 2)


def test_a_leader_that_hears_of_a_later_epoch_follows() -> None:
    n = leader()
    take(n, NewEpoch(2), 1)
    assert (n.role, n.leader_id) == (Role.FOLLOWING, 1)


def test_a_quorum_of_acknowledgements_begins_the_epoch_with_the_leaders_own_history() -> None:
    n = leader(history=history(A), next_counter=7)
    effects = take(n, AckEpoch(9, Zxid(9, 9)), 1)
    assert (n.current_epoch, n.next_counter, n.leader_acks) == (1, 0, {3})
    assert sent(effects) == [(1, NewLeader(1, history(A))), (2, NewLeader(1, history(A)))]


def test_only_a_leader_counts_them() -> None:
    n = node(1)
    assert take(n, AckEpoch(0, NONE), 2) == []
    assert take(n, AckLeader(0), 2) == []
    assert (n.epoch_acks, n.leader_acks) == (frozenset(), frozenset())


def test_an_acknowledgement_that_comes_later_sets_the_counter_back() -> None:
    n = synced_leader()
    request(n, "a")
    effects = take(n, AckEpoch(0, NONE), 2)
    assert (n.next_counter, n.leader_acks, n.synced) == (0, {3}, True)
    assert sent(effects) == [(peer, NewLeader(1, history(txn(1, 1, "a")))) for peer in (1, 2)]
    request(n, "b")
    assert list(n.history.chain) == [txn(1, 1, "a"), txn(1, 1, "b")]


def test_an_acknowledgement_of_another_epoch_counts() -> None:
    n = leader(5)
    take(n, AckEpoch(0, NONE), 1)
    n.pending_new_epoch = n.accepted_epoch = 8
    take(n, AckEpoch(0, NONE), 2)
    assert n.current_epoch == 8


def test_the_history_of_the_leader_takes_the_place_of_ones_own() -> None:
    n = node(1, role=Role.FOLLOWING, leader_id=3, history=history(A, B), accepted_epoch=1, current_epoch=1)
    effects = take(n, NewLeader(2, history(A, C)), 3)
    assert (n.history, n.current_epoch, n.accepted_epoch) == (history(A, C), 2, 2)
    assert sent(effects) == [(3, AckLeader(2))]
    assert resets(effects)
    chain = history(A, C).chain
    assert shown(effects) == [
        Promise(1, 1, 2, 3),
        Truncate(1, 1, Zxid(1, 1), 1),
        Adopt(1, 1, 2, Zxid(2, 1), 2, chain.hash),
    ]


def test_also_what_is_committed_is_lost_then() -> None:
    n = node(1, history=history(A, B), last_committed=Zxid(1, 2))
    take(n, NewLeader(2, history()), 3)
    assert (n.history, n.last_committed) == (history(), Zxid(1, 2))


def test_a_history_of_an_epoch_older_than_the_promise_is_ignored() -> None:
    n = node(1, accepted_epoch=3)
    assert take(n, NewLeader(2, history(A)), 3) == []
    assert n.history == history()


def test_a_leader_that_gets_the_history_of_its_own_epoch_follows() -> None:
    n = leader()
    take(n, NewLeader(1, history()), 2)
    assert (n.role, n.leader_id) == (Role.FOLLOWING, 2)


def test_a_quorum_that_has_the_history_lets_the_leader_begin_and_commits_it() -> None:
    n = leader(history=history(A, B))
    take(n, AckEpoch(0, NONE), 1)
    assert (take(n, AckLeader(2), 1), n.synced) == ([], False), "of another epoch"
    effects = take(n, AckLeader(1), 1)
    assert (n.synced, n.last_committed) == (True, Zxid(1, 2))
    assert sent(effects) == [(1, Commit(Zxid(1, 2))), (2, Commit(Zxid(1, 2)))]
    assert shown(effects) == [Establish(3, 1, 1), Ready(3, 1, 1), Deliver(3, 1, A), Deliver(3, 1, B)]
    assert take(n, AckLeader(1), 2) == []


def test_there_is_nothing_to_commit_of_an_empty_history() -> None:
    assert synced_leader().last_committed == NONE
