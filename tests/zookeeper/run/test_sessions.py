"""Sessions do what a schedule says, against a service in memory; and what they record of a faulty one is told."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any, cast

import pytest

from tests.zookeeper import real
from tests.zookeeper.client_service import Fault, Service, State
from tests.zookeeper.clients.faults import FAULTS
from tests.zookeeper.clients.served import Served
from tests.zookeeper.recordings import Recording
from zabcheck.zookeeper.recording.records import Heard, Read, Record, Replied, Requested, Session, Unwatched
from zabcheck.zookeeper.run import server, session_client
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, StartAll
from zabcheck.zookeeper.run.choices.sessions import (
    Delete,
    EndSession,
    Ephemeral,
    Forbidden,
    Get,
    Move,
    Multi,
    SessionChoice,
    SetData,
    Sync,
    Watch,
)
from zabcheck.zookeeper.run.choices.writes import Settle
from zabcheck.zookeeper.run.clients import Client
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.execute import SESSION, execute
from zabcheck.zookeeper.run.running import Running
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.session_client import SessionClient
from zabcheck.zookeeper.run.undone import NotApplicable, NotDone
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES, ClientVerdict, history_of, judge_clients
from zabcheck.zookeeper.verdict.judge import judge

PATIENCE = 60.0


class Servers:
    """Two services in place of an ensemble, the sessions of both, and what was recorded."""

    def __init__(self, fault: Fault = "") -> None:
        state = State()
        self.records: list[Record] = []
        self.services = {1: Service(state, fault), 2: Service(state)}
        self.proxy = None
        self.running = Running(cast(Ensemble, self), self.records.append)
        self.running.roles = {"A": 1, "B": 2}
        self.sessions = self.running.sessions

    def await_all(self, seconds: float, condition: Callable[[], bool]) -> bool:
        until = monotonic() + PATIENCE
        while not condition():
            if monotonic() > until:
                return False
            sleep(0.002)
        return True

    await_patiently = await_all

    def session_client(self, number: int, server: int) -> SessionClient:
        return SessionClient(number, server, self.client_port(server), self.records.append)

    def client_port(self, number: int) -> int:
        return self.services[number].port

    def may_serve(self) -> list[int]:
        return [*self.services]

    def do(self, *choices: SessionChoice) -> None:
        """Do these, each of which waits for the answers to the one before."""
        for choice in choices:
            choice.apply(self.running)
            assert self.await_all(PATIENCE, self.sessions.all_answered)

    def read(self, *others: Service) -> None:
        """Read what these servers have in the end, which are the two if no others are named."""
        for number, service in enumerate(others or self.services.values(), start=1):
            client = Client(number, service.port, [].append, SESSION)
            assert self.await_all(PATIENCE, partial(getattr, client, "connected"))
            read = client.read_all(PATIENCE)
            client.close()
            assert isinstance(read, Read)
            self.records.append(read)

    def judged(self, folder: Path) -> dict[str, ClientVerdict]:
        """Judge what was recorded, from its file."""
        recording = Recording(folder)
        recording.start(1, 2, 3)
        for record in self.records:
            recording.record.record(record)
        recording.end(1, 2, 3)
        return {each.property: each for each in judge_clients(history_of(read_sorted(folder)))}

    def of(self, kind: type[Any]) -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]

    def close(self) -> None:
        self.sessions.leave()
        for service in self.services.values():
            service.close()


@pytest.fixture
def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Two servers, with the fault that is the fixture's parameter."""
    monkeypatch.setattr(session_client, "RETRY", 0.002)
    monkeypatch.setattr(session_client, "SILENCE", 0.01)
    servers = Servers(getattr(request, "param", ""))
    yield servers
    servers.close()


EVERYTHING = (
    SetData("A", 3),
    SetData("A", 2, versioned=True),
    SetData("B", of="A"),
    Multi("A", 3),
    Get("A", 2),
    Delete("A", 2),
    Ephemeral("A", 2),
    Ephemeral("B", 1),
)
WATCHING = (
    Watch("B", of="A", how="exists"),
    SetData("A"),
    Watch("B", of="A"),
    Watch("B", of="A", how="persistent"),
    SetData("A", 3),
    Get("B", of="A"),
)


