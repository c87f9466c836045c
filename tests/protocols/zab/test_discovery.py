"""Phase 1 (DSN 2011, IV): the prospective leader finds an epoch of its own, and the history to start it with."""

import pytest

from invariants import EMPTY, NO_ZXID, AckEpoch, Chain, Promise
from tests.invariants.builders import A, B
from tests.protocols.zab.builders import (
    AB,
    EPOCH,
    at_once,
    candidate,
    follower,
    gives_up,
    proposing,
    sent,
    txn,
    up,
    written,
)
from zabcheck.protocols.base import Connect, Elected, Send
from zabcheck.protocols.zab.follower import on_elected, on_newepoch
from zabcheck.protocols.zab.histories import Whole
from zabcheck.protocols.zab.leader import latest_follower, on_ack_e, on_cepoch
from zabcheck.protocols.zab.messages import AckE, CEpoch, NewEpoch, NewLeader
from zabcheck.protocols.zab.process import Phase


def test_f_1_1_a_follower_sends_its_last_promise_to_the_prospective_leader() -> None:
    """A follower tells the process that its oracle names the last epoch that it promised, f.p and not f.a."""
    f = up(accepted_epoch=3, current_epoch=1)
    assert on_elected(f, 2, Elected(1)) == [Connect(1), Send(1, CEpoch(3))]
    assert (f.leader, f.phase) == (1, Phase.DISCOVERY)


def test_f_1_1_a_prospective_leader_is_its_own_follower() -> None:
    """A leader performs the steps of a follower as well."""
    leader = up(process=1)
    assert on_elected(leader, 1, Elected(1)) == [Connect(1), Send(1, CEpoch(0))]
    assert leader.leads


def test_l_1_1_a_quorum_of_cepochs_leads_to_a_greater_epoch() -> None:
    """With CEPOCHs from a quorum Q, the prospective leader proposes to Q an e' later than any epoch in them."""
    leader = candidate(n=5)
    assert on_cepoch(leader, 1, CEpoch(4)) == []
    assert on_cepoch(leader, 5, CEpoch(7)) == []
    assert sent(on_cepoch(leader, 2, CEpoch(0))) == [(1, NewEpoch(8)), (5, NewEpoch(8)), (2, NewEpoch(8))]
    assert leader.new_epoch == 8


def test_l_1_1_the_first_epoch_is_1() -> None:
    """⊥ precedes every epoch."""
    leader = candidate()
    on_cepoch(leader, 2, CEpoch(0))
    assert sent(on_cepoch(leader, 3, CEpoch(0))) == [(2, NewEpoch(1)), (3, NewEpoch(1))]


def test_l_1_1_a_second_cepoch_of_a_follower_makes_no_quorum() -> None:
    """A quorum consists of different followers."""
    leader = candidate()
    assert on_cepoch(leader, 2, CEpoch(1)) == []
    assert on_cepoch(leader, 2, CEpoch(1)) == []
    assert leader.new_epoch == 0


def test_l_1_1_only_a_prospective_leader_proposes_an_epoch() -> None:
    """The steps of a leader are for a process whose oracle names itself."""
    f = follower(phase=Phase.DISCOVERY, leader=3)
    assert on_cepoch(f, 1, CEpoch(0)) == []
    assert f.links == {}


def test_f_1_2_a_later_epoch_is_promised_and_acknowledged_with_the_history() -> None:
    """If f.p < e', then f.p becomes e' and the follower acknowledges with f.a and h_f; its phase 1 is over."""
    f = follower(phase=Phase.DISCOVERY, accepted_epoch=1, current_epoch=1, history=AB)
    effects = on_newepoch(f, 1, NewEpoch(EPOCH))
    assert effects[1:] == [
        Promise(2, 0, EPOCH, 1),
        AckEpoch(2, 0, EPOCH, 1, B.zxid, 2, AB.hash),
        Send(1, AckE(1, Whole(AB))),
    ]
    assert (f.accepted_epoch, f.current_epoch, f.phase) == (EPOCH, 1, Phase.SYNCHRONIZATION)


def test_f_1_2_the_promise_is_durable_before_it_is_given() -> None:
    """f.p is a persistent variable: a follower that forgot it could promise the same epoch twice."""
    effects = on_newepoch(follower(phase=Phase.DISCOVERY), 1, NewEpoch(EPOCH))
    assert at_once(effects) == []
    assert written(effects) == [{"accepted_epoch": EPOCH}]


