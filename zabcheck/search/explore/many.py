"""The successors of many states at once, looked up in arrays: what `successors` and `symmetry` give one by one.

All is looked up in the tables (`arrays`). Where these lack something, a successor is left unfinished; where something
breaks, the whole state is left to the search. The search does what is left when the turn of that state comes, and so
fills the tables in the same order as without arrays.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from zabcheck.search.explore.arrays import MISSING, Arrays, Bools, Ints
from zabcheck.search.explore.bounds import TIMEOUT
from zabcheck.search.explore.elections import NO_MEMBER, Elections
from zabcheck.search.explore.local_states import LocalStates
from zabcheck.search.explore.monitors import Monitors
from zabcheck.search.explore.representatives import Representatives
from zabcheck.search.explore.successors import (
    AT_ONCE,
    DEEPEST,
    DIGIT,
    EAGERNESS,
    ELECTIONS,
    EXPANSION,
    FIRST_MOVE,
    JOINS,
    NAMING,
    STEP,
    Successors,
    Unfinished,
)
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.simulation.channels import NOBODY

_FEWEST, _MOST = 512, 1 << 13
"""The limits of how many states are expanded at once."""
_MUCH = 0.2
"""If of more than this share of the states at hand something is left to the search, fewer are expanded at once."""
_PLACES = 1 << 10
"""More than the joins, moves and elections of a state.