def test_what_sessions_ask_for_is_done_in_its_order(served: Servers, tmp_path: Path) -> None:
    served.do(*EVERYTHING)
    served.do(Move("A", "B"), Get("A"), EndSession("A"), Sync("B"), Get("B", of="A"))
    served.read()
    nodes = served.services[1].state.nodes
    assert sorted(nodes) == ["/e12-3", "/m11-9", "/r11"]
    assert nodes["/r11"].version == 9
    assert nodes["/r11"].data.startswith(b"11.")
    asked = [(each.client, each.what) for each in served.of(Requested)]
    assert asked[:6] == [(11, "create"), *[(11, "set")] * 5]
    assert {each.error for each in served.of(Replied)} == {"", "NodeExists"}
    assert [each.client for each in served.of(Session)] == [11, 12]
    verdicts = served.judged(tmp_path)
    assert {name: each.status for name, each in verdicts.items() if each.status != "holds"} == {
        "watches": "not exercised"
    }
    assert [name for name, each in verdicts.items() if not each.judged] == ["watches"]


@pytest.mark.parametrize(("service", "status"), [(Served, "holds"), (FAULTS["31: events lost"].service, "violated")])
def test_what_watches_tell_is_judged(
    served: Servers, service: type[Served], status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watches are lost with the connection, so a change after the move is not told."""
    watched = service()
    monkeypatch.setattr(served, "client_port", lambda number: watched.ports[number - 1])
    served.do(*WATCHING, Move("B", "A"), SetData("A"), Get("B", of="A"))
    watched.close()
    heard = [(each.client, each.type) for each in served.of(Heard)]
    assert heard == ([(12, "NodeCreated")] + 3 * [(12, "NodeDataChanged")] if status == "holds" else [])
    assert [each.client for each in served.of(Unwatched)] == [12]
    assert served.judged(tmp_path)["watches"].status == status


@pytest.mark.parametrize(("service", "status"), [(Served, "holds"), (FAULTS["31: events lost"].service, "violated")])
def test_what_watches_of_children_tell_is_judged(
    served: Servers, service: type[Served], status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = service()
    monkeypatch.setattr(served, "client_port", lambda number: watched.ports[number - 1])
    served.do(SetData("A"), Watch("B", how="children"), Multi("A"), Get("B", of="A"))
    watched.close()
    heard = [(each.client, each.type, each.path) for each in served.of(Heard)]
    assert heard == ([(12, "NodeChildrenChanged", "/")] if status == "holds" else [])
    assert served.judged(tmp_path)["watches"].status == status


@pytest.mark.parametrize(
    ("service", "status"), [(Served, "holds"), (FAULTS["13: sync does nothing"].service, "violated")]
)
def test_what_a_sync_shows_is_judged(
    served: Servers, service: type[Served], status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = service()
    monkeypatch.setattr(served, "client_port", lambda number: watched.ports[number - 1])
    served.do(Sync("B"), *[each for _ in range(20) for each in (SetData("A"), Sync("B"))])
    watched.close()
    assert {each.error for each in served.of(Replied)} == {""}
    assert served.judged(tmp_path)["sync"].status == status


def test_a_session_that_ends_is_followed_by_another(served: Servers) -> None:
    served.do(Ephemeral("A"), EndSession("A"), Ephemeral("A"))
    one, other = served.of(Session)
    assert one.session != other.session
    assert [*served.services[1].state.nodes] == ["/e11-3"]


def test_a_silent_session_hears_that_it_has_expired(served: Servers) -> None:
    served.do(Ephemeral("A"), EndSession("A", "expire"))
    served.services[1].state.end(served.of(Session)[0].session, "")
    assert served.await_all(PATIENCE, served.sessions.all_settled)
    served.do(Get("A"))
    assert len(served.of(Session)) == 2


def test_what_has_no_answer_when_a_session_moves_gets_none(served: Servers) -> None:
    served.do(SetData("A"))
    with served.services[1]._lock:  # it does not answer
        SetData("A", 2).apply(served.running)
        Move("A", "B").apply(served.running)
        assert served.await_all(PATIENCE, served.sessions.all_answered)
    assert [each.error for each in served.of(Replied)][-2:] == ["ConnectionLoss"] * 2
    served.do(Get("A"))
    assert len(served.of(Session)) == 1


def test_what_does_not_apply_is_passed_over(served: Servers) -> None:
    for choice in (Move("A", "B"), EndSession("A")):
        with pytest.raises(NotApplicable, match="it has not begun"):
            choice.apply(served.running)
    with pytest.raises(NotDone, match=r"^only 0 of them: nothing is answered, or nothing is left$") as undone:
        Delete("A").apply(served.running)
    assert undone.value.idle


def test_a_server_that_cannot_answer_is_not_waited_for(served: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "may_serve", lambda: [2])
    monkeypatch.setattr(session_client, "RETRY", PATIENCE)
    with pytest.raises(NotDone, match=r"^only 0 of them: no server has the session$"):
        SetData("A").apply(served.running)
    assert served.of(Requested) == []


PLANTED: list[tuple[Fault, list[SessionChoice], str]] = [
    ("stale reads", [SetData("A", 3), Get("A")], "session order"),
    ("overtaking", [SetData("A", 5)], "session order"),
    ("ephemerals stay", [Ephemeral("A"), EndSession("A")], "ephemeral nodes"),
    ("sets are lost", [SetData("A", 3)], "changes last"),
]


@pytest.mark.parametrize(("served", "choices", "broken"), PLANTED, indirect=["served"])
def test_a_server_with_a_fault_is_told(
    served: Servers, choices: list[SessionChoice], broken: str, tmp_path: Path
) -> None:
    """The whole way from its socket to the verdict is taken; the same is sound without the fault."""
    served.do(*choices)
    if broken != "session order":
        served.read()
    verdicts = served.judged(tmp_path)
    assert [name for name, each in verdicts.items() if each.status == "violated"] == [broken]


@pytest.mark.parametrize("served", ["nonsense"], indirect=True)
def test_an_answer_that_is_none_ends_the_run(served: Servers) -> None:
    """The first request may be answered before the second is sent."""
    with pytest.raises(EnsembleError, match=r"^client 11 cannot understand server 1: byte 0: an answer to request 101"):
        served.do(SetData("A"), SetData("A"))
    with pytest.raises(EnsembleError):
        served.sessions.all_settled()


def test_a_server_whose_snapshot_was_altered_is_told(served: Servers, tmp_path: Path) -> None:
    served.do(SetData("B", 2), SetData("A", 2))
    altered = served.services[1].altered("/r11", b"other")
    served.read(served.services[1], altered)
    altered.close()
    verdicts = served.judged(tmp_path)
    assert verdicts["data agreement"].status == "violated"
    assert verdicts["data agreement"].violation is not None
    first, second = verdicts["data agreement"].violation.witness
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert [(node.path, node.version) for node in (*first.states, *second.states)] == [("/r11", 2), ("/r11", 2)]


def test_each_choice_has_words_of_its_own() -> None:
    choices = {
        *EVERYTHING,
        *WATCHING,
        Move("A", "B"),
        EndSession("A"),
        EndSession("A", "expire"),
        Get("A", of="B"),
        Get("A"),
        Sync("A"),
        Forbidden("A", 2),
    }
    assert len({choice.words() for choice in choices}) == len(choices)


@pytest.mark.zookeeper
def test_a_real_ensemble_keeps_what_sessions_rely_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine so busy that a session ends meanwhile, a run leaves something to be exercised by another."""
    monkeypatch.setattr(server, "LIMITS", real.UNHURRIED)
    for name, seconds in (("TIMEOUT", 6.0), ("HEARS_NOTHING", 5.0), ("PING", 1.0), ("SILENCE", 8.0)):
        monkeypatch.setattr(session_client, name, seconds)
    choices = (
        *EVERYTHING,
        Settle(30.0),
        *WATCHING,
        Settle(30.0),
        Sync("C"),
        Move("B", "C"),
        Get("B", 2, of="A"),
        SetData("B", 3),
        EndSession("A"),
        Settle(30.0),
        Kill("A"),
        Ephemeral("C", 2),
        SetData("C", 5, versioned=True),
        Elected(30.0),
        EndSession("C", "expire"),
        Get("B", 3),
        StartAll(),
    )
    unexercised = {*CLIENT_PROPERTIES}
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        execute(EnsembleSchedule(2, "zookeeper", 3, choices), real.distribution(), folder)
        judged = judge(folder)
        assert real.is_sound(judged)
        unexercised -= {each.property for each in judged.clients if each.status == "holds"}
        if not unexercised:
            return
    pytest.fail(f"{unexercised}")
