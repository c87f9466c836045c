"""Judging a whole recording: what is judged at all, what is said of a divergence, and how it is shown."""

from pathlib import Path

import pytest

from tests.ensemble.notation import BROADCAST, DISCOVERY, SYNCHRONIZATION, packed, records
from zabcheck.ensemble.recording import AnyRecord, LoggedTxn, Passed, Recorder, Sent, Undecoded
from zabcheck.ensemble.report.packets import render_divergence, render_packets
from zabcheck.ensemble.rules.iterations import SHOWN
from zabcheck.ensemble.rules.steps import Line, explain, in_zab, judge, judge_recording
from zabcheck.text.pen import text_of


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
    for record in records(DISCOVERY, "1>2 NEWLEADER 1:0"):
        recorder.record(record)
    recorder.close()
    assert [each.name for each in judge_recording(tmp_path).divergences] == ["newleader_ends_the_history"]


MISSED = {
    1: "newepoch_answers",
    2: "ack_e_answers",
    3: "history_answers",
    4: "newleader_ends_the_history",
    5: "ack_ld_answers",
    6: "uptodate_needs_a_quorum",
    7: "uptodate_is_answered",
    8: None,
    9: "acks_follow_proposals",
    10: "commits_need_a_quorum",
    11: "commits_follow_proposals",
    12: "acks_follow_proposals",
    13: "commits_need_a_quorum",
    14: None,
}
"""Without this packet of a run, which rule is broken first. The second ACK of an epoch tells nobody anything, and the
last packet may just not have been sent yet."""


@pytest.mark.parametrize("packet", MISSED)
def test_a_packet_that_is_missing_is_missed(packet: int) -> None:
    whole = records(BROADCAST)
    judged = judge([each for each in whole if getattr(each, "packet", None) != packet])
    assert next((each.name for each in judged.divergences), None) == MISSED[packet]


def test_observers_are_not_judged() -> None:
    observer = "3>1 OBSERVERINFO 0:0", "1>3 LEADERINFO 1:0", "3>1 ACKEPOCH 0:0 a=0", "1>3 DIFF 0:0", "1>3 INFORM 1:1"
    judged = judge(records(BROADCAST, *observer))
    assert (judged.divergences, judged.packets) == ((), 14)


def test_a_lost_packet_tells_nobody_anything() -> None:
    """It diverges that server 2 acknowledges what it cannot have received; and it is shown as lost."""
    found = judge(records(SYNCHRONIZATION, "1>2 PROPOSAL 1:1 lost", "2>1 ACK 1:1")).divergences
    assert [each.name for each in found] == ["acks_follow_proposals"]
    assert [line.note for line in explain(found[0])][-2:] == ["PROPOSE (lost)", "ACK (on its way)"]


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
    assert [(each.packet, each.name) for each in found] == [
        (15, "proposals_have_no_gap"),
        (17, "commits_need_a_quorum"),
    ]


def test_what_diverged_is_taken_as_it_is_from_then_on() -> None:
    later = "1>2 PROPOSAL 1:10", "2>1 ACK 1:9", "1>2 COMMIT 1:9"
    assert len(judge(records(BROADCAST, "1>2 PROPOSAL 1:9", *later)).divergences) == 1


def test_the_first_and_the_last_packets_of_the_connection_are_shown() -> None:
    found = judge(records(BROADCAST, "3>1 FOLLOWERINFO 0:0", "1>2 PROPOSAL 1:9")).divergences[0]
    lines = explain(found)
    assert [line.packet for line in lines] == [1, 2, 3, 4, *range(6, 15), 16]
    assert [line.left_out for line in lines] == [0] * 4 + [1] + [0] * 9
    assert len(lines) == 4 + SHOWN
    assert [line.wrong for line in lines] == [False] * 13 + [True]
    assert lines[-1] == Line(31.0, 16, 1, 2, "PROPOSAL", "⟨1,9⟩", "PROPOSE (on its way)", True, 0)
    assert (lines[5].kind, lines[5].zxid) == ("UPTODATE", "")
    assert [line.split() for line in text_of(render_divergence(found)).splitlines() if "…" in line] == [
        ["…", "1", "more"]
    ]


