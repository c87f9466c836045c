"""A server's log: what its lines say, and that no line of importance is passed over."""

from pathlib import Path

import pytest

from zabcheck.zookeeper.trace.server_log import (
    AnyLine,
    CommitterEnded,
    Delivering,
    DigestMismatch,
    Election,
    Failure,
    Forced,
    NewLeader,
    Persisted,
    Phase,
    Proposing,
    ServerLog,
    SnapshotTaken,
    State,
    Supporters,
    UpToDate,
    Version,
    read_log,
)

PEER = "[QuorumPeer[myid=1](plain=127.0.0.1:22181)(secure=disabled)]"
SERVER = "org.apache.zookeeper.server"
TIME = 1_767_225_600_123_000


def log(tmp_path: Path, *lines: str, end: str = "\n") -> ServerLog:
    path = tmp_path / "server-1.0.log"
    path.write_text("\n".join(lines) + end)
    return read_log(path)


def line(source: str, message: str, level: str = "INFO", thread: str = PEER) -> str:
    return f"2026-01-01T00:00:00.123+0000 {thread} {level} {SERVER}.{source} - {message}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (line("quorum.QuorumPeer", "LOOKING"), State(1, TIME, "looking")),
        (line("quorum.QuorumPeer", "FOLLOWING"), State(1, TIME, "following")),
        (line("quorum.QuorumPeer", "LEADING"), State(1, TIME, "leading")),
        (
            line("quorum.QuorumPeer", "Peer state changed: following - synchronization - diff"),
            Phase(1, TIME, "following - synchronization - diff"),
        ),
        (
            line("quorum.QuorumPeer", "Peer state changed: leading - synchronization - diff"),
            Phase(1, TIME, "leading - synchronization"),
        ),
        (
            line("quorum.FastLeaderElection", "New election. My id = 1, proposed zxid=0x100000003"),
            Election(1, TIME, 0x100000003),
        ),
        (
            line(
                "quorum.Leader",
                "Have quorum of supporters, sids: [[2, 3]]; starting up and setting last processed zxid: 0x200000000",
            ),
            Supporters(1, TIME, 0x200000000),
        ),
        (
            line("persistence.FileTxnSnapLog", "Snapshotting: 0x100000003 to /x/snapshot.1"),
            SnapshotTaken(1, TIME, 0x100000003),
        ),
        (line("quorum.Learner", "Learner received NEWLEADER message"), NewLeader(1, TIME)),
        (line("quorum.Learner", "Learner received UPTODATE message"), UpToDate(1, TIME)),
        (
            line(
                "quorum.Learner",
                "It took 3ms to persist and commit txns in packetsCommitted. 0 outstanding txns left in "
                "packetsNotLogged",
            ),
            Persisted(1, TIME),
        ),
        (
            line("quorum.Learner", "Forcing a snapshot write as part of upgrading from an older Zookeeper."),
            Forced(1, TIME),
        ),
        (
            line("ZooKeeperServer", "Server environment:zookeeper.version=3.8.0-x, built on 2024-12-29 17:54 UTC"),
            Version(1, TIME, "3.8.0-x"),
        ),
        (
            line(
                "quorum.Leader",
                "Proposing:: sessionid:0x1000187d2450000 type:create2 cxid:0x1f zxid:0x100000002 txntype:15 "
                "reqpath:n/a",
                "DEBUG",
                "[ProcessThread(sid:3 cport:-1):]",
            ),
            Proposing(1, TIME, 0x1000187D2450000, 31, 0x100000002, 15),
        ),
        (
            line(
                "FinalRequestProcessor",
                "Processing request:: sessionid:0xff type:error cxid:0xffffffffffffffff zxid:0x100000002 txntype:-1 "
                "reqpath:/a b",
                "DEBUG",
            ),
            Delivering(1, TIME, 255, -1, 0x100000002, -1),
        ),
        (
            line("DataTree", "First digest mismatch on txn: 1, 2, expected digest is 3", "ERROR"),
            DigestMismatch(1, TIME, "First digest mismatch on txn: 1, 2, expected digest is 3"),
        ),
        (line("quorum.LearnerHandler", "Oops", "ERROR"), Failure(1, TIME, "ERROR", "LearnerHandler", "Oops")),
    ],
)
def test_each_kind_of_line_is_understood(tmp_path: Path, text: str, said: AnyLine) -> None:
    found = log(tmp_path, text)
    assert (found.lines, found.problems) == ((said,), ())


@pytest.mark.parametrize(
    "text",
    [
        line(
            "quorum.CommitProcessor",
            "Processing request:: sessionid:0x1 type:create2 cxid:0x1 zxid:0x1 txntype:15 reqpath:n/a",
        ),
        line("FinalRequestProcessor", "sessionid:0x1 type:create2 cxid:0x1 zxid:0x1 txntype:15 reqpath:n/a"),
        line(
            "FinalRequestProcessor",
            "Processing request:: sessionid:0x1 type:exists cxid:0x1 zxid:0xfffffffffffffffe txntype:unknown reqpath:/",
        ),
        line(
            "FinalRequestProcessor",
            "Processing request:: sessionid:0x1 type:unknown 106 cxid:0x1 zxid:0xfffffffffffffffe txntype:unknown "
            "reqpath:/r11",
        ),
        line("quorum.Leader", "outstanding is 0", "DEBUG"),
        line("quorum.Learner", "Got zxid 0x100000001 expected 0x1", "WARN"),
    ],
)
def test_a_line_that_says_nothing_of_zab_is_passed_over(tmp_path: Path, text: str) -> None:
    assert log(tmp_path, text) == ServerLog("server-1.0.log")