def test_f_1_2_an_epoch_is_not_promised_twice() -> None:
    """V-C: who acknowledged an epoch acknowledges it to nobody else, so no epoch gets two leaders."""
    f = follower(phase=Phase.DISCOVERY, leader=3, accepted_epoch=EPOCH)
    effects = on_newepoch(f, 3, NewEpoch(EPOCH))
    assert not [effect for effect in effects if isinstance(effect, Promise | AckEpoch)]
    assert written(effects) == []
    assert sent(effects) == [(3, AckE(0, Whole(EMPTY), counts=False))]


def test_f_1_2_an_earlier_epoch_is_refused() -> None:
    """V-C: a new epoch is acknowledged only if it is later than f.p."""
    f = follower(phase=Phase.DISCOVERY, accepted_epoch=3)
    assert gives_up(on_newepoch(f, 1, NewEpoch(EPOCH)))
    assert f.accepted_epoch == 3


@pytest.mark.parametrize("phase", [Phase.ELECTION, Phase.SYNCHRONIZATION, Phase.BROADCAST])
def test_f_1_2_belongs_to_phase_1(phase: Phase) -> None:
    """A follower completes phase 1 by its acknowledgement, and does not acknowledge again."""
    f = follower(phase=phase, accepted_epoch=1)
    assert on_newepoch(f, 1, NewEpoch(EPOCH)) == []
    assert (f.phase, f.accepted_epoch) == (phase, 1)


def test_f_1_2_nobody_but_the_chosen_leader_is_answered() -> None:
    """A follower follows one leader at a time (V-C)."""
    assert on_newepoch(follower(phase=Phase.DISCOVERY), 3, NewEpoch(EPOCH)) == []


def test_l_1_2_the_history_of_the_latest_epoch_is_chosen() -> None:
    """The history of the highest f.a in a quorum becomes I_e', even if others are longer."""
    leader = proposing(1, 2)
    assert on_ack_e(leader, 1, AckE(1, Whole(Chain.of([A, B])))) == []
    assert leader.proposed is None
    newest = Chain.of([A, txn(2, 1)])
    proposal = NewLeader(EPOCH, Whole(newest))
    assert sent(on_ack_e(leader, 2, AckE(2, Whole(newest)))) == [(1, proposal), (2, proposal)]
    assert leader.proposed == newest


def test_l_1_2_within_an_epoch_the_highest_zxid_is_chosen() -> None:
    """f'.a = f.a and f'.zxid precedes f.zxid."""
    leader = proposing(1, 2)
    on_ack_e(leader, 1, AckE(1, Whole(AB)))
    on_ack_e(leader, 2, AckE(1, Whole(Chain.of([A]))))
    assert leader.proposed == AB


def test_l_1_2_a_later_epoch_counts_for_more_than_a_later_zxid() -> None:
    """The initial history of a later epoch may have dropped what an earlier epoch never committed."""
    acks = {1: AckE(1, Whole(Chain.of([A, B]))), 2: AckE(2, Whole(Chain.of([A]))), 3: AckE(2, Whole(EMPTY))}
    assert latest_follower(acks) == 2


@pytest.mark.parametrize("order", [(1, 3), (3, 1)])
def test_l_1_2_of_followers_that_are_level_the_lowest_id_provides_the_history(order: tuple[int, int]) -> None:
    """With "precedes" alone neither of two level followers could be chosen."""
    left, right = Chain.of([A, B]), Chain.of([txn(1, 1), B])
    assert left.zxid == right.zxid
    acks = {1: AckE(1, Whole(left)), 3: AckE(1, Whole(right))}
    assert latest_follower({process: acks[process] for process in order}) == 1


def test_l_1_2_nobody_has_anything_at_first() -> None:
    """Every history is ⟨⟩ initially, and so is I_1."""
    leader = proposing(1, 2)
    on_ack_e(leader, 1, AckE(0, Whole(EMPTY)))
    on_ack_e(leader, 2, AckE(0, Whole(EMPTY)))
    assert leader.proposed is not None
    assert leader.proposed.zxid == NO_ZXID


def test_l_1_2_an_ack_e_is_wanted_from_those_that_were_asked_only() -> None:
    """One ACK-E for one NEWEPOCH."""
    leader = proposing(1, 2)
    on_ack_e(leader, 2, AckE(1, Whole(AB)))
    for stranger, ack in ((2, AckE(1, Whole(AB))), (3, AckE(1, Whole(AB)))):
        assert on_ack_e(leader, stranger, ack) == []
    assert leader.proposed is None
