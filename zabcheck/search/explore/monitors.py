"""What the properties still need to know, as a number; and what the events of a step make of it.

The properties are judged by their own judges: one for those that read the same record, and one for each of the others,
so that each knows little and has few states. A judge that has been shown some events is kept, and its number stands for
it; one that still knows the same (`invariants.identity`) has the same number. What all judges know together is a
*monitor*, which has a number too: an automaton that reads the events of a run beside the protocol, as in model checkers
that are told a property as a never claim (SPIN). Every state is judged as if the trace ended in it, so a property is
violated in the first state in which it is.

In the components of a state every process is in its first incarnation; here incarnations are counted as in the trace.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from invariants import Broadcast, Crash, Event, Invariant, Judge, Local
from invariants.identity import identity, named
from invariants.quorums import Quorums
from zabcheck.protocols.base import CannotTellApart
from zabcheck.search.explore.components import NOTHING, Components, Left, Names
from zabcheck.search.explore.journal import Journal
from zabcheck.search.goals import LOOK_AT, Goals

Group = tuple[type[Invariant], ...]
"""Properties that one judge judges."""
_ONE_RECORD = ("core", "causality", "ladis")


def groups_of(properties: Sequence[type[Invariant]]) -> list[Group]:
    """Return the properties of DSN 2011, III and of LADIS 2008 as one group, and each other one by itself."""
    together = tuple(kind for kind in properties if kind.group in _ONE_RECORD)
    alone = [(kind,) for kind in properties if kind.group not in _ONE_RECORD]
    return [*([together] if together else []), *alone]


def forgets_what_is_left(kind: type[Invariant]) -> bool:
    """Whether a property, or the record that it reads, needs to know less of a process that has left its iteration."""
    return kind.reads_sequences or kind.reads_broadcasts or kind.leave is not Invariant.leave


class _Known(NamedTuple):
    """A judge, and the incarnation that each process is in."""

    judge: Judge
    incarnations: tuple[int, ...]


class _Table(ABC):
    """What somebody who watches runs knows of them, by number; number 0 is what is known at the start."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, int], int] = {}

    def after(self, number: int, events: int, shown: Sequence[Event]) -> int:
        """Return what is known after these events, both by number. O(1) if that was asked before."""
        key = (number, events)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self._observe(number, shown)
        return found

    @abstractmethod
    def _observe(self, number: int, events: Sequence[Event]) -> int:
        """Return what is known after these events, by number."""


class _JudgeTable(_Table):
    """What the judge of one group of properties knows."""

    def __init__(self, group: Group, quorums: Quorums, *, told_of_leaving: bool) -> None:
        super().__init__()
        forgetful = told_of_leaving and any(map(forgets_what_is_left, group))
        judge = Judge(group, quorums=quorums, told_of_leaving=forgetful)
        self.looks_at = frozenset(judge.looks_at) | ({Crash, Left} if forgetful else {Crash})
        self.reads_sequences = any(each.reads_sequences for each in judge.invariants)
        self.broken: list[str | None] = [None]
        self.exercised: dict[str, bool] = {kind.name: False for kind in group}
        self._known = [_Known(judge, (0,) * (quorums.size + 1))]
        self._ids: dict[Hashable, int] = {(None, self._identity(self._known[0])): 0}

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
                judge.observe(replace(event, incarnation=incarnations[event.process]))
                incarnations[event.process] += isinstance(event, Crash)
        verdicts = judge.finish()
        new = [each.property for each in verdicts if each.judged and not self.exercised[each.property]]
        if new:
            self._exercise(new)
        broken = named(judge, [verdict.property for verdict in verdicts if verdict.status == "violated"])
        after = _Known(judge, tuple(incarnations))
        identity_ = (broken, None if broken else self._identity(after))
        known = self._ids.get(identity_)
        if known is None:
            known = self._ids[identity_] = len(self._known)
            self._known.append(after)
            self.broken.append(broken)
        return known

    def _exercise(self, properties: Sequence[str]) -> None:
        """Note that these properties are exercised, and take those for one that only differ in when they will be."""
        self.exercised |= dict.fromkeys(properties, True)
        self._ids = {}
        for number, (broken, known) in enumerate(zip(self.broken, self._known, strict=True)):
            self._ids.setdefault((broken, None if broken else self._identity(known)), number)

    def _identity(self, known: _Known) -> Hashable:
        return identity(known.judge, known.incarnations, [name for name, was in self.exercised.items() if was])


