"""Each signature: a run that looks like the issue, and one that nearly does."""

from pathlib import Path

import pytest
from msgspec import structs

from docs.generators.zookeeper import extracted
from invariants import Zxid
from tests.zookeeper.notation import BROADCAST, records
from tests.zookeeper.recordings import zxid
from zabcheck.zookeeper.rules.packets import judge
from zabcheck.zookeeper.trace.notes import (
    ActivationMissed,
    CameBack,
    ConfigurationSkipped,
    CountedNotLogged,
    CutAboveSnapshot,
    CutRecordKept,
    EpochTakenTwice,
    EpochWithoutHistory,
    HoleInLog,
    InformedNotLogged,
    ListsPart,
    SnapshotLost,
    SnapshotTakenOver,
)
from zabcheck.zookeeper.trace.sources import LogPlace
from zabcheck.zookeeper.verdict import judge as judgement
from zabcheck.zookeeper.verdict.findings import Ahead, ErrorLogged, ExitedByItself, Finding, OtherDigest
from zabcheck.zookeeper.verdict.known_issues import ISSUES, NO_NUMBER, parsed, recognise
from zabcheck.zookeeper.verdict.signatures import (
    Forgot,
    Overtaking,
    PassedOver,
    ProposedLate,
    StaleNode,
    StaleSync,
    WatchNotTold,
)


def said(server: int, *words: str) -> Finding:
    """An error that a server logged: its message, the exception, its cause, and the place."""
    return Finding("error", server, 0, "", ErrorLogged(*words), NOWHERE)


def digest(server: int, ahead: Ahead | None = None) -> Finding:
    fact = OtherDigest("Digests are not matching. Value is Zxid. Value:4294967373", ahead)
    return Finding("digest mismatch", server, 0, "", fact, NOWHERE)


def looks_like(version: str, *texts: str, findings: tuple[Finding, ...] = ()) -> dict[str, str]:
    """The issues that a run looks like, and why."""
    divergences = judge(records(*texts)).divergences
    return {each.issue.key: each.why for each in recognise(version, divergences, findings)}


NOWHERE = LogPlace("server-1.0.log", 1)
OTHER = SnapshotTakenOver(9, Zxid(9, 9), 8)
"""A note that no signature reads without a packet."""

NULL = "java.lang.NullPointerException"
AT = "\tat org.apache.zookeeper.server.quorum."

DIFF = """
2>1 FOLLOWERINFO 1:0
1>2 LEADERINFO 2:0
2>1 ACKEPOCH 1:1 a=1
1>2 DIFF 1:3
1>2 PROPOSAL 1:2
1>2 COMMIT 1:2
1>2 PROPOSAL 1:3
1>2 COMMIT 1:3
1>2 NEWLEADER 2:0
"""
"""Server 2 is brought two transactions."""
TRUNC = DIFF.replace("ACKEPOCH 1:1", "ACKEPOCH 1:5").replace("DIFF 1:3", "TRUNC 1:1")
"""It is cut first."""
AGAIN = "closed 2>1", "2>3 FOLLOWERINFO 2:0", "3>2 LEADERINFO 3:0"
RESTART = "start 2", *AGAIN


def test_1653_a_server_cannot_load_its_epoch() -> None:
    text = "Unable to load database on disk java.io.IOException: The current epoch, 1, is older than the last zxid, 7"
    found = looks_like("3.8.0", findings=(said(1, "something else"), said(2, text)))
    assert found == {"ZOOKEEPER-1653": "server 2 says 'is older than the last zxid'"}
    other = "The accepted epoch, 1 is less than the current epoch, 2"
    assert looks_like("3.8.0", findings=(said(2, other),)) == {}
    assert looks_like("3.4.14", findings=(said(2, text),)) == {}


def test_2307_a_server_has_promised_less_than_it_adopted() -> None:
    text = (
        "Unable to load database on disk java.io.IOException: The accepted epoch, 1 is less than the current epoch, 2"
    )
    found = looks_like("3.6.2", findings=(said(2, text),))
    why = "server 2 says 'is less than the current epoch'"
    assert found == {"ZOOKEEPER-2307": why, "ZOOKEEPER-4311": why}
    assert looks_like("3.6.3", findings=(said(2, text),)) == {"ZOOKEEPER-4311": why}
    assert looks_like("3.8.0", findings=(said(2, text),)) == {}


def test_4311_a_server_promises_an_epoch_to_two_leaders() -> None:
    promised = BROADCAST, "closed 2>1", "2>3 FOLLOWERINFO 1:0", "3>2 LEADERINFO 2:0", "2>3 ACKEPOCH 1:2 a=1"
    again = "start 2", "closed 2>3", "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:2 a=1"
    why = "server 2 should have epoch 2 promised to server 3 only, and has epoch 2 promised to server 1 (packet 20)"
    assert looks_like("3.7.2", *promised, *again) == {"ZOOKEEPER-4311": why}
    assert looks_like("3.8.0", *promised, *again) == looks_like("3.7.2", *promised) == {}


