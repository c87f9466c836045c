"""Phase 2 (DSN 2011, IV): a quorum takes over the initial history, and the leader is established."""

import pytest

from invariants import EMPTY, Adopt, Chain, CommitEpoch, Deliver, Establish, Ready, Truncate, Zxid
from tests.invariants.builders import A, B, C
from tests.protocols.zab.builders import (
    AB,
    EPOCH,
    announcing,
    at_once,
    candidate,
    follower,
    gives_up,
    proposing,
    sent,
    synced,
    synchronizing,
    written,
)
from zabcheck.protocols.zab.follower import on_commit_ld, on_newleader
from zabcheck.protocols.zab.histories import Whole
from zabcheck.protocols.zab.leader import on_ack_e, on_ack_ld
from zabcheck.protocols.zab.messages import AckE, AckLd, CommitLd, NewLeader
from zabcheck.protocols.zab.process import Link, Phase


def test_l_2_1_the_initial_history_is_proposed_to_all_of_the_quorum() -> None:
    """NEWLEADER(e', I_e') goes to every follower in Q: each that acknowledged e'."""
    leader = proposing(1, 2, 3, 4, n=5)
    on_ack_e(leader, 4, AckE(1, Whole(AB)))
    on_ack_e(leader, 1, AckE(0, Whole(EMPTY)))
    effects = on_ack_e(leader, 2, AckE(0, Whole(EMPTY)))
    assert sent(effects) == [(f, NewLeader(EPOCH, Whole(AB))) for f in (1, 2, 4)]
    assert leader.links[3] is Link.ASKED


def test_l_2_1_who_acknowledges_the_epoch_later_gets_it_later() -> None:
    """Nobody is proposed an initial history that has not promised the epoch."""
    leader = proposing(1, 2, 3)
    on_ack_e(leader, 1, AckE(1, Whole(AB)))
    on_ack_e(leader, 2, AckE(0, Whole(EMPTY)))
    assert sent(on_ack_e(leader, 3, AckE(9, Whole(EMPTY)))) == [(3, NewLeader(EPOCH, Whole(AB)))]
    assert leader.proposed == AB


def test_f_2_1_the_epoch_and_its_initial_history_are_accepted_and_acknowledged() -> None:
    """If f.p = e': f.a becomes e', each transaction of I_e' is accepted, and h_f becomes I_e'; then comes the ACK."""
    f = synchronizing(history=Chain.of([A]))
    effects = on_newleader(f, 1, NewLeader(EPOCH, Whole(AB)))
    assert (f.current_epoch, f.history) == (EPOCH, AB)
    assert sent(effects) == [(1, AckLd(EPOCH, B.zxid))]
    assert Adopt(2, 0, EPOCH, B.zxid, 2, AB.hash) in effects


def test_f_2_1_is_atomic_and_durable_before_it_is_acknowledged() -> None:
    """f.a and h_f are set in one write: after a crash the follower has both or neither."""
    effects = on_newleader(synchronizing(), 1, NewLeader(EPOCH, Whole(AB)))
    assert at_once(effects) == []
    assert written(effects) == [{"current_epoch": EPOCH, "history": AB}]


def test_f_2_1_what_the_initial_history_does_not_have_is_truncated() -> None:
    """h_f becomes I_e', whatever it was."""
    f = synchronizing(history=Chain.of([A, C]))
    effects = on_newleader(f, 1, NewLeader(EPOCH, Whole(AB)))
    assert f.history == AB
    assert Truncate(2, 0, A.zxid, 1) in effects


@pytest.mark.parametrize("history", [EMPTY, Chain.of([A]), AB])
def test_f_2_1_nothing_is_truncated_if_the_initial_history_goes_on_from_the_old_one(history: Chain) -> None:
    """To accept what is missing at the end is all that h_f = I_e' takes then."""
    effects = on_newleader(synchronizing(history=history), 1, NewLeader(EPOCH, Whole(AB)))
    assert not [effect for effect in effects if isinstance(effect, Truncate)]


@pytest.mark.parametrize("promised", [1, 3])
def test_f_2_1_an_epoch_that_was_not_promised_starts_a_new_iteration(promised: int) -> None:
    """If f.p ≠ e', the follower starts a new iteration."""
    f = synchronizing(accepted_epoch=promised)
    assert gives_up(on_newleader(f, 1, NewLeader(EPOCH, Whole(AB))))
    assert (f.current_epoch, f.history) == (1, EMPTY)


