"""Whatever the network does to the boundaries, the same packets come out, and always the same bytes."""

from struct import pack

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.zookeeper import caught
from tests.zookeeper.packets import (
    PACKETS,
    SIGNATURE,
    SNAPSHOTS,
    SPLITS,
    buffer,
    encoded,
    joined,
    node,
    packet,
    passed,
    proposal,
    snapshot,
    split,
)
from zabcheck.zookeeper.wire.jute import (
    MAX_PACKET,
    JuteError,
    LoggedTxn,
    PacketType,
    QuorumPacket,
    Truncated,
    quorum_packet,
)
from zabcheck.zookeeper.wire.streams import FIRST_ACK, ElectionStream, QuorumStream

SNAP = QuorumPacket(PacketType.SNAP, 9)


@given(st.lists(PACKETS), SPLITS)
def test_packets_come_out_whole_wherever_they_were_split(packets: list[QuorumPacket], cuts: list[int]) -> None:
    data = b"".join(map(encoded, packets))
    stream = QuorumStream()
    pieces = passed(stream, split(data, cuts))
    assert [piece.packet for piece in pieces] == packets
    assert [(piece.data, piece.size) for piece in pieces] == [(encoded(each), len(encoded(each))) for each in packets]
    assert stream.undecoded is None


@given(st.lists(PACKETS, max_size=3), SNAPSHOTS, st.lists(PACKETS, max_size=3), SPLITS)
@example([], snapshot([(b"/" + SIGNATURE, SIGNATURE + packet("NEWLEADER"))]), [], list(range(500)))
def test_a_snapshot_ends_where_its_tree_ends(
    before: list[QuorumPacket], tree: bytes, after: list[QuorumPacket], cuts: list[int]
) -> None:
    """Whatever clients have written into it."""
    packets = [*before, SNAP, *after]
    data = b"".join([*map(encoded, before), encoded(SNAP), tree, *map(encoded, after)])
    pieces = passed(QuorumStream(), split(data, cuts))
    assert joined(pieces) == data
    assert [piece.packet for piece in pieces if piece.packet] == packets
    assert [piece.begins for piece in pieces if piece.begins == "SNAP"] == ["SNAP"]
    assert [piece.size for piece in pieces if piece.packet == SNAP] == [len(encoded(SNAP) + tree)]


def test_a_snapshot_is_passed_on_while_it_comes() -> None:
    data = encoded(SNAP) + snapshot([(b"/a", bytes(1000))])
    stream = QuorumStream()
    for at in range(0, len(data), 7):
        assert joined(stream.feed(data[at : at + 7])) == data[at : at + 7] or at < len(encoded(SNAP))


@given(st.lists(PACKETS, max_size=3), st.none() | SNAPSHOTS, st.binary(max_size=300), SPLITS)
@example([], None, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [])
def test_what_is_no_packet_is_passed_as_it_is(
    packets: list[QuorumPacket], tree: bytes | None, garbage: bytes, cuts: list[int]
) -> None:
    data = b"".join(map(encoded, packets)) + (encoded(SNAP) + tree[: len(tree) // 2] if tree else b"") + garbage
    stream = QuorumStream()
    pieces = passed(stream, split(data, cuts))
    assert joined(pieces) == data
    assert [piece.packet for piece in pieces][: len(packets)] == packets


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x16\x03\x01\x02", "from byte 20 on: the type of a packet is 369295618"),
        (pack(">i", -1), "from byte 20 on: the type of a packet is -1"),
        (pack(">iqi", 2, 5, MAX_PACKET + 1), f"from byte 20 on: the length of a packet's data is {MAX_PACKET + 1}"),
        (pack(">iqi", 2, 5, -2), "from byte 20 on: the length of a packet's data is -2"),
        (pack(">iqii", 2, 5, -1, 1001), "from byte 20 on: the length of authinfo is 1001"),
        (pack(">iqiii", 2, 5, -1, 1, 1 << 30), "from byte 20 on: the length of a scheme is 1073741824"),
        (encoded(SNAP) + pack(">i", -2), "from byte 40 on: the number of sessions in a snapshot is -2"),
        (
            encoded(SNAP) + pack(">ii", 0, 0) + node(b"", b"") + buffer(b"/") + buffer(b"BenWasThere"),
            "from byte 40 on: a snapshot does not end with its signature",
        ),
    ],
)
def test_it_is_said_from_where_nothing_is_decoded(data: bytes, reason: str) -> None:
    """At once: bytes that wait for more that never comes would stop the connection."""
    stream = QuorumStream()
    pieces = stream.feed(packet("ACK") + data)
    assert joined(pieces) == packet("ACK") + data
    assert stream.undecoded == reason
    assert [piece.packet for piece in stream.feed(packet("ACK"))] == [None]


def test_what_will_never_be_whole_is_passed_at_the_end() -> None:
    stream = QuorumStream()
    assert stream.feed(packet("ACK")[:-1]) == []
    assert joined(stream.end()) == packet("ACK")[:-1]
    assert stream.end() == []