OVERTAKEN = Zxid(2, 3)


def test_2846_a_leader_sends_what_its_log_has_although_a_snapshot_overtook_it() -> None:
    """Server 1 has in its log what was never committed, and not what its snapshot brought."""
    told = "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 3:0", "2>1 ACKEPOCH 2:3 a=2"
    cut = "1>2 TRUNC 1:9", "1>2 PROPOSAL 2:4", "1>2 COMMIT 2:4", "1>2 NEWLEADER 3:0"
    divergences = judge(records(*told, *cut)).divergences

    def looks(version: str, server: int = 1, zxid: Zxid = OVERTAKEN) -> dict[str, str]:
        note = SnapshotTakenOver(server, zxid, 2)
        return {each.issue.key: each.why for each in recognise(version, divergences, notes=[note])}

    why = "server 1 had taken over a snapshot up to ⟨2,3⟩; as a leader it sends PROPOSAL ⟨2,4⟩ instead of the proposal "
    for version in ("3.6.3", "3.8.0", "3.9.5"):
        assert looks(version) == {"ZOOKEEPER-2846": f"{why}that follows ⟨1,9⟩"}
    assert looks("3.8.0", server=2) == {}
    assert looks("3.4.14") == {}
    for outside in (Zxid(1, 0), Zxid(1, 9), Zxid(2, 4)):
        assert looks("3.8.0", zxid=outside) == {}


BROUGHT_TOO_MUCH = (
    *("2>3 FOLLOWERINFO 1:0", "3>2 LEADERINFO 2:0", "2>3 ACKEPOCH 1:8 a=1", "3>2 DIFF 1:8", "3>2 NEWLEADER 2:0"),
    *("2>3 ACK 2:0", "3>2 UPTODATE -1", "3>2 PROPOSAL 2:1", "2>3 ACK 2:1", "closed 2>3"),
    *("1>3 FOLLOWERINFO 1:0", "3>1 LEADERINFO 3:0", "1>3 ACKEPOCH 1:9 a=1", "3>1 DIFF 1:9", "3>1 PROPOSAL 2:1"),
)
"""Server 3 has brought server 2 ⟨1,8⟩ before ⟨2,1⟩, and brings server 1 ⟨1,9⟩ before it."""


def test_a_history_that_has_too_much_has_no_hole() -> None:
    """A run of the fifth report is like that: nothing is left out, and the snapshot is from before anything."""
    divergences = judge(records(*BROUGHT_TOO_MUCH)).divergences
    assert [each.name for each in divergences] == ["proposals_continue_one_history"]
    note = SnapshotTakenOver(3, Zxid(1, 0), 1)
    for version in ("3.8.0", "3.9.3", "3.9.5"):
        assert recognise(version, divergences, notes=[note]) == []


def test_3642_a_snapshot_was_taken_over_in_memory_only() -> None:
    begun = DIFF.replace("ACKEPOCH 1:1", "ACKEPOCH 0:0").replace("DIFF 1:3", "SNAP 1:1").partition("1>2 NEWLEADER")[0]
    told = "closed 2>1", "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:3 a=-1"
    found = looks_like("3.6.2", begun, *told, *RESTART, "2>3 ACKEPOCH 0:0 a=1")
    assert found == {
        "ZOOKEEPER-3642": "server 2 was started again without what its ACKEPOCH (packet 11) told of, behind SNAP"
    }
    assert looks_like("3.6.3", begun, *told, *RESTART, "2>3 ACKEPOCH 0:0 a=1") == {}
    assert looks_like("3.6.2", begun, *told, *AGAIN, "2>3 ACKEPOCH 0:0 a=1") == {}


@pytest.mark.parametrize(
    ("version", "key"),
    [
        ("3.6.2", "ZOOKEEPER-3911"),
        ("3.6.3", "ZOOKEEPER-4646, ZOOKEEPER-4785"),
        ("3.8.0", "ZOOKEEPER-4646, ZOOKEEPER-4785"),
        ("3.9.1", "ZOOKEEPER-4646, ZOOKEEPER-4785"),
    ],
)
def test_3911_4646_4785_the_diff_was_acknowledged_and_not_logged(version: str, key: str) -> None:
    found = looks_like(version, DIFF, "2>1 ACK 2:0", *RESTART, "2>3 ACKEPOCH 1:2 a=2")
    assert found == {
        key: "server 2 was started again without what its ACK of NEWLEADER (packet 10) told of, behind DIFF"
    }


