"""`Learner` and `Follower`."""

from typing import Any

import pytest
from msgspec.structs import replace

from invariants import Accept, AckEpoch, Adopt, Chain, CommitEpoch, Deliver, Halt, Promise, Restore, Truncate, Zxid
from tests.zookeeper.model.builders import (
    A,
    B,
    C,
    D,
    following,
    memory,
    raising,
    sent,
    server,
    shown,
    snapshot,
    switches,
    syncing,
    txn,
    written,
)
from zabcheck.protocols.base import Buffer, Connect, GiveUp, Lost, Started, Write
from zabcheck.zookeeper.model import learner, messages
from zabcheck.zookeeper.model.database import FIRST
from zabcheck.zookeeper.model.learner import (
    follow,
    on_diff,
    on_leader_info,
    on_lost_leader,
    on_snap,
    on_trunc,
)
from zabcheck.zookeeper.model.server import Mode, Phase, ServerError, append, load, on_started, vote
from zabcheck.zookeeper.model.switches import Defects
from zabcheck.zookeeper.model.threads import separate, with_threads, write_back

# With all that the threads of the server do because of it, at once.
on_new_leader = with_threads(learner.on_new_leader)
on_up_to_date = with_threads(learner.on_up_to_date)
on_proposal = with_threads(learner.on_proposal)
on_commit = with_threads(learner.on_commit)

ACK = messages.Ack(Zxid(2, 0))


def test_an_epoch_is_known_by_the_zxid_of_newleader_alone_in_3_3() -> None:
    """335: a crash forgets it, so that another leader takes it too."""
    f = server(2, A, switches=switches("3.3.1", "335"))
    follow(f, 1)
    promised = on_leader_info(f, 1, messages.LeaderInfo(2))
    assert sent(promised) == [(1, messages.AckEpoch(1, A.zxid))]
    adopted = [*on_diff(f, 1, messages.Diff(A.zxid)), *on_new_leader(f, 1, messages.NewLeader(2))]
    assert sent(adopted) == [(1, ACK)]
    assert vote(f) == (2, Zxid(2, 0), 2)
    assert not {"accepted_epoch", "current_epoch"} & {*written(promised), *written(adopted)}
    again = server(2, A, switches=f.switches, accepted_epoch=0, current_epoch=0)
    on_started(again, 2, Started(intact=True))
    assert vote(again) == (1, A.zxid, 2)
    follow(again, 1)
    assert sent(on_leader_info(again, 1, messages.LeaderInfo(2))) == [(1, messages.AckEpoch(1, A.zxid))]


@pytest.mark.parametrize(("version", "stays"), [("3.9.3", True), ("3.9.5", False)])
def test_a_hole_in_what_is_applied_before_uptodate_ends_the_iteration_behind_a_trunc(version: Any, stays: bool) -> None:
    """`addCommittedProposal` throws when the tree has it already, and `followLeader` catches that: memory keeps it."""
    f = syncing(Mode.TRUNC, A, kept=(C,), switches=switches(version))
    effects = on_commit(f, 1, messages.Commit(C.zxid))
    assert (f.leader == 1) is stays
    assert any(isinstance(each, GiveUp) for each in effects) is not stays
    assert not any(isinstance(each, Halt) for each in effects), "the process goes on"
    assert tuple(f.database.tree) == (A, C)
    assert f.database.lpz == C.zxid


def test_a_hole_in_what_is_applied_at_newleader_ends_the_iteration() -> None:
    f = syncing(Mode.DIFF, A, kept=(C, D), committed=(C.zxid, D.zxid))
    effects = on_new_leader(f, 1, messages.NewLeader(2))
    assert f.leader is None
    assert [type(each) for each in effects if isinstance(each, GiveUp | Halt)] == [GiveUp]
    assert (f.log, tuple(f.database.tree)) == ((A, C), (A, C))
    assert f.current_epoch == 1, "it does not go on"


def test_connect_to_leader() -> None:
    assert follow(server(2, A), 1) == [Connect(1), follow(server(2, A), 1)[1]]
    assert sent(follow(server(2, A), 1)) == [(1, messages.FollowerInfo(1))]


