"""A chain or a tree in place of the star (DSN 2011, VII): steps T.1 to T.6 of `relays`."""

import pytest

from invariants import NO_ZXID, Deliver
from tests.invariants.builders import B
from tests.protocols.zab.builders import AB, EPOCH, announcing, at_once, established, following, sent, synced, txn
from zabcheck.protocols.base import Cast, Lost, Request
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.protocols.zab import contradiction
from zabcheck.protocols.zab.follower import on_commit, on_commit_ld, on_newleader, on_propose
from zabcheck.protocols.zab.histories import Whole
from zabcheck.protocols.zab.leader import on_ack, on_ack_ld, on_cepoch, on_lost, on_request
from zabcheck.protocols.zab.messages import Ack, AckLd, CEpoch, Commit, CommitLd, NewLeader, Propose
from zabcheck.protocols.zab.process import Link

CHAIN, TREE = ZabSwitches(dissemination="chain"), ZabSwitches(dissemination="tree")
C, D, E = (txn(EPOCH, counter) for counter in (1, 2, 3))
FIRST = Propose(EPOCH, C, B.zxid)
SECOND = Propose(EPOCH, D, C.zxid)
THIRD = Propose(EPOCH, E, D.zxid)


def test_step_t1_a_follower_comes_to_the_end_when_it_has_acknowledged_newleader() -> None:
    """Before that, the leader sends to it directly."""
    leader = established(1, 2, switches=CHAIN, path=(2,))
    leader.links = {**leader.links, 3: Link.PROPOSED}
    assert sent(on_request(leader, 1, Request("v"))) == [(1, FIRST), (3, FIRST), (2, FIRST)]
    on_ack_ld(leader, 3, AckLd(EPOCH, B.zxid))
    assert leader.path == (2, 3)
    star = announcing(1, 2)
    on_ack_ld(star, 2, AckLd(EPOCH, B.zxid))
    assert star.path == ()


@pytest.mark.parametrize(
    ("switches", "routes"),
    [(CHAIN, [(2, (3, 4, 5, 6))]), (TREE, [(2, (3, 4)), (5, (6,))])],
)
def test_step_t2_the_leader_sends_to_the_first_of_each_branch(
    switches: ZabSwitches, routes: list[tuple[int, tuple[int, ...]]]
) -> None:
    """A PROPOSE as well as a COMMIT, and to itself; each names those below."""
    leader = established(*range(1, 7), switches=switches, path=(2, 3, 4, 5, 6))
    proposals = sent(on_request(leader, 1, Request("v")))
    assert proposals == [(1, FIRST), *((to, Propose(EPOCH, C, B.zxid, route)) for to, route in routes)]
    leader.quorums = established(1, 2, 3).quorums
    on_ack(leader, 1, Ack(EPOCH, C.zxid))
    commits = sent(on_ack(leader, 2, Ack(EPOCH, C.zxid)))
    assert commits == [(1, Commit(EPOCH, C.zxid)), *((to, Commit(EPOCH, C.zxid, route)) for to, route in routes)]


def test_step_t3_a_relay_passes_on_before_it_has_written_and_what_it_had_before_too() -> None:
    """Its own ACK goes straight to the leader."""
    relay = following(switches=TREE, known=B.zxid)
    there = [Cast(3, Propose(EPOCH, C, B.zxid, (4,))), Cast(5, FIRST)]
    proposal = Propose(EPOCH, C, B.zxid, (3, 4, 5))
    effects = on_propose(relay, 9, proposal)
    assert [each for each in at_once(effects) if isinstance(each, Cast)] == there
    assert sent(effects) == [(1, Ack(EPOCH, C.zxid))]
    again = on_propose(relay, 1, proposal)
    assert [each for each in again if isinstance(each, Cast)] == there
    assert not sent(again)
    assert Cast(3, Commit(EPOCH, C.zxid)) in on_commit(relay, 9, Commit(EPOCH, C.zxid, (3,)))


def test_step_t4_what_leaves_a_hole_is_kept_aside_until_that_is_filled() -> None:
    member = following(switches=CHAIN, known=B.zxid)
    for early in (THIRD, SECOND, SECOND):
        assert not sent(on_propose(member, 3, early))
    assert (member.history, member.aside) == (AB, (SECOND, THIRD))
    effects = on_propose(member, 1, FIRST)
    assert sent(effects) == [(1, Ack(EPOCH, each.zxid)) for each in (C, D, E)]
    assert (member.history, member.aside) == (AB.append(C).append(D).append(E), ())


def test_step_t4_nothing_is_accepted_before_newleader_nor_of_another_epoch() -> None:
    """A later iteration of the same epoch is no exception: NEWLEADER would truncate it."""
    member = synced(switches=CHAIN)
    assert on_propose(member, 3, FIRST) == on_commit(member, 3, Commit(EPOCH, B.zxid)) == []
    on_newleader(member, 1, NewLeader(EPOCH, Whole(AB)))
    assert member.known == NO_ZXID
    assert on_propose(member, 3, Propose(EPOCH - 1, txn(EPOCH - 1, 9), B.zxid, (4,))) == []
    assert sent(on_propose(member, 3, FIRST)) == [(1, Ack(EPOCH, C.zxid))]


def test_step_t5_a_commit_that_has_overtaken_what_it_commits_or_commit_ld_is_kept() -> None:
    member = synced(switches=CHAIN, known=NO_ZXID)
    on_commit(member, 3, Commit(EPOCH, C.zxid))
    on_commit_ld(member, 1, CommitLd(EPOCH, B.zxid))
    assert member.delivered == AB
    assert on_propose(member, 1, FIRST)[-1] == Deliver(2, 0, C)


@pytest.mark.parametrize("how", ["closed", "came again"])
def test_step_t6_the_ranks_are_closed_and_what_is_not_acknowledged_is_sent_again(how: str) -> None:
    """To each of the others directly, and the last COMMIT."""
    leader = established(1, 2, 3, 4, switches=CHAIN, path=(2, 3, 4), history=AB.append(C))
    leader.acks = {**leader.acks, 3: B.zxid}
    effects = on_lost(leader, 1, Lost(2)) if how == "closed" else on_cepoch(leader, 2, CEpoch(EPOCH))
    commit = Commit(EPOCH, C.zxid)
    assert leader.path == (3, 4)
    assert [each for each in sent(effects) if each[0] != 2] == [(3, FIRST), (3, commit), (4, commit)]


def test_followers_that_count_acks_need_nothing_passed_on_to_them() -> None:
    assert contradiction({"dissemination": "chain", "commits": "leader"}) == ""
    assert "expected commits=leader" in contradiction({"dissemination": "tree", "commits": "acks"})
