"""The final read of a client, and what keeps it from reading; the server that it asks is a fake."""

from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, NoNodeError, SessionExpiredError

from zabcheck.zookeeper.recording.records import NodeState, NotRead, Read
from zabcheck.zookeeper.run import clients
from zabcheck.zookeeper.run.clients import Client
from zabcheck.zookeeper.wire.client import content_of


class Answer:
    """An answer, or what is raised instead of it."""

    def __init__(self, what: object) -> None:
        self.what = what

    def get(self, timeout: float) -> Any:
        assert timeout >= 0
        if isinstance(self.what, Exception):
            raise self.what
        return self.what


class Fake:
    """In place of kazoo: `syncs` are the answers to the syncs; then there are some nodes, and one that is gone."""

    def __init__(self, *syncs: object) -> None:
        self.syncs = [*syncs]
        self.gone = ("/e11-1",)

    def sync_async(self, path: str) -> Answer:
        return Answer(self.syncs.pop(0))

    def get_children_async(self, path: str) -> Answer:
        return Answer(["zookeeper", "c1-1", "r11", "e11-1", "cats"])

    last_zxid = 9

    def get_async(self, path: str) -> Answer:
        if path in self.gone:
            return Answer(NoNodeError())
        return Answer((b"z", SimpleNamespace(czxid=7, mzxid=8, version=1, ephemeralOwner=0)))


def read(*syncs: object, seconds: float = 60.0) -> Read | NotRead:
    client = Client.__new__(Client)
    client.number = 2
    client._kazoo = Fake(*syncs)
    return client.read_all(seconds)


def test_a_client_with_a_new_session_reads_in_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_POLL", 0.0)
    found = read(SessionExpiredError(), SessionExpiredError(), "/")
    assert isinstance(found, Read)
    assert (found.server, found.nodes) == (2, (("/c1-1", 7),))
    assert found.states == tuple(NodeState(path, 7, 8, 1, content_of(b"z")) for path in ("/c1-1", "/r11"))
    assert found.reached == 9


@pytest.mark.parametrize(("sync", "seconds"), [(ConnectionLoss(), 60.0), (SessionExpiredError(), 0.0)])
def test_what_keeps_it_from_reading_is_told(sync: Exception, seconds: float) -> None:
    found = read(sync, seconds=seconds)
    assert isinstance(found, NotRead)
    assert (found.server, found.error) == (2, type(sync).__name__)
