"""A disk: one order of writes, synced separately, with a digest on each record.

A write has the variables of one `Persist`, and survives a crash whole or not at all. A crash keeps any prefix of the
writes since the last sync. The effects that follow a write in its step wait until the write is synced. One of them may
be another write: then the writes of later steps wait behind it, so that the disk has all writes in their order.

The durable variable `history`, if a protocol has one, is a log with a record for each transaction; a prefix `base` of
it may be cut off. `snapshot` is the delivered prefix that the application's snapshot holds. Any other variable is one
record: a number, a sequence of transactions, or, in a user's protocol, anything; so is a `history` that is no `Chain`.
A record can be altered without the process knowing. Its digest shows that when the record is read, at the start of the
process (LADIS 2008, 2 and 3).
"""

from typing import Any

from zabcheck.invariants import EMPTY, NO_ZXID, Chain, Event, Txn, Zxid
from zabcheck.protocols.base import Effect, Persist

LOG, CUT = "history", "base"


class Write:
    """A write that is not synced, and the effects that wait for it; those of a `Buffer` if `is_buffered`."""

    __slots__ = ("fields", "is_buffered", "withheld")

    def __init__(self, fields: dict[str, Any], withheld: list[Effect], *, is_buffered: bool = False) -> None:
        self.fields = fields
        self.withheld = withheld
        self.is_buffered = is_buffered

    def withheld_by_it(self) -> list[Effect]:
        """Return the effects that wait for this write alone, not for another one among them."""
        return self.withheld[: self._next_write()]

    def take_rest(self) -> "list[Write]":
        """Return the writes among the effects that wait, each with what waits for it, and remove all these."""
        writes: list[Write] = []
        for effect in self.withheld[len(self.withheld_by_it()) :]:
            if isinstance(effect, Persist):
                writes.append(Write(effect.fields, []))
            else:
                writes[-1].withheld.append(effect)
        self.withheld = self.withheld_by_it()
        return writes

    def holds_a_write(self) -> bool:
        """Return True if another write is among the effects that wait for this one."""
        return self._next_write() is not None

    def _next_write(self) -> int | None:
        return next((at for at, effect in enumerate(self.withheld) if isinstance(effect, Persist)), None)


class Disk:
    """The writes of one process, synced or not."""

    __slots__ = ("altered", "altered_variables", "durable", "unsynced")

    def __init__(self) -> None:
        self.durable: dict[str, Any] = {}
        self.unsynced: list[Write] = []
        self.altered: tuple[Chain, ...] = ()  # each ends in the transaction whose record was altered
        self.altered_variables: dict[str, Any] = {}  # with their earlier values

    def persist(self, effect: Persist, later: list[Effect]) -> None:
        """Take the write of a step, not synced, and the effects that wait for it."""
        if self.unsynced and (last := self.unsynced[-1]).holds_a_write():
            last.withheld = [*last.withheld, effect, *later]
        else:
            self.unsynced.append(Write(effect.fields, later))

    def sync(self, count: int | None = None) -> list[Write]:
        """Make the first `count` writes durable (None: all) and return them; the others stay unsynced."""
        writes = self.unsynced[:count]
        self.unsynced = self.unsynced[len(writes) :]
        for write in writes:
            self.write(write.fields)
        # Only the last write of all can hold others. They are written before anything else that waited happens.
        if writes:
            self.unsynced += writes[-1].take_rest()
        return writes

    def withholds(self, kind: type[Event]) -> bool:
        """Return True if an effect of this kind waits for a write."""
        return any(type(effect) is kind for write in self.unsynced for effect in write.withheld)

    def write(self, fields: dict[str, Any]) -> None:
        """Make these variables durable at once."""
        self.durable = {**self.durable, **fields}

    def is_behind(self, fields: dict[str, Any]) -> bool:
        """Return True if one of these variables has a write that is not synced."""
        return any(field in write.fields for write in self.unsynced for field in fields)

    def written(self, field: str) -> Any:
        """Return the value last written to a durable variable, synced or not."""
        found = [write.fields[field] for write in self.unsynced if field in write.fields]
        return found[-1] if found else self.durable[field]

    def crash(self, keep: int) -> int:
        """Keep the first `keep` unsynced writes, lose the others, and return how many are lost."""
        lost = max(0, len(self.unsynced) - keep)
        self.sync(keep)
        self.unsynced = []
        return lost

    @property
    def records(self) -> int:
        """The number of records: one for each transaction of the log, one for each other variable that is not empty."""
        return self._in_log() + len(self._others())

    def alter(self, record: int) -> tuple[str, Zxid] | None:
        """Alter one record: number 0 is the last transaction of the log; after those of the log come the variables.

        Returns the name of the variable, and the zxid if it is a record of the log. Returns None and does nothing if
        there is no such record, or if it is altered already.
        """
        if record < self._in_log():
            place = self.log.prefix(self.log.length - record)
            if place in self.altered:
                return None
            self.altered = (*self.altered, place)
            return LOG, place.zxid
        others = self._others()[record - self._in_log() :]
        if not others or self._is_altered(others[0]):
            return None
        self.altered_variables = {**self.altered_variables, others[0]: self.durable[others[0]]}
        return others[0], NO_ZXID

    def _in_log(self) -> int:
        return self.log.length - self.base.length

    def _others(self) -> list[str]:
        log = [name for name in (LOG, CUT) if isinstance(self.durable.get(name), Chain)]
        return sorted(name for name, value in self.durable.items() if value and name not in log)

    def _is_altered(self, name: str) -> bool:
        """Return True if the variable was altered and has not been written since."""
        return name in self.altered_variables and self.altered_variables[name] == self.durable[name]

    def read(self) -> tuple[dict[str, Any], bool]:
        """Return the durable variables, and True if the digest of every record matches.

        O(1) if no record was altered; else O(length of the log).
        """
        # A record that was truncated or cut off after it was altered is not read.
        log, base = self.log, self.base
        bad = {each.length for each in self.altered if each.length > base.length and log.starts_with(each)}
        wrong = {name: _wrong(value) for name, value in self.altered_variables.items() if self._is_altered(name)}
        self.altered, self.altered_variables = (), {}
        if bad:
            history = EMPTY
            for place, txn in enumerate(log, 1):
                history = history.append(_wrong_txn(txn) if place in bad else txn)
            wrong[LOG] = history
        if wrong:
            self.write(wrong)
        return self.durable, not wrong

    @property
    def log(self) -> Chain:
        return self._chain(LOG)

    @property
    def base(self) -> Chain:
        return self._chain(CUT)

    def _chain(self, name: str) -> Chain:
        value = self.durable.get(name, EMPTY)
        return value if isinstance(value, Chain) else EMPTY

    def copy(self) -> "Disk":
        twin = Disk()
        twin.durable = self.durable
        twin.unsynced = [Write(write.fields, write.withheld, is_buffered=write.is_buffered) for write in self.unsynced]
        twin.altered = self.altered
        twin.altered_variables = self.altered_variables
        return twin


def _wrong(value: Any) -> Any:
    """Return an altered record: a number less one, a sequence with another last transaction.

    A value of any other type stays as it is; only its digest is wrong.
    """
    if isinstance(value, Chain):
        return value.previous.append(_wrong_txn(value.txn))
    return value - 1 if isinstance(value, int) else value


def _wrong_txn(txn: Txn) -> Txn:
    return Txn(txn.zxid, f"{txn.value}(altered)")
