"""Phase 3 (DSN 2011, IV): the primary broadcasts, a quorum accepts, everybody delivers; and followers join late."""

import pytest

from invariants import Accept, Broadcast, Chain, Deliver, Ready, Txn, Zxid
from tests.invariants.builders import A, B, D, E
from tests.protocols.zab.builders import (
    AB,
    EPOCH,
    announcing,
    at_once,
    candidate,
    established,
    following,
    gives_up,
    sent,
    synced,
    synchronizing,
    written,
)
from zabcheck.protocols.base import Changed, Request
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.protocols.zab.follower import on_commit, on_commit_ld, on_newepoch, on_newleader, on_propose
from zabcheck.protocols.zab.histories import Whole
from zabcheck.protocols.zab.leader import can_broadcast, on_ack, on_ack_e, on_ack_ld, on_cepoch, on_request
from zabcheck.protocols.zab.messages import (
    Ack,
    AckE,
    AckLd,
    CEpoch,
    Commit,
    CommitLd,
    NewEpoch,
    NewLeader,
    Propose,
)
from zabcheck.protocols.zab.process import Link, Phase, abandon, identity

ABD = AB.append(D)


def test_l_3_1_transactions_are_proposed_in_the_order_of_their_zxids() -> None:
    """Each proposal of e' has an epoch(z) of e' and succeeds every zxid broadcast in e' before."""
    leader = established(1, 2, 3)
    for txn in (D, E):
        effects = on_request(leader, 1, Request(txn.value))
        assert effects[0] == Broadcast(1, 0, EPOCH, txn)
        assert sent(effects) == [(f, Propose(EPOCH, txn)) for f in (1, 2, 3)]
    assert leader.proposed == ABD.append(E)


def test_l_3_1_a_request_waits_while_as_many_proposals_as_may_be_are_outstanding() -> None:
    """LADIS 2008, 4.2; a late ACK-LD makes room like an ACK."""
    leader = established(1, 2, 3, switches=ZabSwitches(outstanding=1))
    assert len(sent(on_request(leader, 1, Request("d")))) == 3
    before = identity(leader)
    assert on_request(leader, 1, Request("e")) == [Changed()]
    assert leader.waiting == ("e",)
    assert identity(leader) != before
    assert on_ack(leader, 1, Ack(EPOCH, D.zxid)) == []
    leader.links = {**leader.links, 2: Link.PROPOSED}
    effects = on_ack_ld(leader, 2, AckLd(EPOCH, D.zxid))
    assert (2, CommitLd(EPOCH, D.zxid)) in sent(effects)
    assert [each for each in sent(effects) if each[0] == 3] == [(3, Commit(EPOCH, D.zxid)), (3, Propose(EPOCH, E))]
    assert leader.waiting == ()


def test_l_3_1_requests_that_wait_are_broadcast_in_their_order_as_many_as_there_is_room_for() -> None:
    leader = established(1, 2, switches=ZabSwitches(outstanding=2))
    for value in ("d", "e", "f", "g", "h"):
        on_request(leader, 1, Request(value))
    for follower in (1, 2):
        on_ack(leader, follower, Ack(EPOCH, E.zxid))
    assert leader.proposed is not None
    assert [txn.value for txn in leader.proposed.after(len(AB))] == ["d", "e", "f", "g"]
    assert leader.waiting == ("h",)


def test_l_3_1_a_counter_overflows_with_the_request_that_would_wait_for_it() -> None:
    leader = established(1, 2, switches=ZabSwitches(outstanding=1, counter_limit=2))
    assert not any(gives_up(on_request(leader, 1, Request(value))) for value in ("d", "e"))
    assert gives_up(on_request(leader, 1, Request("f")))


def test_a_leader_that_drops_its_iteration_drops_the_requests_that_wait() -> None:
    leader = established(1, 2, 3, switches=ZabSwitches(outstanding=1), waiting=("e",))
    abandon(leader)
    assert leader.waiting == ()


def test_l_3_1_several_proposals_may_be_outstanding() -> None:
    """The primary does not wait for one transaction to be committed before it broadcasts the next."""
    leader = established(1, 2)
    for _ in range(5):
        assert on_request(leader, 1, Request("v"))
    assert leader.committed == B.zxid


