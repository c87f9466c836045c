"""The successors of many states at once, looked up in arrays: as in `successors` and `symmetry` one by one.

All is looked up in the tables (`arrays`), which make missing entries. If something breaks, the whole state is left
to the search, which expands it when its turn comes. The entries are the same as one by one, made in another order, on
which nothing depends.
"""

from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

import numpy as np

from zabcheck.explore.at_once.arrays import Arrays
from zabcheck.explore.at_once.elections import NO_MEMBER, Elections
from zabcheck.explore.at_once.index import MISSING, Bools, Ints, of_each, twins
from zabcheck.explore.at_once.representatives import Representatives
from zabcheck.explore.bounds import TIMEOUT
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.successors import Successors
from zabcheck.explore.tables.symmetry import Symmetry
from zabcheck.simulation.channels import NOBODY

FEWEST, MOST = 512, 1 << 15
"""The number of states that are expanded at once: enough to pay, but not so many that Ctrl-C has to wait for long."""
_QUICK = 1.0
"""Seconds of CPU time. If some states take less, more are expanded at once next time, else fewer."""
_DIGIT, _DEEPEST = 3, 12
"""The bits of a key for each move that is made at once, and the number of these moves that fit into a key."""
_PLACES = 1 << 10
"""More than the joins, moves and elections of a state.

The joins have the first `_MOVES` places, each process the next ones, and elections by vote those after all processes.
"""
_MOVES = 1 << 7


class SuccessorRows:
    """The successors of some states. `again`: the states that the search has to expand itself.

    By successor, in the order in which the search finds them: its `source`, `first` (see
    `Successor`), its representative in `rows`, and the `naming` that leads there, by number. Some that were found
    before, from one of these states, may be left out; `count` has the number of all successors of each state.
    """

    def __init__(self, again: Bools, count: Ints, source: Ints, first: Ints, rows: Ints, naming: Ints) -> None:
        self.again: list[int] = np.flatnonzero(again).tolist()
        self.count = count
        self._ends: Ints = np.cumsum(np.bincount(source, minlength=len(again)))
        self.source, self.first, self.rows, self.naming = source, first, rows, naming

    @staticmethod
    def nothing(rows: Ints) -> "SuccessorRows":
        """Return a result that leaves all these states to the search."""
        none = np.empty(0, np.int64)
        return SuccessorRows(np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64), none, none, rows[:0], none)

    def ends(self, state: int) -> int:
        """Return the number of successors of the states before this one."""
        return int(self._ends[state - 1]) if state else 0


class _Pending(NamedTuple):
    """Unfinished successors. Sorted by `keys` they are in order."""

    source: Ints
    first: Ints
    rows: Ints
    keys: Ints

    def at(self, which: Ints | Bools) -> "_Pending":
        """Return some of these successors; the same object if a mask leaves out none of them."""
        if which.dtype == np.bool_:
            if which.all():
                return self
            which = np.flatnonzero(which)
        return _Pending(*(each.take(which, axis=0) for each in self))


