"""To whom the messages go while a follower joins late, and what it makes of them: the sources leave it open."""

import pytest

from invariants import EMPTY, Chain, CommitEpoch, Deliver
from tests.invariants.builders import A, B, D, E
from tests.protocols.zab.builders import (
    AB,
    EPOCH,
    announcing,
    established,
    following,
    proposing,
    sent,
    synced,
    synchronizing,
    txn,
)
from zabcheck.protocols.base import GiveUp, Request
from zabcheck.protocols.zab.follower import on_commit, on_commit_ld, on_newleader, on_propose
from zabcheck.protocols.zab.histories import Whole
from zabcheck.protocols.zab.leader import on_ack, on_ack_e, on_ack_ld, on_cepoch, on_request
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
from zabcheck.protocols.zab.process import Leader, Link, Phase

LINKS = {1: Link.SYNCED, 2: Link.SYNCED, 3: Link.PROPOSED, 4: Link.DISCOVERED, 5: Link.ASKED}


def five() -> Leader:
    """An established leader of five, with a follower at each point of joining, and D proposed."""
    return established(1, 2, n=5, links=LINKS, acks=dict.fromkeys((1, 2, 3), B.zxid), proposed=AB.append(D))


def test_a_proposal_goes_to_each_follower_that_was_sent_newleader() -> None:
    """To the others it comes within NEWLEADER."""
    assert sent(on_request(five(), 1, Request("e"))) == [(f, Propose(EPOCH, E)) for f in (1, 2, 3)]


def test_a_commit_goes_to_each_follower_that_acknowledged_newleader() -> None:
    leader = five()
    on_ack(leader, 1, Ack(EPOCH, D.zxid))
    on_ack(leader, 3, Ack(EPOCH, D.zxid))
    assert sent(on_ack(leader, 2, Ack(EPOCH, D.zxid))) == [(f, Commit(EPOCH, D.zxid)) for f in (1, 2)]


def test_a_late_joiner_gets_each_transaction_once() -> None:
    """NEWLEADER has what was broadcast before it; the rest follows."""
    leader = established(1, 2)
    on_request(leader, 1, Request("d"))
    joining = sent(on_cepoch(leader, 3, CEpoch(0)))
    on_request(leader, 1, Request("e"))
    after = on_request(leader, 1, Request("f"))
    assert joining[-1] == (3, NewLeader(EPOCH, Whole(AB.append(D))))
    assert [m.txn.zxid.counter for to, m in sent(after) if to == 3 and isinstance(m, Propose)] == [3]


def test_a_late_acknowledgement_is_answered_with_the_last_committed_zxid() -> None:
    """The history in NEWLEADER may go beyond what is committed."""
    leader = established(1, 2)
    on_request(leader, 1, Request("d"))
    on_cepoch(leader, 3, CEpoch(0))
    on_request(leader, 1, Request("e"))
    on_ack(leader, 1, Ack(EPOCH, D.zxid))
    leader.acks = {**leader.acks, 3: B.zxid}
    answer = sent(on_ack_ld(leader, 3, AckLd(EPOCH, B.zxid)))
    assert answer == [(3, CommitLd(EPOCH, B.zxid))]


def test_an_acknowledgement_of_newleader_acknowledges_what_it_covers() -> None:
    """It may complete the quorum of a transaction; the joiner itself learns that from its COMMIT-LD."""
    leader = established(1, 2)
    on_request(leader, 1, Request("d"))
    on_cepoch(leader, 3, CEpoch(0))
    assert on_ack(leader, 1, Ack(EPOCH, D.zxid)) == []
    commit = Commit(EPOCH, D.zxid)
    answer = sent(on_ack_ld(leader, 3, AckLd(EPOCH, D.zxid)))
    assert answer == [(1, commit), (2, commit), (3, CommitLd(EPOCH, D.zxid))]


def test_a_late_joiner_accepts_proposals_before_it_delivers_anything() -> None:
    f = synchronizing()
    on_newleader(f, 1, NewLeader(EPOCH, Whole(AB)))
    assert sent(on_propose(f, 1, Propose(EPOCH, D))) == [(1, Ack(EPOCH, D.zxid))]
    assert on_commit(f, 1, Commit(EPOCH, D.zxid)) == []
    assert on_commit_ld(f, 1, CommitLd(EPOCH, D.zxid)) == [
        CommitEpoch(2, 0, EPOCH),
        *(Deliver(2, 0, txn) for txn in (A, B, D)),
    ]