def test_register_with_leader_promises_and_tells_currentepoch_and_zxid() -> None:
    f = server(2, A, phase=Phase.DISCOVERY, leader=1)
    effects = on_leader_info(f, 1, messages.LeaderInfo(2))
    assert written(effects) == ["accepted_epoch"]
    chain = Chain.of([A])
    assert shown(effects) == [Promise(2, 0, 2, 1), AckEpoch(2, 0, 2, 1, A.zxid, 1, chain.hash)]
    assert sent(effects) == [(1, messages.AckEpoch(1, A.zxid))]


def test_register_with_leader_of_an_epoch_accepted_before_does_not_count() -> None:
    f = server(2, A, phase=Phase.DISCOVERY, leader=1, accepted_epoch=2)
    assert sent(on_leader_info(f, 1, messages.LeaderInfo(2))) == [(1, messages.AckEpoch(None, A.zxid))]
    f = server(2, A, phase=Phase.DISCOVERY, leader=1, accepted_epoch=3)
    assert isinstance(on_leader_info(f, 1, messages.LeaderInfo(2))[0], GiveUp)


def test_sync_with_leader_diff_sets_the_zxid_too_early_in_3_4_10() -> None:
    new, old = syncing(Mode.NONE, A), syncing(Mode.NONE, A, switches=switches("3.4.10"))
    for f in (new, old):
        on_diff(f, 1, messages.Diff(C.zxid))
    assert (new.database.lpz, old.database.lpz) == (A.zxid, C.zxid)


def test_sync_with_leader_trunc_cuts_and_reloads() -> None:
    f = syncing(Mode.NONE, A, B, C)
    effects = on_trunc(f, 1, messages.Trunc(A.zxid))
    assert f.log == (A,)
    assert f.database == memory(A)
    assert shown(effects) == [Truncate(2, 0, A.zxid, 1)]


def test_a_cut_of_the_log_waits_for_the_next_force() -> None:
    """N4: until then a crash of the machine undoes it. What the snapshots become is on the disk at once."""
    effects = on_trunc(syncing(Mode.NONE, A, B), 1, messages.Trunc(A.zxid))
    assert [each for each in effects if isinstance(each, Buffer)] == [Buffer(log=(A,))]
    effects = on_trunc(syncing(Mode.NONE, A, B, switches=switches(defects="none")), 1, messages.Trunc(A.zxid))
    assert Write(log=(A,)) in effects
    assert not [each for each in effects if isinstance(each, Buffer)]


def test_sync_with_leader_trunc_reloads_a_snapshot_of_what_was_cut() -> None:
    """4837: the snapshot that `Leader.lead` wrote is still the newest."""
    snapshots = (FIRST, snapshot(B.zxid, A, B))
    f = syncing(Mode.NONE, A, B, snapshots=snapshots)
    assert not shown(on_trunc(f, 1, messages.Trunc(A.zxid)))
    assert [*f.database.tree] == [A, B]
    assert f.database.lpz == A.zxid
    f = syncing(Mode.NONE, A, B, snapshots=snapshots, switches=switches(defects="none"))
    on_trunc(f, 1, messages.Trunc(A.zxid))
    assert [*f.database.tree] == [A]


def test_pull_request_2172_skips_that_snapshot_once() -> None:
    """The load of TRUNC passes it over; it stays on the disk, and is the newest for the next load (4837)."""
    snapshots = (FIRST, snapshot(B.zxid, A, B))
    f = syncing(Mode.NONE, A, B, snapshots=snapshots, switches=switches("pr-2172"))
    assert shown(on_trunc(f, 1, messages.Trunc(A.zxid))) == [Truncate(2, 0, A.zxid, 1)]
    assert [*f.database.tree] == [A]
    assert f.snapshots == snapshots
    assert [*load(f).tree] == [A, B]


def test_sync_with_leader_snap_replaces_memory_only() -> None:
    f = syncing(Mode.NONE, A)
    assert on_snap(f, 1, messages.Snap(C.zxid, Chain.of([B, C]))) == []
    assert f.database == memory(B, C, cache=())
    assert f.log == (A,)


