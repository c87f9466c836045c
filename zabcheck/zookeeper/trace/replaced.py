"""What snapshots have replaced in a server's memory, and its log still has.

A server that takes over a snapshot keeps its log. When it leaves its leader it applies the records that are later than
the last transaction that it has in memory. So a record that a snapshot replaced comes back if one was taken over that
ends before it (ZOOKEEPER-2832).
"""

from invariants.chain import Chain
from invariants.events import Zxid


class Replaced:
    """What snapshots have replaced at one server."""

    def __init__(self) -> None:
        self._zxids: dict[Zxid, bool] = {}
        """Each transaction, and whether a snapshot was taken over that ends before it."""

    def take_over(self, history: Chain, snapshot: Chain, zxid: Zxid) -> None:
        """A snapshot that ends with `zxid` replaces the history."""
        self._zxids.update((txn.zxid, False) for txn in history.after(history.common_prefix(snapshot).length))
        self._zxids = {each: seen or zxid < each for each, seen in self._zxids.items()}

    def cut(self, zxid: Zxid) -> None:
        """The log is cut behind `zxid`."""
        self._zxids = {each: seen for each, seen in self._zxids.items() if each <= zxid}

    def bring(self, zxid: Zxid) -> None:
        """The transaction is proposed to the server again."""
        self._zxids.pop(zxid, None)

    def may_come_back(self, zxid: Zxid) -> bool:
        """Whether the server would read the transaction from its log."""
        return self._zxids.get(zxid, False)
