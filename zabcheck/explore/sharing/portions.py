"""The expansion of a portion of the states of a level, which are kept in arrays (`compact`).

Many of them are expanded at once if that can be (`many`). Those that this leaves are expanded one by one, each in its
turn. Which of the successors are new, the states tell in the end.

Several processes share the portions of a level that is large enough (`dealing`). Each worker is a copy of the search as
it is when the level begins (`workers`). It expands portions as the search does, and answers which states it found that
were not known then, and what it has filled into its tables, which the search takes over (`merging`). What may break
something is left to the search, when the turn of those states comes. So the outcome is the same, whatever the number of
workers.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from invariants.base import WentOn
from zabcheck.explore.at_once.index import Ints
from zabcheck.explore.at_once.many import Found, Many
from zabcheck.explore.sharing.dealing import dealt
from zabcheck.explore.sharing.merging import Merge, encoded
from zabcheck.explore.sharing.slicing import PORTION
from zabcheck.explore.states.compact import Compact, InArrays
from zabcheck.explore.states.spilled import Spilled
from zabcheck.explore.tables.components import EpochUnknown
from zabcheck.explore.tables.journal import FilledIn
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.reduction import MayLeave
from zabcheck.explore.tables.renaming import Names
from zabcheck.explore.tables.successors import End, Row, Successors
from zabcheck.explore.tables.symmetry import Symmetry
from zabcheck.protocols.base import CannotTellApart

LARGE = 20_000
"""A level of fewer states is not shared: a fork would cost more than it saves."""
_LEAST, _MOST = 1 << 11, 1 << 14
"""How many states a portion has that one of several processes expands."""
_KINDS = np.uint16, np.uint32, np.uint16, np.uint16, np.uint32, np.uint8
"""The types in which what was found is sent, column by column."""
_TURNS = 3
"""How many portions each process expands in a level that is not small."""


class PortionAnswer(Struct):
    """What a worker found from the states of a `portion`, which has a number: a `Found`, with the worker's numbers.

    It is sent as bytes. `filled_in` is what it has put into its tables since its last answer (`merging.encoded`), and
    `exercised` are the properties that had something to judge.
    """

    portion: int
    found: list[bytes]
    filled_in: bytes
    exercised: list[str]


class Expanded(NamedTuple):
    """How many states were expanded, and how many transitions there were, until the `end`, if something breaks."""

    states: int
    transitions: int
    end: End | None


HandOver = Callable[[], Expanded]
"""Lets the states have what was found from those of a portion, until something breaks."""


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
        self._local_states, self._monitors = local_states, monitors
        self._successors = successors
        self._broken = monitors.broken
        self._symmetry = symmetry
        self._namings = namings
        can_do_many = symmetry is None or symmetry.is_full
        self.many = Many(local_states, monitors, symmetry, successors) if can_do_many else None
        """What expands many at once; None if that cannot do this search."""

    def level(self, start: int, stop: int, workers: int) -> Generator[Expanded]:
        """Expand the states from `start` on, none from `stop` on, a portion at each step, until something breaks."""
        can_share = self.many is not None and isinstance(self.states, Compact)
        if workers == 1 or stop - start < LARGE or not can_share:
            return self._expanded(range(start, stop))
        size = max(_LEAST, min(_MOST, (stop - start) // (_TURNS * workers)))
        portions = [range(begin, min(begin + size, stop)) for begin in range(start, stop, size)]
        return self._shared(portions, workers)

    def _expanded(self, states: range) -> Generator[Expanded]:
        while states:
            size = PORTION if self.many is None else self.many.portion
            rows = self._rows(states[:size])
            yield self._end_of(states.start, rows, self._found(rows))
            states = states[size:]

    def _rows(self, states: range) -> Ints:
        return self.states.array(states.start, states.stop)

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

    def _shared(self, portions: Sequence[range], workers: int) -> Generator[Expanded]:
        """Expand these portions, as many processes do."""
        expand, answers = partial(self._here, portions), partial(self._answers, portions)
        taking = partial(self._taking, portions)
        with closing(
            dealt(len(portions), workers, expand=expand, answers=answers, kind=PortionAnswer, taking=taking)
        ) as expanded:
            for hand_over in expanded:
                yield Expanded(0, 0, None) if hand_over is None else hand_over()

    def _here(self, portions: Sequence[range], number: int) -> HandOver:
        """Expand the states of a portion."""
        rows = self._rows(portions[number])
        return partial(self._end_of, portions[number].start, rows, self._found(rows))

    def _answers(self, portions: Sequence[range], draws: Iterator[int]) -> Iterator[PortionAnswer]:
        """Yield what is found from the states of the portions that are drawn; in a worker."""
        assert isinstance(self.states, Compact), "no others are shared"
        self._local_states.components.filled_in = filled_in = list[FilledIn]()
        choices = {choice: number for number, choice in enumerate(self._local_states.choices) if choice is not None}
        for number in draws:
            found = self._found(self._rows(portions[number]))
            # What was found in a portion before is found anew: this one may come before that in the order of states.
            found = found.at(self.states.new(found.rows))
            filled, exercised = encoded(filled_in, choices), self._monitors.exercised_now
            filled_in.clear()
            columns = found.again, found.count, found.source, found.first, found.rows, found.naming
            sent = [np.array(each, kind).tobytes() for each, kind in zip(columns, _KINDS, strict=True)]
            yield PortionAnswer(number, sent, filled, exercised)

    def _taking(self, portions: Sequence[range]) -> Callable[[PortionAnswer], tuple[int, HandOver]]:
        """Return what takes over the answers of a worker that was just forked."""
        return partial(self._take, portions, Merge(self._local_states, self._monitors))

    def _take(self, portions: Sequence[range], merge: Merge, answer: PortionAnswer) -> tuple[int, HandOver]:
        """Take over what a worker has filled in; return the number of the portion that it has expanded, too."""
        merge.take(answer.filled_in)
        self._monitors.record_exercised(answer.exercised)
        columns = (np.frombuffer(*each).astype(np.int64) for each in zip(answer.found, _KINDS, strict=True))
        again, count, source, first, there, naming = columns
        is_again = np.zeros(len(count), np.bool_)
        is_again[again] = True
        after = merge.rows(there.reshape(-1, self.states.tree.width))
        states, found = portions[answer.portion], Found(is_again, count, source, first, after, naming)
        return answer.portion, partial(self._end_of, states.start, self._rows(states), found)

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
