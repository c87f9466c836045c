"""Decodes the bytes that one end of a connection between two servers sends, while they arrive.

No input or output is done here: bytes are fed in and come out as pieces that may be passed on, in order, none added
and none left out. A packet is one piece. Bytes that cannot be decoded are passed on as they are, from there to the end,
and `undecoded` gives the reason: no connection breaks or stops because it is not understood.

SNAP is followed by the leader's whole tree (SerializeUtils.serializeSnapshot), then by the string "BenWasHere",
without a length of the whole. Clients' data may contain that string, and bytes like those of packets behind it. So the
end is not searched for: the tree's own lengths lead to it. Its bytes are passed on as they come.

The only bytes that are changed are those of the election port's first message. It has its sender's address, and other
servers connect back to that address, past whatever stands between the two.
"""

from collections.abc import Generator
from struct import Struct
from typing import NamedTuple, Protocol

from zabcheck.zookeeper.wire.jute import MAX_PACKET, NULL, JuteError, PacketType, QuorumPacket, Truncated, quorum_packet

FIRST_ACK = "ACK-LD"
"""The name for the ACK of NEWLEADER: the first ACK of a connection whose zxid has the counter 0."""

SIGNATURE = b"BenWasHere"
"""The string that ends a snapshot on the wire."""

INITIAL_VERSIONS = (-65536, -65535)
"""The versions of the election port's first message: with one address, with several (QuorumCnxManager)."""

_COUNTER = 0xFFFFFFFF
_INT = Struct(">i")
_LONG = Struct(">q")

# A snapshot's parts that have one size, in bytes.
_SESSION = 12  # long id, int time-out
_LIST_NUMBER = 8  # long, before each list of permissions
_PERMISSIONS = 4  # int, before a scheme and an identity
_NODE_END = 68  # long number of its list of permissions; StatPersisted: 6 longs, 3 ints

_INITIAL = Struct(">qqi")  # protocol version, sid, length of the addresses
_MAX_ADDRESSES = 2048  # bytes; ZooKeeper refuses more


_FROM_BYTE = "from byte "


def for_good(byte: int, why: str) -> str:
    """Return the reason, in the words of recordings, why nothing can be decoded from this byte of a stream on."""
    return f"{_FROM_BYTE}{byte} on: {why}"


def is_for_good(reason: str) -> bool:
    """Return True if this reason in a recording rules out decoding all that follows, not just one packet."""
    return reason.startswith(_FROM_BYTE)


class Piece(NamedTuple):
    """Bytes of a stream that belong together.

    `begins` is the name of the packet that begins here, if one does; `packet` is the packet that ends here, and `size`
    its length in bytes. Only SNAP, which ends with its snapshot, begins in one piece and ends in another.
    """

    data: bytes
    begins: str | None = None
    packet: QuorumPacket | None = None
    size: int = 0


class Stream(Protocol):
    """A decoder of one end of a connection."""

    undecoded: str | None
    """The reason why nothing is decoded any more; None as long as everything is."""

    def feed(self, data: bytes) -> list[Piece]:
        """Take in bytes, and return the pieces that can be passed on now."""

    def end(self) -> list[Piece]:
        """Return the rest when nothing follows: the beginning of an incomplete piece."""


class QuorumStream:
    """A decoder of one end of a connection to a quorum port.

    `feed` is O(bytes). Memory: one packet that is not whole; a snapshot is not kept.
    """

    def __init__(self) -> None:
        self.undecoded: str | None = None
        self._waiting = bytearray()
        self._passed = 0
        self._snap: QuorumPacket | None = None
        self._snap_size = 0
        self._snapshot = SnapshotEnd()
        self._acknowledged = False

    def feed(self, data: bytes) -> list[Piece]:
        """Take in bytes, and return the pieces that can be passed on now."""
        if self.undecoded is not None:
            return [Piece(data)]
        self._waiting += data
        pieces: list[Piece] = []
        at = 0
        try:
            while at < len(self._waiting):
                piece = self._packet(at) if self._snap is None else self._snapshot_part(self._snap, at)
                pieces.append(piece)
                at += len(piece.data)
        except Truncated:
            pass
        except JuteError as error:
            self.undecoded = for_good(self._passed + at, error.message)
            pieces.append(Piece(bytes(self._waiting[at:])))
            at = len(self._waiting)
        self._passed += at
        del self._waiting[:at]
        return pieces

    def end(self) -> list[Piece]:
        """Return the rest when nothing follows: the beginning of a packet that will never be whole."""
        rest = bytes(self._waiting)
        self._waiting.clear()
        return [Piece(rest)] if rest else []

    def _packet(self, at: int) -> Piece:
        packet, end = quorum_packet(self._waiting, at)
        data = bytes(self._waiting[at:end])
        if packet.type == PacketType.SNAP:
            self._snap, self._snap_size, self._snapshot = packet, len(data), SnapshotEnd()
            return Piece(data, packet.kind)
        kind = packet.kind
        if packet.type == PacketType.ACK and not packet.zxid & _COUNTER and not self._acknowledged:
            self._acknowledged = True
            kind = FIRST_ACK
        return Piece(data, kind, packet, len(data))

    def _snapshot_part(self, snap: QuorumPacket, at: int) -> Piece:
        end = at + self._snapshot.feed(bytes(self._waiting[at:]))
        data = bytes(self._waiting[at:end])
        self._snap_size += len(data)
        if not self._snapshot.ended:
            return Piece(data)
        self._snap = None
        return Piece(data, None, snap, self._snap_size)