@pytest.mark.parametrize("phase", [Phase.ELECTION, Phase.DISCOVERY, Phase.BROADCAST])
def test_f_2_1_belongs_to_phase_2(phase: Phase) -> None:
    """The initial history is accepted after the promise, and once."""
    f = follower(phase=phase, accepted_epoch=EPOCH)
    assert on_newleader(f, 1, NewLeader(EPOCH, Whole(AB))) == []
    assert f.history == EMPTY


def test_f_2_1_nobody_but_the_chosen_leader_sets_the_history() -> None:
    """NEWLEADER comes from the leader that the follower follows."""
    assert on_newleader(synchronizing(), 3, NewLeader(EPOCH, Whole(AB))) == []


def test_l_2_2_a_quorum_of_acknowledgements_establishes_the_leader() -> None:
    """With ACK-LDs from a quorum the leader sends a commit to the followers, and phase 2 is over."""
    leader = announcing(1, 2, 3, 4, n=5)
    assert on_ack_ld(leader, 1, AckLd(EPOCH, B.zxid)) == []
    assert on_ack_ld(leader, 4, AckLd(EPOCH, B.zxid)) == []
    effects = on_ack_ld(leader, 3, AckLd(EPOCH, B.zxid))
    assert effects[0] == Establish(1, 0, EPOCH)
    assert sent(effects) == [(f, CommitLd(EPOCH, B.zxid)) for f in (1, 3, 4)]
    assert leader.committed == B.zxid


def test_l_2_2_an_acknowledgement_counts_once() -> None:
    """A quorum consists of different followers."""
    leader = announcing(1, 2)
    assert on_ack_ld(leader, 2, AckLd(EPOCH, B.zxid)) == []
    assert on_ack_ld(leader, 2, AckLd(EPOCH, B.zxid)) == []
    assert not leader.established


def test_l_2_2_an_acknowledgement_is_wanted_from_those_that_got_newleader_only() -> None:
    """An ACK-LD acknowledges NEWLEADER(e', I_e')."""
    leader = announcing(1, 2, links={1: Link.PROPOSED, 2: Link.PROPOSED, 3: Link.ASKED})
    on_ack_ld(leader, 1, AckLd(EPOCH, B.zxid))
    assert on_ack_ld(leader, 3, AckLd(EPOCH, B.zxid)) == []
    assert on_ack_ld(candidate(leader=2), 2, AckLd(EPOCH, B.zxid)) == []
    assert not leader.established


def test_f_2_2_the_initial_history_is_delivered_in_order() -> None:
    """At the commit, every transaction of I_e' is delivered, in the order of I_e'; the follower's phase 2 is over."""
    f = synced()
    effects = on_commit_ld(f, 1, CommitLd(EPOCH, B.zxid))
    assert effects == [CommitEpoch(2, 0, EPOCH), Deliver(2, 0, A), Deliver(2, 0, B)]
    assert f.phase is Phase.BROADCAST


def test_f_2_2_what_was_delivered_before_need_not_be_delivered_again() -> None:
    """Delivering twice is legal, and this follower does without."""
    effects = on_commit_ld(synced(delivered=Chain.of([A])), 1, CommitLd(EPOCH, B.zxid))
    assert effects == [CommitEpoch(2, 0, EPOCH), Deliver(2, 0, B)]


def test_f_2_2_an_empty_history_is_committed_too() -> None:
    """With no transaction to deliver, phase 2 is completed all the same."""
    f = synced(history=EMPTY)
    assert on_commit_ld(f, 1, CommitLd(EPOCH, Zxid(0, 0))) == [CommitEpoch(2, 0, EPOCH)]
    assert f.phase is Phase.BROADCAST


def test_f_2_2_only_a_follower_does_not_become_ready() -> None:
    """ready(e') is for the process that leads."""
    f = synced()
    effects = on_commit_ld(f, 1, CommitLd(EPOCH, B.zxid))
    assert not [effect for effect in effects if isinstance(effect, Ready)]
    assert f.instance == 0


@pytest.mark.parametrize(
    "f",
    [synchronizing(), synced(phase=Phase.DISCOVERY), synced(phase=Phase.BROADCAST), synced(leader=3)],
    ids=["before NEWLEADER", "in discovery", "in broadcast", "of another leader"],
)
def test_f_2_2_belongs_to_the_end_of_phase_2(f: object) -> None:
    """The commit answers the acknowledgement of NEWLEADER, and is taken once."""
    assert on_commit_ld(f, 1, CommitLd(EPOCH, B.zxid)) == []  # type: ignore[arg-type]  # as parametrised
