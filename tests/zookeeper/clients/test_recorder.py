"""Sessions of the recorder's own at the service behind sockets, and what the proxy records of them."""

import asyncio
import re
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import monotonic

import pytest

from tests.zookeeper.clients.faults import FAULTS, Fault
from tests.zookeeper.clients.served import Served
from tests.zookeeper.real import debian
from zabcheck.zookeeper.clients import disturbance, recorder
from zabcheck.zookeeper.clients.conversation import Conversation
from zabcheck.zookeeper.clients.disturbance import Command
from zabcheck.zookeeper.clients.exchange import is_restricted, read
from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryEnd,
    HistoryHeader,
    HistoryLine,
    Lost,
    Request,
)
from zabcheck.zookeeper.clients.judge import PROMISES, judge, judge_columns
from zabcheck.zookeeper.clients.proxy import Proxy
from zabcheck.zookeeper.clients.recorder import NotServed, Recorder, Target
from zabcheck.zookeeper.run.processes import ProcessEnsemble
from zabcheck.zookeeper.wire import client as wire

LONG = 600.0
"""Seconds: more than any test here needs."""


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    service = getattr(request, "param", Served)()
    yield service
    service.close()


def targets(ports: list[int]) -> list[Target]:
    return [Target("127.0.0.1", port) for port in ports]


def recorded(ports: list[int], requests: int, seed: int = 1, faults: bool = True) -> list[HistoryLine]:
    lines: list[HistoryLine] = []
    clients = Recorder(targets(ports), seed, lines.append, faults=faults)
    clients.begin()
    clients.run(requests, LONG)
    clients.finish()
    return [*lines, HistoryEnd(count=len(lines) - 1)]