The joins have the first `_MOVES` places, each process the next ones, and elections by vote those after all processes.
"""
_MOVES = 1 << 7


def key_of(state: int) -> int:
    """Return the least key that a successor of this state can have."""
    return state * _PLACES * STEP


class Found:
    """The successors of some states. `again`: which of these the search has to expand itself.

    By successor, in the order in which the search finds them: the `source` that it comes after, `first` (see
    `Successor`), its representative in `rows`, the `naming` that leads there, by number, and its place among all, as a
    key. `rests` is what is left to the search of the other states, in order.
    """

    def __init__(
        self, again: Bools, source: Ints, first: Ints, rows: Ints, naming: Ints, keys: Ints, rests: Sequence[Unfinished]
    ) -> None:
        self.again: list[int] = np.flatnonzero(again).tolist()
        self._ends: list[int] = np.cumsum(np.bincount(source, minlength=len(again))).tolist()
        self.source, self.first, self.rows, self.naming, self.keys = source, first, rows, naming, keys
        self._rests = rests

    @staticmethod
    def nothing(rows: Ints) -> "Found":
        """Return that the search has to expand all these states itself."""
        none = np.empty(0, np.int64)
        return Found(np.ones(len(rows), np.bool_), none, none, rows[:0], none, none, ())

    def ends(self, state: int) -> int:
        """Return how many successors the states have that come before this one."""
        return self._ends[state - 1] if state else 0

    def left(self) -> Iterator[tuple[int, list[Unfinished]]]:
        """Yield each state for which something is left to the search, with the rests of it; none: all of it."""
        left: dict[int, list[Unfinished]] = {state: [] for state in self.again}
        for rest in self._rests:
            left.setdefault(rest.key // key_of(1), []).append(rest)
        yield from sorted(left.items())


class _Part(NamedTuple):
    """Successors that are on their way. Sorted by `keys` they are in order."""

    source: Ints
    first: Ints
    rows: Ints
    keys: Ints

    def at(self, which: Ints | Bools) -> "_Part":
        return _Part(*(each[which] for each in self))


class _Left(NamedTuple):
    """Successors that the search has to finish (`Unfinished`). Processes are counted from 0, NOBODY - 1 is none."""

    part: _Part
    is_left: int
    processes: Ints
    places: Ints

    def at(self, which: Bools) -> Iterator[Unfinished]:
        """Return some of them as the search takes them."""
        part = self.part.at(which)
        processes, places = (self.processes[which] + 1).tolist(), self.places[which].tolist()
        some = zip(part.keys.tolist(), part.first.tolist(), part.rows.tolist(), processes, places, strict=True)
        return (Unfinished(key, self.is_left, first, row, process, place) for key, first, row, process, place in some)


class Many:
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
        """Which of the states at hand the search has to expand itself."""
        self._rests: list[_Left] = []
        """What else is left to the search, of states that it need not expand itself."""
        self._leaves_whole_states = False
        """Whether the search has to expand each state itself for which anything is left."""
        self.portion = _FEWEST
        """How many states to expand at once: few as long as much is not in the tables yet."""

    def frozen(self) -> "Many":
        """Return the same with the tables as they are now, which can be sent elsewhere. It leaves only whole states."""
        frozen = copy(self)
        frozen._leaves_whole_states = True
        frozen._again, frozen._rests = np.empty(0, np.bool_), []
        frozen._arrays = self._arrays.frozen()
        frozen._representatives = Representatives(frozen._arrays) if frozen._arrays.renamings else None
        frozen._elections = None if self._elections is None else self._elections.frozen(frozen._arrays)
        return frozen

    def of(self, rows: Ints) -> Found:
        """Return the successors of these states, each up to names. Some microseconds for each successor."""
        arrays = self._arrays
        arrays.refresh()
        if self._elections is not None:
            self._elections.refresh()
        self._again, self._rests = np.zeros(len(rows), np.bool_), []
        part = self._begun(rows)
        part = self._settled(part) if arrays.is_reduced else part._replace(keys=_deepened(part.keys, 0))
        part = part.at(~self._again[part.source])
        part = part.at(np.argsort(part.keys))
        if self._representatives is None:
            after, naming, found = part.rows, np.zeros(len(part.rows), np.int64), np.ones(len(part.rows), np.bool_)
        else:
            after, naming, found = self._representatives.of(part.rows)
            self._leave(part.at(~found), NAMING)
        if self._leaves_whole_states:
            for each in self._rests:
                self._again[each.part.source] = True
        rests = [rest for each in self._rests for rest in each.at(~self._again[each.part.source])]
        rests.sort()
        found &= ~self._again[part.source]
        left = self._again.copy()
        for each in self._rests:
            left[each.part.source] = True
        share = np.count_nonzero(left) / max(1, len(rows))
        self.portion = max(_FEWEST, self.portion // 2) if share > _MUCH else min(_MOST, 2 * self.portion)
        part = part.at(found)
        return Found(self._again, part.source, part.first, after[found], naming[found], part.keys, rests)

    def _leave(self, part: _Part, is_left: int, processes: Ints | None = None, places: Ints | None = None) -> None:
        """Leave it to the search to finish these successors, with a move that each process has in that place."""
        if len(part.source):
            none = np.full(len(part.source), NOBODY - 1)
            self._rests.append(
                _Left(part, is_left, none if processes is None else processes, none if places is None else places)
            )

    def _begun(self, before: Ints) -> _Part:
        """Return the states after a join, and after a move that has to be tried: what `Successors.of` begins with."""
        arrays, size = self._arrays, self._size
        each, processes = np.repeat(np.arange(len(before)), size), np.tile(np.arange(size), len(before))
        masks = arrays.masks(before[:, size])
        found = arrays.expansions(before[each], masks[each], processes).reshape(-1, size)
        first = _first(np.append(arrays.eager, False)[found])
        """The first process whose moves are eager: nobody else is looked at after it."""
        self._leave_expansions(before, found == MISSING, first)
        joined = self._joined(before, np.flatnonzero((first == size) & ~self._again))
        elected = self._elected(before, masks, np.flatnonzero((first == size) & ~self._again))
        tried = ((first == size)[:, None] | (np.arange(size) == first[:, None])) & ~self._again[:, None]
        tried &= found != MISSING
        states, processes = np.nonzero(tried)
        each, moves, place = self._moves(found[tried])
        source, processes = states[each], processes[each]
        assert place.max(initial=0) < _MOVES, "a process has fewer moves"
        keys = source * _PLACES + (processes + 1) * _MOVES + place
        part = _Part(source, arrays.choice[moves], before[source], keys)
        after, missing = self._moved(part, moves, processes)
        left = part.at(missing)
        left = left._replace(keys=_deepened(left.keys, 0))
        self._leave(left, FIRST_MOVE, processes[missing], place[missing])
        return _together([joined, after, elected])

    def _leave_expansions(self, before: Ints, unknown: Bools, first: Ints) -> None:
        """Leave it to the search to find out what processes can do, and whether that is eager."""
        size = self._size
        states, processes = np.nonzero(unknown & (np.arange(size) < first[:, None]))
        keys = _deepened(states * _PLACES + (processes + 1) * _MOVES, 0)
        part = _Part(states, np.zeros(len(states), np.int64), before[states], keys)
        for kind, which in ((EXPANSION, first[states] == size), (EAGERNESS, first[states] < size)):
            self._leave(part.at(which), kind, processes[which])

    def _moves(self, expansions: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all moves of these expansions: of which expansion each is, its number, and its place there."""
        start, count = self._arrays.start[expansions], self._arrays.count[expansions]
        each = np.repeat(np.arange(len(expansions)), count)
        place = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        return each, start[each] + place, place

    def _moved(self, part: _Part, moves: Ints, processes: Ints) -> tuple[_Part, Bools]:
        """Make the moves. Return what comes of those that can be made here, and which lack something.

        Where something breaks, the source is left to the search.
        """
        rows, missing, breaks = self._arrays.move(part.rows, moves, processes)
        self._again[part.source[breaks]] = True
        return part._replace(rows=rows).at(~(missing | breaks)), missing

    # Joins.

    def _joined(self, before: Ints, where: Ints) -> _Part:
        """Return the states after a leader has heard of a follower."""
        arrays, size = self._arrays, self._size
        lacking = np.zeros(len(before), np.bool_)
        where = where[arrays.may_join[before[where, :size]].any(axis=1)] if len(self._joins) else where[:0]
        ready = []
        for is_told, may_lead in enumerate((arrays.leads, arrays.may_join)):
            each, leaders = np.nonzero(may_lead[before[where, :size]])
            part = _Part(where[each], leaders, before[where[each]], np.full(len(each), is_told))
            ready.append(self._single(part, self._told[leaders], leaders, lacking) if is_told else part)
        part = _together(ready)
        possible = self._join_of[part.keys, part.first]
        each, followers = np.nonzero((possible != MISSING) & arrays.may_join[before[part.source, :size]])
        place = possible[each, followers]
        number, _, elect, _ = self._joins[place].T
        part = part.at(each)._replace(first=number, keys=part.source[each] * _PLACES + place)
        part = self._single(part, elect, followers, lacking)
        _, leaders, _, hear = self._joins[part.keys % _PLACES].T
        part = self._single(part, hear, leaders, lacking)
        return self._but_lacking(part, before, lacking, JOINS, 0)

    def _single(self, part: _Part, choices: Ints, processes: Ints, lacking: Bools) -> _Part:
        """Make a choice in each state, where the bounds allow it; add the sources that are `lacking` something."""
        moves, unknown = self._arrays.singles(choices, part.rows, processes)
        lacking[part.source[unknown]] = True
        possible = moves != MISSING
        part = part.at(possible)
        after, missing = self._moved(part, moves[possible], processes[possible])
        lacking[part.source[missing]] = True
        return after

    def _but_lacking(self, part: _Part, before: Ints, lacking: Bools, is_left: int, place: int) -> _Part:
        """Return what does not come from states that lack something; for these, leave all of the kind to the search."""
        left = np.flatnonzero(lacking)
        keys = _deepened(left * _PLACES + place, 0)
        self._leave(_Part(left, np.zeros(len(left), np.int64), before[left], keys), is_left)
        return part.at(~lacking[part.source])

    # Elections by vote.

    def _elected(self, before: Ints, masks: Ints, where: Ints) -> _Part:
        """Return the states after an election by vote, and after a process has joined the leader of a quorum."""
        if self._elections is None:
            return _Part(where[:0], where[:0], before[:0], where[:0])
        voting, size, rows = self._elections, self._size, before[where]
        lacking, place = np.zeros(len(before), np.bool_), self._first_election
        states, elections = voting.possible(rows, masks[where])
        keys = where[states] * _PLACES + place + elections
        part = _Part(where[states], voting.numbers[elections], rows[states], keys)
        for turn in range(size):
            part = self._after_leaving(part, voting, turn, lacking)
        part = part.at(voting.are_won(part.rows, part.keys % _PLACES - place))
        for turn in range(size):
            members = voting.members[part.keys % _PLACES - place]
            takes_part = members[:, turn] != NO_MEMBER
            leaders, others, rest = members[takes_part, 0], members[takes_part, turn], part.at(~takes_part)
            part = _together([rest, self._single(part.at(takes_part), voting.elect[others, leaders], others, lacking)])
        states, processes, leaders = voting.joins(rows)
        keys = where[states] * _PLACES + place + len(voting.numbers) + processes * size + leaders
        told = voting.elect[processes, leaders]
        joined = self._single(_Part(where[states], told, rows[states], keys), told, processes, lacking)
        return self._but_lacking(_together([part, joined]), before, lacking, ELECTIONS, place)

    def _after_leaving(self, part: _Part, voting: Elections, turn: int, lacking: Bools) -> _Part:
        """Return the states after one of those that take part has left its iteration, if any, by a time-out."""
        arrays, size = self._arrays, self._size
        members = voting.members[part.keys % _PLACES - self._first_election, turn]
        following = arrays.following[part.rows[np.arange(len(members)), members]]
        is_in_one = (members != NO_MEMBER) & (following != NOBODY)
        may_leave = is_in_one & (arrays.masks(part.rows[:, size]) & TIMEOUT != 0)
        members = members[may_leave]
        left = self._single(part.at(may_leave), voting.timeout[members], members, lacking)
        left.rows[:, size] += self._time_out
        return _together([part.at(~is_in_one), left])

    # What is done at once.

    def _settled(self, part: _Part) -> _Part:
        """Return the states in which no more move is to be made at once: what `Successors` settles."""
        arrays, done = self._arrays, []
        for depth in range(DEEPEST + 1):
            part = part.at(~self._again[part.source])
            expansions, processes, unknown = self._at_once(part)
            deepened = part._replace(keys=_deepened(part.keys, depth))
            self._leave(deepened.at(unknown), AT_ONCE)
            go_on = expansions != MISSING
            done.append(deepened.at(~go_on & ~unknown))
            if depth == DEEPEST:
                self._again[part.source[go_on]] = True
            if depth == DEEPEST or not go_on.any():
                break
            expansions = expansions[go_on]
            each, moves, place = self._moves(expansions)
            part, processes, count = part.at(go_on).at(each), processes[go_on][each], arrays.count[expansions][each]
            turn = (place - 1) % count  # the first move comes last
            self._again[part.source[turn >> DIGIT > 0]] = True
            part = part._replace(keys=part.keys << DIGIT | turn)
            after, missing = self._moved(part, moves, processes)
            left = part.at(missing)
            left = left._replace(keys=_deepened(left.keys, depth + 1))
            self._leave(left, AT_ONCE, processes[missing], place[missing])
            part = after
        return _together(done)

    def _at_once(self, part: _Part) -> tuple[Ints, Ints, Bools]:
        """Return the expansion that is made at once in each state, or MISSING; whose it is; and where it is unknown."""
        arrays, rows, size = self._arrays, part.rows, self._size
        asked = arrays.may_be_eager(rows)[:, None] >> np.arange(1, size + 1) & 1 > 0
        states, processes = np.nonzero(asked)
        found = np.full(asked.shape, MISSING)
        found[asked] = arrays.expansions(rows[states], arrays.masks(rows[:, size])[states], processes)
        first = _first(np.append(arrays.at_once, False)[found])
        unknown = _any(asked & (found == MISSING), first)
        expansions = np.column_stack((found, np.full(len(rows), MISSING)))[np.arange(len(rows)), first]
        expansions[unknown] = MISSING
        return expansions, first, unknown


def _deepened(keys: Ints, depth: int) -> Ints:
    """Return the keys of what has made `depth` moves at once, to be compared with those of what has made more."""
    return keys << DIGIT * (DEEPEST - depth)


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