def test_4646_needs_a_crash_and_a_version_that_has_it() -> None:
    assert list(looks_like("3.8.0", DIFF, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:2 a=2")) == ["ZOOKEEPER-4712"]
    assert looks_like("3.8.5", DIFF, "2>1 ACK 2:0", *RESTART, "2>3 ACKEPOCH 1:2 a=2") == {}
    acknowledged = "2>1 ACK 2:0", "1>2 UPTODATE -1", "1>2 PROPOSAL 2:1", "2>1 ACK 2:1"
    assert looks_like("3.8.0", DIFF, *acknowledged, *RESTART, "2>3 ACKEPOCH 1:3 a=2") == {}


def test_4394_a_commit_finds_no_proposal() -> None:
    trace = (
        *("Exception when following the leader", f"{NULL}: because pif is null", ""),
        f"{AT}Learner.syncWithLeader(Learner.java)",
    )
    found = looks_like("3.8.0", findings=(said(2, *trace),))
    assert found == {"ZOOKEEPER-4394": "server 2 says 'NullPointerException' in Learner.syncWithLeader"}
    elsewhere = "", NULL, "", f"{AT}Learner.registerWithLeader(Learner.java)"
    other = "", "java.io.EOFException", "", f"{AT}Learner.syncWithLeader(Learner.java)"
    assert looks_like("3.8.0", findings=(said(2, *elsewhere), said(3, *other))) == {}
    assert looks_like("3.9.2", findings=(said(2, *trace),)) == found
    assert looks_like("3.9.3", findings=(said(2, *trace),)) == {}


def test_4409_an_acknowledgement_finds_no_connection() -> None:
    where = f"{AT}SendAckRequestProcessor.flush(SendAckRequestProcessor.java)"
    trace = "", f"{NULL}: learner.sock", "", where
    assert looks_like("3.8.0", findings=(said(3, *trace),)) == {
        "ZOOKEEPER-4409": "server 3 says 'NullPointerException' in SendAckRequestProcessor"
    }
    assert looks_like("3.9.3", findings=(said(3, *trace),)) == {}
    assert looks_like("3.8.0", findings=(said(3, *trace[:3], where.replace("SendAck", "Sync")),)) == {}


def test_4643_the_epoch_is_written_before_its_history() -> None:
    found = looks_like("3.8.0", DIFF, *RESTART, "2>3 ACKEPOCH 1:1 a=2")
    assert found == {"ZOOKEEPER-4643": "server 2 has the epoch, without its history (packet 12)"}
    assert looks_like("3.8.0", DIFF, *RESTART, "2>3 ACKEPOCH 1:1 a=1") == {}
    assert looks_like("3.9.2", DIFF, *RESTART, "2>3 ACKEPOCH 1:1 a=2") == {}


def test_4643_is_also_a_disk_with_the_epoch_alone_whoever_leads_next() -> None:
    note = EpochWithoutHistory(1, 2, Zxid(1, 4))
    [found] = recognise("3.8.0", (), notes=(OTHER, note))
    assert (found.issue.key, found.why) == ("ZOOKEEPER-4643", note.words())
    assert recognise("3.9.2", (), notes=(note,)) == []
    assert recognise("3.8.0", (), notes=(OTHER,)) == []


def test_4685_a_proposal_is_acknowledged_before_newleader() -> None:
    found = looks_like("3.8.0", DIFF, "2>1 ACK 1:2", "2>1 ACK 2:0")
    assert found == {"ZOOKEEPER-4685": "server 2 sends ACK ⟨1,2⟩ before its ACK of NEWLEADER (packet 10)"}
    assert looks_like("3.8.0", DIFF, "2>1 ACK 2:0", "2>1 ACK 1:2") == {}
    assert looks_like("3.9.3", DIFF, "2>1 ACK 1:2", "2>1 ACK 2:0") == {}


def test_4712_an_old_thread_goes_on_logging() -> None:
    found = looks_like("3.8.0", DIFF, "2>1 ACK 2:0", *RESTART, "2>3 ACKEPOCH 1:5 a=2")
    assert found == {
        "ZOOKEEPER-4712": "server 2 has a history up to ⟨1,5⟩ after an ACK of NEWLEADER behind DIFF (packet 10), "
        "and nobody has sent it that since"
    }
    assert looks_like("3.9.3", DIFF, "2>1 ACK 2:0", *RESTART, "2>3 ACKEPOCH 1:5 a=2") == {}


def test_4712_memory_is_not_brought_up_to_the_log() -> None:
    found = looks_like("3.8.0", DIFF, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:1 a=2")
    assert found == {
        "ZOOKEEPER-4712": "server 2 goes on from before its ACK of NEWLEADER (packet 10), "
        "and was not started again since"
    }
    assert looks_like("3.8.0", DIFF, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:3 a=2") == {}
    assert looks_like("3.9.3", DIFF, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:1 a=2") == {}


def test_4837_what_was_cut_comes_back() -> None:
    found = looks_like("3.9.5", TRUNC, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:5 a=2")
    assert list(found) == ["ZOOKEEPER-4837"]
    assert looks_like("3.9.5", TRUNC, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:3 a=2") == {}
    assert looks_like("3.9.5", DIFF, "2>1 ACK 2:0", *AGAIN, "2>3 ACKEPOCH 1:5 a=2") == {}


def test_4837_is_also_a_snapshot_that_is_newer_than_the_cut() -> None:
    note = CutAboveSnapshot(3, Zxid(1, 103), Zxid(1, 203))
    [found] = recognise("3.9.5", (), notes=(OTHER, note))
    assert (found.issue.key, found.why) == ("ZOOKEEPER-4837", note.words())
    assert recognise("3.9.5", (), notes=(CutRecordKept(3, Zxid(1, 103), Zxid(1, 104), has_cut=True),)) == []


def test_2832_what_a_snapshot_replaced_is_read_from_the_log_again() -> None:
    note = CameBack(3, Zxid(1, 1))
    for version in ("3.6.3", "3.9.5"):
        [found] = recognise(version, (), notes=(OTHER, note))
        assert (found.issue.key, found.why) == ("ZOOKEEPER-2832", note.words())


def test_4925_a_leader_passes_a_hole_on() -> None:
    hole = DIFF.replace("1>2 PROPOSAL 1:2\n1>2 COMMIT 1:2\n", "")
    found = looks_like("3.9.3", hole)
    assert found == {
        "ZOOKEEPER-4925": "server 1 leads, and leaves out transactions: PROPOSAL ⟨1,3⟩ instead of the proposal that "
        "follows ⟨1,1⟩"
    }
    assert looks_like("3.9.2", hole) == {}
    assert looks_like("3.9.4", hole) == {}
    assert looks_like("3.9.3", DIFF) == {}


def test_4925_a_leader_leaves_out_the_end_of_an_earlier_epoch() -> None:
    """A run of 3.9.3 showed it: server 1 was brought up to ⟨1,3⟩, then ⟨2,1⟩, and sends ⟨2,1⟩ alone."""
    led = DIFF, "2>1 ACK 2:0", "1>2 UPTODATE -1", "1>2 PROPOSAL 2:1", "2>1 ACK 2:1", "1>2 COMMIT 2:1", "closed 2>1"
    told = "3>2 FOLLOWERINFO 1:0", "2>3 LEADERINFO 3:0", "3>2 ACKEPOCH 1:1 a=1", "2>3 DIFF 2:1"
    found = looks_like("3.9.3", *led, *told, "2>3 PROPOSAL 2:1")
    assert found == {
        "ZOOKEEPER-4925": "server 2 leads, and leaves out transactions: ⟨1,1⟩ before it instead of ⟨1,3⟩ before ⟨2,1⟩, "
        "as packet 12 showed"
    }
    whole = "2>3 PROPOSAL 1:2", "2>3 COMMIT 1:2", "2>3 PROPOSAL 1:3", "2>3 COMMIT 1:3", "2>3 PROPOSAL 2:1"
    assert looks_like("3.9.3", *led, *told, *whole) == {}


def test_4925_a_leader_cuts_what_it_does_not_remember() -> None:
    """It told f.a = 1 itself, and told a later end than it sends."""
    before = "1>3 FOLLOWERINFO 0:0", "3>1 LEADERINFO 1:0", "1>3 ACKEPOCH 1:5 a=1", "closed 1>3"
    cut = "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:4 a=1", "1>2 TRUNC 1:1", "1>2 NEWLEADER 2:0"
    found = looks_like("3.9.3", *before, *cut)
    assert found == {
        "ZOOKEEPER-4925": "server 1 leads, and brings one up to ⟨1,1⟩ instead of a history up to ⟨1,4⟩, which "
        "server 2 told with f.a = 1"
    }
    assert looks_like("3.9.5", *before, *cut) == {}


def test_5094_memory_was_ahead_of_the_log() -> None:
    begun = TRUNC.partition("1>2 NEWLEADER")[0]
    told = "closed 2>1", "2>1 FOLLOWERINFO 2:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:3 a=-1"
    found = looks_like("3.9.5", begun, *told, *RESTART, "2>3 ACKEPOCH 1:1 a=1")
    assert found == {
        "ZOOKEEPER-5094": "server 2 was started again without what its ACKEPOCH (packet 11) told of, behind TRUNC"
    }
    assert looks_like("3.9.5", begun, *told, *RESTART, "2>3 ACKEPOCH 1:3 a=1") == {}
    restarted_first = "start 2", *told, *RESTART, "2>3 ACKEPOCH 1:1 a=1"
    assert looks_like("3.9.5", begun, *restarted_first) == {}


def test_5094_is_also_a_log_that_goes_on_behind_what_it_lacks() -> None:
    note = HoleInLog(2, Zxid(1, 5), Zxid(1, 6))
    for version in ("3.6.3", "3.8.0", "3.9.3", "3.9.5"):
        [found] = recognise(version, (), notes=(OTHER, note))
        assert (found.issue.key, found.why) == ("ZOOKEEPER-5094", note.words())


def test_5094_is_also_a_server_that_does_not_start_with_its_hole() -> None:
    hole = ErrorLogged("Unable to load database on disk", "java.io.IOException: cached out of order")
    refuses = Finding("could not start", 2, 1, "start", ExitedByItself(1, hole), NOWHERE)
    assert looks_like("3.9.5", findings=(refuses,)) == {"ZOOKEEPER-5094": "server 2 cannot start: its log has a hole"}
    assert looks_like("3.9.5", findings=(structs.replace(refuses, kind="ended by itself"),)) == {}
    assert looks_like("3.9.5", findings=(structs.replace(refuses, fact=ExitedByItself(1)),)) == {}


def test_a_transaction_is_applied_again_by_a_server_that_leaves_its_leader() -> None:
    found = looks_like("3.6.3", findings=(digest(1), digest(2, Ahead.LOG)))
    assert found == {"ZOOKEEPER-3598": f"the digest of server 2 does not fit: {Ahead.LOG.value}"}
    assert looks_like("3.6.3", findings=(digest(2),)) == {}
    assert looks_like("3.5.9", findings=(digest(2, Ahead.LOG),)) == {}


def test_digests_are_compared_of_what_a_snapshot_has_already() -> None:
    found = looks_like("3.9.4", findings=(digest(1), digest(2, Ahead.SNAPSHOT)))
    assert found == {NO_NUMBER: f"the digest of server 2 does not fit: {Ahead.SNAPSHOT.value}"}
    assert looks_like("3.9.4", findings=(digest(2, Ahead.LOG), digest(2))).keys() == {"ZOOKEEPER-3598"}
    assert looks_like("3.9.3", findings=(digest(2, Ahead.SNAPSHOT),)) == {}


def test_a_transaction_that_is_applied_again_undoes_a_later_one() -> None:
    older = StaleNode(2, "/r13", zxid(1, 7), zxid(1, 8))
    mismatch = digest(2)
    [found] = recognise("3.9.5", (), [mismatch], behind=[older])
    assert (found.issue.key, found.why) == (
        "ZOOKEEPER-3598",
        "the digest of server 2 does not fit, and in the end it has /r13 as of ⟨1,7⟩, though it has delivered ⟨1,8⟩, "
        "which changes that node, too",
    )
    assert recognise("3.9.5", (), [structs.replace(mismatch, server=1)], behind=[older]) == []
    assert recognise("3.9.5", (), [structs.replace(mismatch, kind="error")], behind=[older]) == []


def test_a_leader_that_applied_a_transaction_again_cuts_off_what_it_has() -> None:
    """A run of 3.8.0 showed it: it has acknowledged ⟨1,5⟩ itself, and cuts a follower that has ⟨1,4⟩."""
    before = "1>3 FOLLOWERINFO 0:0", "3>1 LEADERINFO 1:0", "1>3 ACKEPOCH 1:5 a=1", "closed 1>3"
    cut = "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 2:0", "2>1 ACKEPOCH 1:4 a=1", "1>2 TRUNC 1:1", "1>2 NEWLEADER 2:0"
    why = f"the digest of server 1 does not fit: {Ahead.LOG.value}"
    found = looks_like("3.8.0", *before, *cut, findings=(digest(1, Ahead.LOG),))
    assert found == {
        "ZOOKEEPER-3598": f"{why}; as a leader it brings one up to ⟨1,1⟩ instead of a history up to ⟨1,4⟩, which "
        "server 2 told with f.a = 1"
    }
    other = looks_like("3.8.0", *before, *cut, findings=(digest(3, Ahead.LOG),))
    assert other == {"ZOOKEEPER-3598": why.replace("server 1", "server 3")}
    assert looks_like("3.8.0", *before, *cut) == {}


def test_a_healthy_run_looks_like_nothing() -> None:
    for version in ("3.6.2", "3.6.3", "3.8.0", "3.9.3", "3.9.5"):
        assert looks_like(version, DIFF, "2>1 ACK 2:0", "1>2 UPTODATE -1", "2>1 ACK 2:0") == {}


def test_a_sentence_names_the_issue_and_the_evidence() -> None:
    [found] = recognise("3.8.0", judge(records(DIFF, "2>1 ACK 1:2")).divergences)
    assert found.sentence() == (
        "this looks like ZOOKEEPER-4685 (a proposal of the initial history is acknowledged before NEWLEADER): "
        "server 2 sends ACK ⟨1,2⟩ before its ACK of NEWLEADER (packet 10)"
    )


def test_versions_are_compared_by_their_numbers() -> None:
    assert parsed("3.10.0") > parsed("3.9.5")
    assert parsed("3.5.3-beta") == (3, 5, 3)
    with pytest.raises(ValueError, match=r"expected a version such as .*, found 'debian'"):
        parsed("debian")


def test_each_issue_is_named_once_and_its_versions_ascend() -> None:
    keys = [issue.key for issue in ISSUES if issue.has_number]
    assert len(keys) == len(ISSUES) - 18
    assert all(issue.key == NO_NUMBER for issue in ISSUES[len(keys) :])
    assert len({issue.name for issue in ISSUES}) == len(ISSUES)
    assert len({issue.title for issue in ISSUES}) == len(ISSUES)
    numbers = [int(key.split(",")[0].removeprefix("ZOOKEEPER-")) for key in keys]
    assert numbers == sorted(set(numbers))
    for issue in ISSUES:
        bounds = [bound for pair in issue.affected for bound in pair if bound is not None]
        assert bounds == sorted(bounds, key=parsed), issue.key


def test_4712_is_also_a_server_that_tells_of_less_than_it_had_without_having_been_started_again() -> None:
    def why(version: str, restarted: bool) -> dict[str, str]:
        forgot = [Forgot(1, Zxid(1, 103), Zxid(1, 106), restarted)]
        return {each.issue.key: each.why for each in recognise(version, (), (), forgot)}

    text = "server 1 has acknowledged a history up to ⟨1,106⟩, and tells of ⟨1,103⟩, without having been started again"
    assert why("3.8.0", restarted=False) == {"ZOOKEEPER-4712": text}
    assert why("3.8.0", restarted=True) == {}
    assert why("3.9.3", restarted=False) == {}


def test_a_leader_that_forgot_is_one_of_three_by_its_version_and_life() -> None:
    """Server 2 acknowledged ⟨1,3⟩, and brings server 3 ⟨1,1⟩ only."""
    leads = "3>2 FOLLOWERINFO 1:0", "2>3 LEADERINFO 3:0", "3>2 ACKEPOCH 1:1 a=1", "2>3 DIFF 1:1", "2>3 NEWLEADER 3:0"
    closed = DIFF, "2>1 ACK 2:0", "closed 2>1"
    assert list(looks_like("3.8.0", *closed, *leads)) == ["ZOOKEEPER-4712"]
    assert list(looks_like("3.8.0", *closed, "start 2", *leads)) == ["ZOOKEEPER-4646, ZOOKEEPER-4785"]
    assert list(looks_like("3.9.3", *closed, *leads)) == ["ZOOKEEPER-4925"]
    assert looks_like("3.9.5", *closed, *leads) == {}


def test_an_ack_of_before_a_trunc_is_counted() -> None:
    """Server 2 acknowledges ⟨1,3⟩, comes back, and is told to cut it off: the leader commits by its old ACK."""
    proposed = BROADCAST, "1>2 PROPOSAL 1:3", "2>1 ACK 1:3"
    back = "closed 2>1", "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 1:0", "2>1 ACKEPOCH 1:3 a=-1"
    cut = "1>2 TRUNC 1:2", "1>2 PROPOSAL 1:3", "1>2 NEWLEADER 1:0"
    for version in ("3.6.3", "3.9.5"):
        assert looks_like(version, *proposed, *back, *cut, "1>2 COMMIT 1:3") == {
            NO_NUMBER: "server 1 leads, and sends COMMIT after the ACK of server 2, which was told since to cut it off "
            "(TRUNC ⟨1,2⟩, packet 20)"
        }
    assert looks_like("3.9.5", *proposed, "1>2 COMMIT 1:3", *back, "1>2 DIFF 1:3", "1>2 NEWLEADER 1:0") == {}


def test_a_truncation_to_what_the_log_lacks_keeps_a_record() -> None:
    note = CutRecordKept(3, Zxid(2, 1), Zxid(3, 1), has_cut=False)
    assert recognise("3.9.5", (), notes=(structs.replace(note, has_cut=True),)) == []
    for version in ("3.6.3", "3.9.5"):
        [found] = recognise(version, (), notes=(note,))
        assert (found.issue.name, found.why) == ("trunc-keeps-one", note.words())


def failed_at(where: str, exception: str = "IOException") -> tuple[str, ...]:
    """The words of a server whose thread that logs could not write."""
    message = "Severe unrecoverable error, from thread : SyncThread:2"
    return message, f"java.io.{exception}: No space left on device", "", f"{AT}persistence.{where}(x:1)"


AT_A_RECORD, WITHIN = failed_at("FileTxnSnapLog.append"), failed_at("FileTxnLog.append")


def test_4882_a_server_goes_on_after_a_disk_error() -> None:
    found = looks_like("3.9.5", findings=(said(2, *AT_A_RECORD),))
    assert found == {"ZOOKEEPER-4882": "server 2 says 'Severe unrecoverable error' in SyncThread"}
    assert looks_like("3.4.9", findings=(said(2, *AT_A_RECORD),)) == {}
    assert looks_like("3.9.5", findings=(said(2, *failed_at("FileTxnSnapLog.append", "EOFException")),)) == {}


def test_a_server_has_forgotten_what_it_logged_behind_half_a_record() -> None:
    told = DIFF, "2>1 ACK 2:0", *RESTART, "2>3 ACKEPOCH 1:1 a=2"
    assert looks_like("3.9.5", *told, findings=(said(2, *WITHIN),))[NO_NUMBER] == (
        "server 2 was started again after a write failed within a record, without what its ACK (packet 10) told of"
    )
    for server, words in ((2, AT_A_RECORD), (1, WITHIN)):
        assert NO_NUMBER not in looks_like("3.9.5", *told, findings=(said(server, *words),))
    again = [each for each in told if each != "start 2"]
    assert NO_NUMBER not in looks_like("3.9.5", *again, findings=(said(2, *WITHIN),))


def test_a_snapshot_that_was_acknowledged_is_lost_with_the_power() -> None:
    note = SnapshotLost(1, "snapshot.100000004")
    [found] = recognise("3.9.5", (), notes=(OTHER, note))
    assert (found.issue.name, found.why) == ("unforced-snapshot", note.words())


def test_a_leader_counts_as_applied_what_it_has_numbered() -> None:
    passed_over = [PassedOver(2, Zxid(2, 1), 3, 1, Zxid(1, 8))]
    for version in ("3.6.3", "3.9.5"):
        [found] = recognise(version, (), passed_over=passed_over)
        assert (found.issue.key, found.why) == (
            NO_NUMBER,
            "server 2 led, and has broadcast ⟨2,1⟩; as leader of epoch 3 it brings server 1 a history up to ⟨1,8⟩, "
            "though it was not started again in between",
        )
    assert recognise("3.4.9", (), passed_over=passed_over) == []


def test_late_proposal_a_leader_broadcasts_a_zxid_of_an_earlier_epoch() -> None:
    [found] = recognise("3.9.5", (), proposed_late=[ProposedLate(2, Zxid(1, 5), 2)])
    assert (found.issue.name, found.why) == ("late-proposal", "server 2 has broadcast ⟨1,5⟩ as leader of epoch 2")
    lacks_a_leader = said(
        3,
        "Severe unrecoverable error",
        NULL,
        "",
        "org.apache.zookeeper.server.quorum.ProposalRequestProcessor.processRequest",
    )
    [found] = recognise("3.8.0", (), findings=(lacks_a_leader,))
    assert found.issue.name == "late-proposal"


def test_3598_a_server_that_refuses_to_remember_a_transaction_out_of_order() -> None:
    out_of_order = "java.lang.IllegalStateException: Committed proposal cached out of order: 0x38 is not next"
    [found] = recognise(
        "3.9.5", (), findings=(said(2, "Exception occurred from thread QuorumPeer[myid=2]", out_of_order),)
    )
    assert found.issue.name == "ZOOKEEPER-3598"


def test_an_observer_that_is_made_a_voter_without_a_log() -> None:
    note = InformedNotLogged(4, Zxid(1, 1), Zxid(1, 6))
    [found] = recognise("3.9.5", (), notes=(note,))
    assert found.issue.name == "unlogged-voter"
    assert found.why == "server 4: its log lacks ⟨1,1⟩, of which it was informed as an observer, and goes on with ⟨1,6⟩"
    assert recognise("3.5.2", (), notes=(note,)) == []
    assert recognise("3.9.5", (), notes=(HoleInLog(4, Zxid(1, 1), Zxid(1, 6)),))[0].issue.name != "unlogged-voter"


def test_an_observer_that_logs_is_shut_down_in_part_when_it_is_made_a_voter() -> None:
    note = InformedNotLogged(4, Zxid(1, 6), Zxid(1, 10), logs=True)
    assert [found.issue.name for found in recognise("3.8.0", (), notes=(note,))] == ["ZOOKEEPER-4712"]
    assert recognise("3.9.5", (), notes=(note,)) == []


def test_a_configuration_behind_a_write_that_is_not_activated() -> None:
    note = ActivationMissed(4, Zxid(1, 6), Zxid(1, 4))
    lacks = "java.lang.RuntimeException: My id 4 not in the peer list"
    [found] = recognise("3.9.5", (), (said(4, "Unexpected exception", lacks),), notes=(note,))
    assert found.issue.name == "missed-activation"
    assert found.why == (
        "server 4: told to activate the configuration ⟨1,6⟩ before it was up to date, it looked at ⟨1,4⟩ instead, "
        "which it had been sent before"
    )
    assert recognise("3.9.5", (), notes=(note,)) == recognise("3.9.5", (), (said(4, "x", lacks),)) == []
    assert recognise("3.9.5", (), (said(3, "Unexpected exception", lacks),), notes=(note,)) == []


def test_a_configuration_that_is_activated_before_it_is_committed() -> None:
    ahead = "java.io.IOException: Follower is ahead of the leader (has a later activated configuration)"
    other = "java.io.IOException: Follower is ahead of the leader, leader summary: 1 (current epoch)"
    [found] = recognise("3.9.5", (), (said(3, "Unexpected exception in LearnerHandler", ahead),))
    assert found.issue.name == "pending-config"
    assert found.why == "server 3 says 'has a later activated configuration'"
    assert recognise("3.9.5", (), (said(3, "Unexpected exception in LearnerHandler", other),)) == []


def test_a_configuration_that_is_skipped_and_an_epoch_of_the_one_before() -> None:
    skipped, taken = ConfigurationSkipped(2, Zxid(1, 4), Zxid(1, 6)), EpochTakenTwice(2, 2, 5)
    counted = CountedNotLogged(4, Zxid(1, 7), Zxid(1, 6))
    named = (skipped, "skipped-config"), (taken, "old-config-epoch"), (counted, "observer-counted")
    for note, name in named:
        assert [(found.issue.name, found.why) for found in recognise("3.9.5", (), notes=(note,))] == [
            (name, note.words())
        ]


def test_an_observer_that_counted_is_not_taken_for_one_that_is_shut_down_in_part(tmp_path: Path) -> None:
    """3.8.0 has both bugs, and in both a server goes on from before its ACK of NEWLEADER."""
    judged = judgement.judge(extracted("observer-counted-3.8.0", tmp_path))
    assert [found.issue.name for found in judged.known] == ["observer-counted"]


def test_a_leader_that_finds_nobody_to_lead_on() -> None:
    frames = (
        "java.util.NoSuchElementException",
        "",
        "at quorum.Leader.getDesignatedLeader(L)",
    )
    [found] = recognise("3.9.5", (), (said(3, "Unexpected exception in LearnerHandler.", *frames),))
    assert found.issue.name == "nobody-designated"
    assert recognise("3.9.5", (), (said(3, "Unexpected exception in LearnerHandler.", frames[0]),)) == []


def test_two_ensembles_of_one_epoch_one_with_a_learner_whose_part_has_changed() -> None:
    reconfigured = "java.lang.Exception: changes proposed in reconfig"
    found = said(4, "Exception when observing the leader", reconfigured, "", "at quorum.Learner.syncWithLeader(x)")
    once = BROADCAST, "closed 2>1"
    again = "3>1 FOLLOWERINFO 1:0", "1>3 LEADERINFO 2:0", "3>1 ACKEPOCH 1:2 a=1", "1>3 DIFF 1:2", "1>3 PROPOSAL 2:1"
    other = "2>4 FOLLOWERINFO 1:0", "4>2 LEADERINFO 2:0", "2>4 ACKEPOCH 1:1 a=1", "4>2 DIFF 1:1", "4>2 PROPOSAL 2:1"
    told = looks_like("3.9.5", *once, *again, *other, findings=(found,))
    assert "server 4 says 'changes proposed in reconfig'" in told[NO_NUMBER]
    assert not any("reconfig" in why for why in looks_like("3.9.5", *once, *again, findings=(found,)).values())
    assert not any("reconfig" in why for why in looks_like("3.9.5", *once, *again, *other).values())


def test_a_server_that_goes_on_without_writing_its_configuration() -> None:
    """3.5 logs the reason of the exception as a parameter that no place is left for."""
    full = "java.io.IOException: No space left on device"
    for message in ("Error writing next dynamic config file to disk", "Error closing file", "Error closing file: "):
        [found] = recognise("3.9.5", (), (said(3, message, full),))
        assert found.issue.name == "unwritten-config"
        assert found.why == f"server 3 says {message.removesuffix(': ')!r}"
    assert recognise("3.9.5", (), (said(3, "Error reading file", full),)) == []


def test_lists_of_servers_by_which_two_groups_can_elect() -> None:
    [found] = recognise("3.9.5", (), notes=(ListsPart((2, 3), (1, 4, 5)),))
    assert found.issue.name == "two-lists"
    said = "by the lists of servers in their configurations {2,3} can elect a leader, and so can {1,4,5}"
    assert found.why == said


def test_a_sync_that_is_answered_as_of_what_its_server_has() -> None:
    within, across = (StaleSync(13, Zxid(1, 7), done) for done in (Zxid(1, 8), Zxid(2, 1)))
    [found] = recognise("3.9.5", (), seen=(within,))
    assert found.issue.name == "stale-sync"
    assert found.why == "client 13 was answered a sync as of ⟨1,7⟩ after ⟨1,8⟩ had been answered"
    assert [each.issue.key for each in recognise("3.5.10", (), seen=(within, across))] == [
        "ZOOKEEPER-1675, ZOOKEEPER-2136"
    ]


def test_a_write_that_is_refused_before_earlier_ones_are_answered() -> None:
    [found] = recognise("3.6.0", (), seen=(Overtaking(12, 4, "NoAuth"),))
    assert found.issue.name == "eager-refusal"
    assert (
        found.why == "client 12 was refused request 4 (NoAuth), without a zxid, before it was answered an earlier one"
    )
    assert recognise("3.6.0", (), seen=(Overtaking(12, 4, "NoNode"),)) == []
    assert recognise("3.5.10", (), seen=(Overtaking(12, 4, "NoAuth"),)) == []


def test_a_node_that_is_watched_in_two_ways() -> None:
    [found] = recognise("3.8.6", (), seen=(WatchNotTold(12, "/r11", also=True),))
    assert found.issue.name == "ZOOKEEPER-4466"
    assert found.why == "client 12 watches /r11 for good and in another way, and was not told a change"
    assert recognise("3.8.6", (), seen=(WatchNotTold(12, "/r11", also=False),)) == []
    assert recognise("3.9.0", (), seen=(WatchNotTold(12, "/r11", also=True),)) == []
