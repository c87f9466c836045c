"""The moves of processes in many states at once, put together in arrays of parts, as in `LocalStates.expand`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from zabcheck.explore.at_once.index import MISSING, NONE, NOT_ANY, Bools, Index, Ints, extended, up_to
from zabcheck.explore.bounds import SNAPSHOT
from zabcheck.explore.tables.components import ACCEPTED
from zabcheck.explore.tables.local_states import HELD, NOTICES, OF_LINKS, POPS, LocalStates, Part
from zabcheck.explore.tables.reduction import DoesNotCommute

_Key = TypeVar("_Key")

Find = Callable[[Index, Sequence[Ints], Callable[..., object]], Ints]
"""Looks keys up in an index. The function makes missing entries, each key once."""


class Moves(NamedTuple):
    """Some moves, by number, with the fields of `local_states.Move`.

    `changed`: the new link that each process has to the one that moves; MISSING if it stays.
    """

    choice: Ints
    cost: Ints
    local_state: Ints
    events: Ints
    raised: Bools
    changed: Ints

    @staticmethod
    def none(size: int) -> "Moves":
        return Moves(NONE, NONE, NONE, NONE, NOT_ANY, np.empty((0, size), np.int64))

    def at(self, which: Ints | Bools) -> "Moves":
        """Return some of these."""
        columns: Iterator[Any] = (each[which] for each in self)
        return Moves(*columns)

    def and_also(self, others: "Moves") -> "Moves":
        """Return these with others behind them; as `extended`."""
        return Moves(*map(extended, self, others))


class Expansions(NamedTuple):
    """Some expansions: the number of moves of each, all moves, and the other fields of `local_states.Expansion`."""

    counts: Ints
    eager: Bools
    at_once: Bools
    moves: Moves


class Parts:
    """The parts of `local_states` as arrays. Processes are counted from 1, as in the keys of parts."""

    def __init__(self, local_states: LocalStates) -> None:
        self._states = local_states
        self._faults, self._reads_at_once = local_states.faults, local_states.reads_at_once
        self._size = size = len(local_states.components.ids)
        self._others: Ints = np.arange(1, size + 1)
        # By part: its moves are the next `count` ones from `start` on.
        self._parts = Index(4)
        self._start = self._count = NONE
        # By move of a part.
        self._place = self._choice = self._cost = self._kind = self._process = self._events = NONE
        self._raised = NOT_ANY
        self._opened = self._link = NONE
        """The links with the other process afterwards: the one to it, and the one that it has opened."""
        self._acts: Ints = np.empty((0, size), np.int64)
        """By process: the number of what is done with the links to it, or 0."""
        self._known_acts = Index(3)
        self._after_acts: Ints = np.empty((0, 2), np.int64)
        # By local state.
        self._made_of = Index(1 + size)
        self._ids = self.following = NONE
        self._eager = self._at_once = self.leads = self._may_read = NOT_ANY
        self._accepted = NOT_ANY
        """By link: whether its leader has accepted it."""

    def refresh(self) -> None:
        """Copy the tables' new entries. O(new entries), except for a copy of all now and then."""
        states = self._states
        parts, acts = states.known_parts, states.components.known_acts
        if new_parts := _last(parts, len(parts) - len(self._parts)):
            self._take_parts(new_parts, [parts[key] for key in new_parts])
        if new_acts := _last(acts, len(acts) - len(self._known_acts)):
            self._known_acts.extend(new_acts)
            self._after_acts = extended(self._after_acts, np.array([acts[key] for key in new_acts], np.int64))
        if len(self._made_of) < len(states.made_of):
            known = len(self._made_of)
            self._made_of.extend(states.made_of[known:])
            self._ids, self.following = up_to(self._ids, states.ids), up_to(self.following, states.following)
            self.leads, self._may_read = up_to(self.leads, states.leads), up_to(self._may_read, states.may_read)
            stances = states.stances[known:]
            self._eager = extended(self._eager, np.array([each.eager for each in stances], np.bool_))
            self._at_once = extended(self._at_once, np.array([each.at_once for each in stances], np.bool_))
        bits = np.array(states.components.link_bits[len(self._accepted) :], np.int64)
        self._accepted = extended(self._accepted, bits & ACCEPTED > 0)

    def _take_parts(self, keys: list[tuple[int, int, int, int]], new: list[tuple[Part, ...]]) -> None:
        self._parts.extend(keys)
        count = np.array([len(each) for each in new], np.int64)
        self._start = extended(self._start, len(self._place) + np.cumsum(count) - count)
        self._count = extended(self._count, count)
        moves = [part for each in new for part in each]
        if not moves:
            return
        places, choices, costs, kinds, executed = zip(*moves, strict=True)
        processes, links, acts, events, _, raised = zip(*executed, strict=True)
        self._place, self._choice = _with(self._place, places), _with(self._choice, choices)
        self._cost, self._kind = _with(self._cost, costs), _with(self._kind, kinds)
        self._process, self._events = _with(self._process, processes), _with(self._events, events)
        self._raised = extended(self._raised, np.array(raised, np.bool_))
        opened, link = zip(*links, strict=True)
        self._opened, self._link = _with(self._opened, opened), _with(self._link, link)
        done = np.zeros((len(moves), self._size), np.int64)
        which = [(move, other - 1, number) for move, some in enumerate(acts) for other, number in some]
        places_of, others, numbers = np.array(which, np.int64).reshape(-1, 3).T
        done[places_of, others] = numbers
        self._acts = extended(self._acts, done)

    def expanded(self, keys: Ints, find: Find) -> Expansions:
        """Return the expansions that have these keys: a mask, a local state, and the links to its process.

        DoesNotCommute as in `LocalStates.expand`.
        """
        masks, local_states, links_to = keys[:, 0], keys[:, 1], keys[:, 2:]
        of, moves, opened_as_before, kinds = self._moves(masks, local_states, links_to, find)
        # A move that is the only one to try leaves no others.
        before = local_states[of]
        pops = (kinds == POPS) & (moves.local_state == before) & ((moves.changed != MISSING).sum(axis=1) == 1)
        only = np.flatnonzero(pops | ((kinds == NOTICES) & self.leads[moves.local_state] & opened_as_before))
        found, first = np.unique(of[only], return_index=True)
        is_single = np.zeros(len(keys), np.bool_)
        is_single[found] = True
        kept = ~is_single[of]
        kept[only[first]] = True
        of, moves = of[kept], moves.at(kept)
        count = np.bincount(of, minlength=len(keys))
        can_end = np.bincount(of[moves.cost != SNAPSHOT], minlength=len(keys)) > 0
        may_read = self._read(masks, local_states, links_to, of, moves) & ~is_single
        eager = is_single | ((self._eager[local_states] | may_read) & can_end)
        at_once = is_single | (eager & (self._at_once[local_states] | (count == 1)))
        return Expansions(count, eager, at_once, moves)

    def _moves(self, masks: Ints, local_states: Ints, links_to: Ints, find: Find) -> tuple[Ints, Moves, Bools, Ints]:
        """Return the moves of these expansions, in order.

        By move: its expansion, the move itself, True if it leaves all links as they are that its process has
        opened, and the reason that may make it the only one (`Part.kind`).
        """
        states, size, others = self._states, self._size, self._others
        is_own = others == self._ids[local_states][:, None]
        bits = np.where(is_own, masks[:, None] & ~HELD, masks[:, None] & OF_LINKS)
        whose = np.repeat(local_states, size)
        key = [bits.ravel(), whose, np.tile(others, len(masks)), links_to.ravel()]
        parts = find(self._parts, key, states.parts)
        counts = self._count[parts]
        each = np.repeat(np.arange(len(parts)), counts)
        part = self._start[parts][each] + np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = np.lexsort((self._place[part], each // size))
        each, part = each[order], part[order]
        of, other, at = each // size, each % size, np.arange(len(each))
        opened, links = self._made_of.keys(local_states[of])[:, 1:], links_to[of]
        after, changed = opened.copy(), np.full((len(each), size), MISSING)
        after[at, other] = self._opened[part]
        link = self._link[part]
        changed[at, other] = np.where(link == links[at, other], MISSING, link)
        for place in range(size):
            some = np.flatnonzero(self._acts[part, place])
            acts = [self._acts[part[some], place], after[some, place], links[some, place]]
            done = find(self._known_acts, acts, states.components.after_acts)
            after[some, place], link = self._after_acts[done].T
            changed[some, place] = np.where(link == links[some, place], MISSING, link)
        numbers = find(self._made_of, [self._process[part], *after.T], states.numbered)
        moves = Moves(self._choice[part], self._cost[part], numbers, self._events[part], self._raised[part], changed)
        return of, moves, (after == opened).all(axis=1), self._kind[part]

    def _read(self, masks: Ints, local_states: Ints, links_to: Ints, of: Ints, moves: Moves) -> Bools:
        """Return for each expansion True if a follower reads at once. DoesNotCommute if a leader leaves followers."""
        may_read = np.zeros(len(masks), np.bool_)
        if not self._reads_at_once:
            return may_read
        no_fault, goes_on = masks & self._faults == 0, ~moves.raised
        of, after = of[goes_on], moves.local_state[goes_on]
        leaves = of[self.leads[local_states[of]] & ~self.leads[after] & no_fault[of]]
        if self._accepted[links_to[leaves]].any():
            raise DoesNotCommute("a leader that has accepted a follower leaves without a fault")
        stays = self.following[after] == self.following[local_states[of]]
        may_read[of] = True
        may_read[of[~stays]] = False
        found: Bools = may_read & no_fault & self._may_read[local_states]
        return found


def _last(table: dict[_Key, Any], count: int) -> list[_Key]:
    """Return the last `count` keys of a table, in order."""
    return list(islice(reversed(table), count))[::-1]


def _with(known: Ints, new: Sequence[int]) -> Ints:
    found: Ints = extended(known, np.array(new, np.int64))
    return found
