"""The states of properties: judges, and the product of all of them.

The properties are judged by their own judges, one for those that read the same record, and one for each of the others,
so that each has few states. A property that judges each process by itself has a judge for each. A
judge that has been shown some events is kept, and its number stands for it; one with the same identity
(`judges.identity`) has the same number. Every state is judged as if the trace ended in it, so a property is
violated in the first state in which it is.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from zabcheck.explore.judges import MonitoredInvariant, MonitorJudge, monitored
from zabcheck.explore.judges.identity import identity, named
from zabcheck.explore.tables.automata import Automaton, Watcher
from zabcheck.explore.tables.components import Components, LeftIteration
from zabcheck.explore.tables.digests import digest
from zabcheck.explore.tables.renaming import Names
from zabcheck.invariants import Broadcast, Crash, Event, Invariant, Local
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import CannotTellApart

Group = tuple[type[MonitoredInvariant], ...]
"""Properties that one judge judges."""


def groups_of(properties: Sequence[type[Invariant]]) -> list[Group]:
    """Return the properties that read the delivered sequences of one record as one group, and each other by itself."""
    kinds = list(map(monitored, properties))
    together = tuple(kind for kind in kinds if kind.reads_sequences and kind.needs is not None)
    alone = [(kind,) for kind in kinds if kind not in together]
    return [*([together] if together else []), *alone]


class _KnownJudge(NamedTuple):
    """A judge, and the incarnation that each process is in."""

    judge: MonitorJudge
    incarnations: tuple[int, ...]


_OF_BROADCASTS = frozenset((Broadcast, Crash, LeftIteration))
"""The kinds of event that show broadcasts, and the end of those of an epoch."""


class GroupJudge(Watcher):
    """The judge of one group of properties; of one `process`, if these judge each by itself."""

    def __init__(
        self,
        group: Group,
        quorums: Quorums,
        components: Components,
        exercised: Collection[str],
        *,
        told_of_leaving: bool,
        process: int | None = None,
    ) -> None:
        self.place = 0
        """The place among all judges."""
        told = (_OF_BROADCASTS if kind.reads_broadcasts else () for kind in group)
        self._of_all = frozenset(chain(*told, *((*kind.of_all, Crash) for kind in group if kind.of_all)))
        """The kinds of event that are looked at of all processes."""
        forgetful = told_of_leaving and any(kind.forgets_what_is_left() for kind in group)
        judge = MonitorJudge(group, quorums, told_of_leaving=forgetful, process=process)
        super().__init__(
            components, frozenset(judge.looks_at) | ({Crash, LeftIteration} if forgetful else {Crash}), process
        )
        self.reads_sequences = any(each.reads_sequences for each in judge.invariants)
        self.broken: list[str | None] = [None]
        self.exercised = {kind.name: kind.name in exercised for kind in group}
        """By property: whether it had something to judge in a level before this one."""
        self._never_exercised = {name for name, was in self.exercised.items() if not was}
        """The properties that had it in no level so far, this one included."""
        self._exercised_before = exercised
        """The names of properties of which nobody asks any more what will exercise them."""
        self._known = [_KnownJudge(judge, (0,) * (quorums.size + 1))]
        self._ids[None, self._identity(self._known[0])] = 0
        self._digests: dict[int, int] = {}

    def _visible(self, events: int) -> tuple[Event, ...]:
        seen = super()._visible(events)
        if self.process is None or not seen:
            return seen
        return tuple([each for each in seen if self._is_own(each) or type(each) in self._of_all])

    def _is_own(self, event: Event) -> bool:
        return isinstance(event, Local) and event.process == self.process

    def known(self, number: int) -> _KnownJudge:
        """Return the judge with this number, and the incarnations of the processes."""
        return self._known[number]

    def _observe(self, number: int, events: Sequence[Event]) -> int:
        judge, incarnations = self._known[number].judge, list(self._known[number].incarnations)
        last = events[-1]
        if isinstance(last, LeftIteration) and self._stays(judge, last.process, events):
            if len(events) == 1:
                return number
            incarnations[last.process] += 1
        else:
            judge = judge.fork()
            for event in events:
                if self.reads_sequences and isinstance(event, Broadcast) and event.txn in judge.record.sent:
                    raise CannotTellApart(
                        f"{event.txn} is broadcast twice, and the properties tell no runs apart by it"
                    )
                if isinstance(event, LeftIteration):
                    judge.leave(event.process)
                elif isinstance(event, Local):
                    incarnation = incarnations[event.process]
                    # Not that of the event: a process starts in its second one to show a snapshot that it restores.
                    told = event if event.incarnation == incarnation else replace(event, incarnation=incarnation)
                    judge.observe(told)
                    incarnations[event.process] += isinstance(event, Crash)
        # As `Judge.finish`, but without verdicts.
        if self._never_exercised:
            self._never_exercised -= {each.name for each in judge.invariants if each.judged()}
        violated = [each.name for each in judge.invariants if each.violation() is not None]
        broken = named(judge, violated) if violated else None
        after = _KnownJudge(judge, tuple(incarnations))
        identity_ = (broken, None if broken else self._identity(after))
        known = self._ids.get(identity_)
        if known is None:
            known = self._ids[identity_] = len(self._known)
            self._known.append(after)
            self.broken.append(broken)
        return known

    def _stays(self, judge: MonitorJudge, process: int, events: Sequence[Event]) -> bool:
        """Return True if these events, which end with `LeftIteration` of this process, leave the judge as it is.

        That is so if it has nothing to forget of the process, which has shown nothing else, or has crashed, and no
        property looks at that. Then only the incarnation of the process may be another one.
        """
        is_all = len(events) == 1 or (len(events) == 2 and type(events[0]) is Crash and Crash not in judge.looks_at)
        return is_all and judge.forgets_nothing(process)

    def end_level(self) -> None:
        """Record the properties that were exercised in this level."""
        self.exercised = {name: name not in self._never_exercised for name in self.exercised}

    def digest(self, number: int) -> int:
        """Return a digest of this state. O(1) if it was computed before."""
        found = self._digests.get(number)
        if found is None:
            found = self._digests[number] = digest(self.broken[number] or self._identity(self._known[number]))
        return found

    def _identity(self, known: _KnownJudge) -> Hashable:
        return identity(known.judge, known.incarnations, self._exercised_before)


class Product(Automaton):
    """The product of several automata: its state is the states of all of them.

    The state after a step is put together from that of each part. A part that sees nothing of the step is not
    called, and one with a known result answers at once. So few of the questions get as far as a judge.

    `places`: by the name of a property, its place among all; if several are violated the first is named.
    """

    def __init__(
        self,
        components: Components,
        parts: Sequence["GroupJudge | Product"],
        places: Mapping[str, int],
        process: int | None = None,
    ) -> None:
        super().__init__(components, process)
        self.parts, self._places = parts, places
        self.known = [(0,) * len(parts)]
        """By number: what each part knows, by number."""
        self._ids = {self.known[0]: 0}
        self.seen_by = [tuple[tuple[int, int], ...]()]
        """By the number of what is seen: the parts that see something, by place, and what each sees."""
        self._seen_ids = {self.seen_by[0]: 0}
        self._twins: dict[Names, list[tuple[int, GroupJudge | Product]]] = {}
        self.broken: list[str | None] = [None]
        """By number: the property that is violated."""

    def _look(self, events: int) -> int:
        seen = enumerate(part.seen(events) for part in self.parts)
        by = tuple([(place, number) for place, number in seen if number])
        number = self._seen_ids.setdefault(by, len(self.seen_by))
        if number == len(self.seen_by):
            self.seen_by.append(by)
        return number

    def find_after(self, number: int, seen: int) -> int:
        known, parts = list(self.known[number]), self.parts
        for place, what in self.seen_by[seen]:
            part, at = parts[place], known[place]
            found = part.known_after[at].get(what)  # as in `after`, which would be slower to call
            known[place] = part.after(at, what) if found is None else found
        return self.number(tuple(known))

    def find_renamed(self, number: int, names: Names) -> int:
        known = self.known[number]
        renamed = [part.renamed(known[place], names) for place, part in self.twins(names)]
        return self.under(names).number(tuple(renamed))

    def twins(self, names: Names) -> list[tuple[int, "GroupJudge | Product"]]:
        """Return the parts, with their places, in the order that they have in the product `under` these names."""
        found = self._twins.get(names)
        if found is None:
            places = {id(part): place for place, part in enumerate(self.under(names).parts)}
            found = sorted(enumerate(self.parts), key=lambda part: places[id(part[1].under(names))])
            self._twins[names] = found
        return found

    def number(self, known: tuple[int, ...]) -> int:
        """Return the number of the state with these states of the parts. O(1) if it has one."""
        number = self._ids.get(known)
        if number is None:
            number = self._ids[known] = len(self.known)
            self.known.append(known)
            self.known_after.append({})
            violated = [name for part, at in zip(self.parts, known, strict=True) if (name := part.broken[at])]
            self.broken.append(min(violated, key=self._places.__getitem__) if violated else None)
        return number

    def each(self, number: int) -> Iterator[tuple[GroupJudge, int]]:
        """Yield all judges, each with its state, by number."""
        for part, known in zip(self.parts, self.known[number], strict=True):
            if isinstance(part, Product):
                yield from part.each(known)
            else:
                yield part, known


def product_of(
    judging: Callable[[Group, int | None], GroupJudge], groups: Sequence[Group], components: Components
) -> Product:
    """Return the product of the judges of all groups, made by `judging`; a local group has one for each process."""
    places = {kind.name: place for place, kind in enumerate(chain(*groups))}
    local = [group for group in groups if group[0].is_local]
    apart = [judging(group, None) for group in groups if group not in local]
    of_each = [[judging(group, process) for group in local] for process in components.ids if local]
    for judges in zip(*of_each, strict=True):
        for each in judges:
            each.of_each = judges
    products = [Product(components, each, places, each[0].process) for each in of_each]
    for product in products:
        product.of_each = products
    return Product(components, [*apart, *products], places)
