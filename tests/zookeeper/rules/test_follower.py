"""Each rule of a follower: a run that keeps it, and the exact divergence of one that does not."""

from tests.zookeeper.judged import breaks, keeps
from tests.zookeeper.notation import BROADCAST, packed, records
from zabcheck.zookeeper.rules.packets import EarlierClaim, judge

AGAIN = """
closed 2>1
2>1 FOLLOWERINFO 1:0
"""
"""Server 2 begins a new iteration with server 1."""

OTHER_LEADER = """
closed 2>1
2>3 FOLLOWERINFO 1:0
3>2 LEADERINFO 2:0
"""
"""Server 2 begins an iteration with server 3, which proposes epoch 2."""


def test_f_1_1_a_wiped_disk_may_forget_and_it_is_said() -> None:
    judged = judge(records(BROADCAST, "wipe 2", "start 2", "2>1 FOLLOWERINFO 0:0", "1>2 LEADERINFO 1:0"))
    assert judged.divergences == ()
    assert judged.notes == ("the disk of server 2 was wiped: it may forget what it had acknowledged",)


def test_f_1_2_what_was_acknowledged_is_kept() -> None:
    keeps(BROADCAST, "1>2 PROPOSAL 1:3", "start 2", OTHER_LEADER, "2>3 ACKEPOCH 1:3 a=1")
    found = breaks(BROADCAST, "start 2", OTHER_LEADER, "2>3 ACKEPOCH 1:1 a=1")
    assert (found.name, found.step, found.server) == ("ack_e_keeps_the_history", "f.1.2", 2)
    assert found.expected == "a history up to ⟨1,2⟩, of which its ACK told (packet 13)"
    assert found.seen == "one up to ⟨1,1⟩"
    assert found.contradicts == EarlierClaim("ACK", packet=13, zxid=packed("1:2"), restarted=True)
    found = breaks(BROADCAST, OTHER_LEADER, "2>3 ACKEPOCH 1:1 a=1")
    assert found.contradicts == EarlierClaim("ACK", packet=13, zxid=packed("1:2"), restarted=False)


def test_f_1_2_an_epoch_is_promised_to_one_leader() -> None:
    promised = BROADCAST, OTHER_LEADER, "2>3 ACKEPOCH 1:2 a=1", "start 2", "closed 2>3"
    other = "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0"
    keeps(*promised, "2>3 FOLLOWERINFO 1:0", "3>2 LEADERINFO 2:0", "2>3 ACKEPOCH 1:2 a=1")
    keeps(*promised, *other, "2>1 ACKEPOCH 1:2 a=-1")
    found = breaks(*promised, *other, "2>1 ACKEPOCH 1:2 a=1")
    assert (found.name, found.step, found.server) == ("ack_e_promises_an_epoch_once", "f.1.2", 2)
    assert (found.expected, found.seen) == ("epoch 2 promised to server 3 only", "epoch 2 promised to server 1")
    keeps(
        *promised[:-1], "wipe 2", *promised[-1:], "2>1 FOLLOWERINFO 0:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 0:0 a=0"
    )


def test_f_1_2_what_a_leader_needed_its_own_vote_for_is_kept() -> None:
    """With three servers and one follower's ACK the leader's log has to have it; with two ACKs it need not."""
    follows = "1>3 FOLLOWERINFO 1:0", "3>1 LEADERINFO 2:0"
    assert breaks(BROADCAST, *follows, "1>3 ACKEPOCH 1:1 a=1").name == "ack_e_keeps_the_history"
    joins = "3>1 FOLLOWERINFO 0:0", "1>3 LEADERINFO 1:0", "3>1 ACKEPOCH 0:0 a=0", "1>3 DIFF 1:2"
    brought = "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:1", "1>3 PROPOSAL 1:2", "1>3 COMMIT 1:2", "1>3 NEWLEADER 1:0"
    third = (
        "3>1 ACK 1:0",
        "1>3 UPTODATE -1",
        "1>2 PROPOSAL 1:3",
        "1>3 PROPOSAL 1:3",
        "2>1 ACK 1:3",
        "3>1 ACK 1:3",
        "1>2 COMMIT 1:3",
    )
    keeps(BROADCAST, *joins, *brought, *third, *follows, "1>3 ACKEPOCH 1:2 a=1")


