"""The records of all of a server's logs: stretches of zxids, gaps, and zxids that come again."""

from array import array
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from zabcheck.zookeeper.disk.snapshot import Snapshot
from zabcheck.zookeeper.disk.transaction_log import Flaw, LogRecord
from zabcheck.zookeeper.wire.zxids import COUNTER, follows, shown, shown_range


class DiskFinding(Struct, frozen=True, omit_defaults=True):
    """Something unusual on a disk; `wrong` unless it is harmless.

    `zxid` is that of the transaction concerned; of a conflict, a duplicate or a disorder it is the first, and `last`
    the last one.

    gap           zxids that are missing, above what the snapshot covers
    covered gap   zxids that are missing, and that a boot does not need
    conflict      two transactions under one zxid
    duplicate     the same transactions once more
    disorder      a zxid that comes after a greater one, and was not there before
    damage        bytes that are no record, no header, no epoch
    torn          a file ends in the middle of something, as after a kill
    name          a file's first zxid is not the one in its name
    copy          a file whose name a server reads, though no server writes it, beside the file of that name
    start         a server does not start with this disk
    digest        the tree's digest is another one than the leader wrote down
    unread        a file that is not read here
    """

    kind: str
    wrong: bool
    message: str
    file: str
    offset: int | None = None
    zxid: int | None = None
    last: int | None = None


class LogFile(Struct, frozen=True):
    """A log file: the zxid of its name, the number of whole records, and the zxids of the first and the last.

    `read`: a boot reads it.
    """

    path: Path
    zxid: int
    records: int
    first: int | None
    last: int | None
    read: bool


class Stretch(Struct, frozen=True):
    """Consecutive transactions of one epoch in one file, without a gap in their counters.

    Entry i of `offsets` and `identities` belongs to zxid `first` + i. 16 bytes a transaction.
    """

    path: Path
    first: int
    offsets: "array[int]"
    identities: "array[int]"

    @property
    def end(self) -> int:
        """The zxid after the last one."""
        return self.first + len(self.offsets)


class _Place(NamedTuple):
    """The first place of a transaction: entry `at` of a stretch."""

    stretch: Stretch
    at: int


class _Again(Struct):
    """Consecutive zxids that come again, all with the same transactions as before or all with others."""

    kind: str
    first: int
    last: int
    path: Path
    offset: int
    message: str


def is_covered(zxid: int, snapshots: tuple[Snapshot, ...]) -> bool:
    """Return True if a snapshot that can be loaded has everything up to `zxid`."""
    return any(snapshot.zxid >= zxid and snapshot.state in ("whole", "unread") for snapshot in snapshots)


class LogAnalysis:
    """Analyses the records of all files, in order. O(1) a record; memory is 16 bytes a transaction.

    From the first zxid that is not above all before it, the record of earlier zxids takes 200 bytes a transaction.
    """

    def __init__(self, snapshots: tuple[Snapshot, ...]) -> None:
        self.stretches: list[Stretch] = []
        self.findings: list[DiskFinding] = []
        self._snapshots = snapshots
        self._highest: int | None = None
        self._current: Stretch | None = None
        self._seen: dict[int, _Place] | None = None
        self._again: _Again | None = None

    def take(self, path: Path, record: LogRecord) -> None:
        """Take in the next record."""
        zxid = record.txn.zxid
        highest = self._highest
        if highest is not None and zxid <= highest:
            self._take_again(path, record)
        else:
            self._end_of_again()
            self._highest = zxid
            if not follows(zxid, highest or 0):
                self._gap(path, record, highest)
        self._remember(path, record)

    @property
    def highest(self) -> int:
        """The greatest zxid so far, 0 if there is none."""
        return self._highest or 0

    def finish(self) -> None:
        """Take in the end of the records."""
        self._end_of_again()

    def _remember(self, path: Path, record: LogRecord) -> None:
        zxid, current = record.txn.zxid, self._current
        if current is None or current.path != path or zxid != current.end or not zxid & COUNTER:
            current = self._current = Stretch(path, zxid, array("Q"), array("Q"))
            self.stretches.append(current)
        current.offsets.append(record.offset)
        current.identities.append(record.identity)
        if self._seen is not None:
            self._seen.setdefault(zxid, _Place(current, len(current.offsets) - 1))

    def _gap(self, path: Path, record: LogRecord, before: int | None) -> None:
        zxid = record.txn.zxid
        covering = max((s.zxid for s in self._snapshots if s.zxid < zxid and is_covered(s.zxid, (s,))), default=None)
        last = max((each for each in (before, covering) if each is not None), default=0)
        after = f"after {shown(last)}" if last else "at the beginning"
        if follows(zxid, last):
            return
        covered = is_covered(zxid - 1, self._snapshots)
        counter = zxid & COUNTER
        first = max(last, zxid - counter) + 1
        missing = f"without {shown_range(first, zxid - 1)}" if counter else "counters begin with 1"
        message = f"{after} comes {shown(zxid)}: {missing}"
        if covered:
            message += ", which a snapshot has"
        self._add("covered gap" if covered else "gap", not covered, message, path, record)

    def _add(self, kind: str, wrong: bool, message: str, path: Path, record: LogRecord) -> None:
        self.findings.append(DiskFinding(kind, wrong, message, str(path), record.offset, record.txn.zxid))

    def _take_again(self, path: Path, record: LogRecord) -> None:
        """Take in a record whose zxid is not above all before it."""
        if self._seen is None:
            self._seen = {}
            for stretch in self.stretches:
                for index in range(len(stretch.offsets)):
                    self._seen.setdefault(stretch.first + index, _Place(stretch, index))
        zxid = record.txn.zxid
        place = self._seen.get(zxid)
        if place is None:
            kind, message = "disorder", f"comes after {shown(self._highest or 0)} and was not there before"
        else:
            where = f"{place.stretch.path.name}, byte {place.stretch.offsets[place.at]}"
            same = place.stretch.identities[place.at] == record.identity
            kind = "duplicate" if same else "conflict"
            message = f"once more, the same as in {where}" if same else f"another transaction than in {where}"
        again = self._again
        if again is not None and again.kind == kind and again.path == path and zxid == again.last + 1:
            again.last = zxid
            return
        self._end_of_again()
        self._again = _Again(kind, zxid, zxid, path, record.offset, message)

    def _end_of_again(self) -> None:
        again, self._again = self._again, None
        if again is not None:
            message = f"{shown_range(again.first, again.last)}: {again.message}"
            wrong = again.kind != "duplicate"
            self.findings.append(
                DiskFinding(again.kind, wrong, message, str(again.path), again.offset, again.first, again.last)
            )


def finding_of(flaw: Flaw, path: Path, followed: bool, read: bool, tail: bool) -> DiskFinding:
    """Make a finding from a flaw in a log file.

    `followed`: whole records come after it. `read`: a boot reads the file. `tail`: it is the newest one.
    """
    if flaw.kind == "torn" and not flaw.stops:
        return DiskFinding("torn", False, flaw.message, str(path), flaw.offset)
    if not read:
        effect = "no boot reads this file"
    elif flaw.empty and tail:
        effect = "before 3.9.3 a server does not start with it"
    else:
        effect = "a server does not start with it" if flaw.stops else "a server takes the file for ended here"
    message = f"{flaw.message}; {effect}" + ("; whole records follow" if followed else "")
    harmless = flaw.kind == "torn" and ((tail and flaw.empty) or not read)
    return DiskFinding("torn" if harmless else "damage", not harmless, message, str(path), flaw.offset)
