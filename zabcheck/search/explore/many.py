"""The successors of many states at once, looked up in arrays: what `successors` and `symmetry` give one by one.

A state is expanded here only if all that it takes is in the tables (`arrays`), and nothing breaks. The search expands
each other state itself, in its turn, and so fills the tables in the same order as without arrays.
"""

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from zabcheck.search.explore.arrays import MISSING, Arrays, Bools, Ints
from zabcheck.search.explore.local_states import LocalStates
from zabcheck.search.explore.monitors import Monitors
from zabcheck.search.explore.successors import Successors
from zabcheck.search.explore.symmetry import Symmetry

_FEWEST, _MOST = 512, 1 << 13
"""The limits of how many states are expanded at once."""
_MUCH = 0.1
"""If more than this share of the states at hand are left to the search, fewer are expanded at once."""
_DIGIT = 3
"""The bits of a key for each move that is made at once."""
_DEEPEST = 12
"""After more moves than this that are made at once, a state is left to the search."""
_PLACES = 1 << 10
"""More than the joins and moves of a state. The joins have the first `_MOVES` places, each process the next ones."""
_MOVES = 1 << 7


class Found:
    """The successors of some states. `again`: which of these the search has to expand itself.

    By successor, in the order in which the search finds them: the `source` that it comes after, `first` (see
    `Successor`), its representative in `rows`, and the `naming` that leads there, by number.
    """

    def __init__(self, again: Bools, source: Ints, first: Ints, rows: Ints, naming: Ints) -> None:
        self.again: list[int] = np.flatnonzero(again).tolist()
        self._ends: list[int] = np.cumsum(np.bincount(source, minlength=len(again))).tolist()
        self.source, self.first, self.rows, self.naming = source, first, rows, naming

    @staticmethod
    def nothing(rows: Ints) -> "Found":
        """Return that the search has to expand all these states itself."""
        none = np.empty(0, np.int64)
        return Found(np.ones(len(rows), np.bool_), none, none, rows[:0], none)

    def ends(self, state: int) -> int:
        """Return how many successors the states have that come before this one."""
        return self._ends[state - 1] if state else 0


class _Part(NamedTuple):
    """Successors that are on their way. Sorted by `keys` they are in order."""

    source: Ints
    first: Ints
    rows: Ints
    keys: Ints

    def at(self, which: Ints | Bools) -> "_Part":
        return _Part(*(each[which] for each in self))


