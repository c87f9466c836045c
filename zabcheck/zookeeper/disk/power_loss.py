"""The effect of a power failure on a server's folder: forced data stays, and of the rest a prefix.

A process that is killed loses nothing that it has handed to the system. When the power fails, the system loses all that
it has not written to the disk. So the folder of a killed server is cut: the transaction logs lose records that were
appended and never forced, from any byte on; snapshots that were never forced go, if the schedule says so, for a file
system need not write one file before the other. Files that were renamed get their old names back, if the schedule says
so: ZooKeeper forces a file of an epoch before it renames it, and never the folder, which has the names.

Forced data is never cut. A log that was shortened (TRUNC) stays so: that a file system may undo this is not modelled.
"""

import os
import struct
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from zabcheck.zookeeper.disk.snapshot import SNAPSHOT_PREFIX
from zabcheck.zookeeper.disk.transaction_log import END_OF_RECORD, HEADER_SIZE, LOG_PREFIX, zxid_of_name

TEMPORARY = ".tmp"
"""The suffix under which a file is written and forced, before it gets its name."""
_PREFIX = struct.Struct(">qi")  # of a record: checksum, length


class FileCut(Struct, frozen=True):
    """The cut of one file to its first `keep` bytes, or its removal if `keep` is None.

    `lost` is the number of writes that are gone: records, including one that is cut in two, or one snapshot.
    """

    file: str
    keep: int | None
    lost: int


class Plan(Struct, frozen=True):
    """The effects of a power failure on a folder. `short` names data to keep that is missing, or is "".

    `undone` has the names that files had got and lost again.
    """

    cuts: tuple[FileCut, ...]
    short: str = ""
    undone: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        """The number of writes that are gone."""
        return sum(cut.lost for cut in self.cuts)


def log_files(folder: Path) -> list[Path]:
    """Return the files of the transaction log, in the order in which a server reads them."""
    return _of_kind(folder, LOG_PREFIX)


def snapshot_files(folder: Path) -> list[Path]:
    """Return the snapshots, the oldest first."""
    return _of_kind(folder, SNAPSHOT_PREFIX)


def end_of_records(path: Path) -> int:
    """Return where the whole records of a log file end. OSError as of files; O(its size).

    Checksums are not looked at: the question is how much was written, not whether it is sound.
    """
    return next(reversed(_ends(path.read_bytes())), 0)


def plan(
    folder: Path,
    forced: Mapping[str, int],
    records: int,
    count: int | None,
    forced_snapshots: Collection[str] | None = None,
) -> Plan:
    """Plan the effect of a power failure on `folder`, without changing anything. OSError as of files.

    `forced` has, by the name of a log file, the number of its bytes that are on the disk for certain. Of the records
    behind them, the first `records` are kept, and `count` bytes of what follows, be it a record or the header of a new
    file. A file of which nothing is kept is removed, but is empty if `count` is 0. Snapshots are lost unless their name
    is among `forced_snapshots`; all are kept if that is None.
    """
    cuts: list[FileCut] = []
    left, short = records, ""
    for path in log_files(folder):
        data = path.read_bytes()
        keep = min(forced.get(path.name, 0), len(data))
        kept, lost = (units := _not_forced(data, keep))[:left], units[left:]
        left -= len(kept)
        keep = kept[-1] if kept else keep
        if count and lost and not cuts and not short:
            if count >= lost[0] - keep:
                short = f"expected less than the {lost[0] - keep} bytes of the next write, found {count}"
            keep = min(keep + count, lost[0])
            lost = [end for end in lost if end > keep]
        if lost:
            cuts.append(FileCut(path.name, None if not keep and count is None else keep, len(lost)))
    if left:
        short = f"expected {records} writes to the log that were not forced, found {records - left}"
    elif count and not cuts and not short:
        short = f"expected a write to the log that was not forced, to keep {count} bytes of it, found none"
    if forced_snapshots is not None:
        unforced = (path for path in snapshot_files(folder) if path.name not in forced_snapshots)
        cuts += [FileCut(path.name, None, 1) for path in unforced]
    return Plan(tuple(cuts), short)


def apply(plan: Plan, folder: Path) -> None:
    """Cut the files of a folder, which must not be in use. OSError as of files."""
    for cut in plan.cuts:
        if cut.keep is None:
            (folder / cut.file).unlink()
        else:
            os.truncate(folder / cut.file, cut.keep)


def undo_renames(folder: Path, replaced: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """Rename files back to NAME.tmp, and return the names. OSError as of files.

    `replaced` has, by the new name, the content that a file of that name had before, None if there was none.
    """
    undone = []
    for name, before in replaced.items():
        path = folder / name
        if path.exists() and (before is None or path.read_bytes() != before):
            path.replace(folder / f"{name}{TEMPORARY}")
            if before is not None:
                path.write_bytes(before)
            undone.append(name)
    return tuple(undone)


def _of_kind(folder: Path, prefix: str) -> list[Path]:
    named = ((zxid_of_name(path.name, prefix), path) for path in folder.iterdir())
    return [path for _, path in sorted((zxid, path) for zxid, path in named if zxid is not None)]


def _not_forced(data: bytes, forced: int) -> list[int]:
    """Return the end of each write in a log file after `forced` bytes; the last write may be incomplete.

    The header of a new file is one write with the first record, if there is a record.
    """
    ends = _ends(data)
    written = len(data.rstrip(b"\0"))
    if not ends or written > ends[-1]:
        ends.append(written)
    if len(ends) > 1:
        del ends[0]
    return [end for end in ends if end > forced]


def _ends(data: bytes) -> list[int]:
    """Return the end of the header, and then of each whole record."""
    ends = [HEADER_SIZE] if data[:HEADER_SIZE].strip(b"\0") and len(data) >= HEADER_SIZE else []
    while ends and ends[-1] + _PREFIX.size < len(data):
        _, length = _PREFIX.unpack_from(data, ends[-1])
        end = ends[-1] + _PREFIX.size + length + 1
        if length <= 0 or data[end - 1 : end] != END_OF_RECORD:
            break
        ends.append(end)
    return ends
