"""The possible choices of a process: the choices of a search, by number, with the cost of each.

Elections by vote are among them, which move several processes. `local_states` tries choices, and has their outcomes.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from zabcheck.explore.bounds import CHANGE, CRASH, CUT, FREE, REQUEST, SNAPSHOT, TIMEOUT, Bounds
from zabcheck.explore.tables.components import CLOSED, TO_FOLLOWER, TO_LEADER, Components, named_by
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.next_state import LocalProcess
from zabcheck.simulation.processes import takes_requests

_MOST_WRITES = 8
"""The most unsynced writes that a crash keeps."""

PlacedChoice = tuple[int, int, int, Choice]
"""The place of a choice among those of its process, its cost, its number, and the choice itself."""


def elections_of(quorums: Quorums) -> tuple[choices.Lead, ...]:
    """Return every possible election: a leader, one that may lead, and the processes that make a quorum with it."""
    ids = range(1, quorums.size + 1)
    found = []
    for leader in filter(quorums.may_lead, ids):
        others = [process for process in ids if process != leader]
        for size in range(quorums.size):
            some = combinations(others, size)
            found += [choices.Lead(leader, each) for each in some if quorums.contains((leader, *each))]
    return tuple(found)


class Alternatives:
    """The choices of one search. No choice has the number 0."""

    def __init__(self, components: Components, switches: Switches, bounds: Bounds) -> None:
        self._components = components
        self._snapshots = bounds.snapshots > 0
        self._changes = bounds.changes
        self._by_messages = switches.elections == "fle"
        self.choices: list[AnyChoice | None] = [None]
        self._of = {process: list(self._moving(process, switches)) for process in components.ids}
        """By process: the number and the cost of each choice that moves it."""
        self._by_named: dict[tuple[int, tuple[type[Choice], ...], bool], dict[int, list[PlacedChoice]]] = {}
        self.elections = elections_of(components.quorums) if switches.elections == "oracle" else ()
        """The elections by vote (`successors`)."""
        for each in self.elections:
            self._number(each)

    def _moving(self, process: int, switches: Switches) -> Iterator[tuple[int, int]]:
        """Yield the number and the cost of each choice that moves `process`."""
        others = [p for p in self._components.ids if p != process]
        yield from ((self._number(choices.Receive(process, other)), FREE) for other in others)
        yield from ((self._number(choices.Notice(process, other)), FREE) for other in others)
        if switches.sends_outside:
            yield from ((self._number(choices.Hear(process, other)), FREE) for other in others)
        if switches.sync == "separate":
            yield self._number(choices.Sync(process)), FREE
        for thread in self._components.threads:
            yield self._number(choices.Run(process, thread)), FREE
        yield self._number(choices.Recover(process)), FREE
        yield self._number(choices.Request(process)), REQUEST
        yield from ((self._number(choices.Request(process, each)), CHANGE) for each in self._changes)
        yield from ((self._number(choices.Elect(process, leader)), TIMEOUT) for leader in self._components.ids)
        yield self._number(choices.Timeout(process)), TIMEOUT
        keeps = range(_MOST_WRITES + 1) if switches.sync == "separate" else range(1)
        yield from ((self._number(choices.Crash(process, keep)), CRASH) for keep in keeps)
        yield from ((self._number(choices.Reset(process, leader)), CUT) for leader in others)
        if self._snapshots:
            yield from ((self._number(choices.Snapshot(process, cut)), SNAPSHOT) for cut in (False, True))

    def _number(self, choice: AnyChoice) -> int:
        self.choices.append(choice)
        return len(self.choices) - 1

    def of(self, process: int, kinds: tuple[type[Choice], ...], in_iteration: bool) -> dict[int, list[PlacedChoice]]:
        """Return the choices of these kinds that move `process`, which is in an iteration or in none.

        They are by the process that a choice names (`named_by`); those that name none are under `process` itself.
        """
        found = self._by_named.get((process, kinds, in_iteration))
        if found is None:
            found = self._by_named[process, kinds, in_iteration] = {}
            for place, (number, cost) in enumerate(self._of[process]):
                choice = self.choices[number]
                is_told = isinstance(choice, choices.Elect)
                if not isinstance(choice, kinds) or (is_told and (self.elections or self._by_messages)):
                    continue  # no process is told a leader without an election
                cost = cost if in_iteration or not is_told else FREE
                found.setdefault(named_by(choice) or process, []).append((place, cost, number, choice))
        return found

    def may_be_enabled(self, choice: Any, component: LocalProcess, opened: int, link_to: int) -> bool:
        """Return False only if the choice does nothing, or the same as another one; that is cheaper than to try it.

        The two links are those between the process and the one that the choice names.
        """
        kind = type(choice)
        if kind is choices.Receive or kind is choices.Notice:
            to, from_ = self._components.link_bits[opened], self._components.link_bits[link_to]
            return bool((to | from_) & CLOSED if kind is choices.Notice else to & TO_FOLLOWER or from_ & TO_LEADER)
        if kind is choices.Recover:
            return not component.is_up
        if not component.is_up:
            return False
        if kind is choices.Hear:
            from_link = self._components.links[link_to]
            return from_link is not None and bool(from_link.cast)
        if kind is choices.Request:
            return takes_requests(self._components.protocol, component.state, component.disk)
        if kind is choices.Sync:
            return bool(component.disk.unsynced)
        if kind is choices.Run:
            return self._components.threads[choice.thread](component.state)
        if kind is choices.Crash:
            return bool(choice.keep <= len(component.disk.unsynced))
        if kind is choices.Reset:
            link = self._components.links[opened]
            return link is not None and link.is_there and not link.connection.broken
        return True
