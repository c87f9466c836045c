"""What a worker has filled into its copy of the tables of a search, and how the search takes that over.

The copy was made when the worker was forked. Until then both have the same numbers; what either makes later gets
numbers of its own. A worker tells the search what it has filled in, each entry after all that it is made of. In that
order `Merge` takes it over, and knows the search's own number for each of the worker's.

An entry all of whose parts have a number here is only recorded. Nine in ten steps are, as there are many more of them
than of components, and it costs a tenth of a step. Where something has none, it is made here again, by the step that
made it there. So components are not sent, which may have objects of a user's class in them; and numbers are given by
the search alone, in the order of its journal, so that a checkpoint leads to the same ones.
"""

import marshal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zabcheck.explore.at_once.index import MISSING, Ints
from zabcheck.explore.tables import making
from zabcheck.explore.tables.components import Executed, Pair
from zabcheck.explore.tables.journal import FilledIn
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.renaming import Names
from zabcheck.simulation.choices import AnyChoice


class Numbers(dict[int, int]):
    """The number that the search has for each of a worker's; the first ones, `common` to both, are the same.

    KeyError for one that was not taken over yet.
    """

    def __init__(self, common: int) -> None:
        self._common = common

    def __missing__(self, number: int) -> int:
        if number >= self._common:
            raise KeyError(number)
        return number

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and (number < self._common or super().__contains__(number))

    def of(self, numbers: Ints) -> Ints:
        """Return the same for many numbers at once."""
        here = np.arange(max(self._common - 1, *self, 0) + 1)
        here[self._common :] = MISSING
        here[list(self)] = list(self.values())
        found: Ints = here.take(numbers)
        assert (found != MISSING).all(), "all that a state is made of was taken over"
        return found


def encoded(filled_in: Sequence[FilledIn], numbers: dict[AnyChoice, int]) -> bytes:
    """Return what was filled in as it is sent to another process; choices are sent by these numbers."""
    return marshal.dumps([_sent(*each, numbers) for each in filled_in])


def _sent(table: str, key: tuple[Any, ...], found: Any, numbers: dict[AnyChoice, int]) -> FilledIn:
    if table == "executed":
        process, choice, *others = key
        return table, (process, numbers[choice], *others), found and tuple(found)
    return table, key, found


