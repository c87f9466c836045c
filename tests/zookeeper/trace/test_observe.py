"""A recording becomes a trace: each event where it belongs, nothing twice, nothing invented, nothing left out."""

from pathlib import Path

import pytest

from invariants import (
    PROPERTIES,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    ClientAck,
    Crash,
    Deliver,
    FinalRead,
    Promise,
    Ready,
    Receive,
    Recover,
    Send,
    Truncate,
    Zxid,
)
from invariants.chain import Chain
from invariants.events import Header, Local
from invariants.trace import loads
from tests.zookeeper.recordings import Recording, create, zxid
from tests.zookeeper.trace.observed import (
    HEALTHY,
    A,
    B,
    C,
    E,
    F,
    broken,
    delivered,
    exercised,
    finish,
    healthy,
    joins,
    leader_without,
    of,
    shares,
    told,
    txn,
    txns,
)
from zabcheck.zookeeper.recording.records import PowerLost
from zabcheck.zookeeper.trace.notes import (
    ActivationMissed,
    CutRecordKept,
    EpochWithoutHistory,
    HoleInLog,
    RecordsRepeated,
    SnapshotLost,
)
from zabcheck.zookeeper.trace.observe import observe, write_trace
from zabcheck.zookeeper.wire.jute import LoggedTxn

IN_STATES = set(PROPERTIES) - {
    *("clock", "epoch uniqueness", "convergence", "reliable delivery", "epoch progress", "state"),
}
"""The properties that a run of a real ensemble can exercise; epoch uniqueness, if two servers choose one epoch."""


@pytest.mark.parametrize("step", [1000, 100, 7])
def test_a_healthy_run_breaks_nothing_and_exercises_everything(recording: Recording, step: int) -> None:
    """A server's lines, with their milliseconds, may come before what they tell of."""
    recording.step = step
    healthy(recording)
    found = observe(recording.folder)
    assert (found.notes, found.partial, broken(found)) == ((), (), {})
    assert exercised(found) == IN_STATES
    for server in (1, 2):
        assert delivered(found, server) == txns(A, B, C, E, F)
    assert delivered(found, 3) == txns(A, B, C)
    assert delivered(found, 3, 1) == txns(A, B, C, E, F)
    assert shares(recording.folder) == [1, 1, 1]


