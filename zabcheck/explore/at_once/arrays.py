"""The tables of a search as arrays of numpy, in which many entries are looked up at once.

They have the entries of `local_states`, `monitors` and `symmetry`, under the same numbers. Missing entries are made by
those tables, one by one, and then copied: there is no second way to make a component.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from zabcheck.explore.at_once.index import (
    MISSING,
    NONE,
    NOT_ANY,
    Bools,
    Index,
    Ints,
    Table,
    distinct,
    extended,
    flat_places,
    hashes,
    of_each,
    up_to,
)
from zabcheck.explore.at_once.judging import FEW, Judging
from zabcheck.explore.at_once.parts import Moves, Parts
from zabcheck.explore.tables.local_states import HELD, LocalStates, Move, mask_of
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.symmetry import Symmetry


class Arrays:
    """The tables of a search as arrays, by the numbers that the tables give."""

    def __init__(self, local_states: LocalStates, monitors: Monitors, symmetry: Symmetry | None) -> None:
        self._states, self._monitors, self._symmetry = local_states, monitors, symmetry
        """The tables that fill in entries, from which these are taken over."""
        self._bounds, self._faults = local_states.bounds, local_states.faults
        self.size = len(local_states.components.ids)
        self.is_reduced = local_states.reduced
        # By local state.
        self._links: Ints = np.empty((0, self.size), np.int64)
        """The link that it has opened to each process."""
        self.may_join = self._may_be_held = NOT_ANY
        self._flags = self._settled_with = self._matters = self._kinds = NONE
        self._digests = NONE
        """The digest if it was asked for, else MISSING."""
        self.moves = Moves.none(self.size)
        # By expansion: its moves are the next `count` ones from `start` on.
        self._expansions = Index(2 + self.size)
        self.eager = self.at_once = NOT_ANY
        self.start = self.count = NONE
        self._judging = Judging(monitors)
        """Fills in what is known after many steps."""
        self._parts = Parts(local_states)
        """The parts that expansions are put together of."""
        self._singles = Index(2 + self.size)
        self._single = np.array([MISSING])
        """By number in `_singles`, from 1 on: the move, or MISSING if the bounds forbid it."""
        self._linked, self._masks, self._after = Table(3), Table(1), Table(2)
        self._broken = NOT_ANY
        """By monitor: whether a property is violated."""
        self._monitor_digests = NONE
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

    @property
    def leads(self) -> Bools:
        """`LocalStates.leads`, by local state."""
        return self._parts.leads

    @property
    def following(self) -> Ints:
        """`LocalStates.following`, by local state."""
        return self._parts.following

    # Copying.

    def refresh(self) -> None:
        """Copy the tables' new entries. O(new entries), except for a copy of all now and then."""
        states, monitors, symmetry = self._states, self._monitors, self._symmetry
        if len(self._links) < len(states.made_of):
            self._take_local_states(states)
        self._parts.refresh()
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
        self.may_join = up_to(self.may_join, states.may_join)
        self._may_be_held = up_to(self._may_be_held, states.may_be_held)
        self._settled_with = up_to(self._settled_with, states.settled_with)
        self._flags, self._matters = up_to(self._flags, states.flags), up_to(self._matters, states.matters)
        self._digests = extended(self._digests, np.full(len(links), MISSING))

    def _take_renamed(self, states: LocalStates, monitors: Monitors, symmetry: Symmetry) -> None:
        if len(self._kinds) < len(symmetry.kinds):
            self._kinds = up_to(self._kinds, symmetry.kinds)
        taken = self._taken.get("local states renamed", 0)
        if new_names := states.all_renamed[taken:]:
            self._taken["local states renamed"] = len(states.all_renamed)
            keys = [(self._numbers_of[names], local_state) for names, local_state, _ in new_names]
            self._renamed.extend(keys, [twin for *_, twin in new_names])
        if new := self._new("renamed", monitors.known_renamed):
            keys = [(self._numbers_of[names], monitor) for (monitor, names), _ in new]
            self._monitors_renamed.extend(keys, [value for _, value in new])

    def _new(self, name: Hashable, table: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Return the new entries of a table, those that were not copied yet."""
        taken, self._taken[name] = self._taken.get(name, 0), len(table)
        return list(islice(reversed(table.items()), len(table) - taken))[::-1] if len(table) > taken else []

    def _take_singles(self, new: list[tuple[tuple[int, ...], Move | None]]) -> None:
        self._singles.extend([key for key, _ in new])
        possible = np.array([move is not None for _, move in new], np.bool_)
        numbers = len(self.moves.choice) + np.cumsum(possible) - 1
        self._single = extended(self._single, np.where(possible, numbers, MISSING))
        moves = [move for _, move in new if move is not None]
        if not moves:
            return
        choices, costs, local_states, _, events, raised = zip(*moves, strict=True)
        links = [(place, other, link) for place, move in enumerate(moves) for other, link in move.links]
        places, others, numbers = np.array(links, np.int64).reshape(-1, 3).T
        changed = np.full((len(moves), self.size), MISSING)
        changed[places, others] = numbers
        columns = *map(np.array, (choices, costs, local_states, events, raised)), changed
        self.moves = self.moves.and_also(Moves(*columns))

    def _put_together(self, keys: Ints) -> None:
        """Fill in the expansions that have these keys, which differ."""
        new = self._parts.expanded(keys, self._find)
        self._expansions.extend(keys)
        self.start = extended(self.start, len(self.moves.choice) + np.cumsum(new.counts) - new.counts)
        self.count = extended(self.count, new.counts)
        self.eager, self.at_once = extended(self.eager, new.eager), extended(self.at_once, new.at_once)
        self.moves = self.moves.and_also(new.moves)

    # Looking up, for many states at once. A state is a row of an array. Processes are counted from 0.

    def _find(
        self,
        table: Index | Table,
        columns: Sequence[Ints],
        fill: Callable[..., object],
        fill_many: Callable[..., object] | None = None,
    ) -> Ints:
        """Return the table's entries for these keys. `fill` makes a missing one, each key once.

        If more than a few are missing, `fill_many` makes them all at once; its keys are given as one array for each of
        their integers.
        """
        found = table.find(*columns)
        missing = np.flatnonzero(found == MISSING)
        if missing.size:
            some = [column[missing] for column in columns]
            keys = distinct(some)
            if fill_many is None or len(keys) < FEW:
                for key in keys:
                    fill(*key)
            else:
                fill_many(*map(np.array, zip(*keys, strict=True)))
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
        """Return the number of each state's expansion of a process. DoesNotCommute as in `LocalStates.expand`."""
        local_states = of_each(rows, processes)
        at = np.flatnonzero(self._may_be_held.take(local_states) & (masks & self._faults == 0))
        if at.size:
            masks = masks.copy()
            masks[at[self._are_held(rows[at], local_states[at])]] |= HELD
        key = masks & self._matters.take(local_states), local_states, *self._links_to(rows, processes)
        found = self._expansions.find(*key)
        missing = np.flatnonzero(found == MISSING)
        while missing.size:
            some = [column[missing] for column in key]
            _, first = np.unique(hashes(some), return_index=True)  # those that differ, except for some of one hash
            self._put_together(np.column_stack([column[first] for column in some]))
            found[missing] = self._expansions.find(*some)
            missing = missing[found[missing] == MISSING]
        return found

    def _are_held(self, rows: Ints, local_states: Ints) -> Bools:
        """Return `LocalStates.is_held` of processes in these local states, which are settled."""
        leaders = self._settled_with[local_states]
        own = self._settled_with[of_each(rows, leaders - 1)]
        members = self._settled_with[rows[:, : self.size]] == leaders[:, None]
        held: Bools = (own == leaders) & self.are_quorums(members)
        return held

    def are_quorums(self, members: Bools) -> Bools:
        """Return for each set of processes True if it is a quorum; the last axis has the processes."""
        found: Bools = self._is_quorum[_members(members)]
        return found

    def singles(self, choices: Ints, rows: Ints, processes: Ints) -> Ints:
        """Return the moves of processes by choices, MISSING for one that is not enabled."""
        key = choices, of_each(rows, processes), *self._links_to(rows, processes)
        found = self._find(self._singles, key, self._states.try_single)
        return self._single.take(found - MISSING)

    def _links_to(self, rows: Ints, processes: Ints) -> list[Ints]:
        links, size = self._links.ravel(), self.size
        return [links.take(rows[:, other] * size + processes) for other in range(size)]

    def move(self, rows: Ints, moves: Ints, processes: Ints) -> tuple[Ints, Bools]:
        """Return the states after a move of a process, and True for each in which something breaks."""
        size, after = self.size, rows.copy()
        after.ravel()[flat_places(after, processes)] = self.moves.local_state.take(moves)
        changed = self.moves.changed.take(moves, axis=0)
        for other in range(size):
            at = np.flatnonzero(changed[:, other] != MISSING)
            key = after[at, other], processes[at] + 1, changed[at, other]
            after[at, other] = self._find(self._linked, key, self._states.with_link)
        after[:, size] += self.moves.cost.take(moves)
        events = self.moves.events.take(moves)
        at = np.flatnonzero(events)
        seen = after[at, size + 1], events[at]
        after[at, size + 1] = self._find(self._after, seen, self._monitors.after, self._judging.after)
        return after, self.moves.raised.take(moves) | self._broken.take(after[:, size + 1])

    def may_be_eager(self, rows: Ints) -> Ints:
        """Return `LocalStates.may_be_eager` of each."""
        flags = self._flags.take(rows[:, 0])
        for process in range(1, self.size):
            flags |= self._flags.take(rows[:, process])
        return (flags & flags >> 8 & 0xFF) | flags >> 16

    def kinds_of(self, rows: Ints) -> Ints:
        """Return `Symmetry.kinds` of the processes in each state."""
        if rows[:, : self.size].max(initial=-1) >= len(self._kinds):
            assert self._symmetry is not None, "only with symmetry there are kinds"
            self._symmetry.learn()
            self.refresh()
        return self._kinds[rows[:, : self.size]]

    def renamed(self, rows: Ints, naming: Ints) -> Ints:
        """Return the states when each process has its new name."""
        renamed, names, each = rows.copy(), self._names[naming], np.arange(len(rows))
        for process in range(self.size):
            twins = self._find(self._renamed, (naming, rows[:, process]), self._rename)
            renamed[each, names[:, process + 1] - 1] = twins
        at = np.flatnonzero(rows[:, -1])  # the first monitor stays as it is
        key = naming[at], rows[at, -1]
        renamed[at, -1] = self._find(self._monitors_renamed, key, self._rename_monitor, self._rename_monitors)
        return renamed

    def _rename(self, naming: int, local_state: int) -> None:
        self._states.renamed(local_state, self.renamings[naming])

    def _rename_monitor(self, naming: int, monitor: int) -> None:
        self._monitors.renamed(monitor, self.renamings[naming])

    def _rename_monitors(self, naming: Ints, monitors: Ints) -> None:
        self._judging.renamed(monitors, [self.renamings[each] for each in naming.tolist()])

    def digests(self, local_states: Ints) -> Ints:
        """Return `Symmetry.digest` of each."""
        lacking = np.unique(local_states[self._digests[local_states] == MISSING])
        if lacking.size:
            assert self._symmetry is not None, "only with symmetry somebody asks for digests"
            self._digests[lacking] = list(map(self._symmetry.digest, lacking.tolist()))
        return self._digests[local_states]

    def monitor_digests(self, monitors: Ints) -> Ints:
        """Return `Monitors.digest` of each."""
        lacking = np.unique(monitors[self._monitor_digests[monitors] == MISSING])
        if lacking.size:
            self._monitor_digests[lacking] = list(map(self._monitors.digest, lacking.tolist()))
        return self._monitor_digests[monitors]


def _members(table: Bools) -> Ints:
    """Return, for each set of processes, a number with a bit for each member."""
    return table @ (1 << np.arange(table.shape[-1]))
