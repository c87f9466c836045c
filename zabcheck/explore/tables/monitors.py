"""The facts that the properties still need, as a number; and how the events of a step change it.

The state of all `judges` together is a *monitor*, which has a number: an automaton that reads the events of a run
beside the protocol, as in model checkers that take a property as a never claim (SPIN).

In the components of a state every process is in its first incarnation; here incarnations are counted as in the trace.

Exercised properties, and reached goals, are taken in at the end of each level: so the result is the same in whichever
order the states of the level are expanded.
"""

from collections.abc import Collection, Hashable, Sequence
from itertools import chain, repeat
from typing import Any

from msgspec.structs import replace

from zabcheck.explore.judges import MonitorJudge
from zabcheck.explore.tables.automata import Watcher
from zabcheck.explore.tables.components import Components
from zabcheck.explore.tables.digests import digest
from zabcheck.explore.tables.group_judges import Group, GroupJudge, groups_of, product_of
from zabcheck.explore.tables.journal import Journal, Table
from zabcheck.explore.tables.renaming import Names
from zabcheck.invariants import Crash, Event, Invariant, Local
from zabcheck.invariants.quorums import Quorums
from zabcheck.search.goals import GOALS, LOOK_AT, Goals


class _Goals(Watcher):
    """The states of the goals. `reached`: the goals that some run has reached in a level before this one."""

    def __init__(self, quorums: Quorums, components: Components) -> None:
        super().__init__(components, LOOK_AT)
        self.reached: set[str] = set()
        self._reached_now: set[str] = set()
        """The goals that a run reaches now."""
        first = (Goals(quorums), (0,) * (quorums.size + 1))
        self._known = [first]
        """The goals, and by process 1 if it has crashed: all that they ask of an incarnation is if it is the first."""
        self._ids[self._identity(*first)] = 0
        self._ranks: dict[int, tuple[int, int, int]] = {}

    def _observe(self, number: int, events: Sequence[Event]) -> int:
        before, incarnations = self._known[number]
        goals, crashed = before.fork(), list(incarnations)
        for event in events:
            if isinstance(event, Local):
                goals.observe(replace(event, incarnation=crashed[event.process]))
                crashed[event.process] |= isinstance(event, Crash)
        self._reached_now |= goals.reached.keys() - self.reached
        after = goals, tuple(crashed)
        found = self._ids.setdefault(self._identity(*after), len(self._known))
        if found == len(self._known):
            self._known.append(after)
        return found

    def end_level(self) -> None:
        """Record the goals that were reached, and join states that only differ in when they would be."""
        if self._reached_now:
            self.reached |= self._reached_now
            self._reached_now = set()
            self._ranks.clear()
            numbers, self._ids = self._ids.values(), {}
            for number in numbers:
                self._ids.setdefault(self._identity(*self._known[number]), number)

    def to_watch(self, numbers: Collection[int]) -> int:
        """Return the one of these in which the least has happened; among equals the one with the least digest."""
        return next(iter(numbers)) if len(numbers) == 1 else min(numbers, key=self._rank)

    def _rank(self, number: int) -> tuple[int, int, int]:
        """Return the key by which one of several is picked to be watched. O(1) if no goal was reached meanwhile."""
        found = self._ranks.get(number)
        if found is None:
            identity_ = self._identity(*self._known[number])
            found = self._ranks[number] = sum(map(bool, identity_[0])), digest(identity_), number
        return found

    def _identity(self, goals: Goals, crashed: tuple[int, ...]) -> tuple[tuple[Hashable, ...], Hashable]:
        return goals.identity(self.reached), None if "repeated delivery" in self.reached else crashed


