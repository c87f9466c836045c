"""The threads of a server, and that a coarse run is one of each finer grain."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from invariants import Accept, Chain, Deliver, Event, Txn, Zxid, select
from invariants.quorums import Quorums
from tests.zookeeper.model.builders import (
    A,
    B,
    D,
    following,
    leading,
    memory,
    sent,
    server,
    shown,
    switches,
    syncing,
    txn,
    written,
)
from tests.zookeeper.model.test_search import KEPT, kept
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Flush, GiveUp, Lost, Request, TimedOut
from zabcheck.protocols.base import Run as Turn
from zabcheck.search import swarm
from zabcheck.search.run import Run, Search, schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import leader, messages
from zabcheck.zookeeper.model.server import Link, Mode, Outstanding, Phase, Server, Todo, leave, on_timed_out
from zabcheck.zookeeper.model.switches import Grain, Release, ZooKeeperSwitches
from zabcheck.zookeeper.model.synchronisation import queued
from zabcheck.zookeeper.model.threads import HANDLING, SEPARATE, THREADS, on_run, separate, with_threads

ZOOKEEPER = PROTOCOLS["zookeeper"]
FINE: tuple[Grain, ...] = ("G1", "G2", "G3", "G4")
C = txn(2, 2)


def grained(grain: Grain, version: Any = "3.9.5") -> ZooKeeperSwitches:
    return ZooKeeperSwitches(grain=grain, version=version)


def turn(f: Server, thread: str) -> list[Any]:
    return on_run(f, f.id, Turn(thread))


def busy(f: Server) -> list[str]:
    return [name for name, (has_something, _) in THREADS.items() if has_something(f)]


def may_turn(f: Server, thread: str) -> bool:
    return separate(f.switches)[thread](f)


# The logging thread.


def test_sync_request_processor_appends_then_forces_then_acknowledges() -> None:
    f = following(A, to_log=(D, C), switches=grained("G2"))
    assert written(turn(f, "sync")) == ["log"]
    assert (f.log, f.to_log, f.to_flush) == ((A, D), (C,), (D,))
    turn(f, "sync")
    assert turn(f, "sync") == [Flush(), *turn_of_flush(D, C)]
    assert busy(f) == []


def turn_of_flush(*txns: Any) -> list[Any]:
    f = following(A, to_flush=txns)
    return turn(f, "sync")[1:]


def test_a_record_is_accepted_once_it_is_forced() -> None:
    f = following(A, to_log=(D,))
    [append] = turn(f, "sync")
    assert append.shows == (Accept(2, 0, 2, D),)
    assert sent(turn(f, "sync")) == [(1, messages.Ack(D.zxid))]


def test_what_newleader_has_left_to_the_logging_thread_is_not_accepted_again() -> None:
    f = following(A, to_log=(D,), adopted=(D,))
    assert shown(turn(f, "sync")) == []


def test_a_leader_acknowledges_for_itself_once_its_log_is_forced() -> None:
    leader = leading(A, to_flush=(D,), outstanding=(Outstanding(D, (2,)),))
    assert sent(turn(leader, "sync")) == [(2, messages.Commit(D.zxid))]
    assert leader.to_apply == (D,)


# The applying thread.


def test_commit_processor_applies_what_is_committed() -> None:
    f = following(A, D, database=memory(A), to_apply=(D,))
    assert shown(turn(f, "commit")) == [Deliver(2, 0, D)]
    assert f.to_apply == ()


# Which threads are separate.


@pytest.mark.parametrize(
    ("grain", "left"), [("G0", []), ("G1", []), ("G2", ["sync"]), ("G3", ["sync"]), ("G4", ["sync"])]
)
def test_a_request_leaves_to_a_separate_thread_what_it_has_to_do(grain: Grain, left: list[str]) -> None:
    leader = leading(A, switches=grained(grain))
    ZOOKEEPER.steps[Request](leader, 1, Request("2.1"))
    assert busy(leader) == left
    assert leader.log == ((A,) if left else (A, D))


def test_newleader_is_several_steps_of_the_main_thread() -> None:
    f = syncing(Mode.DIFF, A, kept=(B,), committed=(B.zxid,), switches=grained("G1"))
    assert ZOOKEEPER.steps[messages.NewLeader](f, 1, messages.NewLeader(2)) == []
    assert list(map(str, f.todo)) == ["log_kept", "adopt_epoch", "acknowledge"]
    assert written(turn(f, "main")) == ["log"]
    assert written(turn(f, "main")) == ["current_epoch"]
    assert sent(turn(f, "main")) == [(1, messages.Ack(Zxid(2, 0)))]


def test_3_8_writes_the_epoch_first() -> None:
    """4643."""
    f = syncing(Mode.SNAP, A, switches=grained("G1", "3.8.0"))
    ZOOKEEPER.steps[messages.NewLeader](f, 1, messages.NewLeader(2))
    assert list(map(str, f.todo)) == ["snapshot_of_leader", "adopt_epoch", "log_kept", "acknowledge"]


@pytest.mark.parametrize(
    ("stimulus", "end"),
    [
        (messages.UpToDate(), None),
        (TimedOut(), GiveUp("time-out")),
        (Lost(1), GiveUp("the leader closed the connection")),
    ],
)
def test_the_main_thread_finishes_before_it_reads_or_leaves(stimulus: Any, end: GiveUp | None) -> None:
    f = syncing(Mode.DIFF, A, kept=(B,), committed=(B.zxid,), switches=grained("G4"))
    ZOOKEEPER.steps[messages.NewLeader](f, 1, messages.NewLeader(2))
    effects = ZOOKEEPER.steps[type(stimulus)](f, 1, stimulus)
    assert written(effects) == ["log", "current_epoch"]
    assert sent(effects)[0] == (1, messages.Ack(Zxid(2, 0)))
    assert end is None or effects[-1] == end


# Leaving an iteration with threads that have something to do.


@pytest.mark.parametrize(
    ("version", "log", "tree", "late"),
    [
        ("3.4.10", (A, B), (A,), ()),  # 2845: memory stays
        ("3.5.5", (A, B), (A,), ()),  # 4712: memory is brought up to the log first
        ("3.8.0", (A,), (A,), (B,)),  # 4712: the thread goes on
        ("3.9.3", (A, B), (A, B), ()),
    ],
)
def test_shutdown_of_a_follower_by_version(version: Any, log: Any, tree: Any, late: Any) -> None:
    f = following(A, to_log=(B,), pending=(B,), switches=grained("G4", version))
    leave(f)
    assert f.log == log
    assert tuple(f.database.tree) == tree
    assert f.left_to_log == late


def test_shutdown_of_a_leader_drains_first_in_3_8_too() -> None:
    leader = leading(A, to_log=(D,), switches=grained("G4", "3.8.0"))
    leave(leader)
    assert (leader.log, tuple(leader.database.tree)) == ((A, D), (A, D))


def test_a_logging_thread_that_is_left_behind_appends_to_the_log_of_the_next_iteration() -> None:
    f = syncing(Mode.NONE, A, left_to_log=(B,), switches=grained("G4", "3.8.0"))
    effects = turn(f, "late sync")
    assert f.log == (A, B)
    assert sent(effects) == []


def test_an_applying_thread_that_is_left_behind_applies_again() -> None:
    """3598: committedLog then ends with what it already had; not since 3.9.4."""
    for version, last in (("3.9.3", B), ("3.9.5", D)):
        f = following(A, B, D, database=memory(A), to_apply=(B, D), switches=grained("G4", version))
        leave(f)
        assert [*f.database.tree] == [A, B, D]
        assert turn(f, "late commit") == []
        assert f.database.cache[-1] == last
        assert f.database.tree == Chain.of([A, B, D])


def test_an_applying_thread_lets_go_what_was_cut_off() -> None:
    f = server(2, A, left_to_apply=B, switches=grained("G4", "3.8.0"))
    assert turn(f, "late commit") == []
    assert [*f.database.tree] == [A]


def test_an_applying_thread_that_is_left_behind_may_be_ahead_of_the_log() -> None:
    """4712: the logging thread that is left behind, too, still has the record: memory has it, and the log has not."""
    f = following(A, database=memory(A), to_log=(B, D), to_apply=(B,), switches=grained("G4", "3.8.0"))
    leave(f)
    assert (f.database.lpz, f.left_to_log) == (A.zxid, (B, D))
    turn(f, "late commit")
    assert (f.database.lpz, f.log) == (B.zxid, (A,))
    ahead = server(2, A, left_to_apply=B, left_to_log=(B,), database=memory(A, B, D), switches=grained("G4", "3.8.0"))
    turn(ahead, "late commit")
    assert ahead.database.lpz == D.zxid


# Grains.


def all_at_once(run: Simulator) -> None:
    """Let each thread have its turns as a coarse run does: of a process always the first that has something to do.

    A handler has turns of its own in the coarsest grain, too.
    """
    while turns := [turn for turn in run.threads() if turn[1] not in HANDLING]:
        run.execute(choices.Run(*turns[0]))


def test_a_handler_takes_turns_only_where_that_is_asked_for() -> None:
    asked = [("3.3.1", "962"), ("3.4.10", "3104")]
    others = [("3.3.1", "all"), ("3.3.1", "none"), ("3.4.0-rc0", "962"), ("3.5.5", "3104"), ("3.3.1", "335")]
    for grain in SEPARATE:
        for (version, defects), takes in [*((each, True) for each in asked), *((each, False) for each in others)]:
            which = structs.replace(switches(version, defects), grain=grain)  # type: ignore[arg-type]  # both are names
            assert ("handler" in separate(which)) is takes, (version, defects)


def test_a_recording_may_show_that_the_log_is_forced_while_more_waits() -> None:
    f = following(A, B, to_flush=(B,), to_log=(D,), switches=grained("G5"))
    assert may_turn(f, "force")
    assert sent(turn(f, "force")) == [(1, messages.Ack(B.zxid))]
    assert (f.to_flush, f.to_log) == ((), (D,))
    assert not may_turn(f, "force"), "there is nothing more to force"


def test_a_recording_may_show_that_the_log_is_too_long_to_be_sent() -> None:
    """Once: the next follower is sent the log again."""
    leader = leading(A, B, database=memory(A, B, cache=()), switches=grained("G5"))
    assert isinstance(queued(leader, A.zxid).packets[0], messages.Diff)
    turn(leader, "log too long")
    assert not may_turn(leader, "log too long")
    assert isinstance(queued(leader, A.zxid).packets[0], messages.Snap)
    assert isinstance(queued(leader, A.zxid).packets[0], messages.Diff)


def test_a_recording_may_show_that_a_proposal_leaves_before_uptodate() -> None:
    one = leading(
        A, switches=grained("G5"), phase=Phase.SYNCHRONIZATION, epoch=2, links={2: Link.SYNCED, 3: Link.SYNCED}
    )
    one.todo = (Todo(leader.start_server),)
    turn(one, "start late")
    assert not may_turn(one, "start late")
    assert sent(turn(one, "main")) == []
    assert sent(leader.on_request(one, 1, Request("e"))) == [
        (2, messages.Proposal(Txn(Zxid(2, 1), "e"))),
        (3, messages.Proposal(Txn(Zxid(2, 1), "e"))),
    ]
    turn(one, "handlers sleep")
    assert sent(turn(one, "handlers")) == [(3, messages.UpToDate())]
    assert not may_turn(one, "handlers sleep"), "one is left"
    leader.handler_ends(one, 2)
    assert not may_turn(one, "handlers"), "and that one has ended"


def test_a_leader_may_count_as_applied_what_it_has_numbered_before_it_serves() -> None:
    one = leading(A, switches=grained("G5"), phase=Phase.SYNCHRONIZATION, epoch=2, links={2: Link.SYNCED})
    one.todo = (Todo(leader.start_server),)
    turn(one, "start early")
    assert not may_turn(one, "start early")
    leader.on_request(one, 1, Request("e"))
    turn(one, "main")
    assert one.database.lpz == Zxid(2, 1), "the zxid that was given out last"
    assert [*one.database.tree] == [A]


def assert_is_a_run_of(grain: Grain, schedule: Schedule) -> None:
    """Replay a coarse run in this grain, where each choice is followed by the turns that it leads to."""
    shown_there: list[Event] = []
    coarse = Simulator(ZOOKEEPER, schedule.processes, shown_there.append, switches=schedule.switches)
    for choice in schedule.choices:
        coarse.execute(choice)
    events: list[Event] = []
    finer = structs.replace(schedule.switches, grain=grain)
    fine = Simulator(ZOOKEEPER, schedule.processes, events.append, switches=finer)
    for choice in coarse.executed:
        assert fine.execute(choice) == 1
        all_at_once(fine)
    assert events == shown_there


@pytest.mark.parametrize("grain", FINE)
@pytest.mark.parametrize("name", [name for name in KEPT if kept(name).switches.grain == "G0"])
def test_a_coarse_run_is_one_of_each_finer_grain(grain: Grain, name: str) -> None:
    assert_is_a_run_of(grain, kept(name))


@pytest.mark.parametrize("version", ["3.4.10", "3.5.5", "3.8.0", "3.9.2", "3.9.5"])
def test_random_coarse_runs_are_runs_of_the_finest_grain(version: Any) -> None:
    names = tuple(kind.name for kind in select(ZOOKEEPER.properties))
    coarse: list[Run] = []
    fixed = {"version": version, "defects": "none", "grain": "G0"}
    search = Search(ZOOKEEPER, 3, names, 10, 150, 1, coarse.append, quorums=Quorums(3), fixed=fixed)
    assert swarm.find(search) is None
    for run in coarse:
        simulator = run.simulator
        steps = [choice for choice in simulator.executed if not choice.is_whole]
        assert_is_a_run_of("G4", schedule_of("zookeeper", None, 3, steps, switches=simulator.switches))


@pytest.mark.parametrize(
    ("version", "in_memory"), [("3.5.5", (A,)), ("3.8.0", (A,)), ("3.9.2", (A,)), ("3.9.3", (A, B)), ("3.9.5", (A, B))]
)
def test_what_is_appended_and_not_forced_is_not_read_where_nobody_waits_for_it(
    version: str, in_memory: tuple[Txn, ...]
) -> None:
    """It is in a buffer of Java, as a server of 3.8.0 has shown: so memory lacks it, and so does the vote (4712)."""
    f = following(A, B, to_flush=(B,), database=memory(A), switches=grained("G2", version))
    leave(f)
    assert tuple(f.database.tree) == in_memory
    assert f.log == (A, B)


def test_what_is_forced_by_another_thread_is_read() -> None:
    f = following(A, B, C, to_flush=(B,), database=memory(A), switches=grained("G4", "3.8.0"))
    leave(f)
    assert tuple(f.database.tree) == (A, B, C)


def test_a_disk_that_fails_leaves_memory_ahead_of_the_log() -> None:
    """4882: what is committed was applied, and is logged by nobody. The server goes on, and votes with it."""
    for version in ("3.5.5", "3.8.0", "3.9.5"):
        f = following(A, to_log=(B, D), switches=structs.replace(grained("G2", version), defects="4882"))
        f.database = memory(A, B)
        assert separate(f.switches)["sync fails"](f)
        effects = on_run(f, 2, Turn("sync fails"))
        assert (f.phase, f.log, f.to_log) == (Phase.LOOKING, (A,), ())
        assert f.database.lpz == B.zxid
        assert any(isinstance(each, GiveUp) for each in effects)
        assert not separate(f.switches)["sync fails"](f)


@pytest.mark.parametrize(("version", "applied"), [("3.9.5", [A, B]), ("pr-2268", [A])])
def test_a_server_whose_log_is_behind_may_load_its_database_again(version: Release, applied: list[Txn]) -> None:
    """4882, pull request 2268."""
    f = following(A, to_log=(B, D), switches=structs.replace(grained("G2", version), defects="4882"))
    f.database = memory(A, B)
    on_run(f, 2, Turn("sync fails"))
    assert [*f.database.tree] == applied


def test_a_disk_fails_only_where_that_is_asked_for_and_the_process_goes_on() -> None:
    asked = structs.replace(grained("G2", "3.9.5"), defects="4882")
    assert "sync fails" in separate(asked)
    for other in (
        structs.replace(asked, defects="all"),
        structs.replace(asked, defects="none"),
        structs.replace(asked, version="3.4.2"),
        structs.replace(asked, grain="G1"),
    ):
        assert "sync fails" not in separate(other)
    f = following(A, to_flush=(A,), to_log=(B,), switches=asked)
    assert not separate(asked)["sync fails"](f), "what is not forced yet is left out"


def test_each_grain_separates_more() -> None:
    separate = [set(threads) for threads in SEPARATE.values()]
    assert all(coarse < fine for coarse, fine in pairwise(separate))
    assert switches().grain == "G0"


@pytest.mark.parametrize(("flushing", "logged"), [((A,), ()), ((), (B,))])
def test_a_logging_thread_that_is_left_behind_may_end_with_its_next_acknowledgement(
    flushing: tuple[Txn, ...], logged: tuple[Txn, ...]
) -> None:
    """4409: what it was forcing, or appending, is on the disk. The rest is logged by nobody."""
    f = following(A, to_flush=flushing, to_log=(B, D), switches=grained("G4", "3.8.0"))
    leave(f)
    assert separate(f.switches)["late sync dies"](f)
    on_run(f, 2, Turn("late sync dies"))
    assert (f.log, f.left_to_log) == ((A, *logged), ())
    assert not separate(f.switches)["late sync dies"](f)


def test_it_ends_at_once_where_it_has_no_turn_of_its_own_or_where_it_is_waited_for() -> None:
    f = following(A, to_flush=(A,), to_log=(B, D), switches=grained("G2", "3.8.0"))
    with_threads(on_timed_out)(f, 2, TimedOut())
    assert (f.log, f.left_to_log) == ((A,), ())
    g = following(A, to_flush=(A,), to_log=(B, D), switches=structs.replace(grained("G2", "3.8.0"), defects="4409"))
    leave(g)
    assert (g.log, g.left_to_log) == ((A,), ())


def test_it_goes_on_in_releases_before_and_once_it_has_acknowledged() -> None:
    f = following(A, to_flush=(A,), to_log=(B, D), switches=grained("G4", "3.6.3"))
    leave(f)
    assert "late sync dies" not in separate(f.switches)
    on_run(f, 2, Turn("late sync"))
    assert f.log == (A, B)
    g = following(A, to_flush=(A,), to_log=(B, D), switches=grained("G4", "3.8.0"))
    leave(g)
    on_run(g, 2, Turn("late sync"))
    assert not separate(g.switches)["late sync dies"](g)
    assert g.left_to_log == (D,)
