"""The search through all states, breadth first.

A state is a row of numbers: a member for each process, what was used up of the bounds, and a ghost; a row is packed
into one integer. For each state its predecessor is kept, and the choice that led from there, so that the run to any
state can be told.
"""

import resource
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from invariants import Invariant
from invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.search.explore.bounds import Bounds
from zabcheck.search.explore.ghosts import Ghosts
from zabcheck.search.explore.members import GOES_DEAF, Members, Move
from zabcheck.search.explore.parts import Names, Parts, renamed_choice
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.simulation.schedule import AnyChoice

_LOOK = 4096
"""After so many states memory is looked at, and progress told."""

_BITS = 32
"""Of each number in a packed row."""
_LOW = (1 << _BITS) - 1

Row = tuple[int, ...]


class Progress(NamedTuple):
    """How far a search is: distinct states, those that were gone on from, transitions, and the level."""

    states: int
    done: int
    transitions: int
    depth: int


class Explored(Struct, frozen=True):
    """What a search found. `broken` is the property that the run of `choices` violates.

    Without partial-order reduction its length is the shortest. `whole`: every state was gone on from; it is False, too,
    if something is broken. `tried`: without partial-order reduction, every run of up to so many steps was tried.
    `switched_off` counts the moves that each bound forbade, by its name. `exercised` says for each property whether
    there was anything to judge; `goals` are those that were seen to be reached.
    """

    states: int
    transitions: int
    depth: int
    whole: bool
    tried: int
    broken: str | None
    raised: bool
    choices: tuple[AnyChoice, ...]
    switched_off: dict[str, int]
    exercised: dict[str, bool]
    goals: tuple[str, ...]
    parts: int
    """How many different processes, connections and ghosts the states are made of."""


