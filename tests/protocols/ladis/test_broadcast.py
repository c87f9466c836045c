"""LADIS 2008, 4.1: the broadcast mode, sentence by sentence."""

import pytest

from invariants import Accept, Broadcast, Deliver, Establish, Ready, Txn, Zxid
from tests.invariants.builders import A, B, D, E
from tests.protocols.ladis.builders import (
    AB,
    ABC,
    EPOCH,
    START,
    active,
    following,
    recovering,
    synchronising,
    took_over,
)
from tests.protocols.zab.builders import at_once, gives_up, sent, written
from zabcheck.protocols.base import Cast, Changed, Request, TimedOut
from zabcheck.protocols.ladis import LADIS
from zabcheck.protocols.ladis.broadcast import acknowledge, can_broadcast, on_ack, on_commit, on_proposal, on_request
from zabcheck.protocols.ladis.messages import Ack, Commit, Proposal
from zabcheck.protocols.ladis.process import Mode, Server, abandon, first_of, identity
from zabcheck.protocols.switches import ZabSwitches


def test_before_proposing_a_message_the_leader_assigns_a_monotonically_increasing_unique_id() -> None:
    leader = active(1, 2, 3)
    for txn in (D, E):
        assert on_request(leader, 1, Request(txn.value))[0] == Broadcast(1, 0, EPOCH, txn)
    assert leader.latest == START + 2
    assert Zxid.unpack(leader.latest) == E.zxid


def test_broadcasting_puts_the_proposal_into_the_outgoing_queue_for_each_follower() -> None:
    assert sent(on_request(active(1, 2, 3), 1, Request("d"))) == [(f, Proposal(D)) for f in (1, 2, 3)]


@pytest.mark.parametrize("leader", [took_over(1, 2), active(1, 2, instance=0), following()])
def test_only_an_active_leader_broadcasts(leader: Server) -> None:
    assert not can_broadcast(leader)
    assert on_request(leader, leader.id, Request("d")) == []


def test_a_counter_that_would_overflow_forces_a_new_epoch() -> None:
    leader = active(1, 2, switches=ZabSwitches(counter_limit=1))
    assert not gives_up(on_request(leader, 1, Request("d")))
    assert gives_up(on_request(leader, 1, Request("e")))


def test_a_request_waits_while_as_many_proposals_as_may_be_are_outstanding() -> None:
    leader = active(1, 2, 3, switches=ZabSwitches(outstanding=1))
    assert sent(on_request(leader, 1, Request("d"))) == [(f, Proposal(D)) for f in (1, 2, 3)]
    before = identity(leader)
    assert on_request(leader, 1, Request("e")) == [Changed()]
    assert leader.waiting == ("e",)
    assert identity(leader) != before
    ack = Ack(D.zxid.packed())
    assert on_ack(leader, 1, ack) == []
    effects = on_ack(leader, 2, ack)
    assert sent(effects) == [(f, m) for m in (Commit(D.zxid.packed()), Proposal(E)) for f in (1, 2, 3)]
    assert effects[3] == Broadcast(1, 0, EPOCH, E)
    assert leader.waiting == ()


def test_requests_that_wait_are_proposed_in_their_order_as_many_as_there_is_room_for() -> None:
    leader = active(1, 2, switches=ZabSwitches(outstanding=2))
    for value in ("d", "e", "f", "g", "h"):
        on_request(leader, 1, Request(value))
    for follower in (1, 2):
        on_ack(leader, follower, Ack(E.zxid.packed()))
    assert leader.log is not None
    assert [txn.value for txn in leader.log.after(len(AB))] == ["d", "e", "f", "g"]
    assert leader.waiting == ("h",)


def test_a_leader_that_is_deposed_drops_the_requests_that_wait() -> None:
    leader = active(1, 2, 3, switches=ZabSwitches(outstanding=1), waiting=("e",))
    assert gives_up(LADIS.steps[TimedOut](leader, 1, TimedOut()))
    abandon(leader)
    assert leader.waiting == ()


def test_a_counter_overflows_with_the_request_that_would_wait_for_it() -> None:
    leader = active(1, 2, switches=ZabSwitches(outstanding=1, counter_limit=2))
    assert not any(gives_up(on_request(leader, 1, Request(value))) for value in ("d", "e"))
    assert gives_up(on_request(leader, 1, Request("f")))


def test_a_counter_never_runs_into_the_epoch() -> None:
    assert gives_up(on_request(active(1, 2, latest=START + 2**32 - 1), 1, Request("d")))


