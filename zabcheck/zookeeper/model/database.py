"""A server's disk and memory, and how one is made from the other (`ZKDatabase`, `FileTxnSnapLog`).

The log is a list of records in the order in which they were appended. That is not always the order of their zxids, a
record may be there twice, and records below a snapshot may be missing. So a history as DSN 2011 has it is nowhere on
the disk: it results from loading the newest snapshot and the records behind it.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants import EMPTY, NO_ZXID, Chain, Txn, Zxid
from zabcheck.protocols.base import ModelledError
from zabcheck.zookeeper.model.versions import Version


class Exit(ModelledError):
    """The end of the process by an exception that nothing catches, or by `System.exit`. The message is the reason."""


class Snapshot(Struct, frozen=True, gc=False):
    """A snapshot file (`FileSnap`): the tree, under the lastProcessedZxid that the server had."""

    label: Zxid
    tree: Chain


FIRST = Snapshot(NO_ZXID, EMPTY)
"""The snapshot that a server writes at its very first start (2325)."""


class Database(Struct, frozen=True, gc=False):
    """The database in memory (`ZKDatabase`).

    `tree`: the transactions applied, in that order (`DataTree`). `lpz`: lastProcessedZxid, which applying only raises,
    but SNAP, TRUNC and the start of a leader assign. `cache`: committedLog, a window on what was applied, for
    synchronising followers; it need not go back to the beginning, nor have all that the tree has.
    """

    tree: Chain = EMPTY
    lpz: Zxid = NO_ZXID
    cache: tuple[Txn, ...] = ()

    @property
    def oldest(self) -> Zxid:
        """minCommittedLog; lastProcessedZxid if committedLog is empty, as `syncFollower` reads it."""
        return self.cache[0].zxid if self.cache else self.lpz

    @property
    def newest(self) -> Zxid:
        """maxCommittedLog, in the same way."""
        return self.cache[-1].zxid if self.cache else self.lpz


def applied(database: Database, txn: Txn, version: Version, window: int, *, cached: bool = True) -> Database:
    """`DataTree.processTxn`, and `ZKDatabase.addCommittedProposal` if `cached`: apply one transaction.

    A transaction that the tree has already changes nothing in it. Exit if it leaves a hole in committedLog where that
    is refused.
    """
    tree = database.tree if txn in database.tree.after(0) else database.tree.append(txn)
    cache = with_proposal(database.cache, txn, version, window) if cached else database.cache
    return Database(tree, max(database.lpz, txn.zxid), cache)


def with_proposal(cache: tuple[Txn, ...], txn: Txn, version: Version, window: int) -> tuple[Txn, ...]:
    """`ZKDatabase.addCommittedProposal`: the last `window` transactions applied.

    Up to 3.9.3 the transaction applied last is the end. Since 3.9.4 (4925) a transaction that is not later is left out,
    and a hole within an epoch raises.
    """
    if version.refuses_holes and cache:
        last = cache[-1].zxid
        if txn.zxid <= last:
            return cache
        if txn.zxid.epoch == last.epoch and txn.zxid.counter != last.counter + 1:
            raise Exit(f"committedLog would have a hole between {last} and {txn.zxid}")
    return (*cache, txn)[-window:]


def _replayed(database: Database, records: Iterable[Txn], version: Version, window: int) -> Database:
    for txn in records:
        database = applied(database, txn, version, window)
    return database


def _from(log: tuple[Txn, ...], above: Zxid) -> tuple[Txn, ...]:
    """`FileTxnLog.read(above + 1)`: the first record above this zxid, and all that were appended after it."""
    for index, txn in enumerate(log):
        if txn.zxid > above:
            return log[index:]
    return ()


def loaded(snapshots: tuple[Snapshot, ...], log: tuple[Txn, ...], version: Version, window: int) -> Database:
    """`FileTxnSnapLog.restore`: the newest snapshot, then all that the log has behind its label, committed or not."""
    newest = snapshots[-1]
    return _replayed(Database(newest.tree, newest.label), _from(log, newest.label), version, window)


def fast_forwarded(database: Database, log: tuple[Txn, ...], version: Version, window: int) -> Database:
    """`ZKDatabase.fastForwardDataBase`: apply what the log has behind lastProcessedZxid, committed or not."""
    return _replayed(database, _from(log, database.lpz), version, window)


def with_snapshot(snapshots: tuple[Snapshot, ...], database: Database) -> tuple[Snapshot, ...]:
    """`FileTxnSnapLog.save`: write the tree under its lastProcessedZxid; a file of that name is replaced."""
    others = [each for each in snapshots if each.label != database.lpz]
    return tuple(sorted([*others, Snapshot(database.lpz, database.tree)], key=lambda each: each.label))


def without_later(snapshots: tuple[Snapshot, ...], zxid: Zxid) -> tuple[Snapshot, ...]:
    """Return the snapshots that TRUNC(zxid) should leave (4837): those whose tree and label are not above `zxid`.

    No release does that, and a server cannot tell from a snapshot how far it reaches: it would have to write that down.
    Exit if none is left: then nothing on the disk goes back far enough.
    """
    left = {min(each.label, zxid): each.tree for each in snapshots if all(txn.zxid <= zxid for txn in each.tree)}
    if not left:
        raise Exit(f"TRUNC({zxid}): no snapshot goes back as far")
    return tuple(Snapshot(label, left[label]) for label in sorted(left))


def not_later(snapshots: tuple[Snapshot, ...], zxid: Zxid) -> tuple[Snapshot, ...]:
    """Return the snapshots that are not labelled above `zxid` (pull request 2172). Exit if there is none."""
    left = tuple(each for each in snapshots if each.label <= zxid)
    if not left:
        raise Exit(f"TRUNC({zxid}): no snapshot goes back as far")
    return left


def truncated(log: tuple[Txn, ...], zxid: Zxid, version: Version) -> tuple[Txn, ...]:
    """`FileTxnLog.truncate`: cut the log behind the first record at or above `zxid`.

    That is one record too many if the log has no record `zxid` (N2), as after a SNAP. Exit if the log ends below
    `zxid`.
    """
    for index, txn in enumerate(log):
        if txn.zxid >= zxid:
            return log[:index] if version.truncates_exactly and txn.zxid > zxid else log[: index + 1]
    raise Exit(f"TRUNC({zxid}): the log has no record as high")


def at(database: Database, zxid: Zxid) -> Database:
    """Assign `DataTree.lastProcessedZxid`."""
    return replace(database, lpz=zxid)
