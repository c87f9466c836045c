"""The differences between the log of a server and its memory that synchronisations with leaders leave."""

from collections.abc import Iterable, Iterator

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Txn, Zxid
from zabcheck.zookeeper.trace.notes import CutRecordKept, HoleInLog, InformedNotLogged, Note


class Leftovers:
    """The differences that TRUNC and SNAP may leave between the log of a server and its memory.

    A server that takes over a snapshot keeps its log, and one that leaves its leader applies the records that are later
    than the last transaction in its memory. So a record that a snapshot replaced comes back if one was taken over that
    ends before it (ZOOKEEPER-2832).
    """

    def __init__(self) -> None:
        self._cut_off: dict[Zxid, Zxid] = {}  # what a TRUNC was to take from the log, and after which zxid
        self._has_cut = False  # whether NEWLEADER was acknowledged since
        self._not_logged: dict[Zxid, None] = {}  # what was brought behind a TRUNC, if that was broken off
        self._informed: dict[Zxid, None] = {}  # of what it was told as an observer, in this incarnation
        self._replaced: dict[Zxid, bool] = {}  # by a snapshot, and whether one was taken over that ends before it

    def start(self, wiped: bool) -> None:
        """Begin an incarnation, which reads its log."""
        self._cut_off, self._not_logged, self._informed = {}, {}, {}
        if wiped:
            self._replaced = {}

    def cut(self, cut_off: Iterable[Txn], zxid: Zxid) -> None:
        """Note that TRUNC takes these transactions from the log: all behind `zxid`."""
        self._cut_off, self._has_cut = {txn.zxid: zxid for txn in cut_off}, False
        self.cut_replaced(zxid)

    def cut_replaced(self, zxid: Zxid) -> None:
        """Note that the log is cut behind `zxid`."""
        self._replaced = {each: seen for each, seen in self._replaced.items() if each <= zxid}

    def begin_snapshot(self) -> None:
        """Note that a snapshot comes: earlier TRUNCs are over."""
        self._cut_off, self._not_logged = {}, {}

    def take_over(self, history: Chain, snapshot: Chain, zxid: Zxid) -> None:
        """Note that a snapshot that ends with `zxid` replaces the history in memory."""
        self._replaced.update((txn.zxid, False) for txn in history.after(history.common_prefix(snapshot).length))
        self._replaced = {each: seen or zxid < each for each, seen in self._replaced.items()}

    def bring(self, zxid: Zxid) -> None:
        """Note that the transaction is proposed to the server, maybe again."""
        for each in (self._cut_off, self._replaced, self._not_logged, self._informed):
            each.pop(zxid, None)

    def inform(self, zxid: Zxid) -> None:
        """Note that the server is told of the transaction as an observer."""
        self._informed[zxid] = None

    def acknowledge(self) -> None:
        """Note that NEWLEADER is acknowledged: the log was cut."""
        self._has_cut = True

    def leave(self, brought: Iterable[Txn]) -> None:
        """Leave the leader, with these in memory only: a synchronisation with TRUNC brought them."""
        self._not_logged.update(dict.fromkeys(txn.zxid for txn in brought))

    def is_replaced(self, zxid: Zxid) -> bool:
        """Return True if a snapshot has replaced the transaction in memory."""
        return zxid in self._replaced

    def may_come_back(self, zxid: Zxid) -> bool:
        """Return True if the server would read the transaction from its log, though a snapshot has replaced it."""
        return self._replaced.get(zxid, False)

    def notes_on(self, server: int, logged: list[Zxid], snapshot: Zxid) -> Iterator[Note]:
        """Compare with a log, and the latest snapshot beside it: what was not cut off, and what was never logged."""
        kept = [zxid for zxid in logged if zxid in self._cut_off] if self._has_cut else []
        if kept:
            cut = self._cut_off[kept[0]]
            yield CutRecordKept(server, cut, kept[0], cut in logged)
        for zxid in self._not_logged:
            later = [each for each in logged if each > zxid]
            if zxid not in logged and zxid > snapshot and later:
                yield HoleInLog(server, zxid, min(later))
        there = {*logged}
        lost = [zxid for zxid in self._informed if zxid > snapshot and zxid not in there]
        behind = [zxid for zxid in logged if lost and zxid > lost[0]]
        if behind:
            logs = any(zxid in there for zxid in self._informed)
            yield InformedNotLogged(server, lost[0], min(behind), logs)