class Monitors:
    """The joint states of the properties, by number; number 0 is the initial state.

    A state has the facts that decide when each property will be exercised, except for those that are `exercised`, by
    name. Looking something up raises CannotTellApart if two transactions with one identity are broadcast, and a
    property compares sequences of them.
    """

    def __init__(
        self,
        properties: Sequence[type[Invariant]],
        quorums: Quorums,
        components: Components,
        journal: Journal,
        exercised: Collection[str] = (),
        *,
        told_of_leaving: bool = False,
    ) -> None:
        self.journal = journal
        self.components = components
        groups = groups_of(properties)
        awaiting = {kind.name for kind in chain(*groups) if kind.awaits_something()}
        self._awaited = awaiting.difference(exercised)
        self._properties = [kind.name for kind in chain(*groups)]

        def judging(group: Group, process: int | None) -> GroupJudge:
            return GroupJudge(group, quorums, components, exercised, told_of_leaving=told_of_leaving, process=process)

        self.product = product_of(judging, groups, components)
        self.judges = [judge for judge, _ in self.product.each(0)]
        for place, judge in enumerate(self.judges):
            judge.place = place
        self._reading = next((judge.place for judge in self.judges if judge.reads_sequences), None)
        self.broken = self.product.broken
        """By number: the property that is violated."""
        self.known_after: dict[tuple[int, int], int] = {}
        self.known_renamed: dict[tuple[int, Names], int] = {}
        self._goals = _Goals(quorums, components)
        self._goals_of = {0: 0}
        """By number: what the goals know of a run that led there in the first level in which any did."""
        self._unwatched: list[tuple[int, int | Names, int]] = []
        """Steps of this level from a monitor to another, by events or other names, that the goals have yet to see."""

    def __len__(self) -> int:
        return len(self.broken)

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals that some run reached, of those that are watched, in a level that is over."""
        return tuple(goal for goal in GOALS if goal in self._goals.reached)

    @property
    def exercised(self) -> dict[str, bool]:
        """For each property, by name, True if some state of a level that is over had anything to judge."""
        was = {name for judge in self.judges for name, was in judge.exercised.items() if was}
        return {name: name in was for name in self._properties}

    @property
    def know_too_much(self) -> bool:
        """True if they keep facts for a property that is exercised by now: without these there are fewer states."""
        return any(self.exercised[name] for name in self._awaited)

    def end_level(self) -> None:
        """Take in the properties exercised and the goals reached in this level."""
        self.journal.append(("levels", ()))
        self._watch()
        for each in (self._goals, *self.judges):
            each.end_level()

    def _watch(self) -> None:
        """Show the goals the events of this level. Of each monitor one run is watched, with fewest steps in it."""
        left, self._unwatched = self._unwatched, []
        while left:
            later: list[tuple[int, int | Names, int]] = []
            known: dict[int, set[int]] = {}
            for step in left:
                monitor, by, after = step
                if monitor in self._goals_of:
                    before = self._goals_of[monitor]
                    if isinstance(by, int):
                        goals = self._goals.after(before, self._goals.seen(by))
                    else:
                        goals = self._goals.renamed(before, by)
                    if after not in self._goals_of:
                        known.setdefault(after, set()).add(goals)
                else:
                    later.append(step)
            assert len(later) < len(left), "each run begins with a monitor that is watched"
            self._goals_of |= {after: self._goals.to_watch(goals) for after, goals in known.items()}
            left = later

    def after(self, monitor: int, events: int) -> int:
        """Return the monitor after these events, both by number. O(1) if that was computed before."""
        key = (monitor, events)
        found = self.known_after.get(key)
        if found is None:
            self.journal.append(("monitors", key))
            seen = self.product.seen(events)
            found = self.known_after[key] = self.product.find_after(monitor, seen) if seen else monitor
            self._unwatched.append((monitor, events, found))
        return found

    def digest(self, monitor: int) -> int:
        """Return a digest of a monitor. O(judges) if that of each judge was computed before."""
        return digest(tuple(judge.digest(number) for judge, number in self.product.each(monitor)))

    def sequences(self, monitor: int) -> tuple[int, MonitorJudge, tuple[int, ...]] | None:
        """Return the number of a judge that has the delivered sequences on record, that judge, and the incarnations.

        None if no property reads delivered sequences.
        """
        if self._reading is None:
            return None
        judge, number = list(self.product.each(monitor))[self._reading]
        return number, *judge.known(number)

    def renamed(self, monitor: int, names: Names) -> int:
        """Return the monitor if every process had its new name from the start. O(1) if that was computed before."""
        if not monitor:
            return monitor
        found = self.known_renamed.get((monitor, names))
        if found is not None:
            return found
        self.journal.append(("monitors renamed", (monitor, names)))
        found = self.known_renamed[monitor, names] = self.product.find_renamed(monitor, names)
        self._unwatched.append((monitor, names, found))
        return found

    # Answers that were found many at once.

    def record_many_after(self, monitors: list[int], events: list[int], found: list[int]) -> None:
        """Record many answers of `after`, in order. None was known, and no two have the same question."""
        keys = list(zip(monitors, events, strict=True))
        self.known_after.update(zip(keys, found, strict=True))
        self._record("monitors", keys, found)

    def record_many_renamed(self, monitors: list[int], names: list[Names], found: list[int]) -> None:
        """Record many answers of `renamed`, in order, as `record_many_after` does."""
        keys = list(zip(monitors, names, strict=True))
        self.known_renamed.update(zip(keys, found, strict=True))
        self._record("monitors renamed", keys, found)

    def _record(self, table: Table, keys: Sequence[Any], found: Sequence[int]) -> None:
        self.journal.extend(zip(repeat(table), keys))
        self._unwatched.extend((*key, after) for key, after in zip(keys, found, strict=True))
