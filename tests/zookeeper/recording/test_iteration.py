"""The packets of one iteration, followed at both of its ends."""

from tests.zookeeper.notation import BROADCAST, SYNCHRONIZATION, packed, records
from zabcheck.zookeeper.recording.iteration import NOT_AGAIN, EpochAck, FollowerSide, LeaderSide
from zabcheck.zookeeper.recording.records import Passed, Sent


def followed(*texts: str) -> tuple[FollowerSide, LeaderSide]:
    """Both ends of the iteration of follower 2 with leader 1, after these packets."""
    follower = FollowerSide()
    leader = LeaderSide(follower)
    packets: dict[int, Sent] = {}
    for record in records(*texts):
        if isinstance(record, Sent):
            packets[record.packet] = record
            (follower if record.sender == 2 else leader).sends(record)
        elif isinstance(record, Passed):
            packet = packets[record.packet]
            (follower if packet.receiver == 2 else leader).receives(packet)
    return follower, leader


def begun(*texts: str) -> tuple[FollowerSide, LeaderSide]:
    """The follower has a history up to ⟨1,3⟩, and has promised epoch 2."""
    return followed("2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:3 a=1", *texts)


def test_a_whole_synchronisation() -> None:
    follower, leader = followed(SYNCHRONIZATION)
    assert (follower.newepoch, follower.epoch, follower.ack_e) == (1, 1, EpochAck(0, 0))
    assert (follower.newleader, follower.ack_ld, follower.uptodate) == (True, True, True)
    assert (leader.newepoch, leader.ack_e, leader.ack_ld, leader.uptodate) == (1, True, True, True)
    assert follower.sync is not None
    assert follower.sync == leader.sync
    assert follower.sync.kind == "DIFF"


def test_what_was_sent_is_not_received_before_it_is_passed_on() -> None:
    asked = "2>1 FOLLOWERINFO 0:0", "1>2 LEADERINFO 1:0"
    follower, leader = followed(asked[0], "1>2 LEADERINFO 1:0 waits")
    assert (leader.newepoch, follower.newepoch) == (1, None)
    assert followed(*asked, "2>1 ACKEPOCH 0:0 a=0 waits", "passed 2>1")[1].ack_e is True
    assert followed(*asked, "2>1 ACKEPOCH 0:0 a=0 lost")[1].ack_e is False


def test_a_promise_that_was_made_before_does_not_count() -> None:
    assert followed("2>1 FOLLOWERINFO 1:0", "2>1 ACKEPOCH 1:3 a=-1")[0].ack_e == EpochAck(NOT_AGAIN, packed("1:3"))


def test_diff_goes_on_from_what_the_follower_has() -> None:
    follower, leader = begun("1>2 DIFF 1:5")
    assert (follower.covered, follower.handed, leader.last) == (packed("1:3"),) * 3


def test_trunc_and_snap_bring_the_history_up_to_their_zxid() -> None:
    for kind, zxid in (("TRUNC", "1:2"), ("SNAP", "1:9")):
        follower, leader = begun(f"1>2 {kind} {zxid}")
        assert (follower.covered, follower.handed, leader.last) == (packed(zxid),) * 3


def test_the_acknowledgement_of_newleader_covers_what_was_committed_before_it() -> None:
    proposed = "1>2 DIFF 1:5", "1>2 PROPOSAL 1:4", "1>2 COMMIT 1:4", "1>2 PROPOSAL 1:5"
    follower, leader = begun(*proposed, "1>2 NEWLEADER 2:0", "1>2 COMMIT 1:5")
    assert (follower.covered, follower.handed, leader.last) == (packed("1:4"), packed("1:5"), packed("1:5"))
    assert not leader.uncommitted


def test_an_acknowledgement_before_newleader_is_none_of_it() -> None:
    early = "1>2 DIFF 1:4", "1>2 PROPOSAL 1:4", "2>1 ACK 1:4"
    follower, leader = begun(*early)
    assert (follower.acknowledged, follower.ack_ld, leader.ack_ld) == (False, False, False)
    follower, leader = begun(*early, "1>2 NEWLEADER 2:0", "2>1 ACK 2:0")
    assert (follower.acknowledged, follower.ack_ld, leader.ack_ld) == (True, True, True)
    follower, leader = begun("1>2 DIFF 1:4", "1>2 PROPOSAL 1:4", "1>2 NEWLEADER 2:0", "2>1 ACK 1:4")
    assert (follower.acknowledged, follower.ack_ld, leader.ack_ld) == (True, False, False)


def test_broadcast() -> None:
    _, leader = followed(BROADCAST, "1>2 PROPOSAL 1:3")
    assert list(leader.uncommitted) == [packed("1:3")]
    _, leader = followed(BROADCAST, "1>2 PROPOSAL 1:3", "1>2 PROPOSAL 1:4", "2>1 ACK 1:4", "1>2 COMMIT 1:4")
    assert not leader.uncommitted


def test_what_comes_a_second_time_changes_nothing_that_was_promised() -> None:
    follower, leader = begun("2>1 FOLLOWERINFO 7:0 again", "2>1 ACKEPOCH 7:7 a=7", "1>2 LEADERINFO 8:0")
    assert (follower.ack_e, leader.newepoch) == (EpochAck(1, packed("1:3")), 2)
