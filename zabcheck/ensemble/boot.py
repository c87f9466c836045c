"""What a server does with its disk when it starts: which records it loads, and what the tree's digest then is.

It reads the latest snapshot that is whole, goes to the first record after it, and applies all that follow, committed
or not (FileTxnSnapLog.restore and FileTxnLog.FileTxnIterator in ZooKeeper's source).
"""

from pathlib import Path

from zabcheck.ensemble.jute import JuteError
from zabcheck.ensemble.log_analysis import Finding, told
from zabcheck.ensemble.snapshot import DIGEST_VERSION, Snapshot, read_snapshot
from zabcheck.ensemble.transaction_log import Flaw, LogRecord
from zabcheck.ensemble.tree import Tree


class Boot:
    """Which records a boot loads: those after the snapshot, up to damage that it cannot get over."""

    def __init__(self, covered: int) -> None:
        self._covered = covered
        self._reads = self._ended = self._stopped = self._past = False

    def next_file(self, reads: bool) -> None:
        """The records of the next file come, which a boot reads or leaves alone."""
        self._reads, self._ended = reads, False

    def meet(self, flaw: Flaw) -> None:
        """There is a flaw in it."""
        if self._reads:
            self._ended = True
            self._stopped = self._stopped or flaw.kind in ("checksum", "body", "header", "length")

    def loads(self, zxid: int) -> bool:
        """Whether it loads this record. Once it is past the snapshot, it does not look at zxids any more."""
        self._past = self._past or (self._reads and zxid > self._covered)
        return self._past and self._reads and not self._ended and not self._stopped


class Replay:
    """Does again what a boot does, and compares the digests of the tree, as a server does."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._tree = Tree()
        read_snapshot(snapshot.path, self._tree.put)
        self.finding: Finding | None = None
        expected = snapshot.digest
        if expected is not None and (expected.version != DIGEST_VERSION or expected.zxid < snapshot.zxid):
            expected = None
        # While the snapshot was written the tree went on; only after this zxid is it known what has to come out.
        self._until = expected
        # Without a digest it is known of an empty tree only that it was not changed meanwhile.
        known = snapshot.digest is not None and snapshot.digest.version == DIGEST_VERSION
        self._compares = expected is None and (snapshot.zxid == 0 or known)
        self._compare_snapshot(snapshot.zxid, snapshot.path, None)

    def take(self, path: Path, record: LogRecord) -> None:
        """A record that a boot loads."""
        try:
            self._tree.apply(record)
        except JuteError:
            self._compares, self._until = False, None  # a body of a version that is not known here
            return
        if self._until is not None:
            self._compare_snapshot(record.txn.zxid, path, record.offset)
        elif self._compares and record.digest is not None:
            self._compare(record.digest, record.txn.zxid, path, record.offset)

    def _compare_snapshot(self, zxid: int, path: Path, offset: int | None) -> None:
        until = self._until
        if until is not None and zxid >= until.zxid:
            self._until, self._compares = None, True
            if zxid == until.zxid:
                self._compare(until.value, zxid, path, offset)

    def _compare(self, expected: int, zxid: int, path: Path, offset: int | None) -> None:
        found = self._tree.digest
        if found != expected and self.finding is None:
            message = f"after {told(zxid)} the tree's digest is {found:x}, and what is written down is {expected:x}"
            self.finding = Finding("digest", True, message, str(path), offset, zxid)
