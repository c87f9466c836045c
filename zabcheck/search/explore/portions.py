"""The expansion of a portion of the states of a level, which are kept in arrays (`compact`).

Many of them are expanded at once if that can be (`many`). Those that this leaves are expanded one by one, each in its
turn. Which of the successors are new, the states tell in the end.

Several processes share a level that is large enough. The search expands its first states, and fills tables as it goes.
Each worker is a copy of the search as it is when the level begins (`workers`), expands a slice of the others by looking
up, and answers which states it found that were not known then. What it cannot look up the search expands itself, when
the turn of those states comes. So the outcome is the same, whatever the number of workers.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from time import process_time
from typing import NamedTuple

import numpy as np

from invariants.base import WentOn
from zabcheck.protocols.base import CannotTellApart
from zabcheck.search.explore.compact import Compact, InArrays, arrays_of
from zabcheck.search.explore.components import EpochUnknown
from zabcheck.search.explore.index import Ints
from zabcheck.search.explore.local_states import LocalStates
from zabcheck.search.explore.many import Found, Many
from zabcheck.search.explore.monitors import Monitors
from zabcheck.search.explore.reduction import MayLeave
from zabcheck.search.explore.renaming import Names
from zabcheck.search.explore.spilled import Spilled
from zabcheck.search.explore.successors import End, Row, Successors
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.search.explore.workers import PORTION, NewStates, Sharing, Worker, shared

LARGE = 20_000
"""A level of fewer states is not shared: a fork would cost more than it saves."""
_AT_ONCE = 1 << 13
"""The number of states in an answer of a worker."""


class Expanded(NamedTuple):
    """How many states were expanded, and how many transitions there were, until the `end`, if something breaks."""

    states: int
    transitions: int
    end: End | None


def found_at_once(many: Many, rows: Ints, *, every: bool = False) -> Found:
    """Expand these states at once, but those that are left to be expanded one by one; the rest is as in `Many.of`."""
    try:
        return many.of(rows, every=every)
    except (CannotTellApart, EpochUnknown, MayLeave, WentOn):  # one by one, something may break before that comes
        return Found.nothing(rows)


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

    def level(self, start: int, stop: int, sharing: Sharing) -> Generator[Expanded]:
        """Expand the states from `start` on, none from `stop` on, a portion at each step, until something breaks."""
        can_share = self.many is not None and isinstance(self.states, Compact)
        slices = sharing.slices(range(start, stop), LARGE) if can_share else [range(start, stop)]
        if self.many is None or len(slices) == 1:
            return self._expanded(slices[0])
        answers = partial(self._answers, self.many.frozen())
        return shared(sharing, slices, _AT_ONCE, expand=self._expanded, answers=answers, take=self._taken_over)

    def _expanded(self, states: Sequence[int]) -> Generator[Expanded]:
        while states:
            size = PORTION if self.many is None else self.many.portion
            start, rows = states[0], self.states.array(states[0], states[:size][-1] + 1)
            yield self._end_of(start, rows, self._found(rows))
            states = states[size:]

    def _end_of(self, start: int, rows: Ints, found: Found) -> Expanded:
        """Let the states have what was found from these, the first of which is `start`, until something breaks."""
        transitions = _Transitions(self.states, start, found)
        for place in found.again:
            end = self._expand(place, tuple(rows[place].tolist()), transitions)
            if end is not None:
                return Expanded(place, transitions.count, end)
        transitions.take(len(rows))
        transitions.hand_over()
        return Expanded(len(rows), transitions.count, None)

    # Several processes.

    def _answers(self, kernel: Many, part: Sequence[int]) -> Iterator[NewStates]:
        """Yield what is found from these states by look-ups alone; in a worker."""
        begun = process_time()
        for place in range(0, len(part), _AT_ONCE):
            states, known = part[place : place + _AT_ONCE], len(self.states)
            rows = self.states.array(states[0], states[-1] + 1)
            found = kernel.of(rows)
            transitions = _Transitions(self.states, states[0], found)
            transitions.take(len(rows))
            new = self.states.portion(known, len(self.states))
            again = np.array(found.again, np.uint32).tobytes()
            yield NewStates(transitions.count, again, new, process_time() - begun)

    def _taken_over(self, states: Sequence[int], worker: Worker) -> tuple[Expanded, float]:
        """Take over what a worker found from these states, and expand those that it left, until something breaks."""
        answer = worker.answer(NewStates)
        return self._end_of_shared(states, answer), answer.seconds

    def _end_of_shared(self, states: Sequence[int], answer: NewStates) -> Expanded:
        again = np.frombuffer(answer.again, np.uint32).astype(np.int64)
        start, rows = states[0], self.states.array(states[0], states[-1] + 1)
        found = self._found(rows[again]).of_some(again, len(rows))
        if found.again:  # something may break, and then only what comes before it counts
            return self._end_of(start, rows, self._found(rows))
        before, by, names, new = arrays_of(answer.states, rows.shape[1])
        expanded = self._end_of(start, rows, found.beside(before - start, by, new, names))
        return expanded._replace(transitions=expanded.transitions + answer.transitions)

    def make_room(self, over: float, folder: Path | None) -> None:
        """Have states in files, in this folder (None: the system's for such), so that about `over` bytes are free."""
        states = self.states
        if isinstance(states, Spilled):
            states.shrink()
        elif isinstance(states, Compact) and over < states.bytes_used:
            room = (states.bytes_used - over) / 2  # the other half is for the tables
            self.states = Spilled(states, folder or Path(gettempdir()), room)

    def _found(self, rows: Ints) -> Found:
        """Expand these states at once, but those that are left to be expanded one by one."""
        return Found.nothing(rows) if self.many is None else found_at_once(self.many, rows)

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

    Those that were `found` at once come between those that are added one by one.
    """

    def __init__(self, states: InArrays, start: int, found: Found) -> None:
        self.count = 0
        """How many there were so far."""
        self._states, self._start, self._found = states, start, found
        self._taken = 0
        """How many states of the portion have all their transitions taken."""
        self._added: list[tuple[int, int, int, Row]] = []

    def take(self, place: int) -> None:
        """Let the states have all that were found at once from the states before this place of the portion."""
        found, part = self._found, slice(self._found.ends(self._taken), self._found.ends(place))
        self.count += int(found.count[self._taken : place].sum())
        self._taken = place
        if part.start == part.stop:
            return
        self.hand_over()
        self._states.add(found.rows[part], self._start + found.source[part], found.first[part], found.naming[part])

    def add(self, source: int, first: int, naming: int, row: Row) -> None:
        """Add one from the state in this place of the portion."""
        self._added.append((self._start + source, first, naming, row))

    def settled(self) -> int:
        """Let the states have all that there are, and return how many states there are then."""
        self.hand_over()
        self._states.settle()
        return len(self._states)

    def hand_over(self) -> None:
        """Let the states have all that were added."""
        if self._added:
            before, first, naming, rows = zip(*self._added, strict=True)
            self._states.add(np.array(rows), *map(np.array, (before, first, naming)))
            self.count += len(self._added)
            self._added = []
