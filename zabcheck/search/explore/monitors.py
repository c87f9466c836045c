"""What the properties still need to know, as a number; and what the events of a step make of it.

The properties are judged by their own judges: one for those that read the same record, and one for each of the others,
so that each knows little and has few states. A judge that has been shown some events is kept, and its number stands for
it; one that still knows the same (`invariants.identity`) has the same number. What all judges know together is a
*monitor*, which has a number too: an automaton that reads the events of a run beside the protocol, as in model checkers
that are told a property as a never claim (SPIN). Every state is judged as if the trace ended in it, so a property is
violated in the first state in which it is.

In the components of a state every process is in its first incarnation; here incarnations are counted as in the trace.

Which properties were exercised, and goals reached, is taken in at the end of each level: so it is the same in whichever
order the states of the level are expanded.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from invariants import Broadcast, Crash, Event, Invariant, Judge, Local
from invariants.identity import identity, named
from invariants.quorums import Quorums
from zabcheck.protocols.base import CannotTellApart
from zabcheck.search.explore.components import NOTHING, Components, Left
from zabcheck.search.explore.digests import digest
from zabcheck.search.explore.journal import Journal
from zabcheck.search.explore.renaming import Names
from zabcheck.search.goals import GOALS, LOOK_AT, Goals

Group = tuple[type[Invariant], ...]
"""Properties that one judge judges."""
_ONE_RECORD = ("core", "causality", "ladis")


def groups_of(properties: Sequence[type[Invariant]]) -> list[Group]:
    """Return the properties of DSN 2011, III and of LADIS 2008 as one group, and each other one by itself."""
    together = tuple(kind for kind in properties if kind.group in _ONE_RECORD)
    alone = [(kind,) for kind in properties if kind.group not in _ONE_RECORD]
    return [*([together] if together else []), *alone]


def judged_in_every_state(kind: type[Invariant]) -> bool:
    """Whether a search can judge a property in every state: not if it waits for a promise of the environment, or for
    an application, as no state of a search has these.
    """
    return kind.group not in ("liveness", "application")


def forgets_what_is_left(kind: type[Invariant]) -> bool:
    """Whether a property, or the record that it reads, needs to know less of a process that has left its iteration."""
    return kind.reads_sequences or kind.reads_broadcasts or kind.leave is not Invariant.leave


def awaits_something(kind: type[Invariant]) -> bool:
    """Whether a property, until it is exercised, needs to know more to tell when it is."""
    return kind.awaits is not Invariant.awaits


class _Known(NamedTuple):
    """A judge, and the incarnation that each process is in."""

    judge: Judge
    incarnations: tuple[int, ...]


class _Table(ABC):
    """What somebody who watches runs knows of them, by number; number 0 is what is known at the start."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._ids: dict[Hashable, int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._came_from = [(0, NOTHING)]
        """By number: what was known before, and the events that led from there, both by number."""
        self._renamed: dict[tuple[int, Names], int] = {}

    def after(self, number: int, events: int) -> int:
        """Return what is known after these events, both by number. O(1) if that was asked before."""
        key = (number, events)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self._observe(number, self._components.events[events])
            if found == len(self._came_from):
                self._came_from.append(key)
        return found

    def renamed(self, number: int, names: Names) -> int:
        """Return what is known if every process had its new name from the start. O(1) if that was asked before."""
        waiting: list[int] = []
        while number and (number, names) not in self._renamed:
            waiting.append(number)
            number = self._came_from[number][0]
        found = self._renamed[number, names] if number else 0
        for each in reversed(waiting):
            events = self._components.renamed_events(self._came_from[each][1], names)
            found = self._renamed[each, names] = self.after(found, events)
        return found

    @abstractmethod
    def end_level(self) -> None:
        """Take in what was seen in the level that ends."""

    @abstractmethod
    def _observe(self, number: int, events: Sequence[Event]) -> int:
        """Return what is known after these events, by number."""


