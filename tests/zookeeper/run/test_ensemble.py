"""The servers that may come to serve, as servers and links are; the servers are fakes that do nothing."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.zookeeper import fake_zookeeper
from tests.zookeeper.processes import ports_of
from zabcheck.zookeeper.recording.records import Record, Started
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.processes import LOWEST_PORT, ProcessEnsemble, ReservedPorts
from zabcheck.zookeeper.run.server import Members


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[ProcessEnsemble]:
    """Three servers that are up."""
    distribution = Distribution("3.8.0", fake_zookeeper.java(tmp_path, "silent"), str(tmp_path))
    with ProcessEnsemble(3, distribution, tmp_path, lambda _: None) as ensemble:
        for number in ensemble.servers:
            ensemble.start(number)
        yield ensemble


def test_ensembles_beside_each_other_have_their_own_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep them while no server is up, until they are closed."""
    monkeypatch.setattr("zabcheck.zookeeper.run.processes.HIGHEST_PORT", LOWEST_PORT + 200)
    distribution = Distribution("3.8.0", tmp_path / "java", "")
    with ExitStack() as open_ones:
        for number in range(12):
            (tmp_path / str(number)).mkdir()
            open_ones.enter_context(ProcessEnsemble(1, distribution, tmp_path / str(number), lambda _: None))
        ports = [port for number in range(12) for port in ports_of(tmp_path / str(number))]
        assert len(ports) == len({*ports}) == 36
        with pytest.raises(EnsembleError, match="free ports"):
            ReservedPorts(200 - 36 + 1)
    ReservedPorts(150).release()


def test_a_server_that_is_down_or_stands_still_may_not_serve(ensemble: ProcessEnsemble) -> None:
    assert ensemble.may_serve() == [1, 2, 3]
    ensemble.servers[2].pause()
    assert ensemble.may_serve() == [1, 3]
    ensemble.servers[1].kill()
    assert ensemble.may_serve() == []
    ensemble.servers[2].resume()
    assert ensemble.may_serve() == [2, 3]


def test_an_observer_is_in_no_quorum_and_may_serve_with_one(tmp_path: Path) -> None:
    distribution = Distribution("3.8.0", fake_zookeeper.java(tmp_path, "silent"), str(tmp_path))
    with ProcessEnsemble(1, distribution, tmp_path, lambda _: None, observers=1) as ensemble:
        one, other = ((tmp_path / f"server-{number}/zoo.cfg").read_text() for number in (1, 2))
        assert [line.endswith(":observer") for line in one.splitlines() if line.startswith("server.")] == [False, True]
        assert ("peerType=observer\n" in one, "peerType=observer\n" in other) == (False, True)
        ensemble.start(2)
        assert ensemble.may_serve() == []
        ensemble.start(1)
        assert ensemble.may_serve() == [1, 2]
        ensemble.proxy.cut(2, 1)
        assert ensemble.may_serve() == [1]


def test_servers_that_may_be_reconfigured_have_one_list_and_find_each_other_behind_the_proxy(tmp_path: Path) -> None:
    """The list names each server; its address depends on who asks, so that every link has ports of the proxy."""
    distribution = Distribution("3.9.5", fake_zookeeper.java(tmp_path, "silent"), str(tmp_path))
    with ProcessEnsemble(2, distribution, tmp_path, lambda _: None, observers=1, reconfigurable=True) as ensemble:
        [members] = {(tmp_path / f"server-{number}/zoo.cfg.dynamic").read_text() for number in (1, 2, 3)}
        found = re.findall(r"^server\.(\d)=s\1:(\d+):(\d+):(\w+);127\.0\.0\.1:(\d+)$", members, re.MULTILINE)
        assert [(number, part) for number, _, _, part, _ in found] == [
            ("1", "participant"),
            ("2", "participant"),
            ("3", "observer"),
        ]
        assert [int(client) for *_, client in found] == [ensemble.client_port(number) for number in (1, 2, 3)]
        hosts = dict(line.split()[::-1] for line in (tmp_path / "hosts-2").read_text().splitlines())
        assert (hosts["s1"], hosts["s2"], hosts["s3"]) == ("127.1.2.1", "127.0.0.2", "127.1.2.3")
        for number, *ports, _, _ in found:
            for client in {"1", "2", "3"} - {number}:
                for port in ports:
                    socket.create_connection((f"127.1.{client}.{number}", int(port)), timeout=300).close()
        configuration = (tmp_path / "server-3/zoo.cfg").read_text()
        assert "reconfigEnabled=true\ndynamicConfigFile=./server-3/zoo.cfg.dynamic\n" in configuration
        assert not re.search("^(clientPort|peerType|server)", configuration, re.MULTILINE)


