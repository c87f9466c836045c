"""Schedules on simulated servers: unmodified ones of 3.9.5, which PySpark brings."""

import os
import signal
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import msgspec
import pytest

from tests.cli.command import argv, environment
from tests.tiers import sweep
from tests.zookeeper.processes import until
from zabcheck.zookeeper.bugs.catalogue import named
from zabcheck.zookeeper.clients.exchange import read as read_history
from zabcheck.zookeeper.clients.judge import judge as judge_history
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    Asked,
    Cast,
    Chose,
    Ended,
    Exited,
    Heard,
    Killed,
    NotRead,
    Paused,
    PowerLost,
    Reached,
    Read,
    Reconfigures,
    Replied,
    Started,
    Wiped,
)
from zabcheck.zookeeper.run import execute as execute_module
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.links import Await, Delay, Heal, Hold, Isolate, KillAt, Release, Reset
from zabcheck.zookeeper.run.choices.points import AwaitStop, Fail, Go, PowerLoss, ReadFields, Step, Stop
from zabcheck.zookeeper.run.choices.reconfigure import Fixed, Readonly, Reconfigure, Writable
from zabcheck.zookeeper.run.choices.servers import (
    BackUp,
    Elected,
    Kill,
    KillAll,
    Pause,
    Restore,
    Resume,
    Start,
    StartAll,
    Wipe,
)
from zabcheck.zookeeper.run.choices.sessions import EndSession, Ephemeral, Get, Move, Multi, SetData, Watch
from zabcheck.zookeeper.run.choices.writes import Settle, Wait, Write
from zabcheck.zookeeper.run.distribution import PYSPARK, Distribution, find
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.running import Running
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, JvmProperty, ThreadOrder, decode
from zabcheck.zookeeper.run.search import attempt
from zabcheck.zookeeper.simulated import ensemble, pool
from zabcheck.zookeeper.simulated import simulator as simulator_module
from zabcheck.zookeeper.simulated.clients import SimulatedClient
from zabcheck.zookeeper.simulated.execute import SimulatedRun, execute
from zabcheck.zookeeper.simulated.pool import simulated
from zabcheck.zookeeper.simulated.simulator import Simulator, SimulatorDied
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.trace.notes import ListsPart
from zabcheck.zookeeper.verdict.clients import history_of, lines_of
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge


@pytest.fixture(scope="module")
def build() -> Distribution:
    return find(classpath=PYSPARK)


@pytest.fixture(scope="module")
def simulator(build: Distribution) -> Iterator[Simulator]:
    simulator = Simulator(build)
    yield simulator
    simulator.close()


class Run:
    """An execution: its folder, what it came to, and the verdict."""

    def __init__(self, simulator: Simulator, folder: Path, schedule: EnsembleSchedule, order: ThreadOrder) -> None:
        folder.mkdir()
        self.folder = folder
        self.ended: SimulatedRun = execute(schedule, simulator, folder, order)
        self.records = list(read(folder))

    @property
    def judged(self) -> RecordingVerdict:
        return judge(self.folder)

    @property
    def bytes(self) -> str:
        """A hash of the recording and of the servers' logs."""
        files = [self.folder / "recording.jsonl", *sorted(self.folder.glob("*.log"))]
        return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()

    @property
    def undone(self) -> list[str]:
        return [record.note for record in self.records if isinstance(record, Chose) and record.note]


def run_of(simulator: Simulator, folder: Path, *choices: Choice, observers: int = 0, seed: int = 1) -> Run:
    schedule = EnsembleSchedule(2, "zookeeper", 3, choices, observers=observers)
    return Run(simulator, folder, schedule, ThreadOrder(seed))


@pytest.mark.parametrize("name", sweep(["4837", "trunc-keeps-one", "2832"], normal=["2832"]))
def test_a_known_bug_shows(simulator: Simulator, tmp_path: Path, name: str) -> None:
    """Threads are held, power fails, or servers are kept in step with a run of the model."""
    run = Run(simulator, tmp_path / "run", named(name).schedule(), ThreadOrder(1))
    assert "final agreement" in run.judged.wrong
    assert run.undone == []
    assert run.ended.leaked == 0


