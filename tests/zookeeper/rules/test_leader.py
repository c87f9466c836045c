"""Each rule of a leader: a run that keeps it, and the exact divergence of one that does not."""

import pytest

from tests.zookeeper.judged import breaks, keeps
from tests.zookeeper.notation import BROADCAST, DISCOVERY, SYNCHRONIZATION, records
from zabcheck.zookeeper.rules.packets import judge

LATE = """
3>1 FOLLOWERINFO 0:0
1>3 LEADERINFO 1:0
3>1 ACKEPOCH 0:0 a=0
"""
"""Server 3 promises epoch 1 to server 1, that leads it."""

NEXT = """
closed 2>1
2>3 FOLLOWERINFO 1:0
3>2 LEADERINFO 2:0
2>3 ACKEPOCH 1:2 a=1
"""
"""Server 2 promises epoch 2 to server 3; it has two transactions of epoch 1."""


def test_l_1_2_the_initial_history_is_the_best_of_the_quorum() -> None:
    """Server 3 adopted epoch 1 with one transaction; server 2 has two."""
    caught_up = "1>3 DIFF 1:1", "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:1", "1>3 NEWLEADER 1:0", "3>1 ACK 1:0"
    short = SYNCHRONIZATION, "1>2 PROPOSAL 1:1", "2>1 ACK 1:1", "1>2 COMMIT 1:1", LATE, *caught_up
    longer = "1>2 PROPOSAL 1:2", "2>1 ACK 1:2"
    found = breaks(*short, *longer, NEXT, "3>2 TRUNC 1:1", "3>2 NEWLEADER 2:0")
    assert (found.name, found.step, found.server) == ("newleader_has_the_best_history", "l.1.2", 3)
    assert found.expected == "a history up to ⟨1,2⟩, which server 2 told with f.a = 1"
    assert found.seen == "one up to ⟨1,1⟩"
    keeps(*short, "1>3 PROPOSAL 1:2", "3>1 ACK 1:2", *longer, NEXT, "3>2 DIFF 1:2", "3>2 NEWLEADER 2:0")


def test_l_1_2_a_longer_history_of_an_earlier_epoch_is_not_better() -> None:
    """Server 1 has ⟨1,3⟩ alone; server 3 leads epoch 2 with server 2, then epoch 3 with server 1."""
    led = BROADCAST, "1>2 PROPOSAL 1:3 lost", LATE, "1>3 SNAP 1:2", "1>3 NEWLEADER 1:0", "3>1 ACK 1:0", NEXT
    established = "3>2 DIFF 1:2", "3>2 NEWLEADER 2:0", "2>3 ACK 2:0", "3>2 UPTODATE -1", "closed 2>3", "closed 3>1"
    again = "1>3 FOLLOWERINFO 1:0", "3>1 LEADERINFO 3:0", "1>3 ACKEPOCH 1:3 a=1", "3>1 TRUNC 1:2"
    keeps(*led, *established, *again, "3>1 NEWLEADER 3:0")


def test_l_1_2_a_leader_proposes_what_it_acknowledged_itself() -> None:
    """Server 3 acknowledged two transactions of server 1, and leads epoch 2 as if there had been one."""
    begun = BROADCAST, LATE, "1>3 DIFF 1:2", "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:1", "1>3 PROPOSAL 1:2", "1>3 COMMIT 1:2"
    joined = *begun, "1>3 NEWLEADER 1:0", "3>1 ACK 1:0", NEXT
    _, found = judge(records(*joined, "3>2 TRUNC 1:1", "3>2 NEWLEADER 2:0")).divergences  # server 2 has more, too
    assert (found.name, found.step) == ("newleader_keeps_what_the_leader_acknowledged", "l.1.2")
    assert found.server == 3
    assert found.expected.startswith("a history up to ⟨1,2⟩, of which the leader's ACK of NEWLEADER told (packet ")
    assert found.seen == "one up to ⟨1,1⟩"
    keeps(*joined, "3>2 DIFF 1:2", "3>2 NEWLEADER 2:0")


def test_l_1_2_a_follower_that_came_late_may_have_told_more() -> None:
    """A quorum without it was enough."""
    shorter = "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:1 a=1", "1>2 DIFF 1:1"
    ahead = "3>1 FOLLOWERINFO 1:0", "1>3 LEADERINFO 2:0", "3>1 ACKEPOCH 1:2 a=1", "1>3 TRUNC 1:1"
    keeps(*shorter, "1>2 NEWLEADER 2:0", *ahead, "1>3 NEWLEADER 2:0")


def test_l_2_2_the_epoch_is_committed_once_a_quorum_acknowledged_it() -> None:
    asked = "3>1 FOLLOWERINFO 0:0", DISCOVERY, "1>3 LEADERINFO 1:0", "3>1 ACKEPOCH 0:0 a=0"
    proposed = "1>2 DIFF 0:0", "1>3 DIFF 0:0", "1>2 NEWLEADER 1:0", "1>3 NEWLEADER 1:0", "2>1 ACK 1:0"
    keeps(*asked, *proposed, "3>1 ACK 1:0", "1>2 UPTODATE -1", servers=5)
    found = breaks(*asked, *proposed, "3>1 ACK 1:0 waits", "1>2 UPTODATE -1", servers=5)
    assert (found.name, found.step) == ("uptodate_needs_a_quorum", "l.2.2")
    assert (found.expected, found.seen) == (
        "UPTODATE after ACKs of NEWLEADER from 2 followers",
        "UPTODATE after 1 of them",
    )
    assert breaks(SYNCHRONIZATION, "1>2 UPTODATE -1").seen == "a second one"


