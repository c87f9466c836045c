"""Findings in a run beside the properties; a fault's own noise is none."""

from pathlib import Path

import pytest

from tests.zookeeper.recordings import Recording, create, zxid
from tests.zookeeper.trace.observed import HEALTHY, A, B, C, healthy, txn
from zabcheck.zookeeper.recording.records import NotRead
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.trace.observe import observe
from zabcheck.zookeeper.trace.server_log import Failure
from zabcheck.zookeeper.trace.sources import LogPlace
from zabcheck.zookeeper.verdict.coverage import Coverage, coverage
from zabcheck.zookeeper.verdict.findings import EXPECTED, Ahead, Finding, OtherDigest, findings, is_expected
from zabcheck.zookeeper.wire.jute import LoggedTxn


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def found(folder: Path) -> list[Finding]:
    return findings(read_sorted(folder), observe(folder))


def of(folder: Path, kind: str) -> list[tuple[int, str]]:
    return [(each.server, each.text) for each in found(folder) if each.kind == kind]


def ahead(folder: Path) -> list[Ahead | None]:
    """Return why the tree was ahead, if it was, for each digest that does not fit."""
    return [each.fact.ahead for each in found(folder) if isinstance(each.fact, OtherDigest)]


def test_nothing_is_wrong_in_a_healthy_run(recording: Recording) -> None:
    healthy(recording)
    assert found(recording.folder) == []
    assert found(HEALTHY) == []


def failure(message: str, *frames: str) -> Failure:
    return Failure(1, 0, "ERROR", "X", message, frames)


@pytest.mark.parametrize(
    "expected",
    [
        failure("Unexpected exception in LearnerHandler: ", "java.io.EOFException", "\tat java.base/x.y(Z.java:1)"),
        failure("Exception when following the leader", "java.net.SocketTimeoutException: Read timed out"),
        failure("Severe unrecoverable error, from thread : F:1", "java.net.SocketException: Socket closed"),
        failure("Exception while shutting down acceptor.", "java.net.SocketException: Socket closed"),
        failure("Close of session 0x0", "java.io.IOException: ZooKeeperServer not running"),
        failure("Ignoring unexpected exception", "java.lang.InterruptedException"),
        failure("Unexpected exception, tries=0", "java.net.ConnectException: Connection refused"),
        failure("Failed to register", "javax.management.InstanceAlreadyExistsException: x"),
        failure("Unhandled scenario for peer sid: 3 fall back to use snapshot"),
        failure("Last transaction was partial."),
        failure("?", "org.apache.zookeeper.KeeperException$SessionExpiredException: x"),
        failure("?", "org.apache.zookeeper.server.ServerCnxn$EndOfStreamException: x"),
        failure("?", "java.nio.channels.CancelledKeyException"),
    ],
)
def test_the_noise_of_a_fault_is_expected(expected: Failure) -> None:
    assert is_expected(expected)


@pytest.mark.parametrize(
    "unexpected",
    [
        failure("Severe unrecoverable error", "java.lang.NullPointerException: Cannot invoke"),
        failure("java.io.EOFException"),
        failure("Unable to load database on disk", "java.io.IOException: The accepted epoch, 1 is less than 2"),
        failure("Unable to load database on disk", "java.io.IOException: caused by java.io.EOFException"),
        failure("NEWLEADER ACK from sid: 1 is from a different epoch - current 0x3 received 0x1"),
        failure("A Unhandled scenario for peer sid: 3 fall back to use snapshot"),
    ],
)
def test_other_errors_are_not(unexpected: Failure) -> None:
    assert not is_expected(unexpected)


def test_each_expected_one_says_why() -> None:
    assert all((message or exception) and why for message, exception, why in EXPECTED)


