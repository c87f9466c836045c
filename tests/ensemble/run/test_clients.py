"""What a client reads in the end, and what keeps it from reading; what it asks is a fake."""

from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, SessionExpiredError

from zabcheck.ensemble.recording.records import NotRead, Read
from zabcheck.ensemble.run import clients
from zabcheck.ensemble.run.clients import Client


class Answer:
    """An answer, or what is raised instead of it."""

    def __init__(self, what: object) -> None:
        self.what = what
        self.czxid = 7

    def get(self, timeout: float) -> Any:
        assert timeout >= 0
        if isinstance(self.what, Exception):
            raise self.what
        return self.what


class Fake:
    """In place of kazoo: `syncs` are the answers to the syncs; then there is one node."""

    def __init__(self, *syncs: object) -> None:
        self.syncs = [*syncs]

    def sync_async(self, path: str) -> Answer:
        return Answer(self.syncs.pop(0))

    def get_children_async(self, path: str) -> Answer:
        return Answer(["zookeeper", "c1-1"])

    def exists_async(self, path: str) -> Answer:
        return Answer(Answer(None))


def read(*syncs: object, seconds: float = 60.0) -> Read | NotRead:
    client = Client.__new__(Client)
    client.number = 2
    client._kazoo = Fake(*syncs)
    return client.read_all(seconds)


def test_who_has_a_new_session_reads_in_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_POLL", 0.0)
    found = read(SessionExpiredError(), SessionExpiredError(), "/")
    assert isinstance(found, Read)
    assert (found.server, found.nodes) == (2, (("/c1-1", 7),))


@pytest.mark.parametrize(("sync", "seconds"), [(ConnectionLoss(), 60.0), (SessionExpiredError(), 0.0)])
def test_what_keeps_it_from_reading_is_told(sync: Exception, seconds: float) -> None:
    found = read(sync, seconds=seconds)
    assert isinstance(found, NotRead)
    assert (found.server, found.error) == (2, type(sync).__name__)