class Many:
    """The successors of many states of one search."""

    def __init__(
        self, local_states: LocalStates, monitors: Monitors, symmetry: Symmetry | None, successors: Successors
    ) -> None:
        self._arrays = arrays = Arrays(local_states, monitors, symmetry)
        self._size = size = arrays.size
        self._told = np.zeros(size, np.int64)
        """By leader: the choice by which it begins to lead. Processes are counted from 0."""
        self._join_of = np.full((2, size, size), MISSING)
        """By whether the leader was told so just before, leader and follower: the place of the join in `_joins`."""
        joins: list[tuple[int, int, int, int]] = []
        for led in successors.joins:
            if led.told is not None:
                self._told[led.leader - 1] = led.told
            for number, follower, elect, hear in led.joins:
                self._join_of[int(led.told is not None), led.leader - 1, follower - 1] = len(joins)
                joins.append((number, led.leader - 1, elect, hear))
        assert len(joins) <= _MOVES, "there are fewer joins"
        assert (size + 1) * _MOVES <= _PLACES, "there are fewer processes"
        self._joins = np.array(joins, np.int64).reshape(-1, 4)
        """The number, the leader, and the two choices of each join, in the order in which they are tried."""
        self._again: Bools = np.empty(0, np.bool_)
        """Which of the states at hand the search has to expand itself."""
        self.portion = _FEWEST
        """How many states to expand at once: few as long as much is not in the tables yet."""

    def frozen(self) -> "Many":
        """Return the same with the tables as they are now, which can be sent elsewhere."""
        frozen = copy(self)
        frozen._arrays = self._arrays.frozen()
        return frozen

    def of(self, rows: Ints) -> Found:
        """Return the successors of these states, each up to names. Some microseconds for each successor."""
        arrays = self._arrays
        arrays.refresh()
        self._again = np.zeros(len(rows), np.bool_)
        part = self._begun(rows)
        if arrays.is_reduced:
            part = self._settled(part)
        part = part.at(~self._again[part.source])
        part = part.at(np.argsort(part.keys))
        after, naming = self._canonical(part)
        whole = ~self._again[part.source]
        share = np.count_nonzero(self._again) / len(rows)
        self.portion = max(_FEWEST, self.portion // 2) if share > _MUCH else min(_MOST, 2 * self.portion)
        return Found(self._again, part.source[whole], part.first[whole], after[whole], naming[whole])

    def _begun(self, before: Ints) -> _Part:
        """Return the states after a join, and after a move that has to be tried: what `Successors.of` begins with."""
        arrays, size = self._arrays, self._size
        each, processes = np.repeat(np.arange(len(before)), size), np.tile(np.arange(size), len(before))
        masks = arrays.masks(before[:, size])
        found = arrays.expansions(before[each], masks[each], processes).reshape(-1, size)
        first = _first(np.append(arrays.eager, False)[found])
        """The first process whose moves are eager: nobody else is looked at after it."""
        self._again |= _any(found == MISSING, first)
        joined = self._joined(before, np.flatnonzero((first == size) & ~self._again))
        tried = ((first == size)[:, None] | (np.arange(size) == first[:, None])) & ~self._again[:, None]
        states, processes = np.nonzero(tried)
        part, moves, place = self._moves(_Part(states, processes, before[states], states), found[tried])
        processes = part.first
        assert place.max(initial=0) < _MOVES, "a process has fewer moves"
        keys = part.source * _PLACES + (processes + 1) * _MOVES + place
        moved = self._moved(part._replace(first=arrays.choice[moves], keys=keys), moves, processes)
        return _together([joined, moved])

    def _moves(self, part: _Part, expansions: Ints) -> tuple[_Part, Ints, Ints]:
        """Return each state once for each move of its expansion, the moves, and which move of its state each is."""
        start, count = self._arrays.start[expansions], self._arrays.count[expansions]
        each = np.repeat(np.arange(len(expansions)), count)
        place = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        return part.at(each), start[each] + place, place

    def _moved(self, part: _Part, moves: Ints, processes: Ints) -> _Part:
        """Make the moves. What cannot be made here is left out, and its source left to the search."""
        failed = self._arrays.move(part.rows, moves, processes)
        self._again[part.source[failed]] = True
        return part.at(~failed)

    # Joins.

    def _joined(self, before: Ints, where: Ints) -> _Part:
        """Return the states after a leader has heard of a follower."""
        arrays, size = self._arrays, self._size
        where = where[arrays.may_join[before[where, :size]].any(axis=1)] if len(self._joins) else where[:0]
        ready = []
        for is_told, may_lead in enumerate((arrays.leads, arrays.may_join)):
            each, leaders = np.nonzero(may_lead[before[where, :size]])
            part = _Part(where[each], leaders, before[where[each]], np.full(len(each), is_told))
            ready.append(self._single(part, self._told[leaders], leaders) if is_told else part)
        part = _together(ready)
        possible = self._join_of[part.keys, part.first]
        each, followers = np.nonzero((possible != MISSING) & arrays.may_join[before[part.source, :size]])
        place = possible[each, followers]
        number, _, elect, _ = self._joins[place].T
        part = part.at(each)._replace(first=number, keys=part.source[each] * _PLACES + place)
        part = self._single(part, elect, followers)
        _, leaders, _, hear = self._joins[part.keys % _PLACES].T
        return self._single(part, hear, leaders)

    def _single(self, part: _Part, choices: Ints, processes: Ints) -> _Part:
        """Make a choice in each state, where the bounds allow it."""
        moves, unknown = self._arrays.singles(choices, part.rows, processes)
        self._again[part.source[unknown]] = True
        possible = moves != MISSING
        return self._moved(part.at(possible), moves[possible], processes[possible])

    # What is done at once.

    def _settled(self, part: _Part) -> _Part:
        """Return the states in which no more move is to be made at once: what `Successors` settles."""
        arrays, done = self._arrays, []
        for depth in range(_DEEPEST + 1):
            part = part.at(~self._again[part.source])
            expansions, processes = self._at_once(part)
            ends = expansions == MISSING
            done.append(part.at(ends)._replace(keys=part.keys[ends] << _DIGIT * (_DEEPEST - depth)))
            if ends.all():
                break
            part, processes, expansions = part.at(~ends), processes[~ends], expansions[~ends]
            part, moves, place = self._moves(part, expansions)
            count, processes = arrays.count[expansions], np.repeat(processes, arrays.count[expansions])
            place = (place - 1) % np.repeat(count, count)  # the first move comes last
            self._again[part.source[place >> _DIGIT > 0]] = True
            part = self._moved(part._replace(keys=part.keys << _DIGIT | place), moves, processes)
        else:
            self._again[part.source] = True
        return _together(done)

    def _at_once(self, part: _Part) -> tuple[Ints, Ints]:
        """Return the expansion that is made at once in each state, or MISSING, and whose it is."""
        arrays, rows, size = self._arrays, part.rows, self._size
        asked = arrays.may_be_eager(rows)[:, None] >> np.arange(1, size + 1) & 1 > 0
        states, processes = np.nonzero(asked)
        found = np.full(asked.shape, MISSING)
        found[asked] = arrays.expansions(rows[states], arrays.masks(rows[:, size])[states], processes)
        first = _first(np.append(arrays.at_once, False)[found])
        self._again[part.source[_any(asked & (found == MISSING), first)]] = True
        return np.column_stack((found, np.full(len(rows), MISSING)))[np.arange(len(rows)), first], first

    # Representatives.

    def _canonical(self, part: _Part) -> tuple[Ints, Ints]:
        """Return the representatives, and the renamings that lead there: what `Symmetry.canonical` gives."""
        arrays, size, rows = self._arrays, self._size, part.rows
        naming = np.zeros(len(rows), np.int64)
        if not arrays.renamings:
            return rows, naming
        unknown: Bools = np.any(rows[:, :size] >= len(arrays.kinds), axis=1)
        self._again[part.source[unknown]] = True
        kinds = np.append(arrays.kinds, MISSING)[np.where(unknown[:, None], MISSING, rows[:, :size])]
        best, chosen = rows.copy(), np.zeros(len(rows), np.bool_)
        ordered = np.sort(kinds, axis=1)
        alike = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        for number, names in enumerate(arrays.renamings):
            fits = ~unknown
            order = [names.index(name) - 1 for name in range(1, size + 1)]
            for one, next_ in pairwise(order):
                fits &= kinds[:, one] <= kinds[:, next_]
            if not number:
                chosen |= fits & ~alike  # it is its own representative
            at = np.flatnonzero(fits & ~(chosen & ~alike))
            renamed, missing = arrays.renamed(rows[at], np.full(len(at), number))
            self._again[part.source[at[missing]]] = True
            less = ~chosen[at] | _are_less(renamed, best[at])
            best[at[less]], naming[at[less]], chosen[at] = renamed[less], number, True
        return best, naming


def _first(table: Bools) -> Ints:
    """Return the first column of each row that is true; the number of columns where none is."""
    found: Ints = np.where(table.any(axis=1), table.argmax(axis=1), table.shape[1])
    return found


def _any(table: Bools, columns: Ints) -> Bools:
    """Return whether anything in each row is true before the given column."""
    found: Bools = np.any(table & (np.arange(table.shape[1]) < columns[:, None]), axis=1)
    return found


def _together(parts: Sequence[_Part]) -> _Part:
    """Return all parts as one."""
    return _Part(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _are_less(rows: Ints, others: Ints) -> Bools:
    """Return which rows come before the other one, as lists of numbers are compared."""
    less, equal = np.zeros(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    for one, other in zip(rows.T, others.T, strict=True):
        less |= equal & (one < other)
        equal &= one == other
    return less
