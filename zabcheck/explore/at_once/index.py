"""Hash tables in arrays of numpy, in which many keys are looked up at once; and arrays that grow.

Where arrays are as long as all successors of a portion, numbers and rows are picked by `take`. Brackets do the same,
but need twice the time for numbers, five times for rows, and ten times with a mask. `any` along a short axis is as
slow, so loops over columns replace it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MISSING = -1
"""Stands for the number of an entry that is not in the table."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
NONE: Ints = np.empty(0, np.int64)
NOT_ANY: Bools = np.empty(0, np.bool_)


def hashes(columns: Sequence[Ints]) -> Ints:
    """Return a hash of each key; the keys are given as one array for each of their integers."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * _ODD
        mixed ^= mixed >> _HALF
    return mixed.view(np.int64)


def distinct(columns: Sequence[Ints]) -> list[tuple[int, ...]]:
    """Return the keys, given as for `hashes`, each once, in the order of their first places."""
    return list(dict.fromkeys(zip(*(column.tolist() for column in columns), strict=True)))


def flat_places(rows: Ints, columns: Ints) -> Ints:
    """Return the index in `rows.ravel()` of one number of each row, that of the column given for it, from 0 on."""
    return np.arange(0, rows.size, rows.shape[1]) + columns


def of_each(rows: Ints, columns: Ints) -> Ints:
    """Return the numbers in these `flat_places`."""
    found: Ints = rows.ravel().take(flat_places(rows, columns))
    return found


def unlike(rows: Ints, others: Ints) -> Bools:
    """Return True for each row that differs from the one in the same place."""
    found: Bools = rows[:, 0] != others[:, 0]
    for column in range(1, rows.shape[1]):
        found |= rows[:, column] != others[:, column]
    return found


def twins(rows: Ints) -> Ints:
    """Return, by row, the place of an equal one that is not behind it: nearly always the first, or else its own."""
    own = np.arange(len(rows))
    size = 1 << (2 * len(rows)).bit_length()
    slots = hashes(list(rows.T)) & size - 1
    table = np.empty(size, np.int64)
    table[slots[::-1]] = own[::-1]  # the last of several for one slot stays there
    found = table.take(slots)
    later = np.flatnonzero(found != own)
    wrong = later[unlike(rows.take(found.take(later), axis=0), rows.take(later, axis=0))]
    found[wrong] = wrong
    return found


class Index:
    """The numbers, from 0 on, of keys of `width` integers each: a hash table with open addressing."""

    def __init__(self, width: int) -> None:
        self._columns = [NONE] * width
        """The keys by number: the first integer of each, the second of each, and so on."""
        self._slots = np.full(1024, MISSING)
        """The number of the key in each slot. At most a quarter of the slots are taken."""

    def __len__(self) -> int:
        return len(self._columns[0])

    def extend(self, keys: Sequence[Sequence[int]] | Ints) -> None:
        """Give the next numbers to these keys, which are new and differ."""
        new = np.array(keys, np.int64).reshape(-1, len(self._columns))
        if not len(new):
            return
        numbers = np.arange(len(self), len(self) + len(new))
        self._columns = [extended(*each) for each in zip(self._columns, new.T, strict=True)]
        if 4 * len(self) > len(self._slots):
            self._slots = np.full(1 << (8 * len(self)).bit_length(), MISSING)
            numbers = np.arange(len(self))
        slots = self._slots_of([column[numbers] for column in self._columns])
        while numbers.size:
            free = self._slots[slots] == MISSING
            self._slots[slots[free]] = numbers[free]  # the last of several for one slot stays there
            left = self._slots[slots] != numbers
            numbers, slots = numbers[left], slots[left] + 1 & len(self._slots) - 1

    def keys(self, numbers: Ints) -> Ints:
        """Return the keys that have these numbers, one in each row."""
        return np.column_stack([column[numbers] for column in self._columns])

    def find(self, *columns: Ints) -> Ints:
        """Return the numbers of keys, given as one array for each of their integers; MISSING for an unknown one."""
        if not len(self):
            return np.full(len(columns[0]), MISSING)
        slots = self._slots_of(columns)
        found = self._slots.take(slots)
        wrong = np.flatnonzero(self._differ(found, columns))
        while wrong.size:
            slots[wrong] = next_slots = slots.take(wrong) + 1 & len(self._slots) - 1
            found[wrong] = others = self._slots.take(next_slots)
            wrong = wrong[self._differ(others, [column.take(wrong) for column in columns])]
        return found

    def _slots_of(self, columns: Sequence[Ints]) -> Ints:
        """Return the slots at which the search for these keys begins."""
        return hashes(columns) & len(self._slots) - 1

    def _differ(self, numbers: Ints, columns: Sequence[Ints]) -> Bools:
        """Return True for each slot that is taken by another key."""
        differ = np.zeros(len(numbers), np.bool_)
        for known, column in zip(self._columns, columns, strict=True):
            differ |= known.take(numbers) != column
        differ &= numbers != MISSING
        return differ


class Table:
    """A table of single numbers, by keys of `width` integers each."""

    def __init__(self, width: int) -> None:
        self._index = Index(width)
        self._values = np.array([MISSING])
        """By number in the index, from 1 on; the first one is for what is not in it."""

    def extend(self, keys: Sequence[Sequence[int]], values: Sequence[int]) -> None:
        """Add entries, which are new and differ."""
        self._index.extend(keys)
        self._values = extended(self._values, np.array(values, np.int64))

    def find(self, *columns: Ints) -> Ints:
        """Return the values of keys, given as one array for each of their integers; MISSING for an unknown one."""
        return self._values.take(self._index.find(*columns) - MISSING)


def extended(known: Any, new: Any) -> Any:
    """Return an array with others behind it. It has room for more, so the known part is seldom copied.

    The known part must not be extended a second time: the room behind it is taken.
    """
    room, size = known.base, len(known) + len(new)
    if not isinstance(room, np.ndarray) or room.shape[1:] != known.shape[1:] or len(room) < size:
        room = np.empty((2 * size, *known.shape[1:]), known.dtype)
        room[: len(known)] = known
    room[len(known) : size] = new
    return room[:size]


def up_to(known: Any, all_: Sequence[Any]) -> Any:
    """Return the array with the further elements of the list."""
    return extended(known, np.array(all_[len(known) :], known.dtype))