@pytest.mark.parametrize(
    "text",
    [
        line("quorum.Leader", "Proposing:: something else"),
        line("FinalRequestProcessor", "Processing request:: sessionid:0x1 type:create2 cxid:17 txntype:15"),
        line("quorum.Leader", "Have quorum of supporters"),
        line("quorum.FastLeaderElection", "New election. My id = 1"),
        "17 [main] INFO org.apache.zookeeper.server.quorum.Learner - Learner received UPTODATE message",
        "xx FinalRequestProcessor - Processing request:: sessionid:0x1",
    ],
)
def test_a_line_of_importance_that_cannot_be_understood_is_a_problem(tmp_path: Path, text: str) -> None:
    found = log(tmp_path, line("quorum.QuorumPeer", "LOOKING"), text)
    assert found.lines == (State(1, TIME, "looking"),)
    [problem] = found.problems
    assert (problem.file, problem.number) == ("server-1.0.log", 2)
    assert problem.words().startswith("server-1.0.log, line 2: expected ")


def test_a_stack_trace_belongs_to_the_line_before_it(tmp_path: Path) -> None:
    found = log(
        tmp_path,
        "OpenJDK says hello",
        line("quorum.Learner", "Exception when following the leader", "WARN"),
        "java.io.EOFException",
        *(f"\tat a.B.c(B.java:{number})" for number in range(10)),
        line("quorum.Learner", "no exception", "WARN"),
        "server.1=127.0.0.1:1:2:participant",
    )
    frames = "java.io.EOFException", *(f"\tat a.B.c(B.java:{number})" for number in range(4))
    assert found.lines == (Failure(2, TIME, "WARN", "Learner", "Exception when following the leader", frames),)


def test_what_363_prints_of_a_digest_that_does_not_fit_is_one_line_with_the_data_behind_it(tmp_path: Path) -> None:
    thread = "[CommitProcessor:2]"
    version = "3.6.3--6401e4ad2087061bc6b9f80dec2d69f2e3c8660a"
    found = log(
        tmp_path,
        line("ZooKeeperServer", f"Server environment:zookeeper.version={version}, built on 04/08/2021 16:35 GMT"),
        line("ZKDatabase", "SnapshotTaken loaded in 31 ms, highest zxid is 0x0, digest is 1371985504"),
        line(
            "DataTree", "The digest in the snapshot has digest version of 2, , with zxid as 0x61, and digest value as 7"
        ),
        line("DataTree", "Message:Digests are not matching. Value is Zxid. Value:4294967373", "WARN", thread),
        line("DataTree", "First digest mismatch on txn: 216,54,4294967373,1795348929597,15", "ERROR", thread),
        ", '/c3-54,#7a7a,v{s{31,s{'world,'anyone}}},F,57",
        ", expected digest is 2,146482258179",
        ", actual digest is 157379794370, ",
        line("quorum.CommitProcessor", "CommitProcessor exited loop!", thread=thread),
    )
    assert found == ServerLog(
        "server-1.0.log",
        (
            Version(1, TIME, version),
            DigestMismatch(4, TIME, "Message:Digests are not matching. Value is Zxid. Value:4294967373"),
            DigestMismatch(5, TIME, "First digest mismatch on txn: 216,54,4294967373,1795348929597,15"),
            CommitterEnded(9, TIME),
        ),
    )


def test_a_last_line_that_was_cut_off_by_a_kill_says_nothing(tmp_path: Path) -> None:
    half = line("FinalRequestProcessor", "Processing request:: sessionid:0x1 type:cre")
    found = log(tmp_path, line("quorum.QuorumPeer", "LOOKING"), half, end="")
    assert found == ServerLog("server-1.0.log", (State(1, TIME, "looking"),))


def test_a_last_line_whose_exception_was_cut_off_by_a_kill_says_nothing(tmp_path: Path) -> None:
    last = line("quorum.LearnerHandler", "Unexpected exception in LearnerHandler: ", "ERROR")
    message = "Unexpected exception in LearnerHandler: "
    assert log(tmp_path, last) == ServerLog("server-1.0.log")
    assert log(tmp_path, last, "java.io.EOFException").lines == (
        Failure(1, TIME, "ERROR", "LearnerHandler", message, ("java.io.EOFException",)),
    )
    assert log(tmp_path, last, line("quorum.QuorumPeer", "LOOKING")).lines == (
        Failure(1, TIME, "ERROR", "LearnerHandler", message),
        State(2, TIME, "looking"),
    )


def test_offsets_from_utc_are_reckoned_with(tmp_path: Path) -> None:
    text = line("quorum.QuorumPeer", "LOOKING").replace("00:00:00.123+0000", "02:30:00.123+0230")
    assert log(tmp_path, text).lines == (State(1, TIME, "looking"),)
