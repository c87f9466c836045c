"""The visited states of a search in files, once there is no memory left for them.

The columns of `compact` are in one file each, in the order of discovery, and read as that order is followed. New states
are not known at once: found states wait in memory until there are many, or the level ends. Then
their keys are sorted and looked for in the *runs*, sorted files of all keys before; so each file is read from its
beginning to its end (delayed duplicate detection: Stern and Dill, "Using Magnetic Disk Instead of Main Memory in the
Murφ Verifier", CAV 1998). Keys that were not found there are new, and become a run. Runs are merged so that there are
few of them, each at least twice as long as the next one. The nodes and tables stay in memory.

The files have no name, so nothing of them is left when the process ends, however it ends.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zabcheck.explore.at_once.index import Bools
from zabcheck.explore.states.compact import PORTION, Column, Columns, Compact, InArrays, Keys
from zabcheck.explore.states.memory import CannotSpill

_BLOCK = 1 << 14
"""The number of keys of a run that are read at a time."""
_EACH = 64
"""The bytes of a waiting state, with those for finding out if it is new."""
_FEWEST = 1 << 14
"""The least number of states that wait, however little memory there is."""


class FileColumn:
    """Numbers of one type in a file of `folder`, to which others are added. CannotSpill if that fails."""

    def __init__(self, kind: type[np.integer[Any]], folder: Path) -> None:
        self._kind = np.dtype(kind)
        self._folder = folder
        self._size = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115  # open as long as the column
        except OSError as error:
            raise CannotSpill(folder, error) from None

    def __len__(self) -> int:
        return self._size

    @property
    def on_disk(self) -> int:
        """The bytes in the file."""
        return self._size * self._kind.itemsize

    def append(self, numbers: NDArray[Any]) -> None:
        """Add numbers."""
        left = memoryview(np.ascontiguousarray(numbers, self._kind).view(np.uint8).data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise CannotSpill(self._folder, error) from None
        self._size += len(numbers)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some of the numbers."""
        size = self._kind.itemsize
        content = os.pread(self._file.fileno(), (min(stop, self._size) - start) * size, start * size)
        return np.frombuffer(content, self._kind)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class SortedRun:
    """Sorted keys in a file, with every `_BLOCK`th of them in memory."""

    def __init__(self, folder: Path) -> None:
        self._keys = FileColumn(np.uint64, folder)
        self._firsts = Column(np.uint64)
        """The first key of each block."""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def on_disk(self) -> int:
        """The bytes in the file."""
        return self._keys.on_disk

    def append(self, keys: Keys) -> None:
        """Add keys, sorted, which come after all others."""
        self._firsts.append(keys[-len(self._keys) % _BLOCK :: _BLOCK])
        self._keys.append(keys)

    def has(self, keys: Keys) -> Bools:
        """Return True for each of these sorted keys that is in the run. Reads the blocks in which they would be."""
        blocks = np.searchsorted(self._firsts[:], keys, side="right") - 1
        has = np.zeros(len(keys), np.bool_)
        begins = np.flatnonzero(np.diff(blocks, prepend=-1))  # keys before the first block are in none
        for begin, end in zip(begins, np.append(begins, len(keys))[1:], strict=True):
            start = int(blocks[begin]) * _BLOCK
            block, part = self._keys.read(start, start + _BLOCK), keys[begin:end]
            places = np.searchsorted(block, part)
            places[places == len(block)] = 0
            has[begin:end] = block[places] == part
        return has

    def blocks(self) -> Iterator[Keys]:
        """Return all keys, in order."""
        for start in range(0, len(self), _BLOCK):
            yield self._keys.read(start, start + _BLOCK)

    def close(self) -> None:
        """Remove the file."""
        self._keys.close()


def merged(one: SortedRun, other: SortedRun, folder: Path) -> SortedRun:
    """Return a run of all keys of two runs, which have none in common, and remove these."""
    whole = SortedRun(folder)
    sources, waiting = [one.blocks(), other.blocks()], [np.empty(0, np.uint64)] * 2
    while True:
        for place, source in enumerate(sources):
            if not len(waiting[place]):
                waiting[place] = next(source, waiting[place])
        ends = [keys[-1] for keys in waiting if len(keys)]
        if not ends:
            break
        counts = [int(np.searchsorted(keys, min(ends), side="right")) for keys in waiting]
        whole.append(np.sort(np.concatenate([keys[:count] for keys, count in zip(waiting, counts, strict=True)])))
        waiting = [keys[count:] for keys, count in zip(waiting, counts, strict=True)]
    one.close()
    other.close()
    return whole


class InFiles(InArrays):
    """The states of a search in files of `folder`. CannotSpill if these cannot be written.

    Takes over those of `states`, which cannot be used any more. At most `room` bytes of memory are used by states that
    wait, as far as that is possible.
    """

    def __init__(self, states: Compact, folder: Path, room: float) -> None:
        super().__init__(states.tree)
        self._folder = folder
        self._most = max(_FEWEST, int(room) // _EACH)
        """The most states that wait."""
        self._columns = [FileColumn(kind, folder) for kind in (np.uint64, np.uint32, np.uint16, np.uint8)]
        for start in range(0, len(states), PORTION):
            self._write(states.columns(start, start + PORTION))
        self._runs: list[SortedRun] = []
        keys = states.last_keys()
        keys.sort()
        self._add_run(keys)
        self._waiting = Compact(self.tree)

    def __len__(self) -> int:
        return len(self._columns[0])

    @property
    def on_disk(self) -> int:
        """The bytes of the states in files."""
        return sum(each.on_disk for each in self._columns) + sum(each.on_disk for each in self._runs)

    def add_keys(self, keys: Keys, before: Any, by: Any, names: Any) -> None:
        """Let the new states among these wait, in order. `keys[i]` is the key of row i."""
        self._waiting.add_keys(keys, before, by, names)
        if len(self._waiting) >= self._most:
            self.settle()

    def settle(self) -> None:
        """Find out which of the waiting states are new, and write these. O(states) in the worst case."""
        keys, before, by, names = self._waiting.columns(0, len(self._waiting))
        self._waiting = Compact(self.tree)
        if not len(keys):
            return
        order = np.argsort(keys)
        left = keys[order]
        for run in self._runs:
            new = ~run.has(left)
            order, left = order[new], left[new]
        self._add_run(left)
        order.sort()
        self._write((keys[order], before[order], by[order], names[order]))

    def shrink(self) -> None:
        """Let fewer states wait from now on, and none at the moment."""
        self._most = max(_FEWEST, self._most // 2)
        self.settle()

    def columns(self, start: int, stop: int) -> Columns:
        """Return the keys of these states, and how these were found: the arguments of `add_keys`. O(stop - start)."""
        keys, before, by, names = (column.read(start, stop) for column in self._columns)
        return keys, before, by, names

    def _write(self, columns: tuple[NDArray[Any], ...]) -> None:
        for column, numbers in zip(self._columns, columns, strict=True):
            column.append(numbers)

    def _add_run(self, keys: Keys) -> None:
        """Write a run of these keys, which are sorted, and merge the last runs, so that there are few."""
        if not len(keys):
            return
        run = SortedRun(self._folder)
        run.append(keys)
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = merged(self._runs.pop(), run, self._folder)
        self._runs.append(run)
