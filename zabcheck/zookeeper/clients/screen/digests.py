"""Digests of many short texts at once: the CRC-32 of data, and hashes of lists of names."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_LONG = 64
"""The number of bytes from which on a text is digested by itself."""
NAME = (1 << 62) - 1
"""The bits of the hash of a name; a list of names has the sum of their hashes."""
_MOST_NAMES = 1 << 20


def digested(text: bytes) -> int:
    """Return the CRC-32 and the length of data as one number."""
    return crc32(text) << 31 | len(text)


def digests_of(texts: Sequence[str]) -> Ints:
    """Return the CRC-32 and the length of each text as one number."""
    joined = "".join(texts)
    if not joined.isascii():
        return np.fromiter([digested(text.encode()) for text in texts], np.int64, len(texts))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return digests_within(np.frombuffer(joined.encode(), np.uint8), np.cumsum(lengths) - lengths, lengths)


def digests_within(data: npt.NDArray[np.uint8], starts: Ints, lengths: Ints) -> Ints:
    """Return `digested` of each text, given their starts in `data` and their lengths, in bytes.

    O(bytes), in as many steps as the longest text that is not digested by itself has bytes.
    """
    order = np.argsort(-lengths, kind="stable")
    longest = lengths[order]
    long = int(np.searchsorted(-longest, -_LONG, "right"))
    found = np.empty(len(lengths), np.int64)
    for place in order[:long].tolist():
        found[place] = digested(data[starts[place] : starts[place] + lengths[place]].tobytes())
    order, longest = order[long:], longest[long:]
    crc, at = np.full(len(order), 0xFFFFFFFF, np.uint32), starts[order]
    ends = np.searchsorted(-longest, -np.arange(int(longest.max(initial=0))), "left").tolist()
    for number, end in enumerate(ends):
        byte = data[at[:end] + number]
        crc[:end] = _TABLE[(crc[:end] ^ byte) & 0xFF] ^ (crc[:end] >> 8)
    found[order] = (crc ^ np.uint32(0xFFFFFFFF)).astype(np.int64) << 31 | longest
    return found


def _table() -> npt.NDArray[np.uint32]:
    """Return the table of CRC-32 by byte, for the reversed polynomial."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    return table


_TABLE = _table()


class _Names(dict[str, int]):
    def __missing__(self, name: str) -> int:
        if len(self) >= _MOST_NAMES:
            self.clear()
        self[name] = number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) & NAME
        return number


_NAMES = _Names()


def hash_of(name: str) -> int:
    """Return the hash of a name."""
    return _NAMES[name]


def hashes_of(lists: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
    """Return the hash of each list of names, which does not depend on their order, and the lengths of the lists.

    Two different lists have the same hash with a probability of 2**-62.
    """
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    hashes = np.fromiter(map(_NAMES.__getitem__, chain.from_iterable(lists)), np.int64, int(lengths.sum()))
    sums: Any = np.append(0, np.cumsum(hashes))  # these overflow, but their differences are right in the lowest 62 bits
    ends = np.cumsum(lengths)
    return (sums[ends] - sums[ends - lengths]) & NAME, lengths
