"""The abstract states and the orders of packets that a run reached: many runs that reach nothing new will find little.

Both leave out which server it was, so that runs that differ in this alone count as the same.
"""

from collections.abc import Iterable
from typing import NamedTuple

from zabcheck.invariants.events import (
    Accept,
    AckEpoch,
    Adopt,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    Halt,
    Local,
    Promise,
    Ready,
    Recover,
    Restore,
    Truncate,
    Zxid,
)
from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Sent

State = tuple[tuple[int, ...], ...]
"""For each server, in no order: its phase, and the ranks among all servers of its two epochs and two transactions."""
Order = tuple[tuple[str, bool, bool], ...]
"""Packets one after another at one server: the kind, True if it sent it, True if the connection is the one before's."""

DOWN, LOOKING, PROMISED, PROVIDED, ADOPTED, FOLLOWS, ESTABLISHED, LEADS = range(8)
"""Phases of a server; it enters PROMISED and PROVIDED in step f.1.2, and ADOPTED in f.2.1 (DSN 2011, IV)."""
PHASES: dict[type[Event], int] = {
    Crash: DOWN,
    Halt: DOWN,
    Recover: LOOKING,
    CommitEpoch: FOLLOWS,
    Establish: ESTABLISHED,
    Ready: LEADS,
}
"""The phases that begin with an event that says no more."""
PROMISE, EPOCH, LAST, DELIVERED = range(4)
PACKETS = 3
"""The length of an order of packets."""


class Reach(NamedTuple):
    """The states and orders of packets of one run."""

    states: frozenset[State] = frozenset()
    orders: frozenset[Order] = frozenset()


def states_of(events: Iterable[Event], servers: int) -> frozenset[State]:
    """Return the abstract states of a trace, as the properties see it. O(events · servers log servers)."""
    ensemble = _Servers(servers)
    return frozenset({ensemble.after(event) for event in events})


class _Servers:
    """The phase of each server; its promised and its current epoch, its last transaction, and the last delivered."""

    def __init__(self, servers: int) -> None:
        self._phases = [LOOKING] * servers
        self._values = [[0] * servers for _ in range(4)]
        self._ranks = [(0,) * servers for _ in range(4)]

    def after(self, event: Event) -> State:
        """Return the state after the next event."""
        match event:
            case Accept() | Truncate():
                self._set(event.process, LAST, event.txn.zxid if isinstance(event, Accept) else event.zxid)
            case Deliver() | Restore():
                self._set(event.process, DELIVERED, event.txn.zxid if isinstance(event, Deliver) else event.zxid)
            case Promise():
                self._phases[event.process - 1] = PROMISED
                self._set(event.process, PROMISE, Zxid(event.epoch, 0))
            case AckEpoch():
                self._phases[event.process - 1] = PROVIDED
                self._set(event.process, LAST, event.zxid)
            case Adopt():
                self._phases[event.process - 1] = ADOPTED
                self._set(event.process, EPOCH, Zxid(event.epoch, 0))
                self._set(event.process, LAST, event.zxid)
            case Local() if type(event) in PHASES:
                self._phases[event.process - 1] = PHASES[type(event)]
        return tuple(sorted(zip(self._phases, *self._ranks, strict=True)))

    def _set(self, server: int, which: int, zxid: Zxid) -> None:
        values = self._values[which]
        values[server - 1] = zxid.epoch << 32 | zxid.counter
        self._ranks[which] = tuple(map(sorted({*values}).index, values))


def orders_of(records: Iterable[AnyRecord]) -> frozenset[Order]:
    """Return the orders in which servers sent and received packets, but for pings. O(records)."""
    last: dict[int, tuple[Order, int]] = {}
    sent: dict[int, Sent] = {}
    found: dict[Order, None] = {}
    for record in records:
        if isinstance(record, Sent) and record.kind != "PING":
            sent[record.packet], server = record, record.sender
        elif isinstance(record, Passed) and record.packet in sent:
            record = sent.pop(record.packet)
            server = record.receiver
        else:
            continue
        before, connection = last.get(server, ((), 0))
        order = (*before[-(PACKETS - 1) :], (record.kind, server == record.sender, connection == record.connection))
        last[server] = order, record.connection
        found[order] = None
    return frozenset(found)
