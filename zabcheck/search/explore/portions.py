"""The expansion of a portion of the states of a level, which are kept in arrays (`compact`).

Many of them are expanded at once if that can be (`many`). What that leaves undone is done one by one, each state in its
turn, with the tables that the ones before it have filled. Which of the successors are new, the states tell in the end.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from zabcheck.search.explore.compact import InArrays
from zabcheck.search.explore.components import Names
from zabcheck.search.explore.local_states import LocalStates
from zabcheck.search.explore.many import Found, Many, key_of
from zabcheck.search.explore.monitors import Monitors
from zabcheck.search.explore.successors import End, Row, Successors, Unfinished
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.search.explore.workers import PORTION


class Expanded(NamedTuple):
    """How many states were expanded, and how many transitions there were, until the `end`, if something breaks."""

    states: int
    transitions: int
    end: End | None


class Portions:
    """Expands the `states` of one search.

    `namings` numbers the renamings, those of `symmetry` in their order.
    """

    def __init__(
        self,
        states: InArrays,
        local_states: LocalStates,
        monitors: Monitors,
        symmetry: Symmetry | None,
        successors: Successors,
        namings: Mapping[Names, int],
    ) -> None:
        self.states = states
        self._successors = successors
        self._broken = monitors.broken
        self._symmetry = symmetry
        self._namings = namings
        can_do_many = symmetry is None or symmetry.is_full
        self.many = Many(local_states, monitors, symmetry, successors) if can_do_many else None
        """What expands many at once; None if that cannot do this search."""

    def expand(self, start: int, stop: int) -> Expanded:
        """Expand some of the states from `start` on, and none from `stop` on, until something breaks."""
        stop = min(stop, start + (PORTION if self.many is None else self.many.portion))
        rows = self.states.array(start, stop)
        found = Found.nothing(rows) if self.many is None else self.many.of(rows)
        transitions = _Transitions(self.states, start, found)
        for place, rests in found.left():
            if not rests or not self._finish(place, rests, transitions):
                end = self._expand(place, tuple(rows[place].tolist()), transitions)
                if end is not None:
                    return Expanded(place, transitions.count, end)
        transitions.take(len(rows))
        return Expanded(len(rows), transitions.count, None)

    def _finish(self, place: int, rests: Sequence[Unfinished], transitions: "_Transitions") -> bool:
        """Do what is left for the state in this place, and return True; False if it has to be expanded one by one."""
        finished = self._successors.finished(rests)
        if finished is None or any(each.raised or self._broken[each.row[-1]] is not None for _, each in finished):
            transitions.leave_out(place)
            return False
        for key, (first, row, _, _) in finished:
            after, naming = self._canonical(tuple(row))
            transitions.add(place, key, first, naming, after)
        return True

    def _expand(self, place: int, row: Row, transitions: "_Transitions") -> End | None:
        """Expand the state in this place, until something breaks."""
        for first, changed, raised, _ in self._successors.of(row):
            after, naming = self._canonical(tuple(changed))
            broken = self._broken[after[-1]]
            breaks = raised or broken is not None
            known = transitions.settled(place) if breaks else 0
            transitions.add(place, key_of(place), first, naming, after)
            if breaks and transitions.settled(place) > known:
                return broken, raised
        return None

    def _canonical(self, row: Row) -> tuple[Row, int]:
        """Return the representative, and the number of the renaming that leads there."""
        if self._symmetry is None:
            return row, 0
        after, names = self._symmetry.canonical(row)
        return after, self._namings[names]


class _Transitions:
    """The transitions from a portion of states, which begins with the state `start`, on their way to the `states`.

    Those that were `found` at once are put in order with those that are added one by one, by where they come from.
    """

    def __init__(self, states: InArrays, start: int, found: Found) -> None:
        self.count = 0
        """How many the states have got."""
        self._states, self._start, self._found, self._taken = states, start, found, 0
        self._source, self._keys, self._first = array("q"), array("q"), array("q")
        self._naming, self._rows = array("q"), array("q")

    def add(self, source: int, key: int, first: int, naming: int, row: Row) -> None:
        """Add one from the state in this place of the portion; by its key it is put in order."""
        self._source.append(source)
        self._keys.append(key)
        self._first.append(first)
        self._naming.append(naming)
        self._rows.extend(row)

    def settled(self, place: int) -> int:
        """Let the states have all that there are up to this place, and return how many states there are then."""
        self.take(place)
        self._states.settle()
        return len(self._states)

    def leave_out(self, place: int) -> None:
        """Leave out what was found at once from the state in this place: it is expanded one by one."""
        self.take(place)
        self._taken = self._found.ends(place + 1)

    def take(self, place: int) -> None:
        """Let the states have all that there are up to this place of the portion."""
        found, end = self._found, max(self._taken, self._found.ends(place))
        part, self._taken = slice(self._taken, end), end
        source, keys, first, naming = (
            np.concatenate((each[part], np.array(others, np.int64)))
            for each, others in (
                (found.source, self._source),
                (found.keys, self._keys),
                (found.first, self._first),
                (found.naming, self._naming),
            )
        )
        others = np.array(self._rows, np.int64).reshape(-1, found.rows.shape[1])
        rows = np.concatenate((found.rows[part], others))
        if len(others):
            order = np.argsort(keys, kind="stable")
            source, first, naming, rows = source[order], first[order], naming[order], rows[order]
        self._states.add(rows, self._start + source, first, naming)
        self.count += len(rows)
        for each in (self._source, self._keys, self._first, self._naming, self._rows):
            del each[:]
