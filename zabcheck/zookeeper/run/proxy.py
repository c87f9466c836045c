"""The proxy between the servers of an ensemble: reads every packet, and delays, holds back, cuts, resets.

Instead of the ports of another server, each server is configured with two ports of the proxy that are for this pair
alone: so the proxy knows who speaks to whom. Where one list of servers is for all, since it may change, the ports are
those of the server, and each server finds another one's name at an address that is for this pair alone. The first
message on an election port names the address at which its sender listens; it is rewritten, so that the answer comes
through the proxy, too.

A link is one direction between two servers. A cut link passes nothing: what was sent waits, in order, and so do the
ends of connections and new connections; no server gets an error. Only addresses of this machine are used.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import wait
from functools import partial
from typing import Any, Literal, TypeVar

from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Fault, Record
from zabcheck.zookeeper.run.connections import LOOPBACK, Connection, End
from zabcheck.zookeeper.run.ensemble import AnyServer
from zabcheck.zookeeper.run.links import Link, Pipe, numbers
from zabcheck.zookeeper.wire.jute import PacketType
from zabcheck.zookeeper.wire.streams import FIRST_ACK, ElectionStream, QuorumStream, RawStream, Stream

Port = Literal["quorum", "election"]
PORTS: tuple[Port, Port] = ("quorum", "election")
ACCEPTING = 5
"""Turns of the loop after which a connection that was being accepted when its port was closed is connected, or never
will be: asyncio drops some then, without a word."""
PATIENCE = 1.0
"""Seconds between two checks that the proxy's thread, which is to answer, is alive."""
KINDS = frozenset({FIRST_ACK, *(each.name for each in PacketType)})
"""Packets that can be held. "ACK-LD" is the ACK of NEWLEADER (a connection's first with counter 0), "ACK" any other."""

T = TypeVar("T")

# What asyncio would print about a socket. Its errors come to `Proxy._handle`.
logging.getLogger("asyncio").addHandler(logging.NullHandler())


def host_of(server: int) -> str:
    """Return the address of a server that shares its ports with its proxies."""
    return f"127.0.0.{server}"


def host_for(client: int, server: int) -> str:
    """Return the address at which `client` finds the proxy of such a server."""
    return f"127.1.{client}.{server}"


class ProxyError(Exception):
    """The proxy has ended, and does nothing any more. The message is one line."""


