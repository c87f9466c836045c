"""Judging a whole recording: what is judged at all, what is said of a divergence."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.zookeeper.judged import breaks, keeps
from tests.zookeeper.notation import BROADCAST, DISCOVERY, SYNCHRONIZATION, records
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Run, Sent, Undecoded
from zabcheck.zookeeper.report.packets import explain
from zabcheck.zookeeper.rules.packets import judge, judge_recording


def test_a_run_that_keeps_the_steps_says_how_much_was_judged() -> None:
    judged = judge(records(BROADCAST))
    assert (judged.divergences, judged.notes, judged.packets) == ((), (), 14)
    kinds = ("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "NEWLEADER", "UPTODATE")
    assert judged.judged == dict.fromkeys(kinds, 1) | {"ACK": 4, "PROPOSAL": 2, "COMMIT": 2}


def test_nothing_is_said_of_an_empty_recording() -> None:
    judged = judge(records())
    assert (judged.divergences, judged.packets, judged.judged) == ((), 0, {})


def test_it_is_read_from_a_folder(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for record in records(BROADCAST, "1>2 PROPOSAL 1:9"):
        recorder.record(record)
    recorder.close()
    assert [each.name for each in judge_recording(tmp_path).divergences] == ["proposals_have_no_gap"]


MISSED = {
    4: "proposals_have_no_gap",
    6: "uptodate_needs_a_quorum",
    9: "proposals_have_no_gap",
}
"""The rule that is broken first without this packet of a run. Others are missed by the comparison with the model."""


@pytest.mark.parametrize("packet", MISSED)
def test_a_packet_that_is_missing_is_missed(packet: int) -> None:
    whole = records(BROADCAST)
    judged = judge([each for each in whole if getattr(each, "packet", None) != packet])
    assert next((each.name for each in judged.divergences), None) == MISSED[packet]


ASKING = "3>1 OBSERVERINFO 0:0", "1>3 LEADERINFO 1:0", "3>1 ACKEPOCH 0:0 a=0"
OBSERVER = *ASKING, "1>3 DIFF 0:0", "1>3 INFORM 1:1"


def test_no_quorum_is_counted_once_the_ensemble_may_be_another() -> None:
    """One follower is too few in the configuration of five servers that the recording begins with."""
    early = DISCOVERY, "1>2 DIFF 0:0", "1>2 NEWLEADER 1:0", "2>1 ACK 1:0", "1>2 UPTODATE -1"
    breaks(*early, servers=5)
    judged = judge(records("reconfigure", *early, servers=5))
    assert judged.divergences == ()
    [note] = judged.notes
    assert note == "another configuration was asked for: no rule that counts a quorum is judged after that"
    breaks("reconfigure", BROADCAST, "1>2 PROPOSAL 1:9")


def test_a_commit_that_activates_a_configuration_is_a_commit() -> None:
    activated = [line.replace("COMMIT", "COMMITANDACTIVATE") for line in BROADCAST.splitlines()]
    assert judge(records(*activated)).packets == judge(records(BROADCAST)).packets
    breaks(BROADCAST, "1>2 PROPOSAL 1:3", "2>1 ACK 1:3", "1>2 COMMITANDACTIVATE 1:3", "1>2 PROPOSAL 1:5")


def test_packets_to_observers_are_judged() -> None:
    judged = judge(records(BROADCAST, *OBSERVER))
    assert (judged.divergences, judged.packets) == ((), 16)
    joined = "1>3 DIFF 1:2", "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:1", "1>3 PROPOSAL 1:2", "1>3 COMMIT 1:2"
    keeps(BROADCAST, *ASKING, *joined, "1>3 NEWLEADER 1:0", "3>1 ACK 1:0", "1>3 UPTODATE -1", "3>1 ACK 1:0")


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        (["1>3 DIFF 0:0", "1>3 SNAP 1:2"], "history_answers"),
        (["1>3 NEWLEADER 1:0"], "newleader_ends_the_history"),
        (["1>3 DIFF 0:0", "1>3 PROPOSAL 2:1"], "proposals_are_of_its_epoch"),
        (["1>3 DIFF 1:2", "1>3 PROPOSAL 1:2"], "proposals_have_no_gap"),
        (["1>3 DIFF 1:2", "1>3 PROPOSAL 1:1", "1>3 COMMIT 1:2"], "commits_follow_proposals"),
        (["1>3 DIFF 1:2", "1>3 PROPOSAL 1:1", "1>3 NEWLEADER 1:0"], "newleader_is_complete"),
        (["1>3 SNAP 1:2", "1>3 NEWLEADER 1:0", "1>3 UPTODATE -1"], "uptodate_needs_a_quorum"),
    ],
)
def test_an_observer_is_brought_up_to_date_like_a_follower(sent: list[str], name: str) -> None:
    assert breaks(BROADCAST, *ASKING, *sent).name == name


def test_an_observer_with_more_than_its_leader_is_cut() -> None:
    longer = *ASKING[:2], "3>1 ACKEPOCH 1:3 a=0"
    keeps(BROADCAST, *longer, "1>3 TRUNC 1:2")
    assert breaks(BROADCAST, *longer, "1>3 DIFF 1:2").name == "history_fits"
    assert breaks(BROADCAST, *longer, "1>3 TRUNC 1:3").name == "history_fits"


def test_the_comparison_with_the_model_agrees_about_followers() -> None:
    keeps(DISCOVERY, "1>2 NEWLEADER 1:0", "1>2 DIFF 0:0", "1>2 SNAP 1:2", "2>1 ACK 7:0", "1>2 COMMIT 1:1")


def test_l_3_2_observers_are_told_of_what_a_quorum_has() -> None:
    keeps(BROADCAST, *OBSERVER, "1>3 INFORM 1:2", "1>2 PROPOSAL 1:3", "2>1 ACK 1:3", "1>3 INFORM 1:3")
    found = breaks(BROADCAST, *OBSERVER, "1>3 INFORM 1:2", "1>2 PROPOSAL 1:3", "1>3 INFORM 1:3")
    assert (found.name, found.step, found.seen) == ("informs_need_a_quorum", "l.3.2", "INFORM after 0 of them")


def test_l_3_1_observers_are_told_of_everything() -> None:
    more = "1>2 PROPOSAL 1:3", "2>1 ACK 1:3"
    found = breaks(BROADCAST, *OBSERVER, *more, "1>3 INFORM 1:3")
    assert (found.name, found.expected) == ("informs_have_no_gap", "the INFORM that follows ⟨1,1⟩")
    ahead = "jump 1 1:2 1:8", "1>2 PROPOSAL 1:9", "2>1 ACK 1:9"
    keeps(BROADCAST, *OBSERVER, "1>3 INFORM 1:2", *ahead, "1>3 INFORM 1:9")


def test_an_observer_is_in_no_quorum() -> None:
    """One of four servers observes: two of the others are a quorum, and its ACKs count for nothing."""
    head, *rest = records(BROADCAST)
    assert isinstance(head, Run)
    assert judge([replace(head, servers=4, observers=1), *rest]).divergences == ()
    assert judge([replace(head, servers=4), *rest]).divergences != ()
    acknowledging = "1>3 INFORM 1:2", "1>2 PROPOSAL 1:3", "3>1 ACK 1:3", "1>3 INFORM 1:3"
    assert breaks(BROADCAST, *OBSERVER, *acknowledging).name == "informs_need_a_quorum"


def test_a_lost_packet_tells_nobody_anything() -> None:
    """It is shown as lost."""
    found = judge(records(SYNCHRONIZATION, "1>2 PROPOSAL 1:1 lost", "1>2 PROPOSAL 1:3")).divergences
    assert [each.name for each in found] == ["proposals_have_no_gap"]
    assert [line.note for line in explain(found[0])][-2:] == ["PROPOSE (lost)", "PROPOSE (on its way)"]


def test_without_all_packets_nothing_is_judged() -> None:
    whole = records(BROADCAST, "1>2 PROPOSAL 1:9")
    broken = [each for each in whole if isinstance(each, Sent)][8]
    undecoded = Undecoded(1, broken.connection, 2, 1, "from byte 17 on: a length of -7")
    at = whole.index(broken)
    judged = judge([*whole[:at], undecoded, *whole[at:]])
    assert (judged.divergences, judged.packets) == ((), 8)
    assert judged.notes == (
        "connection 1 cannot be read from byte 17 on: a length of -7; no packet after that is judged",
    )
    one = Undecoded(1, broken.connection, 2, 1, "packet 9, PROPOSAL: the path ends early")
    assert [each.packet for each in judge([*whole[:at], one, *whole[at:]]).divergences] == [15]


def test_a_rule_is_broken_once_on_a_connection() -> None:
    found = judge(records(BROADCAST, "1>2 PROPOSAL 1:9", "1>2 PROPOSAL 1:12", "1>2 COMMIT 1:9")).divergences
    assert [(each.packet, each.name) for each in found] == [(15, "proposals_have_no_gap")]


def test_what_diverged_is_taken_as_it_is_from_then_on() -> None:
    later = "1>2 PROPOSAL 1:10", "2>1 ACK 1:9", "1>2 COMMIT 1:9"
    assert len(judge(records(BROADCAST, "1>2 PROPOSAL 1:9", *later)).divergences) == 1


def long_run(transactions: int) -> list[AnyRecord]:
    """Return the packets of a run in which many transactions are proposed before any is acknowledged."""
    counters = range(1, transactions + 1)
    lines = [f"{text} 1:{counter}" for text in ("1>2 PROPOSAL", "2>1 ACK", "1>2 COMMIT") for counter in counters]
    return records(SYNCHRONIZATION, *lines)


@pytest.mark.slow
def test_the_cost_grows_with_the_packets_and_not_faster() -> None:
    """10,000 outstanding proposals: with quadratic work this would take minutes."""
    judged = judge(long_run(10_000))
    assert (judged.divergences, judged.packets) == ((), 30_008)


def test_packets_that_are_passed_on_need_not_be_known() -> None:
    """The packets are those of election ports, and of connections that were opened before the recording began."""
    assert judge([*records(DISCOVERY), Passed(1, 99), Sent(1, 100, 50, 1, 2, "COMMIT", 1)]).divergences == ()
