"""The sessions of a run, one for each server, and how the choices of a schedule are done with them.

Session client 11 is that of server 1, and so on. Its own node is /r11; its multis create /m11-4 and the like, and its
ephemerals are called /e11-7, with the number of the request.
"""

from collections import deque
from collections.abc import Callable

from zabcheck.zookeeper.recording.records import Record
from zabcheck.zookeeper.run.choices.sessions import (
    Delete,
    EndSession,
    Ephemeral,
    Get,
    Move,
    Multi,
    SessionChoice,
    SetData,
)
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.session_client import NOBODY, SessionClient
from zabcheck.zookeeper.wire import client as wire

FIRST = 10
"""What is added to the number of a server for that of its session client."""
OPENS = 1.0
"""Seconds that a session gets to connect before a request."""
WINDOW = 100
"""How many requests of a session may wait for an answer."""
NO_CONNECTION = "only 0 of them: no server has the session"


class Sessions:
    """The sessions of all servers; none begins before a choice needs it."""

    def __init__(self, ensemble: Ensemble, record: Callable[[Record], None]) -> None:
        self._ensemble = ensemble
        self._record = record
        self._clients: dict[int, SessionClient] = {}
        self._deletable: dict[int, deque[str]] = {}

    def apply(self, choice: SessionChoice, roles: dict[str, int]) -> str:
        """Do what a choice says; return why it did nothing, or "" if it did something.

        EnsembleError if a server has sent what is no answer.
        """
        self.check()
        home = roles[choice.server]
        client = self._clients.get(home)
        if isinstance(choice, EndSession | Move) and (client is None or client.session == NOBODY):
            return "passed over: it has not begun"
        if isinstance(choice, Move):
            assert client is not None
            client.move(roles[choice.to], self._ensemble.servers[roles[choice.to]].client_port)
            return ""
        client = client or self._new(home)
        if not self._begins(client):
            return NO_CONNECTION
        match choice:
            case SetData(_, count, size, of, versioned):
                path = own_node(roles[of] if of else home)
                return self._repeat(client, count, lambda: self._set(client, path, size, versioned))
            case Multi(_, count):
                return self._repeat(client, count, lambda: self._multi(client, home))
            case Delete(_, count):
                return self._repeat(client, count, lambda: self._delete(client, home))
            case Ephemeral(_, count):
                return self._repeat(client, count, lambda: self._create(client, f"/e{_of_its_own(client)}", True))
            case Get(_, count, of):
                path = own_node(roles[of] if of else home)
                return self._repeat(client, count, lambda: client.send("get", (path,), wire.get_data(path)))
            case EndSession(_, "close"):
                return "" if client.send("close", (), wire.close()) else NO_CONNECTION
            case EndSession():
                client.fall_silent()
                return ""
        raise AssertionError(choice)

    def _begins(self, client: SessionClient) -> bool:
        """Whether requests can be sent. Is not waited for if the session's server cannot answer."""
        if not client.begins() and client.server not in self._ensemble.may_serve():
            return False
        return self._ensemble.await_all(OPENS, client.begins)

    def _new(self, home: int) -> SessionClient:
        port = self._ensemble.servers[home].client_port
        client = self._clients[home] = SessionClient(FIRST + home, home, port, self._record)
        self._deletable[home] = deque()
        return client

    def _repeat(self, client: SessionClient, count: int, once: Callable[[], bool]) -> str:
        for done in range(count):
            if client.outstanding >= WINDOW or not once():
                return f"only {done} of them: nothing is answered, or nothing is left"
        return ""

    # Requests; each says whether it was sent.

    def _create(self, client: SessionClient, path: str, ephemeral: bool = False) -> bool:
        data = _data(client, 10)
        what = "ephemeral" if ephemeral else "create"
        return client.send(what, (path,), wire.create(path, data, ephemeral), content=wire.content_of(data))

    def _is_there(self, client: SessionClient, path: str) -> bool:
        """Create the node at `path` before it is set for the first time; whether that could be sent."""
        # In this order: an answer that comes meanwhile takes a request away, and then the version is known.
        if client.asked_to("create", path) or client.asked_to("set", path) or path in client.versions:
            return True
        return self._create(client, path)

    def _set(self, client: SessionClient, path: str, size: int, versioned: bool) -> bool:
        if not self._is_there(client, path):
            return False
        version = client.versions.get(path, 0) + client.asked_to("set", path) if versioned else wire.NOTHING_EXPECTED
        data = _data(client, size)
        part = wire.set_data(path, data, version)
        return client.send("set", (path,), part, version, wire.content_of(data))

    def _multi(self, client: SessionClient, home: int) -> bool:
        own = own_node(home)
        if not self._is_there(client, own):
            return False
        new, data = f"/m{_of_its_own(client)}", _data(client, 10)
        self._deletable[home].append(new)
        parts = wire.multi([wire.create(new, data), wire.set_data(own, data)])
        return client.send("multi", (new, own), parts, content=wire.content_of(data))

    def _delete(self, client: SessionClient, home: int) -> bool:
        if not self._deletable[home]:
            return False
        path = self._deletable[home].popleft()
        return client.send("delete", (path,), wire.delete(path))

    # What the whole run asks.

    def check(self) -> None:
        """EnsembleError if a server has sent what is no answer: the recording may lack something."""
        for client in self._clients.values():
            if client.error is not None:
                raise EnsembleError(f"client {client.number} cannot understand server {client.server}: {client.error}")

    def outstanding_at(self, server: int) -> int:
        """How many requests wait for an answer of this server."""
        return sum(client.outstanding for client in self._clients.values() if client.server == server)

    def all_answered(self) -> bool:
        """Whether no request waits for an answer."""
        return not any(client.outstanding for client in self._clients.values())

    def all_settled(self) -> bool:
        """Whether of every session it is known what has become of it. EnsembleError as of `check`."""
        self.check()
        return all(client.settled for client in self._clients.values())

    def leave(self) -> None:
        """Give all connections up."""
        for client in self._clients.values():
            client.leave()


def own_node(server: int) -> str:
    """The path of the node that belongs to the session of a server."""
    return f"/r{FIRST + server}"


def _of_its_own(client: SessionClient) -> str:
    return f"{client.number}-{client.next_number}"


def _data(client: SessionClient, size: int) -> bytes:
    """Data that no other request writes, as far as `size` allows."""
    return f"{client.number}.{client.next_number}".encode().ljust(size, b".")[: max(size, 1)]
