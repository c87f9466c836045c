"""The part of each server's folder that is on its disk for certain, and the cut of the folder when the power fails.

That a force of the log has returned is seen by the debug agent: the thread that forces stands still before and after
it, while zabcheck looks at the file. Nobody can have been told of a force that zabcheck has not seen, so nothing is cut
off that anybody may rely on. A server that starts reads its log and does not force it: records that were not forced
until then are never on the disk for certain.

A file that has got its name is seen right before. The name is on the disk for certain once something was forced
after that: a journal is written in order. Of a file system without one more could be lost.
"""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from zabcheck.zookeeper.disk.contents import version_directory
from zabcheck.zookeeper.disk.power_loss import (
    TEMPORARY,
    Plan,
    apply,
    end_of_records,
    log_files,
    plan,
    snapshot_files,
    undo_renames,
)
from zabcheck.zookeeper.disk.transaction_log import HEADER_SIZE
from zabcheck.zookeeper.run.ensemble import AnyServer

BEGINS, ENDS = "log-force", "log-forced"
RENAMES = "file-rename"
WATCHED = (BEGINS, ENDS, "file-synced", RENAMES)
"""The points at which forces and renamed files are seen."""


class KeptData(NamedTuple):
    """The part that is kept, when the power fails, of the data that was never forced to the disk.

    Of the log `records` whole records, and `bytes` bytes of the next: a new file of which nothing is kept is empty if
    that is 0, and not there if it is None. `snapshots`: whether snapshots are kept. `renames`: whether files keep the
    names that they have got.
    """

    records: int = 0
    bytes: int | None = None
    snapshots: bool = True
    renames: bool = True


class Forces:
    """The forced part of the data folder of one server, over all its incarnations."""

    def __init__(self, server: AnyServer) -> None:
        self._server = server
        self._logs: dict[str, int] = {}
        """Bytes of each log file that are on the disk, by its name."""
        self._begun: dict[int, tuple[dict[str, int], tuple[str, ...]]] = {}
        """Bytes of each file when a thread began to force it, and the files renamed until then, by the thread."""
        self._replaced: dict[str, bytes | None] = {}
        """The names that files have got and may lose, with the content that a file of that name had before."""
        self._old: set[str] = set()
        """The log files of earlier incarnations, which this one does not force."""
        self._snapshots: set[str] = set()
        """The snapshots that are on the disk, by name: forced, or of an earlier incarnation, which is long ago."""

    def begin_incarnation(self) -> None:
        """Note that the server starts: it will not force what it finds in its log."""
        self._begun.clear()
        self._replaced.clear()  # long ago
        self._forget_what_is_not_there()
        self._old = {name for name, written in self._written().items() if written > HEADER_SIZE}  # others are made anew
        folder = version_directory(self._server.data)
        self._snapshots.update(path.name for path in (snapshot_files(folder) if folder is not None else ()))

    def come(self, point: str, thread: int) -> None:
        """Note that a thread has come to one of the watched points. It stands still meanwhile."""
        if point == BEGINS:
            written = {name: end for name, end in self._written().items() if name not in self._old}
            self._begun[thread] = written, (*self._replaced,)
        elif point == ENDS:
            self._end(thread)
        elif point == RENAMES:
            self._rename()
        else:
            self._sync()

    def cut(self, kept: KeptData) -> Plan:
        """Let the power fail: cut the folder of a server that has ended. OSError as of files."""
        folder = version_directory(self._server.data)
        if folder is None:
            return Plan(())
        undone = () if kept.renames else undo_renames(folder, self._replaced)
        made = plan(folder, self._logs, kept.records, kept.bytes, None if kept.snapshots else self._snapshots)
        apply(made, folder)
        self._forget_what_is_not_there()
        return replace(made, undone=undone)

    def _forget_what_is_not_there(self) -> None:
        """Forget bytes that are gone: a file that was shortened, or removed, may be written again."""
        self._logs = {name: min(self._logs.get(name, 0), written) for name, written in self._written().items()}

    def _written(self) -> dict[str, int]:
        """Return where the whole records of each log file end."""
        folder = version_directory(self._server.data)
        written = {}
        for path in log_files(folder) if folder is not None else ():
            with suppress(FileNotFoundError):  # a TRUNC removes files
                written[path.name] = end_of_records(path)
        return written

    def _end(self, thread: int) -> None:
        """Note that a force has returned. If it was of one of two files, both count: too much is safe."""
        ends, renamed = self._begun.pop(thread, ({}, ()))
        for name, written in ends.items():
            self._logs[name] = max(self._logs.get(name, 0), written)
        for name in renamed:
            self._replaced.pop(name, None)

    def _sync(self) -> None:
        self._snapshots.update(path.name for path in self._about_to_be_named())
        self._replaced.clear()

    def _rename(self) -> None:
        for path in self._about_to_be_named():
            self._replaced.setdefault(path.name, path.read_bytes() if path.exists() else None)

    def _about_to_be_named(self) -> list[Path]:
        """Return the files, with the names that they are to get, that are there under another one so far."""
        folder = version_directory(self._server.data)
        return [path.with_suffix("") for path in sorted(folder.glob(f"*{TEMPORARY}"))] if folder is not None else []
