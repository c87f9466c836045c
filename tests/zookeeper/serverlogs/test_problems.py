"""Problems in logs of real servers at level INFO: lines of executions of the catalogue, on 3.8.0 and 3.9.5."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from zabcheck.zookeeper.serverlogs.problems import Problem, problems
from zabcheck.zookeeper.serverlogs.reading import read
from zabcheck.zookeeper.serverlogs.timeline import reigns, timeline
from zabcheck.zookeeper.wire.zxids import shown

LOGS = Path(__file__).parent / "logs"


def found(folder: Path) -> list[Problem]:
    logs = read([folder])
    timelines = [timeline(log, at) for at, log in enumerate(logs)]
    return problems(logs, timelines, [reign for moments in timelines for reign in reigns(moments)])


def wrong(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield each problem: its kind, what the lines say of zxids, and the bugs that it may be."""
    for each in found(folder):
        zxids = [each.moment.zxid, *([each.before.zxid] if each.before is not None else [])]
        seen = [shown(each.moment.other)] if each.moment.kind == "refused" and each.moment.other is not None else []
        said = " ".join([*(shown(zxid) for zxid in zxids if zxid is not None), *seen])
        if each.wrong:
            yield each.kind, said, *(suspect.issue.name for suspect in each.suspects if not suspect.lacks)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "older-than-a-client",
            [("does not start", "", "ZOOKEEPER-1653"), ("behind", "⟨12,4⟩ ⟨13,0⟩")],
        ),
        ("1653-3.8.0", [("does not start", "", "ZOOKEEPER-1653")]),
        ("2332-3.8.0", [("does not start", "", "ZOOKEEPER-2332")]),
        ("2832-3.9.5", [("digest", "⟨4,1⟩", "ZOOKEEPER-2832", "ZOOKEEPER-3598", "numbered-not-applied")]),
        (
            "2846-3.9.5",
            [
                (
                    "digest",
                    "⟨2,4⟩",
                    "ZOOKEEPER-2846",
                    "ZOOKEEPER-3598",
                    "ZOOKEEPER-5094",
                    "unforced-snapshot",
                    "numbered-not-applied",
                ),
                ("fatal error", "", "ZOOKEEPER-2846"),
            ],
        ),
        (
            "3598-3.8.0",
            [
                ("digest", "⟨1,5⟩", "ZOOKEEPER-3598", "numbered-not-applied"),
                (
                    "lost",
                    "⟨1,5⟩ ⟨1,5⟩ ⟨1,7⟩",
                    "ZOOKEEPER-2846",
                    "ZOOKEEPER-3598",
                    "ZOOKEEPER-4643",
                    "ZOOKEEPER-4646",
                    "ZOOKEEPER-4712",
                    "ack-before-trunc",
                ),
            ],
        ),
        ("4394-3.8.0", [("fatal error", "", "ZOOKEEPER-4394")]),
        (
            "4409-3.8.0",
            [
                ("fatal error", "", "ZOOKEEPER-4409"),
                ("digest", "⟨1,6⟩", "ZOOKEEPER-3598", "ZOOKEEPER-4409", "numbered-not-applied"),
            ],
        ),
        ("4643-3.8.0", []),
        ("4646-3.8.0", [("forgot", "⟨1,4⟩ ⟨1,7⟩", "ZOOKEEPER-4646")]),
        ("4712-3.8.0", []),
        ("4837-3.9.5", [("came back", "⟨1,5⟩ ⟨1,4⟩", "ZOOKEEPER-4837")]),
        (
            "4882-3.9.5",
            [
                ("fatal error", "", "ZOOKEEPER-4882"),
                ("does not start", "", "ZOOKEEPER-4882"),
            ],
        ),
        (
            "5094-3.9.5",
            [
                ("came back", "⟨1,5⟩ ⟨1,4⟩", "ZOOKEEPER-5094", "trunc-keeps-one"),
                ("does not start", "", "ZOOKEEPER-5094", "unforced-snapshot"),
            ],
        ),
        ("ack-before-trunc-3.9.5", []),
        (
            "half-record-3.8.0",
            [
                ("fatal error", "", "ZOOKEEPER-4882"),
                ("forgot", "⟨1,3⟩ ⟨1,4⟩", "ZOOKEEPER-4646", "ZOOKEEPER-4882", "half-record"),
                (
                    "lost",
                    "⟨1,4⟩ ⟨1,4⟩ ⟨1,5⟩",
                    "ZOOKEEPER-4643",
                    "ZOOKEEPER-4646",
                    "ZOOKEEPER-4712",
                    "ack-before-trunc",
                    "half-record",
                ),
            ],
        ),
        ("late-set-3.9.5", [("digest", "⟨1,9⟩", "ZOOKEEPER-3598", "numbered-not-applied")]),
        ("numbered-not-applied-3.8.0", [("digest", "⟨3,1⟩", "ZOOKEEPER-3598", "numbered-not-applied")]),
        ("trunc-keeps-one-3.9.5", [("came back", "⟨3,1⟩ ⟨2,1⟩", "trunc-keeps-one")]),
        (
            "unforced-snapshot-3.9.5",
            [
                ("does not start", "", "ZOOKEEPER-5094", "unforced-snapshot"),
            ],
        ),
    ],
)
def test_what_the_lines_of_a_real_run_show(name: str, expected: list[tuple[str, ...]]) -> None:
    """Nothing is said of faults that the lines do not tell of (4643, 4712, ack-before-trunc)."""
    assert list(wrong(LOGS / name)) == expected


