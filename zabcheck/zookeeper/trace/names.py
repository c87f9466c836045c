"""The names of ZooKeeper's transactions in a trace: the same for a line of a log, a packet and a record on a disk.

A transaction's identity is the pair of zxid and value. The value here says who asked for the transaction, and as which
request:

    c3.17     request 17 of a session of client 3
    c3.open   the creation of such a session; c3.close is its end
    0x1000187d2450000.17   the same of a session that none of the recorded clients had
"""

from collections.abc import Collection, Iterable
from typing import Protocol

from zabcheck.invariants.events import Txn, Zxid
from zabcheck.zookeeper.recording.records import Record, Session
from zabcheck.zookeeper.wire.jute import LoggedTxn

CREATE_SESSION, CLOSE_SESSION = -10, -11
"""The types of these two transactions (ZooDefs.OpCode)."""


class TxnHeader(Protocol):
    """The part of a transaction's TxnHeader that logs, packets and disks all have."""

    @property
    def zxid(self) -> int: ...
    @property
    def session(self) -> int: ...
    @property
    def cxid(self) -> int: ...
    @property
    def type(self) -> int: ...


_OF_SESSIONS = {CREATE_SESSION: "open", CLOSE_SESSION: "close"}


class Names:
    """The names of the transactions in one run. `sessions` has the client of each session."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.sessions = {_unsigned(record.session): record.client for record in records if isinstance(record, Session)}
        self._known: dict[Txn, Txn] = {}
        self._of: dict[Zxid, list[Txn]] = {}
        self._paths: dict[Txn, tuple[int, str]] = {}  # with the type of the operation

    def txn(self, header: TxnHeader) -> Txn:
        """Return the transaction with this header; equal ones are the same object. O(1)."""
        session = _unsigned(header.session)
        client = self.sessions.get(session)
        request = _OF_SESSIONS.get(header.type) or str(header.cxid)
        who = f"0x{session:x}" if client is None else f"c{client}"
        txn = Txn(Zxid.unpack(_unsigned(header.zxid)), f"{who}.{request}")
        known = self._known.setdefault(txn, txn)
        if known is txn:
            self._of.setdefault(txn.zxid, []).append(txn)
        return known

    def learn(self, logged: LoggedTxn) -> None:
        """Remember the path of a transaction in a packet or on a disk."""
        txn = self.txn(logged)
        if logged.path:
            self._paths[txn] = logged.type, logged.path

    def of(self, zxid: Zxid) -> list[Txn]:
        """Return the known transactions of this zxid: one, unless something is badly wrong."""
        return self._of.get(zxid, [])

    def find(self, zxid: Zxid, path: str) -> Txn | None:
        """Find the transaction of this zxid that created `path`, else any of this zxid; None if none is known."""
        txns = self.of(zxid)
        return next((txn for txn in txns if self.path(txn) == path), txns[0] if txns else None)

    def path(self, txn: Txn) -> str:
        """Return the path of the node that a transaction is about; "" if there is none or it is not known."""
        return self._paths.get(txn, (0, ""))[1]

    def created(self, types: Collection[int]) -> dict[Txn, str]:
        """Return the paths that transactions of these types are about, by transaction."""
        return {txn: path for txn, (kind, path) in self._paths.items() if kind in types}


def _unsigned(number: int) -> int:
    return number & 0xFFFF_FFFF_FFFF_FFFF
