"""The protocol, bytes in and bytes out."""

import random
import struct

import pytest

from zabcheck.zookeeper.debugger.agent import port_told
from zabcheck.zookeeper.debugger.jdwp import (
    BREAKPOINT,
    CLASS_PREPARE,
    HANDSHAKE,
    LONGEST,
    VM_DEATH,
    VM_START,
    Content,
    Conversation,
    Event,
    Location,
    ProtocolError,
    RawEvents,
    Reply,
    Sizes,
    events_in,
    packed,
    packed_text,
)

DEATH = struct.pack(">BIBI", 0, 1, VM_DEATH, 7)


def reply(number: int, data: bytes = b"", error: int = 0) -> bytes:
    """A reply as an agent sends it."""
    return struct.pack(">IIBH", 11 + len(data), number, 0x80, error) + data


def told(data: bytes, command: tuple[int, int] = (64, 100)) -> bytes:
    """A command as an agent sends it."""
    return struct.pack(">IIBBB", 11 + len(data), 1, 0, *command) + data


def test_a_command_has_a_number_of_its_own() -> None:
    connection = Conversation()
    assert connection.begin() == HANDSHAKE
    assert connection.command((1, 7)) == (1, b"\x00\x00\x00\x0b\x00\x00\x00\x01\x00\x01\x07")
    assert connection.command((11, 3), b"ab") == (2, b"\x00\x00\x00\x0d\x00\x00\x00\x02\x00\x0b\x03ab")


def test_replies_and_events_come_in_whatever_pieces() -> None:
    sent = HANDSHAKE + reply(1, b"data") + told(DEATH) + told(b"", (99, 1)) + reply(2, error=22)
    expected = [Reply(1, 0, b"data"), RawEvents(DEATH), Reply(2, 22, b"")]
    for seed in range(20):
        rng = random.Random(seed)
        connection, rest, got = Conversation(), sent, []
        while rest:
            size = rng.randint(1, 30)
            got += connection.receive(rest[:size])
            rest = rest[size:]
        assert got == expected
    refused = got[2]
    assert isinstance(refused, Reply)
    assert refused.reason == "class not prepared"
    assert Reply(3, 999, b"").reason == "error 999"


@pytest.mark.parametrize("sent", [b"HTTP/1.1 400", b"JDWP-Handshale", HANDSHAKE[:5] + b"x"])
def test_what_is_no_agent_is_noticed_at_its_first_bytes(sent: bytes) -> None:
    with pytest.raises(ProtocolError, match="expected a debug agent, found something else at its port"):
        Conversation().receive(sent)


@pytest.mark.parametrize("length", [0, 10, LONGEST + 1])
def test_a_length_that_cannot_be_is_refused(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"a packet of {length} bytes"):
        Conversation().receive(HANDSHAKE + struct.pack(">IIBBB", length, 1, 0, 64, 100))


def test_events_of_every_kind_that_is_asked_for() -> None:
    place = packed(1, 1) + packed(5, 4) + packed(6, 2) + packed(1234, 8)
    data = (
        packed(1, 1)
        + packed(4)
        + packed(BREAKPOINT, 1)
        + packed(11)
        + packed(3, 8)
        + place
        + packed(CLASS_PREPARE, 1)
        + packed(12)
        + packed(3, 8)
        + packed(1, 1)
        + packed(5, 4)
        + packed_text("Lp/Class;")
        + packed(7)
        + packed(VM_START, 1)
        + packed(0)
        + packed(3, 8)
        + packed(VM_DEATH, 1)
        + packed(0)
    )
    sizes = Sizes(method=2, reference=4)
    assert events_in(RawEvents(data), sizes) == [
        Event(BREAKPOINT, 11, 3, Location(1, 5, 6, 1234)),
        Event(CLASS_PREPARE, 12, 3, None, 5, "Lp/Class;"),
        Event(VM_START, 0, 3),
        Event(VM_DEATH, 0),
    ]
    for size in range(len(data)):
        with pytest.raises(ProtocolError, match="too short"):
            events_in(RawEvents(data[:size]), sizes)


def test_an_event_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(ProtocolError, match="an event of kind 4"):
        events_in(RawEvents(packed(0, 1) + packed(1) + packed(4, 1) + packed(1)), Sizes())


def test_values_of_every_kind() -> None:
    for data, expected in [
        (b"I" + packed(0xFFFFFFFF), -1),
        (b"J" + packed(2**40, 8), 2**40),
        (b"Z\x01", True),
        (b"S\xff\xff", -1),
        (b"C\xff\xff", 65535),
        (b"D" + struct.pack(">d", 0.5), 0.5),
        (b"L" + packed(77, 8), 77),
        (b"t" + packed(78, 8), 78),
        (b"V", 0),
    ]:
        assert Content(data, Sizes()).value() == expected


def test_the_port_that_the_agent_tells() -> None:
    assert port_told("Listening for transport dt_socket at address: 43210\nmore") == 43210
    assert port_told("Listening for transport dt_socket at address: 127.0.0.1:43210\n") == 43210
    assert port_told("2026-01-31 INFO starting\n") is None
    assert port_told("Listening for transport dt_socket at address: 432") == 432
