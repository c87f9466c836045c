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
    """What somebody who looks at events of some kinds knows of runs, by number; 0 is what is known at the start.

    What it sees of the events of a step has a number, too, 0 for nothing.
    """

    def __init__(self, components: Components, looks_at: Collection[type[Event]]) -> None:
        self.components = components
        self.looks_at = looks_at
        self._seen: dict[int, int] = {}
        """By the number of events: what it sees of them."""
        self.known_after: list[dict[int, int]] = [{}]
        """By what is known, then by what is seen then: what is known after that, as far as it was asked."""
        self._renamed: dict[Names, dict[int, int]] = {}
        self._ids: dict[Hashable, int] = {}
        self._seen_ids: dict[tuple[Event, ...], int] = {(): 0}
        self._events = [NOTHING]
        """By the number of what is seen: the number of some events of which this is seen."""
        self._came_from = [(0, 0)]
        """By number: what was known before, and what was seen that led from there."""

    def seen(self, events: int) -> int:
        """Return what it sees of these events. O(1) if that was asked before."""
        found = self._seen.get(events)
        if found is None:
            found = self._seen[events] = self._seen_ids.setdefault(self._visible(events), len(self._events))
            if found == len(self._events):
                self._events.append(events)
        return found

    def has_seen(self, events: int) -> bool:
        """Whether it has seen of some events what it sees of these."""
        return self._visible(events) in self._seen_ids

    def _visible(self, events: int) -> tuple[Event, ...]:
        return tuple([event for event in self.components.events[events] if type(event) in self.looks_at])

    def after(self, number: int, seen: int) -> int:
        """Return what is known after that was seen. O(1) if that was asked before."""
        if not seen:
            return number
        known = self.known_after[number]
        found = known.get(seen)
        if found is None:
            found = known[seen] = self._find_after(number, seen)
        return found

    def _find_after(self, number: int, seen: int) -> int:
        """Return what is known after something was seen, and keep nothing of the answer."""
        found = self._observe(number, self._visible(self._events[seen]))
        if found == len(self._came_from):
            self._came_from.append((number, seen))
            self.known_after.append({})
        return found

    @abstractmethod
    def _observe(self, number: int, events: Sequence[Event]) -> int:
        """Return what is known after these events, by number."""

    def renamings(self, names: Names) -> dict[int, int]:
        """Return what is known when every process has its new name, by what is known now, as far as it was asked. O(1).

        As in `renamed` it is the automaton `under` these names that knows it.
        """
        return self._renamed.setdefault(names, {0: 0})

    def under(self, names: Names) -> "Automaton":
        """Return the automaton that looks at what this one looks at when every process has its new name: itself."""
        return self

    def renamed(self, number: int, names: Names) -> int:
        """Return what the one `under` these names knows then, from the start on. O(1) if that was asked before.

        Else the run that led there is taken again, under other names, from where that was asked before.
        """
        known, waiting = self.renamings(names), list[int]()
        while number not in known:
            waiting.append(number)
            number = self._came_from[number][0]
        found, twin = known[number], self.under(names)
        for each in reversed(waiting):
            events = self.components.renamed_events(self._events[self._came_from[each][1]], names)
            found = known[each] = twin.after(found, twin.seen(events))
        return found

    @abstractmethod
    def end_level(self) -> None:
        """Take in what was seen in the level that ends."""
