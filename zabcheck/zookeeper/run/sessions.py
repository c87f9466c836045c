"""The sessions of a run, one for each server, and the requests that they can send.

Session client 11 is that of server 1, and so on. Its own node is /r11; its multis create /m11-4 and the like, and its
ephemerals are called /e11-7, with the number of the request.
"""

from collections import deque
from collections.abc import Callable

from zabcheck.zookeeper.recording.records import Reconfigures, Record
from zabcheck.zookeeper.run.ensemble import AnySessionClient, Ensemble, EnsembleError
from zabcheck.zookeeper.run.session_client import NOBODY
from zabcheck.zookeeper.wire import client as wire

FIRST = 10
"""The number of a session client is that of its server, plus this."""
OPENS = 1.0
"""Seconds that a session gets to connect before a request, unless each has to be sent."""
OF_NO_CLIENT = "/zookeeper/config"
"""A node of ZooKeeper's own from 3.5.0 on, the configuration: anybody may read it, and only a superuser set it."""
WINDOW = 100
"""Requests of a session that may wait for an answer."""


class Sessions:
    """The sessions of all servers; none begins before a choice needs it."""

    def __init__(self, ensemble: Ensemble, record: Callable[[Record], None], opens: float = OPENS) -> None:
        """`opens`: seconds that a session gets to connect before a request."""
        self._ensemble = ensemble
        self._opens = opens
        self._record = record
        self._clients: dict[int, AnySessionClient] = {}
        self._deletable: dict[int, deque[str]] = {}

    def begun(self, home: int) -> AnySessionClient | None:
        """Return the session of a server, if it has begun and not ended. EnsembleError as of `check`."""
        self.check()
        client = self._clients.get(home)
        return None if client is None or client.session == NOBODY else client

    def ready(self, home: int) -> AnySessionClient | None:
        """Return the session of a server once requests can be sent, with a new one if there is none.

        None if they still cannot once it has had its time to connect, or if the session's server cannot answer.
        EnsembleError as of `check`.
        """
        self.check()
        client = self._clients.get(home) or self._new(home)
        if not client.begins() and client.server not in self._ensemble.may_serve():
            return None
        if self._ensemble.await_patiently(self._opens, client.begins):
            return client
        self.check()
        return None

    def move(self, client: AnySessionClient, server: int) -> None:
        """Let a session go on at another server."""
        client.move(server, self._ensemble.client_port(server))

    def _new(self, home: int) -> AnySessionClient:
        client = self._clients[home] = self._ensemble.session_client(FIRST + home, home)
        self._deletable[home] = deque()
        return client

    # Requests; each returns True if it could be sent.

    def create_ephemeral(self, client: AnySessionClient) -> bool:
        """Create a node that is to be gone when the session ends."""
        return self._create(client, f"/e{_of_its_own(client)}", True)

    def set_data(self, client: AnySessionClient, path: str, size: int, versioned: bool) -> bool:
        """Set `size` bytes at a node, which is created before if that has not been done."""
        if not self._is_there(client, path):
            return False
        version = client.versions.get(path, 0) + client.asked_to("set", path) if versioned else wire.NOTHING_EXPECTED
        data = _data(client, size)
        part = wire.set_data(path, data, version)
        return client.send("set", (path,), part, version, wire.content_of(data))

    def multi(self, client: AnySessionClient, home: int) -> bool:
        """Create a node, and set the own node of the session of server `home`, in one transaction."""
        own = own_node(home)
        if not self._is_there(client, own):
            return False
        new, data = f"/m{_of_its_own(client)}", _data(client, 10)
        self._deletable[home].append(new)
        parts = wire.multi([wire.create(new, data), wire.set_data(own, data)])
        return client.send("multi", (new, own), parts, content=wire.content_of(data))

    def delete(self, client: AnySessionClient, home: int) -> bool:
        """Delete the oldest of the nodes that multis created, if there is one."""
        if not self._deletable[home]:
            return False
        path = self._deletable[home].popleft()
        return client.send("delete", (path,), wire.delete(path))

    def get(self, client: AnySessionClient, path: str) -> bool:
        """Read a node."""
        return client.send("get", (path,), wire.get_data(path))

    def sync(self, client: AnySessionClient) -> bool:
        """Ask for a sync. The node that it names means nothing."""
        return client.send("sync", (OF_NO_CLIENT,), wire.sync(OF_NO_CLIENT))

    def set_forbidden(self, client: AnySessionClient) -> bool:
        """Set the data of a node that is not the clients' to set."""
        data = _data(client, 10)
        part = wire.set_data(OF_NO_CLIENT, data)
        return client.send("set", (OF_NO_CLIENT,), part, content=wire.content_of(data))

    def watch(self, client: AnySessionClient, path: str, kind: str) -> bool:
        """Watch a node: with a read of its data or its children, a look whether it exists, or for good."""
        match kind:
            case "data":
                return client.send("get", (path,), wire.get_data(path, watch=True), watches=True)
            case "exists":
                return client.send("exists", (path,), wire.exists(path, watch=True), watches=True)
            case "children":
                return client.send("children", (path,), wire.get_children2(path, watch=True), watches=True)
            case _:
                return client.send("watch", (path,), wire.add_watch(path, is_recursive=False), watches=True)

    def reconfigure(
        self,
        client: AnySessionClient,
        voters: tuple[int, ...],
        observers: tuple[int, ...],
        leaving: tuple[int, ...],
        elsewhere: tuple[int, ...],
    ) -> bool:
        """Ask for a configuration in which these servers vote, observe, are not, or vote at another port."""
        parts = {**dict.fromkeys((*voters, *elsewhere), "participant"), **dict.fromkeys(observers, "observer")}
        joining = [self._ensemble.member(server, part, server in elsewhere) for server, part in parts.items()]
        voters += elsewhere
        self._ensemble.is_reconfigured = True
        # Before any packet of it.
        self._record(Reconfigures(self._ensemble.now(), client.number, client.next_number, voters, observers, leaving))
        return client.send("reconfigure", (), wire.reconfigure(joining, leaving))

    def close(self, client: AnySessionClient) -> bool:
        """End the session."""
        return client.send("close", (), wire.close())

    def _create(self, client: AnySessionClient, path: str, ephemeral: bool = False) -> bool:
        data = _data(client, 10)
        what = "ephemeral" if ephemeral else "create"
        return client.send(what, (path,), wire.create(path, data, ephemeral), content=wire.content_of(data))

    def _is_there(self, client: AnySessionClient, path: str) -> bool:
        """Create the node at `path` before it is set for the first time. Return False if that could not be sent."""
        # In this order: an answer that comes meanwhile takes a request away, and then the version is known.
        if client.asked_to("create", path) or client.asked_to("set", path) or path in client.versions:
            return True
        return self._create(client, path)

    # What the whole run asks.

    def check(self) -> None:
        """EnsembleError if a server has sent what is no answer: the recording may lack something."""
        for client in self._clients.values():
            if client.error is not None:
                raise EnsembleError(f"client {client.number} cannot understand server {client.server}: {client.error}")

    def outstanding_at(self, server: int) -> int:
        """Count the requests that wait for an answer of this server."""
        return sum(client.outstanding for client in self._clients.values() if client.server == server)

    def all_answered(self) -> bool:
        """Return True if no request waits for an answer."""
        return not any(client.outstanding for client in self._clients.values())

    def all_settled(self) -> bool:
        """Return True if each session is known to go on, or to have ended. EnsembleError as of `check`."""
        self.check()
        return all(client.settled for client in self._clients.values())

    def leave(self) -> None:
        """Give all connections up."""
        for client in self._clients.values():
            client.leave()


def own_node(server: int) -> str:
    """Return the path of the node that belongs to the session of a server."""
    return f"/r{FIRST + server}"


def _of_its_own(client: AnySessionClient) -> str:
    return f"{client.number}-{client.next_number}"


def _data(client: AnySessionClient, size: int) -> bytes:
    """Return data that no other request writes, as far as `size` allows."""
    return f"{client.number}.{client.next_number}".encode().ljust(size, b".")[: max(size, 1)]