def test_each_event_has_its_place_and_its_source(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.read(1, txns=[A])
    recording.end(1, 2, 3)
    found = observe(recording.folder)
    a = txn(A)
    said = [(event, found.sources[i].words()) for i, event in enumerate(found.events) if isinstance(event, Local)]
    assert [pair for pair in said if pair[0].process == 3 and not isinstance(pair[0], Send | Receive)] == [
        (Promise(3, 0, 1, 3), "packet 2"),
        (AckEpoch(3, 0, 1, 0, Zxid(0, 0), 0, 0), "server-3.0.log:5"),
        (Adopt(3, 0, 1, Zxid(0, 0), 0, 0), "server-3.0.log:5"),
        *((event, "server-3.0.log:6") for event in of(found, 3) if type(event).__name__ == "Establish"),
        (Ready(3, 0, 1), "server-3.0.log:6"),
        (Broadcast(3, 0, 1, a), "server-3.0.log:7"),
        (Deliver(3, 0, a), "server-3.0.log:8"),
        (Accept(3, 0, 1, a), "disk of server 3 after incarnation 0"),
        (Crash(3, 0), "driver"),
    ]
    assert [kind for kind, _ in said if isinstance(kind, ClientAck | FinalRead)] == [
        ClientAck(1, 0, a),
        FinalRead(1, 0, (a,)),
    ]
    assert found.header == Header(1, 3, "zookeeper-3.8.0", order="per-process")


def test_a_trace_on_disk_is_the_same_with_a_source_for_each_line(recording: Recording) -> None:
    healthy(recording)
    found = observe(recording.folder)
    path = write_trace(found, recording.folder)
    assert loads(path.read_bytes()) == list(found.trace())
    sources = (recording.folder / "trace.sources.jsonl").read_text().splitlines()
    assert len(sources) == len(path.read_text().splitlines())
    assert sources[1] == '{"source":"packet 1"}'


def test_a_real_run_breaks_nothing_and_is_complete() -> None:
    found = observe(HEALTHY)
    assert (found.notes, found.partial, broken(found)) == ((), (), {})
    assert exercised(found) == IN_STATES
    assert shares(HEALTHY) == [1, 1, 1]
    assert len([event for event in found.events if isinstance(event, ClientAck)]) == 9


# The initial history.


def test_what_was_never_committed_is_accepted_and_after_a_truncation_never_delivered(recording: Recording) -> None:
    leader_without(recording, B, C)
    joins(recording, 3, 2, C.zxid)
    recording.packet(2, 3, "TRUNC", A.zxid)
    recording.proposal(2, 3, E)
    recording.packet(2, 3, "COMMIT", E.zxid)
    recording.new_leader(2, 3, 2)
    recording.disks[3] = [A, E]
    recording.up_to_date(2, 3, 2)
    found = finish(recording, A, E)
    assert delivered(found, 3) == txns(A)
    assert delivered(found, 3, 1) == txns(A, E)
    assert [event for event in of(found, 3, Accept) if event.txn in txns(B, C)] == [  # type: ignore[attr-defined]  # all are `Accept`
        Accept(3, 0, 1, txn(B)),
        Accept(3, 0, 1, txn(C)),
    ]
    assert of(found, 3, Truncate) == [Truncate(3, 1, Zxid.unpack(A.zxid), 1)]
    assert (broken(found), found.notes) == ({}, ())


@pytest.mark.parametrize("by", ["disk", "line"])
def test_a_snapshot_above_a_truncation_stays_in_memory_and_that_breaks_total_order(
    recording: Recording, by: str
) -> None:
    leader_without(recording, B, C)
    if by == "disk":
        recording.snapshots[3] = (0, C.zxid)
    joins(recording, 3, 2, C.zxid)
    if by == "line":
        recording.line(3, "persistence.FileTxnSnapLog", f"Snapshotting: 0x{C.zxid:x} to a file")
    recording.packet(2, 3, "TRUNC", A.zxid)
    recording.proposal(2, 3, E)
    recording.packet(2, 3, "COMMIT", E.zxid)
    recording.new_leader(2, 3, 2)
    recording.disks[3] = [A, E]
    recording.up_to_date(2, 3, 2)
    recording.read(3, txns=[A, B, C, E])
    found = finish(recording, A, E)
    assert delivered(found, 3, 1) == txns(A, B, C, E)
    assert {"total order", "final agreement"} <= set(broken(found))
    assert told(found.notes)[0] == "server 3: told to truncate after ⟨1,1⟩, it goes on from its snapshot up to ⟨1,3⟩"


@pytest.mark.parametrize(
    ("left", "note"),
    [
        ([A, E], None),
        ([B, E], "told to truncate after ⟨1,1⟩, which its log does not have, it keeps ⟨1,2⟩ in its log"),
        ([A, C, E], "told to truncate after ⟨1,1⟩, it keeps ⟨1,3⟩ in its log"),
    ],
)
def test_a_record_that_outlives_a_truncation_is_noted(
    recording: Recording, left: list[LoggedTxn], note: str | None
) -> None:
    leader_without(recording, B, C)
    joins(recording, 3, 2, C.zxid)
    recording.packet(2, 3, "TRUNC", A.zxid)
    recording.proposal(2, 3, E)
    recording.packet(2, 3, "COMMIT", E.zxid)
    recording.new_leader(2, 3, 2)
    recording.disks[3] = left
    recording.up_to_date(2, 3, 2)
    found = finish(recording, A, E)
    assert [each for each in told(found.notes) if "truncate" in each] == ([f"server 3: {note}"] if note else [])


def test_a_record_that_was_there_when_its_server_was_killed_is_not_noted(recording: Recording) -> None:
    """It may not have read the TRUNC."""
    leader_without(recording, B, C)
    joins(recording, 3, 2, C.zxid)
    recording.packet(2, 3, "TRUNC", A.zxid)
    recording.kill(3)
    assert not any(isinstance(note, CutRecordKept) for note in finish(recording, A, E).notes)


@pytest.mark.parametrize(
    ("left", "snapshot", "note"),
    [
        ([A, F], 0, True),
        ([A, E, F], 0, False),
        ([A], 0, False),
        ([A, F], E.zxid, False),
    ],
)
def test_what_was_brought_behind_a_truncation_and_never_logged_is_noted(
    recording: Recording, left: list[LoggedTxn], snapshot: int, note: bool
) -> None:
    """Server 3 leaves in the middle of it, has E in memory, and is not sent E again: its log goes on with F."""
    leader_without(recording, B, C)
    joins(recording, 3, 2, C.zxid)
    recording.packet(2, 3, "TRUNC", A.zxid)
    recording.proposal(2, 3, E)
    recording.packet(2, 3, "COMMIT", E.zxid)
    recording.look(3, reach=E.zxid)
    recording.discover(2, [3], 2, E.zxid, rejoin=True)
    recording.diff(2, 3, 2, up_to=E.zxid)
    recording.up_to_date(2, 3, 2)
    recording.accept(2, [1, 3], F)
    recording.disks[3], recording.snapshots[3] = left, (snapshot,)
    hole = HoleInLog(3, Zxid(2, 1), Zxid(2, 2))
    assert (hole in finish(recording, A, E, F).notes) == note


@pytest.mark.parametrize(
    ("before", "between", "missed"),
    [([], [A, B], [A, B]), ([], [A], []), ([A], [B], [])],
    ids=["behind a write", "alone", "behind NEWLEADER alone"],
)
def test_a_configuration_is_noted_that_comes_before_a_server_is_up_to_date_and_behind_a_write(
    recording: Recording, before: list[LoggedTxn], between: list[LoggedTxn], missed: list[LoggedTxn]
) -> None:
    """It is the last of what server 3 is sent between NEWLEADER and UPTODATE."""
    recording.start(1, 2)
    recording.lead(2, [1], 1)
    joins(recording, 3, 1, 0)
    recording.diff(2, 3, 1, before)
    for each in between:
        recording.proposal(2, 3, each)
        recording.packet(2, 3, "COMMITANDACTIVATE" if each is between[-1] else "COMMIT", each.zxid)
    recording.up_to_date(2, 3, 1)
    recording.end(1, 2, 3)
    notes = [each for each in observe(recording.folder).notes if isinstance(each, ActivationMissed)]
    first_and_last = [ActivationMissed(3, Zxid.unpack(missed[-1].zxid), Zxid.unpack(missed[0].zxid))] if missed else []
    assert notes == first_and_last


def send_what_server_1_lacks(recording: Recording) -> None:
    """Server 1 has A, and is sent B by server 2, the leader of epoch 2, up to NEWLEADER."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.kill(1)
    recording.write(3, [2], B, 2)
    recording.kill(3)
    recording.start(1)
    recording.look(1, reach=A.zxid)
    recording.look(2, reach=B.zxid)
    recording.discover(2, [1], 2, A.zxid)
    recording.packet(2, 1, "DIFF", B.zxid)
    recording.proposal(2, 1, B)
    recording.packet(2, 1, "COMMIT", B.zxid)
    recording.packet(2, 1, "NEWLEADER", zxid(2, 0))


@pytest.mark.parametrize(("logged", "epoch"), [(False, 2), (True, 2), (False, 1)])
def test_an_epoch_on_the_disk_without_its_initial_history_is_noted(
    recording: Recording, logged: bool, epoch: int
) -> None:
    """Server 1 is killed when it has read NEWLEADER, and written the epoch or what came before it, or both."""
    send_what_server_1_lacks(recording)
    recording.line(1, "quorum.Learner", "Learner received NEWLEADER message")
    recording.kill(1)
    recording.disks[1] += [B] if logged else []
    recording.epochs[1] = epoch
    recording.end(2)
    without = EpochWithoutHistory(1, 2, Zxid(1, 1))
    assert (without in observe(recording.folder).notes) == (epoch == 2 and not logged)


@pytest.mark.parametrize("killed", [False, True])
def test_what_a_synchronisation_brought_that_broke_off_is_not_accepted_in_the_epoch_before(
    recording: Recording, killed: bool
) -> None:
    """Server 1 has B in memory when it leaves, or in its log; it has promised epoch 2, in which B came to it."""
    send_what_server_1_lacks(recording)
    recording.disks[1].append(B)
    if killed:
        recording.kill(1)
        recording.end(2)
    else:
        recording.kill(2)
        recording.epochs[1] = 2
        recording.look(1, reach=B.zxid)
        recording.end(1)
    found = observe(recording.folder)
    assert Accept(1, 1, 1, txn(B)) not in found.events
    assert "invariant 3" not in broken(found)


def test_what_is_numbered_for_an_ended_leader_is_in_no_history(recording: Recording) -> None:
    """A thread of the leader that server 3 was goes on while it looks for the next one: nobody is sent B."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.look(1, 2, 3, reach=A.zxid)
    recording.propose(3, B)
    recording.discover(3, [1, 2], 2, A.zxid)
    for follower in (1, 2):
        recording.diff(3, follower, 2, up_to=A.zxid)
    recording.establish(3, 2)
    for follower in (1, 2):
        recording.up_to_date(3, follower, 2)
    recording.write(3, [1, 2], E, 2)
    found = finish(recording, A, E)
    assert delivered(found, 3) == txns(A, E)
    assert broken(found) == {}


def test_a_leader_that_ends_before_its_log_tells_that_it_leads_has_provided_its_history(recording: Recording) -> None:
    """Server 2 has sent NEWLEADER, so a quorum had sent ACK-E; server 1 takes over B, which was with server 2 alone."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.accept(3, [2], B)
    recording.kill(3)
    recording.look(2, reach=B.zxid)
    recording.look(1, reach=A.zxid)
    recording.line(2, "quorum.QuorumPeer", "LEADING")
    recording.discover(2, [1], 2, A.zxid, rejoin=True)
    recording.diff(2, 1, 2, [B], B.zxid)
    recording.kill(2)
    recording.end(1)
    found = observe(recording.folder)
    assert AckEpoch(2, 0, 2, 1, Zxid(1, 2), 2, Chain.of(txns(A, B)).hash) in found.events
    assert broken(found) == {}


def test_what_nobody_committed_is_delivered_as_initial_history_of_a_leader_that_has_it(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.propose(3, B)
    recording.disks[3].append(B)
    recording.proposal(3, 2, B)
    recording.disks[2].append(B)  # logged, and the leader is killed before the answer
    recording.kill(3)
    recording.look(2, reach=B.zxid)
    recording.look(1, reach=A.zxid)
    recording.discover(2, [1], 2, A.zxid)
    recording.diff(2, 1, 2, [B], B.zxid)
    recording.establish(2, 2)
    recording.up_to_date(2, 1, 2)
    recording.deliver(1, txn=B)
    recording.end(1, 2)
    found = observe(recording.folder)
    assert delivered(found, 2) == delivered(found, 1) == txns(A, B)
    assert Accept(2, 0, 1, txn(B)) in found.events
    assert (broken(found), found.notes) == ({}, ())


@pytest.mark.parametrize(("version", "lines"), [("3.8.0", 2), ("3.9.3", 0)])
def test_what_a_diff_commits_is_delivered_once_with_a_line_or_without(tmp_path: Path, version: str, lines: int) -> None:
    recording = Recording(tmp_path, version=version)
    leader_without(recording)
    recording.write(2, [1], F, 2)
    joins(recording, 3, 2, A.zxid)
    recording.packet(2, 3, "DIFF", F.zxid)
    for each in (E, F):
        recording.proposal(2, 3, each)
        recording.packet(2, 3, "COMMIT", each.zxid)
    recording.packet(2, 3, "NEWLEADER", zxid(2, 0))
    recording.line(3, "quorum.Learner", "Learner received NEWLEADER message")
    if not lines:
        recording.line(3, "quorum.Learner", "It took 1ms to persist and commit txns in packetsCommitted. 0 outstanding")
    recording.packet(3, 2, "ACK", zxid(2, 0))
    recording.epochs[3] = 2
    recording.disks[3] += [E, F]
    recording.up_to_date(2, 3, 2)
    for each in (E, F)[:lines]:
        recording.deliver(3, txn=each)
    found = finish(recording, A, E, F)
    assert delivered(found, 3, 1) == txns(A, E, F)
    assert (broken(found), found.notes) == ({}, ())


def test_an_outstanding_proposal_is_accepted_by_its_own_ack_and_delivered_by_its_line(recording: Recording) -> None:
    leader_without(recording)
    recording.accept(2, [1], F)
    joins(recording, 3, 2, A.zxid)
    recording.packet(2, 3, "DIFF", E.zxid)
    recording.proposal(2, 3, E)
    recording.packet(2, 3, "COMMIT", E.zxid)
    recording.proposal(2, 3, F)
    recording.new_leader(2, 3, 2)
    recording.packet(3, 2, "ACK", E.zxid)
    recording.packet(3, 2, "ACK", F.zxid)
    recording.disks[3] += [E, F]
    recording.up_to_date(2, 3, 2)
    recording.packet(2, 3, "COMMIT", F.zxid)
    for server in (1, 2):
        recording.deliver(server, txn=F)
    recording.deliver(3, txn=E)
    recording.deliver(3, txn=F)
    found = finish(recording, A, E, F)
    assert [(event.txn, event.incarnation) for event in of(found, 3, Accept)] == [  # type: ignore[attr-defined]  # all are `Accept`
        (txn(A), 0),
        (txn(F), 1),
    ]
    assert delivered(found, 3, 1) == txns(A, E, F)
    assert (broken(found), found.notes) == ({}, ())


def test_a_server_that_leads_follows_and_leads_again_delivers_nothing_twice(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.lead(2, [1, 3], 2, reach=A.zxid)
    recording.write(2, [1, 3], E, 2)
    recording.lead(3, [1, 2], 3, reach=E.zxid)
    last = create(zxid(3, 1), 3, 1)
    recording.write(3, [1, 2], last, 3)
    found = finish(recording, A, E, last)
    for server in (1, 2, 3):
        assert delivered(found, server) == txns(A, E, last)
    assert (broken(found), found.notes) == ({}, ())


def test_repeated_zxids_in_a_log_count_once_and_are_told(recording: Recording) -> None:
    leader_without(recording)
    recording.disks[3] = [A, A]
    joins(recording, 3, 2, A.zxid)
    recording.diff(2, 3, 2, [E], E.zxid)
    recording.up_to_date(2, 3, 2)
    recording.deliver(3, txn=E)
    found = finish(recording, A, E)
    assert delivered(found, 3, 1) == txns(A, E)
    assert broken(found) == {}
    assert RecordsRepeated(3, 0, 1) in found.notes


# What a server does wrong is told.


def test_a_history_that_was_acknowledged_and_then_forgotten_breaks_invariant_4(recording: Recording) -> None:
    """The follower acknowledges NEWLEADER, is given up, and comes to the next leader without what it took over."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.kill(1)
    recording.write(3, [2], B, 2)
    recording.start(1)
    recording.look(1, reach=A.zxid)
    recording.discover(3, [1], 1, A.zxid, rejoin=True)
    recording.diff(3, 1, 1, [B], B.zxid)
    recording.look(1, 2, reach=A.zxid)
    recording.discover(2, [1], 2, A.zxid)
    recording.end(1, 2, 3)
    found = observe(recording.folder)
    assert set(broken(found)) == {"invariant 4"}


def test_a_write_that_a_client_was_told_of_and_nobody_has_is_lost(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.write(3, [1, 2], B, 1)
    found = finish(recording, A)
    assert broken(found) == {"durability": "p1 told a client that c1.2⟨1,2⟩ is done, and no final read has it"}


def test_what_a_power_failure_took_is_told_with_the_crash_and_breaks_nothing(recording: Recording) -> None:
    """Server 1 had appended ⟨1,2⟩, and neither forced nor acknowledged it; server 2 had, so it is committed."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.kill(1)
    recording.record.record(PowerLost(recording.tick(), 1, 2, {"log.100000001": 120}))
    recording.record.record(PowerLost(recording.tick(), 1, 1, {"snapshot.100000001": None}))
    recording.write(3, [2], B, 1)
    recording.start(1)
    recording.end(1, 2, 3)
    observation = observe(recording.folder)
    lost = {number: [getattr(event, "lost", None) for event in of(observation, number, Crash)] for number in (1, 2)}
    assert lost == {1: [3, 0], 2: [0]}
    assert SnapshotLost(1, "snapshot.100000001") in observation.notes
    assert broken(observation) == {}


def test_an_answer_at_the_moment_of_a_crash_is_of_the_incarnation_that_delivered_the_write(
    recording: Recording,
) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.ask(3, A)
    recording.accept(3, [1, 2], A)
    recording.deliver(3, txn=A)
    recording.kill(3)
    recording.start(3)
    recording.acknowledge(3, A)
    recording.end(1, 2, 3)
    found = observe(recording.folder)
    last = [event for event in of(found, 3) if isinstance(event, Deliver | ClientAck | Crash | Recover)]
    assert last == [Deliver(3, 0, txn(A)), ClientAck(3, 0, txn(A)), Crash(3, 0), Recover(3, 1), Crash(3, 1)]
