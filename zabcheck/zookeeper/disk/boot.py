"""A server's start from its disk: which records it loads, and the digest that its tree then has.

A boot reads the latest snapshot that is whole, goes to the first record after it, and applies all that follow,
committed or not (FileTxnSnapLog.restore and FileTxnLog.FileTxnIterator in ZooKeeper's source).
"""

from pathlib import Path

from zabcheck.zookeeper.disk.log_analysis import DiskFinding
from zabcheck.zookeeper.disk.snapshot import DIGEST_VERSION, Snapshot, read_snapshot
from zabcheck.zookeeper.disk.transaction_log import Flaw, LogRecord
from zabcheck.zookeeper.disk.tree import Tree
from zabcheck.zookeeper.wire.jute import JuteError
from zabcheck.zookeeper.wire.zxids import shown


class Boot:
    """The records that a boot loads: those after the snapshot, up to damage that the boot cannot get over."""

    def __init__(self, covered: int) -> None:
        self._covered = covered
        self._reads = self._ended = self._stopped = self._past = False

    def next_file(self, reads: bool) -> None:
        """Begin with the records of the next log file; `reads`: a boot reads this file."""
        self._reads, self._ended = reads, False

    def meet(self, flaw: Flaw) -> None:
        """Take in a flaw at the present place of the log file."""
        if self._reads:
            self._ended = True
            self._stopped = self._stopped or flaw.kind in ("checksum", "body", "header", "length")

    def loads(self, zxid: int) -> bool:
        """Return True if a boot loads this record. Once past the snapshot, a boot does not look at zxids any more."""
        self._past = self._past or (self._reads and zxid > self._covered)
        return self._past and self._reads and not self._ended and not self._stopped


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