def test_sync_with_leader_keeps_proposals_and_commits_of_a_diff() -> None:
    f = syncing(Mode.DIFF, A)
    assert on_proposal(f, 1, messages.Proposal(B)) == []
    assert on_commit(f, 1, messages.Commit(B.zxid)) == []
    assert (f.kept, f.committed) == ((B,), (B.zxid,))
    assert f.database == memory(A)


def test_sync_with_leader_applies_commits_behind_a_snap() -> None:
    cached, missing = syncing(Mode.SNAP, A), syncing(Mode.SNAP, A, switches=switches("3.9.3"))
    for f in (cached, missing):
        on_proposal(f, 1, messages.Proposal(B))
        assert on_commit(f, 1, messages.Commit(B.zxid)) == []
        assert [*f.database.tree] == [A, B]
        assert f.kept == ()
    assert cached.database.cache == (A, B)
    assert missing.database.cache == (A,)


def test_enforce_continuous_proposal_since_3_9_4() -> None:
    old, new = syncing(Mode.DIFF, A, switches=switches("3.9.3")), syncing(Mode.DIFF, A)
    for f in (old, new):
        on_proposal(f, 1, messages.Proposal(A))
    assert on_proposal(old, 1, messages.Proposal(C)) == []
    assert isinstance(on_proposal(new, 1, messages.Proposal(C))[0], GiveUp)


@pytest.mark.parametrize(
    ("version", "log", "tree", "cache", "order"),
    [
        ("3.5.5", (A,), (A,), (A,), ["current_epoch"]),
        ("3.8.0", (A, B, D), (A,), (A,), ["current_epoch", "log", "log"]),
        ("3.9.2", (A, B, D), (A,), (A,), ["log", "log", "current_epoch"]),
        ("3.9.3", (A, B), (A, B), (A,), ["log", "current_epoch"]),
        ("3.9.5", (A, B), (A, B), (A, B), ["log", "current_epoch"]),
    ],
)
def test_sync_with_leader_newleader_by_version(
    version: object, log: object, tree: object, cache: object, order: object
) -> None:
    """After a DIFF: B is committed, D is outstanding."""
    f = syncing(Mode.DIFF, A, kept=(B, D), committed=(B.zxid,), switches=switches(version))  # type: ignore[arg-type]  # it is a name of a version
    effects = on_new_leader(f, 1, messages.NewLeader(2))
    assert f.log == log
    assert tuple(f.database.tree) == tree
    assert f.database.cache == cache
    assert written(effects) == order
    assert sent(effects)[0] == (1, ACK)
    [adopt] = [each for each in shown(effects) if isinstance(each, Adopt)]
    assert adopt.length == len(f.log), "what is adopted is what the disk has"


def test_sync_with_leader_newleader_behind_snap_writes_a_snapshot_first() -> None:
    f = syncing(Mode.SNAP, A, database=memory(A, B, cache=()))
    effects = on_new_leader(f, 1, messages.NewLeader(2))
    assert written(effects) == ["snapshots", "current_epoch"]
    assert f.snapshots == (FIRST, snapshot(B.zxid, A, B))
    assert f.mode is Mode.NONE


def test_sync_with_leader_newleader_does_not_wait_for_the_snapshot_in_3_5_5() -> None:
    """2872."""
    f = syncing(Mode.SNAP, A, database=memory(A, B), switches=switches("3.5.5", "2872"))
    effects = on_new_leader(f, 1, messages.NewLeader(2))
    assert isinstance(effects[0], Buffer)
    assert written(effects) == ["snapshots", "log", "current_epoch"]
    assert f.unforced