@pytest.mark.parametrize(
    "leader",
    [candidate(), announcing(1, 2), announcing(1, 2, established=True), established(1, 2, leader=3, instance=0)],
    ids=["in discovery", "in synchronization", "before its own COMMIT-LD", "of another leader"],
)
def test_l_3_1_nobody_broadcasts_before_ready_was_called(leader: object) -> None:
    """A primary broadcasts only once the layer below has signalled that recovery is over (III)."""
    assert not can_broadcast(leader)  # type: ignore[arg-type]  # as parametrised
    assert on_request(leader, 1, Request("v")) == []  # type: ignore[arg-type]  # as parametrised


def test_l_3_2_a_quorum_of_acknowledgements_commits() -> None:
    """When a quorum of followers has acknowledged a proposal, COMMIT goes to all followers."""
    leader = established(1, 2, 3, 4, n=5, proposed=ABD)
    assert on_ack(leader, 1, Ack(EPOCH, D.zxid)) == []
    assert on_ack(leader, 4, Ack(EPOCH, D.zxid)) == []
    assert sent(on_ack(leader, 2, Ack(EPOCH, D.zxid))) == [(f, Commit(EPOCH, D.zxid)) for f in (1, 2, 3, 4)]
    assert leader.committed == D.zxid


def test_l_3_2_a_transaction_is_committed_once() -> None:
    """A quorum's acknowledgements are received once; those that come later change nothing."""
    leader = established(1, 2, 3, proposed=ABD)
    for process in (1, 2):
        on_ack(leader, process, Ack(EPOCH, D.zxid))
    assert on_ack(leader, 3, Ack(EPOCH, D.zxid)) == []


def test_l_3_2_an_acknowledgement_covers_what_came_before_it() -> None:
    """Channels are FIFO, so who accepted z has accepted everything up to z."""
    leader = established(1, 2, 3, history=ABD.append(E), acks={1: D.zxid, 2: B.zxid, 3: B.zxid}, committed=B.zxid)
    assert sent(on_ack(leader, 2, Ack(EPOCH, E.zxid))) == [(f, Commit(EPOCH, D.zxid)) for f in (1, 2, 3)]


def test_l_3_2_the_leader_s_own_acknowledgement_is_one_of_the_quorum() -> None:
    """A leader is a follower as well, and no more than one."""
    leader = established(1, 2, proposed=ABD)
    assert on_ack(leader, 1, Ack(EPOCH, D.zxid)) == []
    assert sent(on_ack(leader, 2, Ack(EPOCH, D.zxid))) == [(1, Commit(EPOCH, D.zxid)), (2, Commit(EPOCH, D.zxid))]


def test_l_3_2_only_a_leader_counts_and_only_followers_that_it_has() -> None:
    """The quorum is one of followers: those that acknowledged NEWLEADER."""
    assert on_ack(established(1, 2), 3, Ack(EPOCH, D.zxid)) == []
    assert on_ack(established(1, 2, leader=2), 2, Ack(EPOCH, D.zxid)) == []


def test_f_3_1_a_follower_that_leads_calls_ready_first() -> None:
    """Before anything is broadcast in e', and after the initial history is delivered."""
    leader = announcing(1, 2, accepted_epoch=EPOCH, current_epoch=EPOCH, history=AB)
    effects = on_commit_ld(leader, 1, CommitLd(EPOCH, B.zxid))
    assert effects[-1] == Ready(1, 0, EPOCH)
    assert [effect for effect in effects if isinstance(effect, Deliver)] == [Deliver(1, 0, A), Deliver(1, 0, B)]
    assert can_broadcast(leader)


def test_f_3_2_a_proposal_is_accepted_durably_then_acknowledged() -> None:
    """Proposals are appended to h_f; no acknowledgement leaves before the proposal is on stable storage (V)."""
    f = following()
    effects = on_propose(f, 1, Propose(EPOCH, D))
    assert f.history == ABD
    assert at_once(effects) == []
    assert written(effects) == [{"history": ABD}]
    assert Accept(2, 0, EPOCH, D) in effects
    assert sent(effects) == [(1, Ack(EPOCH, D.zxid))]


def test_f_3_2_proposals_are_accepted_in_the_order_they_come() -> None:
    """Proposals are appended to h_f in the order of reception."""
    f = following()
    for txn in (D, E):
        on_propose(f, 1, Propose(EPOCH, txn))
    assert list(f.history) == [A, B, D, E]


