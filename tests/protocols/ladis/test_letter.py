"""LADIS 2008, 4.2, to the letter: what it says, and what it lets happen."""

from invariants import Establish, Truncate, Zxid
from tests.invariants.builders import A, B, C, D
from tests.protocols.ladis.builders import AB, ABC, named, recovering, up
from tests.protocols.zab.builders import at_once, gives_up, sent, written
from zabcheck.protocols.base import Connect, Elected
from zabcheck.protocols.ladis.letter import on_elected, on_follower_info, on_supply, on_trunc
from zabcheck.protocols.ladis.messages import Commit, Fetch, FollowerInfo, Proposal, Supply, Trunc
from zabcheck.protocols.ladis.process import Server, first_of

TOLD = FollowerInfo(B.zxid.packed())


def led(*told: FollowerInfo, **fields: object) -> tuple[Server, list[tuple[int, object]]]:
    """Server 1, to which these have connected, itself first; and what it sent for the last of them."""
    leader, effects = named(**fields), []
    for follower, each in enumerate(told, 1):
        effects = on_follower_info(leader, follower, each)
    return leader, [*sent(effects)]


def test_what_a_follower_tells_is_on_its_disk() -> None:
    effects = on_elected(up(), 2, Elected(1))
    assert at_once(effects) == [Connect(1)]
    assert written(effects) == [{"history": AB, "zxid": B.zxid.packed()}]
    assert sent(effects) == [(1, TOLD)]


def test_it_will_get_the_epoch_of_the_highest_zxid_it_has_in_its_log_and_increment_the_epoch() -> None:
    leader, messages = led(TOLD, TOLD)
    assert (leader.epoch, leader.latest) == (2, first_of(2))
    assert messages == [(1, Commit(B.zxid.packed())), (2, Commit(B.zxid.packed()))]


def test_another_leader_with_the_same_log_takes_the_same_epoch() -> None:
    """ZOOKEEPER-335: nothing on a disk tells that the epoch was taken."""
    first, _ = led(TOLD, TOLD)
    second, _ = led(TOLD, TOLD)
    assert first.epoch == second.epoch


def test_it_proposes_nothing_new_before_its_log_is_committed_by_a_quorum() -> None:
    leader, messages = led(TOLD, FollowerInfo(A.zxid.packed()))
    assert not leader.active
    assert messages == [(2, Proposal(B))]
    on_follower_info(leader, 3, TOLD)
    assert leader.active


def test_a_leader_without_the_highest_zxid_fetches_missing_transactions() -> None:
    leader, messages = led(TOLD, FollowerInfo(C.zxid.packed()))
    assert messages == [(2, Fetch((B.zxid.packed(),)))]
    assert on_follower_info(leader, 3, TOLD) == []
    assert on_supply(leader, 3, Supply(B.zxid.packed(), (C,), C.zxid.packed())) == []
    effects = on_supply(leader, 2, Supply(B.zxid.packed(), (C,), C.zxid.packed()))
    assert leader.log == ABC
    assert (3, Proposal(C)) in sent(effects)


def test_it_tells_the_follower_to_truncate_to_the_last_committed_proposal_for_that_epoch() -> None:
    leader, _ = led(TOLD, TOLD)
    assert sent(on_follower_info(leader, 3, FollowerInfo(C.zxid.packed())))[0] == (3, Trunc(B.zxid.packed()))


def test_an_epoch_that_the_leader_lacks_is_forgotten_whole() -> None:
    leader, _ = led(TOLD, TOLD, followers={}, epoch=0)
    leader.epoch = 5
    assert sent(on_follower_info(leader, 3, FollowerInfo(D.zxid.packed())))[0] == (3, Trunc(Zxid(2, 0).packed()))


def test_a_follower_that_is_ahead_of_the_epoch_of_the_leader_is_not_provided_for() -> None:
    leader, _ = led(TOLD, TOLD)
    assert gives_up(on_follower_info(leader, 3, FollowerInfo(D.zxid.packed())))


def test_the_follower_forgets_at_once() -> None:
    follower = recovering(history=ABC)
    effects = on_trunc(follower, 1, Trunc(B.zxid.packed()))
    assert written(effects) == [{"history": AB, "zxid": B.zxid.packed()}]
    assert effects[1:] == [Truncate(2, 0, B.zxid, 2)]
    assert on_trunc(follower, 3, Trunc(0)) == []


def test_an_active_leader_commits_to_who_connects_later() -> None:
    leader, _ = led(TOLD, TOLD)
    assert sent(on_follower_info(leader, 3, FollowerInfo(A.zxid.packed()))) == [
        (3, Proposal(B)),
        (3, Commit(B.zxid.packed())),
    ]
    assert Establish(1, 0, 2) not in on_follower_info(leader, 3, TOLD)
