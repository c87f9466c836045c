"""The visited states of a search in arrays of numpy: some 25 bytes a state, and no state is mistaken for another.

A row of numbers is taken apart into a tree: each two of them are a *node*, which has a number, and so on, until two
numbers are left, the *key* of the state. Few nodes are in very many states, so a state takes hardly more than its
key, 64 bits; and the key gives back the row. That is the recursive state compression of Laarman, van de Pol
and Weber ("Parallel Recursive State Compression for Free", SPIN 2011), which is exact.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zabcheck.explore.at_once.index import MISSING, Ints
from zabcheck.explore.tables.successors import Row

Keys = NDArray[np.uint64]
Columns = tuple[Keys, NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint8]]

PORTION = 1 << 16
"""The number of states that are handed over at a time."""
HOW = (4, 2, 1)
"""The bytes of each part of how a state was found: the state before it, the choice, the renaming."""


class Portion(NamedTuple):
    """Some successive states, in the machine's byte order: how each was found (`HOW`), its row, 4 bytes a number."""

    before: bytes
    by: bytes
    names: bytes
    rows: bytes


class How(NamedTuple):
    """The way to a state: the state `before` it, the number of the choice (or join), and that of the renaming."""

    before: int
    by: int
    names: int


_FREE = 0xFFFFFFFF
"""Marks a slot without a key."""
_FULL = 0.625
"""The share of the slots that may be taken."""
_MORE_SLOTS, _MORE_ROOM = 1.5, 1.2
_ODD, _OTHER_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_AT_ONCE = 1 << 18
"""The number of keys that get new slots at a time."""


class Column:
    """Numbers of one type to which others are added."""

    def __init__(self, kind: type[np.integer[Any]]) -> None:
        self._room = np.empty(1024, kind)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def bytes_used(self) -> int:
        """The bytes of memory that the numbers take, with the room for more."""
        return self._room.nbytes

    def __getitem__(self, at: Ints | NDArray[np.uint32] | slice) -> Any:
        """Return a copy of some of the numbers."""
        known = self._room[: self._size]
        return known[at].copy() if isinstance(at, slice) else known.take(at)

    def last(self) -> Any:
        """Return the numbers themselves; the column cannot be used any more."""
        room, self._room = self._room, self._room[:0]
        return room[: self._size]

    def append(self, numbers: NDArray[Any]) -> None:
        """Add numbers."""
        size = self._size + len(numbers)
        if size > len(self._room):
            # In place; nobody else has this array, or a part of it.
            self._room.resize(max(size, int(_MORE_ROOM * len(self._room))), refcheck=False)
        self._room[self._size : size] = numbers
        self._size = size