def lines(*said: str) -> str:
    """Lines of a server, a second apart: "CLASS MESSAGE"."""
    head = "2026-01-31 12:00:{:02},000 [myid:1] - INFO  [main:{}@1] - {}\n"
    return "".join(head.format(at, *each.split(" ", 1)) for at, each in enumerate(said))


VOTE = "FastLeaderElection New election. My id = 1, proposed zxid="
LEADS = "Leader Have quorum of supporters, sids: [[1, 2]]; starting up and setting last processed zxid: "
CUT = "Learner Truncating log to get in sync with the leader 0x100000004"
REFUSED = (
    "ZooKeeperServer Refusing session(0x1) request for client /1 as it has seen zxid {} our last zxid is {} client"
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([VOTE + "0x100000005", VOTE + "0x100000004"], [("forgot", "⟨1,4⟩ ⟨1,5⟩")]),
        ([VOTE + "0x100000005", CUT, VOTE + "0x100000004"], []),
        ([VOTE + "0x100000005", CUT, "QuorumPeerMain Starting quorum peer", VOTE + "0x100000005"], []),
        ([VOTE + "0x500000000", VOTE + "0x400000009"], []),
        ([VOTE + "0x100000005", VOTE + "0x0"], []),
        ([LEADS + "0x300000000", LEADS + "0x300000000"], [("epoch again", "⟨3,0⟩ ⟨3,0⟩")]),
        ([LEADS + "0x300000000", LEADS + "0x400000000"], []),
        (["Learner Got zxid 0x100000007 expected 0x100000005"], [("gap", "⟨1,5⟩")]),
        (["Learner Got zxid 0x200000001 expected 0x100000005"], []),
        (["Learner Got zxid 0x100000007 expected 0x1"], []),
        ([REFUSED.format("0x200000001", "0x100000005")], [("behind", "⟨1,5⟩ ⟨2,1⟩")]),
        ([REFUSED.format("0x200000001", "0x100000005"), VOTE + "0x200000003"], []),
        ([REFUSED.format("0x100000007", "0x100000005")], []),
        (["FileTxnLog fsync-ing the write ahead log in SyncThread:1 took 5120ms which will adversely effect"], []),
    ],
)
def test_what_follows_from_lines_and_what_does_not(
    tmp_path: Path, said: list[str], expected: list[tuple[str, ...]]
) -> None:
    (tmp_path / "zookeeper.log").write_text(lines(*said))
    assert [each[:2] for each in wrong(tmp_path)] == expected


OLDER = """2026-01-31 12:00:00,000 [myid:1] - INFO  [main:Environment@1] - Server environment:zookeeper.version={}, on x
2026-01-31 12:00:01,000 [myid:1] - ERROR [main:QuorumPeer@955] - Unable to load database on disk
java.io.IOException: The accepted epoch, 1 is less than the current epoch, 2
\tat org.apache.zookeeper.server.quorum.QuorumPeer.loadDataBase(QuorumPeer.java:952)
"""


@pytest.mark.parametrize(
    ("version", "suspects"),
    [
        ("3.6.2", ("ZOOKEEPER-2307", "ZOOKEEPER-4311")),
        ("3.7.2", ("ZOOKEEPER-4311",)),
        ("3.8.0", ()),
    ],
)
def test_an_epoch_that_was_promised_and_is_older_than_the_one_adopted(
    version: str, suspects: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "zookeeper.log").write_text(OLDER.format(version))
    assert list(wrong(tmp_path)) == [("old epoch", "", *suspects)]


def test_two_leaders_of_an_epoch(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(lines(LEADS + "0x300000000"))
    (tmp_path / "b.log").write_text(lines(LEADS + "0x300000000").replace("myid:1", "myid:2"))
    assert [each.kind for each in found(tmp_path)] == ["two leaders"]