def test_f_1_2_a_history_that_was_cut_may_be_shorter() -> None:
    cut = BROADCAST, "closed 2>1", "2>3 FOLLOWERINFO 1:0", "3>2 LEADERINFO 2:0", "2>3 ACKEPOCH 1:2 a=1"
    again = "closed 2>3", "2>3 FOLLOWERINFO 2:0", "3>2 LEADERINFO 2:0"
    keeps(*cut, "3>2 TRUNC 1:1", *again, "2>3 ACKEPOCH 1:1 a=-1")
    keeps(*cut, "3>2 SNAP 1:1", *again, "2>3 ACKEPOCH 1:1 a=-1")
    assert breaks(*cut, "3>2 TRUNC 1:1 lost", *again, "2>3 ACKEPOCH 1:1 a=-1").name == "ack_e_keeps_the_history"
    assert breaks(*cut, "3>2 TRUNC 1:1", *again, "2>3 ACKEPOCH 0:0 a=-1").name == "ack_e_keeps_the_history"


def test_f_1_2_a_leader_that_has_its_own_epoch_cut_is_no_reason_to_forget() -> None:
    """It counts the ACK all the same. What is of an earlier epoch may go."""
    back = "closed 2>1", "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 1:0", "2>1 ACKEPOCH 1:2 a=-1"
    again = "start 2", "closed 2>1", "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 1:0", "2>1 ACKEPOCH 1:1 a=-1"
    assert breaks(BROADCAST, *back, "1>2 TRUNC 1:1", *again).name == "ack_e_keeps_the_history"
    keeps(BROADCAST, *back, "1>2 SNAP 1:1", *again)
    other = "closed 2>1", "2>3 FOLLOWERINFO 1:0", "3>2 LEADERINFO 2:0", "2>3 ACKEPOCH 1:2 a=1", "3>2 TRUNC 1:1"
    keeps(
        BROADCAST,
        *other,
        "start 2",
        "closed 2>3",
        "2>3 FOLLOWERINFO 2:0",
        "3>2 LEADERINFO 2:0",
        "2>3 ACKEPOCH 1:1 a=-1",
    )


def test_f_1_2_what_the_initial_history_committed_is_kept() -> None:
    """ACK-LD covers what DIFF brought, if it was committed; what is not has to be acknowledged by itself."""
    brought = """
    2>1 FOLLOWERINFO 0:0
    1>2 LEADERINFO 2:0
    2>1 ACKEPOCH 0:0 a=0
    1>2 DIFF 1:2
    1>2 PROPOSAL 1:1
    1>2 COMMIT 1:1
    1>2 PROPOSAL 1:2
    1>2 COMMIT 1:2
    1>2 NEWLEADER 2:0
    2>1 ACK 2:0
    """
    again = "start 2", "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 2:0"
    keeps(brought, *again, "2>1 ACKEPOCH 1:2 a=-1")
    assert breaks(brought, *again, "2>1 ACKEPOCH 1:1 a=-1").name == "ack_e_keeps_the_history"
    uncommitted = brought.replace("1>2 COMMIT 1:2\n", "")
    keeps(uncommitted, *again, "2>1 ACKEPOCH 1:1 a=-1")


INITIAL = """
2>1 FOLLOWERINFO 0:0
1>2 LEADERINFO 2:0
2>1 ACKEPOCH 0:0 a=0
1>2 DIFF 1:1
1>2 PROPOSAL 1:1
1>2 COMMIT 1:1
1>2 NEWLEADER 2:0
"""
"""Server 1 sends to server 2 a history of one transaction."""


