"""The states that come after a state: one for each move that has to be tried.

With reduction a step of the search is more than a move. What has to be done anyway is done at once, and no state in
between is kept; nor where a follower has something to read, and may leave it at that. And that a process is told a
leader is put off until that leader hears of it, which is one step of the search then, a *join*. `reduction` says why.
"""

from collections.abc import Iterator
from typing import NamedTuple

from zabcheck.search.explore.local_states import Members, Move
from zabcheck.search.explore.monitors import Ghosts
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

Row = tuple[int, ...]
"""A state: a member for each process, what was used up of the bounds, and a ghost."""

Path = tuple["Path", int] | None
"""Choices by number: those before the last one, and that."""


class Successor(NamedTuple):
    """A state that comes after another. `first` is the number of the choice, or join, by which a search remembers it.

    `path` has all the choices that lead there. If a step `raised`, the run ends there.
    """

    first: int
    row: list[int]
    raised: bool
    path: Path

    def choices(self) -> list[int]:
        """The path in order."""
        found, path = [], self.path
        while path is not None:
            path, choice = path
            found.append(choice)
        return found[::-1]


class _Join(NamedTuple):
    """`follower` is told its leader, which hears of it: the numbers of these choices, and of both together."""

    number: int
    follower: int
    told: int
    heard: int


class _Joins(NamedTuple):
    """Those of one leader. It leads by the choice `told`; None if it does already."""

    leader: int
    told: int | None
    joins: tuple[_Join, ...]


class Successors:
    """Those of one search. `of` tells them."""

    def __init__(self, members: Members, ghosts: Ghosts) -> None:
        self._members = members
        self._ghosts = ghosts
        self._ids = members.parts.ids
        numbers = {choice: number for number, choice in enumerate(members.choices) if choice is not None}
        self._joins = list(self._all_joins(numbers)) if members.is_lazy else []

    def _all_joins(self, numbers: dict[AnyChoice, int]) -> Iterator[_Joins]:
        number = len(self._members.choices)
        for leader in self._ids:
            for told in (None, numbers[choices.Elect(leader, leader)]):
                joins = []
                for follower in self._ids:
                    if follower != leader:
                        elect, hear = (
                            numbers[choices.Elect(follower, leader)],
                            numbers[choices.Receive(leader, follower)],
                        )
                        joins.append(_Join(number, follower, elect, hear))
                        number += 1
                yield _Joins(leader, told, tuple(joins))

    def of(self, row: Row) -> list[Successor]:
        """All that have to be tried. Some microseconds for each, once the tables are filled."""
        members, with_link, after_events = self._members, self._members.with_link, self._ghosts.after
        affordable = members.mask(row[-2])
        possible = []
        for process in self._ids:
            found = members.expansion(affordable, row, process)
            if found.eager:
                possible = [(process, found.moves)]
                break
            possible.append((process, found.moves))
        successors = list(self._joined(list(row))) if self._joins and len(possible) == len(self._ids) else []
        for process, moves in possible:
            for choice, cost, member, links, events, raised in moves:
                changed = list(row)  # as in `_after`, which would be slower to call
                changed[process - 1] = member
                for other, link in links:
                    changed[other] = with_link(changed[other], process, link)
                changed[-2] += cost
                if events:
                    changed[-1] = after_events(changed[-1], events)
                successors.append(Successor(choice, changed, raised, (None, choice)))
        if not members.reduced:
            return successors
        settled: list[Successor] = []
        for each in successors:
            if each.raised or not members.to_look_at(each.row):
                settled.append(each)
            else:
                self._settle(each, settled)
        return settled

    def _settle(self, found: Successor, settled: list[Successor]) -> None:
        """Add the states after all moves that are to be made at once.

        That ends, as each of them takes something out of a queue, or ends an iteration.
        """
        members, broken = self._members, self._ghosts.broken
        first, row, raised, path = found
        while not raised and (looking := members.to_look_at(row)) and broken[row[-1]] is None:
            affordable = members.mask(row[-2])
            for process in self._ids:
                if looking >> process & 1:
                    expansion = members.expansion(affordable, row, process)
                    if expansion.at_once:
                        break
            else:
                break
            move, *others = expansion.moves
            for other in others:
                after = self._after(row, process, other)
                self._settle(Successor(first, after, other.raised, (path, other.choice)), settled)
            row, raised, path = self._after(row, process, move), move.raised, (path, move.choice)
        settled.append(Successor(first, row, raised, path))

    def _after(self, row: list[int], process: int, move: Move) -> list[int]:
        """The state after a move of `process`."""
        changed = list(row)
        changed[process - 1] = move.member
        for other, link in move.links:
            changed[other] = self._members.with_link(changed[other], process, link)
        changed[-2] += move.cost
        if move.events:
            changed[-1] = self._ghosts.after(changed[-1], move.events)
        return changed

    # Joins.

    def _joined(self, row: list[int]) -> Iterator[Successor]:
        """The states after a leader has heard of a follower."""
        may_join, leads = self._members.may_join, self._members.leads
        before = Successor(0, row, False, None)
        for leader, told, joins in self._joins:
            if told is None:
                ready = before if leads[row[leader - 1]] else None
            else:
                ready = self._by(before, leader, told) if may_join[row[leader - 1]] else None
            if ready is None:
                continue
            for number, follower, elect, hear in joins:
                if may_join[row[follower - 1]]:
                    heard = self._by(self._by(ready, follower, elect), leader, hear)
                    if heard is not None:
                        yield heard._replace(first=number)

    def _by(self, before: Successor | None, process: int, choice: int) -> Successor | None:
        """After this choice of `process`; None if the bounds forbid it. Nothing comes after what raised."""
        if before is None or before.raised:
            return before
        move = self._members.single(choice, before.row, process)
        if move is None:
            return None
        return Successor(0, self._after(before.row, process, move), move.raised, (before.path, choice))
