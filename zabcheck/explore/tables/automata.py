"""Automata that read the events of a run, step by step; all their states, and views of events, have numbers.

The state of an automaton after a step depends on its state before and on its view of the step. The result is
kept, so it is computed once for each pair of them, however many runs have it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import Self

from zabcheck.explore.tables.components import NOTHING, Components
from zabcheck.explore.tables.renaming import Names
from zabcheck.invariants import Event


class Automaton(ABC):
    """An observer of runs whose states have numbers; number 0 is the initial state.

    It does not see all events of a step; its view of them has a number, too, 0 for nothing. If it watches one
    `process` alone, there is one such automaton for each.
    """

    def __init__(self, components: Components, process: int | None = None) -> None:
        self.components = components
        self.process = process
        self.of_each: Sequence[Self] = ()
        """The automata for each process if it watches one process."""
        self.known_after: list[dict[int, int]] = [{}]
        """By what is known, then by what is seen then: what is known after that, as far as it was asked."""
        self._seen: dict[int, int] = {}
        """By the number of events: what it sees of them."""
        self._renamed: dict[Names, dict[int, int]] = {}

    def seen(self, events: int) -> int:
        """Return the number of its view of these events. O(1) if that was computed before."""
        found = self._seen.get(events)
        if found is None:
            found = self._seen[events] = self._look(events)
        return found

    def after(self, number: int, seen: int) -> int:
        """Return the state after this view, by number. O(1) if that was computed before."""
        if not seen:
            return number
        known = self.known_after[number]
        found = known.get(seen)
        if found is None:
            found = known[seen] = self.find_after(number, seen)
        return found

    def under(self, names: Names) -> Self:
        """Return the automaton that watches the same as this one when every process has its new name."""
        return self if self.process is None else self.of_each[names[self.process] - 1]

    def renamings(self, names: Names) -> dict[int, int]:
        """Return the known results of `renamed`, by number. O(1)."""
        return self._renamed.setdefault(names, {0: 0})

    def renamed(self, number: int, names: Names) -> int:
        """Return the state if every process had its new name from the start. O(1) if that was computed before.

        It is the state of the automaton `under` these names.
        """
        known = self.renamings(names)
        found = known.get(number)
        if found is None:
            found = known[number] = self.find_renamed(number, names)
        return found

    @abstractmethod
    def find_after(self, number: int, seen: int) -> int:
        """Return the state after this view, and keep nothing of the answer."""

    @abstractmethod
    def find_renamed(self, number: int, names: Names) -> int:
        """Return the result of `renamed`, for another number than 0, and keep nothing of the answer."""

    @abstractmethod
    def _look(self, events: int) -> int:
        """Return its view of these events."""


class Watcher(Automaton):
    """An automaton that looks at the events themselves: at those of some kinds."""

    def __init__(self, components: Components, looks_at: Collection[type[Event]], process: int | None = None) -> None:
        super().__init__(components, process)
        self.looks_at = looks_at
        self._ids: dict[Hashable, int] = {}
        self._seen_ids: dict[tuple[Event, ...], int] = {(): 0}
        self._events = [NOTHING]
        """By the number of what is seen: the number of some events of which this is seen."""
        self._came_from = [(0, 0)]
        """By number: what was known before, and what was seen that led from there."""

    def find_after(self, number: int, seen: int) -> int:
        found = self._observe(number, self._visible(self._events[seen]))
        if found == len(self._came_from):
            self._came_from.append((number, seen))
            self.known_after.append({})
        return found

    def find_renamed(self, number: int, names: Names) -> int:
        """Repeat the run that led there, under other names, from the last state whose new name is known."""
        known, twin, waiting = self.renamings(names), self.under(names), list[int]()
        while number not in known:
            waiting.append(number)
            number = self._came_from[number][0]
        found = known[number]
        for each in reversed(waiting):
            events = self.components.renamed_events(self._events[self._came_from[each][1]], names)
            found = known[each] = twin.after(found, twin.seen(events))
        return found

    def _visible(self, events: int) -> tuple[Event, ...]:
        return tuple([event for event in self.components.events[events] if type(event) in self.looks_at])

    def _look(self, events: int) -> int:
        number = self._seen_ids.setdefault(self._visible(events), len(self._events))
        if number == len(self._events):
            self._events.append(events)
        return number

    @abstractmethod
    def end_level(self) -> None:
        """Take in the events of the level that ends."""

    @abstractmethod
    def _observe(self, number: int, events: Sequence[Event]) -> int:
        """Return the state after these events, by number."""
