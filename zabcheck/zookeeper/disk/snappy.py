"""Snappy: reads the stream of compressed blocks that snappy-java's `SnappyOutputStream` writes.

A header of 16 bytes (a magic, then two versions as ints) comes first; each block is an int, its length, and then raw
Snappy: the length of the content, and a series of literals and of copies of what came before. All of it is in memory
once a block of a file is read; a block of ZooKeeper's has 32 KiB.
"""

import struct
from typing import BinaryIO

MAGIC = b"\x82SNAPPY\0"

_INT = struct.Struct(">i")
_LONGEST_LENGTH = 5
"""The most bytes that the length of a content has."""
_LONG_LITERAL = 60
"""The greatest length of a literal that its tag tells; greater values say how many bytes have the length."""


class BadSnappy(ValueError):
    """The file is no stream of Snappy, or a block of it is damaged."""


class SnappyFile:
    """The content of a file. BadSnappy if it is damaged, EOFError if it ends within a block."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._content, self._at = b"", 0
        header = file.read(len(MAGIC) + 2 * _INT.size)
        if len(header) < len(MAGIC) + 2 * _INT.size or not header.startswith(MAGIC):
            raise BadSnappy("it does not begin with the header of Snappy")

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, or fewer if there are no more."""
        parts = list[bytes]()
        while size > 0:
            if self._at == len(self._content):
                length = self._file.read(_INT.size)
                if len(length) < _INT.size:
                    break
                self._content, self._at = uncompressed(self._block(*_INT.unpack(length))), 0
            part = self._content[self._at : self._at + size]
            self._at += len(part)
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _block(self, length: int) -> bytes:
        if length < 0:
            raise BadSnappy(f"the length of a block is {length}")
        block = self._file.read(length)
        if len(block) < length:
            raise EOFError
        return block


def uncompressed(block: bytes) -> bytes:
    """Return the content of a block of raw Snappy. O(content), which is at most 22 times the block."""
    length = at = 0
    while at < min(len(block), _LONGEST_LENGTH - 1) and block[at] & 0x80:
        length |= (block[at] & 0x7F) << 7 * at
        at += 1
    length |= (block[at] if at < len(block) else 0) << 7 * at
    content, at = bytearray(), at + 1
    while at < len(block) and len(content) < length:
        tag, at = block[at], at + 1
        size = (tag >> 2) + 1
        width = (max(0, size - _LONG_LITERAL), 1, 2, 4)[tag & 3]
        number = int.from_bytes(block[at : at + width], "little")
        at += width
        if tag & 3 == 0:
            size = number + 1 if width else size
            content += block[at : at + size]
            at += size
            continue
        if tag & 3 == 1:
            size, number = (tag >> 2 & 7) + 4, number | tag >> 5 << 8
        start = len(content) - number
        if number == 0 or start < 0:
            raise BadSnappy("a block refers to what is not in it")
        piece = content[start : start + size]
        content += (piece * (size // len(piece) + 1))[:size]
    if (len(content), at) != (length, len(block)):
        raise BadSnappy(f"a block of {length} bytes has another length")
    return bytes(content)
