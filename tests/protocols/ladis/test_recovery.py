"""LADIS 2008, 4.2: the recovery mode, sentence by sentence, with what the repairs put in."""

import pytest
from msgspec.structs import replace

from invariants import Adopt, Chain, Halt, Promise, Restore, Truncate
from tests.invariants.builders import A, B, C, D, E
from tests.protocols.ladis.builders import (
    AB,
    ABC,
    EPOCH,
    START,
    TOLD,
    active,
    asking,
    following,
    named,
    recovering,
    synchronising,
    took_over,
    up,
)
from tests.protocols.zab.builders import at_once, gives_up, sent, written
from zabcheck.protocols.base import Changed, Connect, Elected, Lost, Started, TakeSnapshot, TimedOut
from zabcheck.protocols.ladis.messages import (
    Ack,
    AckEpoch,
    Commit,
    Fetch,
    FollowerInfo,
    NewEpoch,
    NewLeader,
    Proposal,
    Supply,
    Trunc,
)
from zabcheck.protocols.ladis.process import (
    Mode,
    Server,
    epoch_of,
    first_of,
    on_lost,
    on_started,
    on_take_snapshot,
    on_timed_out,
)
from zabcheck.protocols.ladis.recovery import (
    on_ack_epoch,
    on_elected,
    on_fetch,
    on_follower_info,
    on_new_epoch,
    on_new_leader,
    on_supply,
    on_trunc,
)

A_ONLY = FollowerInfo(A.zxid.packed(), 1, (A.zxid.packed(),))
HAS_C = FollowerInfo(C.zxid.packed(), 1, (C.zxid.packed(),))
"""The third message of epoch 1, as in figure 4: nobody else has it."""


# The server.


def test_a_zxid_has_the_epoch_in_the_high_order_32_bits_and_a_simple_counter_below() -> None:
    assert first_of(1) == 0x100000000
    assert (epoch_of(0x100000002), 0x100000002 - first_of(1)) == (1, 2)


def test_on_restart_a_server_reads_its_snapshot() -> None:
    server = up(snapshot=AB)
    assert on_started(server, 2, Started()) == [Restore(2, 0, B.zxid, 2, AB.hash)]
    assert server.delivered == AB
    assert on_started(up(), 2, Started()) == []


def test_the_server_process_is_aborted_if_data_corruption_is_detected() -> None:
    [halt] = on_started(up(), 2, Started(intact=False))
    assert isinstance(halt, Halt)


def test_a_snapshot_holds_what_was_delivered() -> None:
    server = up(delivered=AB)
    assert written(on_take_snapshot(server, 2, TakeSnapshot())) == [{"snapshot": AB}]
    assert on_take_snapshot(server, 2, TakeSnapshot()) == []


def test_timeouts_detect_failures() -> None:
    assert gives_up(on_timed_out(recovering(), 2, TimedOut()))
    assert on_timed_out(up(), 2, TimedOut()) == []


def test_broadcast_mode_lasts_until_the_leader_fails_or_has_no_quorum_of_followers() -> None:
    assert gives_up(on_lost(following(), 2, Lost(1)))
    assert on_lost(following(), 2, Lost(3)) == []
    leader = active(1, 2, 3)
    assert on_lost(leader, 1, Lost(3)) == []
    assert (leader.listed, leader.recognisers) == ((1, 2), (1, 2))
    assert gives_up(on_lost(leader, 1, Lost(2)))


def test_a_leader_whose_source_of_messages_is_gone_gives_up() -> None:
    assert gives_up(on_lost(asking(1, 2, 3, fetches_from=3), 1, Lost(3)))


# The leader is recognised.


def test_a_server_that_comes_online_connects_to_the_leader() -> None:
    server = up(history=Chain.of([A, D]), recognised=3)
    told = FollowerInfo(D.zxid.packed(), 3, (D.zxid.packed(), A.zxid.packed()))
    effects = on_elected(server, 2, Elected(1))
    assert effects[0] == Connect(1)
    assert sent(effects) == [(1, told)]
    assert (server.leader, server.mode) == (1, Mode.RECOVERY)


