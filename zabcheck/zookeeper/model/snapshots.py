"""Snapshots: when a server writes its tree to a file, and removes older files (`FileTxnSnapLog`, `PurgeTxnLog`)."""

from zabcheck.invariants import Txn
from zabcheck.protocols.base import Effect, Flush, ProcessId, TakeSnapshot, Write
from zabcheck.zookeeper.model.database import with_snapshot
from zabcheck.zookeeper.model.server import Server


def on_take_snapshot(f: Server, sender: ProcessId, m: TakeSnapshot) -> list[Effect]:
    """`SyncRequestProcessor.run` starts a snapshot, which is written at once here. Only a running server does.

    With `cut` everything older is purged (`PurgeTxnLog`): earlier snapshots, and the records up to the label.
    """
    if not f.running:
        return []
    before, unforced, unwritten = (f.snapshots, f.log), f.unforced, f.unwritten
    effects = take_snapshot(f)
    if m.cut:
        effects = purge(f, tuple(txn for txn in f.log if txn.zxid > f.database.lpz))
    if (f.snapshots, f.log) == before:
        f.unforced = unforced
        f.unwritten = unwritten
        return []
    return effects


def take_snapshot(f: Server) -> list[Effect]:
    """`ZooKeeperServer.takeSnapshot`: write the tree, under lastProcessedZxid.

    It is on the disk at once. In ZooKeeper it is not (`syncSnap` is false), but nothing relies on it.
    """
    before: list[Effect] = [Flush()] if f.unforced else []
    f.unforced = False
    f.snapshots = with_snapshot(f.snapshots, f.database)
    return [*before, *write_snapshots(f)]


def write_snapshots(f: Server) -> list[Effect]:
    """Put all snapshots on the disk, also one that was not forced (N3)."""
    f.unwritten = False
    return [Write(snapshots=f.snapshots)]


def purge(f: Server, left: tuple[Txn, ...]) -> list[Effect]:
    """Remove all but the newest snapshot, and all of the log except `left`."""
    f.snapshots, f.log = f.snapshots[-1:], left
    f.unwritten = False
    return [Flush(), Write(snapshots=f.snapshots, log=f.log)]
