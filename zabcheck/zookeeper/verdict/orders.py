"""The orders of packets that a run had: many runs that have no new one will find little.

It is left out which server it was, so that runs that differ in this alone have the same orders.
"""

from collections.abc import Iterable

from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Sent

Order = tuple[tuple[str, bool, bool], ...]
"""Packets one after another at one server: the kind, True if it sent it, True if the connection is the one before's."""
PACKETS = 3
"""The length of an order of packets."""


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
