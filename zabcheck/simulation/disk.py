"""A disk: one write order, and syncing apart from writing.

A write is what one `Persist` holds; it survives a crash whole or not at all. A crash keeps any prefix of the writes
after the last sync. The effects that came after a write in its step wait with it until it is synced.
"""

from typing import Any

from zabcheck.protocols.base import Effect


class Write:
    """A write that is not synced, and the effects that wait for it."""

    __slots__ = ("fields", "withheld")

    def __init__(self, fields: dict[str, Any], withheld: list[Effect]) -> None:
        self.fields = fields
        self.withheld = withheld


class Disk:
    """What one process has written, synced and not."""

    __slots__ = ("durable", "unsynced")

    def __init__(self) -> None:
        self.durable: dict[str, Any] = {}
        self.unsynced: list[Write] = []

    def sync(self, count: int | None = None) -> list[Write]:
        """Make the first `count` writes durable (None: all of them) and return those; the others stay."""
        writes = self.unsynced[:count]
        self.unsynced = self.unsynced[len(writes) :]
        for write in writes:
            self.durable = {**self.durable, **write.fields}
        return writes

    def crash(self, keep: int) -> int:
        """Keep the first `keep` writes and lose the rest; the number lost."""
        self.sync(keep)
        lost = len(self.unsynced)
        self.unsynced = []
        return lost

    def copy(self) -> "Disk":
        twin = Disk()
        twin.durable = self.durable
        twin.unsynced = [Write(write.fields, write.withheld) for write in self.unsynced]
        return twin
