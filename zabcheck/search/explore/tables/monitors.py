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

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from invariants import Broadcast, Crash, Event, Invariant, Judge, Local
from invariants.identity import identity, named
from invariants.quorums import Quorums
from zabcheck.protocols.base import CannotTellApart
from zabcheck.search.explore.tables.automata import Automaton
from zabcheck.search.explore.tables.components import Components, Left
from zabcheck.search.explore.tables.digests import digest
from zabcheck.search.explore.tables.journal import Journal
from zabcheck.search.explore.tables.renaming import Names
from zabcheck.search.goals import GOALS, LOOK_AT, Goals

Group = tuple[type[Invariant], ...]
"""Properties that one judge judges."""
_ONE_RECORD = ("core", "causality", "ladis")


def groups_of(properties: Sequence[type[Invariant]]) -> list[Group]:
    """Return the properties that read the delivered sequences of one record as one group, and each other by itself."""
    together = tuple(kind for kind in properties if kind.group in _ONE_RECORD and not kind.is_local)
    alone = [(kind,) for kind in properties if kind not in together]
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


_OF_BROADCASTS = frozenset((Broadcast, Crash, Left))
"""The kinds of event that tell of broadcasts, and whether more of their epoch will come."""


class _Judges(Automaton):
    """What the judge of one group of properties knows; of one `process`, if these judge each by itself."""

    def __init__(
        self,
        group: Group,
        quorums: Quorums,
        components: Components,
        exercised: Collection[str],
        *,
        place: int,
        told_of_leaving: bool,
        process: int | None = None,
    ) -> None:
        self.place = place
        """Where it stands among all judges."""
        self._process = process
        self._of_all = _OF_BROADCASTS if any(kind.reads_broadcasts for kind in group) else frozenset[type[Event]]()
        """The kinds of event that are looked at of all processes."""
        self.of_each: Sequence[_Judges] = ()
        """The judges of these properties for each process."""
        forgetful = told_of_leaving and any(map(forgets_what_is_left, group))
        judge = Judge(group, quorums=quorums, told_of_leaving=forgetful, sparing=True)
        super().__init__(components, frozenset(judge.looks_at) | ({Crash, Left} if forgetful else {Crash}))
        self.reads_sequences = any(each.reads_sequences for each in judge.invariants)
        self.broken: list[str | None] = [None]
        self.exercised = {kind.name: kind.name in exercised for kind in group}
        """By property: whether it had something to judge in a level before this one."""
        self._never_exercised = {name for name, was in self.exercised.items() if not was}
        """The properties that had it in no level so far, this one included."""
        self._exercised_before = exercised
        """Of these it need not be known what will exercise them."""
        self._known = [_Known(judge, (0,) * (quorums.size + 1))]
        self._ids[None, self._identity(self._known[0])] = 0
        self._digests: dict[int, int] = {}

    def under(self, names: Names) -> "_Judges":
        return self if self._process is None else self.of_each[names[self._process] - 1]

    def _visible(self, events: int) -> tuple[Event, ...]:
        seen = super()._visible(events)
        if self._process is None or not seen:
            return seen
        return tuple([each for each in seen if self._is_own(each) or type(each) in self._of_all])

    def _is_own(self, event: Event) -> bool:
        return isinstance(event, Local) and event.process == self._process

    def known(self, number: int) -> _Known:
        """Return the judge that this number stands for, and the incarnations of the processes."""
        return self._known[number]

    def _find_after(self, number: int, seen: int) -> int:
        found = super()._find_after(number, seen)
        self.components.filled_in.append(("judged", (self.place, number, self._events[seen]), found))
        return found

    def record(self, number: int, seen: int, found: int) -> None:
        """Record what another process found out: that after something was seen so much is known."""
        self.known_after[number].setdefault(seen, found)

    @property
    def exercised_now(self) -> set[str]:
        """The properties that were exercised in some level, this one included."""
        return self.exercised.keys() - self._never_exercised

    def record_exercised(self, names: Collection[str]) -> None:
        """Record what another process found out: that the properties with these names were exercised in this level."""
        self._never_exercised -= set(names)

    def _observe(self, number: int, events: Sequence[Event]) -> int:
        before = self._known[number]
        judge, incarnations = before.judge.fork(), list(before.incarnations)
        for event in events:
            if self.reads_sequences and isinstance(event, Broadcast) and event.txn in judge.record.sent:
                raise CannotTellApart(f"{event.txn} is broadcast twice, and the properties tell no runs apart by that")
            if isinstance(event, Left):
                judge.leave(event.process)
            elif isinstance(event, Local):
                incarnation = incarnations[event.process]
                judge.observe(replace(event, incarnation=incarnation) if incarnation else event)
                incarnations[event.process] += isinstance(event, Crash)
        # What `Judge.finish` would say, but for the verdicts.
        if self._never_exercised:
            self._never_exercised -= {each.name for each in judge.invariants if each.judged()}
        violated = [each.name for each in judge.invariants if each.violation() is not None]
        broken = named(judge, violated) if violated else None
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
        self.exercised = {name: name not in self._never_exercised for name in self.exercised}

    def digest(self, number: int) -> int:
        """Return a digest of what is known. O(1) if it was asked before."""
        found = self._digests.get(number)
        if found is None:
            found = self._digests[number] = digest(self.broken[number] or self._identity(self._known[number]))
        return found

    def _identity(self, known: _Known) -> Hashable:
        return identity(known.judge, known.incarnations, self._exercised_before)


