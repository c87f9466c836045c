"""The server answers its own page, and nobody else."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import pytest
from msgspec import structs

from tests.play.sessions import LED, led, served
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.desk import ActRefused, Desk, Layer, Servers
from zabcheck.play.server import MOST_BYTES, TOKEN, Server
from zabcheck.play.session import Session
from zabcheck.protocols.base import Effect, Request
from zabcheck.simulation.schedule import Schedule

SYNC = b'{"act":"do","choice":{"choice":"sync","process":1}}'


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(led()) as one:
        yield one


def token(server: Server) -> dict[str, str]:
    return {TOKEN: server.address.partition("#token=")[2]}


def asked(
    server: Server, path: str, headers: dict[str, str], method: str = "GET", body: bytes | None = None
) -> Answered:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=300)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Answered(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def test_the_page_loads_nothing_from_elsewhere(server: Server) -> None:
    page = asked(server, "/", {})
    assert page.status == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert b"http" not in page.content
    for file, kind in (("play.js", "text/javascript"), ("play.css", "text/css")):
        answer = asked(server, f"/{file}", {})
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        assert b"http" not in answer.content
        assert b"import " not in answer.content


@pytest.mark.parametrize("path", ["/state", "/take/run.schedule.json", "/act"])
def test_nothing_is_said_without_the_token(server: Server, path: str) -> None:
    method = "POST" if path == "/act" else "GET"
    for headers in ({}, {TOKEN: ""}, {TOKEN: "x" * 22}):
        answer = asked(server, path, headers, method, SYNC if method == "POST" else None)
        assert answer.status == 403
        assert b"v1" not in answer.content
    assert server.desk.version == 0


@pytest.mark.parametrize(
    "headers",
    [{"Host": "example.org"}, {"Host": "127.0.0.1"}, {"Origin": "https://example.org"}, {"Origin": "null"}],
)
def test_another_host_or_origin_is_refused_even_with_the_token(server: Server, headers: dict[str, str]) -> None:
    assert asked(server, "/state", {**token(server), **headers}).status == 403
    assert asked(server, "/", headers).status == 403
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    assert asked(server, "/state", {**token(server), **own}).status == 200


@pytest.mark.parametrize("path", ["/play/desk.py", "/../pyproject.toml", "/take/..%2f..%2fpyproject.toml", "/take/x"])
def test_no_other_file_is_read(server: Server, path: str) -> None:
    assert asked(server, path, token(server)).status == 404


def test_it_is_on_this_machine_only(server: Server) -> None:
    assert server.address.startswith(f"http://127.0.0.1:{server.port}/#token=")


def test_acts_are_done_and_two_tabs_see_the_same(tmp_path: Path) -> None:
    with served(led()) as server:
        first = asked(server, "/state?known=", token(server)).json
        done = asked(server, "/act", token(server), "POST", SYNC)
        second = asked(server, f"/state?known={first['version']}", token(server))
        assert done.json == second.json
        assert "chosen is violated" in second.json["regions"]["verdict"]
        refused = asked(server, "/act", token(server), "POST", SYNC)
        assert (refused.status, refused.json) == (409, {"said": "not possible: p1 has nothing to do for it"})
        assert asked(server, "/act", token(server), "POST", b"x" * (MOST_BYTES + 1)).status == 413
        assert asked(server, "/take/run.schedule.json", token(server)).content.startswith(b'{"version":1')


def test_servers_that_are_asked_end_with_the_server() -> None:
    begun, stop, answers = Event(), Event(), list[Answered]()

    def execute(_: Schedule) -> Layer:
        begun.set()
        assert stop.wait(300)
        raise ActRefused("interrupted")

    with served(Desk(led(), servers=Servers("servers", execute, stop))) as server:

        def ask() -> None:
            answers.append(asked(server, "/act", token(server), "POST", b'{"act":"ask","question":"servers"}'))

        asking = Thread(target=ask, daemon=True)
        asking.start()
        assert begun.wait(300)
    asking.join(300)
    assert [(each.status, each.json) for each in answers] == [(503, {"said": "the server ends"})]


def test_a_step_that_never_returns_ends_the_run_there_and_the_desk_goes_on() -> None:
    def for_ever(*_: object) -> list[Effect]:
        while True:
            pass

    protocol = mutated("zab")
    steps = {**protocol.steps, Request: for_ever}
    session = Session(structs.replace(protocol, steps=steps, step_seconds=0.05), 3)
    session.follow(LED[:-1])
    with served(session) as server:  # the step is taken in the thread of the server, not in the main one
        done = asked(server, "/act", token(server), "POST", b'{"act":"do","choice":{"choice":"request","process":1}}')
        assert "the protocol&#x27;s own code raised an exception" in done.json["regions"]["verdict"]
        back = asked(server, "/act", token(server), "POST", b'{"act":"undo"}')
        assert "no property is violated" in back.json["regions"]["verdict"]
