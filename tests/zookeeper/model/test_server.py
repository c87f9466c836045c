"""`QuorumPeer`: starting, voting, leaving an iteration, snapshots."""

import pytest

from invariants import Chain, Halt, Zxid
from tests.zookeeper.model.builders import (
    A,
    B,
    D,
    following,
    memory,
    raising,
    server,
    snapshot,
    switches,
    syncing,
    written,
)
from zabcheck.protocols.base import Flush, GiveUp, Started, TakeSnapshot, TimedOut, Write
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.database import FIRST, Database, Exit
from zabcheck.zookeeper.model.server import (
    Mode,
    Phase,
    deliver_tree,
    leave,
    on_started,
    on_timed_out,
    vote,
)
from zabcheck.zookeeper.model.snapshots import on_take_snapshot


def test_load_data_base() -> None:
    f = server(2, A, B, database=Database())
    assert on_started(f, 2, Started()) == []
    assert f.database == memory(A, B)


def test_load_data_base_refuses_files_that_contradict_each_other() -> None:
    """1653: the log is of a later epoch than currentEpoch."""
    f = server(2, D, database=Database())
    [halt] = ZOOKEEPER.steps[Started](f, 2, Started())
    assert isinstance(halt, Halt)
    assert halt.reason == "currentEpoch 1 is older than the last record ⟨2,1⟩"


def test_load_data_base_may_take_the_epoch_of_the_log() -> None:
    """3.4.6 to 3.4.14: the server was ended between the log, or a snapshot, and currentEpoch."""
    f = server(2, A, D, database=Database(), accepted_epoch=2, switches=switches("3.4.10"))
    assert ZOOKEEPER.steps[Started](f, 2, Started()) == [Write(current_epoch=2)]
    assert f.current_epoch == 2


def test_an_error_may_end_the_run() -> None:
    f = server(2, D, database=Database(), switches=raising("3.9.5"))
    with pytest.raises(Exit, match="currentEpoch 1 is older than the last record ⟨2,1⟩"):
        ZOOKEEPER.steps[Started](f, 2, Started())


def test_total_order_predicate() -> None:
    assert vote(server(1, A)) < vote(server(2, A)) < vote(server(1, A, B)) < vote(server(1, A, current_epoch=2))


def test_shutdown_fast_forwards_what_is_logged() -> None:
    """2845: 3.4.10 keeps memory behind the log."""
    new = following(A, D, database=memory(A))
    old = following(A, D, database=memory(A), switches=switches("3.4.10"))
    for f in (new, old):
        leave(f)
        assert f.phase is Phase.LOOKING
    assert [*new.database.tree] == [A, D]
    assert [*old.database.tree] == [A]


def test_shutdown_after_an_interrupted_snap_clears_memory_since_3642() -> None:
    new = syncing(Mode.SNAP, A, database=memory(A, B))
    old = syncing(Mode.SNAP, A, database=memory(A, B), switches=switches("3.5.5"))
    for f in (new, old):
        leave(f)
    assert [*new.database.tree] == [A]
    assert [*old.database.tree] == [A, B]


def test_shutdown_loads_memory_anew_in_3_4_2() -> None:
    was_running = following(A, database=memory(A), to_log=(D,), switches=switches("3.4.2"))
    was_not = syncing(Mode.DIFF, A, database=memory(A, B), switches=switches("3.4.2"))
    for f in (was_running, was_not):
        leave(f)
    assert [*was_running.database.tree] == [A, D]
    assert [*was_not.database.tree] == [A]


def test_a_snapshot_that_is_there_already_leaves_one_that_is_not_forced() -> None:
    f = following(A, snapshots=(FIRST, snapshot(A.zxid, A)), database=memory(A), unforced=True)
    assert on_take_snapshot(f, 2, TakeSnapshot()) == []
    assert f.unforced
    f.database = memory(A, B)
    assert on_take_snapshot(f, 2, TakeSnapshot())[0] == Flush()
    assert not f.unforced


def test_the_next_snapshot_takes_one_to_the_disk_that_was_not_written_back() -> None:
    """N3."""
    f = following(A, snapshots=(FIRST, snapshot(A.zxid, A)), database=memory(A), unwritten=True)
    assert on_take_snapshot(f, 2, TakeSnapshot()) == []
    assert f.unwritten
    f.database = memory(A, B)
    assert written(on_take_snapshot(f, 2, TakeSnapshot())) == ["snapshots"]
    assert not f.unwritten


def test_shutdown_after_an_interrupted_trunc_keeps_memory() -> None:
    """5094."""
    new = syncing(Mode.TRUNC, A, database=memory(A, B), switches=switches(defects="none"))
    old = syncing(Mode.TRUNC, A, database=memory(A, B))
    for f in (new, old):
        leave(f)
    assert [*new.database.tree] == [A]
    assert [*old.database.tree] == [A, B]


def test_a_time_out_ends_an_iteration() -> None:
    assert on_timed_out(server(2, A), 2, TimedOut()) == []
    assert on_timed_out(following(A), 2, TimedOut()) == [GiveUp("time-out")]


@pytest.mark.parametrize("cut", [False, True])
def test_take_snapshot_while_running(cut: bool) -> None:
    f = following(A, D, database=memory(A, D))
    on_take_snapshot(f, 2, TakeSnapshot(cut))
    taken = snapshot(D.zxid, A, D)
    assert f.snapshots == ((taken,) if cut else (FIRST, taken))
    assert f.log == (() if cut else (A, D))
    assert on_take_snapshot(f, 2, TakeSnapshot(cut)) == []
    assert on_take_snapshot(server(2, A), 2, TakeSnapshot(cut)) == []


def test_a_tree_that_does_not_continue_what_was_delivered_is_delivered_anew() -> None:
    f = syncing(Mode.NONE, A, acknowledged=True, delivered=Chain.of([B]), database=memory(A, lpz=Zxid(2, 0)))
    assert len(deliver_tree(f)) == 1
    assert f.delivered == Chain.of([A])