class Space:
    """All states of `protocol` within `bounds`, judged by `properties` (none that waits for a `Stabilised`).

    With `symmetry`, processes are interchangeable, if the protocol can rename them; with `reduction`, only one order of
    moves that commute is tried, if the protocol's do.
    """

    def __init__(
        self,
        protocol: Protocol,
        quorums: Quorums,
        switches: Switches,
        bounds: Bounds,
        properties: Sequence[type[Invariant]],
        *,
        symmetry: bool = True,
        reduction: bool = False,
    ) -> None:
        self.bounds = bounds
        self.reduced = reduction and protocol.commutes
        self.parts = Parts(protocol, quorums, switches)
        self.members = Members(self.parts, switches, bounds, reduced=self.reduced)
        self.ghosts = Ghosts(properties, quorums, self.parts)
        can_rename = symmetry and protocol.rename is not None
        self.symmetry = Symmetry(self.members, self.ghosts, quorums) if can_rename else None
        self._seen: dict[int, None] = {}
        self._before = array("I", [0])
        self._by = array("H", [0])
        self._names = array("H", [0])
        self._namings: dict[Names, int] = {}

    def rows(self) -> Iterator[Row]:
        """The states that were seen, in the order of discovery: the members, what was used, and the ghost."""
        return map(self._unpacked, self._seen)

    def explore(
        self,
        memory: float = float("inf"),
        on_progress: Callable[[Progress], None] | None = None,
        *,
        levels: int | None = None,
    ) -> Explored:
        """Go on until every state was seen, something breaks, `memory` bytes are used, or `levels` were gone through.

        Costs some microseconds and less than 100 bytes a state, once the tables are filled.
        """
        n, ids, leads = len(self.parts.ids), self.parts.ids, self.members.leads
        unnamed = tuple(range(n + 1))
        self._namings = {unnamed: 0}
        canonical = self.symmetry.canonical if self.symmetry is not None else None
        expansion, with_link, mask = self.members.expansion, self.members.with_link, self.members.mask
        reduced, to_look_at = self.reduced, self.members.to_look_at
        broken, after_events = self.ghosts.broken, self.ghosts.after
        first: Row = (*self.members.start, 0, 0)
        if canonical is not None:
            first, _ = canonical(first)
        seen = self._seen = {_packed(first): None}
        level = [first]
        names, depth, transitions, index = unnamed, 0, 0, 0
        while level and depth != levels:
            following: list[Row] = []
            depth += 1
            for row in level:
                affordable = mask(row[n])
                possible = []
                for process in ids:
                    found = expansion(affordable, row, process)
                    if found.eager:
                        possible = [(process, found.moves)]
                        break
                    possible.append((process, found.moves))
                for process, moves in possible:
                    for choice, cost, member, links, events, raised, leader in moves:
                        if leader >= 0 and not leads[row[leader]]:
                            continue
                        transitions += 1
                        changed = list(row)
                        changed[process - 1] = member
                        for other, link in links:
                            changed[other] = with_link(changed[other], process, link)
                        changed[n] += cost
                        if events:
                            changed[-1] = after_events(changed[-1], events)
                        if reduced and to_look_at(changed) and not raised:
                            changed, raised, _ = self._settled(changed)
                        after = tuple(changed)
                        if canonical is not None:
                            after, names = canonical(after)
                        key = 0
                        for number in after:
                            key = key << _BITS | number
                        if key in seen:
                            continue
                        seen[key] = None
                        self._before.append(index)
                        self._by.append(choice)
                        self._names.append(self._namings.setdefault(names, len(self._namings)))
                        if raised or broken[after[-1]] is not None:
                            run = self._run(len(seen) - 1)
                            return self._found(transitions, depth, broken[after[-1]], raised, run)
                        following.append(after)
                index += 1
                if index % _LOOK == 0:
                    if on_progress is not None:
                        on_progress(Progress(len(seen), index, transitions, depth))
                    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > memory:
                        return self._found(transitions, depth, None, False, (), whole=False)
            level = following
        depth -= not level  # the last one led to nothing new
        return self._found(transitions, depth, None, False, (), whole=not level, tried=depth)

    def _settled(self, row: list[int]) -> tuple[list[int], bool, list[int]]:
        """The state after all moves that are the only ones to be tried; whether one raised; their choices.

        No state in between is kept. It ends, as each of them takes something out of a queue, or ends an iteration.
        """
        choices: list[int] = []
        broken, leads = self.ghosts.broken, self.members.leads
        while (looking := self.members.to_look_at(row)) and broken[row[-1]] is None:
            affordable = self.members.mask(row[-2])
            for process in self.parts.ids:
                if not looking >> process & 1:
                    continue
                eager, moves = self.members.expansion(affordable, row, process)
                if eager:
                    if len(moves) > 1 and any(move.leader >= 0 for move in moves):
                        moves = tuple(move for move in moves if move.leader < 0 or leads[row[move.leader]])
                    if len(moves) == 1:
                        break
            else:
                break
            [move] = moves
            row = self._after(row, process, move)
            choices.append(move.choice)
            if move.raised:
                return row, True, choices
        return row, False, choices

    def _after(self, row: list[int], process: int, move: Move) -> list[int]:
        """The state after a move of `process`."""
        changed = list(row)
        changed[process - 1] = move.member
        for other, link in move.links:
            changed[other] = self.members.with_link(changed[other], process, link)
        changed[-2] += move.cost
        if move.events:
            changed[-1] = self.ghosts.after(changed[-1], move.events)
        return changed

    def _unpacked(self, packed: int) -> Row:
        numbers = range(len(self.parts.ids) + 1, -1, -1)
        return tuple(packed >> _BITS * place & _LOW for place in numbers)

    def _run(self, state: int) -> tuple[AnyChoice, ...]:
        return self.run_to(state)[0]

    def run_to(self, state: int) -> tuple[tuple[AnyChoice, ...], Names]:
        """The choices that lead to a state, and how they call the processes of its row, by their names in the row.

        The state is counted from 0 on in the order of `rows`. O(states).
        """
        namings, rows = list(self._namings), list(self._seen)
        states = [state]
        while state:
            state = self._before[state]
            states.append(state)
        choices: list[AnyChoice] = []
        originally = tuple(range(len(self.parts.ids) + 1))  # by what a process is called now
        for before, after in pairwise(reversed(states)):
            for number in self._choices(self._unpacked(rows[before]), self._by[after]):
                if number != GOES_DEAF:
                    choice = self.members.choices[number]
                    assert choice is not None
                    choices.append(renamed_choice(choice, originally))
            names = namings[self._names[after]]
            back = {name: process for process, name in enumerate(names)}
            originally = tuple(originally[back[name]] for name in range(len(names)))
        return tuple(choices), originally

    def _choices(self, row: Row, first: int) -> list[int]:
        """The numbers of a choice and of those that follow without being kept."""
        if not self.reduced:
            return [first]
        affordable = self.members.mask(row[-2])
        process, move = next(
            (process, move)
            for process in self.parts.ids
            for move in self.members.expansion(affordable, row, process).moves
            if move.choice == first
        )
        after = self._after(list(row), process, move)
        return [first, *(self._settled(after)[2] if not move.raised else [])]

    def _found(
        self,
        transitions: int,
        depth: int,
        broken: str | None,
        raised: bool,
        choices: tuple[AnyChoice, ...],
        whole: bool = True,
        tried: int | None = None,
    ) -> Explored:
        return Explored(
            states=len(self._seen),
            transitions=transitions,
            depth=depth,
            whole=whole and broken is None and not raised,
            tried=depth - 1 if tried is None else tried,
            broken=broken,
            raised=raised,
            choices=choices,
            switched_off=dict(self.members.switched_off),
            exercised=self.ghosts.exercised,
            goals=tuple(self.ghosts.goals),
            parts=len(self.parts.processes) + len(self.parts.links) - 1 + len(self.ghosts),
        )


def _packed(row: Row) -> int:
    packed = 0
    for number in row:
        packed = packed << _BITS | number
    return packed


def judged_in_every_state(kind: type[Invariant]) -> bool:
    """Not what waits for a promise of the environment, or for an application: no state of a search has these."""
    return kind.group not in ("liveness", "application")