def test_f_3_2_a_proposal_is_accepted_from_the_leader_only() -> None:
    """Proposals come from the leader that the follower follows, and there is one at a time."""
    assert on_propose(following(), 3, Propose(EPOCH, D)) == []
    assert on_propose(following(leader=None), 1, Propose(EPOCH, D)) == []


def test_f_3_3_a_commit_delivers_everything_up_to_it() -> None:
    """Every transaction of h_f up to z that is not delivered yet is delivered, in order."""
    f = following(history=ABD.append(E))
    assert on_commit(f, 1, Commit(EPOCH, E.zxid)) == [Deliver(2, 0, D), Deliver(2, 0, E)]
    assert f.delivered == f.history


def test_f_3_3_what_follows_the_committed_transaction_waits() -> None:
    """COMMIT(e', ⟨v,z⟩) commits what precedes z, and z."""
    f = following(history=ABD.append(E))
    assert on_commit(f, 1, Commit(EPOCH, D.zxid)) == [Deliver(2, 0, D)]
    assert on_commit(f, 1, Commit(EPOCH, D.zxid)) == []


@pytest.mark.parametrize("f", [synced(), following(leader=3)], ids=["before COMMIT-LD", "of another leader"])
def test_f_3_3_belongs_to_phase_3(f: object) -> None:
    """A follower delivers β_e' only after the initial history, which COMMIT-LD commits."""
    assert on_commit(f, 1, Commit(EPOCH, B.zxid)) == []  # type: ignore[arg-type]  # as parametrised


def test_l_3_3_a_late_follower_is_proposed_the_epoch_and_all_of_its_history() -> None:
    """A CEPOCH in phase 3 is answered with NEWEPOCH(e') and NEWLEADER(e', I_e' ∘ β_e')."""
    leader = established(1, 2, proposed=ABD)
    assert sent(on_cepoch(leader, 3, CEpoch(1))) == [(3, NewEpoch(EPOCH)), (3, NewLeader(EPOCH, Whole(ABD)))]
    assert leader.new_epoch == EPOCH


def test_l_3_3_the_late_follower_s_own_history_does_not_matter_any_more() -> None:
    """I_e' is chosen once; what is proposed again is I_e' ∘ β_e'."""
    leader = established(1, 2)
    on_cepoch(leader, 3, CEpoch(1))
    assert on_ack_e(leader, 3, AckE(9, Whole(Chain.of([Txn(Zxid(9, 9), "v")])))) == []
    assert leader.proposed == AB


def test_l_3_4_the_late_follower_s_acknowledgement_is_answered_with_a_commit() -> None:
    """After its ACK-LD the follower gets a commit, and the leader adds it to Q: it gets proposals and commits."""
    leader = established(1, 2)
    on_cepoch(leader, 3, CEpoch(1))
    assert sent(on_ack_ld(leader, 3, AckLd(EPOCH, B.zxid))) == [(3, CommitLd(EPOCH, B.zxid))]
    assert leader.links[3] is Link.SYNCED
    assert (3, Propose(EPOCH, D)) in sent(on_request(leader, 1, Request("d")))
    on_ack(leader, 3, Ack(EPOCH, D.zxid))
    assert (3, Commit(EPOCH, D.zxid)) in sent(on_ack(leader, 2, Ack(EPOCH, D.zxid)))


def test_l_3_3_and_l_3_4_together_bring_a_follower_from_anywhere_to_phase_3() -> None:
    """The late follower's own steps are those of phases 1 and 2."""
    leader = established(1, 2, proposed=ABD)
    f = synchronizing(process=3, phase=Phase.DISCOVERY, accepted_epoch=1, history=Chain.of([A]))
    newepoch, newleader = (message for _, message in sent(on_cepoch(leader, 3, CEpoch(1))))
    assert isinstance(newepoch, NewEpoch)
    assert isinstance(newleader, NewLeader)
    on_newepoch(f, 1, newepoch)
    [(_, ack_ld)] = sent(on_newleader(f, 1, newleader))
    assert isinstance(ack_ld, AckLd)
    [(_, commit_ld)] = sent(on_ack_ld(leader, 3, ack_ld))
    assert isinstance(commit_ld, CommitLd)
    assert [e for e in on_commit_ld(f, 1, commit_ld) if isinstance(e, Deliver)] == [Deliver(3, 0, A), Deliver(3, 0, B)]
    assert f.phase is Phase.BROADCAST