def impatient(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have recorders wait for an answer no longer than this, once they have begun."""
    begin, usual = Recorder.begin, recorder.PATIENCE

    def begun(clients: Recorder) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(recorder, "PATIENCE", usual)
            begin(clients)

    monkeypatch.setattr(recorder, "PATIENCE", seconds)
    monkeypatch.setattr(Recorder, "begin", begun)


def broken(lines: list[HistoryLine]) -> set[str]:
    return {each.promise.name for each in judge(read(lines, "history")) if each.breach is not None}


class Passing:
    """The proxy in a thread, in front of a service."""

    def __init__(self, ports: list[int]) -> None:
        self.lines: list[HistoryLine] = []
        self.ports: list[int] = []
        self._started = Event()
        self._loop = asyncio.new_event_loop()
        self._proxy = Proxy(targets([0] * len(ports)), targets(ports), self.lines.append)
        self.told_of_servers = self._proxy.told_of_servers
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(LONG)

    def _run(self) -> None:
        self._task = self._loop.create_task(self._proxy.run(None, self._listens))
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.close()

    def _listens(self, ports: list[int]) -> None:
        self.ports = ports
        self._started.set()

    def close(self) -> list[HistoryLine]:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(LONG)
        return [*self.lines, HistoryEnd(count=len(self.lines) - 1)]


def test_a_sound_service_breaks_nothing_and_each_promise_is_exercised(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: Counter[int] = Counter()
    read_what_has_come = recorder._Session.read

    def counted(session: recorder._Session) -> None:
        reads[session.number] += 1
        read_what_has_come(session)

    monkeypatch.setattr(recorder._Session, "read", counted)
    lines = recorded(served.ports, 2500)
    judged = judge(read(lines, "history"))
    assert [each for each in judged if each.breach is not None] == []
    assert judge_columns(lambda gathering: gathering.add(lines), lambda: pytest.fail("it is read again")) == judged
    assert {each.promise.name for each in judged if each.judged} == {*PROMISES} - {"one order", "timeliness"}
    assert [*served.tree.nodes] == ["/"]
    assert reads[max(reads)] < median(reads.values()) / 2, "the last one lets answers and events queue up"


def test_sessions_ask_on_two_connections_and_end_with_many_nodes(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_FAULTS", {"move": 0.2, "close": 0.1})
    lines = recorded(served.ports, 600)
    assert broken(lines) == set()
    assert len(asked_on_both(lines)) >= 2
    asked = [each for each in lines if isinstance(each, Request)]
    ends = {each.connection for each in asked if each.op == "closeSession"}
    own = Counter(each.connection for each in asked if "ephemeral" in each.mode and each.connection in ends)
    assert max(own.values()) >= 20


def asked_on_both(lines: list[HistoryLine]) -> set[int]:
    """The connections on which something was asked while another of the same session was open."""
    session_of: dict[int, str] = {}
    found: set[int] = set()
    for line in lines:
        if isinstance(line, Connected):
            session_of[line.connection] = line.session
        elif isinstance(line, Lost):
            session_of.pop(line.connection, None)
        elif isinstance(line, Request) and [*session_of.values()].count(session_of[line.connection]) > 1:
            found.add(line.connection)
    return found


def test_while_a_server_answers_nothing_the_others_are_asked(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(0.05, monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        lines = recorded([*served.ports, mute.getsockname()[1]], 600)
    given_up = [each for each in lines if isinstance(each, Lost) and each.why == "no answer in time"]
    assert given_up
    assert sum(isinstance(each, Request) for each in lines) >= 600


@pytest.mark.parametrize("name", ["9: two writes with one zxid", "19: children miscounted", "31: events lost"])
def test_a_service_with_a_fault_is_told(name: str) -> None:
    assert is_found(FAULTS[name], 500, 1)


def is_found(fault: Fault, requests: int, seed: int) -> bool:
    service = fault.service()
    lines = recorded(service.ports, requests, seed, fault.is_disturbed)
    service.close()
    exchange = read(lines, "history")
    judged = {each.promise.name: each for each in judge(exchange)}
    assert judge_columns(lambda gathering: gathering.add(lines), lambda: exchange) == [*judged.values()]
    return judged[fault.promise].breach is not None


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_each_violation_is_found_by_what_the_recorder_asks(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The requests that a cut leaves open are not the same in each run: 11 is found by one seed in four."""
    impatient(0.5, monkeypatch)  # a service that leaves an answer out is not waited for
    assert any(is_found(fault, 1000 if seed == 1 else 5000, seed) for seed in range(1, 40))


def test_the_documentation_lists_the_violations() -> None:
    text = (Path(__file__).parents[3] / "docs/notes/clients.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d, ]+) \| (.*?) \| `(.*?)` \| \d", text, re.MULTILINE)
    assert [(f"{number}: {wrong}", promise) for number, wrong, promise in rows] == [
        (name, fault.promise) for name, fault in FAULTS.items()
    ]


def test_the_proxy_records_what_passes(served: Served) -> None:
    passing = Passing(served.ports)
    with socket.create_connection(("127.0.0.1", passing.ports[0])) as other:
        other.sendall(b"ruok")  # is passed on, and is no part of a history
    sent = recorded(passing.ports, 300)
    assert [*passing.told_of_servers] == []
    its_own: list[HistoryLine] = []
    asks_for_servers = recorder._Session(9, Recorder(targets(passing.ports), 1, its_own.append))
    assert asks_for_servers.connect(Target("127.0.0.1", passing.ports[0]))
    asks_for_servers.ask(wire.get_data("/zookeeper/config"))
    asks_for_servers.close()
    seen = passing.close()
    assert [*passing.told_of_servers] == [max(each.client for each in seen if isinstance(each, Connect))]
    assert broken(seen) == set()
    assert _asked(seen) == sorted([*_asked(sent), ("getData", "/zookeeper/config"), ("closeSession", "")])
    assert {each.client for each in seen if isinstance(each, Connect)} >= {1, 2, 3}
    assert not any(isinstance(each.data, str) for each in seen if isinstance(each, Request))


def _asked(lines: list[HistoryLine]) -> list[tuple[str, str | None]]:
    return sorted((each.op, each.path or "") for each in lines if isinstance(each, Request))


def test_servers_are_disturbed_again_and_again_and_mended_in_the_end(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command opens a file when it begins, and writes to it when it ends."""
    monkeypatch.setattr(disturbance, "PAUSE", 0.0)
    does = f"import pathlib, time; f = pathlib.Path({str(tmp_path)!r}, str(time.time_ns())).open('w'); f.write('x')"
    command = Command([sys.executable, "-c", does])
    lines: list[HistoryLine] = []
    clients = Recorder(targets(served.ports), 1, lines.append, disturbance=command)
    clients.begin()
    while command.times < 3:
        clients.run(clients.requests + 20, 5.0)
    clients.finish()
    assert [each.read_text() for each in tmp_path.iterdir()] == ["x"] * command.times
    assert command.failed == 0
    assert broken([*lines, HistoryEnd(count=len(lines) - 1)]) == set()


def test_a_disturbance_that_fails_or_does_not_end_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbance, "PAUSE", 0.0)
    monkeypatch.setattr(disturbance, "PATIENCE", 0.1)
    for does in ("raise SystemExit(3)", "import time; time.sleep(60)"):
        command = Command([sys.executable, "-c", does])
        command.go_on(0)
        command.go_on(0)  # one at a time
        command.finish()
        assert (command.times, command.failed) == (1, 1)


def test_while_one_session_waits_the_others_are_kept_alive(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was stopped answers nothing. Sessions at other servers do not expire because of that.

    While one waits, a hundredth of a second passes at each look at the clock.
    """
    lines: list[HistoryLine] = []
    clients = Recorder(targets(served.ports), 1, lines.append, faults=False)
    clients.begin()
    clients.run(100, LONG)
    for each in clients._sessions:
        assert each.is_connected or each.connect(Target("127.0.0.1", served.ports[0]))
        assert each.wait(partial(getattr, each, "is_ready"))
    with socket.create_server(("127.0.0.1", 0)) as silent, monkeypatch.context() as patched:
        begun, looks = monotonic(), count(1)
        patched.setattr(recorder, "monotonic", lambda: begun + next(looks) / 100)
        patched.setattr(recorder, "_TURN", 0.0)
        before = len(lines)
        [waiting, *others] = clients._sessions
        waiting.lose()
        assert not waiting.connect(Target("127.0.0.1", silent.getsockname()[1]))
    pinged = {each.client for each in lines[before:] if isinstance(each, Request) and each.op == "ping"}
    assert pinged == {each.number for each in others if each.is_connected} != set()
    clients.finish()


def test_a_service_that_is_not_there_is_told() -> None:
    with socket.socket() as taken:  # nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(NotServed, match=f"^no session at 127.0.0.1:{port}$"):
            Recorder(targets([port]), 1, [].append).begin()


def watched_for_good(port: int) -> list[HistoryLine]:
    """A client watches a node for good, and has its watches on children taken away; another creates a child."""
    lines: list[HistoryLine] = []
    clients = Recorder(targets([port]), 1, lines.append, faults=False)
    clients.begin()
    one, other = clients._sessions[:2]
    assert other.is_connected or other.connect(Target("127.0.0.1", port))
    asked = [
        (one, wire.create("/p", b"")),
        (one, wire.add_watch("/p", is_recursive=False)),
        (one, wire.remove_watches("/p", wire.CHILD_WATCH)),
        (other, wire.create("/p/c", b"")),
        (one, wire.sync("/")),
        (other, wire.multi([wire.delete("/p/c"), wire.delete("/p")])),
    ]
    assert [answer for session, part in asked if (answer := session.ask(part)) is None] == []
    clients.finish()
    return [*lines, HistoryEnd(count=len(lines) - 1)]


@pytest.mark.zookeeper
def test_an_eager_refusal_overtakes_and_a_watch_for_good_loses_the_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With this setting a server refuses a write that is forbidden at once, and tells no zxid; and ZOOKEEPER-4471.

    One of many refusals overtakes a write that has to come to the disk.
    """
    monkeypatch.setattr(recorder, "_REFUSALS", 100)
    monkeypatch.setattr(recorder, "PATIENCE", 300.0)
    monkeypatch.setattr(recorder, "TIMEOUT", 10_000)
    distribution = debian()._replace(options=("-Dzookeeper.enableEagerACLCheck=true",))
    with ProcessEnsemble(1, distribution, tmp_path, [].append, proxied=False) as ensemble:
        ensemble.start(1)
        assert ensemble.await_all(LONG, lambda: ensemble.served(1))
        lines = recorded([ensemble.client_port(1)], 100, faults=False)
        watched = watched_for_good(ensemble.client_port(1))
    assert "persistent watches" in broken(watched)
    [judged] = judge(read(lines, "history"), ["answer order"])
    assert judged.breach is not None
    refused = judged.breach.witness[-1]
    assert isinstance(refused, Answer)
    assert (refused.error, refused.zxid) == ("NoAuth", 0)


def test_permissions_by_which_not_everybody_may_read_a_node_are_recorded() -> None:
    lines: list[HistoryLine] = []
    talk = Conversation(1, 1, "", lines.append)
    talk.sent(wire.connect(0, b"", 4000, 0)[4:])
    nobody_writes = wire.forbid_writes("/a")
    nobody_reads = nobody_writes._replace(body=nobody_writes.body.replace(b"\x00\x00\x00\x1d", b"\x00\x00\x00\x1e"))
    somebody = wire.create("/a", b"")._replace(body=wire.create("/a", b"").body.replace(b"anyone", b"nobody"))
    asked = [
        wire.create("/a", b""),
        nobody_writes,
        nobody_reads,
        somebody,
        wire.multi([wire.set_data("/a", b""), somebody]),
    ]
    for xid, part in enumerate(asked, 1):
        talk.sent(wire.request(xid, part)[4:])
    assert [is_restricted(each) for each in lines if isinstance(each, Request)] == [False, False, True, True, True]


def test_each_of_several_requests_with_one_number_has_its_answer() -> None:
    lines: list[HistoryLine] = []
    talk = Conversation(1, 1, "", lines.append)
    talk.sent(wire.connect(0, b"", 4000, 0)[4:])
    talk.received(bytes(4) + (4000).to_bytes(4) + (1).to_bytes(8) + bytes(4))
    set_again = [wire.request(-8, wire.set_watches(5, ([path], [], [], [], []))) for path in ("/a", "/b")]
    for message in (*set_again, wire.ping(), wire.ping()):
        talk.sent(message[4:])
    assert talk.open == 3
    for xid in (-8, -8, wire.PING, wire.PING):
        talk.received(wire.ANSWER.pack(xid, 7, 0))
    assert talk.open == 0
    lines.insert(0, HistoryHeader(1))
    found = read(lines, "history")
    assert [(each.request.op, each.request.data_watches, each.is_done) for each in found.operations] == [
        ("setWatches", ("/a",), True),
        ("setWatches", ("/b",), True),
        ("ping", (), True),
    ]
    assert broken(lines) == set()