def test_l_3_4_a_late_follower_is_committed_the_epoch_once_it_acknowledged_it() -> None:
    late = SYNCHRONIZATION, LATE, "1>3 DIFF 0:0", "1>3 NEWLEADER 1:0"
    keeps(*late, "3>1 ACK 1:0", "1>3 UPTODATE -1")
    assert breaks(*late, "1>3 UPTODATE -1").seen == "UPTODATE before its ACK was received"


@pytest.mark.parametrize("zxid", ["1:3", "1:1", "2:2"])
def test_l_3_1_proposals_have_no_gap(zxid: str) -> None:
    keeps(SYNCHRONIZATION, "1>2 PROPOSAL 1:1", "1>2 PROPOSAL 1:2")
    found = breaks(SYNCHRONIZATION, "1>2 PROPOSAL 1:1", f"1>2 PROPOSAL {zxid}")
    assert (found.name, found.step) == ("proposals_have_no_gap", "l.3.1")
    assert found.expected == "the proposal that follows ⟨1,1⟩"


def test_l_3_1_a_gap_that_is_made_on_purpose_is_none() -> None:
    jump = "jump 1 1:2 1:4294967292"
    keeps(BROADCAST, jump, "1>2 PROPOSAL 1:4294967293", "1>2 PROPOSAL 1:4294967294")
    found = breaks(BROADCAST, jump, "1>2 PROPOSAL 1:4294967294")
    assert (found.name, found.expected) == ("proposals_have_no_gap", "the proposal that follows ⟨1,2⟩")
    assert breaks(BROADCAST, "jump 1 1:3 1:8", "1>2 PROPOSAL 1:9").name == "proposals_have_no_gap"


def test_l_3_1_a_counter_that_is_used_up_ends_the_epoch() -> None:
    """A leader that went on would propose ⟨2,0⟩ in epoch 1."""
    edge = "jump 1 1:2 1:4294967292", "1>2 PROPOSAL 1:4294967293", "1>2 PROPOSAL 1:4294967294"
    assert breaks(BROADCAST, *edge, "1>2 PROPOSAL 2:0").name == "proposals_have_no_gap"
    closed = "closed 2>1", "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:4294967294 a=1"
    next_epoch = "1>2 DIFF 1:4294967294", "1>2 NEWLEADER 2:0", "2>1 ACK 2:0", "1>2 UPTODATE -1", "1>2 PROPOSAL 2:1"
    keeps(BROADCAST, *edge, "2>1 ACK 1:4294967293", "2>1 ACK 1:4294967294", *closed, *next_epoch)


def test_l_2_1_the_initial_history_has_no_gap() -> None:
    told = "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 3:0", "2>1 ACKEPOCH 1:7 a=1", "1>2 DIFF 2:2"
    keeps(*told, "1>2 PROPOSAL 1:8", "1>2 COMMIT 1:8", "1>2 PROPOSAL 2:1", "1>2 COMMIT 2:1", "1>2 PROPOSAL 2:2")
    assert breaks(*told, "1>2 PROPOSAL 1:9").expected == "the proposal that follows ⟨1,7⟩"
    assert breaks(*told, "1>2 PROPOSAL 2:2").expected == "the proposal that follows ⟨1,7⟩"
    assert breaks(told[0], told[1], told[2], "1>2 PROPOSAL 1:8").expected == "DIFF, TRUNC or SNAP first"
    keeps(told[0], told[1], told[2], "1>2 TRUNC 1:5", "1>2 PROPOSAL 1:6")
    assert breaks(told[0], told[1], told[2], "1>2 TRUNC 1:5", "1>2 PROPOSAL 1:8").expected.endswith("⟨1,5⟩")


def test_l_2_1_the_transactions_of_an_epoch_continue_one_history() -> None:
    led = BROADCAST, NEXT, "3>2 DIFF 1:2", "3>2 NEWLEADER 2:0", "2>3 ACK 2:0", "3>2 UPTODATE -1", "3>2 PROPOSAL 2:1"
    joins = "1>3 FOLLOWERINFO 1:0", "3>1 LEADERINFO 2:0"
    keeps(*led, *joins, "1>3 ACKEPOCH 1:3 a=1", "3>1 TRUNC 1:2", "3>1 PROPOSAL 2:1")
    keeps(*led, *joins, "1>3 ACKEPOCH 1:2 a=1", "3>1 SNAP 2:1", "3>1 PROPOSAL 2:1")
    keeps(*led, *joins, "1>3 ACKEPOCH 1:2 a=1", "3>1 SNAP 2:0", "3>1 PROPOSAL 2:1")
    found = breaks(*led, *joins, "1>3 ACKEPOCH 1:3 a=1", "3>1 DIFF 2:1", "3>1 PROPOSAL 2:1")
    assert (found.name, found.step, found.server) == ("proposals_continue_one_history", "l.2.1", 3)
    assert (found.expected, found.seen) == ("⟨1,2⟩ before ⟨2,1⟩, as packet 22 showed", "⟨1,3⟩ before it")


