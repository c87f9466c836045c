"""The properties of what clients were told and have read, by brute force: each sentence read word for word.

A function is named after its property: `tests.invariants.by_property` finds it.
"""

from invariants import ClientAck, FinalRead
from tests.invariants.oracle import Finding, Reading


def durability(reading: Reading) -> Finding:
    """Some transaction that a client was told of is in no read at all."""
    told = [event for event in reading.events if isinstance(event, ClientAck)]
    reads = [event for event in reading.events if isinstance(event, FinalRead)]
    if not told or not reads:
        return "not exercised", None
    lost = [each for each in told if not any(txn == each.txn for read in reads for txn in read.txns)]
    if not lost:
        return "holds", None
    first = sorted(lost, key=lambda each: (each.txn.zxid, each.txn.value, each.process, each.incarnation))[0]
    return "violated", (first, sorted(reads, key=rank)[0])


def final_agreement(reading: Reading) -> Finding:
    """Some transaction is in one read, and not in another."""
    reads = [event for event in reading.events if isinstance(event, FinalRead)]
    if len(reads) < 2:
        return "not exercised", None
    found = [
        ((txn.zxid, txn.value), rank(p), rank(q), (p, q))
        for p in reads
        for q in reads
        for txn in p.txns
        if txn not in q.txns
    ]
    return ("violated", sorted(found, key=lambda each: each[:3])[0][3]) if found else ("holds", None)


def rank(read: FinalRead) -> tuple[object, ...]:
    return read.process, read.incarnation, read.txns
