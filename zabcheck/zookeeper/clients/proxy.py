"""A proxy between clients and a service, which records their messages and changes no byte of them.

The proxy has a port for each server. A connection that does not begin as a client's does, such as one with a
four-letter word or with TLS, is passed on and not recorded.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from zabcheck.zookeeper.clients.conversation import Conversation
from zabcheck.zookeeper.clients.history import NOBODY, Connected, HistoryHeader, HistoryLine, Request
from zabcheck.zookeeper.clients.recorder import Target
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import JuteError

SERVERS = "/zookeeper/config"
"""The node that names the servers of a service."""


class Proxy:
    """A proxy that listens at some addresses, and connects each client there with the server of that address."""

    def __init__(self, listen: Sequence[Target], to: Sequence[Target], write: Callable[[HistoryLine], None]) -> None:
        """Make the proxy; `write` gets each line but the end."""
        self._pairs = [*zip(listen, to, strict=True)]
        self._write = write
        self._connections = 0
        self._clients: dict[str, int] = {}
        """The client of each session."""
        self.told_of_servers: dict[int, None] = {}
        """The clients that have asked for the service's servers: they may connect to one of these directly."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, seconds: float | None, started: Callable[[list[int]], None]) -> None:
        """Serve for this number of seconds, or until cancelled. `started` gets the ports. OSError if one is taken."""
        self._write(HistoryHeader(version=1, clock="one"))
        servers = [await asyncio.start_server(partial(self._serve, to), *listen) for listen, to in self._pairs]
        started([server.sockets[0].getsockname()[1] for server in servers])
        try:
            await asyncio.sleep(seconds if seconds is not None else 1 << 31)
        finally:
            for server in servers:
                server.close()
            for task in [*self._tasks]:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, to: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        passage = _Passage(self, to)
        try:
            there, back = await asyncio.open_connection(*to)
        except OSError:
            writer.close()
            self._tasks.discard(task)
            return
        ways = [
            asyncio.create_task(_pass_on(reader, back, _Frames(passage.sent))),
            asyncio.create_task(_pass_on(there, writer, _Frames(passage.received))),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            passage.lost()
            for way in ways:
                way.cancel()
            for end in (writer, back):
                end.close()
            self._tasks.discard(task)

    def conversation(self, session: str, to: Target) -> Conversation:
        """Begin a connection; one that resumes a session belongs to the client that had it."""
        self._connections += 1
        client = self._clients.get(session, self._connections)
        return Conversation(client, self._connections, to.name, self._write)

    def is_of(self, session: str, client: int) -> None:
        """Note the client that has a session."""
        if session != NOBODY:
            self._clients.setdefault(session, client)


class _Passage:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, to: Target) -> None:
        self._proxy = proxy
        self._to = to
        self._talk: Conversation | None = None

    def sent(self, message: bytes) -> None:
        if self._talk is None:
            self._talk = self._proxy.conversation(wire.session_asked_for(message), self._to)
        line = self._talk.sent(message)
        if isinstance(line, Request) and (line.path == SERVERS or line.op == "reconfig"):
            self._proxy.told_of_servers[line.client] = None

    def received(self, message: bytes) -> None:
        if self._talk is not None:
            line = self._talk.received(message)
            if isinstance(line, Connected):
                self._proxy.is_of(line.session, line.client)

    def lost(self) -> None:
        if self._talk is not None:
            self._talk.lost()


class _Frames:
    """A splitter of bytes into messages: `tell` gets each whole one. After one that makes no sense it gets no more."""

    def __init__(self, tell: Callable[[bytes], None]) -> None:
        self._tell = tell
        self._received = bytearray()
        self._is_decoded = True

    def add(self, data: bytes) -> None:
        self._received += data
        while self._is_decoded and len(self._received) >= 4:
            size = int.from_bytes(self._received[:4])
            if size > wire.LONGEST:
                self._is_decoded = False
            elif len(self._received) >= 4 + size:
                message = bytes(self._received[4 : 4 + size])
                del self._received[: 4 + size]
                try:
                    self._tell(message)
                except JuteError:
                    self._is_decoded = False
            else:
                return
        if not self._is_decoded:
            self._received.clear()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frames: _Frames) -> None:
    try:
        while data := await reader.read(1 << 16):
            frames.add(data)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one of the ends is gone
