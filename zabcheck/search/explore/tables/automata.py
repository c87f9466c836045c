"""Automata that read the events of a run, step by step; all they know, and see, has numbers.

What an automaton knows after a step depends on what it knew before and on what it sees of the step. Both answers are
kept, so it is asked once for each pair of them, however many runs have it.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence

from invariants import Event
from zabcheck.search.explore.tables.components import NOTHING, Components
from zabcheck.search.explore.tables.renaming import Names


class Automaton(ABC):
    """What somebody who watches runs knows of them, by number; number 0 is what is known at the start.

    It does not see all events of a step; what it sees of them has a number, too, 0 for nothing.
    """

    def __init__(self, components: Components) -> None:
        self.components = components
        self._seen: dict[int, int] = {}
        """By the number of events: what it sees of them."""
        self._after: dict[tuple[int, int], int] = {}
        """By what is known, and what is seen then."""
        self._renamed: dict[tuple[int, Names], int] = {}

    def seen(self, events: int) -> int:
        """Return what it sees of these events. O(1) if that was asked before."""
        found = self._seen.get(events)
        if found is None:
            found = self._seen[events] = self._look(events)
        return found

    def after(self, number: int, seen: int) -> int:
        """Return what is known after that was seen. O(1) if that was asked before."""
        if not seen:
            return number
        found = self._after.get((number, seen))
        if found is None:
            found = self._after[number, seen] = self.find_after(number, seen)
        return found

    def renamed(self, number: int, names: Names) -> int:
        """Return what is known if every process had its new name from the start. O(1) if that was asked before."""
        if not number:
            return 0
        found = self._renamed.get((number, names))
        if found is None:
            found = self._renamed[number, names] = self.find_renamed(number, names)
        return found

    @abstractmethod
    def find_after(self, number: int, seen: int) -> int:
        """Return what is known after something was seen, and keep nothing of the answer."""

    @abstractmethod
    def find_renamed(self, number: int, names: Names) -> int:
        """Return what `renamed` does, for another number than 0, and keep nothing of the answer."""

    @abstractmethod
    def _look(self, events: int) -> int:
        """Return what it sees of these events."""


class Watcher(Automaton):
    """An automaton that looks at the events themselves: at those of some kinds."""

    def __init__(self, components: Components, looks_at: Collection[type[Event]]) -> None:
        super().__init__(components)
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
        return found

    def find_renamed(self, number: int, names: Names) -> int:
        """Take the run that led there again, under other names, from where that was asked before."""
        waiting: list[int] = []
        while number and (number, names) not in self._renamed:
            waiting.append(number)
            number = self._came_from[number][0]
        found = self._renamed[number, names] if number else 0
        for each in reversed(waiting):
            events = self.components.renamed_events(self._events[self._came_from[each][1]], names)
            found = self._renamed[each, names] = self.after(found, self.seen(events))
        return found

    def has_seen(self, events: int) -> bool:
        """Whether it has seen of some events what it sees of these."""
        return self._visible(events) in self._seen_ids

    def _visible(self, events: int) -> tuple[Event, ...]:
        return tuple(event for event in self.components.events[events] if type(event) in self.looks_at)

    def _look(self, events: int) -> int:
        number = self._seen_ids.setdefault(self._visible(events), len(self._events))
        if number == len(self._events):
            self._events.append(events)
        return number

    @abstractmethod
    def end_level(self) -> None:
        """Take in what was seen in the level that ends."""

    @abstractmethod
    def _observe(self, number: int, events: Sequence[Event]) -> int:
        """Return what is known after these events, by number."""