class _JudgeTable(_Table):
    """What the judge of one group of properties knows."""

    def __init__(
        self,
        group: Group,
        quorums: Quorums,
        components: Components,
        exercised: Collection[str],
        *,
        told_of_leaving: bool,
    ) -> None:
        super().__init__(components)
        forgetful = told_of_leaving and any(map(forgets_what_is_left, group))
        judge = Judge(group, quorums=quorums, told_of_leaving=forgetful, sparing=True)
        self.looks_at = frozenset(judge.looks_at) | ({Crash, Left} if forgetful else {Crash})
        self.reads_sequences = any(each.reads_sequences for each in judge.invariants)
        self.broken: list[str | None] = [None]
        self.exercised = {kind.name: kind.name in exercised for kind in group}
        """By property: whether it had something to judge in a level before this one."""
        self._exercised_now: set[str] = set()
        """The properties that have it in this level."""
        self._exercised_before = exercised
        """Of these it need not be known what will exercise them."""
        self._known = [_Known(judge, (0,) * (quorums.size + 1))]
        self._ids[None, self._identity(self._known[0])] = 0
        self._digests: dict[int, int] = {}

    def known(self, number: int) -> _Known:
        """Return the judge that this number stands for, and the incarnations of the processes."""
        return self._known[number]

    def _observe(self, number: int, events: Sequence[Event]) -> int:
        seen = [event for event in events if type(event) in self.looks_at]
        if not seen:
            return number
        before = self._known[number]
        judge, incarnations = before.judge.fork(), list(before.incarnations)
        for event in seen:
            if self.reads_sequences and isinstance(event, Broadcast) and event.txn in judge.record.sent:
                raise CannotTellApart(f"{event.txn} is broadcast twice, and the properties tell no runs apart by that")
            if isinstance(event, Left):
                judge.leave(event.process)
            elif isinstance(event, Local):
                incarnation = incarnations[event.process]
                judge.observe(replace(event, incarnation=incarnation) if incarnation else event)
                incarnations[event.process] += isinstance(event, Crash)
        verdicts = judge.finish()
        self._exercised_now.update(each.property for each in verdicts if each.judged)
        broken = named(judge, [verdict.property for verdict in verdicts if verdict.status == "violated"])
        after = _Known(judge, tuple(incarnations))
        identity_ = (broken, None if broken else self._identity(after))
        known = self._ids.get(identity_)
        if known is None:
            known = self._ids[identity_] = len(self._known)
            self._known.append(after)
            self.broken.append(broken)
        return known

    def end_level(self) -> None:
        """Note which properties were exercised in this level."""
        self.exercised |= dict.fromkeys(self._exercised_now, True)

    def digest(self, number: int) -> int:
        """Return a digest of what is known. O(1) if it was asked before."""
        found = self._digests.get(number)
        if found is None:
            found = self._digests[number] = digest(self.broken[number] or self._identity(self._known[number]))
        return found

    def _identity(self, known: _Known) -> Hashable:
        return identity(known.judge, known.incarnations, self._exercised_before)


class _GoalsTable(_Table):
    """What the goals know. `reached`: the goals that some run has reached in a level before this one."""

    def __init__(self, quorums: Quorums, components: Components) -> None:
        super().__init__(components)
        self.reached: set[str] = set()
        self._reached_now: set[str] = set()
        """The goals that a run reaches now."""
        first = (Goals(quorums), (0,) * (quorums.size + 1))
        self._known = [first]
        """The goals, and by process 1 if it has crashed: all that they ask of an incarnation is if it is the first."""
        self._ids[self._identity(*first)] = 0

    def _observe(self, number: int, events: Sequence[Event]) -> int:
        seen = [event for event in events if type(event) in LOOK_AT]
        if not seen:
            return number
        before, incarnations = self._known[number]
        goals, crashed = before.fork(), list(incarnations)
        for event in seen:
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
        """Note which goals were reached, and take those for one that only differ in when they would be."""
        if self._reached_now:
            self.reached |= self._reached_now
            self._reached_now = set()
            numbers, self._ids = self._ids.values(), {}
            for number in numbers:
                self._ids.setdefault(self._identity(*self._known[number]), number)

    def to_watch(self, numbers: Collection[int]) -> int:
        """Return the one of these in which the least has happened; of several the one with the least digest."""
        if len(numbers) == 1:
            return next(iter(numbers))
        identities = ((self._identity(*self._known[number]), number) for number in numbers)
        return min((sum(map(bool, each[0])), digest(each), number) for each, number in identities)[-1]

    def _identity(self, goals: Goals, crashed: tuple[int, ...]) -> tuple[tuple[Hashable, ...], Hashable]:
        return goals.identity(self.reached), None if "repeated delivery" in self.reached else crashed