class Numbering:
    """Numbers, from 0 on, of keys of 64 bits, in the order in which they come: a hash table with open addressing."""

    def __init__(self) -> None:
        self._keys = Column(np.uint64)
        self._slots = np.full(1024, _FREE, np.uint32)
        """The number of the key in each slot."""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def bytes_used(self) -> int:
        """The bytes of memory that the keys and slots take."""
        return self._keys.bytes_used + self._slots.nbytes

    def keys(self, at: Ints | slice) -> Keys:
        """Return the keys that have these numbers."""
        found: Keys = self._keys[at]
        return found

    def last_keys(self) -> Keys:
        """Return all keys, in order; the numbering cannot be used any more, and takes no memory."""
        del self._slots
        keys: Keys = self._keys.last()
        return keys

    def find(self, keys: Keys) -> Ints:
        """Return the numbers of keys; MISSING for an unknown one."""
        numbers = np.full(len(keys), MISSING)
        left, slots = np.arange(len(keys)), self._slots_of(keys)
        while left.size:
            there = self._slots.take(slots)
            taken = np.flatnonzero(there != _FREE)
            left, slots, there = left.take(taken), slots.take(taken), there.take(taken)
            same = self._keys[there] == keys.take(left)
            found, others = np.flatnonzero(same), np.flatnonzero(~same)
            numbers[left.take(found)] = there.take(found)
            left, slots = left.take(others), self._next(slots.take(others))
        return numbers

    def add(self, keys: Keys) -> tuple[Ints, Ints]:
        """Return the numbers of keys, and the places of those that are new: they get the next numbers, in order."""
        numbers = self.find(keys)
        unknown = np.flatnonzero(numbers == MISSING)
        if not unknown.size:
            return numbers, unknown
        _, first, which = np.unique(keys[unknown], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(self), len(self) + len(order))
        numbers[unknown] = rank[which]
        new: Ints = unknown[first[order]]
        self._append(keys[new])
        return numbers, new

    def _append(self, keys: Keys) -> None:
        """Give the next numbers to these keys, which are new and differ."""
        begin = len(self)
        self._keys.append(keys)
        if len(self) > _FULL * len(self._slots):
            size = max(int(_MORE_SLOTS * len(self._slots)), int(1.2 * len(self) / _FULL))
            del self._slots  # there need not be room for both
            self._slots = np.full(size, _FREE, np.uint32)
            begin = 0
        for start in range(begin, len(self), _AT_ONCE):
            self._insert(np.arange(start, min(start + _AT_ONCE, len(self)), dtype=np.uint32))

    def _insert(self, numbers: NDArray[np.uint32]) -> None:
        slots = self._slots_of(self._keys[numbers])
        while numbers.size:
            free = self._slots[slots] == _FREE
            self._slots[slots[free]] = numbers[free]  # the last of several for one slot stays there
            left = self._slots[slots] != numbers
            numbers, slots = numbers[left], self._next(slots[left])

    def _slots_of(self, keys: Keys) -> Ints:
        """Return the slots at which the search for these keys begins."""
        mixed = keys * _ODD
        mixed ^= mixed >> _HALF
        mixed *= _OTHER_ODD
        slots: Ints = ((mixed >> _HALF) * np.uint64(len(self._slots)) >> _HALF).view(np.int64)
        return slots

    def _next(self, slots: Ints) -> Ints:
        slots = slots + 1
        slots[slots == len(self._slots)] = 0
        return slots


class Tree:
    """The nodes of rows of `width` numbers."""

    def __init__(self, width: int) -> None:
        self._nodes: list[tuple[int, int, Numbering]] = []
        """The two places that each node is made of. Numbers of a row have the first places, nodes the next ones."""
        self.width = width
        middle = width // 2
        self._ends = self._node(0, middle), self._node(middle, width)

    def _node(self, start: int, stop: int) -> int:
        """Return the place of the node for the numbers of a row from `start` to `stop`."""
        if stop - start == 1:
            return start
        middle = (start + stop) // 2
        self._nodes.append((self._node(start, middle), self._node(middle, stop), Numbering()))
        return self.width + len(self._nodes) - 1

    @property
    def bytes_used(self) -> int:
        """The bytes of memory that the nodes take."""
        return sum(numbering.bytes_used for _, _, numbering in self._nodes)

    def folded(self, rows: Ints) -> Keys:
        """Return the keys of rows."""
        columns: list[Keys] = list(rows.T.astype(np.uint64))
        for left, right, numbering in self._nodes:
            numbers, _ = numbering.add(columns[left] << _HALF | columns[right])
            columns.append(numbers.view(np.uint64))
        left, right = self._ends
        return columns[left] << _HALF | columns[right]

    def unfolded(self, keys: Keys) -> Ints:
        """Return the rows that have these keys."""
        columns: list[Keys] = [keys] * (self.width + len(self._nodes))
        left, right = self._ends
        columns[left], columns[right] = keys >> _HALF, keys & _LOW
        for place, (left, right, numbering) in reversed(list(enumerate(self._nodes, self.width))):
            pairs = numbering.keys(columns[place].view(np.int64))
            columns[left], columns[right] = pairs >> _HALF, pairs & _LOW
        return np.column_stack(columns[: self.width]).view(np.int64)