class SnapshotEnd:
    """Finds where a snapshot on the wire ends, from the snapshot's own structure. Memory: one path."""

    def __init__(self) -> None:
        self.ended = False
        self._steps = _snapshot()
        self._skip, self._need = next(self._steps)
        self._taken = bytearray()

    def feed(self, data: bytes) -> int:
        """Return how many of these bytes belong to the snapshot. JuteError if they cannot be part of one. O(bytes)."""
        at, end = 0, len(data)
        while not self.ended:
            if self._skip:
                skipped = min(self._skip, end - at)
                self._skip -= skipped
                at += skipped
            if at == end:
                break
            start, at = at, min(end, at + self._need - len(self._taken))
            self._taken += data[start:at]
            if len(self._taken) < self._need:
                break
            try:
                taken, self._taken = self._taken, bytearray()
                self._skip, self._need = self._steps.send(taken)
            except StopIteration:
                self.ended = True
        return at


def _snapshot() -> Generator[tuple[int, int], bytearray, None]:
    """Walk through the structure of a snapshot: yield the numbers of bytes to skip and to take, and receive the latter.

    int number of sessions, the sessions; int number of lists of permissions, of each its number and a vector of
    permissions, scheme and identity; the nodes, of each its path (of the root ""), data and `_NODE_END`; the path "/",
    which ends the nodes; the signature.
    """
    sessions = _size((yield 0, 4), "the number of sessions")
    lists = _size((yield sessions * _SESSION, 4), "the number of lists of permissions")
    skip = 0
    for _ in range(lists):
        length = _size((yield skip + _LIST_NUMBER, 4), "the length of a list of permissions")
        skip = 0
        for _ in range(length):
            scheme = _size((yield skip + _PERMISSIONS, 4), "the length of a scheme")
            skip = _size((yield scheme, 4), "the length of an identity")
    path_size = _size((yield skip, 4), "the length of a path")
    while True:
        # A path, and a length: of the node's data, or of the signature.
        taken = yield 0, path_size + 4
        size = _size(taken[path_size:], "the length of a node's data, or of the signature")
        if taken[:path_size] == b"/":
            break
        path_size = _size((yield size + _NODE_END, 4), "the length of a path")
    if size != len(SIGNATURE) or (yield 0, size) != SIGNATURE:
        raise JuteError(0, "a snapshot does not end with its signature")


def _size(taken: bytearray, what: str) -> int:
    """Unpack the length of a list or of bytes in a snapshot; 0 for a null."""
    size: int = _INT.unpack(taken)[0]
    if not NULL <= size <= MAX_PACKET:
        raise JuteError(0, f"{what} in a snapshot is {size}")
    return max(size, 0)


class ElectionStream:
    """A decoder of the initiator's end of a connection to an election port; `address` replaces the initiator's own.

    The first message is: long version, long sid, int length of the rest; "host:port", or several with | between. A
    first message that cannot be decoded stays as it is. All later bytes are passed on as they come. `feed` is O(bytes).
    """

    def __init__(self, address: str) -> None:
        self.undecoded: str | None = None
        self._address = address.encode()
        self._waiting: bytearray | None = bytearray()

    def feed(self, data: bytes) -> list[Piece]:
        """Take in bytes, and return the pieces that can be passed on now."""
        if self._waiting is None:
            return [Piece(data)]
        self._waiting += data
        first = bytes(self._waiting)
        if len(first) >= _LONG.size and _LONG.unpack_from(first)[0] not in INITIAL_VERSIONS:
            return self._undecoded(f"the version of the first message is {_LONG.unpack_from(first)[0]}")
        if len(first) < _INITIAL.size:
            return []
        version, sid, size = _INITIAL.unpack_from(first)
        if not 0 < size <= _MAX_ADDRESSES:
            return self._undecoded(f"the length of the first message's addresses is {size}")
        end = _INITIAL.size + size
        if len(first) < end:
            return []
        self._waiting = None
        return [Piece(_INITIAL.pack(version, sid, len(self._address)) + self._address + first[end:])]

    def end(self) -> list[Piece]:
        """Return the rest when nothing follows: the beginning of a first message that will never be whole."""
        rest = bytes(self._waiting or b"")
        self._waiting = None
        return [Piece(rest)] if rest else []

    def _undecoded(self, why: str) -> list[Piece]:
        self.undecoded = for_good(0, why)
        return self.end()


class RawStream:
    """The other end of a connection to an election port: its bytes are passed on unread."""

    undecoded: str | None = None

    def feed(self, data: bytes) -> list[Piece]:
        """Return all of it."""
        return [Piece(data)]

    def end(self) -> list[Piece]:
        """Return nothing: nothing is ever kept back."""
        return []
