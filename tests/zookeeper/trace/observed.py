"""A recording to begin with, and what its trace shows: for the tests of traces."""

from collections.abc import Iterable
from pathlib import Path

from invariants import (
    Deliver,
    Event,
    Txn,
    Zxid,
    check,
)
from invariants.events import Local
from tests.zookeeper.recordings import Recording, create, zxid
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.trace.notes import Note
from zabcheck.zookeeper.trace.observe import ObservedRun, observe
from zabcheck.zookeeper.verdict.coverage import coverage
from zabcheck.zookeeper.wire.jute import LoggedTxn

HEALTHY = Path(__file__).parents[1] / "healthy-3.8.0"
"""A real run of ZooKeeper 3.8.0: writes, kill -9 of the leader, writes, its return, writes. Logs: what matters."""

A, B, C, D = (create(zxid(1, number), 1, number) for number in range(1, 5))
E, F = (create(zxid(2, number), 2, number) for number in range(1, 3))


def txn(logged: LoggedTxn) -> Txn:
    client = logged.session & 0xFFFF
    return Txn(Zxid.unpack(logged.zxid), f"c{client}.{logged.cxid}")


def delivered(observation: ObservedRun, server: int, incarnation: int = 0) -> list[Txn]:
    return [
        event.txn
        for event in observation.events
        if isinstance(event, Deliver) and (event.process, event.incarnation) == (server, incarnation)
    ]


def of(observation: ObservedRun, server: int, *kinds: type[Event]) -> list[Event]:
    return [
        event
        for event in observation.events
        if isinstance(event, Local) and event.process == server and isinstance(event, kinds or Event)
    ]


def told(notes: Iterable[Note]) -> list[str]:
    """The notes in words."""
    return [note.words() for note in notes]


def txns(*logged: LoggedTxn) -> list[Txn]:
    return list(map(txn, logged))


def broken(observation: ObservedRun) -> dict[str, str]:
    """The properties that do not hold, or are not judged for want of an end, with what is said."""
    return {
        verdict.property: verdict.violation.summary if verdict.violation else verdict.status
        for verdict in check(observation.trace())
        if verdict.status not in ("holds", "not exercised")
    }


def exercised(observation: ObservedRun) -> set[str]:
    return {verdict.property for verdict in check(observation.trace()) if verdict.judged}


def shares(folder: Path) -> list[float]:
    return [each.share for each in coverage(read_sorted(folder), observe(folder))]


def healthy(recording: Recording) -> None:
    """Writes, the leader is killed, writes, it comes back, and everybody is read."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    for each in (A, B, C):
        recording.write(3, [1, 2], each, 1)
    recording.kill(3)
    recording.lead(2, [1], 2, reach=C.zxid)
    recording.write(2, [1], E, 2)
    recording.start(3)
    recording.look(3, reach=C.zxid)
    recording.discover(2, [3], 2, C.zxid, rejoin=True)
    recording.diff(2, 3, 2, [E], E.zxid)
    recording.up_to_date(2, 3, 2)
    recording.deliver(3, txn=E)
    recording.write(2, [1, 3], F, 2)
    recording.read(1, 2, 3, txns=[A, B, C, E, F])
    recording.end(1, 2, 3)


def joins(recording: Recording, server: int, epoch: int, reach: int) -> None:
    """`server` starts and finds server 2 leading `epoch`."""
    recording.start(server)
    recording.look(server, reach=reach)
    recording.discover(2, [server], epoch, reach, rejoin=True)


def leader_without(recording: Recording, *accepted: LoggedTxn) -> None:
    """Server 3 leads, and is killed with proposals that only its own disk has; server 2 leads epoch 2."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    for each in accepted:
        recording.accept(3, [], each)
    recording.kill(3)
    recording.lead(2, [1], 2, reach=A.zxid)
    recording.write(2, [1], E, 2)


def finish(recording: Recording, *logged: LoggedTxn) -> ObservedRun:
    recording.read(1, 2, 3, txns=logged)
    recording.end(1, 2, 3)
    return observe(recording.folder)
