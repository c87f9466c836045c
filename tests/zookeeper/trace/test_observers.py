"""An observer in a trace: it delivers what it is told, like a follower, and belongs to no quorum."""

from pathlib import Path

import pytest

from invariants import Deliver, check
from invariants.events import Accept, Adopt, CommitEpoch, Header, Receive
from tests.zookeeper.notation import BROADCAST, records
from tests.zookeeper.recordings import Recording, zxid
from tests.zookeeper.trace.observed import A, B, C, delivered, of, txns
from zabcheck.zookeeper.recording.records import Opened
from zabcheck.zookeeper.report.packets import in_zab
from zabcheck.zookeeper.trace.observe import ObservedRun, observe
from zabcheck.zookeeper.verdict.judge import judge
from zabcheck.zookeeper.wire.jute import LoggedTxn

OBSERVER = 4


def inform(recording: Recording, *txns: LoggedTxn, kind: str = "INFORM") -> None:
    for txn in txns:
        recording.packet(3, OBSERVER, kind, txn.zxid, txn=txn)


def joins(recording: Recording, up_to: int = 0) -> None:
    """The observer finds the leader, which begins to bring it up to date."""
    recording.line(OBSERVER, "quorum.QuorumPeer", "OBSERVING")
    recording.links[frozenset((OBSERVER, 3))] = 99
    recording.record.record(Opened(recording.tick(), 99, OBSERVER, 3, "quorum"))
    recording.packet(OBSERVER, 3, "OBSERVERINFO", 0)
    recording.packet(3, OBSERVER, "LEADERINFO", zxid(1, 0))
    recording.packet(OBSERVER, 3, "ACKEPOCH", 0, epoch=0)
    recording.packet(3, OBSERVER, "DIFF", up_to)


def watched(folder: Path, kind: str = "INFORM") -> Recording:
    """Server 4 joins with two transactions, one of which it is told of before NEWLEADER; then comes a third."""
    recording = Recording(folder, observers=1)
    recording.start(1, 2, 3, OBSERVER)
    recording.lead(3, (1, 2), 1)
    recording.write(3, (1, 2), A, 1)
    joins(recording, A.zxid)
    recording.proposal(3, OBSERVER, A)
    recording.packet(3, OBSERVER, "COMMIT", A.zxid)
    recording.write(3, (1, 2), B, 1)
    inform(recording, B)
    recording.new_leader(3, OBSERVER, 1)
    recording.up_to_date(3, OBSERVER, 1)
    recording.deliver(OBSERVER, txn=A)
    recording.deliver(OBSERVER, txn=B)
    recording.write(3, (1, 2), C, 1)
    inform(recording, C, kind=kind)
    recording.deliver(OBSERVER, txn=C)
    recording.disks[OBSERVER] += [A, B, C]
    recording.read(1, 2, 3, OBSERVER, txns=(A, B, C))
    recording.end(1, 2, 3, OBSERVER)
    return recording


@pytest.mark.parametrize("kind", ["INFORM", "INFORMANDACTIVATE"])
def test_an_observer_delivers_what_it_is_told(tmp_path: Path, kind: str) -> None:
    """A configuration is such a transaction, and becomes active with it."""
    watched(tmp_path, kind)
    observation: ObservedRun = observe(tmp_path)
    assert observation.partial == ()
    assert observation.header == Header(1, 4, "zookeeper-3.8.0", "weights 1,1,1,0", order="per-process")
    assert delivered(observation, OBSERVER) == txns(A, B, C)
    kinds = [type(event) for event in of(observation, OBSERVER, Adopt, CommitEpoch, Deliver, Accept)]
    assert kinds == [Adopt, CommitEpoch, Deliver, Deliver, Deliver, Accept]
    assert len(of(observation, OBSERVER, Receive)) == 8
    judged = judge(tmp_path)
    assert judged.wrong == judged.noticed == []
    assert judged.steps.judged["INFORM"] == 2


def test_what_an_observer_has_is_not_chosen_by_that(tmp_path: Path) -> None:
    """The leader alone accepts a write, and the observer is told of it: two of four servers, and one of three."""
    recording = Recording(tmp_path, observers=1)
    recording.start(1, 2, 3, OBSERVER)
    recording.lead(3, (1, 2), 1)
    joins(recording)
    recording.new_leader(3, OBSERVER, 1)
    recording.up_to_date(3, OBSERVER, 1)
    recording.accept(3, (), A)
    recording.disks[OBSERVER].append(A)
    inform(recording, A)
    recording.deliver(OBSERVER, txn=A)
    recording.end(1, 2, 3, OBSERVER)
    observation = observe(tmp_path)
    [chosen] = [verdict for verdict in check(observation.trace()) if verdict.property == "chosen"]
    assert chosen.status == "violated"
    assert [each.name for each in judge(tmp_path).steps.divergences] == ["informs_need_a_quorum"]


def test_a_reader_is_told_what_the_packets_of_an_observer_are(tmp_path: Path) -> None:
    packets = [
        record for record in records(BROADCAST, "3>1 OBSERVERINFO 1:0", "1>3 INFORM 1:1") if hasattr(record, "zxid")
    ]
    assert [in_zab(packet) for packet in packets[-2:]] == [
        "CEPOCH(1) of an observer",
        "PROPOSE and COMMIT at once, to an observer",
    ]