def test_it_gets_the_epoch_of_the_highest_zxid_and_increments_it() -> None:
    leader = named()
    assert on_follower_info(leader, 1, TOLD) == []
    assert sent(on_follower_info(leader, 2, TOLD)) == [(1, NewEpoch(2)), (2, NewEpoch(2))]


def test_the_epoch_is_later_than_any_that_was_recognised() -> None:
    """ZOOKEEPER-335: one that left no zxid behind was taken all the same."""
    leader = named()
    on_follower_info(leader, 1, TOLD)
    on_follower_info(leader, 2, replace(TOLD, epoch=7))
    assert leader.epoch == 8


def test_a_process_that_connects_later_is_asked_to_recognise_the_leader_as_well() -> None:
    assert sent(on_follower_info(active(1, 2), 3, TOLD)) == [(3, NewEpoch(EPOCH))]
    assert on_follower_info(following(), 3, TOLD) == []


def test_a_server_recognises_a_leader_durably_before_it_says_so() -> None:
    follower = recovering()
    effects = on_new_epoch(follower, 1, NewEpoch(EPOCH))
    assert at_once(effects) == []
    assert written(effects) == [{"recognised": EPOCH}]
    assert Promise(2, 0, EPOCH, 1) in effects
    assert sent(effects) == [(1, AckEpoch(EPOCH))]


def test_for_each_epoch_a_server_recognises_one_leader() -> None:
    follower = recovering(recognised=EPOCH)
    assert on_new_epoch(follower, 1, NewEpoch(EPOCH))
    assert follower.incoming == AB
    assert gives_up(on_new_epoch(recovering(recognised=EPOCH + 1), 1, NewEpoch(EPOCH)))
    again = on_new_epoch(recovering(recognised=EPOCH), 1, NewEpoch(EPOCH))
    assert sent(again) == [(1, AckEpoch(EPOCH, counts=False))]
    assert on_new_epoch(recovering(), 3, NewEpoch(EPOCH)) == []


def test_a_recognition_that_does_not_count_makes_a_new_leader_give_up() -> None:
    assert gives_up(on_ack_epoch(asking(1, 2), 2, AckEpoch(EPOCH, counts=False)))
    assert sent(on_ack_epoch(active(1, 2, followers=dict.fromkeys((1, 2, 3), TOLD)), 3, AckEpoch(EPOCH, counts=False)))


def test_a_quorum_has_to_recognise_the_leader_before_it_takes_over() -> None:
    leader = asking(1, 2, 3)
    assert on_ack_epoch(leader, 1, AckEpoch(EPOCH)) == []
    assert leader.log is None
    assert on_ack_epoch(leader, 3, AckEpoch(EPOCH))
    assert (leader.log, leader.start, leader.latest) == (AB, START, START)
    assert leader.listed == (1, 3)


# The highest zxid.


def test_a_leader_without_the_highest_zxid_fetches_missing_transactions() -> None:
    leader = named()
    on_follower_info(leader, 1, TOLD)
    effects = on_follower_info(leader, 2, HAS_C)
    assert (2, Fetch((B.zxid.packed(),))) in sent(effects)
    assert leader.fetches_from == 2
    on_ack_epoch(leader, 1, AckEpoch(EPOCH))
    assert on_ack_epoch(leader, 2, AckEpoch(EPOCH)) == []
    assert sent(on_supply(leader, 2, Supply(B.zxid.packed(), (C,), C.zxid.packed())))
    assert leader.log == ABC


def test_a_process_that_recognises_it_with_a_higher_zxid_is_asked_for_it() -> None:
    leader = asking(1, 2, 3, followers={1: TOLD, 2: TOLD, 3: HAS_C})
    on_ack_epoch(leader, 1, AckEpoch(EPOCH))
    assert sent(on_ack_epoch(leader, 3, AckEpoch(EPOCH))) == [(3, Fetch((B.zxid.packed(),)))]


def test_a_follower_supplies_what_the_leader_lacks() -> None:
    follower = recovering(history=ABC)
    assert sent(on_fetch(follower, 1, Fetch((A.zxid.packed(),)))) == [
        (1, Supply(A.zxid.packed(), (B, C), C.zxid.packed()))
    ]
    assert on_fetch(follower, 3, Fetch(())) == []


