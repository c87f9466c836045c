"""Small operations on numpy arrays of rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_SHIFT = 40
"""Bits of a place on a path; the upper ones, of 63, are the number of a piece."""


class Grown:
    """An array that grows at its end. Amortised O(1) an element."""

    def __init__(self, dtype: Any) -> None:
        self._room = np.zeros(0, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def array(self) -> Array:
        """The elements, as a view."""
        return self._room[: self._size]

    def extend(self, values: Array) -> None:
        size = self._size + len(values)
        if size > len(self._room):
            room = np.empty(max(size, len(self._room) * 3 // 2), self._room.dtype)
            room[: self._size] = self.array
            self._room = room
        self._room[self._size : size] = values
        self._size = size


def beginnings(sorted_: Array) -> Array:
    """Return for each element True if it differs from the one before it."""
    first = np.ones(len(sorted_), bool)
    first[1:] = sorted_[1:] != sorted_[:-1]
    return first


def distinct(numbers: Array) -> Array:
    """Return each number once, in ascending order. For many numbers this is faster than `np.unique`."""
    ascending = np.sort(numbers)
    return ascending[beginnings(ascending)]


def sort_by(numbers: Array, bound: int) -> Array:
    """Return the stable order by these numbers, all of which are below `bound`."""
    # Radix sort, for 16 bits.
    return np.argsort(numbers.astype(np.min_scalar_type(max(bound - 1, 0))), kind="stable")


def running_maximum(values: Array, begins: Array) -> Array:
    """Return the highest value so far, anew from each row in `begins`, which ascend from 0. Values are 0 to 2^40."""
    sizes = np.diff(np.append(begins, len(values)))
    piece = np.repeat(np.arange(len(begins)) << _SHIFT, sizes)
    running: Array = np.maximum.accumulate(piece + values)
    running -= piece
    return running
