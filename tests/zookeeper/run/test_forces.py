"""The part of a server's folder that is on the disk for certain, as the threads that force it are seen; lost power."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from invariants import Crash
from tests.zookeeper.disk.disks import LOG_HEADER, create, log, record, zxid
from tests.zookeeper.real import is_sound
from zabcheck.zookeeper.disk.power_loss import FileCut
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Disk, PowerLost, Reached, Record
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.points import AwaitStop, PowerLoss
from zabcheck.zookeeper.run.choices.writes import Settle, Write
from zabcheck.zookeeper.run.distribution import DEBIAN, find
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.execute import execute
from zabcheck.zookeeper.run.forces import Forces, KeptData
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.stops import Stops
from zabcheck.zookeeper.run.undone import LessKept, NotApplicable
from zabcheck.zookeeper.trace.observe import observe
from zabcheck.zookeeper.verdict.judge import judge

TXNS = [create(zxid(1, counter)) for counter in range(1, 6)]
SIZES = [len(LOG_HEADER) + sum(len(record(txn)) for txn in TXNS[:count]) for count in range(6)]
"""The content of a log of the first transactions, by their number."""
NAME = "log.100000001"


class Server:
    """A server's folder, to which threads write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "version-2"
        self.folder.mkdir()
        self.data = folder
        self.forces = Forces(cast(Any, self))
        self.start()

    def start(self) -> None:
        self.forces.begin_incarnation()

    def write(self, count: int, name: str = NAME) -> None:
        (self.folder / name).write_bytes(log(TXNS[:count]))

    def force(self, thread: int = 1) -> None:
        self.forces.come("log-force", thread)
        self.forces.come("log-forced", thread)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_a_force_that_has_returned_is_never_undone_and_one_that_has_not_may_be(server: Server) -> None:
    server.write(2)
    server.force()
    server.write(3)
    server.forces.come("log-force", 1)
    assert server.forces.cut(KeptData()).cuts == (FileCut(NAME, SIZES[2], 1),)
    assert server.forces.cut(KeptData()).cuts == ()


def test_what_came_behind_the_beginning_of_a_force_is_not_forced_by_it(server: Server) -> None:
    server.write(1)
    server.forces.come("log-force", 1)
    server.write(2)
    server.forces.come("log-forced", 2)  # of another thread, which forced nothing
    assert server.forces.cut(KeptData(1)).lost == 1
    server.write(2)
    server.force()
    assert server.forces.cut(KeptData()).lost == 0


def test_what_a_killed_server_had_not_forced_is_lost_later_too(server: Server) -> None:
    """It loads that when it starts, and does not force it."""
    server.write(2)
    server.force()
    server.write(3)
    server.start()
    server.write(1, "log.100000004")
    server.force()
    assert server.forces.cut(KeptData()).cuts == (FileCut(NAME, SIZES[2], 1),)


def test_a_log_that_was_cut_and_written_again_is_not_forced_by_what_was_before(server: Server) -> None:
    server.write(3)
    server.force()
    server.write(0)
    server.start()
    server.write(3)
    assert server.forces.cut(KeptData()).cuts == (FileCut(NAME, SIZES[0], 3),)


def test_a_snapshot_that_was_forced_under_another_name_is_kept(server: Server) -> None:
    temporary = server.folder / "snapshot.100000001.tmp"
    temporary.write_bytes(b"ZKSN")
    server.forces.come("file-synced", 1)
    temporary.rename(server.folder / "snapshot.100000001")
    (server.folder / "snapshot.0").write_bytes(b"ZKSN")
    assert server.forces.cut(KeptData()).cuts == ()
    assert server.forces.cut(KeptData(snapshots=False)).cuts == (FileCut("snapshot.0", None, 1),)
    assert [path.name for path in server.folder.iterdir()] == ["snapshot.100000001"]
    (server.folder / "snapshot.100000002").write_bytes(b"ZKSN")
    server.start()
    assert server.forces.cut(KeptData(snapshots=False)).cuts == ()


@pytest.mark.parametrize("forced_since", [None, "log", "file"])
def test_a_name_is_undone_until_something_is_forced(server: Server, forced_since: str | None) -> None:
    (server.folder / "currentEpoch").write_bytes(b"1")
    temporary = server.folder / "currentEpoch.tmp"
    temporary.write_bytes(b"2")
    server.forces.come("file-synced", 1)
    server.forces.come("file-rename", 1)
    temporary.rename(server.folder / "currentEpoch")
    if forced_since == "log":
        server.force()
    elif forced_since == "file":
        server.forces.come("file-synced", 1)
    assert server.forces.cut(KeptData()).undone == ()
    undone = server.forces.cut(KeptData(renames=False)).undone
    names = {path.name: path.read_bytes() for path in server.folder.iterdir()}
    if forced_since is None:
        assert (undone, names) == (("currentEpoch",), {"currentEpoch": b"1", "currentEpoch.tmp": b"2"})
    else:
        assert (undone, names) == ((), {"currentEpoch": b"2"})


