"""The expansion of a portion of the states of a level, which are kept in arrays (`compact`).

Many of them are expanded at once if that can be (`many`), and the others one by one, each in its turn, with the tables
that the ones before it have filled. Which of the successors are new, the states tell in the end.
"""

from array import array
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from zabcheck.search.explore.compact import InArrays
from zabcheck.search.explore.components import Names
from zabcheck.search.explore.local_states import LocalStates
from zabcheck.search.explore.many import Found, Many
from zabcheck.search.explore.monitors import Monitors
from zabcheck.search.explore.successors import End, Row, Successors
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.search.explore.workers import PORTION

_RECENT = 1 << 15
"""The number of rows after which those that are kept besides are forgotten."""


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
        some_names = symmetry is not None and not symmetry.is_full
        can_do_many = not local_states.elections and not some_names
        self.many = Many(local_states, monitors, symmetry, successors) if can_do_many else None
        """What expands many at once; None if that cannot do this search."""
        self._recent: set[Row] = set()
        """Some rows that the states have: most that is found again is found soon, and need not be looked up."""

    def expand(self, start: int, stop: int) -> Expanded:
        """Expand some of the states from `start` on, and none from `stop` on, until something breaks."""
        stop = min(stop, start + (PORTION if self.many is None else self.many.portion))
        rows = self.states.array(start, stop)
        found = Found.nothing(rows) if self.many is None else self.many.of(rows)
        transitions, recent, naming, again = _Transitions(self.states, start, found), self._recent, 0, 0
        canonical = self._symmetry.canonical if self._symmetry is not None else None
        for place in found.again:
            for first, changed, raised, _ in self._successors.of(tuple(rows[place].tolist())):
                after = tuple(changed)
                if canonical is not None:
                    after, names = canonical(after)
                    naming = self._namings[names]
                if after in recent:
                    again += 1
                    continue
                recent.add(after)
                broken = self._broken[after[-1]]
                if not raised and broken is None:
                    transitions.add(place, first, naming, after)
                    continue
                known = transitions.settled(place)
                transitions.add(place, first, naming, after)
                if transitions.settled(place) > known:
                    return Expanded(place, transitions.count + again, (broken, raised))
        transitions.take(len(rows))
        if len(recent) > _RECENT:
            recent.clear()
        return Expanded(len(rows), transitions.count + again, None)


class _Transitions:
    """The transitions from a portion of states, which begins with the state `start`, on their way to the `states`.

    Those that were `found` at once are put in order with those that are added one by one, by where they come from.
    """

    def __init__(self, states: InArrays, start: int, found: Found) -> None:
        self.count = 0
        """How many the states have got."""
        self._states, self._start, self._found, self._taken = states, start, found, 0
        self._source, self._first, self._naming, self._rows = array("q"), array("q"), array("q"), array("q")

    def add(self, source: int, first: int, naming: int, row: Row) -> None:
        """Add one from the state in this place of the portion."""
        self._source.append(source)
        self._first.append(first)
        self._naming.append(naming)
        self._rows.extend(row)

    def settled(self, place: int) -> int:
        """Let the states have all that there are up to this place, and return how many states there are then."""
        self.take(place)
        self._states.settle()
        return len(self._states)

    def take(self, place: int) -> None:
        """Let the states have all that there are up to this place of the portion."""
        found, end = self._found, self._found.ends(place)
        part, self._taken = slice(self._taken, end), end
        source, first, naming = (
            np.concatenate((each[part], np.array(others, np.int64)))
            for each, others in (
                (found.source, self._source),
                (found.first, self._first),
                (found.naming, self._naming),
            )
        )
        others = np.array(self._rows, np.int64).reshape(-1, found.rows.shape[1])
        rows = np.concatenate((found.rows[part], others))
        if len(others):
            order = np.argsort(source, kind="stable")
            source, first, naming, rows = source[order], first[order], naming[order], rows[order]
        self._states.add(rows, self._start + source, first, naming)
        self.count += len(rows)
        for each in (self._source, self._first, self._naming, self._rows):
            del each[:]
