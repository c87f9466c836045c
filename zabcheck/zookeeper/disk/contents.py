"""The contents of a server's disk: its history, the part that a boot would load, and its faults.

A server has a data directory (`dataDir`) and maybe one for its transaction logs (`dataLogDir`); in both the files lie
in `version-2`. A boot loads the latest snapshot that is whole, and every record after it, from all log files in the
order of their names, committed or not (FileTxnSnapLog.restore).

The counters of an epoch are consecutive in every history and begin with 1, and a new epoch may begin after any counter
(DSN 2011, III and IV; ZooKeeper packs both into one number). So a gap shows in one server's log already, unless a
snapshot covers it: a server that was sent a snapshot has never logged its transactions.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from zabcheck.text.files import regular
from zabcheck.zookeeper.disk.boot import Boot, Replay
from zabcheck.zookeeper.disk.log_analysis import DiskFinding, LogAnalysis, LogFile, Stretch, finding_of
from zabcheck.zookeeper.disk.snapshot import SNAPSHOT_PREFIX, Snapshot, read_snapshot
from zabcheck.zookeeper.disk.transaction_log import (
    HEADER_SIZE,
    LOG_PREFIX,
    Flaw,
    LogError,
    LogRecord,
    read_log,
    zxid_of_name,
)
from zabcheck.zookeeper.wire.zxids import epoch_of, shown

VERSION_DIRECTORY = "version-2"
ACCEPTED_EPOCH = "acceptedEpoch"
CURRENT_EPOCH = "currentEpoch"
MYID = "myid"


class DiskError(ValueError):
    """A directory that cannot be read, or that has nothing of ZooKeeper in it; the message is one line."""


class DiskContents(Struct, frozen=True):
    """The contents of a server's disk.

    `number` is the server's number by `myid`. `stretches` are the transactions in the order of the files. `boot` is the
    snapshot that a boot would load, `last` the last zxid of the server after that, and `below` the number of records
    that the snapshot makes needless.
    """

    directory: Path
    log_directory: Path
    number: int | None
    snapshots: tuple[Snapshot, ...]
    logs: tuple[LogFile, ...]
    stretches: tuple[Stretch, ...]
    accepted_epoch: int | None
    current_epoch: int | None
    boot: Snapshot | None
    last: int
    below: int
    findings: tuple[DiskFinding, ...]

    @property
    def records(self) -> int:
        """The number of transactions in the logs."""
        return sum(log.records for log in self.logs)


def version_directory(directory: Path) -> Path | None:
    """Find the files of a data directory: in itself or in `version-2`; None if it has none of ZooKeeper's."""
    for each in (directory / VERSION_DIRECTORY, directory):
        if each.is_dir() and (
            each.name == VERSION_DIRECTORY or any(_is_of_zookeeper(file.name) for file in each.iterdir())
        ):
            return each
    return None


def _is_of_zookeeper(name: str) -> bool:
    prefixes = (LOG_PREFIX, SNAPSHOT_PREFIX)
    return name in (ACCEPTED_EPOCH, CURRENT_EPOCH) or any(zxid_of_name(name, each) is not None for each in prefixes)


def scan(
    data_dir: Path,
    log_dir: Path | None = None,
    visit: Callable[[Path, LogRecord], None] | None = None,
    digests: bool = True,
) -> DiskContents:
    """Read a server's disk once; `visit` is called with each record and its file, in order.

    DiskError if a directory cannot be read or has nothing of ZooKeeper in it. Some 7 µs a record, and 16 with
    `digests`, which follows the tree. Memory is 16 bytes a record, and with `digests` 500 a node of the tree.
    """
    try:
        data = version_directory(data_dir)
        logs = data if log_dir is None else version_directory(log_dir)
        for directory, found in ((data_dir, data), (log_dir or data_dir, logs)):
            if not directory.is_dir():
                raise DiskError(f"{directory}: expected the data directory of a ZooKeeper server, found no directory")
            if found is None:
                raise DiskError(
                    f"{directory}: expected {VERSION_DIRECTORY}, or log.…, snapshot.…, {CURRENT_EPOCH} or "
                    f"{ACCEPTED_EPOCH}; found nothing of ZooKeeper"
                )
        assert data is not None
        assert logs is not None
        return _Scan(data_dir, data, logs, visit, digests).result()
    except OSError as error:
        raise DiskError(f"{error.filename or data_dir}: {error.strerror}") from None
    except LogError as error:
        raise DiskError(str(error)) from None


def _files(directory: Path, prefix: str) -> list[tuple[int, Path]]:
    """Return the zxids and paths of the files of a kind, in the order in which a server reads them."""
    named = ((zxid_of_name(path.name, prefix), path) for path in directory.iterdir() if path.is_file())
    return sorted((zxid, path) for zxid, path in named if zxid is not None)


def _start(path: Path, size: int) -> str:
    """Return the first bytes of a file, as text. OSError if it cannot be read."""
    with regular(path) as file:
        return file.read(size).decode(errors="replace")


