"""Packets that diverge, as they are shown: the rule, how their connection began, and what each packet is in Zab."""

from tests.text.consoles import InAscii
from tests.zookeeper.notation import BROADCAST, SYNCHRONIZATION, packed, records
from zabcheck.text.pen import text_of
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.report.packets import PacketLine, explain, in_zab, render_divergence, render_packets
from zabcheck.zookeeper.rules.knowledge import SHOWN
from zabcheck.zookeeper.rules.packets import judge
from zabcheck.zookeeper.wire.jute import LoggedTxn


def test_the_first_and_the_last_packets_of_the_connection_are_shown() -> None:
    found = judge(records(BROADCAST, "3>1 FOLLOWERINFO 0:0", "1>2 PROPOSAL 1:9")).divergences[0]
    lines = explain(found)
    assert [line.packet for line in lines] == [1, 2, 3, 4, *range(6, 15), 16]
    assert [line.left_out for line in lines] == [0] * 4 + [1] + [0] * 9
    assert len(lines) == 4 + SHOWN
    assert [line.wrong for line in lines] == [False] * 13 + [True]
    assert lines[-1] == PacketLine(31.0, 16, 1, 2, "PROPOSAL", "⟨1,9⟩", "PROPOSE (on its way)", True, 0)
    assert (lines[5].kind, lines[5].zxid) == ("UPTODATE", "")
    assert [line.split() for line in text_of(render_divergence(found)).splitlines() if "…" in line] == [
        ["…", "1", "more"]
    ]


def test_each_packet_has_its_message_of_zab() -> None:
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


def test_a_divergence_is_shown_with_the_packets_before_it() -> None:
    judged = judge(records(SYNCHRONIZATION, "1>2 PROPOSAL 1:2", "1>2 UPTODATE -1"))
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
        "- packet 10: server 1, step l.2.2: a leader commits the epoch once a quorum has acknowledged\n"
        "NEWLEADER; expected one UPTODATE on a connection, seen a second one\n"
    )


def test_a_run_that_keeps_the_steps_is_one_line_and_notes() -> None:
    text = text_of(render_packets(judge(records(BROADCAST, "wipe 2"))))
    assert text == (
        "None of 14 packets breaks a rule.\nthe disk of server 2 was wiped: it may forget what it had acknowledged\n"
    )


def test_it_is_ascii_where_it_has_to_be() -> None:
    judged = judge(records(SYNCHRONIZATION, "1>2 PROPOSAL 1:2"))
    assert text_of(InAscii(render_packets(judged))).isascii()