class _Product:
    """The product of several judges: what all of them know, by number.

    What is known after a step is put together of what each judge knows then. Most judges see nothing of most steps, and
    those that do see the same again and again, so few of the questions get as far as a judge.

    `places`: by the name of a property, its place among all; of several that are violated the first is named.
    """

    def __init__(self, judges: Sequence[_Judges], places: Mapping[str, int]) -> None:
        self._judges, self._places = judges, places
        self.each = [(0,) * len(judges)]
        """By number: what each judge knows, by number."""
        self._ids = {self.each[0]: 0}
        self._seen: dict[int, tuple[tuple[int, int], ...]] = {}
        """By the number of events: what judges see of them, and which judges, those that see something."""
        self._renamings: dict[Names, list[tuple[int, dict[int, int]]]] = {}
        """By names, and by judge: the place of the one that it is the twin of, and `Automaton.renamings` of that."""
        self.broken: list[str | None] = [None]
        """By number: the property that is violated."""

    def seen(self, events: int) -> tuple[tuple[int, int], ...]:
        """Return what judges see of these events, with their places, but for those that see nothing."""
        found = self._seen.get(events)
        if found is None:
            seen = enumerate(judge.seen(events) for judge in self._judges)
            found = self._seen[events] = tuple([(place, number) for place, number in seen if number])
        return found

    def after(self, number: int, events: int) -> int:
        """Return what is known after these events. O(judges that see something of them)."""
        seen = self.seen(events)
        if not seen:
            return number
        known, judges = list(self.each[number]), self._judges
        for place, what in seen:
            judge, at = judges[place], known[place]
            found = judge.known_after[at].get(what)  # as in `after`, which would be slower to call
            known[place] = judge.after(at, what) if found is None else found
        return self._number(tuple(known))

    def renamed(self, number: int, names: Names) -> int:
        """Return what is known if every process had its new name from the start. O(judges)."""
        twins = self._renamings.get(names)
        if twins is None:
            sources = sorted(self._judges, key=lambda judge: judge.under(names).place)
            twins = self._renamings[names] = [(judge.place, judge.renamings(names)) for judge in sources]
        known = self.each[number]
        try:
            found = [table[known[place]] for place, table in twins]
        except KeyError:
            found = [self._judges[place].renamed(known[place], names) for place, _ in twins]
        return self._number(tuple(found))

    def _number(self, known: tuple[int, ...]) -> int:
        number = self._ids.get(known)
        if number is None:
            number = self._ids[known] = len(self.each)
            self.each.append(known)
            violated = [name for judge, at in zip(self._judges, known, strict=True) if (name := judge.broken[at])]
            self.broken.append(min(violated, key=self._places.__getitem__) if violated else None)
        return number


