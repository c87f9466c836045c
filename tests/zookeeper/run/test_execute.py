"""A run is stopped and its recording says that it is partial, whatever goes wrong; and runs of a real ensemble."""

import errno
import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Timer
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from tests.zookeeper import fake_zookeeper, real
from tests.zookeeper.processes import groups_of, is_left, ports_of
from zabcheck.zookeeper.bugs.catalogue import named
from zabcheck.zookeeper.recording.folder import log_file, read
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    Asked,
    Chose,
    Ended,
    Exited,
    NotRead,
    Paused,
    Read,
    Resumed,
    Started,
    Stopped,
    Wiped,
)
from zabcheck.zookeeper.run import execute, processes, running, server
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.links import Await, Cut, Hold, Isolate, Mend, Release
from zabcheck.zookeeper.run.choices.servers import BackUp, Elected, Kill, KillAll, Pause, Restore, Resume, Start, Wipe
from zabcheck.zookeeper.run.choices.writes import Settle, Wait, Write
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.minimise import idle_in
from zabcheck.zookeeper.run.processes import ProcessEnsemble, ReservedPorts
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.server import Server
from zabcheck.zookeeper.trace.notes import NotComplete
from zabcheck.zookeeper.trace.observe import observe
from zabcheck.zookeeper.verdict.judge import judge

WAITED = 600.0
"""Seconds that a schedule would wait for what does not come."""
ANSWERED = (Settle(30.0),) * 10
"""Waits for answers to all writes: together minutes, as a server may have to start first."""


def schedule(*choices: Choice) -> EnsembleSchedule:
    return EnsembleSchedule(1, "zookeeper", 3, choices)


def fake(folder: Path, behaviour: str) -> Distribution:
    return Distribution("3.8.0", fake_zookeeper.java(folder, behaviour), str(folder))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of the recording."""
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake serves no client, however long one waits."""
    for name in ("UP_AT_LAST", "ANSWERED_AT_LAST", "READ_AT_LAST"):
        monkeypatch.setattr(execute, name, 0.1)
    monkeypatch.setattr(running, "CONNECTED_AT_FIRST", 0.1)
    monkeypatch.setattr(ProcessEnsemble, "slowness", lambda _: 1.0)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No election comes because a server waits for a processor."""
    monkeypatch.setattr(server, "LIMITS", real.UNHURRIED)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """Every process of the test is gone at its end, and nobody listens to its ports."""
    yield
    assert groups_of(str(tmp_path)) == set()
    assert [port for port in ports_of(tmp_path / "run") if is_left(port)] == []


def ended(run: Path) -> Ended:
    """The last record, which marks the recording as partial; so does what is made of it."""
    *_, last = read(run)
    assert isinstance(last, Ended)
    assert not last.complete
    assert observe(run).partial == (NotComplete(last.error),)
    judged = judge(run)
    assert {verdict.status for verdict in judged.verdicts} <= {"inconclusive", "not exercised"}
    assert judged.wrong == []
    return last


@pytest.mark.parametrize(
    ("behaviour", "seconds", "message"),
    [
        (
            "exits",
            600,
            r"server \d ended by itself when it was started: java.net.BindException: Address already in use$",
        ),
        ("silent", 0.5, r"server 1 did not come up in 0.5 s: 2026-01-31T12:00:00.123\+0000 \[main\] INFO "),
        pytest.param(
            "chatters",
            0.5,
            r"server 1 did not come up in 0.5 s: 2026-01-31T12:00:00.123\+0000 \[main\] INFO ",
            marks=pytest.mark.slow,
        ),
        ("nonsense", 600, r"the log of server 1 is not understood: it begins: \x00\ufffd nonsense$"),
        ("headless", 5, r"nobody led in 5 s$"),
    ],
)
def test_an_ensemble_that_does_not_come_up(
    behaviour: str, seconds: float, message: str, tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes the servers to do what they do: until then, time stands still.

    For what they do at once it stands still throughout: how a server ended may be seen after what it wrote.
    """
    start, leader = monotonic(), ProcessEnsemble.leader
    is_time_up = Event()

    def asked(ensemble: ProcessEnsemble) -> int | None:
        is_time_up.set()
        return leader(ensemble)

    def time() -> float:
        logs = [log_file(run, number, 0) for number in (1, 2, 3)]
        if behaviour not in ("headless", "exits", "nonsense") and all(
            log.exists() and log.stat().st_size for log in logs
        ):
            is_time_up.set()
        return monotonic() if is_time_up.is_set() else 0.0

    monkeypatch.setattr(execute, "UP_AT_FIRST", seconds)
    monkeypatch.setattr(processes, "monotonic", time)
    monkeypatch.setattr(ProcessEnsemble, "slowness", lambda _: 1.0)
    monkeypatch.setattr(ProcessEnsemble, "leader", asked)  # when all of them serve
    with pytest.raises(EnsembleError) as raised:
        execute.execute(schedule(), fake(tmp_path, behaviour), run)
    assert re.match(message, str(raised.value))
    assert ended(run).error == str(raised.value)
    assert monotonic() - start < 600