def test_sync_with_leader_newleader_does_not_wait_for_the_snapshot_behind_trunc() -> None:
    """N3: the log behind it is forced, and the disk has the snapshot only when the system has written it back."""
    f = syncing(Mode.TRUNC, A, database=memory(A, B, cache=()), switches=switches(defects="n3"))
    effects = on_new_leader(f, 1, messages.NewLeader(2))
    assert written(effects) == ["current_epoch"]
    assert f.snapshots == (FIRST, snapshot(B.zxid, A, B))
    assert separate(f.switches)["write back"](f)
    assert written(write_back(f)) == ["snapshots"]
    assert not separate(f.switches)["write back"](f)


@pytest.mark.parametrize(("mode", "defects"), [(Mode.SNAP, "n3"), (Mode.TRUNC, "all"), (Mode.TRUNC, "none")])
def test_a_snapshot_is_lost_only_behind_trunc_and_where_that_is_asked_for(mode: Mode, defects: Defects) -> None:
    f = syncing(mode, A, database=memory(A, B, cache=()), switches=switches(defects=defects))
    assert "snapshots" in written(on_new_leader(f, 1, messages.NewLeader(2)))
    assert not f.unwritten


def test_sync_with_leader_writes_the_epoch_at_uptodate_in_3_4_0_rc0() -> None:
    """1282: NEWLEADER is acknowledged before."""
    f = syncing(Mode.DIFF, A, switches=switches("3.4.0-rc0", "1282"))
    before = f.current_epoch
    effects = on_new_leader(f, 1, messages.NewLeader(2))
    assert (1, ACK) in sent(effects)
    assert [each.epoch for each in shown(effects) if isinstance(each, Adopt)] == [2], "it says that it has"
    assert f.current_epoch == before < 2
    assert "current_epoch" in written(on_up_to_date(f, 1, messages.UpToDate()))
    assert f.current_epoch == 2


@pytest.mark.parametrize(("defects", "logged"), [("1264", False), ("none", True)])
def test_a_commit_between_newleader_and_uptodate_is_applied_and_not_logged_in_3_4_0_rc0(
    defects: Defects, logged: bool
) -> None:
    """1264: the snapshot that NEWLEADER has written does not hold it either."""
    f = syncing(Mode.DIFF, A, kept=(B,), switches=switches("3.4.0-rc0", defects))
    on_new_leader(f, 1, messages.NewLeader(2))
    on_commit(f, 1, messages.Commit(B.zxid))
    on_up_to_date(f, 1, messages.UpToDate())
    assert [*f.database.tree] == [A, B]
    assert (B in f.log) is logged
    assert B not in f.snapshots[-1].tree


@pytest.mark.parametrize(
    ("defects", "writes", "found"), [("1489", True, False), ("1489", False, True), ("none", True, True)]
)
def test_what_is_logged_behind_a_trunc_is_not_found_in_3_4_2(defects: Defects, writes: bool, found: bool) -> None:
    """1489: unless the server has written nothing before, so that its log is not open."""
    f = syncing(Mode.NONE, A, switches=switches("3.4.2", defects))
    if writes:
        append(f, B)
    else:
        f.log = (A, B)
    on_trunc(f, 1, messages.Trunc(A.zxid))
    on_new_leader(f, 1, messages.NewLeader(2))
    on_up_to_date(f, 1, messages.UpToDate())
    effects = on_proposal(f, 1, messages.Proposal(D))
    assert any(isinstance(each, Accept) for each in shown(effects)), "it says that it is on the disk"
    assert (D in [*load(f).tree]) is found


def test_sync_with_leader_writes_a_snapshot_of_a_diff_in_3_4_2() -> None:
    f = syncing(Mode.DIFF, A, kept=(B,), switches=switches("3.4.2"))
    on_commit(f, 1, messages.Commit(B.zxid))
    assert [*f.database.tree] == [A, B]
    on_new_leader(f, 1, messages.NewLeader(2))
    assert f.snapshots[-1] == snapshot(B.zxid, A, B)


def test_sync_with_leader_newleader_behind_snap_may_clear_the_disk() -> None:
    """2832, as it ought to be."""
    f = syncing(Mode.SNAP, A, database=memory(A, B, cache=()), switches=switches(defects="none"))
    on_new_leader(f, 1, messages.NewLeader(2))
    assert (f.log, f.snapshots) == ((), (snapshot(B.zxid, A, B),))


