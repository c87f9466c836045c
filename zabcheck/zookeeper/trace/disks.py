"""The history that a server loads from its disk: the latest snapshot, which is not recorded, and the log after it."""

from collections.abc import Iterable

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Txn, Zxid
from zabcheck.zookeeper.recording.records import Disk
from zabcheck.zookeeper.trace.names import Names


def latest_snapshot(disk: Disk) -> Zxid:
    """Return the zxid of the latest snapshot; ⟨0,0⟩ if there is none."""
    return Zxid.unpack(max(disk.snapshots, default=0))


def ascending(disk: Disk, names: Names) -> list[Txn]:
    """Return the transactions of the log; a zxid that comes again is left out, as when ZooKeeper reads the log."""
    found: list[Txn] = []
    for txn in map(names.txn, disk.log):
        if txn.zxid > (found[-1].zxid if found else Zxid(0, 0)):
            found.append(txn)
    return found


def loaded(up_to: Zxid, logged: Chain, known: Iterable[Chain]) -> Chain:
    """Return the history after a start from a snapshot `up_to` there, and the log.

    The content of the snapshot is that of the `known` history that reaches furthest, or the log if that does.
    """
    base = max((chain.up_to(up_to) for chain in known), key=lambda chain: chain.zxid)
    if base.zxid < logged.up_to(up_to).zxid:
        base = logged.up_to(up_to)
    for txn in logged.after(logged.up_to(base.zxid).length):
        base = base.append(txn)
    return base