class ManySuccessors:
    """The successors of many states of one search."""

    def __init__(
        self, local_states: LocalStates, monitors: Monitors, symmetry: Symmetry | None, successors: Successors
    ) -> None:
        self._arrays = arrays = Arrays(local_states, monitors, symmetry)
        self._representatives = Representatives(arrays) if arrays.renamings else None
        self._size = size = arrays.size
        self._time_out = local_states.bounds.counted(TIMEOUT)
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
        self._elections = Elections(arrays, successors) if successors.elections else None
        self._first_election = (size + 1) * _MOVES
        """The place of the first election by vote; behind them come the processes that join the leader of a quorum."""
        last = self._first_election + len(successors.elections) + size * size
        assert last <= _PLACES, "there are fewer processes"
        self._joins = np.array(joins, np.int64).reshape(-1, 4)
        """The number, the leader, and the two choices of each join, in the order in which they are tried."""
        self._again: Bools = np.empty(0, np.bool_)
        """The states at hand that the search has to expand itself."""
        self.portion = FEWEST
        """The number of states to expand at once."""

    def of(self, rows: Ints) -> SuccessorRows:
        """Return the successors of these states, each up to names. About a microsecond for each successor.

        Most of those that were found before, from one of these states, are left out.
        """
        begun = process_time()
        self._arrays.refresh()
        self._again = np.zeros(len(rows), np.bool_)
        part = self._begun(rows)
        part = part.at(~self._again[part.source])
        part = self._settled(part) if self._arrays.is_reduced else part
        part = part.at(~self._again[part.source])
        part = part.at(np.argsort(part.keys, kind="stable"))  # there are long runs in order
        count = np.bincount(part.source, minlength=len(rows))
        # If the search has to expand the first one's state itself, it finds that successor before the others, too.
        part = part.at(np.flatnonzero(twins(part.rows) == np.arange(len(part.rows))))
        if self._representatives is None:
            after, naming = part.rows, np.zeros(len(part.rows), np.int64)
        else:
            after, naming = self._representatives.of(part.rows)
        is_quick = process_time() - begun < _QUICK
        self.portion = min(MOST, 2 * self.portion) if is_quick else max(FEWEST, self.portion // 2)
        count[self._again] = 0
        kept = np.flatnonzero(~self._again[part.source])
        columns = (each.take(kept, axis=0) for each in (part.source, part.first, after, naming))
        return SuccessorRows(self._again, count, *columns)

    def _begun(self, before: Ints) -> _Pending:
        """Return the states after a join or a move that has to be tried: the first part of `Successors.of`."""
        arrays, size = self._arrays, self._size
        masks = arrays.masks(before[:, size])
        expansions = np.full((len(before), size), MISSING)
        at = np.arange(len(before))
        for process in range(size):
            found = arrays.expansions(before.take(at, axis=0), masks.take(at), np.full(len(at), process))
            expansions[at, process] = found
            at = at[~arrays.eager.take(found)]  # otherwise the processes behind it are not looked at
        joined = self._joined(before, at)
        elected = self._elected(before, masks, at)
        first = _first(np.append(arrays.eager, False)[expansions])
        tried = (first == size)[:, None] | (np.arange(size) == first[:, None])
        states, processes = np.nonzero(tried)
        each, moves, place = self._moves(expansions[tried])
        source, processes = states[each], processes[each]
        assert place.max(initial=0) < _MOVES, "a process has fewer moves"
        keys = source * _PLACES + (processes + 1) * _MOVES + place
        part = _Pending(source, arrays.moves.choice.take(moves), before.take(source, axis=0), keys)
        after = self._moved(part, moves, processes)
        return _together([joined, after, elected])

    def _moves(self, expansions: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all moves of these expansions: the expansion of each, its number, and its place there."""
        start, count = self._arrays.start.take(expansions), self._arrays.count.take(expansions)
        each = np.repeat(np.arange(len(expansions)), count)
        place = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        return each, start.take(each) + place, place

    def _moved(self, part: _Pending, moves: Ints, processes: Ints) -> _Pending:
        """Make the moves. If something breaks, the source is left to the search."""
        rows, breaks = self._arrays.move(part.rows, moves, processes)
        self._again[part.source[breaks]] = True
        return part._replace(rows=rows).at(~breaks)

    # Joins.

    def _joined(self, before: Ints, where: Ints) -> _Pending:
        """Return the states after a leader has heard of a follower."""
        arrays, size = self._arrays, self._size
        where = where[arrays.may_join[before[where, :size]].any(axis=1)] if len(self._joins) else where[:0]
        ready = []
        for is_told, may_lead in enumerate((arrays.leads, arrays.may_join)):
            each, leaders = np.nonzero(may_lead[before[where, :size]])
            part = _Pending(where[each], leaders, before[where[each]], np.full(len(each), is_told))
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

    def _single(self, part: _Pending, choices: Ints, processes: Ints) -> _Pending:
        """Make a choice in each state, where the bounds allow it."""
        moves = self._arrays.singles(choices, part.rows, processes)
        possible = moves != MISSING
        return self._moved(part.at(possible), moves[possible], processes[possible])

    # Elections by vote.

    def _elected(self, before: Ints, masks: Ints, where: Ints) -> _Pending:
        """Return the states after an election by vote, and after a process has joined the leader of a quorum."""
        if self._elections is None:
            return _Pending(where[:0], where[:0], before[:0], where[:0])
        voting, size, rows, place = self._elections, self._size, before[where], self._first_election
        states, elections = voting.possible(rows, masks[where])
        keys = where[states] * _PLACES + place + elections
        part = _Pending(where[states], voting.numbers[elections], rows[states], keys)
        for turn in range(size):
            part = self._after_leaving(part, voting, turn)
        part = part.at(voting.are_won(part.rows, part.keys % _PLACES - place))
        for turn in range(size):
            members = voting.members[part.keys % _PLACES - place]
            takes_part = members[:, turn] != NO_MEMBER
            leaders, others, rest = members[takes_part, 0], members[takes_part, turn], part.at(~takes_part)
            part = _together([rest, self._single(part.at(takes_part), voting.elect[others, leaders], others)])
        states, processes, leaders = voting.joins(rows)
        keys = where[states] * _PLACES + place + len(voting.numbers) + processes * size + leaders
        told = voting.elect[processes, leaders]
        joined = self._single(_Pending(where[states], told, rows[states], keys), told, processes)
        return _together([part, joined])

    def _after_leaving(self, part: _Pending, voting: Elections, turn: int) -> _Pending:
        """Return the states after a participant has left its iteration, if it is in one, by a time-out."""
        arrays, size = self._arrays, self._size
        members = voting.members[part.keys % _PLACES - self._first_election, turn]
        takes_part = members != NO_MEMBER
        following = arrays.following.take(of_each(part.rows, np.where(takes_part, members, 0)))
        is_in_one = takes_part & (following != NOBODY)
        may_leave = is_in_one & (arrays.masks(part.rows[:, size]) & TIMEOUT != 0)
        members = members[may_leave]
        left = self._single(part.at(may_leave), voting.timeout[members], members)
        left.rows[:, size] += self._time_out
        return _together([part.at(~is_in_one), left])

    # Moves that are made at once.

    def _settled(self, part: _Pending) -> _Pending:
        """Return the states in which no more move is to be made at once, as `Successors._settle` does."""
        arrays, depth, done = self._arrays, 0, [part.at(np.empty(0, np.int64))]
        while len(part.source):
            if depth == _DEEPEST:
                part, done, depth = *_with_short_keys(part, done), 0
            expansions, processes = self._at_once(part)
            go_on = expansions != MISSING
            done.append(part._replace(keys=part.keys << _DIGIT * (_DEEPEST - depth)).at(~go_on))
            expansions = expansions[go_on]
            each, moves, place = self._moves(expansions)
            part, processes, count = part.at(go_on).at(each), processes[go_on][each], arrays.count[expansions][each]
            turn = (place - 1) % count  # the first move comes last
            self._again[part.source[turn >> _DIGIT > 0]] = True
            part = self._moved(part._replace(keys=part.keys << _DIGIT | turn), moves, processes)
            part = part.at(~self._again[part.source])
            depth += 1
        return _together(done)

    def _at_once(self, part: _Pending) -> tuple[Ints, Ints]:
        """Return the expansion that is made at once in each state, or MISSING, and its process."""
        arrays, rows, size = self._arrays, part.rows, self._size
        asked, masks = arrays.may_be_eager(rows), arrays.masks(rows[:, size])
        expansions, processes = np.full(len(rows), MISSING), np.zeros(len(rows), np.int64)
        for process in range(size):
            at = np.flatnonzero((asked >> process + 1 & 1 > 0) & (expansions == MISSING))
            found = arrays.expansions(rows.take(at, axis=0), masks.take(at), np.full(len(at), process))
            is_made = arrays.at_once.take(found)
            expansions[at[is_made]], processes[at[is_made]] = found[is_made], process
        return expansions, processes


def _with_short_keys(part: _Pending, done: Sequence[_Pending]) -> tuple[_Pending, list[_Pending]]:
    """Return the same, in the same order, with keys that have room for more moves that are made at once."""
    together = _together([*done, part])
    rank = np.argsort(np.argsort(together.keys, kind="stable"))
    of_part = slice(len(rank) - len(part.source), None)
    others = _together(done)._replace(keys=rank[: of_part.start] << _DIGIT * _DEEPEST)
    return part._replace(keys=rank[of_part]), [others]


def _first(table: Bools) -> Ints:
    """Return the first true column of each row; the number of columns if there is none."""
    found: Ints = np.where(table.any(axis=1), table.argmax(axis=1), table.shape[1])
    return found


def _together(parts: Sequence[_Pending]) -> _Pending:
    """Return all parts as one."""
    return _Pending(*(np.concatenate(each) for each in zip(*parts, strict=True)))