def test_sync_with_leader_uptodate_delivers_and_logs_what_is_outstanding() -> None:
    f = syncing(Mode.NONE, A, B, kept=(D,), acknowledged=True, current_epoch=2)
    effects = on_up_to_date(f, 1, messages.UpToDate())
    assert shown(effects) == [CommitEpoch(2, 0, 2), Deliver(2, 0, A), Deliver(2, 0, B), Accept(2, 0, 2, D)]
    assert sent(effects) == [(1, ACK), (1, messages.Ack(D.zxid))]
    assert f.pending == (D,)
    assert f.phase is Phase.BROADCAST


def test_sync_with_leader_uptodate_takes_over_a_tree() -> None:
    f = syncing(Mode.NONE, A, acknowledged=True, received=Chain.of([A, B]), database=memory(A, B))
    [_, restore] = shown(on_up_to_date(f, 1, messages.UpToDate()))
    assert restore == Restore(2, 0, B.zxid, 2, Chain.of([A, B]).hash)


def test_process_packet_proposal() -> None:
    f = following(A)
    effects = on_proposal(f, 1, messages.Proposal(D))
    assert shown(effects) == [Accept(2, 0, 2, D)]
    assert sent(effects) == [(1, messages.Ack(D.zxid))]
    assert (f.log, f.pending) == ((A, D), (D,))


def test_process_packet_commit_has_to_be_the_first_that_is_pending() -> None:
    f = following(A, pending=(D, txn(2, 2)))
    assert shown(on_commit(f, 1, messages.Commit(D.zxid))) == [Deliver(2, 0, D)]
    [halt] = on_commit(f, 1, messages.Commit(Zxid(2, 3)))
    assert isinstance(halt, Halt)
    assert halt.reason == "COMMIT of ⟨2,3⟩, but ⟨2,2⟩ is next"


def test_process_packet_commit_between_newleader_and_uptodate_is_a_null_pointer() -> None:
    """4394."""
    f = syncing(Mode.NONE, A, acknowledged=True, pending=(D,), switches=switches("3.8.0"))
    assert isinstance(on_commit(f, 1, messages.Commit(D.zxid))[0], GiveUp)
    f = syncing(Mode.NONE, A, acknowledged=True, pending=(D,), switches=raising("3.8.0"))
    with pytest.raises(ServerError, match="NullPointerException"):
        on_commit(f, 1, messages.Commit(D.zxid))
    f = syncing(Mode.NONE, A, acknowledged=True, kept=(D,))
    assert on_commit(f, 1, messages.Commit(D.zxid)) == []
    assert f.committed == (D.zxid,)


def test_what_is_committed_is_not_applied_when_uptodate_is_acknowledged() -> None:
    """3023."""
    fields: dict[str, Any] = {"acknowledged": True, "current_epoch": 2, "pending": (D,), "committed": (D.zxid,)}
    asserting = replace(raising("3.8.0", "G3"), defects="3023")
    f = syncing(Mode.NONE, A, **fields, switches=asserting)
    with pytest.raises(ServerError, match="⟨2,1⟩ is committed, and another thread has yet to apply it"):
        on_up_to_date(f, 1, messages.UpToDate())
    for same in (raising("3.8.0", "G3"), replace(asserting, grain="G2"), replace(asserting, version="3.9.5")):
        f = syncing(Mode.NONE, A, **fields, switches=same)
        on_up_to_date(f, 1, messages.UpToDate())
        assert f.running


def test_a_hole_is_an_error() -> None:
    """4925."""
    f = syncing(Mode.DIFF, A, queued=D.zxid, switches=raising("3.9.5"))
    with pytest.raises(ServerError, match="the synchronisation has a hole between ⟨2,1⟩ and ⟨2,3⟩"):
        on_proposal(f, 1, messages.Proposal(txn(2, 3)))


def test_follow_leader_ends_with_its_connection() -> None:
    assert isinstance(on_lost_leader(following(A), Lost(1))[0], GiveUp)
    assert on_lost_leader(following(A), Lost(3)) == []
