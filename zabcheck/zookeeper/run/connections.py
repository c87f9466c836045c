"""A connection through the proxy: a socket to the server that opened it, one to the server it is for, two pipes."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from struct import pack
from typing import cast

from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Closed, Opened, Record
from zabcheck.zookeeper.run.links import Inlet, Link, Pipe, Sink
from zabcheck.zookeeper.wire.streams import Stream

LOOPBACK = "127.0.0.1"
RETRY = 0.05
"""Seconds until the next attempt to reach a server that does not listen, or whose link is cut."""


new_socket = socket.socket  # by a name of its own: a test gives it a port


class End(asyncio.Protocol, Sink, Inlet):
    """One of the two sockets."""

    def __init__(self, connection: "Connection", name: str) -> None:
        self.name = name
        self.incoming: Pipe
        """The pipe for bytes that are read here."""
        self.outgoing: Pipe
        """The pipe whose bytes are written here."""
        self._connection = connection
        self._transport: asyncio.Transport | None = None

    @property
    def connected(self) -> bool:
        """Return True if the socket has been connected."""
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport of the socket, which is connected now."""
        self._transport = cast(asyncio.Transport, transport)
        if self.lost:
            self._transport.abort()
            return
        # What was passed is in the network: nothing more is taken while something is still here.
        self._transport.set_write_buffer_limits(high=0)
        self.writable = True
        self._connection.made(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes that the other side has sent."""
        self.incoming.feed(data)

    def eof_received(self) -> bool:
        """Note that the other side sends no more; it may still read, so the socket stays open."""
        self._connection.closed_by(self.name)
        self.incoming.finish()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the socket is closed."""
        self._connection.closed_by(self.name)
        self.writable = False
        self.lost = True
        self.outgoing.lose()
        self.incoming.gone()
        self._connection.lost()

    def pause_writing(self) -> None:
        """Write nothing for now: the other side reads too slowly."""
        self.writable = False

    def resume_writing(self) -> None:
        """Write on: the other side has read everything."""
        self.writable = True
        self.outgoing.pump()

    def write(self, data: bytes) -> None:
        """Write these bytes. If the socket is being closed, they are dropped: asyncio would complain."""
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.write(data)

    def finish(self) -> None:
        """Tell the other side that nothing follows."""
        assert self._transport is not None
        if not self._transport.is_closing():
            # The other end may have reset the connection, and asyncio not have heard of it yet: then it knows.
            with suppress(OSError):
                self._transport.write_eof()

    def close(self) -> None:
        """Close the socket once all that was written is sent."""
        if self._transport is not None:
            self._transport.close()

    def read_on(self, on: bool) -> None:
        """Read on, or leave what comes in the network."""
        if self._transport is None or self._transport.is_closing():
            return
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def reset(self) -> None:
        """Close the socket at once, so that the other side sees a reset."""
        if self._transport is None:
            self.lost = True
        else:
            sock = self._transport.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
            self._transport.abort()


class Connection:
    """A connection from `client` to the port `port` of `server`, which listens at `target` (on this machine).

    The client's socket is `client_end`, for a listener to use. The server's is opened as soon as possible: a server
    that has not started yet, or is behind a cut link, is tried again until the client gives up. (Refused by its
    leader, a client would wait for seconds.)
    """

    def __init__(
        self,
        number: int,
        port: str,
        target: tuple[str, int],
        links: tuple[Link, Link],
        streams: tuple[Stream, Stream],
        record: Callable[[Record], None],
        packets: Iterator[int],
        done: Callable[["Connection"], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.number = number
        self.links = links
        """The direction from the client to the server, and the one back."""
        self._port = port
        self._target = target
        self._record = record
        self._done = done
        self._failed = failed
        self._by = ""
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        self.client_end = End(self, "client")
        self._server_end = End(self, "server")
        there, back = (
            Pipe(link, number, stream, record, packets, self._passed_an_end, port == "election")
            for link, stream in zip(links, streams, strict=True)
        )
        there.join(self.client_end, self._server_end)
        back.join(self._server_end, self.client_end)
        self.client_end.incoming = self._server_end.outgoing = there
        self.client_end.outgoing = self._server_end.incoming = back
        self._pipes = there, back
        self.broken = False
        """True if nothing more passes, although neither end has been told."""
        if self.is_election and any(link.apart for link in links):
            self.client_end.lost = self._server_end.lost = True  # refused

    @property
    def is_election(self) -> bool:
        return self._port == "election"

    @property
    def from_client(self) -> Pipe:
        """Return the pipe from the client."""
        return self._pipes[0]

    @property
    def from_server(self) -> Pipe:
        """Return the pipe from the server."""
        return self._pipes[1]

    def close_end(self, server: int, ended: bool) -> bool:
        """Close the end of `server` alone, with `ended` only if the other end is closed, or nothing passes any more.

        Return True if it was open, and is closed now. Data that waits for it is lost.
        """
        mine, other = self.client_end, self._server_end
        if self.links[0].sender != server:
            mine, other = other, mine
        if mine.lost or not mine.connected or (ended and not (other.lost or self.broken)):
            return False
        mine.reset()
        return True

    def lose(self) -> None:
        """Lose what is under way, and let nothing pass any more, while both ends stay open."""
        self.broken = True
        for pipe in self._pipes:
            pipe.lose()

    def made(self, end: End) -> None:
        """Note that one of the sockets is connected."""
        if end is self.client_end:
            there = self.links[0]
            self._record(Opened(now(), self.number, there.sender, there.receiver, self._port))
            self._task = asyncio.get_running_loop().create_task(self._connect())
            self._task.add_done_callback(self._connected)
        else:
            self._pipes[0].pump()

    def closed_by(self, end: str) -> None:
        """Note which end was the first to close the connection."""
        self._by = self._by or end

    def lost(self) -> None:
        """Note that one of the sockets is closed."""
        if self.client_end.lost and self._task is not None and not self._task.done():
            self._task.cancel()
        if self.client_end.lost and self._server_end.lost and not self._closed:
            self._closed = True
            for pipe in self._pipes:
                pipe.remove()
            self._record(Closed(now(), self.number, self._by))
            self._done(self)

    def reset(self, by: str) -> None:
        """Close both sockets at once; what waits is lost."""
        self.closed_by(by)
        self._server_end.reset()
        self.client_end.reset()

    def _passed_an_end(self) -> None:
        if all(pipe.ended for pipe in self._pipes):
            self._server_end.close()
            self.client_end.close()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._pipes[0].read_to_end:
            if not any(link.cut for link in self.links) and (sock := await self._reach()) is not None:
                await loop.create_connection(lambda: self._server_end, sock=sock)
                return
            await asyncio.sleep(RETRY)

    async def _reach(self) -> socket.socket | None:
        """Return a socket that is connected to the server; None if the server does not listen."""
        sock = new_socket()
        sock.setblocking(False)
        # As servers do, and as asyncio does for sockets of its own: a packet does not wait for the last one's ACK.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.get_running_loop().sock_connect(sock, self._target)
            # A socket that looks for a listener can be given the very port it looks for, and so find itself.
            if sock.getsockname() != sock.getpeername():
                return sock
        except OSError:
            pass
        except BaseException:
            sock.close()
            raise
        sock.close()
        return None

    def _connected(self, task: "asyncio.Task[None]") -> None:
        """Note that the attempts to connect to the server have ended, with or without a connection."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
        if not self._server_end.connected and not self._server_end.lost:
            self._server_end.lost = True
            self.client_end.close()
            self.lost()
