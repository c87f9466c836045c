"""Two servers that are but sockets, with a proxy between them, and what it records."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import TypeVar

from zabcheck.zookeeper.recording.records import Closed, Lost, Passed, Record, Sent
from zabcheck.zookeeper.run.proxy import PORTS, Port, Proxy

PATIENCE = 300.0
"""Seconds that a test waits for what has to come."""

R = TypeVar("R", bound=Record)


def listener() -> socket.socket:
    """A socket that has a port, and does not listen yet."""
    sock = socket.socket()
    sock.settimeout(PATIENCE)
    sock.bind(("127.0.0.1", 0))
    return sock


class Pair:
    """Servers 1 and 2. Server 2 listens."""

    def __init__(self, listening: bool = True) -> None:
        self.records: list[Record] = []
        self._changed = Condition()
        self._sockets = {(server, port): listener() for server in (1, 2) for port in PORTS}
        self._opened: list[socket.socket] = []
        if listening:
            self.listen()
        ports = {key: sock.getsockname()[1] for key, sock in self._sockets.items()}
        self.proxy = Proxy({i: (ports[i, "quorum"], ports[i, "election"]) for i in (1, 2)}, self._record)
        self.proxy.start()

    def _record(self, record: Record) -> None:
        with self._changed:
            self.records.append(record)
            self._changed.notify_all()

    def listen(self) -> None:
        """Server 2 has booted."""
        for port in PORTS:
            self._sockets[2, port].listen()

    def call(self, port: Port = "quorum") -> socket.socket:
        """Server 1 opens a connection to server 2."""
        sock = socket.create_connection(("127.0.0.1", self.proxy.port(1, 2, port)), PATIENCE)
        self._opened.append(sock)
        return sock

    def accept(self, port: Port = "quorum") -> socket.socket:
        """Server 2 accepts one."""
        sock, _ = self._sockets[2, port].accept()
        sock.settimeout(PATIENCE)
        self._opened.append(sock)
        return sock

    def connection(self, port: Port = "quorum") -> tuple[socket.socket, socket.socket]:
        """A connection from server 1 to server 2, at both ends."""
        return self.call(port), self.accept(port)

    def of(self, kind: type[R]) -> list[R]:
        """The records of a kind so far."""
        with self._changed:
            return [record for record in self.records if isinstance(record, kind)]

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the records are so."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), self.records

    def until_sent(self, number: int) -> None:
        """Wait until the proxy has read so many packets."""
        self.until(lambda: len(self.of(Sent)) >= number)

    def until_closed(self, number: int = 1) -> None:
        """Wait until so many connections are closed."""
        self.until(lambda: len(self.of(Closed)) >= number)

    def passed(self) -> list[int]:
        """The numbers of the packets that were passed on."""
        return [record.packet for record in self.of(Passed)]

    def lost(self) -> list[int]:
        """The numbers of those that were lost."""
        return [record.packet for record in self.of(Lost)]

    def close(self) -> None:
        """Close everything."""
        self.proxy.close()
        for sock in [*self._opened, *self._sockets.values()]:
            sock.close()


@contextmanager
def pair(listening: bool = True) -> Iterator[Pair]:
    """Two servers, and that the proxy was without an error."""
    servers = Pair(listening)
    try:
        yield servers
    finally:
        servers.close()
    assert servers.proxy.error is None, servers.proxy.error


def receive(sock: socket.socket, size: int) -> bytes:
    """The next bytes, so many."""
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        assert part, f"closed after {bytes(data)!r}"
        data += part
    return bytes(data)


def silent(sock: socket.socket) -> bool:
    """Return True if nothing has arrived, not even the end."""
    sock.setblocking(False)
    try:
        sock.recv(1)
    except BlockingIOError:
        return True
    finally:
        sock.settimeout(PATIENCE)
    return False
