"""Redelivery in a trace that is otherwise in order: counts the repeats of transactions that have a successor.

See `invariants.redelivery` for the property, and `invariants.columns.in_order` for the path. There a process goes on,
after the transaction at place i - 1, to the one at place i. If it delivered that for the first time then, it is the
successor; whenever else the process goes from i - 1 to i, the property is exercised and not broken. A process that goes
further at once may break it, which is left to the `Judge`.

So for each process and place a byte is kept: if the process delivered the transaction there, and if it first did so
from the place before. As long as a process has one sequence and repeats nothing, nothing need be kept for it: it
delivered everything below its position, and each with the one before it.

Cost: O(log n) a row; memory O(places on the path) for each process that repeated something, came back or took over a
snapshot.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from zabcheck.invariants.columns.arrays import beginnings

Array = npt.NDArray[Any]

_NEVER, _ALONE, _IN_TURN = range(3)
"""The first delivery of a place at a process: none, not from the place before, or from the place before."""


class Redeliveries:
    """Repeated deliveries of all processes, for a number of runs."""

    def __init__(self, runs: int) -> None:
        self.repeats = np.zeros(runs, np.int64)
        self.kept = np.zeros(0, bool)  # for each slot: True if its places are kept
        self.begin = np.zeros(0, np.int64)  # the index of its places in `places`
        self.room = np.zeros(0, np.int64)
        self.last = np.zeros(0, np.int64)  # the place of its last delivery or snapshot; -1: none
        self.incarnation = np.zeros(0, np.int64)  # the incarnation of the last one
        self.places = np.zeros(1, np.uint8)  # one more than needed: -1 is the place of nothing

    def renumber(self, old: Array, size: int) -> None:
        """Change the number of slots to `size`, and move the present ones to the places `old`."""
        for name, initial in (("kept", False), ("begin", 0), ("room", 0), ("last", -1), ("incarnation", -1)):
            before = getattr(self, name)
            array = np.full(size, initial, before.dtype)
            array[old] = before
            setattr(self, name, array)

    def keep(self, slots: Array, position: Array, incarnation: Array) -> None:
        """Keep the places of these slots from now on; each has had one sequence so far, without repeats.

        `position` and `incarnation` have for all slots its length on its path, and its incarnation, or -1.
        """
        slots = slots[~self.kept[slots]]
        if not len(slots):
            return
        self.kept[slots] = True
        incarnation = incarnation[slots]
        position = np.where(incarnation < 0, 0, position[slots])
        self.last[slots], self.incarnation[slots] = position - 1, incarnation
        self._make_room(slots, position)
        for slot, end in zip(slots[position > 0].tolist(), position[position > 0].tolist(), strict=True):
            begin = int(self.begin[slot])
            self.places[begin : begin + end] = _IN_TURN
            self.places[begin] = _ALONE

    def take(self, run: Array, slot: Array, delivers: Array, incarnation: Array, place: Array, size: Array) -> Array:
        """Take in deliveries and snapshots of the kept slots in a block, by slot. Return runs that may break it.

        `place` is of the delivered transaction, or of a snapshot's last one, counted from the beginning of the run's
        path, the length of which is `size`.
        """
        self._make_room(slot, size)
        cell = np.where(place < 0, -1, self.begin[slot] + place)
        known = self._known(cell, delivers)

        first = beginnings(slot)
        is_last = delivers | known
        last = np.concatenate(([-1], np.where(is_last, place, -1)[:-1]))
        last_incarnation = np.concatenate(([-1], incarnation[:-1]))
        last[first], last_incarnation[first] = self.last[slot[first]], self.incarnation[slot[first]]
        last[last_incarnation != incarnation] = -1
        goes_on = delivers & (last >= 0) & (place == last + 1)
        skips = delivers & (last >= 0) & (place > last + 1)

        new = delivers & ~known
        self.places[cell[new]] = np.where(goes_on[new], _IN_TURN, _ALONE)
        repeats = goes_on & known
        repeats[repeats] = self.places[cell[repeats]] == _IN_TURN
        self.repeats += np.bincount(run[repeats], minlength=len(self.repeats))

        ends = np.append(np.flatnonzero(first)[1:], len(slot)) - 1
        self.last[slot[ends]] = np.where(is_last[ends], place[ends], -1)
        self.incarnation[slot[ends]] = incarnation[ends]
        return run[skips]

    def _known(self, cell: Array, delivers: Array) -> Array:
        """Return for each row True if its process had already delivered the transaction at this place."""
        known = np.zeros(len(cell), bool)
        order = np.argsort(cell, kind="stable")
        cells, delivered = cell[order], np.cumsum(delivers[order])
        earlier = delivered - delivers[order]
        first = np.flatnonzero(beginnings(cells))
        here = earlier - np.repeat(earlier[first], np.diff(np.append(first, len(cells))))
        known[order] = (here > 0) | (self.places[cells] != _NEVER)
        known[cell < 0] = False
        return known

    def _make_room(self, slots: Array, sizes: Array) -> None:
        """Make room for this many places for each of these slots."""
        needed = self.room.copy()
        np.maximum.at(needed, slots, sizes)
        if (needed <= self.room).all():
            return
        room = np.where(needed > self.room, np.maximum(needed, 2 * self.room), self.room)
        begin = np.cumsum(room) - room
        places = np.zeros(int(room.sum()) + 1, np.uint8)
        for slot in np.flatnonzero(self.room).tolist():
            old, size = int(self.begin[slot]), int(self.room[slot])
            places[begin[slot] : begin[slot] + size] = self.places[old : old + size]
        self.room, self.begin, self.places = room, begin, places
