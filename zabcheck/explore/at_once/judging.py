"""The monitors after many steps at once, looked up in arrays: as in `Monitors` for one step.

A monitor is a row here: the state of each part of the product of all judges, by number. A part's state after a step is
looked up for many steps, part by part, and then the rows are. States that are missing are computed by the part, in the
order of the steps, and new rows get numbers in that order. So all numbers are as if the steps were judged one after
the other; except for steps that end the search, as `WentOn` does.
"""

from collections.abc import Callable, Sequence

import numpy as np

from zabcheck.explore.at_once.index import MISSING, NOT_ANY, Bools, Index, Ints, Table, distinct, extended
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.renaming import Names

FEW = 512
"""The number of questions below which answering them one by one is faster."""


class Judging:
    """Answers new questions to `monitors`, and lets them record the answers."""

    def __init__(self, monitors: Monitors) -> None:
        self._monitors, self._product = monitors, monitors.product
        size = len(self._product.parts)
        self._known = Index(size)
        """By monitor: what each part knows."""
        self._is_seen = NOT_ANY
        """By the number of events: whether it is known what each part sees of them."""
        self._seen: Ints = np.empty((0, size), np.int64)
        self._after = [Table(2) for _ in self._product.parts]
        """By part: what it knows after what it sees, by what it knew before and what that is."""
        self._renamed: dict[Names, list[Table]] = {}
        """By names, and then by part, in the order of `Product.twins`: what it knows under these names."""

    def after(self, monitors: Ints, events: Ints) -> None:
        """Answer `Monitors.after` for these questions, which differ."""
        known, seen = self._parts(monitors), self._seen_by(events)
        for place, (part, table) in enumerate(zip(self._product.parts, self._after, strict=True)):
            what = seen[:, place]
            at = np.flatnonzero(what)
            known[place][at] = _find(table, [known[place][at], what[at]], part.after)
        found = self._numbers(known)
        self._monitors.record_many_after(monitors.tolist(), events.tolist(), found.tolist())

    def renamed(self, monitors: Ints, names: Sequence[Names]) -> None:
        """Answer `Monitors.renamed` for these questions, which differ; none is about the first monitor."""
        before, naming = self._parts(monitors), {each: number for number, each in enumerate(dict.fromkeys(names))}
        numbers = np.array([naming[each] for each in names])
        known: list[Ints] = [np.full(len(monitors), MISSING) for _ in before]
        for each, number in naming.items():
            at = np.flatnonzero(numbers == number)
            for column, (place, _), table in zip(known, self._product.twins(each), self._tables(each), strict=True):
                column[at] = table.find(before[place][at])
        self._ask(before, names, known)
        found = self._numbers(known)
        self._monitors.record_many_renamed(monitors.tolist(), list(names), found.tolist())

    def _tables(self, names: Names) -> list[Table]:
        if names not in self._renamed:
            self._renamed[names] = [Table(1) for _ in self._after]
        return self._renamed[names]

    def _ask(self, before: Sequence[Ints], names: Sequence[Names], known: Sequence[Ints]) -> None:
        """Compute the states that are not `known` of a part, step by step: that gives numbers to events, too."""
        lacking: Bools = np.zeros(len(names), np.bool_)
        for column in known:
            lacking |= column == MISSING
        new: dict[tuple[Names, int], dict[tuple[int], int]] = {}
        for step in np.flatnonzero(lacking).tolist():
            for target, (place, part) in enumerate(self._product.twins(names[step])):
                if known[target][step] == MISSING:
                    number = int(before[place][step])
                    twin = known[target][step] = part.renamed(number, names[step])
                    new.setdefault((names[step], target), {})[number,] = twin
        for (each, target), twins in new.items():
            self._tables(each)[target].extend(list(twins), list(twins.values()))

    def _parts(self, monitors: Ints) -> list[Ints]:
        """Return the state of each part in each of these monitors."""
        self._take_over()
        return list(self._known.keys(monitors).T.copy())

    def _take_over(self) -> None:
        self._known.extend(self._product.known[len(self._known) :])

    def _numbers(self, known: Sequence[Ints]) -> Ints:
        """Return the monitors in which the parts have these states."""
        found = self._known.find(*known)
        missing = np.flatnonzero(found == MISSING)
        if missing.size:
            some = [column[missing] for column in known]
            for row in distinct(some):
                self._product.number(row)
            self._take_over()
            found[missing] = self._known.find(*some)
        return found

    def _seen_by(self, events: Ints) -> Ints:
        """Return each part's view of these events."""
        lacking = int(events.max()) + 1 - len(self._is_seen)
        if lacking > 0:
            self._is_seen = extended(self._is_seen, np.zeros(lacking, np.bool_))
            self._seen = extended(self._seen, np.zeros((lacking, self._seen.shape[1]), np.int64))
        for each in dict.fromkeys(events[~self._is_seen[events]].tolist()):
            for place, what in self._product.seen_by[self._product.seen(each)]:
                self._seen[each, place] = what
            self._is_seen[each] = True
        found: Ints = self._seen[events]
        return found


def _find(table: Table, columns: Sequence[Ints], fill: Callable[..., int]) -> Ints:
    """Return the table's entries for these keys, and `fill` in missing ones, each key once."""
    found = table.find(*columns)
    missing = np.flatnonzero(found == MISSING)
    if missing.size:
        some = [column[missing] for column in columns]
        new = distinct(some)
        table.extend(new, [fill(*key) for key in new])
        found[missing] = table.find(*some)
    return found
