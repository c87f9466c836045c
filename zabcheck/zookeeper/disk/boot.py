"""A server's start from its disk: which records it loads, whether it starts, and the digest that its tree then has.

A boot reads the latest snapshot that is whole, goes to the first record after it, and applies all that follow,
committed or not (FileTxnSnapLog.restore and FileTxnLog.FileTxnIterator in ZooKeeper's source). Versions differ in two
points: an empty newest log is tolerated since 3.9.3, and records with a gap between them are refused since 3.9.4.
"""

from pathlib import Path

from msgspec import Struct

from zabcheck.zookeeper.disk.log_analysis import DiskFinding
from zabcheck.zookeeper.disk.snapshot import DIGEST_VERSION, Snapshot, read_snapshot
from zabcheck.zookeeper.disk.transaction_log import LONGEST_RECORD, Flaw, LogRecord
from zabcheck.zookeeper.disk.tree import Tree
from zabcheck.zookeeper.wire.jute import JuteError
from zabcheck.zookeeper.wire.zxids import epoch_of, shown

EMPTY_LOG_TOLERATED = "3.9.3"
"""The first version that starts with an empty newest log (ZOOKEEPER-2332)."""
GAPS_REFUSED = "3.9.4"
"""The first version that does not start with a gap among the records it loads (ZKDatabase.addCommittedProposal)."""


class Refusal(Struct, frozen=True):
    """A reason for which a server does not start: in all versions, or only `since` a version or `before` one."""

    why: str
    file: str
    offset: int | None = None
    since: str | None = None
    before: str | None = None

    @property
    def always(self) -> bool:
        """True if no version starts."""
        return self.since is None and self.before is None


class Boot:
    """The records that a boot loads: those after the snapshot, up to damage that the boot cannot get over.

    `reads`: a boot reads the present log file.
    """

    def __init__(self, covered: int) -> None:
        self.refusals: list[Refusal] = []
        self._covered = covered
        self._path: Path | None = None
        self._newest: int | None = None
        self.reads = self._ended = self._stopped = self._past = False

    def next_file(self, path: Path, reads: bool) -> None:
        """Begin with the records of the next log file; `reads`: a boot reads this file."""
        self._path, self.reads, self._ended = path, reads, False

    def meet(self, flaw: Flaw, tail: bool = False) -> None:
        """Take in a flaw at the present place of the log file; `tail`: the file is the newest one."""
        if not self.reads or self._ended or self._stopped:
            return
        self._ended = True
        if flaw.empty and tail:
            self._refuse("the file is empty", 0, before=EMPTY_LOG_TOLERATED)
        elif flaw.stops:
            self._stopped = True
            self._refuse(flaw.message, flaw.offset)

    def loads(self, record: LogRecord) -> bool:
        """Return True if a boot loads this record. Once past the snapshot, a boot does not look at zxids any more."""
        if not self.reads or self._ended or self._stopped:
            return False
        if record.length > LONGEST_RECORD:
            self._stopped = True
            self._refuse(too_long(record), record.offset)
            return False
        zxid = record.txn.zxid
        self._past = self._past or zxid > self._covered
        if self._past:
            self._check_order(zxid, record.offset)
        return self._past

    def _check_order(self, zxid: int, offset: int) -> None:
        newest, self._newest = self._newest, max(zxid, self._newest or 0)
        if newest is None or zxid <= newest + 1 or epoch_of(zxid) > epoch_of(newest):
            return
        if all(each.since is None for each in self.refusals):
            self._refuse(f"after {shown(newest)} comes {shown(zxid)}", offset, since=GAPS_REFUSED)

    def _refuse(self, why: str, offset: int, since: str | None = None, before: str | None = None) -> None:
        self.refusals.append(Refusal(why, str(self._path), offset, since, before))


def too_long(record: LogRecord) -> str:
    """Return the reason for which a server does not start with a record that is longer than its buffer."""
    return (
        f"the transaction has {record.length} bytes, and a server reads at most {LONGEST_RECORD}: it starts only "
        f"with a jute.maxbuffer of {-(-record.length // 2)} or more"
    )


class Replay:
    """Repeats a boot, and compares the tree's digests with those beside the transactions.

    A snapshot is written while the tree changes. Stored with it is the zxid up to which transactions were applied when
    it was complete; the next one may have been in progress, so its effects may be in the snapshot or not. Hence the
    tree is known for certain only after that transaction was applied, too, and the first digest that is compared is the
    next one. (A server compares one earlier, and may report a mismatch where there is none.)
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._tree = Tree()
        read_snapshot(snapshot.path, self._tree.put)
        self.finding: DiskFinding | None = None
        self._after: int | None = None
        if snapshot.digest is not None and snapshot.digest.version == DIGEST_VERSION:
            self._after = max(snapshot.zxid, snapshot.digest.zxid)
        elif snapshot.zxid == 0:
            self._after = 0  # nothing was in progress

    @property
    def digest(self) -> int:
        """The digest of the tree so far."""
        return self._tree.digest

    def take(self, path: Path, record: LogRecord) -> None:
        """Apply a record that a boot loads."""
        try:
            self._tree.apply(record)
        except JuteError:
            self._after = None  # a body of an unknown version
        if self._after is None or record.digest is None or self.finding is not None:
            return
        zxid, found = record.txn.zxid, self._tree.digest
        if zxid > self._after and found != record.digest:
            message = f"after {shown(zxid)} the tree's digest is {found:x}, and its leader's was {record.digest:x}"
            self.finding = DiskFinding("digest", True, message, str(path), record.offset, zxid)
