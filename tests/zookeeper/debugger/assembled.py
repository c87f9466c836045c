"""Class files made by hand: methods from their code, with a pool of constants that grows as they need it."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

RETURN = b"\xb1"
GOTO, IFEQ = 0xA7, 0x99
VIRTUAL, SPECIAL, STATIC, INTERFACE = 0xB6, 0xB7, 0xB8, 0xB9


class Made(NamedTuple):
    """A method: its code, the line of each index, its handlers (from, to, handler), and its access flags."""

    name: str
    code: bytes | None
    descriptor: str = "()V"
    lines: Sequence[tuple[int, int]] | None = ((0, 1),)
    handlers: Sequence[tuple[int, int, int]] = ()
    flags: int = 1


class Assembler:
    """A class that is being made."""

    def __init__(self) -> None:
        self._pool: dict[tuple[object, ...], int] = {}
        self._bytes = b""
        self._next = 1

    def _constant(self, tag: int, content: bytes, size: int = 1) -> int:
        if (tag, content) not in self._pool:
            self._pool[tag, content] = self._next
            self._next += size
            self._bytes += bytes([tag]) + content
        return self._pool[tag, content]

    def text(self, text: str) -> int:
        """The number of a text."""
        data = text.encode()
        return self._constant(1, struct.pack(">H", len(data)) + data)

    def klass(self, name: str) -> int:
        """The number of a class."""
        return self._constant(7, struct.pack(">H", self.text(name)))

    def long(self, number: int) -> int:
        """The number of a long, which takes two."""
        return self._constant(5, struct.pack(">q", number), size=2)

    def integer(self, number: int) -> int:
        """The number of an int."""
        return self._constant(3, struct.pack(">i", number))

    def call(self, operation: int, owner: str, method: str, descriptor: str = "()V") -> bytes:
        """The instruction that calls a method."""
        named = self._constant(12, struct.pack(">HH", self.text(method), self.text(descriptor)))
        tag = 11 if operation == INTERFACE else 10
        number = self._constant(tag, struct.pack(">HH", self.klass(owner), named))
        return struct.pack(">BH", operation, number) + (b"\x01\x00" if operation == INTERFACE else b"")

    def finished(
        self, name: str, methods: Sequence[Made], numbers: dict[str, int] | None = None, above: str = ""
    ) -> bytes:
        """The class file; `above` is the class's superclass."""
        this, superclass = self.klass(name), self.klass(above) if above else 0
        fields = [
            struct.pack(">HHHH", 0x19, self.text(field), self.text("I"), 1)
            + self._attribute("ConstantValue", struct.pack(">H", self.integer(number)))
            for field, number in (numbers or {}).items()
        ]
        made = [self._method(method) for method in methods]
        pool = struct.pack(">IHHH", 0xCAFEBABE, 0, 52, self._next) + self._bytes
        body = struct.pack(">HHHH", 0x21, this, superclass, 0)
        counted = [struct.pack(">H", len(each)) + b"".join(each) for each in (fields, made)]
        return pool + body + b"".join(counted) + struct.pack(">H", 0)

    def _method(self, method: Made) -> bytes:
        names = struct.pack(">HHH", method.flags, self.text(method.name), self.text(method.descriptor))
        if method.code is None:
            return names + struct.pack(">H", 0)
        lines = b""
        if method.lines is not None:
            rows = b"".join(struct.pack(">HH", *row) for row in method.lines)
            lines = self._attribute("LineNumberTable", struct.pack(">H", len(method.lines)) + rows)
        handlers = b"".join(struct.pack(">HHHH", *each, 0) for each in method.handlers)
        code = (
            struct.pack(">HHI", 9, 9, len(method.code))
            + method.code
            + struct.pack(">H", len(method.handlers))
            + handlers
            + struct.pack(">H", bool(lines))
            + lines
        )
        return names + struct.pack(">H", 1) + self._attribute("Code", code)

    def _attribute(self, name: str, content: bytes) -> bytes:
        return struct.pack(">HI", self.text(name), len(content)) + content