def test_a_late_joiner_delivers_no_more_than_is_committed() -> None:
    f = synced(history=AB.append(D))
    effects = on_commit_ld(f, 1, CommitLd(EPOCH, B.zxid))
    assert [effect.txn for effect in effects if isinstance(effect, Deliver)] == [A, B]


@pytest.mark.parametrize("duplicate", [A, B, D], ids=str)
def test_a_duplicate_proposal_is_dropped(duplicate: object) -> None:
    f = following(history=AB.append(D))
    assert on_propose(f, 1, Propose(EPOCH, duplicate)) == []  # type: ignore[arg-type]  # as parametrised
    assert f.history == AB.append(D)


@pytest.mark.parametrize("unknown", [D, txn(1, 3)], ids=str)
def test_a_commit_of_what_the_follower_does_not_have_is_ignored(unknown: object) -> None:
    f = following(delivered=Chain.of([A]), history=AB.append(E))
    assert on_commit(f, 1, Commit(EPOCH, unknown.zxid)) == []  # type: ignore[attr-defined]  # as parametrised
    assert f.delivered == Chain.of([A])


# A CEPOCH that comes after e' is chosen.


def test_a_cepoch_while_the_epoch_is_being_promised_is_answered_with_that_epoch() -> None:
    leader = proposing(1, 2)
    assert sent(on_cepoch(leader, 3, CEpoch(7))) == [(3, NewEpoch(EPOCH))]
    assert leader.new_epoch == EPOCH


def test_a_cepoch_while_the_history_is_being_taken_over_is_answered_with_both() -> None:
    leader = announcing(1, 2)
    assert sent(on_cepoch(leader, 3, CEpoch(0))) == [(3, NewEpoch(EPOCH)), (3, NewLeader(EPOCH, Whole(AB)))]
    assert not leader.established
    assert on_ack_e(leader, 3, AckE(0, Whole(EMPTY))) == []
    on_ack_ld(leader, 3, AckLd(EPOCH, B.zxid))
    on_ack_ld(leader, 2, AckLd(EPOCH, B.zxid))
    assert leader.established


def test_a_cepoch_opens_a_new_iteration_of_a_follower_that_the_leader_had() -> None:
    """It gets nothing of the epoch any more until it is proposed the history again."""
    leader = proposing(1, 2, links={1: Link.ASKED, 2: Link.DISCOVERED})
    on_cepoch(leader, 2, CEpoch(EPOCH))
    assert leader.links[2] is Link.ASKED


# A follower that has promised the epoch before.


def test_an_old_promise_does_not_help_to_complete_phase_1() -> None:
    """Its answer was lost and will not come again; instead of waiting for it, the leader starts anew."""
    leader = proposing(1, 2, 3)
    on_ack_e(leader, 1, AckE(1, Whole(AB)))
    assert [type(effect) for effect in on_ack_e(leader, 2, AckE(1, Whole(AB), counts=False))] == [GiveUp]
    assert leader.proposed is None


def test_a_follower_whose_answer_counted_may_come_back_before_phase_1_ends() -> None:
    leader = proposing(1, 2, 3, n=5)
    on_ack_e(leader, 1, AckE(1, Whole(AB)))
    on_ack_e(leader, 2, AckE(1, Whole(AB)))
    on_cepoch(leader, 2, CEpoch(EPOCH))
    assert on_ack_e(leader, 2, AckE(1, Whole(AB), counts=False)) == []
    assert [to for to, _ in sent(on_ack_e(leader, 3, AckE(0, Whole(EMPTY))))] == [1, 2, 3]


def test_an_old_promise_does_not_offer_a_history() -> None:
    leader = proposing(1, 2, 3)
    on_ack_e(leader, 2, AckE(9, Whole(AB.append(D)), counts=False))
    on_ack_e(leader, 1, AckE(1, Whole(AB)))
    on_ack_e(leader, 3, AckE(0, Whole(EMPTY)))
    assert leader.proposed == AB


def test_a_process_that_promised_before_may_still_be_synchronised() -> None:
    f = synchronizing(current_epoch=EPOCH, history=AB.append(D))
    [(_, ack)] = sent(on_newleader(f, 1, NewLeader(EPOCH, Whole(AB.append(D)))))
    assert ack == AckLd(EPOCH, D.zxid)
    assert f.phase is Phase.SYNCHRONIZATION