@pytest.mark.usefixtures("impatient")
def test_a_fresh_server_that_leads_nobody_is_started_again(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for followers for minutes, while the others serve."""
    waits = ProcessEnsemble.await_patiently

    def await_patiently(ensemble: ProcessEnsemble, seconds: float, condition: Callable[[], bool]) -> bool:
        if seconds != execute.ALONE_AT_FIRST:
            return waits(ensemble, seconds, condition)
        begun = ensemble.servers[2].folder.rglob  # only then it behaves otherwise when it is started again
        waits(ensemble, WAITED, lambda: bool(ensemble.served(1) and ensemble.served(3) and [*begun("again")]))
        return condition()

    monkeypatch.setattr(ProcessEnsemble, "await_patiently", await_patiently)
    execute.execute(schedule(), fake(tmp_path, "alone"), run)
    started = [(record.server, record.incarnation) for record in read(run) if isinstance(record, Started)]
    assert started == [(1, 0), (2, 0), (3, 0), (2, 1)]
    assert [record.server for record in read(run) if isinstance(record, Wiped)] == [2]


def test_a_java_that_is_gone(tmp_path: Path, run: Path) -> None:
    with pytest.raises(EnsembleError, match=r"^cannot start server 1: .*No such file"):
        execute.execute(schedule(), Distribution("3.8.0", tmp_path / "java", ""), run)
    ended(run)


@pytest.mark.usefixtures("impatient")
def test_servers_that_serve_no_client_are_told_so(tmp_path: Path, run: Path) -> None:
    execute.execute(schedule(Write("A", 3), Kill("B"), Start("B")), fake(tmp_path, "serves"), run)
    *records, last = read(run)
    assert isinstance(last, Ended)
    assert last.complete
    assert [record.server for record in records if isinstance(record, NotRead)] == [1, 2, 3]
    started = [(record.server, record.incarnation) for record in records if isinstance(record, Started)]
    assert started == [(1, 0), (2, 0), (3, 0), (2, 1)]


@pytest.mark.usefixtures("impatient")
def test_paused_servers_are_killed_too(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is stopped while the third choice waits, which is not waited for."""
    stop, pause = Event(), Server.pause

    def paused(one: Server) -> None:
        pause(one)
        if one.number == 1:
            Timer(0.2, stop.set).start()

    monkeypatch.setattr(Server, "pause", paused)
    begun = monotonic()
    with pytest.raises(KeyboardInterrupt):
        execute.execute(schedule(Pause("A"), Pause("C"), Wait(WAITED)), fake(tmp_path, "serves"), run, stop)
    assert monotonic() - begun < WAITED
    records = [*read(run)]
    assert [record.server for record in records if isinstance(record, Paused)] == [3, 1]
    assert [record.server for record in records if isinstance(record, Stopped)] == [1, 2, 3]
    assert not any(isinstance(record, Resumed | Exited) for record in records)
    assert ended(run).error == "interrupted"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("choices", "notes", "idle"),
    [
        pytest.param(
            [Kill("B"), Kill("C"), Write("A", 300), Settle(WAITED)],
            ["only 100 of them: nothing is answered", "some writes have no answer"],
            [],
            marks=pytest.mark.slow,
        ),
        (
            [Isolate("A"), Write("A", 300), Settle(WAITED)],
            ["only 100 of them: nothing is answered", "some writes have no answer"],
            [],
        ),
        ([KillAll(), Elected(WAITED)], ["nobody leads"], []),
        ([KillAll(), Kill("leader")], ["passed over: nobody leads"], [1]),
        pytest.param(
            [Pause("A"), Kill("B"), Kill("C"), Elected(WAITED), Resume("A")],
            ["nobody leads"],
            [],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_come_is_not_waited_for(
    choices: list[Choice], notes: list[str], idle: list[int], tmp_path: Path, run: Path
) -> None:
    execute.execute(schedule(*choices, Wait(0.0)), fake(tmp_path, "serves"), run)
    chosen = [record for record in read(run) if isinstance(record, Chose)]
    assert [record.note for record in chosen if record.note] == notes
    assert [record.number for record in chosen if record.idle] == idle
    assert chosen[-1].time - chosen[0].time < 1e6 * WAITED / 2


@pytest.mark.usefixtures("impatient")
def test_what_does_not_apply_is_passed_over(tmp_path: Path, run: Path) -> None:
    choices = [Start("A"), Resume("A"), Kill("A"), Kill("A"), Pause("A"), Hold("B", "B", "ACK"), Cut("B", "B")]
    execute.execute(schedule(*choices), fake(tmp_path, "serves"), run)
    noted = [record for record in read(run) if isinstance(record, Chose) and record.note]
    assert [record.number for record in noted] == [0, 1, 3, 4, 5, 6]
    assert all(record.note.startswith("passed over: ") for record in noted)
    assert idle_in(run) == [0, 1, 3, 4, 5, 6]


@pytest.mark.usefixtures("impatient")
def test_the_leader_is_recorded_when_a_choice_names_it(tmp_path: Path, run: Path) -> None:
    execute.execute(schedule(Kill("leader")), fake(tmp_path, "serves"), run)
    [chosen] = [record for record in read(run) if isinstance(record, Chose)]
    assert (chosen.text, chosen.leader) == ("kill -9 of leader (leader is A)", "A")


@pytest.mark.usefixtures("impatient")
def test_a_run_that_is_to_stop_is_interrupted(tmp_path: Path, run: Path) -> None:
    stop = Event()
    later = Timer(0.5, stop.set)
    later.start()
    with pytest.raises(KeyboardInterrupt):
        execute.execute(schedule(Write("A"), Settle(WAITED), Wait(WAITED)), fake(tmp_path, "serves"), run, stop)
    later.join()
    assert ended(run).error == "interrupted"


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise error

    return fail


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        (
            "zabcheck.zookeeper.run.links.Pipe.feed",
            RuntimeError("broken"),
            r"^the proxy failed: RuntimeError\('broken'\)$",
        ),
        ("zabcheck.zookeeper.run.proxy.Proxy._serve", RuntimeError("broken"), r"RuntimeError\('broken'\)$"),
        ("zabcheck.zookeeper.run.proxy.Proxy._serve", OSError(errno.EMFILE, "Too many"), r"^the proxy failed: .*Too"),
    ],
)
def test_a_proxy_that_fails(
    where: str, error: Exception, message: str, tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, failing(error))
    with pytest.raises(EnsembleError, match=message):
        execute.execute(schedule(*[Wait(0.1)] * 9), fake(tmp_path, "talks"), run)
    ended(run)


@pytest.mark.usefixtures("impatient")
def test_a_proxy_that_ends_in_the_middle_of_a_run(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zabcheck.zookeeper.run.proxy import Proxy

    held = Proxy.hold

    def end_and_hold(proxy: Proxy, *arguments: Any) -> None:
        proxy.close()
        held(proxy, *arguments)

    monkeypatch.setattr(Proxy, "hold", end_and_hold)
    with pytest.raises(EnsembleError, match=r"^the proxy has ended: None$"):
        execute.execute(schedule(Hold("A", "B", "PROPOSAL")), fake(tmp_path, "serves"), run)
    ended(run)


@pytest.mark.usefixtures("impatient")
def test_a_recording_for_which_there_is_no_room(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's error comes through, and nothing is left running."""
    killed = Server.kill
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(Server, "kill", failing(full))
    with pytest.raises(OSError, match="No space left"):
        execute.execute(schedule(), fake(tmp_path, "serves"), run)
    monkeypatch.setattr(Server, "kill", killed)


def test_a_port_that_is_taken_or_reserved_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two reservations share nothing but the system, so they may as well be of two processes."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("zabcheck.zookeeper.run.processes.LOWEST_PORT", port - 100)
        monkeypatch.setattr("zabcheck.zookeeper.run.processes.HIGHEST_PORT", port + 100)
        ports = ReservedPorts(150)
        assert port not in ports.numbers
        assert len({*ports.numbers}) == 150
        with pytest.raises(EnsembleError, match=rf"^expected 100 free ports between {port - 100} and .*, found \d\d$"):
            ReservedPorts(100)
        ports.release()
        ReservedPorts(100).release()


CALM = schedule(
    Write("A", 20),
    Settle(WAITED),
    Kill("C"),
    Pause("B"),
    Write("A", 5, 1000),
    Resume("B"),
    Settle(WAITED),
    Start("C"),
    Hold("A", "B", "COMMIT"),
    Write("B", 3),
    Await("A", "B", WAITED),
    Release("A", "B"),
    Cut("A", "C"),
    Write("A", 5),
    Settle(WAITED),
    Mend("A", "C"),
    Settle(WAITED),
)
"""Nothing here is more than an ensemble has to stand."""


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
def test_a_real_ensemble_that_is_disturbed_a_little_is_sound(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that wait long for each other do not give each other up, however busy the machine is."""
    monkeypatch.setattr(server, "LIMITS", server.PATIENT_LIMITS)
    monkeypatch.setattr(execute, "UP_AT_FIRST", WAITED)
    execute.execute(CALM, real.distribution(), run)
    *records, last = read(run)
    assert isinstance(last, Ended)
    assert last.complete
    assert [record.note for record in records if isinstance(record, Chose) and record.note] == []
    assert len(ports_of(run)) == 9
    judged = judge(run)
    assert judged.observation.partial == ()
    assert judged.violated == judged.wrong == judged.noticed == []
    assert judged.findings == judged.known == []
    holds = {verdict.property for verdict in judged.verdicts if verdict.status == "holds"}
    assert {"total order", "agreement", "integrity", "invariant 1", "durability", "final agreement"} <= holds
    assert [(each.server, each.share) for each in judged.coverage] == [(1, 1.0), (2, 1.0), (3, 1.0)]
    acknowledged = [record for record in records if isinstance(record, Acknowledged)]
    assert len(acknowledged) == 33
    reads = [record for record in records if isinstance(record, Read)]
    assert [len(record.nodes) for record in reads] == [33, 33, 33]


@pytest.mark.zookeeper
@pytest.mark.usefixtures("unhurried")
def test_a_real_observer_has_what_the_others_have(run: Path) -> None:
    choices = (
        Write("D", 20),
        *ANSWERED,
        Kill("D"),
        Write("A", 20),
        *ANSWERED,
        Start("D"),
        Kill("A"),
        Elected(30.0),
        Write("D", 10),
        *ANSWERED,
    )
    schedule = EnsembleSchedule(2, "zookeeper", 3, choices, observers=1)
    execute.execute(schedule, real.distribution(), run, exact=True)
    judged = judge(run)
    assert real.is_sound(judged)
    assert judged.observation.header.quorums == "weights 1,1,1,0"
    assert judged.steps.judged["INFORM"] > 20
    reads = [record for record in read(run) if isinstance(record, Read)]
    assert len({record.nodes for record in reads}) == 1
    assert len(reads) == 4
    assert len(reads[0].nodes) >= 40  # of the last ten some may be lost: the observer may have no leader yet


@pytest.mark.zookeeper
@pytest.mark.usefixtures("unhurried")
def test_real_servers_are_reconfigured(run: Path) -> None:
    """An observer that logs nothing votes, and lacks what it acknowledged once it is started again.

    It has become a voter when its client has its second answer: the first may be that its connection was closed. While
    C is down each of the others has logged what is acknowledged.
    """
    schedule = named("unlogged-voter").schedule()
    *before, wait, write, _, kill, start = schedule.choices
    assert isinstance(wait, Wait)
    votes = Write("D"), *ANSWERED, Write("D"), *ANSWERED
    before = [one for each in before for one in (ANSWERED if isinstance(each, Settle) else (each,))]
    choices = (*before, *votes, Kill("C"), write, *ANSWERED, Start("C"), Write("C"), *ANSWERED, kill, start)
    execute.execute(replace(schedule, choices=choices), real.distribution(), run, exact=True)
    judged = judge(run)
    assert "final agreement" in judged.violated
    assert "unlogged-voter" in [match.issue.name for match in judged.known]
    reads = {record.server: {path for path, _ in record.nodes} for record in read(run) if isinstance(record, Read)}
    first = {*[record.path for record in read(run) if isinstance(record, Asked)][:20]}
    assert reads[1] == reads[2] == reads[3] > first
    assert reads[1] - reads[4] >= first
    assert reads[4]


@pytest.mark.zookeeper
@pytest.mark.usefixtures("unhurried")
def test_changes_of_disks_are_made_by_processes(run: Path) -> None:
    """The disk of B is that of before the last writes, and C's is empty: each gets from the others what it lacks.

    While C is down B has logged what is acknowledged. A server whose client has an answer is up to date, and one of
    a quorum while the other is down.
    """
    choices = (
        Kill("C"),
        Write("A", 3),
        *ANSWERED,
        BackUp("B"),
        Write("A", 3),
        *ANSWERED,
        Start("C"),
        Write("C"),
        *ANSWERED,
        Kill("B"),
        Restore("B"),
        Start("B"),
        Write("B"),
        *ANSWERED,
        Kill("C"),
        Wipe("C"),
        Start("C"),
    )
    execute.execute(EnsembleSchedule(2, "zookeeper", 3, choices), real.distribution(), run, exact=True)
    *records, last = read(run)
    *_, older, empty = [each.copy for each in records if isinstance(each, Wiped)]
    assert older is not None
    assert len([txn for txn in older.log if txn.path]) == 3
    assert empty is None
    assert isinstance(last, Ended)
    assert last.complete
    [nodes] = {each.nodes for each in records if isinstance(each, Read)}
    assert len(nodes) >= 6


@pytest.mark.slow
def test_an_exact_execution_ends_with_a_choice_that_is_not_done(tmp_path: Path, run: Path, impatient: None) -> None:
    """A choice that has nothing to wait for, as writes that nobody answers, does not end it."""
    choices = Write("B"), Settle(0.1), Kill("C"), Start("C"), Start("C")
    with pytest.raises(EnsembleError, match=r"^choice 4, start C: passed over: it is up$"):
        execute.execute(schedule(*choices), fake(tmp_path, "serves"), run, exact=True)
    assert ended(run).error == "choice 4, start C: passed over: it is up"
    assert [each.note for each in read(run) if isinstance(each, Chose) and each.note] == [
        "some writes have no answer",
        "passed over: it is up",
    ]
