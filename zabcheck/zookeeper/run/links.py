"""The packets on their way from one server to another, and the conditions under which they pass.

A link is one direction between two servers. A pipe is one direction of one connection: what is read at one end waits in
a queue until the link and the other end let it pass. That includes the end of the connection, which is noticed only
after everything that was sent before, as with TCP.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import NamedTuple

from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Lost, Passed, Record, Sent, Undecoded
from zabcheck.zookeeper.wire.jute import JuteError, LoggedTxn, PacketType, QuorumPacket
from zabcheck.zookeeper.wire.streams import FIRST_ACK, Piece, Stream

ZAB = frozenset(each.name for each in PacketType) - {"REQUEST", "PING", "REVALIDATE", "SYNC"}
"""The names of the packets that a gate holds: those of Zab, without requests, sessions and reads."""
BOUND = 1 << 20
"""A pipe with more bytes than this stops reading: the rest waits at the sender, as behind a full TCP window."""
AT_ONCE = 1 << 16
"""Bytes that are written at once, about: a system call for each packet would be most of a proxy's cost. Bytes that are
written can no longer be held back."""


class Link:
    """Everything that goes from `sender` to `receiver`."""

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.cut = False
        self.hold: str | None = None
        """The name of the packets that do not pass, nor does what is behind them; None if all pass."""
        self.trap: tuple[str, Callable[[], None]] | None = None
        """The name of a packet, and what is done, once, at the moment such a packet is read."""
        self.gated = False
        """True if packets of Zab, and the ends of connections to quorum ports, pass only when they are let through."""
        self.apart = False
        """True if nothing passes that belongs to an election, and no such connection can be made."""
        self.delay = 0.0
        """Seconds."""
        self.pipes: list[Pipe] = []
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def held(self) -> bool:
        """Return True if a packet stands at the hold."""
        return any(pipe.held for pipe in self.pipes)

    def pump(self) -> None:
        """Pass on everything that may pass."""
        for pipe in [*self.pipes]:
            pipe.pump()

    def sprung(self, kind: str) -> None:
        """Do what is to be done when a packet of this name is read, which it is now."""
        if self.trap is not None and self.trap[0] == kind:
            action = self.trap[1]
            self.trap = None
            action()

    def changed(self) -> None:
        """Wake up those who wait for a packet at the hold, where one stands now."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def wait_held(self) -> None:
        """Wait until a packet stands at the hold."""
        while not self.held:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future


class Sink:
    """The end to which a pipe leads: the writing side of a socket."""

    writable = False
    """True if it takes bytes now."""
    lost = False
    """True if it never takes any again."""

    def write(self, data: bytes) -> None:
        """Write these bytes."""
        raise NotImplementedError

    def finish(self) -> None:
        """Tell the other side that nothing follows (a half-close)."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the socket once all that was written is sent."""
        raise NotImplementedError


class Inlet:
    """The end from which a pipe comes: the reading side of a socket."""

    def read_on(self, on: bool) -> None:
        """Read on, or leave what comes in the network."""
        raise NotImplementedError


class Waiting(NamedTuple):
    """A thing that waits in a pipe: bytes, or the end of the bytes (`end` is "finish") or of the socket ("close")."""

    read: float
    piece: Piece
    packet: int | None = None
    end: str = ""


