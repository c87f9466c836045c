"""The part of each server's folder that is on its disk for certain, and the cut of the folder when the power fails.

That a force of the log has returned is seen by the debug agent: the thread that forces stands still before and after
it, while zabcheck looks at the file. Nobody can have been told of a force that zabcheck has not seen, so nothing is cut
off that anybody may rely on. A server that starts reads its log and does not force it: records that were not forced
until then are never on the disk for certain.
"""

from contextlib import suppress
from typing import NamedTuple

from zabcheck.zookeeper.disk.contents import version_directory
from zabcheck.zookeeper.disk.power_loss import Plan, apply, end_of_records, log_files, plan, snapshot_files
from zabcheck.zookeeper.disk.transaction_log import HEADER_SIZE
from zabcheck.zookeeper.run.ensemble import AnyServer

BEGINS, ENDS = "log-force", "log-forced"
WATCHED = (BEGINS, ENDS, "file-synced")
"""The points at which forces are seen."""


class Kept(NamedTuple):
    """The part that is kept, when the power fails, of the data that was never forced to the disk.

    Of the log `records` whole records, and `bytes` bytes of the next: a new file of which nothing is kept is empty if
    that is 0, and not there if it is None. `snapshots`: whether snapshots are kept.
    """

    records: int = 0
    bytes: int | None = None
    snapshots: bool = True


class Forces:
    """The forced part of the data folder of one server, over all its incarnations."""

    def __init__(self, server: AnyServer) -> None:
        self._server = server
        self._logs: dict[str, int] = {}
        """Bytes of each log file that are on the disk, by its name."""
        self._begun: dict[int, dict[str, int]] = {}
        """Bytes of each file when a thread began to force it, by the thread."""
        self._old: set[str] = set()
        """The log files of earlier incarnations, which this one does not force."""
        self._snapshots: set[str] = set()
        """The snapshots that are on the disk, by name: forced, or of an earlier incarnation, which is long ago."""

    def begin_incarnation(self) -> None:
        """Note that the server starts: it will not force what it finds in its log."""
        self._begun.clear()
        self._forget_what_is_not_there()
        self._old = {name for name, written in self._written().items() if written > HEADER_SIZE}  # others are made anew
        folder = version_directory(self._server.data)
        self._snapshots.update(path.name for path in (snapshot_files(folder) if folder is not None else ()))

    def come(self, point: str, thread: int) -> None:
        """Note that a thread has come to one of the watched points. It stands still meanwhile."""
        if point == BEGINS:
            self._begun[thread] = {name: end for name, end in self._written().items() if name not in self._old}
        elif point == ENDS:
            self._end(thread)
        else:
            self._sync()

    def cut(self, kept: Kept) -> Plan:
        """Let the power fail: cut the folder of a server that has ended. OSError as of files."""
        folder = version_directory(self._server.data)
        if folder is None:
            return Plan(())
        made = plan(folder, self._logs, kept.records, kept.bytes, None if kept.snapshots else self._snapshots)
        apply(made, folder)
        self._forget_what_is_not_there()
        return made

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
        for name, written in self._begun.pop(thread, {}).items():
            self._logs[name] = max(self._logs.get(name, 0), written)

    def _sync(self) -> None:
        folder = version_directory(self._server.data)
        for path in folder.glob("*.tmp") if folder is not None else ():
            self._snapshots.add(path.name.removesuffix(".tmp"))
