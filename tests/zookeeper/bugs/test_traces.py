"""Traces of known bugs of ZooKeeper on disks, each left by an execution of the bug's schedule."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.zookeeper.disk.disks import create, disk, log, record, snapshot, zxid
from zabcheck.zookeeper.bugs.traces import BugTrace, traces
from zabcheck.zookeeper.disk.comparison import compare
from zabcheck.zookeeper.disk.contents import DiskContents, scan
from zabcheck.zookeeper.disk.log_analysis import DiskFinding


class Server(NamedTuple):
    """The zxids in its log, the labels of its snapshots, its current epoch; and where a digest does not fit."""

    zxids: Sequence[int]
    snapshots: Sequence[int] = (0,)
    current: int = 1
    digest: int = 0

    def at(self, directory: Path) -> DiskContents:
        data = log([create(each) for each in self.zxids])
        logs: Mapping[int, bytes] = {self.zxids[0]: data} if self.zxids else {}
        found = scan(disk(directory, logs, {each: snapshot() for each in self.snapshots}, 9, self.current))
        if not self.digest:
            return found
        finding = DiskFinding("digest", True, "another digest", "log", None, self.digest)
        return replace(found, findings=(*found.findings, finding))


def e(epoch: int, *counters: int) -> list[int]:
    return [zxid(epoch, counter) for counter in counters]


OLD = e(1, 1, 2, 3)
SCENES = {
    "ZOOKEEPER-1653": (
        (Server([*OLD, *e(2, 1)]), Server(OLD)),
        (0, "its last zxid is ⟨2,1⟩, and its current epoch 1", False),
    ),
    "ZOOKEEPER-5094": (
        (Server(e(1, 1, 2, 3, 4)), Server(e(1, 1, 2, 4))),
        (1, "its log has a hole before ⟨1,4⟩", False),
    ),
    "ZOOKEEPER-4712": (
        (Server([*OLD, *e(3, 1)], (0,), 3, zxid(3, 1)), Server([*e(1, 1, 2), *e(3, 1)], (0,), 3)),
        (0, "its log has ⟨1,3⟩, which others lack, and its leader had not applied that by ⟨3,1⟩", False),
    ),
    "ZOOKEEPER-4925": (
        (Server([*OLD, *e(2, 1)], (0,), 2), Server([*e(1, 1, 2), *e(2, 1)], (0,), 2, zxid(2, 1))),
        (1, "it lacks ⟨1,3⟩, which its leader had applied by ⟨2,1⟩", False),
    ),
    "ZOOKEEPER-2846": (
        (Server([*OLD, *e(2, 1)], (0,), 2), Server(e(1, 1, 2, 3, 4), (0, zxid(2, 1)), 2)),
        (
            1,
            "its log ends with ⟨1,4⟩, which others have given up, and behind that has only snapshot ⟨2,1⟩: as a leader "
            "it would bring others that log",
            False,
        ),
    ),
    "ZOOKEEPER-4837": (
        (Server(OLD, (0,), 2), Server(OLD, (0, zxid(1, 4)), 2)),
        (1, "it boots from snapshot ⟨1,4⟩, which no other server has", True),
    ),
    "trunc-keeps-one": (
        (Server([*OLD, *e(2, 1)], (0,), 4), Server([*OLD, *e(3, 1)], (0, zxid(2, 1)), 4)),
        (1, "its log has ⟨3,1⟩, which no other server has, and not ⟨2,1⟩ before it", True),
    ),
}
"""The disks of each bug, with what is said of which server, and whether that is wrong by itself."""


def found(folder: Path, *servers: Server) -> list[BugTrace]:
    disks = [server.at(folder / str(number)) for number, server in enumerate(servers)]
    return traces(disks, compare(disks))


@pytest.mark.parametrize("bug", SCENES)
def test_a_bug_is_named_with_the_evidence(bug: str, tmp_path: Path) -> None:
    servers, expected = SCENES[bug]
    said = {each.bug: (each.server, each.why, each.wrong) for each in found(tmp_path, *servers)}
    assert said[bug] == expected
    others = {"ZOOKEEPER-5094": {"ZOOKEEPER-4409"}}.get(bug, set())
    assert said.keys() == {bug, *others}


@pytest.mark.parametrize(
    "servers",
    [
        (Server(OLD), Server(OLD)),
        (Server(OLD), Server(OLD[:2])),  # behind
        (Server(OLD, (0,), 2), Server(e(1, 1), (0, zxid(1, 3)), 2)),  # took over a snapshot
        (Server([*OLD, *e(2, 1)], (0,), 2), Server(e(1, 1, 2, 3, 4), (0,), 1)),  # has yet to drop its tail
        (Server(OLD, (0,), 1), Server(OLD, (0, zxid(1, 4)), 1)),  # alone in having ⟨1,4⟩, in the epoch that goes on
    ],
)
def test_a_log_that_may_be_right_is_no_trace_of_a_bug(servers: Sequence[Server], tmp_path: Path) -> None:
    assert found(tmp_path, *servers) == []


def test_a_gap_that_damage_or_a_missing_file_explains_is_no_trace(tmp_path: Path) -> None:
    """Behind damage a server is sent once more what its log has; behind a file that is missing no digest fits."""
    first, *rest = map(create, OLD)
    damaged = log([first, *rest]).replace(record(rest[0]), record(rest[0])[:-1] + b"\xff")
    one = scan(disk(tmp_path / "1", {OLD[0]: damaged, OLD[1]: log(rest)}, None, 9, 1))
    assert {each.kind for each in one.findings} == {"damage", "gap", "disorder", "duplicate"}
    parts = {OLD[0]: OLD[:1], OLD[2]: OLD[2:]}
    lacks = scan(disk(tmp_path / "2", parts, None, 9, 1))
    digest = DiskFinding("digest", True, "another digest", "log", None, OLD[2])
    lacks = replace(lacks, findings=(*lacks.findings, digest))
    other = scan(disk(tmp_path / "3", {OLD[1]: OLD[1:]}, {OLD[0]: snapshot()}, 9, 1))
    assert {each.kind for each in lacks.findings} == {"gap", "digest"}
    assert traces([one, lacks, other], compare([one, lacks, other])) == []


def test_records_that_come_again_and_an_empty_log(tmp_path: Path) -> None:
    one = Server([*OLD, *OLD[1:]]).at(tmp_path / "1")
    other = disk(tmp_path / "2", {OLD[0]: log([create(each) for each in OLD]), zxid(1, 4): b""}, {0: snapshot()}, 9, 1)
    first, second = traces([one, scan(other)], None)
    assert (first.bug, first.server, first.why) == (
        "ZOOKEEPER-4712",
        0,
        "its log has ⟨1,2⟩ … ⟨1,3⟩ once more, or out of order",
    )
    assert (second.bug, second.server) == ("ZOOKEEPER-2332", 1)
    assert second.why == "its newest log, log.100000004, is empty"
    assert second.affected == (("3.4.0", "3.9.3"),)