class _GoalsTable(_Table):
    """What the goals know.

    `reached` names the goals that some run has reached, in the order in which that was found.
    """

    def __init__(self, quorums: Quorums) -> None:
        super().__init__()
        self.reached: dict[str, None] = {}
        first = (Goals(quorums), (0,) * (quorums.size + 1))
        self._known = [first]
        """The goals, and by process 1 if it has crashed: all that they ask of an incarnation is if it is the first."""
        self._ids: dict[Hashable, int] = {self._identity(*first): 0}

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
        if not goals.reached.keys() <= self.reached.keys():
            self._reach(goals.reached)
        after = goals, tuple(crashed)
        found = self._ids.setdefault(self._identity(*after), len(self._known))
        if found == len(self._known):
            self._known.append(after)
        return found

    def _reach(self, reached: Mapping[str, None]) -> None:
        """Note that these goals are reached, and take those for one that only differ in when they would be."""
        self.reached |= reached
        self._ids = {}
        for number, known in enumerate(self._known):
            self._ids.setdefault(self._identity(*known), number)

    def _identity(self, goals: Goals, crashed: tuple[int, ...]) -> Hashable:
        return goals.identity(self.reached), None if "repeated delivery" in self.reached else crashed


class Monitors:
    """What the properties know together, by number; number 0 is what they know at the start.

    Looking something up raises CannotTellApart if two transactions with one identity are broadcast, and a property
    compares sequences of them.
    """

    def __init__(
        self,
        properties: Sequence[type[Invariant]],
        quorums: Quorums,
        components: Components,
        journal: Journal,
        *,
        told_of_leaving: bool = False,
    ) -> None:
        self.journal = journal
        self._components = components
        groups = groups_of(properties)
        self._groups = [_JudgeTable(group, quorums, told_of_leaving=told_of_leaving) for group in groups]
        reading = (i for i, group in enumerate(groups) if any(kind.reads_sequences for kind in group))
        self._reading = next(reading, None)
        self.broken: list[str | None] = [None]
        """By number: the property that is violated."""
        self._monitors: list[tuple[int, ...]] = [(0,) * len(self._groups)]
        self._ids: dict[tuple[int, ...], int] = {self._monitors[0]: 0}
        self.known_after: dict[tuple[int, int], int] = {}
        self._came_from: list[tuple[int, int]] = [(0, NOTHING)]
        """By number: the monitor before, and the events that led from there, both by number."""
        self.known_renamed: dict[tuple[int, Names], int] = {}
        self._looking: dict[int, tuple[int, ...]] = {}
        """By the number of events: the places of the groups that look at some of them."""
        self._goals = _GoalsTable(quorums)
        self._goals_of = [0]
        """By number: what the goals know of the first run that led there, which is the one that is watched."""

    def __len__(self) -> int:
        return len(self._monitors)

    @property
    def goals(self) -> Collection[str]:
        """The goals that some run reached, of those that are watched."""
        return self._goals.reached.keys()

    @property
    def exercised(self) -> dict[str, bool]:
        """By the name of a property: whether there was anything to judge in some state."""
        return {name: was for group in self._groups for name, was in group.exercised.items()}

    def after(self, monitor: int, events: int) -> int:
        """Return what is known after these events, both by number. O(1) if that was asked before."""
        key = (monitor, events)
        found = self.known_after.get(key)
        if found is None:
            self.journal.append(("monitors", key))
            found = self.known_after[key] = self._after(monitor, events)
        return found

    def _after(self, monitor: int, events: int) -> int:
        shown = self._components.events[events]
        after = list(self._monitors[monitor])
        for index in self._looking_at(events):
            after[index] = self._groups[index].after(after[index], events, shown)
        goals = self._goals.after(self._goals_of[monitor], events, shown)
        key = tuple(after)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._monitors)
            self._monitors.append(key)
            self._goals_of.append(goals)
            self._came_from.append((monitor, events))
            each = (group.broken[number] for number, group in zip(after, self._groups, strict=True))
            self.broken.append(next((broken for broken in each if broken is not None), None))
        return found

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
        waiting: list[int] = []
        while monitor and (monitor, names) not in self.known_renamed:
            waiting.append(monitor)
            monitor = self._came_from[monitor][0]
        found = self.known_renamed[monitor, names] if monitor else 0
        for each in reversed(waiting):
            events = self._components.renamed_events(self._came_from[each][1], names)
            found = self.known_renamed[each, names] = self.after(found, events)
        return found