def test_what_a_packet_is_in_zab() -> None:
    def said(kind: str, zxid: str = "1:0", epoch: int | None = None, txn: LoggedTxn | None = None) -> str:
        return in_zab(Sent(0, 1, 1, 1, 2, kind, packed(zxid), epoch, txn, 1234))

    assert said("FOLLOWERINFO") == "CEPOCH(1)"
    assert said("LEADERINFO") == "NEWEPOCH(1)"
    assert said("ACKEPOCH", epoch=-1) == "ACK-E that does not count"
    assert said("ACKEPOCH", epoch=0) == "ACK-E, f.a = 0"
    assert said("DIFF", "1:2") == "initial history: what is missing, up to ⟨1,2⟩"
    assert said("TRUNC", "1:2") == "initial history: cut behind ⟨1,2⟩"
    assert said("SNAP", "1:2") == "initial history: a snapshot of 1,234 bytes"
    assert said("NEWLEADER") == "NEWLEADER(1) ends the initial history"
    assert said("ACK") == "ACK-LD(1), or the answer to UPTODATE"
    assert said("ACK", "1:1") == "ACK"
    assert said("UPTODATE", "-1") == "COMMIT-LD"
    assert said("PROPOSAL", "1:1") == "PROPOSE"
    assert said("PROPOSAL", "1:1", txn=LoggedTxn(packed("1:1"), 7, 1, 1, "/c3-1")) == "PROPOSE /c3-1"
    assert said("COMMIT", "1:1") == "COMMIT"


def long_run(transactions: int) -> list[AnyRecord]:
    """As many transactions, each proposed before any is acknowledged."""
    counters = range(1, transactions + 1)
    lines = [f"{text} 1:{counter}" for text in ("1>2 PROPOSAL", "2>1 ACK", "1>2 COMMIT") for counter in counters]
    return records(SYNCHRONIZATION, *lines)


def test_the_cost_grows_with_the_packets_and_not_faster() -> None:
    """10,000 outstanding proposals: with quadratic work this would take minutes."""
    judged = judge(long_run(10_000))
    assert (judged.divergences, judged.packets) == ((), 30_008)


def test_packets_that_are_passed_on_need_not_be_known() -> None:
    """Those of election ports, and of connections that were opened before the recording began."""
    assert judge([*records(DISCOVERY), Passed(1, 99), Sent(1, 100, 50, 1, 2, "COMMIT", 1)]).divergences == ()


def test_a_divergence_is_shown_with_the_packets_before_it() -> None:
    judged = judge(records(SYNCHRONIZATION, "1>2 PROPOSAL 1:2", "1>2 COMMIT 1:2"))
    text = text_of(render_packets(judged))
    first = text_of(render_divergence(judged.divergences[0]))
    assert first == (
        "Packet 9 of server 1 diverges from step l.3.1\n"
        "\n"
        "the rule   a leader proposes its history and its transactions in order, without a gap\n"
        "expected   the proposal that follows ⟨0,0⟩\n"
        "seen       PROPOSAL ⟨1,2⟩\n"
        "\n"
        "The packets of this connection\n"
        "  ms  packet  from → to                zxid   in Zab\n"
        " 0.0       1  2 → 1      FOLLOWERINFO  ⟨0,0⟩  CEPOCH(0)\n"
        " 2.0       2  1 → 2      LEADERINFO    ⟨1,0⟩  NEWEPOCH(1)\n"
        " 4.0       3  2 → 1      ACKEPOCH      ⟨0,0⟩  ACK-E, f.a = 0\n"
        " 6.0       4  1 → 2      DIFF          ⟨0,0⟩  initial history: what is missing, up to ⟨0,0⟩\n"
        " 8.0       5  1 → 2      NEWLEADER     ⟨1,0⟩  NEWLEADER(1) ends the initial history\n"
        "10.0       6  2 → 1      ACK           ⟨1,0⟩  ACK-LD(1), or the answer to UPTODATE\n"
        "12.0       7  1 → 2      UPTODATE             COMMIT-LD\n"
        "14.0       8  2 → 1      ACK           ⟨1,0⟩  ACK-LD(1), or the answer to UPTODATE\n"
        "16.0       9  1 → 2      PROPOSAL      ⟨1,2⟩  PROPOSE (on its way) ◀ diverges\n"
    )
    assert text.startswith(first)
    assert text.endswith(
        "\n1 later divergence:\n"
        "- packet 10: server 1, step l.3.2: a leader commits what a quorum has acknowledged; expected COMMIT\n"
        "⟨1,2⟩ after ACKs of 1 follower, seen COMMIT after 0 of them\n"
    )


def test_a_run_that_keeps_the_steps_is_one_line_and_notes() -> None:
    text = text_of(render_packets(judge(records(BROADCAST, "wipe 2"))))
    assert text == (
        "Each of 14 packets follows from what its sender had received before.\n"
        "the disk of server 2 was wiped: it may forget what it had acknowledged\n"
    )


def test_it_is_ascii_where_it_has_to_be() -> None:
    judged = judge(records(SYNCHRONIZATION, "1>2 PROPOSAL 1:2"))
    assert text_of(render_packets(judged, ascii_only=True)).isascii()
