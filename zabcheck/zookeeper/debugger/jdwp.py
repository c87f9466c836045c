"""The wire protocol of the JDK's debug agent as bytes in and bytes out: no socket, no thread, no clock.

Source: "Java Debug Wire Protocol" and its specification of commands, both in the documentation of the JDK. Only the
necessary part is here. A command is the number of a set and a number in it; the agent tells the size of each kind of
id.
"""

import struct
from typing import NamedTuple

HANDSHAKE = b"JDWP-Handshake"
"""The first bytes that each side sends."""
_HEADER = struct.Struct(">IIBBB")
"""Length, id, flags, and set and command, or the two bytes of an error."""
_REPLY = 0x80
_COMPOSITE = (64, 100)
"""The only command that the agent sends: events that happened at one place."""
LONGEST = 1 << 26
"""The longest packet that is accepted, in bytes: a longer one means that the stream is misread."""

SINGLE_STEP, BREAKPOINT, CLASS_PREPARE, VM_START, VM_DEATH = 1, 2, 8, 90, 99
"""Kinds of events (JDWP, EventKind)."""
SUSPEND_NONE, SUSPEND_THREAD = 0, 1
"""The threads that an event holds: none, or the one that it happened in."""

_NAMES = {
    10: "invalid thread",
    13: "thread not suspended",
    20: "invalid object",
    21: "invalid class",
    22: "class not prepared",
    23: "invalid method",
    24: "invalid location",
    25: "invalid field",
    99: "not implemented",
    112: "the VM is dead",
}
"""The meanings of the errors that may come here (JDWP, Error)."""


class ProtocolError(Exception):
    """The bytes are not those of a debug agent. The message is one line."""


class Reply(NamedTuple):
    """The answer to the command `number`; `error` is 0, or the reason why there is no data."""

    number: int
    error: int
    data: bytes

    @property
    def reason(self) -> str:
        """The error as a text."""
        return _NAMES.get(self.error, f"error {self.error}")


class RawEvents(NamedTuple):
    """Events that came from the agent, not decoded: decoding needs the sizes of ids."""

    data: bytes


class Location(NamedTuple):
    """An instruction: the ids of its class and method, and its byte in the code. `tag` is that of the class."""

    tag: int
    class_id: int
    method: int
    at: int


class Event(NamedTuple):
    """An event: its kind, the request for it, the thread, and the fields of the kind.

    `location` is that of a breakpoint or of a step, `signature` ("Lp/Class;") and `class_id` are those of a class.
    """

    kind: int
    request: int
    thread: int = 0
    location: Location | None = None
    class_id: int = 0
    signature: str = ""


class Sizes(NamedTuple):
    """The sizes of ids in bytes, in the order of the reply to IDSizes."""

    field: int = 8
    method: int = 8
    object: int = 8
    reference: int = 8
    frame: int = 8


class Conversation:
    """One side of a conversation with an agent. The bytes that it returns are to be sent, in their order."""

    def __init__(self) -> None:
        self._received = b""
        self._greeted = False
        self._number = 0

    def begin(self) -> bytes:
        """Return the bytes to send first."""
        return HANDSHAKE

    def command(self, command: tuple[int, int], data: bytes = b"") -> tuple[int, bytes]:
        """Return the number of a new command (set, command), which its reply will have, and the bytes to send."""
        self._number += 1
        return self._number, _HEADER.pack(_HEADER.size + len(data), self._number, 0, *command) + data

    def receive(self, data: bytes) -> list[Reply | RawEvents]:
        """Take bytes from the agent; return all that are complete now. Raises ProtocolError if it is no agent."""
        self._received += data
        if not self._greeted:
            if not HANDSHAKE.startswith(self._received[: len(HANDSHAKE)]):
                raise ProtocolError("expected a debug agent, found something else at its port")
            if len(self._received) < len(HANDSHAKE):
                return []
            self._received = self._received[len(HANDSHAKE) :]
            self._greeted = True
        whole: list[Reply | RawEvents] = []
        while len(self._received) >= _HEADER.size:
            length, number, flags, first, second = _HEADER.unpack_from(self._received)
            if not _HEADER.size <= length <= LONGEST:
                raise ProtocolError(f"the debug agent sent a packet of {length} bytes")
            if len(self._received) < length:
                break
            content = self._received[_HEADER.size : length]
            self._received = self._received[length:]
            if flags & _REPLY:
                whole.append(Reply(number, first << 8 | second, content))
            elif (first, second) == _COMPOSITE:
                whole.append(RawEvents(content))
        return whole


class Content:
    """Reads the data of a packet, one value after the other. Raises ProtocolError if it ends too early."""

    def __init__(self, data: bytes, sizes: Sizes) -> None:
        self._data = data
        self._at = 0
        self.sizes = sizes

    def take(self, size: int) -> bytes:
        """Read `size` bytes."""
        part = self._data[self._at : self._at + size]
        if len(part) < size:
            raise ProtocolError("the debug agent sent a packet that is too short")
        self._at += size
        return part

    def number(self, size: int = 4) -> int:
        """Read an unsigned number, or an id."""
        return int.from_bytes(self.take(size))

    def text(self) -> str:
        """Read a text."""
        return self.take(self.number()).decode("utf-8", errors="replace")

    def object(self) -> int:
        """Read the id of an object; a thread is one."""
        return self.number(self.sizes.object)

    def location(self) -> Location:
        """Read the place of an instruction."""
        return Location(
            self.number(1), self.number(self.sizes.reference), self.number(self.sizes.method), self.number(8)
        )

    def value(self, tag: int | None = None) -> int | float | bool:
        """Read a value behind its tag, or one whose tag is known; for an object its id, which is 0 for null."""
        kind = chr(self.number(1) if tag is None else tag)
        if kind in _NUMBERS:
            form = _NUMBERS[kind]
            [value] = struct.unpack(f">{form}", self.take(struct.calcsize(form)))
            return value  # type: ignore[no-any-return]  # struct says nothing of types
        return 0 if kind == "V" else self.object()


_NUMBERS = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
"""The tags of values that are no objects, and the form of each for the module struct."""


def packed(number: int, size: int = 4) -> bytes:
    """Return the bytes of a number, or of an id."""
    return number.to_bytes(size)


def packed_text(text: str) -> bytes:
    """Return the bytes of a text."""
    data = text.encode()
    return packed(len(data)) + data


def events_in(told: RawEvents, sizes: Sizes) -> list[Event]:
    """Decode events. Raises ProtocolError if they are cut off, or of a kind that was not requested."""
    reader = Content(told.data, sizes)
    reader.number(1)  # what stands still
    return [_event(reader) for _ in range(reader.number())]


def _event(reader: Content) -> Event:
    kind, request = reader.number(1), reader.number()
    match kind:
        case 99:  # VM_DEATH
            return Event(kind, request)
        case 90:  # VM_START
            return Event(kind, request, reader.object())
        case 1 | 2:  # SINGLE_STEP, BREAKPOINT
            return Event(kind, request, reader.object(), reader.location())
        case 8:  # CLASS_PREPARE
            thread, _ = reader.object(), reader.number(1)
            class_id, signature, _ = reader.number(reader.sizes.reference), reader.text(), reader.number()
            return Event(kind, request, thread, None, class_id, signature)
    raise ProtocolError(f"the debug agent told an event of kind {kind}, which nobody asked for")
