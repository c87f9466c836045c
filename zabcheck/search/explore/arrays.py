"""The tables of a search as arrays of numpy, in which many entries are looked up at once.

They have what the tables of `local_states`, `monitors` and `symmetry` have, under the same numbers. What is missing is
filled in there, entry by entry, and then taken over: there is no second way to make a component.
"""

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zabcheck.search.explore.local_states import HELD, Expansion, LocalStates, Move, mask_of
from zabcheck.search.explore.monitors import Monitors
from zabcheck.search.explore.symmetry import Symmetry

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MISSING = -1
"""Instead of a number: the entry is not in the table."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_NONE: Ints = np.empty(0, np.int64)
_NOT_ANY: Bools = np.empty(0, np.bool_)


class Index:
    """The numbers, from 0 on, of keys of `width` integers each: a hash table with open addressing."""

    def __init__(self, width: int) -> None:
        self._columns = [_NONE] * width
        """The keys by number: the first integer of each, the second of each, and so on."""
        self._slots = np.full(1024, MISSING)
        """The number of the key in each slot. At most a quarter of the slots are taken."""

    def __len__(self) -> int:
        return len(self._columns[0])

    def extend(self, keys: Sequence[Sequence[int]]) -> None:
        """Give the next numbers to these keys, which are new and differ."""
        new = np.array(keys, np.int64).reshape(-1, len(self._columns))
        if not len(new):
            return
        numbers = np.arange(len(self), len(self) + len(new))
        self._columns = [extended(*each) for each in zip(self._columns, new.T, strict=True)]
        if 4 * len(self) > len(self._slots):
            self._slots = np.full(1 << (8 * len(self)).bit_length(), MISSING)
            numbers = np.arange(len(self))
        slots = self._slots_of([column[numbers] for column in self._columns])
        while numbers.size:
            free = self._slots[slots] == MISSING
            self._slots[slots[free]] = numbers[free]  # of several for one slot the last one stays there
            left = self._slots[slots] != numbers
            numbers, slots = numbers[left], slots[left] + 1 & len(self._slots) - 1

    def find(self, *columns: Ints) -> Ints:
        """Return the numbers of keys, given as one array for each of their integers; MISSING for an unknown one."""
        if not len(self):
            return np.full(len(columns[0]), MISSING)
        slots = self._slots_of(columns)
        found = self._slots[slots]
        wrong = np.flatnonzero(self._differ(found, columns))
        while wrong.size:
            slots[wrong] = slots[wrong] + 1 & len(self._slots) - 1
            found[wrong] = self._slots[slots[wrong]]
            wrong = wrong[self._differ(found[wrong], [column[wrong] for column in columns])]
        return found

    def _slots_of(self, columns: Sequence[Ints]) -> Ints:
        """Return the slots at which the search for these keys begins."""
        mixed = np.zeros(len(columns[0]), np.uint64)
        for column in columns:
            mixed = (mixed ^ column.view(np.uint64)) * _ODD
            mixed ^= mixed >> _HALF
        return mixed.view(np.int64) & len(self._slots) - 1

    def _differ(self, numbers: Ints, columns: Sequence[Ints]) -> Bools:
        """Whether a slot is taken, and by another key."""
        differ = np.zeros(len(numbers), np.bool_)
        for known, column in zip(self._columns, columns, strict=True):
            differ |= known[numbers] != column
        differ &= numbers != MISSING
        return differ


class Table:
    """A table of single numbers, by keys of `width` integers each."""

    def __init__(self, width: int) -> None:
        self._index = Index(width)
        self._values = np.array([MISSING])
        """By number in the index, from 1 on; the first one is for what is not in it."""

    def extend(self, keys: Sequence[Sequence[int]], values: Sequence[int]) -> None:
        """Add entries, which are new and differ."""
        self._index.extend(keys)
        self._values = extended(self._values, np.array(values, np.int64))

    def find(self, *columns: Ints) -> Ints:
        """Return the values of keys, given as one array for each of their integers; MISSING for an unknown one."""
        return self._values[self._index.find(*columns) - MISSING]


class Arrays:
    """What can be looked up in a search, by the numbers that its tables give."""

    def __init__(self, local_states: LocalStates, monitors: Monitors, symmetry: Symmetry | None) -> None:
        self._tables: tuple[LocalStates, Monitors, Symmetry | None] | None = (local_states, monitors, symmetry)
        """What fills in entries, and where they are taken over from; None if these arrays stay as they are."""
        self._bounds, self._faults = local_states.bounds, local_states.faults
        self.size = len(local_states.components.ids)
        self.is_reduced = local_states.reduced
        # By local state.
        self._links: Ints = np.empty((0, self.size), np.int64)
        """The link that it has opened to each process."""
        self.leads = self.may_join = self._may_be_held = _NOT_ANY
        self._flags = self._settled_with = self._matters = self.following = self.kinds = _NONE
        self._digests = _NONE
        """The digest if it was asked for, else MISSING."""
        # By move.
        self.choice = self._cost = self._local_state = self._events = _NONE
        self._raised = _NOT_ANY
        self._changed: Ints = np.empty((0, self.size), np.int64)
        """The new link that each process has to the one that moves; MISSING if it stays."""
        # By expansion: its moves are the next `count` ones from `start` on.
        self._expansions = Index(2 + self.size)
        self.eager = self.at_once = _NOT_ANY
        self.start = self.count = _NONE
        self._singles = Index(2 + self.size)
        self._single = np.array([MISSING])
        """By number in `_singles`, from 1 on: the move, or MISSING if the bounds forbid it."""
        self._linked, self._masks, self._after = Table(3), Table(1), Table(2)
        self._broken = _NOT_ANY
        """By monitor: whether a property is violated."""
        self._monitor_digests = _NONE
        """By monitor: its digest if that was asked for, else MISSING."""
        self.renamings = [] if symmetry is None else symmetry.renamings
        self._numbers_of = {names: number for number, names in enumerate(self.renamings)}
        self._names = np.array(self.renamings)
        self._renamed, self._monitors_renamed = Table(2), Table(2)
        self._taken: dict[Hashable, int] = {}
        """By table: how many of its entries were taken over."""
        components = local_states.components
        sets = ([p for p in components.ids if bits >> p - 1 & 1] for bits in range(1 << self.size))
        self._is_quorum = np.array([components.quorums.contains(members) for members in sets])

    # Taking over.

    def refresh(self) -> None:
        """Take over what the tables have got since the last time. O(what is new), but for a copy now and then."""
        if self._tables is None:
            return
        states, monitors, symmetry = self._tables
        if len(self._links) < len(states.made_of):
            self._take_local_states(states)
        if new := self._new("expansions", states.expansions):
            self._take_expansions(new)
        if new := self._new("singles", states.singles):
            self._take_singles(new)
        if new := self._new("linked", states.linked):
            self._linked.extend([key for key, _ in new], [value for _, value in new])
        if new := self._new("after", monitors.known_after):
            self._after.extend([key for key, _ in new], [value for _, value in new])
        if len(self._broken) < len(monitors.broken):
            broken = [each is not None for each in monitors.broken[len(self._broken) :]]
            self._broken = extended(self._broken, np.array(broken, np.bool_))
            self._monitor_digests = extended(self._monitor_digests, np.full(len(broken), MISSING))
        if symmetry is not None:
            self._take_renamed(states, monitors, symmetry)

    def _take_local_states(self, states: LocalStates) -> None:
        links = np.array([each[1:] for each in states.made_of[len(self._links) :]], np.int64)
        self._links = extended(self._links, links.reshape(-1, self.size))
        self.leads, self.may_join = _up_to(self.leads, states.leads), _up_to(self.may_join, states.may_join)
        self._may_be_held = _up_to(self._may_be_held, states.may_be_held)
        self._settled_with = _up_to(self._settled_with, states.settled_with)
        self.following = _up_to(self.following, states.following)
        self._flags, self._matters = _up_to(self._flags, states.flags), _up_to(self._matters, states.matters)
        self._digests = extended(self._digests, np.full(len(links), MISSING))

    def _take_renamed(self, states: LocalStates, monitors: Monitors, symmetry: Symmetry) -> None:
        if len(self.kinds) < len(symmetry.kinds):
            self.kinds = _up_to(self.kinds, symmetry.kinds)
        for number, names in enumerate(self.renamings):
            if new := self._new(names, states.renamings(names)):
                self._renamed.extend([(number, key) for key, _ in new], [value for _, value in new])
        if new := self._new("renamed", monitors.known_renamed):
            keys = [(self._numbers_of[names], monitor) for (monitor, names), _ in new]
            self._monitors_renamed.extend(keys, [value for _, value in new])

    def frozen(self) -> "Arrays":
        """Return these arrays as they are now, without the tables, so that they can be sent elsewhere.

        O(all local states and monitors), of which digests may be needed there.
        """
        self.refresh()
        if self.renamings:
            self.digests(np.arange(len(self._digests)))
            self.monitor_digests(np.arange(len(self._monitor_digests)))
        frozen = copy(self)
        frozen._tables = None
        return frozen

    def _new(self, name: Hashable, table: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Return the last entries of a table, those that were not taken over yet."""
        taken, self._taken[name] = self._taken.get(name, 0), len(table)
        return list(islice(reversed(table.items()), len(table) - taken))[::-1] if len(table) > taken else []

    def _take_expansions(self, new: list[tuple[tuple[int, ...], Expansion]]) -> None:
        self._expansions.extend([key for key, _ in new])
        count = np.array([len(each.moves) for _, each in new], np.int64)
        self.start = extended(self.start, len(self.choice) + np.cumsum(count) - count)
        self.count = extended(self.count, count)
        self.eager = extended(self.eager, np.array([each.eager for _, each in new], np.bool_))
        self.at_once = extended(self.at_once, np.array([each.at_once for _, each in new], np.bool_))
        self._take_moves([move for _, each in new for move in each.moves])

    def _take_singles(self, new: list[tuple[tuple[int, ...], Move | None]]) -> None:
        self._singles.extend([key for key, _ in new])
        possible = np.array([move is not None for _, move in new], np.bool_)
        numbers = len(self.choice) + np.cumsum(possible) - 1
        self._single = extended(self._single, np.where(possible, numbers, MISSING))
        self._take_moves([move for _, move in new if move is not None])

    def _take_moves(self, new: list[Move]) -> None:
        choices, costs, local_states, _, events, raised = zip(*new, strict=True) if new else ((),) * 6
        self.choice = extended(self.choice, np.array(choices, np.int64))
        self._cost = extended(self._cost, np.array(costs, np.int64))
        self._local_state = extended(self._local_state, np.array(local_states, np.int64))
        self._events = extended(self._events, np.array(events, np.int64))
        self._raised = extended(self._raised, np.array(raised, np.bool_))
        links = [(place, other, link) for place, move in enumerate(new) for other, link in move.links]
        places, others, numbers = np.array(links, np.int64).reshape(-1, 3).T
        changed = np.full((len(new), self.size), MISSING)
        changed[places, others] = numbers
        self._changed = extended(self._changed, changed)

    # Looking up, for many states at once. A state is a row of an array. Processes are counted from 0. Only in arrays
    # that are frozen something may be MISSING.

    def _find(self, table: Index | Table, columns: Sequence[Ints], fill: Callable[..., object] | None) -> Ints:
        """Return what the table has for these keys. `fill` fills in what it lacks, each key once; None: it stays so."""
        found = table.find(*columns)
        if fill is not None:
            missing = np.flatnonzero(found == MISSING)
            if missing.size:
                some = [column[missing] for column in columns]
                for key in dict.fromkeys(zip(*(column.tolist() for column in some), strict=True)):
                    fill(*key)
                self.refresh()
                found[missing] = table.find(*some)
        return found

    def masks(self, used: Ints) -> Ints:
        """Return `LocalStates.mask` of each."""
        found = self._masks.find(used)
        if (found == MISSING).any():
            new = np.unique(used[found == MISSING]).tolist()
            self._masks.extend([(each,) for each in new], [mask_of(each, self._bounds) for each in new])
            found = self._masks.find(used)
        return found

    def expansions(self, rows: Ints, masks: Ints, processes: Ints) -> Ints:
        """Return the number of what a process can do in each state, or MISSING."""
        local_states = rows[np.arange(len(rows)), processes]
        at = np.flatnonzero(self._may_be_held[local_states] & (masks & self._faults == 0))
        if at.size:
            masks = masks.copy()
            masks[at[self._are_held(rows[at], local_states[at])]] |= HELD
        masks = masks & self._matters[local_states]
        fill = None if self._tables is None else self._tables[0].expand
        return self._find(self._expansions, (masks, local_states, *self._links_to(rows, processes)), fill)

    def _are_held(self, rows: Ints, local_states: Ints) -> Bools:
        """Return `LocalStates.is_held` of processes in these local states, which are settled."""
        leaders = self._settled_with[local_states]
        own = self._settled_with[rows[np.arange(len(rows)), leaders - 1]]
        members = self._settled_with[rows[:, : self.size]] == leaders[:, None]
        held: Bools = (own == leaders) & self.are_quorums(members)
        return held

    def are_quorums(self, members: Bools) -> Bools:
        """Return which sets of processes are quorums; the last axis has the processes."""
        found: Bools = self._is_quorum[_members(members)]
        return found

    def singles(self, choices: Ints, rows: Ints, processes: Ints) -> tuple[Ints, Bools]:
        """Return the move that a choice is of a process, MISSING if there is none; and where that is not known."""
        local_states = rows[np.arange(len(rows)), processes]
        fill = None if self._tables is None else self._tables[0].try_single
        found = self._find(self._singles, (choices, local_states, *self._links_to(rows, processes)), fill)
        return self._single[found - MISSING], found == MISSING

    def _links_to(self, rows: Ints, processes: Ints) -> list[Ints]:
        return [self._links[rows[:, other], processes] for other in range(self.size)]

    def move(self, rows: Ints, moves: Ints, processes: Ints) -> tuple[Ints, Bools, Bools]:
        """Return the states after a move of a process, where something was missing, and where something breaks."""
        size, after = self.size, rows.copy()
        link, observe = (None, None) if self._tables is None else (self._tables[0].with_link, self._tables[1].after)
        missing = np.zeros(len(rows), np.bool_)
        after[np.arange(len(rows)), processes] = self._local_state[moves]
        changed = self._changed[moves]
        for other in range(size):
            at = np.flatnonzero(changed[:, other] != MISSING)
            found = self._find(self._linked, (after[at, other], processes[at] + 1, changed[at, other]), link)
            after[at, other] = found
            missing[at] |= found == MISSING
        after[:, size] += self._cost[moves]
        events = self._events[moves]
        at = np.flatnonzero(events)
        after[at, size + 1] = found = self._find(self._after, (after[at, size + 1], events[at]), observe)
        missing[at] |= found == MISSING
        return after, missing, ~missing & (self._raised[moves] | self._broken[after[:, size + 1]])

    def may_be_eager(self, rows: Ints) -> Ints:
        """Return `LocalStates.may_be_eager` of each."""
        flags = self._flags[rows[:, 0]]
        for process in range(1, self.size):
            flags = flags | self._flags[rows[:, process]]
        return (flags & flags >> 8 & 0xFF) | flags >> 16

    def learn_kinds(self, rows: Ints) -> Bools:
        """Return of which states the kinds of the processes are known."""
        if self._tables is not None and rows[:, : self.size].max(initial=-1) >= len(self.kinds):
            symmetry = self._tables[2]
            assert symmetry is not None, "only with symmetry there are kinds"
            symmetry.learn()
            self.refresh()
        known: Bools = np.all(rows[:, : self.size] < len(self.kinds), axis=1)
        return known

    def renamed(self, rows: Ints, naming: Ints) -> tuple[Ints, Bools]:
        """Return the states when each process has its new name, and where something was missing."""
        renamed, missing = rows.copy(), np.zeros(len(rows), np.bool_)
        names, each = self._names[naming], np.arange(len(rows))
        rename, monitor = (None, None) if self._tables is None else (self._rename, self._rename_monitor)
        for process in range(self.size):
            twins = self._find(self._renamed, (naming, rows[:, process]), rename)
            renamed[each, names[:, process + 1] - 1] = twins
            missing |= twins == MISSING
        at = np.flatnonzero(rows[:, -1])  # the first monitor stays as it is
        renamed[at, -1] = twins = self._find(self._monitors_renamed, (naming[at], rows[at, -1]), monitor)
        missing[at] |= twins == MISSING
        return renamed, missing

    def _rename(self, naming: int, local_state: int) -> None:
        assert self._tables is not None, "these arrays are filled"
        self._tables[0].renamed(local_state, self.renamings[naming])

    def _rename_monitor(self, naming: int, monitor: int) -> None:
        assert self._tables is not None, "these arrays are filled"
        self._tables[1].renamed(monitor, self.renamings[naming])

    def digests(self, local_states: Ints) -> Ints:
        """Return `Symmetry.digest` of each."""
        lacking = np.unique(local_states[self._digests[local_states] == MISSING])
        if lacking.size:
            symmetry = None if self._tables is None else self._tables[2]
            assert symmetry is not None, "frozen arrays have all digests"
            self._digests[lacking] = [symmetry.digest(each) for each in lacking.tolist()]
        return self._digests[local_states]

    def monitor_digests(self, monitors: Ints) -> Ints:
        """Return `Monitors.digest` of each."""
        lacking = np.unique(monitors[self._monitor_digests[monitors] == MISSING])
        if lacking.size:
            assert self._tables is not None, "frozen arrays have all digests"
            self._monitor_digests[lacking] = [self._tables[1].digest(each) for each in lacking.tolist()]
        return self._monitor_digests[monitors]


def _members(table: Bools) -> Ints:
    """Return, for each set of processes, a number with a bit for each that is in it."""
    return table @ (1 << np.arange(table.shape[-1]))


def extended(known: Any, new: Any) -> Any:
    """Return an array with others behind it. It has room for more, so what is known is seldom copied.

    What is known must not be extended a second time: the room behind it is taken.
    """
    room, size = known.base, len(known) + len(new)
    if room is None or room.shape[1:] != known.shape[1:] or len(room) < size:
        room = np.empty((2 * size, *known.shape[1:]), known.dtype)
        room[: len(known)] = known
    room[len(known) : size] = new
    return room[:size]


def _up_to(known: Any, all_: Sequence[Any]) -> Any:
    """Return the array with what the list has beyond it."""
    return extended(known, np.array(all_[len(known) :], known.dtype))
