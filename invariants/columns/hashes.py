"""Hashes of a column of texts, 64 bits, without a Python object for each.

A text is taken in eight bytes at a time, and each step can be undone, as long as the text is known up to there. So two
texts of one length, of which only eight bytes differ, never have one hash; others have with a chance of 2^-64. The
initial value is different in each process, as for Python's own hashes.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]

_KEY = hash("zabcheck") & (1 << 63) - 1
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)


def hashes_of(texts: pa.StringArray) -> Array:
    """Return the hash of each text, int64; null has that of an empty text. O(bytes / 8 + number of texts)."""
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        data = b""
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    padded = np.concatenate((content, np.zeros(8, np.uint8)))
    words = np.ndarray(len(content) + 1, "<u8", padded, strides=(1,))  # the eight bytes from each on
    starts, lengths = bounds[:-1] - bounds[0], np.diff(bounds)
    hashes = _mixed(lengths.astype(np.uint64) ^ np.uint64(_KEY))
    rows: Any = slice(None)
    done = 0
    while len(starts):
        word = words[starts + done] & _MASKS[np.minimum(lengths - done, 8)]
        hashes[rows] = _mixed(hashes[rows] ^ word)
        done += 8
        longer = lengths > done
        starts, lengths = starts[longer], lengths[longer]
        rows = np.flatnonzero(longer) if isinstance(rows, slice) else rows[longer]
    return hashes.view(np.int64)


def _mixed(numbers: Array) -> Array:
    """Replace each number by another one that looks random, one to one."""
    numbers = numbers * _ODD
    numbers ^= numbers >> np.uint64(32)
    numbers *= _ODD
    numbers ^= numbers >> np.uint64(29)
    return numbers
