"""Bytes that servers send each other, written from ZooKeeper's declarations, and random ones."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from struct import pack

from hypothesis import strategies as st

from zabcheck.zookeeper.wire.jute import PacketType, QuorumPacket
from zabcheck.zookeeper.wire.streams import Piece, Stream

SIGNATURE = pack(">i", 10) + b"BenWasHere"


def buffer(data: bytes | None) -> bytes:
    return pack(">i", -1) if data is None else pack(">i", len(data)) + data


def encoded(packet: QuorumPacket) -> bytes:
    identities = pack(">i", -1)
    if packet.authinfo is not None:
        identities = pack(">i", len(packet.authinfo))
        for each in packet.authinfo:
            identities += b"".join(buffer(None if text is None else text.encode()) for text in each)
    return pack(">iq", packet.type, packet.zxid) + buffer(packet.data) + identities


def packet(kind: str, zxid: int = 5, data: bytes | None = None) -> bytes:
    return encoded(QuorumPacket(PacketType[kind], zxid, data))


def proposal(zxid: int, path: str = "/a") -> bytes:
    """The creation of `path` by request 7 of session 3."""
    return packet("PROPOSAL", zxid, pack(">qiqqi", 3, 7, zxid, 1, 1) + buffer(path.encode()) + buffer(b"data"))


def node(path: bytes, data: bytes | None) -> bytes:
    """A long (its list of permissions), 4 longs, 3 ints, 2 longs behind both."""
    return buffer(path) + buffer(data) + pack(">q4q3i2q", -1, 1, 1, 1, 1, 0, 0, 0, 0, 1)


def snapshot(
    nodes: Iterable[tuple[bytes, bytes | None]] = (),
    sessions: Sequence[tuple[int, int]] = (),
    permissions: Sequence[Sequence[tuple[int, bytes, bytes]]] = (),
) -> bytes:
    """A snapshot on the wire: the nodes besides the root; `permissions` are lists of number, scheme and identity."""
    data = pack(">i", len(sessions)) + b"".join(pack(">qi", *session) for session in sessions)
    data += pack(">i", len(permissions))
    for number, entries in enumerate(permissions):
        data += pack(">qi", number, len(entries))
        data += b"".join(pack(">i", mask) + buffer(scheme) + buffer(identity) for mask, scheme, identity in entries)
    data += node(b"", b"") + b"".join(node(*each) for each in nodes)
    return data + buffer(b"/") + SIGNATURE


def split(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """`data` in the parts between these places."""
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places) if start < end]


def passed(stream: Stream, parts: Iterable[bytes]) -> list[Piece]:
    """All that a stream lets through."""
    return [piece for part in parts for piece in stream.feed(part)] + stream.end()


def joined(pieces: Iterable[Piece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


_LONGS = st.integers(-(2**63), 2**63 - 1)
_TEXTS = st.none() | st.text(max_size=5)
_NASTY = st.sampled_from(
    [
        b"",
        SIGNATURE,
        b"BenWasHere",
        buffer(b"/") + SIGNATURE,
        buffer(b"/") + SIGNATURE + packet("NEWLEADER") + packet("UPTODATE"),
        snapshot(),
        b"\xff" * 4,
        bytes(4),
    ]
)
PACKETS = st.builds(
    QuorumPacket,
    st.integers(0, 255).filter(lambda kind: kind != PacketType.SNAP),
    _LONGS,
    st.none() | st.binary(max_size=30) | _NASTY,
    st.none() | st.lists(st.tuples(_TEXTS, _TEXTS), max_size=3).map(tuple),
)
DATA = st.none() | _NASTY | st.binary(max_size=30) | st.lists(_NASTY, max_size=3).map(b"".join)
PATHS = st.lists(st.sampled_from([b"a", b"BenWasHere", SIGNATURE, b"\xc3\xa4"]), min_size=1, max_size=3).map(
    lambda names: b"/" + b"/".join(names)
)
SNAPSHOTS = st.builds(
    snapshot,
    st.lists(st.tuples(PATHS, DATA), max_size=5),
    st.lists(st.tuples(_LONGS, st.integers(0, 10**6)), max_size=3),
    st.lists(st.lists(st.tuples(st.integers(0, 31), _NASTY, _NASTY), max_size=2), max_size=3),
)
SPLITS = st.lists(st.integers(0, 500), max_size=20)