class _Scan:
    """Reads one disk."""

    def __init__(
        self,
        directory: Path,
        data: Path,
        logs: Path,
        visit: Callable[[Path, LogRecord], None] | None,
        digests: bool,
    ) -> None:
        self._directory, self._data, self._logs, self._visit = directory, data, logs, visit
        self._findings: list[DiskFinding] = []
        self._snapshots = self._read_snapshots()
        self._boot = self._snapshots[-1] if self._snapshots else None
        while self._boot is not None and self._boot.state not in ("whole", "unread"):
            at = self._snapshots.index(self._boot)
            self._boot = self._snapshots[at - 1] if at else None
        self._replay = (
            Replay(self._boot) if digests and self._boot is not None and self._boot.state == "whole" else None
        )
        self._last = self._boot.zxid if self._boot is not None else 0
        self._below = 0

    def result(self) -> DiskContents:
        analysis = LogAnalysis(self._snapshots)
        files = tuple(self._read_logs(analysis))
        analysis.finish()
        accepted, current = self._epoch(ACCEPTED_EPOCH), self._epoch(CURRENT_EPOCH)
        self._findings += analysis.findings
        if self._replay is not None and self._replay.finding is not None:
            self._findings.append(self._replay.finding)
        if self._boot is None and (files or self._snapshots):
            found = "none of the snapshots is whole" if self._snapshots else "there are logs and no snapshot"
            self._refuse(found, self._data)
        self._check_epochs(accepted, current)
        return DiskContents(
            self._directory,
            self._logs,
            self._number(),
            self._snapshots,
            files,
            tuple(analysis.stretches),
            accepted,
            current,
            self._boot,
            self._last,
            self._below,
            tuple(self._findings),
        )

    def _read_snapshots(self) -> tuple[Snapshot, ...]:
        snapshots = tuple(read_snapshot(path) for _, path in _files(self._data, SNAPSHOT_PREFIX))
        kinds = {"torn": "torn", "damaged": "damage", "unread": "unread"}
        for each in snapshots:
            if each.state != "whole":
                wrong = each.state == "damaged"
                self._findings.append(
                    DiskFinding(kinds[each.state], wrong, each.message, str(each.path), None, each.zxid)
                )
        return snapshots

    def _read_logs(self, analysis: LogAnalysis) -> Iterator[LogFile]:
        files = _files(self._logs, LOG_PREFIX)
        covered = self._boot.zxid if self._boot is not None else -1
        # A boot begins with the last file that may have the zxid after the snapshot's.
        begin = max((zxid for zxid, _ in files if zxid <= covered), default=0)
        boot = Boot(covered)
        for zxid, path in files:
            records, first, last = 0, None, None
            flaws: list[tuple[Flaw, int]] = []
            boot.next_file(zxid >= begin)
            for each in read_log(path):
                if isinstance(each, Flaw):
                    flaws.append((each, records))
                    boot.meet(each)
                    continue
                records += 1
                last = each.txn.zxid
                first = last if first is None else first
                self._below += last <= covered
                analysis.take(path, each)
                if boot.loads(last):
                    self._last = max(self._last, last)
                    if self._replay is not None:
                        self._replay.take(path, each)
                if self._visit is not None:
                    self._visit(path, each)
            self._findings += [finding_of(flaw, path, records > before) for flaw, before in flaws]
            if first is not None and first != zxid:
                message = f"the first transaction is {shown(first)}, and the name says {shown(zxid)}"
                self._findings.append(DiskFinding("name", True, message, str(path), HEADER_SIZE, first))
            yield LogFile(path, zxid, records, first, last)

    def _epoch(self, name: str) -> int | None:
        path = self._data / name
        try:
            text = _start(path, 40)
        except FileNotFoundError:
            return None
        line = text.partition("\n")[0].rstrip("\r")
        if line.isascii() and line.removeprefix("-").isdigit():
            return int(line)
        message = f"expected a number, found {line!r}; a server does not start with it"
        self._findings.append(DiskFinding("damage", True, message, str(path), 0))
        return None

    def _check_epochs(self, accepted: int | None, current: int | None) -> None:
        """Find reasons for a server to refuse to start (QuorumPeer.loadDataBase)."""
        epoch = epoch_of(self._last)
        if current is not None and epoch > current and not (self._data / f"{CURRENT_EPOCH}.tmp").exists():
            self._refuse(
                f"the last zxid is {shown(self._last)}, and the epoch is {current}", self._data / CURRENT_EPOCH
            )
        if accepted is not None and accepted < (epoch if current is None else current):
            other = f"the last zxid is {shown(self._last)}" if current is None else f"{CURRENT_EPOCH} says {current}"
            self._refuse(f"the epoch is {accepted}, and {other}", self._data / ACCEPTED_EPOCH)

    def _refuse(self, message: str, path: Path) -> None:
        self._findings.append(DiskFinding("start", True, f"{message}; a server does not start with it", str(path)))

    def _number(self) -> int | None:
        for path in (self._directory / MYID, self._data.parent / MYID):
            if path.is_file():
                text = _start(path, 20).strip()
                return int(text) if text.isascii() and text.isdigit() else None
        return None