def test_a_server_without_a_folder_loses_nothing(tmp_path: Path) -> None:
    assert Forces(cast(Any, SimpleNamespace(data=tmp_path))).cut(KeptData()).cuts == ()


def run_of(folder: Path, *choices: Choice, exact: bool = False) -> Path:
    """Execute choices with Debian's ZooKeeper; return the folder of the recording."""
    folder = folder / "run"
    folder.mkdir()
    schedule = EnsembleSchedule(2, "zookeeper", 3, choices)
    execute(schedule, find(classpath=":".join(map(str, DEBIAN))), folder, exact=exact)
    return folder


@pytest.mark.zookeeper
@pytest.mark.xdist_group("ensemble")
def test_the_power_fails_before_and_after_a_force(tmp_path: Path) -> None:
    """B loses what it was about to force, but for 30 bytes; C has forced its records, and keeps them."""
    folder = run_of(
        tmp_path,
        PowerLoss("B", "log-force", bytes=30),
        PowerLoss("C", "ack-send"),
        Write("A"),
        AwaitStop("B", "log-force"),
        AwaitStop("C", "ack-send"),
        exact=True,
    )
    records = list(read(folder))
    assert [each.what for each in records if isinstance(each, Reached)] == ["lost", "lost"]
    points = {each.server: each.point for each in records if isinstance(each, Reached)}
    before, after = sorted((each for each in records if isinstance(each, PowerLost)), key=lambda each: -each.lost)
    assert before.lost >= 1, "a server that is behind forces several at once"
    assert (points[before.server], points[after.server], after.lost, after.files) == ("log-force", "ack-send", 0, {})
    [(name, size)] = before.files.items()
    disks = {each.server: each for each in reversed(records[records.index(before) :]) if isinstance(each, Disk)}
    assert [*disks[before.server].notes] == [
        f"torn: {name}, byte {(size or 0) - 30}: the first part of a record, and nothing after it"
    ]
    lost = [(event.process, event.lost) for event in observe(folder).events if isinstance(event, Crash)]
    assert {(before.server, before.lost), (after.server, 0)} <= {*lost}
    assert is_sound(judge(folder))


@pytest.mark.zookeeper
@pytest.mark.xdist_group("ensemble")
def test_an_exact_execution_ends_where_less_is_there_than_is_to_be_kept(tmp_path: Path) -> None:
    many = 1_000_000  # more than a server that is behind may have to force
    with pytest.raises(
        EnsembleError, match=rf"^choice 2, .*: the power failure of server \d: expected {many} writes to"
    ):
        run_of(tmp_path, Write("A"), Settle(10), PowerLoss("B", records=many), exact=True)


class Stub:
    """An ensemble of one server, which is down."""

    def __init__(self, folder: Path) -> None:
        (folder / "version-2").mkdir()
        self.servers = {1: self}
        self.data = folder
        self.incarnation = 0
        self.up = self.paused = False

    def now(self) -> int:
        return 0

    def kill(self) -> None:
        """It is down already."""


def test_a_folder_that_cannot_be_cut_ends_the_run(tmp_path: Path) -> None:
    """No server is started from a folder that is cut in part."""
    stub = Stub(tmp_path)
    records: list[Record] = []
    stops = Stops(cast(Any, stub), records.append, lambda *_: None, watched=True)
    (tmp_path / "version-2" / NAME).mkdir()
    with pytest.raises(EnsembleError, match=r"^the folder of server 1 cannot be cut: .*Is a directory"):
        stops.cut_power(1, KeptData())
    assert records == []


def test_the_power_of_a_server_that_is_down_fails_too(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    records: list[Record] = []
    stops = Stops(cast(Any, stub), records.append, lambda *_: None, watched=True)
    (tmp_path / "version-2" / NAME).write_bytes(log(TXNS[:2]))
    short = "the power failure of server 1: expected 3 writes to the log that were not forced, found 2"
    with pytest.raises(LessKept, match=f"^{short}$") as less:
        stops.cut_power(1, KeptData(3))
    assert (less.value.idle, less.value.ends_exact) == (False, True)
    [lost] = records
    assert isinstance(lost, PowerLost)
    assert (lost.server, lost.lost, lost.files) == (1, 0, {})
    stub.incarnation = -1
    with pytest.raises(NotApplicable, match="it was never started"):
        stops.cut_power(1, KeptData())
