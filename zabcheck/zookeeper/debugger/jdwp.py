"""The wire protocol of the JDK's debug agent as bytes in and bytes out: no socket, no thread, no clock.

Source: "Java Debug Wire Protocol" and its specification of commands, both in the documentation of the JDK. Only what is
needed here is known: commands are numbers of a set and of a command in it, ids are numbers whose size the agent tells.
"""

import struct
from typing import NamedTuple

HANDSHAKE = b"JDWP-Handshake"
"""What both sides send first."""
_HEADER = struct.Struct(">IIBBB")
"""Length, id, flags, and set and command, or the two bytes of an error."""
_REPLY = 0x80
_COMPOSITE = (64, 100)
"""The only command that the agent sends: events that happened at one place."""
LONGEST = 1 << 26
"""The longest packet that is believed, in bytes: a longer one means that the stream is not understood."""

SINGLE_STEP, BREAKPOINT, CLASS_PREPARE, VM_START, VM_DEATH = 1, 2, 8, 90, 99
"""Kinds of events (JDWP, EventKind)."""
SUSPEND_NONE, SUSPEND_THREAD = 0, 1
"""What stands still when an event is told: nothing, or the thread that it happened in."""

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
"""What the errors mean that may come here (JDWP, Error)."""


class ProtocolError(Exception):
    """The bytes are not those of a debug agent. The message is one line."""


class Reply(NamedTuple):
    """The answer to the command `number`; `error` is 0, or says why there is no data."""

    number: int
    error: int
    data: bytes

    @property
    def reason(self) -> str:
        """The error in words."""
        return _NAMES.get(self.error, f"error {self.error}")


class Told(NamedTuple):
    """Events that the agent tells, not decoded: that needs the sizes of ids."""

    data: bytes


class Location(NamedTuple):
    """An instruction: of which class and method (ids), at which byte of the code. `tag` is that of the class."""

    tag: int
    class_id: int
    method: int
    at: int


class Event(NamedTuple):
    """What happened: its kind, the request that asked for it, the thread, and what belongs to the kind.

    `location` is that of a breakpoint or of a step, `signature` ("Lp/Class;") and `class_id` are those of a class.
    """

    kind: int
    request: int
    thread: int = 0
    location: Location | None = None
    class_id: int = 0
    signature: str = ""


class Sizes(NamedTuple):
    """The sizes of ids in bytes, as IDSizes tells them, in its order."""

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
        """Return what is to be sent first."""
        return HANDSHAKE

    def command(self, command: tuple[int, int], data: bytes = b"") -> tuple[int, bytes]:
        """Return the number of a new command (set, command), which its reply has, and what is to be sent."""
        self._number += 1
        return self._number, _HEADER.pack(_HEADER.size + len(data), self._number, 0, *command) + data

    def receive(self, data: bytes) -> list[Reply | Told]:
        """Take what the agent sent, and return what is whole by now. ProtocolError if it is no agent."""
        self._received += data
        if not self._greeted:
            if not HANDSHAKE.startswith(self._received[: len(HANDSHAKE)]):
                raise ProtocolError("expected a debug agent, found something else at its port")
            if len(self._received) < len(HANDSHAKE):
                return []
            self._received = self._received[len(HANDSHAKE) :]
            self._greeted = True
        whole: list[Reply | Told] = []
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
                whole.append(Told(content))
        return whole


class Content:
    """Reads the data of a packet, one value after the other. ProtocolError if it ends too early."""

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
        """Read a number without a sign, or an id."""
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
        """Read a value behind its tag, or one whose tag is known; of an object the id, which is 0 for null."""
        kind = chr(self.number(1) if tag is None else tag)
        if kind in _NUMBERS:
            form = _NUMBERS[kind]
            [value] = struct.unpack(f">{form}", self.take(struct.calcsize(form)))
            return value  # type: ignore[no-any-return]  # struct says nothing of types
        return 0 if kind == "V" else self.object()


_NUMBERS = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
"""The tags of values that are no objects, and how they are written."""


def packed(number: int, size: int = 4) -> bytes:
    """Return a number, or an id, as the protocol writes it."""
    return number.to_bytes(size)


def packed_text(text: str) -> bytes:
    """Return a text as the protocol writes it."""
    data = text.encode()
    return packed(len(data)) + data


def events_in(told: Told, sizes: Sizes) -> list[Event]:
    """Decode events. ProtocolError if they are cut off, or of a kind that nobody asks for here."""
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
