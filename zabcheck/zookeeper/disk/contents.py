"""The contents of a server's disk: its history, the part that a boot would load, and its faults.

A server has a data directory (`dataDir`) and maybe one for its transaction logs (`dataLogDir`); in both the files lie
in `version-2`. A boot loads the latest snapshot that is whole, and every record after it, from all log files in the
order of their names, committed or not (FileTxnSnapLog.restore).

The counters of an epoch are consecutive in every history and begin with 1, and a new epoch may begin after any counter
(DSN 2011, III and IV; ZooKeeper packs both into one number). So a gap shows in one server's log already, unless a
snapshot covers it: a server that was sent a snapshot has never logged its transactions.
"""

from collections.abc import Callable, Iterator
from filecmp import cmp
from pathlib import Path

from msgspec import Struct

from zabcheck.text.files import regular
from zabcheck.zookeeper.disk.boot import Boot, Refusal, Replay, too_long
from zabcheck.zookeeper.disk.log_analysis import DiskFinding, LogAnalysis, LogFile, Stretch, finding_of
from zabcheck.zookeeper.disk.snapshot import SNAPSHOT_PREFIX, Snapshot, read_snapshot
from zabcheck.zookeeper.disk.transaction_log import (
    HEADER_SIZE,
    LOG_PREFIX,
    LONGEST_RECORD,
    Flaw,
    LogError,
    LogRecord,
    read_log,
    zxid_of_name,
)
from zabcheck.zookeeper.wire.zxids import COUNTER, epoch_of, shown

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
    that the snapshot makes needless. `refusals` has the reasons for which a server does not start, `digest` is that
    of the tree after a boot, if it was asked for.
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
    refusals: tuple[Refusal, ...] = ()
    digest: int | None = None

    @property
    def records(self) -> int:
        """The number of transactions in the logs."""
        return sum(log.records for log in self.logs)

    @property
    def lacks_logs(self) -> bool:
        """True if there are snapshots of transactions and no log: the logs may be elsewhere."""
        return not self.logs and any(each.zxid & COUNTER for each in self.snapshots)

    @property
    def unread(self) -> list[Path]:
        """The files that were not read, or not whole: nothing is known of what they hold."""
        return [each.path for each in self.snapshots if each.state == "unread"]

    @property
    def alone(self) -> bool:
        """True if the server has no ensemble: it has no epochs, and its zxids are of epoch 0."""
        return self.accepted_epoch is None and self.current_epoch is None and not epoch_of(self.last)


def version_directory(directory: Path) -> Path | None:
    """Find the files of a data directory: in itself or in `version-2`; None if it has none of ZooKeeper's."""
    for each in (directory / VERSION_DIRECTORY, directory):
        if each.is_dir() and (
            each.name == VERSION_DIRECTORY or any(_is_of_zookeeper(file.name) for file in each.iterdir())
        ):
            return each
    return None