class Merge:
    """Takes over what one worker fills in. It has to be made when the worker is forked."""

    def __init__(self, local_states: LocalStates, monitors: Monitors) -> None:
        self._states, self._components, self._judging = local_states, local_states.components, monitors
        components = self._components
        self._processes, self._links = Numbers(len(components.processes)), Numbers(len(components.links))
        self._events, self._acts = Numbers(len(components.events)), Numbers(len(components.acts) + 1)
        self._local_states, self._monitors = Numbers(len(local_states.made_of)), Numbers(len(monitors))
        self._judged = [Numbers(len(judge.broken)) for judge in monitors.judges]
        self._take: dict[str, Callable[[Any, Any], None]] = {
            "executed": self._take_executed,
            "acts": self._take_acts,
            "unread": self._take_unread,
            "events renamed": self._take_renamed_events,
            "local states": self._take_local_state,
            "local states renamed": self._take_renamed,
            "linked": self._take_linked,
            "parts": self._take_parts,
            "singles": self._take_single,
            "judged": self._take_judged,
            "monitors": self._take_monitor,
            "monitors renamed": self._take_renamed_monitor,
        }

    def take(self, filled_in: bytes) -> None:
        """Take over what the worker has filled in next, which is `encoded`. Some microseconds each."""
        for table, key, found in marshal.loads(filled_in):
            self._take[table](key, found)

    def rows(self, rows: Ints) -> Ints:
        """Return states of the worker, rows of numbers, with the numbers that the search has."""
        last = rows.shape[1] - 1
        local_states, used, monitors = rows[:, : last - 1], rows[:, last - 1], rows[:, last]
        return np.column_stack([self._local_states.of(local_states), used, self._monitors.of(monitors)])

    # Components.

    def _take_executed(self, key: tuple[int, int, int, Pair], found: Any) -> None:
        process, choice, requests, links = key
        known, chosen = self._components.known_executed, self._states.choices[choice]
        here, before = self._processes[process], self._pair(links)
        assert chosen is not None, "no choice has the number 0"
        key_here = here, chosen, requests, before
        if key_here not in known:
            try:
                known[key_here] = found and self._executed(*found)
            except KeyError:  # something that came of it is new here, too
                making.executed(self._states, here, choice, requests, before)
        after = known[key_here]
        if after is not None:
            self._processes[found[0]] = after.process
            self._learn_links(found[1], after.links)
            self._acts.update({there: here for (_, there), (_, here) in zip(found[2], after.acts, strict=True)})
            self._events[found[3]] = after.events

    def _executed(
        self, process: int, links: Pair, acts: Sequence[tuple[int, int]], events: int, epoch: int, raised: bool
    ) -> Executed:
        done = tuple((other, self._acts[number]) for other, number in acts)
        return Executed(self._processes[process], self._pair(links), done, self._events[events], epoch, raised)

    def _pair(self, links: Pair) -> Pair:
        opened, link_to = links
        return self._links[opened], self._links[link_to]

    def _learn_links(self, there: Sequence[int], here: Sequence[int]) -> None:
        self._links.update(zip(there, here, strict=True))

    def _take_acts(self, key: tuple[int, int, int], found: Pair) -> None:
        acts, *links = key
        after = self._components.after_acts(self._acts[acts], *self._each_link(links))
        self._learn_links(found, after)

    def _each_link(self, links: Sequence[int]) -> list[int]:
        return [self._links[link] for link in links]

    def _take_unread(self, key: tuple[int], found: int) -> None:
        [link] = self._each_link(key)
        self._links[found] = making.unread(self._components, link)

    def _take_renamed_events(self, key: tuple[int, Names], found: int) -> None:
        events, names = self._events[key[0]], key[1]
        self._events[found] = making.renamed_events(self._components, events, names)

    # Local states.

    def _take_local_state(self, key: tuple[int, ...], found: int) -> None:
        process, *links = key
        self._local_states[found] = self._states.numbered(self._processes[process], *self._each_link(links))

    def _take_renamed(self, key: tuple[int, Names], found: tuple[int, ...]) -> None:
        local_state, names = key
        twin = self._states.made_of[self._states.renamed(self._local_states[local_state], names)]
        self._processes[found[0]] = twin[0]
        self._learn_links(found[1:], twin[1:])

    def _take_linked(self, key: tuple[int, int, int], _: None) -> None:
        local_state, leader, link = key
        self._states.with_link(self._local_states[local_state], leader, self._links[link])

    def _take_parts(self, key: tuple[int, int, int, int], _: None) -> None:
        mask, local_state, other, link = key
        self._states.parts(mask, self._local_states[local_state], other, self._links[link])

    def _take_single(self, key: tuple[int, ...], _: None) -> None:
        choice, local_state, *links = key
        here = choice, self._local_states[local_state], *self._each_link(links)
        if here not in self._states.singles:
            self._states.try_single(*here)

    # Monitors.

    def _take_judged(self, key: tuple[int, int, int], found: int) -> None:
        place, number, there = key
        judge, numbers, events = self._judging.judges[place], self._judged[place], self._events[there]
        before = numbers[number]
        # What it sees for the first time gets a number, and all that gives numbers has to be in the journal.
        if judge.has_seen(events) and found in numbers:
            judge.record(before, judge.seen(events), numbers[found])
        else:
            numbers[found] = making.judged(self._judging, place, before, events)

    def _take_monitor(self, key: tuple[int, int], found: int) -> None:
        monitor, events = self._monitors[key[0]], self._events[key[1]]
        if found in self._monitors:
            self._judging.record(monitor, events, self._monitors[found])
        else:
            self._monitors[found] = self._judging.after(monitor, events)

    def _take_renamed_monitor(self, key: tuple[int, Names], found: int) -> None:
        monitor, names = self._monitors[key[0]], key[1]
        # Never only recorded: on the way events get numbers, and all that gives numbers has to be in the journal.
        self._monitors[found] = self._judging.renamed(monitor, names)