class Monitors:
    """What the properties know together, by number; number 0 is what they know at the start.

    They know what will exercise each property but for those that are `exercised`, by name.
    Looking something up raises CannotTellApart if two transactions with one identity are broadcast, and a property
    compares sequences of them.
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
        self._components = components
        self._awaited = {kind.name for kind in properties if awaits_something(kind)}.difference(exercised)
        groups = groups_of(properties)
        self._groups = [
            _JudgeTable(group, quorums, components, exercised, told_of_leaving=told_of_leaving) for group in groups
        ]
        reading = (i for i, group in enumerate(groups) if any(kind.reads_sequences for kind in group))
        self._reading = next(reading, None)
        self.broken: list[str | None] = [None]
        """By number: the property that is violated."""
        self._monitors: list[tuple[int, ...]] = [(0,) * len(self._groups)]
        self._ids: dict[tuple[int, ...], int] = {self._monitors[0]: 0}
        self.known_after: dict[tuple[int, int], int] = {}
        self.known_renamed: dict[tuple[int, Names], int] = {}
        self._looking: dict[int, tuple[int, ...]] = {}
        """By the number of events: the places of the groups that look at some of them."""
        self._goals = _GoalsTable(quorums, components)
        self._goals_of = {0: 0}
        """By number: what the goals know of a run that led there in the first level in which any did."""
        self._unwatched: list[tuple[int, int | Names, int]] = []
        """What the goals have not seen yet: what led in this level from a monitor to another, events or other names."""

    def __len__(self) -> int:
        return len(self._monitors)

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals that some run reached, of those that are watched, in a level that is over."""
        return tuple(goal for goal in GOALS if goal in self._goals.reached)

    @property
    def exercised(self) -> dict[str, bool]:
        """By the name of a property: whether there was anything to judge in some state of a level that is over."""
        return {name: was for group in self._groups for name, was in group.exercised.items()}

    @property
    def know_too_much(self) -> bool:
        """Whether they know what will exercise a property that was exercised by now. Others would have fewer states."""
        return any(self.exercised[name] for name in self._awaited)

    def end_level(self) -> None:
        """Take in what was exercised and reached in this level."""
        self.journal.append(("levels", ()))
        self._watch()
        for each in (self._goals, *self._groups):
            each.end_level()

    def _watch(self) -> None:
        """Show the goals what was seen in this level. Of each monitor one run is watched, with fewest steps in it."""
        left, self._unwatched = self._unwatched, []
        while left:
            later: list[tuple[int, int | Names, int]] = []
            known: dict[int, set[int]] = {}
            for step in left:
                monitor, by, after = step
                if monitor in self._goals_of:
                    before = self._goals_of[monitor]
                    goals = self._goals.after(before, by) if isinstance(by, int) else self._goals.renamed(before, by)
                    known.setdefault(after, set()).add(goals)
                else:
                    later.append(step)
            assert len(later) < len(left), "each run begins with a monitor that is watched"
            self._goals_of |= {
                after: self._goals.to_watch(goals) for after, goals in known.items() if after not in self._goals_of
            }
            left = later

    def after(self, monitor: int, events: int) -> int:
        """Return what is known after these events, both by number. O(1) if that was asked before."""
        key = (monitor, events)
        found = self.known_after.get(key)
        if found is None:
            self.journal.append(("monitors", key))
            found = self.known_after[key] = self._after(monitor, events)
            self._unwatched.append((monitor, events, found))
        return found

    def _after(self, monitor: int, events: int) -> int:
        after = list(self._monitors[monitor])
        for index in self._looking_at(events):
            after[index] = self._groups[index].after(after[index], events)
        return self._number(tuple(after))

    def _number(self, known: tuple[int, ...]) -> int:
        """Return the monitor that these numbers of what judges know are."""
        number = self._ids.get(known)
        if number is None:
            number = self._ids[known] = len(self._monitors)
            self._monitors.append(known)
            each = (group.broken[place] for place, group in zip(known, self._groups, strict=True))
            self.broken.append(next((broken for broken in each if broken is not None), None))
        return number

    def digest(self, monitor: int) -> int:
        """Return a digest of what the properties know. O(groups of them) if what each group knows was asked before."""
        return digest(tuple(g.digest(number) for g, number in zip(self._groups, self._monitors[monitor], strict=True)))

    def _looking_at(self, events: int) -> tuple[int, ...]:
        """Return the places of the groups that look at some of these events."""
        found = self._looking.get(events)
        if found is None:
            kinds = {type(event) for event in self._components.events[events]}
            able = (index for index, group in enumerate(self._groups) if not kinds.isdisjoint(group.looks_at))
            found = self._looking[events] = tuple(able)
        return found

    def sequences(self, monitor: int) -> tuple[int, Judge, tuple[int, ...]] | None:
        """Return the number of a judge that has the delivered sequences on record, that judge, and the incarnations.

        None if no property reads delivered sequences.
        """
        if self._reading is None:
            return None
        number = self._monitors[monitor][self._reading]
        return number, *self._groups[self._reading].known(number)

    def renamed(self, monitor: int, names: Names) -> int:
        """Return what is known if every process had its new name from the start. O(1) if that was asked before."""
        if not monitor:
            return monitor
        found = self.known_renamed.get((monitor, names))
        if found is not None:
            return found
        self.journal.append(("monitors renamed", (monitor, names)))
        numbers = zip(self._groups, self._monitors[monitor], strict=True)
        found = self._number(tuple(group.renamed(number, names) for group, number in numbers))
        self.known_renamed[monitor, names] = found
        self._unwatched.append((monitor, names, found))
        return found