def test_a_server_that_joins_is_in_no_list_before_and_has_the_one_that_it_is_started_with(tmp_path: Path) -> None:
    distribution = Distribution("3.8.0", fake_zookeeper.java(tmp_path, "silent"), str(tmp_path))
    records: list[Record] = []
    with ProcessEnsemble(2, distribution, tmp_path, records.append, joiners=1) as ensemble:

        def listed(number: int) -> list[str]:
            lines = (tmp_path / f"server-{number}/zoo.cfg").read_text().splitlines()
            return [line for line in lines if line.startswith("server.")]

        def numbers(number: int) -> list[str]:
            return [line[len("server.")] for line in listed(number)]

        assert (numbers(1), numbers(3)) == (["1", "2"], ["1", "2"])
        assert [ensemble.has_list(number) for number in (1, 3)] == [True, False]
        ensemble.start(1)
        assert (ensemble.may_serve(), ensemble.is_reconfigured) == ([], False)
        ensemble.start(3, Members((1, 2), (3,)))
        assert (ensemble.may_serve(), ensemble.is_reconfigured, ensemble.has_list(3)) == ([1, 3], True, True)
        assert (numbers(1), numbers(3), listed(3)[2].endswith(":observer")) == (["1", "2"], ["1", "2", "3"], True)
        ensemble.servers[3].kill()
        ensemble.start(3)
        assert numbers(3) == ["1", "2", "3"]
    started = [record for record in records if isinstance(record, Started)]
    assert [(each.voters, each.observers) for each in started] == [((), ()), ((1, 2), (3,)), ((), ())]


def test_once_an_ensemble_is_reconfigured_every_server_that_can_talk_may_serve(ensemble: ProcessEnsemble) -> None:
    ensemble.servers[1].kill()
    ensemble.servers[2].kill()
    assert ensemble.may_serve() == []
    ensemble.is_reconfigured = True
    assert ensemble.may_serve() == [3]


def test_a_server_that_reaches_no_quorum_may_not_serve(ensemble: ProcessEnsemble) -> None:
    """One direction is enough to keep two servers apart. Who leads needs a link to each of a quorum."""
    ensemble.proxy.cut(1, 2)
    assert ensemble.may_serve() == [1, 2, 3], "server 3 may lead the others"
    ensemble.proxy.cut(3, 1)
    assert ensemble.may_serve() == [2, 3]
    ensemble.proxy.cut(2, 3)
    assert ensemble.may_serve() == []
    ensemble.proxy.heal()
    assert ensemble.may_serve() == [1, 2, 3]


def test_waits_grow_with_the_load_of_the_machine_and_have_an_end(
    ensemble: ProcessEnsemble, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for load in (0.0, 2.0, 8.0, 100.0):
        monkeypatch.setattr("zabcheck.zookeeper.run.processes.os.getloadavg", lambda load=load: (load, 0.0, 0.0))
        monkeypatch.setattr("zabcheck.zookeeper.run.processes.os.cpu_count", lambda: 4)
        found.append(ensemble.slowness())
    assert found == [1.0, 1.5, 6.0, 10.0]
