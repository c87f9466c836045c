"""The visited states of a search, in the order of discovery, as Python objects of some 150 bytes each.

States of a level that is not expanded yet take twice as much. For each state there is its row, and how it was found:
the state that it was reached from, the choice, and the renaming.
`compact` keeps the same in arrays of numpy, and `spilled` in files.
"""

from array import array
from collections.abc import Iterator
from itertools import islice
from struct import Struct as Bytes
from typing import NamedTuple, Protocol

from zabcheck.explore.tables.successors import Row

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
    """How a state was found: the state `before` it, the number of the choice (or join), and that of the renaming."""

    before: int
    by: int
    names: int


class States(Protocol):
    """The states of a search, by number, from 0 on, in the order of discovery. State 0 is the first one."""

    def __len__(self) -> int: ...

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Return the rows of these states. O(stop)."""

    def how(self, state: int) -> How:
        """Return how this state was found. O(1)."""

    def portions(self) -> Iterator[Portion]:
        """Return all states, PORTION of them at a time."""

    def take(self, portion: Portion) -> None:
        """Add states that are new."""


class Visited:
    """States in a dictionary. Code that finds one adds it to all of these attributes."""

    def __init__(self, width: int) -> None:
        self.bytes = Bytes(f"={width}I")
        """How a row is packed."""
        self.keys: dict[int, None] = {}
        """The packed rows, each as one integer."""
        self.before, self.by, self.names = array("I"), array("H"), array("B")
        self.level: list[Row] = []
        """The states of the current level; after a checkpoint was read, those of them that are not yet expanded."""
        self.next_level: list[Row] = []

    def __len__(self) -> int:
        return len(self.keys)

    def begin(self, first: Row) -> None:
        """Begin with the first state alone."""
        self.keys[self.packed(first)] = None
        self.before.append(0)
        self.by.append(0)
        self.names.append(0)
        self.level = [first]

    def take(self, portion: Portion) -> None:
        """Add states that are new."""
        self.before.frombytes(portion.before)
        self.by.frombytes(portion.by)
        self.names.frombytes(portion.names)
        rows, width = portion.rows, self.bytes.size
        self.keys |= dict.fromkeys(int.from_bytes(rows[at : at + width], "little") for at in range(0, len(rows), width))

    def packed(self, row: Row) -> int:
        """Return the row as one integer."""
        return int.from_bytes(self.bytes.pack(*row), "little")

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Return the rows of these states. O(stop)."""
        unpack, size = self.bytes.unpack, self.bytes.size
        return (unpack(key.to_bytes(size, "little")) for key in islice(self.keys, start, stop))

    def how(self, state: int) -> How:
        """Return how this state was found. O(1)."""
        return How(self.before[state], self.by[state], self.names[state])

    def portions(self) -> Iterator[Portion]:
        """Return all states, PORTION of them at a time."""
        keys, size = iter(self.keys), self.bytes.size
        for start in range(0, len(self), PORTION):
            part = slice(start, start + PORTION)
            rows = b"".join(key.to_bytes(size, "little") for key in islice(keys, PORTION))
            yield Portion(self.before[part].tobytes(), self.by[part].tobytes(), self.names[part].tobytes(), rows)