def test_what_was_not_asked_for_is_not_taken() -> None:
    assert on_supply(asking(1, 2), 2, Supply(0, (), 0)) == []


# The followers are synchronised.


def test_it_queues_any_proposal_that_the_follower_has_not_seen_then_the_record_of_the_new_leader() -> None:
    leader = asking(1, 2, followers={1: TOLD, 2: A_ONLY})
    on_ack_epoch(leader, 1, AckEpoch(EPOCH))
    queued = [message for to, message in sent(on_ack_epoch(leader, 2, AckEpoch(EPOCH))) if to == 2]
    assert queued == [Proposal(B), NewLeader(START)]


def test_then_a_commit_up_to_the_last_message_committed() -> None:
    leader = active(
        1, 2, followers={1: TOLD, 2: TOLD, 3: A_ONLY}, log=AB.append(D).append(E), committed=D.zxid.packed()
    )
    queued = [message for _, message in sent(on_ack_epoch(leader, 3, AckEpoch(EPOCH)))]
    assert queued == [Proposal(B), Proposal(D), Proposal(E), NewLeader(START), Commit(D.zxid.packed())]


def test_after_that_the_leader_adds_the_follower_to_the_broadcast_list() -> None:
    leader = active(1, 2, followers=dict.fromkeys((1, 2, 3), TOLD))
    on_ack_epoch(leader, 3, AckEpoch(EPOCH))
    assert leader.listed == (1, 2, 3)
    on_follower_info(leader, 3, TOLD)
    assert leader.listed == (1, 2)


def test_a_follower_with_a_proposal_that_was_never_delivered_is_told_to_truncate_its_log() -> None:
    """Figure 4: the leader tells server 1 to purge proposal 3 from its transaction log."""
    leader = active(1, 2, followers={1: TOLD, 2: TOLD, 3: HAS_C}, log=AB.append(D))
    queued = [message for _, message in sent(on_ack_epoch(leader, 3, AckEpoch(EPOCH)))]
    assert queued[:2] == [Trunc(B.zxid.packed()), Proposal(D)]


def test_an_epoch_that_the_leader_does_not_know_is_truncated_whole() -> None:
    """To the last zxid that both have: the follower tells the last one of each epoch."""
    told = FollowerInfo(first_of(4), 4, (D.zxid.packed(), A.zxid.packed()))
    leader = active(1, 2, followers={1: TOLD, 2: TOLD, 3: told}, epoch=5, start=first_of(5))
    queued = [message for _, message in sent(on_ack_epoch(leader, 3, AckEpoch(5)))]
    assert queued == [Trunc(A.zxid.packed()), Proposal(B), NewLeader(first_of(5)), Commit(START)]


def test_what_is_forgotten_and_what_is_proposed_reaches_the_disk_with_the_record_in_one_write() -> None:
    follower = synchronising(history=ABC)
    assert on_trunc(follower, 1, Trunc(B.zxid.packed())) == [Changed()]
    assert follower.history == ABC
    effects = on_new_leader(follower, 1, NewLeader(START))
    assert at_once(effects) == []
    assert written(effects) == [{"history": AB, "zxid": START}]
    assert effects[1:3] == [Truncate(2, 0, B.zxid, 2), Adopt(2, 0, EPOCH, B.zxid, 2, AB.hash)]
    assert sent(effects) == [(1, Ack(START))]


def test_a_follower_that_has_messages_of_the_epoch_already_acknowledges_these() -> None:
    follower = synchronising(history=AB.append(D))
    assert sent(on_new_leader(follower, 1, NewLeader(START))) == [(1, Ack(D.zxid.packed()))]


@pytest.mark.parametrize("follower", [synchronising(leader=3), following(), up()])
def test_what_is_left_over_from_another_leader_changes_nothing(follower: Server) -> None:
    before = replace(follower)
    assert on_trunc(follower, 1, Trunc(0)) == []
    assert on_new_leader(follower, 1, NewLeader(START)) == []
    assert follower == before


def test_a_leader_that_does_not_lead_any_more_answers_nobody() -> None:
    assert on_ack_epoch(took_over(1, 2, leader=3), 2, AckEpoch(EPOCH)) == []
    assert on_ack_epoch(took_over(1, 2), 2, AckEpoch(EPOCH + 1)) == []