class _Goals(Automaton):
    """What the goals know. `reached`: the goals that some run has reached in a level before this one."""

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
        """Note which goals were reached, and take those for one that only differ in when they would be."""
        if self._reached_now:
            self.reached |= self._reached_now
            self._reached_now = set()
            self._ranks.clear()
            numbers, self._ids = self._ids.values(), {}
            for number in numbers:
                self._ids.setdefault(self._identity(*self._known[number]), number)

    def to_watch(self, numbers: Collection[int]) -> int:
        """Return the one of these in which the least has happened; of several the one with the least digest."""
        return next(iter(numbers)) if len(numbers) == 1 else min(numbers, key=self._rank)

    def _rank(self, number: int) -> tuple[int, int, int]:
        """Return what decides which of several is watched. O(1) if it was asked since a goal was reached."""
        found = self._ranks.get(number)
        if found is None:
            identity_ = self._identity(*self._known[number])
            found = self._ranks[number] = sum(map(bool, identity_[0])), digest(identity_), number
        return found

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
        self.components = components
        self._awaited = {kind.name for kind in properties if awaits_something(kind)}.difference(exercised)
        self.judges: list[_Judges] = []
        for group in groups_of(properties):
            first = len(self.judges)
            for process in components.ids if group[0].is_local else (None,):
                place = len(self.judges)
                self.judges.append(
                    _Judges(
                        group,
                        quorums,
                        components,
                        exercised,
                        place=place,
                        told_of_leaving=told_of_leaving,
                        process=process,
                    )
                )
            for each in self.judges[first:]:
                each.of_each = self.judges[first:]
        self._all = _Product(self.judges, {name: place for place, name in enumerate(self.exercised)})
        self._reading = next((place for place, judge in enumerate(self.judges) if judge.reads_sequences), None)
        self.broken = self._all.broken
        """By number: the property that is violated."""
        self.known_after: dict[tuple[int, int], int] = {}
        self.known_renamed: dict[tuple[int, Names], int] = {}
        self._goals = _Goals(quorums, components)
        self._goals_of = {0: 0}
        """By number: what the goals know of a run that led there in the first level in which any did."""
        self._unwatched: list[tuple[int, int | Names, int]] = []
        """What the goals have not seen yet: what led in this level from a monitor to another, events or other names."""

    def __len__(self) -> int:
        return len(self.broken)

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals that some run reached, of those that are watched, in a level that is over."""
        return tuple(goal for goal in GOALS if goal in self._goals.reached)

    @property
    def exercised(self) -> dict[str, bool]:
        """By the name of a property: whether there was anything to judge in some state of a level that is over."""
        found: dict[str, bool] = {}
        for judge in self.judges:
            for name, was in judge.exercised.items():
                found[name] = was or found.get(name, False)
        return found

    @property
    def know_too_much(self) -> bool:
        """Whether they know what will exercise a property that was exercised by now. Others would have fewer states."""
        return any(self.exercised[name] for name in self._awaited)

    def end_level(self) -> None:
        """Take in what was exercised and reached in this level."""
        self.journal.append(("levels", ()))
        self._watch()
        for each in (self._goals, *self.judges):
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
        """Return what is known after these events, both by number. O(1) if that was asked before."""
        key = (monitor, events)
        found = self.known_after.get(key)
        if found is None:
            self.journal.append(("monitors", key))
            found = self.known_after[key] = self._all.after(monitor, events)
            self._unwatched.append((monitor, events, found))
            self.components.filled_in.append(("monitors", key, found))
        return found

    def digest(self, monitor: int) -> int:
        """Return a digest of what the properties know. O(groups of them) if what each group knows was asked before."""
        return digest(tuple(g.digest(n) for g, n in zip(self.judges, self._all.each[monitor], strict=True)))

    def sequences(self, monitor: int) -> tuple[int, Judge, tuple[int, ...]] | None:
        """Return the number of a judge that has the delivered sequences on record, that judge, and the incarnations.

        None if no property reads delivered sequences.
        """
        if self._reading is None:
            return None
        number = self._all.each[monitor][self._reading]
        return number, *self.judges[self._reading].known(number)

    def renamed(self, monitor: int, names: Names) -> int:
        """Return what is known if every process had its new name from the start. O(1) if that was asked before."""
        if not monitor:
            return monitor
        found = self.known_renamed.get((monitor, names))
        if found is not None:
            return found
        self.journal.append(("monitors renamed", (monitor, names)))
        found = self.known_renamed[monitor, names] = self._all.renamed(monitor, names)
        self._unwatched.append((monitor, names, found))
        self.components.filled_in.append(("monitors renamed", (monitor, names), found))
        return found

    # What another process has found out.

    def record(self, monitor: int, events: int, found: int) -> None:
        """Record what `after` returned in another process; `found` is the number that the monitor has here."""
        key = monitor, events
        if key not in self.known_after:
            self.journal.append(("monitors", key))
            self._all.seen(events)  # as `after` does: what is seen for the first time gets a number
            self.known_after[key] = found
            self._unwatched.append((*key, found))

    @property
    def exercised_now(self) -> list[str]:
        """The names of the properties that were exercised in some level, this one included."""
        return [name for judge in self.judges for name in judge.exercised_now]

    def record_exercised(self, names: Collection[str]) -> None:
        """Record that in another process the properties with these names were exercised in this level."""
        for judge in self.judges:
            judge.record_exercised(names)