def arrays_of(portion: Portion, width: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return, as three arrays, how each of these states was found, and their rows, which have `width` numbers."""
    kinds = zip(portion, (np.uint32, np.uint16, np.uint8, np.uint32), strict=True)
    before, by, names, rows = (np.frombuffer(content, kind).astype(np.int64) for content, kind in kinds)
    return before, by, names, rows.reshape(-1, width)


class InArrays(ABC):
    """The states of a search, by number, from 0 on, in the order of discovery. State 0 is the first one.

    Their rows are the leaves of a `tree`, wherever their columns are.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def on_disk(self) -> int:
        """The bytes of the states in files."""

    @abstractmethod
    def add_keys(self, keys: Keys, before: Any, by: Any, names: Any) -> None:
        """Add the new states among these, in order. `keys[i]` is the key of row i."""

    @abstractmethod
    def settle(self) -> None:
        """Find out which of the added states are new; only then all of them count as states."""

    @abstractmethod
    def columns(self, start: int, stop: int) -> Columns:
        """Return the keys of these states, and how these were found: the arguments of `add_keys`. O(stop - start)."""

    def begin(self, first: Row) -> None:
        """Begin with the first state alone."""
        self.add(np.array([first], np.int64), *np.zeros((3, 1), np.int64))

    def add(self, rows: Ints, before: Any, by: Any, names: Any) -> None:
        """Add the new states among these, in order. Some 0.3 microseconds each."""
        assert by.max(initial=0) <= np.iinfo(np.uint16).max, "there are fewer choices"
        self.add_keys(self.tree.folded(rows), before, by, names)

    def take(self, portion: Portion) -> None:
        """Add states that are new."""
        before, by, names, rows = arrays_of(portion, self.tree.width)
        self.add(rows, before, by, names)

    def array(self, start: int, stop: int) -> Ints:
        """Return the rows of these states. O(stop - start)."""
        return self.tree.unfolded(self.columns(start, stop)[0])

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Return the rows of these states. O(stop - start)."""
        stop = len(self) if stop is None else stop
        for begin in range(start, stop, PORTION):
            yield from map(tuple, self.array(begin, min(begin + PORTION, stop)).tolist())

    def how(self, state: int) -> How:
        """Return how this state was found. O(1)."""
        _, before, by, names = self.columns(state, state + 1)
        return How(int(before[0]), int(by[0]), int(names[0]))

    def portions(self) -> Iterator[Portion]:
        """Return all states, PORTION of them at a time."""
        for start in range(0, len(self), PORTION):
            yield self.portion(start, min(start + PORTION, len(self)))

    def portion(self, start: int, stop: int) -> Portion:
        """Return these states. O(stop - start)."""
        keys, before, by, names = self.columns(start, stop)
        rows = self.tree.unfolded(keys).astype(np.uint32)
        return Portion(before.tobytes(), by.tobytes(), names.tobytes(), rows.tobytes())


class Compact(InArrays):
    """The states of a search, in memory."""

    on_disk = 0

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._numbers = Numbering()
        self._before, self._by, self._names = Column(np.uint32), Column(np.uint16), Column(np.uint8)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def bytes_used(self) -> int:
        """The bytes of memory that the states take, with the room for more, and without the tree."""
        return sum(part.bytes_used for part in (self._numbers, self._before, self._by, self._names))

    def last_keys(self) -> Keys:
        """Return the keys of all states; these states cannot be used any more, and take no memory."""
        keys = self._numbers.last_keys()
        del self._numbers, self._before, self._by, self._names
        return keys

    def add_keys(self, keys: Keys, before: Any, by: Any, names: Any) -> None:
        """Add the new states among these, in order. `keys[i]` is the key of row i."""
        _, new = self._numbers.add(keys)
        self._before.append(before[new])
        self._by.append(by[new])
        self._names.append(names[new])

    def settle(self) -> None:
        """Do nothing: new states are known at once."""

    def columns(self, start: int, stop: int) -> Columns:
        """Return the keys of these states, and how these were found: the arguments of `add_keys`. O(stop - start)."""
        part = slice(start, stop)
        return self._numbers.keys(part), self._before[part], self._by[part], self._names[part]