class Proxy:
    """Proxies between all of `targets`: the real quorum and election port of each server.

    The proxy runs in a thread of its own, from which `record` is called. Its methods may be called from any other
    thread; each returns when its work is done. What goes wrong in the proxy's thread is in `error`, which the caller
    has to check: the methods do not raise it. If the thread has ended, they raise ProxyError.
    """

    def __init__(
        self, targets: Mapping[int, tuple[int, int]], record: Callable[[Record], None], by_host: bool = False
    ) -> None:
        """`by_host`: the ports of a pair are those of the server itself, at another address (`host_for`)."""
        self.error: BaseException | None = None
        """The first thing that went wrong in the proxy itself: nothing that was recorded since can be trusted."""
        self._targets = dict(targets)
        self._to_record = record
        self._by_host = by_host
        self._ports: dict[tuple[int, int, str], int] = {}
        self._links: dict[tuple[int, int], Link] = {}
        self._open: dict[int, Connection] = {}
        self._numbers = numbers()
        self._packets = numbers()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def start(self) -> None:
        """Listen. OSError if there are no ports."""
        self._thread.start()
        self._ready.wait()
        if self.error is not None:
            self._thread.join()
            raise self.error

    def port(self, client: int, server: int, port: Port) -> int:
        """Return the proxy's port at which `client` finds the port of `server`."""
        return self._ports[client, server, port]

    def close(self) -> None:
        """Close all connections and the ports, and end the thread. Waiting data is lost. A second call does nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def cut(self, sender: int, receiver: int) -> None:
        """Let nothing that `sender` sends reach `receiver`, until `mend`."""

        def cut(link: Link) -> None:
            link.cut = True

        self._change("cut", sender, receiver, cut)

    def mend(self, sender: int, receiver: int) -> None:
        """Let what `sender` sends reach `receiver` again, and first what waited."""

        def mend(link: Link) -> None:
            link.cut = False

        self._change("mend", sender, receiver, mend)

    def hold(self, sender: int, receiver: int, kind: str) -> None:
        """Hold the next packet of this kind, and what follows it on its connection, until `release`.

        Other connections of the link are held at their first packet of the kind. A link has one hold: a second call
        replaces the first.
        """
        assert kind in KINDS, kind

        def hold(link: Link) -> None:
            link.hold = kind

        self._change("hold", sender, receiver, hold, kind)

    def release(self, sender: int, receiver: int) -> None:
        """Hold nothing any more on this link; what waited passes."""

        def release(link: Link) -> None:
            link.hold = None

        self._change("release", sender, receiver, release)

    def trap(self, sender: int, receiver: int, kind: str, victim: AnyServer) -> None:
        """Kill a server, in the proxy's thread, when the next packet of this kind is read, before it passes.

        The packet passes then, as what is in the network does when its sender dies. A link has one trap; `heal` removes
        it.
        """
        assert kind in KINDS, kind

        def trap(link: Link) -> None:
            link.trap = kind, victim.kill

        self._change("trap", sender, receiver, trap, kind)

    def delay(self, sender: int, receiver: int, milliseconds: int) -> None:
        """Delay everything on a link; 0 ends that. The order is kept."""

        def delay(link: Link) -> None:
            link.delay = milliseconds / 1000

        self._change("delay", sender, receiver, delay, str(milliseconds))

    def reset(self, one: int, other: int) -> None:
        """Close all connections between the two at once; both see a reset. Waiting data is lost."""

        def reset() -> None:
            self._record(Fault(now(), "reset", one, other))
            for connection in [*self._open.values()]:
                if {one, other} == {connection.links[0].sender, connection.links[0].receiver}:
                    connection.reset("proxy")

        self._call(reset)

    def gate(self) -> None:
        """Let packets of Zab, and the ends of their connections, pass one by one from here on; and let nobody elect."""

        def gate() -> None:
            self._record(Fault(now(), "gate"))
            for link in self._links.values():
                link.gated = True
            self._part(())

        self._call(gate)

    def meet(self, servers: Collection[int], around: int | None = None) -> None:
        """Let these servers elect one of them, and no others: connections of other elections are closed and refused.

        With `around` each of them hears only that one.
        """
        self._call(lambda: self._part(servers, around))

    def under_way(self, sender: int, receiver: int, client: int) -> list[tuple[str, int | None]]:
        """Return what waits at the gate of a link, in the newest connection that `client`, one of the two, has opened.

        The kind and the zxid of each packet.
        """
        return self._call(lambda: [] if (pipe := self._newest(sender, receiver, client)) is None else pipe.at_gate())

    def let_through(self, sender: int, receiver: int, client: int) -> bool:
        """Let the packet through that stands at that gate. Return False if there is none, or none can reach its end."""

        def let_through() -> bool:
            pipe = self._newest(sender, receiver, client)
            if pipe is None or not pipe.passes:
                return False
            pipe.let_through()
            return True

        return self._call(let_through)

    def close_ends(self, server: int, peer: int, ended: bool) -> bool:
        """Close the ends of `server` of its connections with `peer`'s quorum port, or of `peer` with its own.

        With `ended` only those whose other end is closed, or that were broken. Returns whether any was closed.
        """

        def close() -> bool:
            closed = [each.close_end(server, ended) for each in self._between(server, peer)]
            return any(closed)

        return self._call(close)

    def lose(self, one: int, other: int) -> None:
        """Lose what is under way between the two, and let nothing pass on those connections; neither end is told."""

        def lose() -> None:
            for each in self._between(one, other):
                each.lose()

        self._call(lose)

    def _part(self, meeting: Collection[int], around: int | None = None) -> None:
        for (one, other), link in self._links.items():
            link.apart = not (one in meeting and other in meeting and around in (None, one, other))
        for connection in [*self._open.values()]:
            if connection.is_election and connection.links[0].apart:
                connection.reset("proxy")

    def _between(self, one: int, other: int) -> list[Connection]:
        """Return the connections between the quorum ports of the two, in the order in which they were opened."""
        pairs = (one, other), (other, one)
        found = [each for each in self._open.values() if not each.is_election]
        return [each for each in found if (each.links[0].sender, each.links[0].receiver) in pairs]

    def _newest(self, sender: int, receiver: int, client: int) -> Pipe | None:
        opened = [each for each in self._between(sender, receiver) if each.links[0].sender == client]
        if not opened or opened[-1].broken:
            return None
        return opened[-1].from_client if sender == client else opened[-1].from_server

    def heal(self) -> None:
        """Mend and release all links, and delay nothing any more; nothing is gated, and all may elect."""

        def heal() -> None:
            self._record(Fault(now(), "heal"))
            for link in self._links.values():
                link.cut, link.hold, link.trap, link.delay = False, None, None, 0.0
                link.gated = link.apart = False
            for connection in [*self._open.values()]:
                if connection.broken:
                    connection.reset("proxy")
            for link in self._links.values():
                link.pump()

        self._call(heal)

    def wait_held(self, sender: int, receiver: int, seconds: float) -> bool:
        """Wait until a packet stands at the hold of the link, `seconds` at most. Return True if one does."""
        link = self._links[sender, receiver]

        async def wait() -> bool:
            try:
                await asyncio.wait_for(link.wait_held(), seconds)
            except TimeoutError:
                return link.held
            return True

        return self._result(wait())

    def blocked(self) -> set[tuple[int, int]]:
        """Return the links, as (sender, receiver), that are cut, or at whose hold a packet stands."""
        return self._call(lambda: {each for each, link in self._links.items() if link.cut or link.held})

    def _change(self, what: str, sender: int, receiver: int, change: Callable[[Link], None], kind: str = "") -> None:
        link = self._links[sender, receiver]

        def apply() -> None:
            self._record(Fault(now(), what, sender, receiver, kind))
            change(link)
            link.pump()

        self._call(apply)

    def _call(self, action: Callable[[], T]) -> T:
        async def act() -> T:
            return action()

        return self._result(act())

    def _result(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert threading.current_thread() is not self._thread
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            while not wait([future], PATIENCE).done and self._thread.is_alive():
                pass
            if future.done() and not future.cancelled():
                return future.result()
        except RuntimeError:
            if not self._loop.is_closed():
                raise
        coroutine.close()
        raise ProxyError(f"the proxy has ended: {self.error!r}")

    def _record(self, record: Record) -> None:
        # asyncio takes an OSError for a failure of the socket, and keeps it to itself.
        try:
            self._to_record(record)
        except Exception as error:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        self.error = self.error or error

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._failed(context.get("exception") or RuntimeError(context["message"]))

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            self._loop.set_exception_handler(self._handle)
            try:
                runner.run(self._serve())
            except Exception as error:
                self._failed(error)
            finally:
                self._ready.set()

    async def _serve(self) -> None:
        servers = []
        try:
            for client in self._targets:
                for server in self._targets:
                    if client != server:
                        self._links[client, server] = Link(client, server)
            for client, server in self._links:
                for port, real in zip(PORTS, self._targets[server], strict=True):
                    host, number = (host_for(client, server), real) if self._by_host else (LOOPBACK, 0)
                    accept = partial(self._accept, client, server, port)
                    listener = await self._loop.create_server(accept, host, number)
                    servers.append(listener)
                    self._ports[client, server, port] = listener.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()
        finally:
            for listener in servers:
                listener.close()
            for _ in range(ACCEPTING):
                await asyncio.sleep(0)
            while connected := [each for each in self._open.values() if each.client_end.connected]:
                for connection in connected:
                    connection.reset("proxy")
                await asyncio.sleep(0)

    def _accept(self, client: int, server: int, port: Port) -> End:
        streams: tuple[Stream, Stream] = QuorumStream(), QuorumStream()
        if port == "election":
            back = host_for(server, client) if self._by_host else LOOPBACK
            streams = ElectionStream(f"{back}:{self._ports[server, client, port]}"), RawStream()
        target = host_of(server) if self._by_host else LOOPBACK, self._targets[server][PORTS.index(port)]
        connection = Connection(
            number=next(self._numbers),
            port=port,
            target=target,
            links=(self._links[client, server], self._links[server, client]),
            streams=streams,
            record=self._record,
            packets=self._packets,
            done=lambda connection: self._open.__delitem__(connection.number),
            failed=self._failed,
        )
        self._open[connection.number] = connection
        return connection.client_end
