"""Stops at points: what a schedule with them needs, and runs of a real ensemble whose threads are held."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.zookeeper import fake_zookeeper, real
from tests.zookeeper.notation import packed
from tests.zookeeper.processes import PATIENCE, is_left, ports_of, until
from tests.zookeeper.real import UNHURRIED, debian, is_sound, unhurried
from zabcheck.zookeeper.debugger.agent import port_told
from zabcheck.zookeeper.debugger.fields import FIELDS
from zabcheck.zookeeper.recording.folder import log_file, read
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    Chose,
    Disk,
    Ended,
    FieldsRead,
    Killed,
    Reached,
    Record,
    ZxidSet,
)
from zabcheck.zookeeper.report.runs import what_was_done
from zabcheck.zookeeper.run import debugged_process
from zabcheck.zookeeper.run import running as running_module
from zabcheck.zookeeper.run import server as server_module
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.points import AwaitStop, Fail, Go, ReadFields, RollOver, Step, Stop
from zabcheck.zookeeper.run.choices.servers import Elected, Pause, Resume
from zabcheck.zookeeper.run.choices.writes import Settle, Write
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.execute import Execution, execute
from zabcheck.zookeeper.run.running import Running
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, decode
from zabcheck.zookeeper.run.server import AS_BEFORE, LIMITS, PATIENT_LIMITS, configuration
from zabcheck.zookeeper.verdict.judge import judge

EXAMPLES = Path(__file__).parents[3] / "docs/examples"


def schedule(*choices: Choice) -> EnsembleSchedule:
    return EnsembleSchedule(2, "zookeeper", 3, choices)


def fake(folder: Path, behaviour: str) -> Distribution:
    """A Java that is none, with the jars of PySpark."""
    return Distribution("3.9.5", fake_zookeeper.java(folder, behaviour), real.classpath())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the recording. Real servers may take long to come up; in the end nobody listens to their ports."""
    monkeypatch.setattr("zabcheck.zookeeper.run.execute.UP_AT_FIRST", PATIENCE)
    folder = tmp_path / "run"
    folder.mkdir()
    yield folder
    assert [port for port in ports_of(folder) if is_left(port)] == []


def notes(records: list[Record]) -> dict[int, str]:
    """Why choices did nothing, by number."""
    return {record.number: record.note for record in records if isinstance(record, Chose) and record.note}


def test_a_point_that_this_version_lacks_is_told_before_anything_is_started(tmp_path: Path, run: Path) -> None:
    with pytest.raises(EnsembleError, match=r"has no point `learner-start-threads`: .* near it: learner-"):
        execute(schedule(Stop("A", "learner-start-threads")), fake(tmp_path, "serves"), run)
    assert list(run.iterdir()) == []


def test_a_java_without_the_agent_is_told(tmp_path: Path, run: Path) -> None:
    with pytest.raises(EnsembleError, match="needs the JDK's debug agent, and this Java comes without it"):
        execute(schedule(Stop("A", "ack")), fake(tmp_path, "agentless"), run)


def test_an_agent_that_does_not_come_up_is_told(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debugged_process, "AGENT_UP", 0.01)
    with pytest.raises(EnsembleError, match=r"the debug agent of server 1 was not there in 0\.01 s"):
        execute(schedule(Stop("A", "ack")), fake(tmp_path, "silent"), run)


def test_servers_whose_threads_are_held_wait_long() -> None:
    for patient, (init, sync) in ((False, LIMITS), (True, PATIENT_LIMITS)):
        text = configuration(1, "d", 1, AS_BEFORE, {1: (2, 3)}, patient)
        assert f"initLimit={init}\nsyncLimit={sync}\n" in text


HELD = schedule(
    Stop("B", "sync-force"),
    Stop("C", "sync-force"),
    Stop("C", "sync-force"),
    Write("A"),
    AwaitStop("B", "sync-force", PATIENCE),
    AwaitStop("C", "sync-force", PATIENCE),
    Settle(0.3),
    ReadFields("B", tuple(FIELDS)),
    ReadFields("A", tuple(FIELDS)),
    Step("B", "sync-force"),
    AwaitStop("B", "sync-force", PATIENCE),
    Stop("B", "leader-propose"),
    AwaitStop("B", "leader-propose", 0.1),
    Pause("C"),
    Go("C", "sync-force"),
    Resume("C"),
    Go("B", "sync-force"),
    Settle(PATIENCE),
    Go("B", "log-roll"),
    Step("B", "log-roll"),
    AwaitStop("B", "log-roll"),
)
"""Neither follower forces its log, until one may."""


