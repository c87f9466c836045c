"""What a server's disk holds after the server has ended, as a record."""

from pathlib import Path

from zabcheck.zookeeper.disk.contents import scan
from zabcheck.zookeeper.disk.log_analysis import DiskFinding
from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Disk
from zabcheck.zookeeper.wire.jute import LoggedTxn


def read_disk(data_dir: Path, server: int, incarnation: int) -> Disk:
    """The record of what is in a server's data directory. DiskError as `scan` says; memory is O(transactions)."""
    log: list[LoggedTxn] = []
    disk = scan(data_dir, visit=lambda _, record: log.append(record.txn))
    return Disk(
        now(),
        server,
        incarnation,
        tuple(log),
        tuple(snapshot.zxid for snapshot in disk.snapshots if snapshot.state == "whole"),
        disk.accepted_epoch,
        disk.current_epoch,
        tuple(_sentence(finding) for finding in disk.findings),
    )


def _sentence(finding: DiskFinding) -> str:
    """A finding in one line."""
    where = Path(finding.file).name + ("" if finding.offset is None else f", byte {finding.offset}")
    return f"{finding.kind}: {where}: {finding.message}"
