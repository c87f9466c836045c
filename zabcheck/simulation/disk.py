"""A disk: one write order, and syncing apart from writing; each record with a digest.

A write is what one `Persist` holds; it survives a crash whole or not at all. A crash keeps any prefix of the writes
after the last sync. The effects that came after a write in its step wait with it until it is synced.

The durable variable `history`, if a protocol has one, is a log with a record for each transaction; a prefix `base` of
it may be cut off. `snapshot` is what the application's snapshot stands for. A record of the log can be altered behind
the process' back. Its digest tells, when it is read: that is when the process starts (LADIS 2008, 2 and 3).
"""

from typing import Any

from invariants import EMPTY, Chain, Txn
from zabcheck.protocols.base import Effect

LOG, CUT = "history", "base"


class Write:
    """A write that is not synced, and the effects that wait for it."""

    __slots__ = ("fields", "withheld")

    def __init__(self, fields: dict[str, Any], withheld: list[Effect]) -> None:
        self.fields = fields
        self.withheld = withheld


class Disk:
    """What one process has written, synced and not."""

    __slots__ = ("altered", "durable", "unsynced")

    def __init__(self) -> None:
        self.durable: dict[str, Any] = {}
        self.unsynced: list[Write] = []
        self.altered: tuple[Chain, ...] = ()  # each ends in the transaction whose record was altered

    def sync(self, count: int | None = None) -> list[Write]:
        """Make the first `count` writes durable (None: all of them) and return those; the others stay."""
        writes = self.unsynced[:count]
        self.unsynced = self.unsynced[len(writes) :]
        for write in writes:
            self.write(write.fields)
        return writes

    def write(self, fields: dict[str, Any]) -> None:
        """Make these variables durable at once."""
        self.durable = {**self.durable, **fields}

    def written(self, field: str) -> Any:
        """What was last written to a durable variable, synced or not."""
        found = [write.fields[field] for write in self.unsynced if field in write.fields]
        return found[-1] if found else self.durable[field]

    def crash(self, keep: int) -> int:
        """Keep the first `keep` writes and lose the rest; the number lost."""
        self.sync(keep)
        lost = len(self.unsynced)
        self.unsynced = []
        return lost

    def alter(self, record: int) -> Chain | None:
        """Alter the transaction that stands `record` records before the last one in the log.

        The log up to it; None, and nothing is done, if the log is not that long, or if that record is altered already.
        """
        length = self.log.length - record
        if length <= self.base.length:
            return None
        place = self.log.prefix(length)
        if place in self.altered:
            return None
        self.altered = (*self.altered, place)
        return place

    def read(self) -> tuple[dict[str, Any], bool]:
        """What is on the disk, and whether the digest of every record matches what it holds.

        O(1) if no record was altered; else O(length of the log).
        """
        # A record that was truncated, or cut off, since it was altered is not read.
        log, base = self.log, self.base
        self.altered = tuple(each for each in self.altered if each.length > base.length and log.starts_with(each))
        if not self.altered:
            return self.durable, True
        bad = {each.length for each in self.altered}
        history = EMPTY
        for place, txn in enumerate(log, 1):
            history = history.append(Txn(txn.zxid, f"{txn.value}(altered)") if place in bad else txn)
        self.altered = ()
        self.write({LOG: history})
        return self.durable, False

    @property
    def log(self) -> Chain:
        return self.durable.get(LOG, EMPTY)  # type: ignore[no-any-return]  # by convention

    @property
    def base(self) -> Chain:
        return self.durable.get(CUT, EMPTY)  # type: ignore[no-any-return]  # by convention

    def copy(self) -> "Disk":
        twin = Disk()
        twin.durable = self.durable
        twin.unsynced = [Write(write.fields, write.withheld) for write in self.unsynced]
        twin.altered = self.altered
        return twin
