"""Reads a Java class file as far as it shows where calls are: methods, their calls and branches, their lines.

Source: The Java Virtual Machine Specification, Java SE 21, chapters 4 (the file) and 6 (the instructions). All other
attributes and constants are passed over.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_MAGIC = 0xCAFEBABE

_UTF8, _INTEGER, _CLASS, _FIELD, _METHOD, _INTERFACE_METHOD, _NAME_AND_TYPE = 1, 3, 7, 9, 10, 11, 12
_SIZES = {
    _INTEGER: 4,
    4: 4,
    5: 8,
    6: 8,
    _CLASS: 2,
    8: 2,
    _FIELD: 4,
    _METHOD: 4,
    _INTERFACE_METHOD: 4,
    _NAME_AND_TYPE: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
"""The bytes of each kind of constant after its tag (JVMS 4.4), except for text, which begins with its length."""
_TAKES_TWO = (5, 6)
"""Constants that take two numbers of the pool: long and double."""

_INVOKES = {0xB6: 3, 0xB7: 3, 0xB8: 3, 0xB9: 5}
"""invokevirtual, invokespecial, invokestatic and invokeinterface, with their lengths."""
_TABLESWITCH, _LOOKUPSWITCH, _WIDE, _IINC = 0xAA, 0xAB, 0xC4, 0x84
_SHORT_BRANCHES = (*range(0x99, 0xA9), 0xC6, 0xC7)
"""The conditional branches, goto and jsr, ifnull and ifnonnull: the distance has two bytes."""
_LONG_BRANCHES = (0xC8, 0xC9)
_LENGTHS = (
    dict.fromkeys(range(0xCA), 1)
    | dict.fromkeys([0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC], 2)
    | dict.fromkeys([0x11, 0x13, 0x14, _IINC, *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1, *_SHORT_BRANCHES], 3)
    | dict.fromkeys([0xC5], 4)
    | dict.fromkeys([0xB9, 0xBA, *_LONG_BRANCHES], 5)
)
"""The length in bytes of each instruction whose length is fixed (JVMS 6.5)."""


class ClassFileError(ValueError):
    """The bytes are no whole class file. The message gives the fault, without the name of the file."""


class Call(NamedTuple):
    """A call in a method's code: of `method` in the class `owner` ("java/io/Flushable"), at byte `at` of the code.

    `following` is the byte of the next instruction.
    """

    at: int
    following: int
    owner: str
    method: str


class Method(NamedTuple):
    """A method: its calls in the order of the code, where branches lead, and the line at which each index begins.

    `descriptor` gives its parameters and result as in the file ("(J)V"). `lines` is empty if the class was compiled
    without them. A method without code, abstract or native, has a `length` of 0.
    """

    name: str
    descriptor: str
    length: int
    calls: tuple[Call, ...]
    targets: frozenset[int]
    lines: tuple[tuple[int, int], ...]

    def line(self, index: int) -> int | None:
        """Return the line of the source that the instruction at `index` belongs to, None if the class has no lines."""
        before = bisect_right(self.lines, index, key=lambda each: each[0])
        return self.lines[before - 1][1] if before else None


class ClassFile(NamedTuple):
    """A class: its name ("java/io/File"), its methods in the order of the file, and its constant numbers by name."""

    name: str
    methods: tuple[Method, ...]
    numbers: Mapping[str, int]


def read_class(data: bytes) -> ClassFile:
    """Read a class file. ClassFileError if it is damaged, or none; linear in its size."""
    try:
        return _read(_Reader(data))
    except (IndexError, KeyError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise ClassFileError(f"expected a whole class file, found {len(data)} bytes that are none") from error


class _Reader:
    """The bytes of a file, read one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> int:
        """Read a number: its form is one letter of the module struct."""
        [number] = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(f">{form}")
        return int(number)

    def read(self, size: int) -> bytes:
        """Read `size` bytes. IndexError if there are fewer."""
        if self.at + size > len(self.data):
            raise IndexError(size)
        self.at += size
        return self.data[self.at - size : self.at]


class _Pool:
    """The constants of a class file, by number."""

    def __init__(self, reader: _Reader) -> None:
        self._constants: dict[int, tuple[int, bytes]] = {}
        count = reader.take("H")
        number = 1
        while number < count:
            tag = reader.take("B")
            self._constants[number] = tag, reader.read(reader.take("H") if tag == _UTF8 else _SIZES[tag])
            number += 2 if tag in _TAKES_TWO else 1

    def text(self, number: int) -> str:
        """Return a text. Characters that Java encodes in a way of its own (JVMS 4.4.7) become question marks."""
        return self._constant(number, _UTF8).decode("utf-8", errors="replace")

    def class_name(self, number: int) -> str:
        """Return the name of a class."""
        return self.text(*struct.unpack(">H", self._constant(number, _CLASS)))

    def integer(self, number: int) -> int:
        """Return a number. KeyError if the constant is none."""
        return int.from_bytes(self._constant(number, _INTEGER), signed=True)

    def member(self, number: int) -> tuple[str, str]:
        """Return the class and the name of a method that is called."""
        owner, called = struct.unpack(">HH", self._constant(number, _METHOD, _INTERFACE_METHOD))
        name, _ = struct.unpack(">HH", self._constant(called, _NAME_AND_TYPE))
        return self.class_name(owner), self.text(name)

    def _constant(self, number: int, *tags: int) -> bytes:
        tag, content = self._constants[number]
        if tag not in tags:
            raise KeyError(number)
        return content


