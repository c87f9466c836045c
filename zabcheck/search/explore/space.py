"""The search through all states, breadth first.

A state is a row of numbers: a part for each process, one for each possible connection, the time-outs and crashes that
are left, the requests made, and a ghost for each group of properties. For each state its predecessor is kept, and the
choice that led from there, so that the run to any state can be told.
"""

import resource
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from invariants import Invariant
from invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.search.explore.bounds import UNLIMITED, Bounds
from zabcheck.search.explore.ghosts import Ghosts, groups_of
from zabcheck.search.explore.parts import CRASH, FREE, REQUEST, TIMEOUT, Names, Parts, renamed_choice
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.simulation.schedule import AnyChoice

_LOOK = 4096
"""After so many states memory is looked at, and progress told."""


class Progress(NamedTuple):
    """How far a search is: distinct states, those that were gone on from, transitions, and the level."""

    states: int
    done: int
    transitions: int
    depth: int


class Explored(Struct, frozen=True):
    """What a search found. `broken` is the property that the run of `choices` violates; its length is the shortest.

    `whole` is False if the search ended before every state was gone on from. `switched_off` counts the moves that each
    bound forbade, by its name. `exercised` says for each property whether there was anything to judge.
    """

    states: int
    transitions: int
    depth: int
    whole: bool
    broken: str | None
    raised: bool
    choices: tuple[AnyChoice, ...]
    switched_off: dict[str, int]
    exercised: dict[str, bool]
    parts: int
    """How many different processes, connections and ghosts the states are made of."""


class Space:
    """All states of `protocol` within `bounds`, judged by `properties` (none that waits for a `Stabilised`)."""

    def __init__(
        self,
        protocol: Protocol,
        quorums: Quorums,
        switches: Switches,
        bounds: Bounds,
        properties: Sequence[type[Invariant]],
        *,
        symmetry: bool = True,
    ) -> None:
        self.bounds = bounds
        self.parts = Parts(protocol, quorums, switches)
        self.ghosts = [Ghosts(group, quorums) for group in groups_of(properties)]
        self.symmetry = Symmetry(self.parts, self.ghosts, quorums) if symmetry and protocol.rename is not None else None
        self.switched_off = {"epochs": 0}
        self.states: dict[tuple[int, ...], None] = {}
        """All that were seen, in the order of discovery."""

    def explore(self, memory: float = float("inf"), on_progress: Callable[[Progress], None] | None = None) -> Explored:
        """Go on until every state was seen, something breaks, or `memory` bytes are used."""
        n, pairs = len(self.parts.ids), len(self.parts.pairs)
        used = n + pairs  # here the row has what was used up: time-outs, requests, crashes
        first = (
            *self.parts.start,
            *(0,) * pairs,
            self.bounds.timeouts,
            0,
            self.bounds.crashes,
            *(0,) * len(self.ghosts),
        )
        seen = self.states = {first: None}
        unnamed = tuple(range(n + 1))
        canonical = self.symmetry.canonical if self.symmetry is not None else lambda state: (state, unnamed)
        before, by, named = array("I", [0]), array("H", [0]), [unnamed]
        level, depth, transitions, done = [first], 0, 0, 0
        index = 0  # of the state that is gone on from
        while level:
            following: list[tuple[int, ...]] = []
            depth += 1
            for state in level:
                for choice, after, broken, raised in self._from(state, n, used):
                    transitions += 1
                    after, names = canonical(after)
                    if after not in seen:
                        seen[after] = None
                        before.append(index)
                        by.append(choice)
                        named.append(names)
                        if broken is not None or raised:
                            run = self._run(before, by, named, len(before) - 1)
                            return self._found(seen, transitions, depth, broken, raised, run)
                        following.append(after)
                index += 1
                done += 1
                if done % _LOOK == 0:
                    if on_progress is not None:
                        on_progress(Progress(len(seen), done, transitions, depth))
                    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > memory:
                        return self._found(seen, transitions, depth, None, False, (), whole=False)
            level = following
        return self._found(seen, transitions, depth - 1, None, False, ())

    def _from(
        self, state: tuple[int, ...], n: int, used: int
    ) -> Iterator[tuple[int, tuple[int, ...], str | None, bool]]:
        """Each choice that is enabled in `state` and within the bounds, and what it leads to."""
        parts, bounds, off = self.parts, self.bounds, self.switched_off
        timeouts, requests, crashes = state[used : used + 3]
        ghosts = state[used + 3 :]
        costs = [(FREE, (timeouts, requests, crashes))]
        if requests < bounds.txns:
            costs.append((REQUEST, (timeouts, requests + 1, crashes)))
        if timeouts:
            costs.append((TIMEOUT, (timeouts - 1 if timeouts != UNLIMITED else UNLIMITED, requests, crashes)))
        if crashes:
            costs.append((CRASH, (timeouts, requests, crashes - 1)))
        for process in parts.ids:
            incident = parts.incident[process]
            for cost, left in costs:
                for choice, epoch, part, connections, events, raised in parts.moves(state, process, requests, cost):
                    if epoch > bounds.epochs:
                        off["epochs"] += 1
                        continue
                    row = list(state[:used])
                    row[process - 1] = part
                    for place, connection in zip(incident, connections, strict=True):
                        row[n + place] = connection
                    if not events:
                        yield choice, (*row, *left, *ghosts), None, raised
                        continue
                    known, broken = [], None
                    shown = parts.events[events]
                    for ghost, each in zip(ghosts, self.ghosts, strict=True):
                        number = each.after(ghost, events, shown)
                        known.append(number)
                        broken = broken or each.broken[number]
                    yield choice, (*row, *left, *known), broken, raised

    def _run(self, before: "array[int]", by: "array[int]", named: list[Names], state: int) -> tuple[AnyChoice, ...]:
        """The choices that lead to a state, by the names that the processes have at the start."""
        steps = []
        while state:
            steps.append((by[state], named[state]))
            state = before[state]
        choices: list[AnyChoice] = []
        originally = tuple(range(len(self.parts.ids) + 1))  # by what a process is called now
        for choice, names in reversed(steps):
            choices.append(renamed_choice(self.parts.choices[choice], originally))
            back = {name: process for process, name in enumerate(names)}
            originally = tuple(originally[back[name]] for name in range(len(names)))
        return tuple(choices)

    def _found(
        self,
        seen: dict[tuple[int, ...], None],
        transitions: int,
        depth: int,
        broken: str | None,
        raised: bool,
        choices: tuple[AnyChoice, ...],
        whole: bool = True,
    ) -> Explored:
        exercised: dict[str, bool] = {}
        for each in self.ghosts:
            exercised |= each.exercised
        number = len(self.parts.processes) + len(self.parts.connections) - 1 + sum(len(g.broken) for g in self.ghosts)
        return Explored(
            states=len(seen),
            transitions=transitions,
            depth=depth,
            whole=whole and broken is None and not raised,
            broken=broken,
            raised=raised,
            choices=choices,
            switched_off={name: count for name, count in self.switched_off.items() if count},
            exercised=exercised,
            parts=number,
        )


def judged_in_every_state(kind: type[Invariant]) -> bool:
    """Not what waits for a promise of the environment, or for an application: no state of a search has these."""
    return kind.group not in ("liveness", "application")