def test_servers_that_try_again_without_end_end_the_run(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server does that has promised a later epoch than its leader has, after a disk was wiped."""
    monkeypatch.setattr(ensemble, "MOST_CONNECTIONS", 8)
    with pytest.raises(EnsembleError, match=r"^servers have made 8 connections, and try again without end"):
        run_of(simulator, tmp_path / "run", Kill("C"), Start("C"), Settle(2.0))
    *_, last = read(tmp_path / "run")
    assert isinstance(last, Ended)
    assert last.error.startswith("servers have made 8 connections")


@pytest.mark.parametrize("replaced", [Wipe("C"), Restore("C")])
def test_a_server_whose_disk_was_emptied_or_restored_catches_up(
    simulator: Simulator, tmp_path: Path, replaced: Choice
) -> None:
    """Nothing is wrong while the others have everything; what a quorum has lost with a disk is lost."""
    before = (Write("A", 2), Settle(5.0), BackUp("C"), Write("A", 3), Settle(5.0))
    run = run_of(simulator, tmp_path / "run", *before, Kill("C"), replaced, Start("C"), Settle(2.0))
    assert (run.judged.wrong, run.undone) == ([], [])
    [wiped] = [record for record in run.records if isinstance(record, Wiped)]
    assert (wiped.copy is None) == isinstance(replaced, Wipe)
    assert wiped.copy is None or 0 < len(wiped.copy.log) < 7
    alone = (Kill("B"), Write("A", 3), Settle(5.0), KillAll(), replaced, Start("B"), Start("C"), Elected(5.0))
    assert "durability" in run_of(simulator, tmp_path / "lost", *before, *alone, Write("B")).judged.wrong


def test_a_disk_is_replaced_only_while_its_server_is_down_and_by_a_copy_that_is_there(
    simulator: Simulator, tmp_path: Path
) -> None:
    run = run_of(simulator, tmp_path / "run", Wipe("C"), Restore("C"), Kill("C"), Restore("C"))
    assert [each.split(": ")[-1] for each in run.undone] == ["it is up", "it is up", "there is no copy"]


@pytest.mark.slow
def test_simulated_servers_have_the_properties_of_a_schedule(build: Distribution, tmp_path: Path) -> None:
    with simulated(build) as quick:
        for value in ("true", "false"):
            properties = (JvmProperty("zookeeper.snapshot.trust.empty", value),)
            schedule = EnsembleSchedule(2, "zookeeper", 3, (), properties=properties)
            attempt(schedule, quick, tmp_path / value)
            said = (tmp_path / value / "server-1.0.log").read_text()
            assert f"zookeeper.snapshot.trust.empty : {value}" in said


def test_servers_that_differ_at_the_end_are_read_once_more(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write whose client has lost its connection may be committed between two reads."""
    numbers, read_all = count(), SimulatedClient.read_all

    def read(client: SimulatedClient, seconds: float) -> Read | NotRead:
        found = read_all(client, seconds)
        assert isinstance(found, Read)
        return msgspec.structs.replace(found, nodes=()) if next(numbers) == 0 else found

    monkeypatch.setattr(SimulatedClient, "read_all", read)
    run = run_of(simulator, tmp_path / "run", Write("A"), Settle(5))
    assert [len(each.nodes) for each in run.records if isinstance(each, Read)] == [1, 1, 1]
    assert next(numbers) == 6


def test_a_server_is_read_to_the_end_however_long_that_takes(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that stand still at times make hundreds of answers slow: each of them has the time that is given."""
    monkeypatch.setattr(execute_module, "READ_AT_LAST", 10.0)
    schedule = EnsembleSchedule(1, "zookeeper", 3, (Write("A", 200), Settle(5)))
    run = Run(simulator, tmp_path / "run", schedule, ThreadOrder(3, "uniform", 0, 500))
    assert [each.server for each in run.records if isinstance(each, Read)] == [1, 2, 3]


def test_the_same_order_gives_the_same_bytes(simulator: Simulator, tmp_path: Path) -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (Write("A", 20), Kill("leader"), Elected(), Start("A"), Write("A")))
    order = ThreadOrder(7, "uniform", 100, 1000)
    first, second = (Run(simulator, tmp_path / name, schedule, order) for name in ("first", "second"))
    assert first.bytes == second.bytes
    assert Run(simulator, tmp_path / "other", schedule, ThreadOrder(8)).bytes != first.bytes
    decided = msgspec.structs.replace(order, decisions=first.ended.decisions)
    assert first.ended.decisions
    again = Run(simulator, tmp_path / "decided", schedule, decided)
    assert (again.bytes, again.ended.decisions) == (first.bytes, first.ended.decisions)
    assert Run(simulator, tmp_path / "default", schedule, ThreadOrder(7, decisions="")).ended.decisions == ""


def test_links(simulator: Simulator, tmp_path: Path) -> None:
    run = run_of(
        simulator,
        tmp_path / "run",
        Hold("A", "B", "COMMIT"),
        Write("A"),
        Wait(0.5),
        Release("A", "B"),
        Delay("A", "C", 50),
        Write("B", 5),
        Settle(5),
        Isolate("A"),
        Elected(10),
        KillAt("leader", "leader", "C", "PROPOSAL"),
        Write("B", 5),
    )
    assert run.undone == []
    assert run.judged.wrong == []
    assert sum(isinstance(record, Acknowledged) for record in run.records) >= 6


@pytest.mark.parametrize("down", [False, True])
def test_failures_at_one_point_come_in_turn(simulator: Simulator, tmp_path: Path, down: bool) -> None:
    """The server may be down when they are asked for. Another stop there is passed over."""
    fails = (Fail("C", "file-sync"), Fail("C", "file-sync"), Stop("C", "file-sync"))
    choices = (Kill("C"), *fails, Start("C"), Kill("A")) if down else (*fails, Kill("A"))
    schedule = EnsembleSchedule(2, "zookeeper", 3, (*choices, Wait(20)), patient=False)
    run = Run(simulator, tmp_path / "run", schedule, ThreadOrder(1))
    assert run.undone == ["passed over: something is to be stopped there already"]
    reached = [(each.point, each.what) for each in run.records if isinstance(each, Reached)]
    assert reached == [("file-sync", "failed")] * 2


@pytest.mark.slow
def test_servers_that_wait_long_for_each_other_are_waited_for(simulator: Simulator, tmp_path: Path) -> None:
    """C comes back while the other waits for it in Leader.waitForEpochAck, for 2 minutes: that is a setting of ours."""
    choices = (
        Write("A", 2),
        Settle(5),
        Fail("C", "file-rename"),
        Kill("A"),
        AwaitStop("C", "file-rename"),
        Kill("C"),
        Start("C"),
    )
    run = run_of(simulator, tmp_path / "run", *choices)
    assert [each.server for each in run.records if isinstance(each, Read)] == [1, 2, 3]
    assert run.judged.wrong == []


def test_the_log_of_a_server_that_does_not_serve_is_told(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UP_AT_LAST", "READ_AT_LAST"):
        monkeypatch.setattr(execute_module, name, 0.0)
    monkeypatch.setattr(Running, "serves", lambda *_: False)
    run = run_of(simulator, tmp_path / "run", Wait(0.1))
    not_read = [each for each in run.records if isinstance(each, NotRead)]
    assert {each.error for each in not_read} == {"does not serve 0 s after everything is healed"}
    assert all(each.said for each in not_read)


def test_servers_and_observers(simulator: Simulator, tmp_path: Path) -> None:
    run = run_of(
        simulator, tmp_path / "run", Pause("B"), Write("D"), Settle(5), Resume("B"), Kill("D"), Start("D"), observers=1
    )
    assert run.undone == []
    assert run.judged.wrong == []
    assert any(isinstance(record, Paused) for record in run.records)
    assert len([record for record in run.records if isinstance(record, Read)]) == 4


def test_sessions(simulator: Simulator, tmp_path: Path) -> None:
    run = run_of(
        simulator,
        tmp_path / "run",
        SetData("A", 3),
        Ephemeral("B", 2),
        Settle(5),
        Move("A", "C"),
        SetData("A"),
        EndSession("B", "expire"),
        Wait(5),
    )
    assert run.undone == []
    assert run.judged.wrong == []
    assert [record.error for record in run.records if isinstance(record, Replied)] == [""] * 7


def test_sessions_that_watch(simulator: Simulator, tmp_path: Path) -> None:
    run = run_of(
        simulator,
        tmp_path / "run",
        Watch("B", of="A", how="exists"),
        SetData("A"),
        Watch("B", of="A", how="persistent"),
        Settle(5),
        SetData("A", 2),
        Settle(5),
    )
    assert run.undone == []
    assert run.judged.wrong == []
    assert {each.property: each.status for each in run.judged.clients}["watches"] == "holds"
    told = [record.type for record in run.records if isinstance(record, Heard)]
    assert told == ["NodeCreated", "NodeDataChanged", "NodeDataChanged"]


def test_a_session_that_watches_the_children_of_the_root(simulator: Simulator, tmp_path: Path) -> None:
    """The nodes of the clients that write are among them, and in no history of sessions."""
    watch = Watch("B", how="children")
    run = run_of(
        simulator,
        tmp_path / "run",
        *(watch, Ephemeral("A"), Settle(5), watch, Write("A"), Settle(5), watch, Settle(5), Multi("A"), Get("B")),
        Settle(5),
    )
    assert run.undone == []
    assert run.judged.wrong == []
    [watches] = [each for each in run.judged.clients if each.property == "watches"]
    assert (watches.status, watches.judged >= 3) == ("holds", True)
    told = [(record.type, record.path) for record in run.records if isinstance(record, Heard)]
    assert told == [("NodeChildrenChanged", "/")] * 3
    history = read_history(lines_of(history_of(read_sorted(tmp_path / "run"))), "history")
    assert [each.promise.name for each in judge_history(history) if each.breach is not None] == []


@pytest.fixture(scope="module")
def reconfigured(build: Distribution) -> Iterator[Distribution]:
    """Servers of a build that are simulated, whatever properties of the JVM a schedule needs."""
    with simulated(build) as servers:
        yield servers


@pytest.mark.slow
def test_servers_that_are_reconfigured_go_on_as_they_were_told_after_a_restart(
    reconfigured: Distribution, tmp_path: Path
) -> None:
    """The observer votes, a voter leaves: A and D alone are a quorum of the three that are left, with B down."""
    asked = Reconfigure("B", voters=("D",), leaving=("C",))
    back = (KillAll(), Start("A"), Start("D"), Elected(10), Write("A", 3), Settle(5))
    schedule = EnsembleSchedule(
        2, "zookeeper", 3, (Write("A", 3), Settle(5), asked, Settle(5), Kill("C"), *back), observers=1
    )
    tried = attempt(schedule, reconfigured, tmp_path / "run", keep_data=True)
    records = list(read(tmp_path / "run"))
    [record] = [each for each in records if isinstance(each, Reconfigures)]
    numbers = next(each.roles for each in records if isinstance(each, Cast))
    assert (record.voters, record.observers, record.leaving) == ((4,), (), (numbers["C"],))
    assert [each.error for each in records if isinstance(each, Replied)] == [""]
    assert sum(isinstance(each, Acknowledged) for each in records) == 6
    assert tried.error == ""
    *_, members = sorted((tmp_path / "run/server-4").glob("zoo.cfg.dynamic.*"))
    assert "server.4=127.0.0.1:20041:20042:participant;127.0.0.1:20043" in members.read_text()


@pytest.mark.slow
def test_an_observer_that_logs_is_made_a_voter_and_keeps_what_it_acknowledged(
    reconfigured: Distribution, tmp_path: Path
) -> None:
    """The schedule is that of *unlogged-voter* without the property that it sets, and nothing is lost."""
    schedule = msgspec.structs.replace(named("unlogged-voter").schedule(), properties=())
    tried = attempt(schedule, reconfigured, tmp_path / "run")
    assert tried.judged.wrong == []
    assert {len(each.nodes) for each in read(tmp_path / "run") if isinstance(each, Read)} == {21}


@pytest.mark.slow
def test_a_configuration_that_is_not_committed_parts_an_ensemble(reconfigured: Distribution, tmp_path: Path) -> None:
    """D is brought up to date while it is proposed, and activates it: {A, D} and {B, C} both elect, and both serve."""
    tried = attempt(named("pending-config").schedule(), reconfigured, tmp_path / "run")
    assert "epoch uniqueness" in tried.judged.violated
    assert [match.issue.name for match in tried.judged.known] == ["pending-config"]
    reads = {each.server: {path for path, _ in each.nodes} for each in read(tmp_path / "run") if isinstance(each, Read)}
    roles = next(each.roles for each in read(tmp_path / "run") if isinstance(each, Cast))
    a, b, c, d = (reads[roles[role]] for role in "ABCD")
    assert (len(a), len(b), a & b) == (3, 3, set())
    assert (a, b) == (d, c)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "breaks"),
    [
        ("skipped-config", "agreement"),
        ("old-config-epoch", "durability"),
        ("observer-counted", "final agreement"),
        ("nobody-designated", "local primary order"),
    ],
)
def test_a_configuration_that_is_skipped_not_asked_or_not_activated(
    reconfigured: Distribution, tmp_path: Path, name: str, breaks: str
) -> None:
    tried = attempt(named(name).schedule(), reconfigured, tmp_path / "run")
    assert breaks in tried.judged.violated
    assert name in [match.issue.name for match in tried.judged.known]
    assert [each for each in read(tmp_path / "run") if isinstance(each, Chose) and each.note] == []


@pytest.mark.slow
def test_a_server_that_takes_no_other_list_never_ends_its_election(reconfigured: Distribution, tmp_path: Path) -> None:
    """C hears of the list with D from each other server, shuts its election down, and begins it again."""
    away = Fixed("C"), Fixed("C"), Kill("C"), Start("D", ("A", "B", "C", "D")), Wait(5.0), Reconfigure("A", ("D",))
    back = Settle(5.0), Start("C"), Wait(3.0), Write("C"), Settle(2.0), Kill("C"), Start("C", ("A", "B", "C", "D"))
    schedule = EnsembleSchedule(2, "zookeeper", 3, (*away, *back, Settle(20.0)), joiners=1)
    tried = attempt(schedule, reconfigured, tmp_path / "run")
    notes = [each.note for each in read(tmp_path / "run") if isinstance(each, Chose) and each.note]
    assert notes == ["passed over: it has that", "some writes have no answer"]
    assert tried.judged.wrong == []
    said = "".join(path.read_text() for path in (tmp_path / "run").glob("server-1.1.log"))
    assert said.count("restarting leader election") > 20


@pytest.mark.slow
def test_servers_that_cannot_write_a_configuration_go_on_in_the_one_before(
    reconfigured: Distribution, tmp_path: Path
) -> None:
    """{B, C} and {A, D, E} both elect and serve after a restart, though no link was cut."""
    tried = attempt(named("unwritten-config").schedule(), reconfigured, tmp_path / "run")
    assert "epoch uniqueness" in tried.judged.violated
    assert [match.issue.name for match in tried.judged.known] == ["unwritten-config"]
    records = list(read(tmp_path / "run"))
    assert [each for each in records if isinstance(each, Chose) and each.note] == []
    reads = {each.server: len(each.nodes) for each in records if isinstance(each, Read)}
    roles = next(each.roles for each in records if isinstance(each, Cast))
    assert {role: reads[server] for role, server in roles.items()} == {"A": 10, "B": 9, "C": 9, "D": 10, "E": 10}
    assert sum(isinstance(each, Acknowledged) for each in records) == 13


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zookeeper-two-lists", "zookeeper-one-list-after-another"])
def test_servers_that_get_a_longer_list_one_after_another_part_or_not(
    reconfigured: Distribution, tmp_path: Path, name: str
) -> None:
    """They do what `zookeeper scale` says: {2,3} acknowledge a write, {1,4,5} elect without it, unless 5 comes last."""
    schedule = decode((Path(__file__).parents[3] / f"docs/examples/{name}.schedule.json").read_bytes(), name)
    tried = attempt(schedule, reconfigured, tmp_path / "run")
    parts = name == "zookeeper-two-lists"
    records = list(read(tmp_path / "run"))
    started = [each for each in records if isinstance(each, Started) and each.voters]
    assert sorted({*((each.server, each.voters) for each in started)}) == [
        (each, (1, 2, 3, 4, 5)) for each in range(1, 6)
    ]
    notes = [note for note in tried.judged.observation.notes if isinstance(note, ListsPart)]
    assert notes == [ListsPart((2, 3), (1, 4, 5))] * parts
    assert [match.issue.name for match in tried.judged.known] == ["two-lists"] * parts
    assert ("durability" in tried.judged.violated) == parts
    assert parts or tried.judged.wrong == []
    acknowledged = sum(isinstance(each, Acknowledged) for each in records)
    assert {len(each.nodes) for each in records if isinstance(each, Read)} == {acknowledged - 3 * parts}


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "lost"), [("skipped-config", 2), ("old-config-epoch", 3)])
def test_four_servers_are_enough_to_lose_writes(
    reconfigured: Distribution, tmp_path: Path, bug: str, lost: int
) -> None:
    """Writes that the new configuration has acknowledged are at no server any more."""
    name = f"zookeeper-{bug}-four-servers.schedule.json"
    schedule = decode((Path(__file__).parents[3] / "docs/examples" / name).read_bytes(), name)
    tried = attempt(schedule, reconfigured, tmp_path / "run")
    assert {"durability", "agreement", "primary integrity"} <= {*tried.judged.violated}
    assert [match.issue.name for match in tried.judged.known] == [bug]
    records = list(read(tmp_path / "run"))
    acknowledged = sum(isinstance(each, Acknowledged) for each in records)
    assert {len(each.nodes) for each in records if isinstance(each, Read)} == {acknowledged - lost}


@pytest.mark.slow
def test_two_groups_lead_one_epoch_if_the_leader_gets_the_longer_list_first(
    reconfigured: Distribution, tmp_path: Path
) -> None:
    """Server 3 leads at first: then 1 and 2 elect as 3, 4 and 5 do, and differ for good."""
    name = "zookeeper-two-lists-one-epoch.schedule.json"
    schedule = decode((Path(__file__).parents[3] / "docs/examples" / name).read_bytes(), name)
    tried = attempt(schedule, reconfigured, tmp_path / "run")
    assert {"epoch uniqueness", "zxid uniqueness", "final agreement"} <= {*tried.judged.violated}
    assert [match.issue.name for match in tried.judged.known] == ["two-lists"]
    assert ListsPart((1, 2), (3, 4, 5)) in tried.judged.observation.notes


@pytest.mark.slow
def test_an_ensemble_stands_still_behind_a_configuration_that_is_not_committed(
    reconfigured: Distribution, tmp_path: Path
) -> None:
    """C counts as synchronised before it is; then three of five are never there, and the leader does not give up."""
    pending = (
        *(Reconfigure("A", leaving=("C",)), Settle(5), Wait(1.0)),
        *(Hold("A", "C", "NEWLEADER"), Reset("A", "C"), Await("A", "C", 3.0)),
        *(Reconfigure("A", voters=("C", "D", "E")), Wait(10.0), Heal(), Wait(30.0), Write("B", 3), Settle(20.0)),
    )
    again = Kill("A"), Start("A"), Wait(10.0), Write("B", 3), Settle(10.0)
    attempt(EnsembleSchedule(2, "zookeeper", 3, (*pending, *again), observers=2), reconfigured, tmp_path / "run")
    records = list(read(tmp_path / "run"))
    told = [type(each) for each in records if isinstance(each, Acknowledged | Asked | Killed)]
    assert told[:4] == [Asked, Asked, Asked, Killed]
    assert told.count(Acknowledged) == 3
    assert [each.error for each in records if isinstance(each, Replied)] == ["", "ConnectionLoss"]


@pytest.mark.slow
def test_a_server_writes_its_configuration_once_it_can_again(reconfigured: Distribution, tmp_path: Path) -> None:
    ask = Reconfigure("A", voters=("D",)), Settle(5), Wait(0.5)
    ask_again = Reconfigure("A", observers=("D",)), Settle(5), Wait(0.5)
    choices = (Writable("B"), Readonly("B"), Readonly("B"), *ask, Writable("B"), Readonly("C"), *ask_again)
    attempt(EnsembleSchedule(2, "zookeeper", 3, choices, observers=1), reconfigured, tmp_path / "run", keep_data=True)
    records = list(read(tmp_path / "run"))
    undone = {each.number: each.note for each in records if isinstance(each, Chose) and each.note}
    assert undone == {0: "passed over: it can write it as it is", 2: "passed over: it cannot write it as it is"}
    roles = next(each.roles for each in records if isinstance(each, Cast))
    said = {role: (tmp_path / f"run/server-{server}/zoo.cfg").read_text() for role, server in roles.items()}
    named_last = {role: text.rpartition("dynamicConfigFile=")[2].rpartition(".")[2] for role, text in said.items()}
    assert named_last["B"] == named_last["A"]
    assert int(named_last["C"], 16) < int(named_last["B"], 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "broken"), [("stale-sync", "sync"), ("ZOOKEEPER-1675", "sync"), ("eager-refusal", "session order")]
)
def test_what_clients_are_told_out_of_turn(bug: str, broken: str, reconfigured: Distribution, tmp_path: Path) -> None:
    tried = attempt(named(bug).schedule(), reconfigured, tmp_path / "run")
    assert [each for each in read(tmp_path / "run") if isinstance(each, Chose) and each.note] == []
    assert tried.judged.wrong == [broken]
    assert [match.issue.name for match in tried.judged.known] == [bug]


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "broken"), [("ZOOKEEPER-4837", "data agreement"), ("half-record", "changes last")])
def test_a_session_sees_what_a_disk_has_kept_or_lost(
    bug: str, broken: str, reconfigured: Distribution, tmp_path: Path
) -> None:
    """The schedule of the catalogue writes, and reads nothing; here a session sets data in place of each write."""
    schedule = named(bug).schedule()
    choices = tuple(SetData(each.server) if isinstance(each, Write) else each for each in schedule.choices)
    tried = attempt(msgspec.structs.replace(schedule, choices=choices), reconfigured, tmp_path / "run")
    assert broken in tried.judged.wrong
    history = read_history(lines_of(history_of(read_sorted(tmp_path / "run"))), "history")
    assert [each.promise.name for each in judge_history(history) if each.breach is not None][:1] == [
        "reads as of one zxid"
    ]


def test_points(simulator: Simulator, tmp_path: Path) -> None:
    run = run_of(
        simulator,
        tmp_path / "run",
        Stop("B", "sync-append"),
        Write("A"),
        AwaitStop("B", "sync-append"),
        ReadFields("B", ("currentEpoch", "syncQueue", "lastProcessedZxid")),
        Step("B", "sync-append"),
        Go("B", "sync-append"),
        PowerLoss("C", "log-force"),
        Write("A"),
        AwaitStop("C", "log-force"),
        Start("C"),
    )
    assert run.undone == []
    assert run.judged.wrong == []
    [lost] = [record for record in run.records if isinstance(record, PowerLost)]
    assert lost.lost == 1


def test_a_power_loss_undoes_the_name_of_an_epoch_that_was_promised(simulator: Simulator, tmp_path: Path) -> None:
    at = "learner-promised"
    run = run_of(
        simulator, tmp_path / "run", KillAll(), PowerLoss("C", at, renames="undone"), StartAll(), AwaitStop("C", at)
    )
    assert run.undone == []
    [lost] = [record for record in run.records if isinstance(record, PowerLost)]
    assert lost.undone == ("acceptedEpoch",)


@pytest.mark.slow
def test_drawn_power_losses_undo_names(simulator: Simulator, tmp_path: Path) -> None:
    run = Run(simulator, tmp_path / "run", draw(18, 3, disks=True), ThreadOrder(18))
    undone = [record.undone for record in run.records if isinstance(record, PowerLost)]
    assert undone == [("currentEpoch",), ("acceptedEpoch",)]


def test_a_server_that_cannot_start_is_told(simulator: Simulator, tmp_path: Path) -> None:
    run = Run(simulator, tmp_path / "run", named("1653").schedule(), ThreadOrder(1))
    assert "could not start" in run.judged.wrong
    assert any(isinstance(record, Exited) and record.code for record in run.records)
    assert not any(isinstance(record, Wiped) for record in run.records)


@pytest.mark.slow
def test_attempts_draw_an_order_each(build: Distribution, tmp_path: Path) -> None:
    schedule = EnsembleSchedule(2, "zookeeper", 3, (Write("A"), Settle(5)), seed=3)
    with simulated(build) as servers:
        first, second = (attempt(schedule, servers, tmp_path / "run") for _ in range(2))
        assert first.schedule.simulated is not None
        assert first.schedule.simulated != second.schedule.simulated
        again = attempt(first.schedule, servers, tmp_path / "run")
    assert again.schedule == first.schedule
    assert not first.judged.wrong
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"recording.jsonl", "server-1.0.log"}


def test_jars_that_are_no_zookeeper_are_told(build: Distribution, tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match=r"cannot start a simulation: .*expected a class org\.apache\.zookeeper"):
        Simulator(build._replace(classpath=str(tmp_path)))


def test_a_jvm_that_dies_is_told(build: Distribution, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    other = Simulator(build)
    other.close()
    with pytest.raises(SimulatorDied, match="the simulation failed: it has ended"):
        execute(EnsembleSchedule(2, "zookeeper", 3, ()), other, tmp_path / "run", ThreadOrder())


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [1, 2])
def test_the_run_of_a_jvm_that_dies_is_repeated_once(
    build: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """With the same order of threads, in an empty folder, and in another JVM."""
    seen: list[tuple[object, ThreadOrder]] = []

    class Jvm:
        alive = False

        def close(self) -> None:
            pass

        def cpu(self) -> float:
            return 2.5

    def executed(schedule: object, simulator: object, folder: Path, order: ThreadOrder, *_: object) -> SimulatedRun:
        assert not list(folder.iterdir())
        (folder / "recording.jsonl").touch()
        seen.append((simulator, order))
        if len(seen) <= deaths:
            raise SimulatorDied("the simulation failed: it has ended")
        return SimulatedRun("3:1", ["A.b:1"], 17, 1, 1, 1, 0)

    monkeypatch.setattr(pool, "execute", executed)
    monkeypatch.setattr(pool, "Simulator", lambda _: Jvm())
    simulators = pool.Simulators(build)
    schedule = EnsembleSchedule(2, "zookeeper", 3, (), seed=3)
    if deaths == 1:
        done = simulators.execute(schedule, tmp_path, None, False)
        assert done.simulated == msgspec.structs.replace(seen[0][1], decisions="3:1", places=("A.b:1",), java=17)
    else:
        with pytest.raises(SimulatorDied):
            simulators.execute(schedule, tmp_path, None, False)
    [(first, order), (second, again)] = seen
    assert first is not second
    assert order == again
    assert simulators.cpu() == 5.0


@pytest.mark.slow
def test_ctrl_c_is_not_taken_for_a_jvm_that_died(
    build: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes as an answer is awaited; clients and servers are ended after that."""
    decode, answers = simulator_module._decoder.decode, count()

    class Interrupting:
        @staticmethod
        def decode(line: bytes) -> object:
            if next(answers) == 100:
                raise KeyboardInterrupt
            return decode(line)

    monkeypatch.setattr(simulator_module, "_decoder", Interrupting)
    with simulated(build) as simulation:
        tried = attempt(EnsembleSchedule(2, "zookeeper", 3, (Write("A"),)), simulation, tmp_path / "run")
    assert (tried.interrupted, tried.error) == (True, "")
    assert next(answers) == 101, "nothing was asked after that"


@pytest.mark.slow
@pytest.mark.xdist_group("simulated")
def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    """A terminal sends it to the command, and to the JVMs."""
    (tmp_path / "tmp").mkdir()
    arguments = ("zookeeper", "--simulated", "--runs", "1000", "--jobs", "2", "--classpath", PYSPARK, "--minimise", "0")
    running = subprocess.Popen(
        argv(*arguments, "--out", tmp_path / "out"),
        env=environment(TMPDIR=str(tmp_path / "tmp")),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until(lambda: any((tmp_path / "out").glob("*/server-1.0.log")))
    group = os.getpgid(running.pid)
    os.killpg(group, signal.SIGINT)
    out, _ = running.communicate(timeout=600)
    assert running.returncode in (1, 3), "it may have found something"
    assert "interrupted" in out
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)