def _read(reader: _Reader) -> ClassFile:
    if reader.take("I") != _MAGIC:
        raise ClassFileError("expected a class file, found something else")
    reader.read(4)  # its version
    pool = _Pool(reader)
    reader.read(2)  # its access flags
    name = pool.class_name(reader.take("H"))
    reader.read(2)  # its superclass
    reader.read(2 * reader.take("H"))  # its interfaces
    numbers = {}
    for field, _, attributes in _members(reader, pool):
        if "ConstantValue" in attributes:
            constant = attributes["ConstantValue"].take("H")
            try:
                numbers[field] = pool.integer(constant)
            except KeyError:
                continue  # it is a text, or a number of another size
    methods = [_method(name, descriptor, pool, attributes) for name, descriptor, attributes in _members(reader, pool)]
    return ClassFile(name, tuple(methods), numbers)


def _members(reader: _Reader, pool: _Pool) -> Iterator[tuple[str, str, dict[str, _Reader]]]:
    """Yield the name, the descriptor and the attributes of each field, or of each method."""
    for _ in range(reader.take("H")):
        reader.read(2)  # its access flags
        name, descriptor = pool.text(reader.take("H")), pool.text(reader.take("H"))
        yield name, descriptor, dict(_attributes(reader, pool))


def _attributes(reader: _Reader, pool: _Pool) -> Iterator[tuple[str, _Reader]]:
    for _ in range(reader.take("H")):
        name = pool.text(reader.take("H"))
        yield name, _Reader(reader.read(reader.take("I")))


def _method(name: str, descriptor: str, pool: _Pool, attributes: Mapping[str, _Reader]) -> Method:
    if "Code" not in attributes:
        return Method(name, descriptor, 0, (), frozenset(), ())
    reader = attributes["Code"]
    reader.read(4)  # how much stack it needs, and how many variables
    code = reader.read(reader.take("I"))
    targets = set()
    for _ in range(reader.take("H")):
        _, _, handler, _ = (reader.take("H") for _ in range(4))
        targets.add(handler)
    lines = []
    for attribute, content in _attributes(reader, pool):
        if attribute == "LineNumberTable":
            lines += [(content.take("H"), content.take("H")) for _ in range(content.take("H"))]
    calls = []
    for index, following in _instructions(code):
        if code[index] in _INVOKES:
            calls.append(Call(index, following, *pool.member(int.from_bytes(code[index + 1 : index + 3]))))
        targets.update(index + distance for distance in _distances(code, index))
    return Method(name, descriptor, len(code), tuple(calls), frozenset(targets), tuple(sorted(lines)))


def _instructions(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield the index of each instruction, and that of the next."""
    index = 0
    while index < len(code):
        following = index + _length(code, index)
        yield index, following
        index = following


def _length(code: bytes, index: int) -> int:
    operation = code[index]
    if operation in (_TABLESWITCH, _LOOKUPSWITCH):
        operands, first, count = _switch(code, index)
        return operands + 4 * first + (4 if operation == _TABLESWITCH else 8) * count - index
    if operation == _WIDE:
        return 6 if code[index + 1] == _IINC else 4
    return int(_LENGTHS[operation])


def _switch(code: bytes, index: int) -> tuple[int, int, int]:
    """Return where a switch's operands begin, how many words come before its cases, and how many cases it has."""
    operands = index + 4 - index % 4
    if code[index] == _TABLESWITCH:
        _, low, high = struct.unpack_from(">iii", code, operands)
        return operands, 3, high - low + 1
    _, cases = struct.unpack_from(">ii", code, operands)
    return operands, 2, cases


def _distances(code: bytes, index: int) -> Iterator[int]:
    """Yield the distance to each place, other than the next instruction, at which the instruction may go on."""
    operation = code[index]
    if operation in _SHORT_BRANCHES:
        yield struct.unpack_from(">h", code, index + 1)[0]
    elif operation in _LONG_BRANCHES:
        yield struct.unpack_from(">i", code, index + 1)[0]
    elif operation in (_TABLESWITCH, _LOOKUPSWITCH):
        operands, first, count = _switch(code, index)
        yield struct.unpack_from(">i", code, operands)[0]
        for case in range(count):
            word = first + case if operation == _TABLESWITCH else first + 2 * case + 1
            yield struct.unpack_from(">i", code, operands + 4 * word)[0]