def test_a_follower_writes_a_proposal_to_disk_and_acknowledges_as_soon_as_it_is_there() -> None:
    follower = following()
    effects = on_proposal(follower, 1, Proposal(D))
    assert at_once(effects) == []
    assert written(effects) == [{"history": AB.append(D), "zxid": D.zxid.packed()}]
    assert effects[1:-1] == [Accept(2, 0, EPOCH, D)]
    assert sent(effects) == [(1, Ack(D.zxid.packed()))]


@pytest.mark.parametrize(("follower", "sender", "txn"), [(following(), 3, D), (following(), 1, B)])
def test_a_proposal_of_another_leader_or_a_duplicate_is_dropped(follower: Server, sender: int, txn: Txn) -> None:
    assert on_proposal(follower, sender, Proposal(txn)) == []
    assert follower.history == AB


def test_when_a_leader_receives_acks_from_a_quorum_it_broadcasts_a_commit() -> None:
    leader = active(1, 2, 3, log=AB.append(D), latest=START + 1)
    assert on_ack(leader, 1, Ack(D.zxid.packed())) == []
    assert sent(on_ack(leader, 3, Ack(D.zxid.packed()))) == [(f, Commit(D.zxid.packed())) for f in (1, 2, 3)]
    assert on_ack(leader, 2, Ack(D.zxid.packed())) == []


def test_an_ack_counts_for_all_before_it() -> None:
    leader = active(1, 2, log=AB.append(D).append(E), latest=START + 2)
    on_ack(leader, 1, Ack(E.zxid.packed()))
    on_ack(leader, 2, Ack(D.zxid.packed()))
    assert Zxid.unpack(leader.committed) == D.zxid


def test_an_ack_of_one_that_is_not_in_the_broadcast_list_does_not_count() -> None:
    leader = active(1, log=AB.append(D))
    assert on_ack(leader, 2, Ack(D.zxid.packed())) == []
    assert 2 not in leader.acks


def test_a_newly_elected_leader_proposes_nothing_new_before_a_quorum_has_committed_its_log() -> None:
    leader = took_over(1, 2, 3)
    assert on_ack(leader, 1, Ack(START)) == []
    assert on_ack(leader, 2, Ack(B.zxid.packed())) == []
    effects = on_ack(leader, 3, Ack(START))
    assert effects[0] == Establish(1, 0, EPOCH)
    assert sent(effects) == [(f, Commit(START)) for f in (1, 2, 3)]


def test_followers_deliver_the_message_when_they_receive_the_commit() -> None:
    follower = following(history=AB.append(D).append(E), delivered=AB)
    assert on_commit(follower, 1, Commit(D.zxid.packed())) == [Deliver(2, 0, D)]
    assert on_commit(follower, 3, Commit(E.zxid.packed())) == []
    assert on_commit(follower, 1, Commit(E.zxid.packed())) == [Deliver(2, 0, E)]


def test_the_first_commit_delivers_the_log_and_ends_recovery_mode() -> None:
    follower = recovering()
    assert on_commit(follower, 1, Commit(START)) == [Deliver(2, 0, A), Deliver(2, 0, B)]
    assert follower.mode is Mode.BROADCAST


def test_the_application_of_the_leader_is_told_after_its_log_is_delivered() -> None:
    leader = took_over(1, 2)
    assert on_commit(leader, 1, Commit(START)) == [Deliver(1, 0, A), Deliver(1, 0, B), Ready(1, 0, EPOCH)]
    assert can_broadcast(leader)


def test_a_log_that_does_not_continue_what_was_delivered_is_delivered_from_its_start() -> None:
    follower = recovering(history=AB, delivered=AB.append(D))
    assert on_commit(follower, 1, Commit(START)) == [Deliver(2, 0, A), Deliver(2, 0, B)]


def test_before_the_record_of_the_new_leader_a_proposal_is_kept_for_it() -> None:
    follower = synchronising()
    assert on_proposal(follower, 1, Proposal(D)) == []
    assert (follower.history, follower.incoming) == (AB, AB.append(D))
    assert on_commit(follower, 1, Commit(START)) == []


def test_without_commits_a_follower_counts_the_acks_of_its_epoch_for_itself_and_delivers() -> None:
    """It sends its own to all (4.1)."""
    follower = following(history=ABC, delivered=AB, switches=ZabSwitches(commits="acks"))
    others = [each for each in (1, 2, 3) if each not in (follower.id, follower.leader)]
    assert [each.to for each in acknowledge(follower) if isinstance(each, Cast)] == others
    for epoch in (EPOCH - 1, EPOCH + 1):
        for sender in (1, 2, 3):
            on_ack(follower, sender, Ack(first_of(epoch) + 3))
    assert follower.delivered == AB
    assert on_ack(follower, 1, Ack(START)) == [Changed()]
    assert on_ack(follower, 2, Ack(START)) == [Changed(), Deliver(follower.id, 0, ABC.txn)]