def test_an_error_is_told_with_the_step_of_zab_and_counted(recording: Recording) -> None:
    recording.start(1, 2, 3)

    def fail(number: int) -> None:
        recording.line(2, "quorum.Learner", f"Something broke at 0x{number:x}", "WARN")
        recording.raw(2, "java.lang.NullPointerException\n\tat java.base/x.Y.z(Y.java:1)\n")
        recording.raw(2, "\tat org.apache.zookeeper.server.quorum.Learner.read(Learner.java:7)\n")

    fail(1)
    recording.line(2, "quorum.QuorumPeer", "LOOKING")
    fail(2)
    recording.line(2, "quorum.QuorumPeer", "Peer state changed: following")
    recording.line(2, "quorum.QuorumPeer", "FOLLOWING")
    fail(3)
    recording.line(2, "quorum.QuorumPeer", "Peer state changed: following - synchronization - diff")
    fail(4)
    recording.line(2, "quorum.QuorumPeer", "Peer state changed: following - broadcast")
    fail(5)
    fail(6)
    recording.line(2, "DataTree", "First digest mismatch on txn: 1", "ERROR")
    recording.end(1, 2, 3)
    wrong = found(recording.folder)
    assert [(each.kind, each.step, each.count) for each in wrong] == [
        ("error", "start", 1),
        ("error", "election", 1),
        ("error", "discovery", 1),
        ("error", "synchronisation", 1),
        ("error", "broadcast", 2),
        ("digest mismatch", "broadcast", 1),
    ]
    assert wrong[0].text == (
        "Something broke at 0x1, java.lang.NullPointerException, "
        "at org.apache.zookeeper.server.quorum.Learner.read(Learner.java:7)"
    )
    assert wrong[0].source == LogPlace("server-2.0.log", 1)


def mismatch(recording: Recording, server: int, txn: LoggedTxn) -> None:
    recording.line(server, "DataTree", f"First digest mismatch on txn: 7,1,{txn.zxid},5,15", "ERROR")