def test_f_2_1_an_epoch_is_adopted_with_its_history() -> None:
    again = "start 2", "2>3 FOLLOWERINFO 2:0", "3>2 LEADERINFO 3:0"
    keeps(INITIAL, *again, "2>3 ACKEPOCH 1:1 a=2")
    keeps(INITIAL, *again, "2>3 ACKEPOCH 0:0 a=0")
    found = breaks(INITIAL, *again, "2>3 ACKEPOCH 0:0 a=2")
    assert (found.name, found.step, found.server) == ("ack_e_has_the_initial_history", "f.2.1", 2)
    assert found.expected == "with f.a = 2 the history of that epoch, up to ⟨1,1⟩"
    assert found.seen == "one up to ⟨0,0⟩"


def test_f_2_1_who_adopted_a_history_has_nothing_else() -> None:
    cut = "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:2 a=1", "1>2 TRUNC 1:1", "1>2 NEWLEADER 2:0"
    again = "start 2", "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 3:0"
    keeps(*cut, "2>1 ACK 2:0", *again, "2>1 ACKEPOCH 1:1 a=2")
    keeps(*cut, *again, "2>1 ACKEPOCH 1:2 a=1")
    found = breaks(*cut, "2>1 ACK 2:0", *again, "2>1 ACKEPOCH 1:2 a=2")
    assert (found.name, found.step, found.server) == ("ack_e_has_nothing_else", "f.2.1", 2)
    assert found.expected == (
        "nothing later than ⟨1,1⟩, as no leader has sent it more since its ACK of NEWLEADER (packet 6)"
    )
    assert found.seen == "a history up to ⟨1,2⟩"
    assert found.contradicts == EarlierClaim("ACK of NEWLEADER", 6, packed("1:1"), restarted=True, sync="TRUNC")
    keeps(*cut, "2>1 ACK 2:0", "1>2 UPTODATE -1", "1>2 PROPOSAL 2:1", *again, "2>1 ACKEPOCH 2:1 a=2")


def test_f_1_2_what_was_told_of_memory_is_kept() -> None:
    """Server 2 applied a transaction behind TRUNC, and logged it nowhere: it tells of it, and forgets it."""
    cut = "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:3 a=1", "1>2 TRUNC 1:1"
    begun = *cut, "1>2 PROPOSAL 1:2", "1>2 COMMIT 1:2", "closed 2>1"
    again = "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:2 a=-1", "closed 2>1"
    found = breaks(*begun, *again, "start 2", "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:1 a=-1")
    assert found.name == "ack_e_keeps_the_history"
    assert found.contradicts == EarlierClaim("ACKEPOCH", 9, packed("1:2"), restarted=True, sync="TRUNC")


def test_f_2_1_what_a_server_logged_when_it_led_is_not_on_the_wire() -> None:
    led = BROADCAST, "closed 2>1", "3>2 FOLLOWERINFO 0:0", "2>3 LEADERINFO 2:0", "3>2 ACKEPOCH 0:0 a=0", "closed 3>2"
    keeps(*led, "2>3 FOLLOWERINFO 2:0", "3>2 LEADERINFO 3:0", "2>3 ACKEPOCH 2:1 a=1")


def test_f_2_1_newleader_is_acknowledged_before_any_proposal() -> None:
    brought = (
        "2>1 FOLLOWERINFO 0:0",
        "1>2 LEADERINFO 2:0",
        "2>1 ACKEPOCH 0:0 a=0",
        "1>2 DIFF 1:1",
        "1>2 PROPOSAL 1:1",
        "1>2 COMMIT 1:1",
        "1>2 NEWLEADER 2:0",
    )
    keeps(*brought, "2>1 ACK 2:0", "2>1 ACK 1:1")
    found = breaks(*brought, "2>1 ACK 1:1")
    assert (found.name, found.step) == ("ack_ld_comes_first", "f.2.1")
    assert (found.expected, found.seen) == ("ACK of NEWLEADER first", "ACK ⟨1,1⟩")


def test_f_3_1_and_f_3_3_send_nothing_and_pings_are_not_judged() -> None:
    keeps(BROADCAST, "1>2 PING 1:2", "2>1 PING 1:2", "2>1 REQUEST 0:0", "2>1 REVALIDATE 0:0", "1>2 SYNC 0:0")
