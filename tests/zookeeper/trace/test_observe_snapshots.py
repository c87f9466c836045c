"""Servers that take over a snapshot, and those that start with one."""

from invariants import Restore, Zxid
from tests.zookeeper.recordings import Recording, zxid
from tests.zookeeper.trace.observed import A, B, E, F, broken, delivered, finish, joins, leader_without, of, told, txns


def snapshot(recording: Recording) -> None:
    """Server 3 gets a snapshot of what it lacks, and then F."""
    leader_without(recording, B)
    joins(recording, 3, 2, B.zxid)
    recording.packet(2, 3, "SNAP", E.zxid)
    recording.new_leader(2, 3, 2)
    recording.snapshots[3] = (0, E.zxid)
    recording.disks[3] = [A, B]  # stale: below the snapshot
    recording.up_to_date(2, 3, 2)
    recording.write(2, [1, 3], F, 2)


def test_a_snapshot_brings_the_history_of_its_sender_which_is_inferred(recording: Recording) -> None:
    snapshot(recording)
    found = finish(recording, A, E, F)
    [restore] = of(found, 3, Restore)
    assert isinstance(restore, Restore)
    assert (restore.incarnation, restore.length, restore.zxid) == (1, 2, Zxid.unpack(E.zxid))
    assert delivered(found, 3, 1) == txns(F)
    assert broken(found) == {}
    assert told(found.notes) == [
        "server 3: what its snapshot up to ⟨2,1⟩ holds is inferred from the history of server 2"
    ]


def test_after_a_snapshot_a_server_starts_again_with_that_and_not_with_its_stale_log(recording: Recording) -> None:
    snapshot(recording)
    recording.kill(3)
    joins(recording, 3, 2, F.zxid)
    recording.diff(2, 3, 2, (), F.zxid)
    recording.up_to_date(2, 3, 2)
    found = finish(recording, A, E, F)
    assert [event.incarnation for event in of(found, 3, Restore)] == [1]  # type: ignore[attr-defined]  # all are `Restore`
    assert delivered(found, 3, 2) == txns(A, E, F)
    assert broken(found) == {}


def test_what_a_snapshot_has_replaced_is_not_read_from_a_log_below_it(recording: Recording) -> None:
    """Server 3 alone has logged B, in the epoch before; its log keeps that, and the snapshot ends behind it."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.accept(3, [], B)
    recording.kill(3)
    recording.lead(2, [1], 2, reach=A.zxid)
    joins(recording, 3, 2, B.zxid)
    recording.packet(2, 3, "SNAP", zxid(2, 0))
    recording.new_leader(2, 3, 2)
    recording.snapshots[3] = (0, zxid(2, 0))
    recording.up_to_date(2, 3, 2)
    recording.write(2, [1, 3], E, 2)
    assert B in recording.disks[3]
    recording.kill(3)
    joins(recording, 3, 2, E.zxid)
    recording.diff(2, 3, 2, (), E.zxid)
    recording.up_to_date(2, 3, 2)
    found = finish(recording, A, E)
    assert delivered(found, 3, 2) == txns(A, E)
    assert broken(found) == {}


def test_a_snapshot_that_nobody_delivered_is_delivered_by_a_leader_that_starts_with_it(
    recording: Recording,
) -> None:
    """Server 3 has B alone, and is killed as leader before it is established; server 1 has its snapshot on the disk."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.accept(3, [], B)
    recording.kill(1, 3)
    recording.start(1, 3)
    recording.look(1, reach=A.zxid)
    recording.look(3, reach=B.zxid)
    recording.discover(3, [1], 2, A.zxid)
    recording.packet(3, 1, "SNAP", B.zxid)
    recording.new_leader(3, 1, 2)
    recording.snapshots[1] = (0, B.zxid)
    recording.epochs[3] = 2
    recording.kill(1, 3)
    recording.start(1)
    recording.look(1, reach=B.zxid)
    recording.look(2, reach=A.zxid)
    recording.discover(1, [2], 3, A.zxid)
    recording.diff(1, 2, 3, [B], B.zxid)
    recording.establish(1, 3)
    recording.up_to_date(1, 2, 3)
    found = finish(recording, A, B)
    assert (broken(found), of(found, 1, Restore), delivered(found, 1, 2)) == ({}, [], txns(A, B))