def test_the_first_ack_with_counter_0_has_a_name_of_its_own() -> None:
    acks = [5, 1 << 32, 1 << 32, 2 << 32]
    pieces = QuorumStream().feed(b"".join(packet("ACK", zxid) for zxid in acks))
    assert [piece.begins for piece in pieces] == ["ACK", FIRST_ACK, "ACK", "ACK"]
    assert {piece.packet.kind for piece in pieces if piece.packet} == {"ACK"}
    assert QuorumStream().feed(packet("COMMIT", 1 << 32))[0].begins == "COMMIT"


def test_packets_of_a_real_ensemble() -> None:
    stream = QuorumStream()
    pieces = stream.feed(caught.PROPOSAL + caught.REQUEST + caught.ACKEPOCH + caught.SNAP + packet("NEWLEADER"))
    assert [piece.packet.kind for piece in pieces if piece.packet] == [
        "PROPOSAL",
        "REQUEST",
        "ACKEPOCH",
        "SNAP",
        "NEWLEADER",
    ]
    proposed, request, epoch = (piece.packet for piece in pieces[:3])
    assert proposed is not None
    assert request is not None
    assert epoch is not None
    txn = proposed.txn()
    assert txn is not None
    assert (txn.zxid, txn.type, txn.path) == (proposed.zxid, 1, "/authd")
    assert request.txn() == LoggedTxn(0, txn.session, txn.cxid, 1, "/authd", len(request.data or b""))
    assert [scheme for scheme, _ in request.authinfo or ()] == ["digest", "ip"]
    assert (epoch.epoch(), epoch.txn(), proposed.epoch()) == (-1, None, None)
    assert b"BenWasHere" in caught.SNAP[:-10], "there is one in the data of a node, too"


def test_the_transaction_of_each_kind_of_packet() -> None:
    data = quorum_packet(proposal(8, "/x"))[0].data
    txn = LoggedTxn(8, 3, 7, 1, "/x", len(data or b""))
    assert QuorumPacket(PacketType.INFORM, 8, data).txn() == txn
    assert QuorumPacket(PacketType.INFORMANDACTIVATE, 8, pack(">q", 2) + (data or b"")).txn() == txn
    assert QuorumPacket(PacketType.COMMIT, 8).txn() is None
    closing = QuorumPacket(PacketType.REQUEST, -1, pack(">qii", 3, 9, -11))
    assert closing.txn() == LoggedTxn(0, 3, 9, -11, "", 16)
    for kind in (PacketType.PROPOSAL, PacketType.REQUEST):
        with pytest.raises(JuteError):
            QuorumPacket(kind, 8, b"short").txn()
    assert QuorumPacket(PacketType.ACKEPOCH, 8, pack(">i", 3)).epoch() == 3
    assert QuorumPacket(PacketType.ACKEPOCH, 8, b"").epoch() is None
    assert QuorumPacket(40, 8).kind == "40"


@given(PACKETS)
def test_the_beginning_of_a_packet_may_become_one(each: QuorumPacket) -> None:
    data = encoded(each)
    assert quorum_packet(b"12" + data, 2) == (each, len(data) + 2)
    for size in range(len(data)):
        with pytest.raises(Truncated):
            quorum_packet(data[:size])


def first_message(version: int, sid: int, addresses: bytes) -> bytes:
    return pack(">qq", version, sid) + buffer(addresses)


@given(
    st.sampled_from([-65536, -65535]),
    st.sampled_from([b"127.0.0.1:3888", b"[::1]:3888", b"a:1|b:2|c:3"]),
    st.binary(max_size=40),
    SPLITS,
)
def test_the_first_election_message_names_the_proxy(version: int, address: bytes, rest: bytes, cuts: list[int]) -> None:
    stream = ElectionStream("127.0.0.1:12345")
    pieces = passed(stream, split(first_message(version, 3, address) + rest, cuts))
    assert joined(pieces) == first_message(version, 3, b"127.0.0.1:12345") + rest
    assert stream.undecoded is None


def test_the_first_election_message_of_a_real_server() -> None:
    pieces = ElectionStream("127.0.0.1:9").feed(caught.FIRST_ELECTION_MESSAGE)
    assert joined(pieces) == first_message(-65536, caught.FIRST_ELECTION_SENDER, b"127.0.0.1:9")


@given(st.binary(max_size=60), SPLITS)
@example(first_message(-65537, 3, b"a:1"), [])
@example(first_message(-65536, 3, b""), [])
@example(first_message(-65536, 3, b"a" * 2049), [])
@example(first_message(-65536, 3, b"a:1")[:-1], [])
def test_another_first_message_is_left_as_it_is(data: bytes, cuts: list[int]) -> None:
    assert joined(passed(ElectionStream("127.0.0.1:9"), split(data, cuts))) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pack(">q", 3), "from byte 0 on: the version of the first message is 3"),
        (pack(">qqi", -65536, 3, 0), "from byte 0 on: the length of the first message's addresses is 0"),
    ],
)
def test_it_is_said_that_the_first_message_is_unknown(data: bytes, reason: str) -> None:
    stream = ElectionStream("127.0.0.1:9")
    assert joined(stream.feed(data)) == data
    assert stream.undecoded == reason