def test_l_2_1_what_was_queued_while_the_snapshot_was_written_may_be_in_it() -> None:
    late = BROADCAST, LATE, "1>3 SNAP 1:2"
    keeps(*late, "1>3 PROPOSAL 1:2", "1>3 COMMIT 1:2", "1>3 NEWLEADER 1:0", "1>3 PROPOSAL 1:3")
    keeps(*late, "1>3 PROPOSAL 1:3")
    assert breaks(*late, "1>3 PROPOSAL 1:4").name == "proposals_have_no_gap"
    assert breaks(*late, "1>3 PROPOSAL 1:1", "1>3 PROPOSAL 1:3").name == "proposals_have_no_gap"


def test_l_3_2_an_ack_on_a_connection_that_was_closed_counts() -> None:
    """In ZooKeeper an acknowledged proposal stays so, whatever becomes of the follower."""
    late = SYNCHRONIZATION, LATE, "1>3 DIFF 0:0", "1>3 NEWLEADER 1:0", "3>1 ACK 1:0", "1>3 UPTODATE -1"
    keeps(*late, "1>2 PROPOSAL 1:1", "1>3 PROPOSAL 1:1", "3>1 ACK 1:1", "closed 3>1", "1>2 COMMIT 1:1")


COMES_BACK = """
closed 2>1
2>1 FOLLOWERINFO 1:0
1>2 LEADERINFO 1:0
2>1 ACKEPOCH 1:3 a=-1
"""
"""Server 2, which has three transactions, begins a new iteration with server 1, in the same epoch."""


def test_l_3_2_an_ack_does_not_count_for_what_the_follower_was_told_to_cut_off_since() -> None:
    acknowledged = BROADCAST, "1>2 PROPOSAL 1:3", "2>1 ACK 1:3"
    cut = *acknowledged, COMES_BACK, "1>2 TRUNC 1:2 waits", "1>2 PROPOSAL 1:3", "1>2 NEWLEADER 1:0"
    found = breaks(*cut, "1>2 COMMIT 1:3")
    assert (found.name, found.step, found.server) == ("commits_are_kept_by_a_quorum", "l.3.2", 1)
    assert found.expected == "COMMIT ⟨1,3⟩ when 1 follower has it"
    assert found.seen == "COMMIT after the ACK of server 2, which was told since to cut it off (TRUNC ⟨1,2⟩, packet 20)"
    passed = *cut, "passed 1>2", "2>1 ACK 1:0"
    assert breaks(*passed, "1>2 COMMIT 1:3").name == "commits_are_kept_by_a_quorum", "it covers what is committed"
    keeps(*passed, "1>2 UPTODATE -1", "2>1 ACK 1:3", "1>2 COMMIT 1:3")
    keeps(*acknowledged, COMES_BACK, "1>2 SNAP 1:2", "1>2 PROPOSAL 1:3", "1>2 NEWLEADER 1:0", "1>2 COMMIT 1:3")


def test_l_3_2_who_was_not_told_to_cut_it_off_may_be_quorum_enough() -> None:
    third = LATE, "1>3 DIFF 1:2", "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:1", "1>3 PROPOSAL 1:2", "1>3 COMMIT 1:2"
    joined = BROADCAST, *third, "1>3 NEWLEADER 1:0", "3>1 ACK 1:0", "1>3 UPTODATE -1"
    proposed = *joined, "1>2 PROPOSAL 1:3", "1>3 PROPOSAL 1:3", "2>1 ACK 1:3"
    cut = COMES_BACK, "1>2 TRUNC 1:2", "1>2 PROPOSAL 1:3", "1>2 NEWLEADER 1:0"
    assert breaks(*proposed, *cut, "1>3 COMMIT 1:3").name == "commits_are_kept_by_a_quorum"
    keeps(*proposed, "3>1 ACK 1:3", *cut, "1>3 COMMIT 1:3")
    keeps(*proposed, *cut, "3>1 ACK 1:3", "1>3 COMMIT 1:3", "1>2 COMMIT 1:3")


def test_l_3_3_a_late_follower_is_told_the_epoch_and_the_history_with_all_that_was_proposed_since() -> None:
    joins = BROADCAST, "1>2 PROPOSAL 1:3", LATE, "1>3 DIFF 1:2"
    history = "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:1", "1>3 PROPOSAL 1:2", "1>3 COMMIT 1:2", "1>3 PROPOSAL 1:3"
    between = "2>1 ACK 1:3", "1>2 COMMIT 1:3", "1>3 COMMIT 1:3", "1>3 NEWLEADER 1:0", "1>3 PROPOSAL 1:4"
    keeps(*joins, *history, *between)
