"""The expansion of the states of a level, a portion at a time, where states are kept in arrays (`compact`).

Once a level is large, most states are expanded many at once (`many`). The others are expanded one by one, each in its
turn. The states find out in the end which of the successors are new.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

import numpy as np

from zabcheck.explore.at_once.index import Ints
from zabcheck.explore.at_once.many import ManySuccessors, SuccessorRows
from zabcheck.explore.judges import WentOn
from zabcheck.explore.states.compact import Compact, InArrays
from zabcheck.explore.states.spilled import InFiles
from zabcheck.explore.tables.components import EpochUnknown
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.reduction import DoesNotCommute
from zabcheck.explore.tables.renaming import Names
from zabcheck.explore.tables.successors import ONE_BY_ONE, End, Row, Successors
from zabcheck.explore.tables.symmetry import Symmetry
from zabcheck.protocols.base import CannotTellApart

LARGE = 150
"""The number of states of a level from which it pays to expand many at once."""


class ExpandedCount(NamedTuple):
    """The number of states that were expanded, and of transitions, until the `end`, if something breaks."""

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
        self._tables = local_states, monitors, symmetry, successors
        self.many: ManySuccessors | None = None
        """Expands many at once; None before a level is large."""

    def level(self, start: int, stop: int) -> Iterator[ExpandedCount]:
        """Expand the states from `start` on, none from `stop` on, a portion at each step, until something breaks."""
        if self.many is None and stop - start >= LARGE:
            self.many = ManySuccessors(*self._tables)
        while start < stop:
            size = ONE_BY_ONE if self.many is None else self.many.portion
            rows = self.states.array(start, min(start + size, stop))
            yield self._expand_all(start, rows)
            start += len(rows)

    def make_room(self, over: float, folder: Path | None) -> None:
        """Move states to files in this folder (None: the system's for such), so that about `over` bytes are free."""
        states = self.states
        if isinstance(states, InFiles):
            states.shrink()
        elif isinstance(states, Compact) and over < states.bytes_used:
            room = (states.bytes_used - over) / 2  # the other half is for the tables
            self.states = InFiles(states, folder or Path(gettempdir()), room)

    def _expand_all(self, start: int, rows: Ints) -> ExpandedCount:
        """Add the successors of these rows (numbered from `start`) to the visited states; stop at a violation."""
        found = self._found(rows)
        transitions = _Transitions(self.states, start, found)
        for place in found.again:
            end = self._expand(place, tuple(rows[place].tolist()), transitions)
            if end is not None:
                return ExpandedCount(place, transitions.count, end)
        transitions.take(len(rows))
        transitions.hand_over()
        return ExpandedCount(len(rows), transitions.count, None)

    def _found(self, rows: Ints) -> SuccessorRows:
        """Expand these states at once, except for those that are left to be expanded one by one."""
        if self.many is None:
            return SuccessorRows.nothing(rows)
        try:
            return self.many.of(rows)
        except (
            CannotTellApart,
            EpochUnknown,
            DoesNotCommute,
            WentOn,
        ):  # one by one, something may break before that is raised
            return SuccessorRows.nothing(rows)

    def _expand(self, place: int, row: Row, transitions: "_Transitions") -> End | None:
        """Expand the state in this place, until something breaks."""
        transitions.take(place)
        for first, changed, raised, _ in self._successors.of(row):
            after, naming = self._canonical(tuple(changed))
            broken = self._broken[after[-1]]
            breaks = raised or broken is not None
            known = transitions.settled() if breaks else 0
            transitions.add(place, first, naming, after)
            if breaks and transitions.settled() > known:
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

    Transitions that were `found` at once come between others that are added one by one.
    """

    def __init__(self, states: InArrays, start: int, found: SuccessorRows) -> None:
        self.count = 0
        """The number of transitions so far."""
        self._states, self._start, self._found = states, start, found
        self._taken = 0
        """The number of states of the portion whose transitions have all been taken."""
        self._added: list[tuple[int, int, int, Row]] = []

    def take(self, place: int) -> None:
        """Add to the states all that were found at once from the states before this place of the portion."""
        found, part = self._found, slice(self._found.ends(self._taken), self._found.ends(place))
        self.count += int(found.count[self._taken : place].sum())
        self._taken = place
        if part.start == part.stop:
            return
        self.hand_over()
        self._states.add(found.rows[part], self._start + found.source[part], found.first[part], found.naming[part])

    def add(self, source: int, first: int, naming: int, row: Row) -> None:
        """Add the transition from the state in this place of the portion."""
        self._added.append((self._start + source, first, naming, row))

    def settled(self) -> int:
        """Add all transitions to the states, and return the number of states then."""
        self.hand_over()
        self._states.settle()
        return len(self._states)

    def hand_over(self) -> None:
        """Add to the states all transitions that were added one by one."""
        if self._added:
            before, first, naming, rows = zip(*self._added, strict=True)
            self._states.add(np.array(rows), *map(np.array, (before, first, naming)))
            self.count += len(self._added)
            self._added = []
