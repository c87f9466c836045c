"""The representatives of many states at once, looked up in arrays: as in `Symmetry.canonical` one by one."""

from itertools import permutations
from math import factorial

import numpy as np

from zabcheck.explore.at_once.arrays import Arrays
from zabcheck.explore.at_once.index import MISSING, Bools, Ints, unlike


class Representatives:
    """Finds representatives. If the renamings are all permutations, keeps n^n numbers for n processes."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._is_full = len(arrays.renamings) == factorial(arrays.size)
        self._by_name = np.argsort(np.array(arrays.renamings)[:, 1:], axis=1)
        """By renaming: the processes, counted from 0, in the order of their new names."""
        digits = arrays.size ** np.arange(arrays.size)
        self._digits: Ints = digits
        self._namings = [np.empty(0, np.int64)]
        """The renamings that put processes in order, of those that compare as the entry of `_known` has it."""
        self._known = np.full(arrays.size**arrays.size, MISSING)
        """By how the kinds of the processes compare, as a number: the place in `_namings`."""

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the representatives, and the renamings that lead there, by number."""
        arrays = self._arrays
        each, naming, turn, is_only = self._candidates(arrays.kinds_of(rows)) if self._is_full else self._all(len(rows))
        renamed = rows.take(each, axis=0)
        at = np.flatnonzero((naming != 0) | ~is_only)  # otherwise the row is its own representative
        renamed[at] = arrays.renamed(renamed.take(at, axis=0), naming.take(at))
        best, chosen = rows.copy(), np.zeros(len(rows), np.int64)
        for number in range(turn.max(initial=-1) + 1):
            at = np.flatnonzero(turn == number)
            if number:
                at = at[self._are_less(renamed[at], best[each[at]])]
            best[each[at]], chosen[each[at]] = renamed[at], naming[at]
        return best, chosen

    def _all(self, rows: int) -> tuple[Ints, Ints, Ints, Bools]:
        """Return all renamings for each of this many rows, as `_candidates` does; the first one changes nothing."""
        namings = len(self._arrays.renamings)
        naming = np.tile(np.arange(namings), rows)
        return np.repeat(np.arange(rows), namings), naming, naming, naming == 0

    def _candidates(self, kinds: Ints) -> tuple[Ints, Ints, Ints, Bools]:
        """Return the renamings that put processes of these kinds in order; several if two are of one kind.

        By renaming: its row, its number, the number of earlier ones of the same row, and True if it is the only one.
        """
        codes = np.zeros(len(kinds), np.int64)
        for process, other in permutations(range(self._arrays.size), 2):
            codes += (kinds[:, process] > kinds[:, other]) * self._digits[process]
        for row in np.flatnonzero(self._known[codes] == MISSING).tolist():
            if self._known[codes[row]] == MISSING:
                in_order = (np.diff(kinds[row][self._by_name], axis=1) >= 0).all(axis=1)
                self._known[codes[row]] = len(self._namings)
                self._namings.append(np.flatnonzero(in_order))
        entries = self._known[codes]
        count = np.array([len(namings) for namings in self._namings])[entries]
        start = np.cumsum([0, *map(len, self._namings[:-1])])[entries]
        each = np.repeat(np.arange(len(kinds)), count)
        turn = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        return each, np.concatenate(self._namings)[start[each] + turn], turn, (count == 1)[each]

    def _are_less(self, rows: Ints, others: Ints) -> Bools:
        """Return for each row True if it comes before the other one: as lists of digests are compared."""
        arrays, less = self._arrays, np.zeros(len(rows), np.bool_)
        at = np.flatnonzero(unlike(rows, others))  # those that are not decided yet
        for column in (*range(arrays.size), -1):
            digests = arrays.monitor_digests if column < 0 else arrays.digests
            one, other = digests(rows[at, column]), digests(others[at, column])
            less[at] = one < other
            at = at[one == other]
        return less
