"""Notes on reconfigurations that decide too little, as the packets of a recording tell of them.

Packets tell which transaction is a configuration, and not which servers are in it.
"""

from collections.abc import Iterable, Iterator, Sequence

from zabcheck.invariants.events import Zxid
from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Sent, Started
from zabcheck.zookeeper.trace.notes import ConfigurationSkipped, CountedNotLogged, EpochTakenTwice, Note
from zabcheck.zookeeper.wire.zxids import epoch_of

RECONFIG = 16
"""The type of a transaction that is a configuration (`OpCode.reconfig`)."""
_SETTLES = ("UPTODATE", "COMMITANDACTIVATE", "INFORMANDACTIVATE", "SNAP", "TRUNC")
"""Packets after which nothing is said of a configuration that was proposed before."""
_TELLS_THE_END = ("ACKEPOCH", "DIFF", "SNAP")
"""Packets with the zxid of the last transaction that their sender has."""


def notes_on_configurations(records: Sequence[AnyRecord]) -> Iterator[Note]:
    """Yield at most one note of each kind, if the recording has a reconfiguration. O(records)."""
    sent = {record.packet: record for record in records if isinstance(record, Sent)}
    if any(_is_configuration(each) for each in sent.values()):
        yield from _skipped(sent[each.packet] for each in records if isinstance(each, Passed) and each.packet in sent)
        yield from _taken_twice(sent.values())
        yield from _counted_not_logged(records)


def _is_configuration(packet: Sent) -> bool:
    return packet.kind == "PROPOSAL" and packet.txn is not None and packet.txn.type == RECONFIG


def _skipped(received: Iterable[Sent]) -> Iterator[ConfigurationSkipped]:
    """Look for a server that is sent a second configuration before it is told to activate the first."""
    first: dict[int, int] = {}
    for packet in received:
        if packet.kind in _SETTLES:
            first.pop(packet.receiver, None)
        elif _is_configuration(packet):
            before = first.setdefault(packet.receiver, packet.zxid)
            if before < packet.zxid:
                yield ConfigurationSkipped(packet.receiver, Zxid.unpack(before), Zxid.unpack(packet.zxid))
                return


def _taken_twice(sent: Iterable[Sent]) -> Iterator[EpochTakenTwice]:
    """Look for two servers that have taken one epoch, of which one never led in it."""
    taken: dict[int, dict[int, bool]] = {}
    last: dict[int, int] = {}
    for packet in sent:
        if packet.kind == "NEWLEADER":
            last[packet.sender] = epoch_of(packet.zxid)
            taken.setdefault(last[packet.sender], {}).setdefault(packet.sender, False)
        elif packet.kind == "UPTODATE" and packet.sender in last:
            taken[last[packet.sender]][packet.sender] = True
    for epoch, servers in sorted(taken.items()):
        led, others = (sorted(each for each, leads in servers.items() if leads is how) for how in (True, False))
        if led and others:
            yield EpochTakenTwice(others[0], epoch, led[0])
            return


def _counted_not_logged(records: Iterable[AnyRecord]) -> Iterator[CountedNotLogged]:
    """Look for an observer that acknowledged NEWLEADER and later has less than it was sent, without a start between."""
    observers: dict[int, int] = {}
    """By connection: the zxid of the last proposal that an observer was sent."""
    counted: dict[int, int] = {}
    """By server: the same, once it has acknowledged NEWLEADER."""
    for record in records:
        if isinstance(record, Started):
            counted.pop(record.server, None)
        elif not isinstance(record, Sent):
            continue
        elif record.kind == "OBSERVERINFO":
            observers[record.connection] = 0
        elif record.kind == "PROPOSAL" and record.connection in observers:
            observers[record.connection] = record.zxid
        elif record.kind == "ACK" and observers.get(record.connection):
            counted[record.sender] = observers.pop(record.connection)
        elif record.kind in _TELLS_THE_END and record.zxid < counted.get(record.sender, 0):
            yield CountedNotLogged(record.sender, Zxid.unpack(counted[record.sender]), Zxid.unpack(record.zxid))
            return