@pytest.fixture
def committing(recording: Recording) -> Recording:
    """Server 3 leads, and ⟨1,1⟩ to ⟨1,3⟩ are accepted by all; ⟨1,1⟩ is delivered."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    for each in (A, B, C):
        recording.accept(3, [1, 2], each)
    recording.deliver(1, 2, 3, txn=A)
    return recording


@pytest.mark.parametrize("looks_first", [False, True])
def test_a_digest_of_what_is_delivered_when_the_log_was_loaded_further_is_told_from_others(
    committing: Recording, looks_first: bool
) -> None:
    """3.6.3 was seen to do it: the thread that delivers is slower than the one that loads the log."""
    committing.line(1, "quorum.CommitProcessor", "Shutting down")
    if looks_first:
        committing.look(1, 2, reach=C.zxid)
    committing.deliver(1, txn=B)
    mismatch(committing, 1, B)
    committing.line(1, "quorum.CommitProcessor", "CommitProcessor exited loop!")
    committing.end(1, 2, 3)
    told = of(committing.folder, "digest mismatch")
    assert told == [(1, f"First digest mismatch on txn: 7,1,{B.zxid},5,15: {Ahead.LOG.value}")]


def test_a_digest_that_a_tree_ahead_explains_hides_none_that_it_does_not(committing: Recording) -> None:
    committing.line(1, "quorum.CommitProcessor", "Shutting down")
    mismatch(committing, 1, B)
    committing.line(1, "quorum.CommitProcessor", "CommitProcessor exited loop!")
    mismatch(committing, 1, C)
    committing.end(1, 2, 3)
    assert ahead(committing.folder) == [Ahead.LOG, None]


def test_a_digest_of_what_a_snapshot_had_already_is_told_from_others(recording: Recording) -> None:
    """The leader went on while it sent the snapshot: what it proposed meanwhile is in it, and comes again."""
    recording.start(1, 2, 3)
    recording.line(2, "quorum.Learner", "Getting a snapshot from leader 0x100000001")
    mismatch(recording, 2, B)
    recording.line(2, "quorum.Learner", "Learner received UPTODATE message")
    recording.line(2, "quorum.QuorumPeer", "Peer state changed: following - broadcast")
    mismatch(recording, 2, C)
    recording.end(1, 2, 3)
    assert ahead(recording.folder) == [Ahead.SNAPSHOT, None]


@pytest.mark.parametrize("how", ["diff from the leader", "snapshot from leader"])
def test_a_digest_of_another_history_has_no_such_reason(committing: Recording, how: str) -> None:
    """Neither in the middle of what is delivered, nor what follows such a one."""
    mismatch(committing, 1, B)
    committing.line(1, "quorum.CommitProcessor", "Shutting down")
    mismatch(committing, 1, C)
    committing.line(2, "quorum.Learner", f"Getting a {how} 0x100000001")
    if how.startswith("diff"):
        mismatch(committing, 2, B)
    committing.end(1, 2, 3)
    assert not any(ahead(committing.folder))


def test_a_server_that_cannot_start_is_told_from_one_that_ends(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.exit(1, 10)
    recording.start(1)
    recording.line(1, "quorum.QuorumPeer", "Unable to load database on disk", "ERROR")
    recording.raw(1, "java.io.EOFException\n")
    recording.line(1, "quorum.QuorumPeerMain", "Unexpected exception, exiting abnormally", "ERROR")
    recording.line(1, "util.ServiceUtils", "Exiting JVM with code 1", "ERROR")
    recording.exit(1, 1)
    recording.record.record(NotRead(recording.tick(), 1, "it does not serve", "Leader.lead", "EOFException"))
    recording.end(2, 3)
    assert of(recording.folder, "ended by itself") == [(1, "exit code 10: its log says nothing")]
    assert of(recording.folder, "could not start") == [
        (1, "exit code 1: Unable to load database on disk, java.io.EOFException")
    ]
    assert of(recording.folder, "error") == []
    why = "it does not serve; its main thread is in Leader.lead; its log says: EOFException"
    assert of(recording.folder, "not read") == [(1, why)]


def test_an_acknowledged_write_that_nobody_has_contradicts_the_reads(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.write(3, [1, 2], B, 1)
    recording.read(1, 2, 3, txns=[A])
    recording.end(1, 2, 3)
    assert of(recording.folder, "witnesses") == [
        (1, "client 1 was told that /c1-2 is created as ⟨1,2⟩, and no server has it at the end"),
        (1, "its final read lacks /c1-2 (⟨1,2⟩), which it says it delivered"),
        (2, "its final read lacks /c1-2 (⟨1,2⟩), which it says it delivered"),
        (3, "its final read lacks /c1-2 (⟨1,2⟩), which it says it delivered"),
    ]


def test_a_read_of_what_nobody_said_it_delivered_contradicts_the_log(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    for each in (A, B):
        recording.ask(1, each)
        recording.accept(3, [1, 2], each)
    recording.acknowledge(1, A)
    recording.read(1, txns=[A, B])
    recording.end(1, 2, 3)
    assert of(recording.folder, "witnesses") == [
        (1, "client 1 was told that /c1-1 is created as ⟨1,1⟩, which no server says it delivered"),
        (1, "its final read has /c1-1 (⟨1,1⟩) and 1 more, which it does not say it delivered"),
    ]


def test_an_answer_with_the_zxid_of_another_write_is_wrong(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.ask(1, A)
    recording.ask(1, B)
    recording.accept(3, [1, 2], A)
    recording.deliver(1, 2, 3, txn=A)
    recording.acknowledge(1, create(zxid(1, 1), 1, 2))
    recording.acknowledge(1, C)
    recording.end(1, 2, 3)
    assert of(recording.folder, "witnesses") == [
        (1, "client 1 was told that /c1-2 is created as ⟨1,1⟩, but that created /c1-1"),
        (1, "client 1 was told that  is created as ⟨1,3⟩, which no log, packet or disk has"),
    ]


def test_witnesses_are_not_compared_where_one_is_not_complete(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.ask(1, A)
    recording.accept(3, [1, 2], A)
    recording.acknowledge(1, A)
    recording.end(1, 2, 3, complete=False)
    assert found(recording.folder) == []


def test_what_a_log_holds_and_nobody_saw_delivered_is_missing_from_the_trace(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.accept(3, [1, 2], B)
    recording.deliver(2, 3, txn=B)
    recording.write(3, [1, 2], C, 1)
    recording.accept(3, [1, 2], create(zxid(1, 4), 1, 4))  # logged, not committed
    recording.end(1, 2, 3)
    told = coverage(read_sorted(recording.folder), observe(recording.folder))
    assert told == [Coverage(1, 3, 2, (txn(B),)), Coverage(2, 3, 3), Coverage(3, 3, 3)]
    assert [each.share for each in told] == [2 / 3, 1, 1]
