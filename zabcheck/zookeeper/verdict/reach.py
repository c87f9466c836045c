"""The abstract states and the orders of packets that a run reached: many runs that reach nothing new will find little.

Both leave out which server it was, so that runs that differ in this alone count as the same.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from zabcheck.invariants.events import Event
from zabcheck.search.coverage import Coverage, State
from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Sent

Order = tuple[tuple[str, bool, bool], ...]
"""Packets one after another at one server: the kind, True if it sent it, True if the connection is the one before's."""
PACKETS = 3
"""The length of an order of packets."""


class Reach(NamedTuple):
    """The states and orders of packets of one run."""

    states: frozenset[State] = frozenset()
    orders: frozenset[Order] = frozenset()


def states_of(events: Iterable[Event], servers: int) -> frozenset[State]:
    """Return the abstract states of the trace of so many servers. O(events · servers)."""
    coverage = Coverage(servers)
    for event in events:
        if (observe := coverage.observers.get(type(event))) is not None:
            observe(event)
    return frozenset(coverage.states)


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


def fingerprint(order: Order) -> int:
    """Hash an order of packets to 63 bits, the same everywhere."""
    return int.from_bytes(blake2b(repr(order).encode(), digest_size=8).digest(), "big") >> 1