def are_at_rest(running: Running, held: str) -> bool:
    """Return True if no server has anything left to do but to force a write, those in which a thread is held."""
    names = ("syncQueue", "commitQueue", "toFlush", "lastProcessedZxid")
    told = [running.stops.fields(running.number(role), names) for role in "ABC"]
    flushing = [int(role in held) for role in "ABC"]
    return told[0] is not None and told == [
        dict(zip(names, (0, 0, number, told[0]["lastProcessedZxid"]), strict=True)) for number in flushing
    ]


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
def test_a_write_is_acknowledged_when_the_thread_that_logs_it_may_go_on(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on with the first stop, and with a look at memory, when threads that nobody holds are at rest."""
    choose = Execution.choose

    def choose_at_rest(execution: Execution, number: int, choice: Choice) -> None:
        if number in (0, 7):
            until(lambda: are_at_rest(execution.running, "BC" if number else ""))
        choose(execution, number, choice)

    monkeypatch.setattr(Execution, "choose", choose_at_rest)
    execute(HELD, real.distribution(), run)
    records = list(read(run))
    assert notes(records) == {
        2: "passed over: something is to be stopped there already",
        6: "some writes have no answer",
        12: "no thread came",
        14: "passed over: it stands still",
        18: "passed over: nothing is to be stopped there",
        19: "passed over: no thread is held there",
        20: "passed over: nothing is to be stopped there",
    }
    reached = [record for record in records if isinstance(record, Reached)]
    assert [(each.point, each.what) for each in reached] == [("sync-force", "held")] * 2
    assert all(each.thread == f"SyncThread:{each.server}" for each in reached)
    acknowledged = [record for record in records if isinstance(record, Acknowledged)]
    released = next(record for record in records if isinstance(record, Chose) and record.number == 16)
    assert len(acknowledged) == 1
    assert acknowledged[0].time > released.time
    follower, leader = [record.values for record in records if isinstance(record, FieldsRead)]
    sessions = follower["lastProcessedZxid"]
    assert sessions is not None
    for values in (follower, leader):
        assert values.items() >= {"acceptedEpoch": 1, "currentEpoch": 1, "lastProcessedZxid": sessions}.items()
        assert (values["minCommittedLog"], values["maxCommittedLog"]) == (packed("1:1"), sessions)
        assert (values["syncQueue"], values["commitQueue"]) == (0, 0)
    assert (follower["toFlush"], follower["pendingTxns"], follower["outstandingProposals"]) == (1, 1, None)
    assert (leader["toFlush"], leader["pendingTxns"], leader["outstandingProposals"]) == (0, None, 1)
    assert (leader["lastProposed"], leader["lastCommitted"]) == (sessions + 1, sessions)
    assert any("outstandingProposals 1, lastProposed ⟨1," in words for _, words in what_was_done(run))
    assert any("SyncThread" in words and "is held" in words for _, words in what_was_done(run))
    assert isinstance(records[-1], Ended)
    assert records[-1].complete
    assert judge(run).wrong == []
    for server in (1, 2, 3):
        assert port_told(log_file(run, server, 0).read_text()) is not None


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
def test_an_exact_execution_that_cannot_go_on_says_which_thread_waits_for_which(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A's thread that proposes is held inside the leader's monitor, which an ACK needs: so B has nothing to commit.

    No follower acknowledges the proposal before until then, so that the ACK does come too late. What does come is
    waited for as long as it takes.
    """
    await_held = Running.await_held

    def held(running: Running, number: int, point: str) -> None:
        if point == "follower-commit":
            until(lambda: " waits for a monitor that ProcessThread" in running.stops.standing())
            monkeypatch.setattr(running_module, "EXACT_PATIENCE", 0.1)
        await_held(running, number, point)

    monkeypatch.setattr(running_module, "EXACT_PATIENCE", PATIENCE)
    monkeypatch.setattr(Running, "await_held", held)
    choices = (
        Stop("B", "ack"),
        Stop("C", "ack"),
        Stop("A", "leader-propose-send", 2),
        Stop("B", "follower-commit"),
        Write("A", 2),
        AwaitStop("A", "leader-propose-send", 0.0),
        Go("B", "ack"),
        Go("B", "follower-commit"),
    )
    with pytest.raises(EnsembleError) as raised:
        execute(schedule(*choices), real.distribution(), run, exact=True)
    told = str(raised.value)
    assert told.startswith("choice 7, let the thread of B at follower-commit go on: no thread came; server ")
    assert re.search(r"; server (\d): ProcessThread\(sid:\1 cport:-1\): is held at leader-propose-send;", told)
    assert re.search(r"; server \d: (SyncThread|Learner).* waits for a monitor that ProcessThread", told)
    assert told.count(": its main thread is in ") == 3
    assert "its main thread is in Leader.lead" in told
    *_, ended = read(run)
    assert isinstance(ended, Ended)
    assert (ended.complete, ended.error) == (False, told)


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
def test_a_full_disk_ends_the_server_that_logs(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that loses its leader just then forces its log as it shuts down, and tells of an error by a line.

    The run does not end before the server has told of it.
    """
    finish = Execution.finish

    def logs() -> list[str]:
        return [log_file(run, server, 0).read_text() for server in (1, 2, 3)]

    def finish_once_told(execution: Execution) -> None:
        until(lambda: any(line in log for line in FULL.values() for log in logs()))
        finish(execution)

    monkeypatch.setattr(Execution, "finish", finish_once_told)
    choices = (Fail("C", "log-force"), Write("A"), AwaitStop("C", "log-force", PATIENCE), Settle(PATIENCE))
    execute(schedule(*choices), real.distribution(), run)
    [reached] = [record for record in read(run) if isinstance(record, Reached)]
    assert reached.what == "failed"
    said = FULL[reached.thread == f"SyncThread:{reached.server}"]
    assert sum(said in log for log in logs()) == 1
    assert judge(run).wrong == []


FULL = {True: "java.io.IOException: No space left on device", False: "Got IO exception during shutdown"}
"""The line that tells of a full disk: when the thread that logs forces the log, and when another one does."""


def patient(name: str) -> EnsembleSchedule:
    """Read an example; what has to happen in it is waited for as long as it takes."""
    read = decode((EXAMPLES / name).read_bytes(), name)
    awaiting = AwaitStop | Settle | Elected
    return replace(
        read, choices=tuple(replace(c, seconds=PATIENCE) if isinstance(c, awaiting) else c for c in read.choices)
    )


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
def test_a_follower_that_is_killed_behind_its_epoch_loses_nothing_in_a_version_that_logs_first(run: Path) -> None:
    """ZOOKEEPER-4643; 3.8.0 loses a write with this schedule."""
    execute(patient("zookeeper-4643.schedule.json"), real.distribution(), run)
    [reached] = [record for record in read(run) if isinstance(record, Reached)]
    assert (reached.point, reached.what) == ("learner-epoch-written", "killed")
    assert reached.server in [record.server for record in read(run) if isinstance(record, Killed)]
    assert judge(run).wrong == []


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
def test_an_ack_of_before_a_trunc_still_counts(run: Path) -> None:
    """A write is acknowledged of which only one server has a record; no version that was run does better."""
    execute(patient("zookeeper-ack-before-trunc.schedule.json"), real.distribution(), run)
    assert notes(list(read(run))) == {}
    assert {"durability", "commits_are_kept_by_a_quorum"} <= set(judge(run).wrong)


def test_a_version_that_refuses_a_gap_is_not_made_to_roll_over(run: Path) -> None:
    rolls = EnsembleSchedule(2, "zookeeper", 3, (RollOver("leader", 2),))
    said = "`rollover` leaves a gap in the zxids, and ZooKeeper 3.9.5 refuses gaps"
    with pytest.raises(EnsembleError, match=f"^{re.escape(said)}$"):
        execute(rolls, Distribution("3.9.5", Path("java"), ""), run)


@pytest.mark.zookeeper
def test_a_counter_that_rolls_over_ends_the_epoch(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what is in the way is done in the next epoch, and nothing is lost.

    The writes that are in the way are answered when the leader has given up, and closes its clients' connections.
    """
    choices = (
        Write("A", 3),
        Settle(30.0),
        RollOver("leader", 2),
        Write("A", 2),
        Settle(30.0),
        Write("A", 3),
        Settle(30.0),
        Elected(30.0),
        Write("B", 3),
        Settle(30.0),
    )
    monkeypatch.setattr(server_module, "LIMITS", UNHURRIED)
    execute(EnsembleSchedule(2, "zookeeper", 3, choices, patient=False), debian(), run, exact=True)
    records = [*read(run)]
    [jump] = [record for record in records if isinstance(record, ZxidSet)]
    epoch = jump.before >> 32
    assert jump.after == epoch << 32 | 0xFFFF_FFFC
    logged = {txn.zxid for each in records if isinstance(each, Disk) for txn in each.log if txn.zxid > jump.before}
    assert min(logged) == epoch << 32 | 0xFFFF_FFFD
    assert epoch << 32 | 0xFFFF_FFFF not in logged
    assert min(zxid for zxid in logged if zxid >> 32 > epoch) & 0xFFFF_FFFF == 1
    judged = judge(run)
    assert is_sound(judged)
    assert not any("rolled over" in each for each in judged.noticed)


@pytest.mark.zookeeper
def test_3_8_0_loses_a_write_that_it_acknowledged(run: Path) -> None:
    """ZOOKEEPER-4712, with Debian's ZooKeeper: a follower that leaves between NEWLEADER and UPTODATE."""
    name = "zookeeper-lost-write.schedule.json"
    execute(unhurried(decode((EXAMPLES / name).read_bytes(), name)), debian(), run, exact=True)
    judged = judge(run)
    assert notes(list(read(run))) == {}
    assert "durability" in judged.wrong
    assert "ZOOKEEPER-4712" in [each.issue.key for each in judged.known]