class Pipe:
    """One direction of connection number `connection`, over `link`."""

    def __init__(
        self,
        link: Link,
        connection: int,
        stream: Stream,
        record: Callable[[Record], None],
        packets: Iterator[int],
        ended: Callable[[], None],
        election: bool = False,
    ) -> None:
        """`election`: the connection belongs to an election, not to what a leader and a follower say."""
        self.ended = False
        """True if the end has passed."""
        self.read_to_end = False
        """True if the end was read."""
        self._link = link
        self._connection = connection
        self._stream = stream
        self._record = record
        self._packets = packets
        self._on_end = ended
        self._election = election
        self._queue: deque[Waiting] = deque()
        self._bytes = 0
        self._reading = True
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        link.pipes.append(self)

    def join(self, source: Inlet, sink: Sink) -> None:
        """Name both ends of the pipe."""
        self._source = source
        self._sink = sink

    @property
    def held(self) -> bool:
        """Return True if a packet stands at the hold of the link."""
        return bool(self._queue) and self._is_held(self._queue[0])

    def at_gate(self) -> list[tuple[str, int | None]]:
        """Return the packets that wait: kind and zxid, None for a SNAP that is not yet whole."""
        begun = [(at, waiting.piece) for at, waiting in enumerate(self._queue) if waiting.piece.begins is not None]
        found = []
        for at, piece in begun:
            rest = (waiting.piece.packet for waiting in islice(self._queue, at, None))
            packet = next((each for each in rest if each is not None), None)
            kind = "ACK" if piece.begins == FIRST_ACK else piece.begins or ""
            if kind in ZAB:
                found.append((kind, None if packet is None else packet.zxid))
        return found

    def let_through(self) -> None:
        """Pass the packet that stands at the gate, and everything behind it that may pass."""
        waiting = self._queue.popleft()
        together = bytearray()
        self._pass(waiting, together)
        self._hand_over(together)
        self.pump()

    @property
    def passes(self) -> bool:
        """Return True if a packet that stands at the gate would reach the other end now."""
        return self._sink.writable and bool(self._queue) and self._is_gated(self._queue[0])

    def feed(self, data: bytes) -> None:
        """Take in bytes that were read."""
        decoded = self._stream.undecoded is None
        pieces = self._stream.feed(data)
        for piece in pieces:
            self._append(piece)
        if decoded and self._stream.undecoded is not None:
            sender, receiver = self._link.sender, self._link.receiver
            self._record(Undecoded(now(), self._connection, sender, receiver, self._stream.undecoded))
        if pieces:
            self.pump()

    def finish(self) -> None:
        """Note that the sender sends no more."""
        if not self.read_to_end:
            self.read_to_end = True
            for piece in self._stream.end():
                self._append(piece)
            self._append(Piece(b""), "finish")
            self.pump()

    def gone(self) -> None:
        """Note that the sender's socket is closed, so it takes nothing any more, either."""
        self.finish()
        self._append(Piece(b""), "close")
        self.pump()

    def pump(self) -> None:
        """Pass on everything that may pass."""
        if self._sink.lost:
            self.lose()
        together = bytearray()
        while self._queue and self._may_pass(self._queue[0]):
            waiting = self._queue.popleft()
            if waiting.end:
                self._hand_over(together)
                self._pass_end(waiting.end)
            else:
                self._pass(waiting, together)
        self._hand_over(together)
        if self._queue and self.held:
            self._link.changed()
        reading = self._bytes <= BOUND
        if reading != self._reading:
            self._reading = reading
            self._source.read_on(reading)

    def lose(self) -> None:
        """Drop everything that waits: it will never pass."""
        for waiting in self._queue:
            if waiting.packet is not None:
                self._record(Lost(now(), waiting.packet))
        self._queue.clear()
        self._bytes = 0

    def remove(self) -> None:
        """Remove the pipe from its link: the connection is closed."""
        self.lose()
        if self._timer is not None:
            self._timer.cancel()
        self._link.pipes.remove(self)

    def _append(self, piece: Piece, end: str = "") -> None:
        number = None if piece.packet is None else next(self._packets)
        if number is not None and piece.packet is not None:
            self._record(self._sent(number, piece.packet, piece.size))
        self._bytes += len(piece.data)
        self._queue.append(Waiting(self._loop.time(), piece, number, end))
        if piece.begins is not None:
            self._link.sprung(piece.begins)

    def _sent(self, number: int, packet: QuorumPacket, size: int) -> Sent:
        txn: LoggedTxn | None = None
        try:
            txn = packet.txn()
        except JuteError as error:
            reason = f"packet {number}, {packet.kind}: {error}"
            self._record(Undecoded(now(), self._connection, self._link.sender, self._link.receiver, reason))
        return Sent(
            time=now(),
            packet=number,
            connection=self._connection,
            sender=self._link.sender,
            receiver=self._link.receiver,
            kind=packet.kind,
            zxid=packet.zxid,
            epoch=packet.epoch(),
            txn=txn,
            size=size,
        )

    def _is_held(self, waiting: Waiting) -> bool:
        return self._link.hold is not None and waiting.piece.begins == self._link.hold

    def _is_gated(self, waiting: Waiting) -> bool:
        if self._election:
            return self._link.apart
        kind = "ACK" if waiting.piece.begins == FIRST_ACK else waiting.piece.begins
        return self._link.gated and (bool(waiting.end) or kind in ZAB)

    def _may_pass(self, waiting: Waiting) -> bool:
        if self._link.cut or self._is_gated(waiting) or not self._sink.writable or self._is_held(waiting):
            return False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = waiting.read + self._link.delay
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self.pump)
            return False
        return True

    def _pass(self, waiting: Waiting, together: bytearray) -> None:
        self._bytes -= len(waiting.piece.data)
        if waiting.packet is not None:
            self._record(Passed(now(), waiting.packet))
        together += waiting.piece.data
        if len(together) >= AT_ONCE:
            self._hand_over(together)

    def _hand_over(self, together: bytearray) -> None:
        if together:
            self._sink.write(bytes(together))
            together.clear()

    def _pass_end(self, end: str) -> None:
        if end == "close":
            self._sink.close()
        else:
            self._sink.finish()
            self.ended = True
            self._on_end()


def numbers() -> Iterator[int]:
    """Count 1, 2, 3, …"""
    return count(1)