def holds_logs(directory: Path) -> tuple[bool, bool]:
    """Return whether a data directory has logs, and whether it has anything else of a server."""
    found = version_directory(directory)
    names = [each.name for each in found.iterdir()] if found is not None else []
    logs = [zxid_of_name(name, LOG_PREFIX) is not None for name in names]
    others = [_is_of_zookeeper(name) and not log for name, log in zip(names, logs, strict=True)]
    return any(logs), any(others)


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
                raise DiskError(
                    f"{directory}: expected the data directory of a ZooKeeper server, found no directory; "
                    "`zabcheck zookeeper serverlog` reads a server's own log"
                )
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
        self._refusals: list[Refusal] = []
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
        self._check_snapshots(bool(files))
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
            tuple(self._refusals),
            self._replay.digest if self._replay is not None else None,
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
            boot.next_file(path, zxid >= begin)
            after = next((other for other, _ in files if other > zxid), None)
            # With several files of one zxid the file system decides with which a boot begins, and whether it reads all.
            newest = after is None and (zxid <= covered or sum(other == zxid for other, _ in files) == 1)
            yield self._read_log(path, zxid, boot, analysis, after, newest)
        self._refusals += boot.refusals

    def _read_log(
        self, path: Path, zxid: int, boot: Boot, analysis: LogAnalysis, after: int | None, newest: bool
    ) -> LogFile:
        """Read a log; `after` is the zxid in the name of the next one. Foreign records are not analysed."""
        covered = self._boot.zxid if self._boot is not None else -1
        records, first, last = 0, None, None
        flaws: list[tuple[Flaw, int]] = []
        aside = copy = self._is_copy(path, zxid)
        for each in read_log(path):
            if isinstance(each, Flaw):
                flaws.append((each, records))
                boot.meet(each, newest)
                continue
            records += 1
            last = each.txn.zxid
            if first is None:
                first = last
                if not flaws and self._is_misnamed(path, zxid, first):
                    aside = aside or not analysis.highest < first < (first + 1 if after is None else after)
            self._below += last <= covered
            if not aside:
                analysis.take(path, each)
            if boot.reads and each.length > LONGEST_RECORD:
                self._findings.append(DiskFinding("start", True, too_long(each), str(path), each.offset, last))
            if boot.loads(each):
                if self._replay is not None and not (copy and last <= self._last):
                    self._replay.take(path, each)
                self._last = max(self._last, last)
            if self._visit is not None:
                self._visit(path, each)
        self._findings += [finding_of(flaw, path, records > before, boot.reads, newest) for flaw, before in flaws]
        return LogFile(path, zxid, records, first, last, boot.reads)

    def _is_copy(self, path: Path, zxid: int) -> bool:
        """Return True if a file is a copy beside the log of the same name; a finding says so."""
        written = path.with_name(f"{LOG_PREFIX}.{zxid:x}")
        if path == written or not written.is_file():
            return False
        same = cmp(path, written, shallow=False)
        other = "the same" if same else "with other contents, and in an order that the file system decides"
        message = f"no server writes a file of this name, and a boot reads it as {written.name}: {other}; move it away"
        self._findings.append(DiskFinding("copy", not same, message, str(path)))
        return True

    def _is_misnamed(self, path: Path, zxid: int, first: int) -> bool:
        """Return True if the first transaction of a file is not the one of its name; a finding says so."""
        if first == zxid:
            return False
        message = f"the first transaction is {shown(first)}, and the name says {shown(zxid)}"
        self._findings.append(DiskFinding("name", True, message, str(path), HEADER_SIZE, first))
        return True

    def _epoch(self, name: str) -> int | None:
        path = self._data / name
        try:
            text = _start(path, 40)
        except FileNotFoundError:
            return None
        line = text.partition("\n")[0].rstrip("\r")
        if line.isascii() and line.removeprefix("-").isdigit() and int(line) < 1 << 63:
            return int(line)
        found = f"expected a number, found {line!r}"
        self._refusals.append(Refusal(found, str(path), 0))
        self._findings.append(DiskFinding("damage", True, f"{found}; a server does not start with it", str(path), 0))
        return None

    def _check_snapshots(self, logs: bool) -> None:
        """Find out if a server has a snapshot to begin with (FileTxnSnapLog.restore)."""
        later = self._snapshots[self._snapshots.index(self._boot) + 1 :] if self._boot is not None else self._snapshots
        for each in later:
            if each.listed and each.fatal:
                self._refuse(each.message, each.path)
        listed = any(each.listed for each in self._snapshots)
        if self._boot is not None or not (logs or listed):
            return
        if listed:
            self._refuse("none of the snapshots is whole", self._data)
        else:
            found = "no snapshot is complete" if self._snapshots else "there are logs and no snapshot"
            self._refuse(f"{found} (unless zookeeper.snapshot.trust.empty is set)", self._data)

    def _check_epochs(self, accepted: int | None, current: int | None) -> None:
        """Find reasons for a server to refuse to start (QuorumPeer.loadDataBase)."""
        epoch = epoch_of(self._last)
        file = self._data / CURRENT_EPOCH
        if current is not None and epoch > current:
            if (self._data / f"{CURRENT_EPOCH}.tmp").exists():
                current = self._epoch(f"{CURRENT_EPOCH}.tmp")
            else:
                self._refuse(f"the last zxid is {shown(self._last)}, and the epoch is {current}", file)
        is_one_of_many = file.exists() or (self._data / ACCEPTED_EPOCH).exists()
        if not is_one_of_many:
            return  # a server that stands alone has no epoch
        expected = epoch if current is None else current
        if accepted is None and not (self._data / ACCEPTED_EPOCH).exists() and epoch < expected:
            message = f"there is no {ACCEPTED_EPOCH}, the last zxid is {shown(self._last)}, and the epoch is {expected}"
            self._refuse(message, file)
        if accepted is not None and accepted < expected:
            other = f"the last zxid is {shown(self._last)}" if current is None else f"{CURRENT_EPOCH} says {current}"
            self._refuse(f"the epoch is {accepted}, and {other}", self._data / ACCEPTED_EPOCH)

    def _refuse(self, message: str, path: Path) -> None:
        self._refusals.append(Refusal(message, str(path)))
        self._findings.append(DiskFinding("start", True, f"{message}; a server does not start with it", str(path)))

    def _number(self) -> int | None:
        for path in (self._directory / MYID, self._data.parent / MYID):
            if path.is_file():
                text = _start(path, 20).strip()
                return int(text) if text.isascii() and text.isdigit() else None
        return None
