"""The base of properties, their violations and verdicts, and the judge of a trace by several properties at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MethodType
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Broadcast, Deliver, End, Event, EventError, Header, Restore
from zabcheck.invariants.quorums import Configuration, Quorums, quorums_of
from zabcheck.invariants.record import Record, Sent

Status = Literal["holds", "violated", "not exercised", "inconclusive"]

_Call = tuple[int, str, Callable[..., bool]]
"""The index of a property among those of a judge, its name, and one of its functions."""

_OwnCall = Callable[[Any, Any], None]
"""A judge's own function for an event; its arguments are the judge and the event."""

_COPIED = frozenset((dict, set, list))
"""The types, among the values of a property's attributes, that change in place."""


class Violation(Struct, frozen=True):
    """A broken property, as data. Other modules draw it.

    `witness` is canonical: the least one by zxid, then process and incarnation, so that it does not change when
    independent events are shuffled. `detected` is the number of the event (from 0, header not counted) with which
    the violation was certain; None if only the end of the trace showed it.
    """

    property: str
    statement: str
    source: str
    summary: str
    witness: tuple[Event, ...]
    detected: int | None = None


class Verdict(Struct, frozen=True):
    """The verdict of one property on one trace.

    `judged` counts the cases in which the trace could have broken the property; the docstring of the property's module
    defines a case. 0: not exercised.
    """

    property: str
    status: Status
    judged: int
    violation: Violation | None = None


class Invariant(ABC):
    """One property of the paper, judged incrementally. A subclass per property; see the modules beside this one.

    A subclass overrides the hooks that it needs, and may observe events by itself (`observers`). All of these return
    True as soon as the property is known to be broken. The hooks are called after the record took the event in, and
    only for new entries in it; the observers after that, for every event of their kind.
    """

    name: ClassVar[str]
    """The name, in lower case, with spaces: a command finds the property by it, and its violations carry it."""
    statement: ClassVar[str]
    """The condition that has to hold, as the source words it."""
    source: ClassVar[str]
    """The paper and the section that the property is taken from."""
    group: ClassVar[str] = "core"
    """The name of a group of properties that are chosen together; see `invariants.GROUPS`."""
    looks_at: ClassVar[tuple[type[Event], ...] | None] = None
    """The kinds of event that it looks at, besides broadcasts, deliveries, snapshots, crashes, recoveries and halts.

    Where it looks at such kinds, a trace without any of them does not exercise it. None if that is not known: then
    `invariants.columns` leaves every trace to a `Judge`.
    """

    def __init__(self, record: Record, order: str) -> None:
        self.record = record
        self.order = order

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        """Take in that some process delivered `link.txn` after `link.previous`, and is the first to do so.

        `sent` is the latest broadcast of it; None if it was not broadcast so far.
        """
        return False

    def on_sent(self, sent: Sent) -> bool:
        """Take in the broadcast of a transaction, which may have been delivered before, in a merged log."""
        return False

    def on_position(self, sent: Sent) -> bool:
        """Take in that `sent.delivered` is known: what its primary had delivered when it broadcast."""
        return False

    def on_move(self, process: int) -> bool:
        """Take in that `process` has delivered something.

        Called once the delivered sequences have forked, while the property is not known to be broken.
        """
        return False

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        """Return a function for each kind of event that this property looks at by itself."""
        return {}

    @abstractmethod
    def judged(self) -> int:
        """Return how often the property could have been broken; 0 means not exercised."""

    @abstractmethod
    def violation(self) -> Violation | None:
        """Return the canonical violation in the events so far, taken as the whole trace; None if there is none."""

    def inconclusive(self) -> bool:
        """Return True if more events could still repair the violation, so that a cut-off trace decides nothing."""
        return False

    def fork(self, record: Record) -> "Invariant":
        """Return an independent copy that reads `record`. O(size), in C.

        Before that record changes the judge may copy it, and have the attribute `record` refer to the copy.
        """
        copy = object.__new__(type(self))
        copy.__dict__ = kept = self.__dict__.copy()
        for name, value in self.__dict__.items():
            if type(value) in _COPIED:
                kept[name] = value.copy()
        copy.record = record
        return copy

    def _violation(self, summary: str, *witness: Event) -> Violation:
        return Violation(self.name, self.statement, self.source, summary, witness)


class Judge:
    """Judges a trace while it comes: `observe` each event, then `finish`.

    Amortised O(1) an event; memory O(distinct transactions + processes), unless a property says that it needs more.
    `broken` names the properties that are known to be violated so far, in the order of detection. Without `quorums`
    a property that depends on the quorum system is not exercised.
    """

    def __init__(
        self, properties: Iterable[type[Invariant]], order: str = "global", quorums: Quorums | None = None
    ) -> None:
        self.record = self._new_record(quorums)
        self.invariants = [kind(self.record, order) for kind in properties]
        self.broken: dict[str, int] = {}  # property -> number of the event
        self.count = 0
        self._calls = _Calls(self.invariants, self._own_calls())
        self._shares_record = False
        """True if another judge may read the same record, so that it is copied before it changes."""

    def _new_record(self, quorums: Quorums | None) -> Record:
        """Return the record of a trace that has no events so far."""
        return Record(quorums)

    def _own_calls(self) -> Mapping[type[Event], _OwnCall]:
        """Return, unbound, the judge's own function for each kind of event, called before its properties look at it."""
        return {Deliver: Judge._deliver, Broadcast: Judge._broadcast, Restore: Judge._restore}

    @property
    def looks_at(self) -> Collection[type[Event]]:
        """The kinds of event that the judge or a property looks at."""
        return self._calls.observers.keys()

    @property
    def observers(self) -> dict[type[Event], Callable[[Any], None]]:
        """A function for each kind of event that is looked at, made anew: `observe` without counting."""
        return {kind: self._observer(*calls) for kind, calls in self._calls.observers.items()}

    def _observer(self, first: Callable[[Any, Any], None] | None, then: Sequence[_Call]) -> Callable[[Any], None]:
        """Return an observer that calls the judge's own function `first`, and then those of the properties."""
        before = None if first is None else MethodType(first, self)
        if before is not None and not then:
            return before
        looking = [(name, MethodType(looks, self.invariants[index])) for index, name, looks in then]

        def observer(event: Event) -> None:
            if before is not None:
                before(event)
            for name, looks in looking:
                if looks(event):
                    self.broken.setdefault(name, self.count)

        return observer

    def observe(self, event: Event) -> None:
        """Take one event in. EventError if it goes back to an earlier incarnation of its process."""
        calls = self._calls.observers.get(type(event))
        if calls is not None:
            first, then = calls
            if first is not None:
                first(self, event)
            for index, name, looks in then:
                if looks(self.invariants[index], event):
                    self.broken.setdefault(name, self.count)
        self.count += 1

    def _record_to_change(self) -> Record:
        """Return the record, copied first if other judges read it."""
        if self._shares_record:
            self.record = record = self.record.fork()
            for each in self.invariants:
                each.record = record
            self._shares_record = False
        return self.record

    def _restore(self, event: Restore) -> None:
        self._record_to_change().restore(event)

    def _deliver(self, event: Deliver) -> None:
        record = self._record_to_change()
        record.deliver(event)
        if record.new_links:
            self._judge_links()
        if record.forked:
            for index, name, on_move in self._calls.on_move:
                if name not in self.broken and on_move(self.invariants[index], event.process):
                    self.broken[name] = self.count

    def _broadcast(self, event: Broadcast) -> None:
        record = self._record_to_change()
        record.broadcast(event)
        for sent in record.new_sents:
            for index, name, on_sent in self._calls.on_sent:
                if on_sent(self.invariants[index], sent):
                    self.broken.setdefault(name, self.count)
        record.new_sents.clear()
        self._judge_positions()

    def _judge_links(self) -> None:
        record = self.record
        for link in record.new_links:
            sent = record.sent.get(link.txn)
            for index, name, on_link in self._calls.on_link:
                if on_link(self.invariants[index], link, sent):
                    self.broken.setdefault(name, self.count)
        record.new_links.clear()
        if record.new_positions:
            self._judge_positions()

    def _judge_positions(self) -> None:
        for sent in self.record.new_positions:
            for index, name, on_position in self._calls.on_position:
                if on_position(self.invariants[index], sent):
                    self.broken.setdefault(name, self.count)
        self.record.new_positions.clear()

    def violated(self) -> str | None:
        """Return the property that was found broken first and still is; agreement can be repaired by a later delivery.

        O(1) while `broken` is empty; else the cost of the witness.
        """
        return next(self.all_violated(), None)

    def all_violated(self) -> Iterator[str]:
        """Yield the properties that are broken now, in the order in which they were found. Costs as `violated`."""
        for name in list(self.broken):
            [invariant] = [each for each in self.invariants if each.name == name]
            if invariant.violation() is None:
                del self.broken[name]
            else:
                yield name

    def violated_at_end(self) -> Iterator[str]:
        """Yield the properties that are violated if the trace ends here: first those that `all_violated` yields."""
        yield from (found := list(self.all_violated()))
        for invariant in self.invariants:
            if invariant.name not in found and invariant.violation() is not None:
                yield invariant.name

    def finish(self, complete: bool = True) -> list[Verdict]:
        """Return the verdicts if the trace ends here. Unless `complete`, nothing that may yet change is concluded."""
        verdicts = []
        for invariant in self.invariants:
            judged = invariant.judged()
            violation = invariant.violation()
            status: Status = "holds" if judged else "not exercised"
            if violation is not None and (complete or not invariant.inconclusive()):
                detected = self.broken.get(invariant.name)
                verdicts.append(Verdict(invariant.name, "violated", judged, _detected(violation, detected)))
                continue
            if not complete:
                status = "inconclusive"
            verdicts.append(Verdict(invariant.name, status, judged))
        return verdicts

    def settle(self) -> list[Verdict]:
        """Return the verdicts on the properties that are violated for good; these are judged no further.

        A property can cost much in a run that breaks it all the time. The witness is the least of those so far.
        """
        settled = []
        for invariant in self.invariants:
            if invariant.name in self.broken and not invariant.inconclusive():
                violation = invariant.violation()
                assert violation is not None, "nothing repairs it"
                detected = self.broken.pop(invariant.name)
                settled.append(Verdict(invariant.name, "violated", invariant.judged(), _detected(violation, detected)))
        if settled:
            over = [verdict.property for verdict in settled]
            self.invariants = [each for each in self.invariants if each.name not in over]
            self._calls = _Calls(self.invariants, self._own_calls())
        return settled

    def fork(self) -> Self:
        """Return an independent copy, to judge another continuation of the events so far.

        O(size of the properties' attributes), in C; and O(size of the record) when one of the two changes it.
        """
        copy = self._on(self.record)
        self._shares_record = copy._shares_record = True
        return copy

    def _on(self, record: Record) -> Self:
        """Return an independent copy that reads `record`."""
        copy = object.__new__(type(self))
        copy.__dict__ = self.__dict__.copy()
        copy.record, copy._shares_record = record, False
        copy.invariants = [invariant.fork(record) for invariant in self.invariants]
        copy.broken = self.broken.copy()
        return copy


class _Calls:
    """The functions to call for each event, found once for a judge and all its forks: most properties have few.

    All of them are functions, not bound, each with the index and the name of a property. `observers`: by kind of event,
    the judge's own function, called `first`, and then those of properties.
    """

    def __init__(self, invariants: Sequence[Invariant], first: Mapping[type[Event], _OwnCall]) -> None:
        self.on_link: list[_Call] = _hooks(invariants, "on_link")
        self.on_sent: list[_Call] = _hooks(invariants, "on_sent")
        self.on_position: list[_Call] = _hooks(invariants, "on_position")
        self.on_move: list[_Call] = _hooks(invariants, "on_move")
        looking: dict[type[Event], list[_Call]] = {}
        for index, invariant in enumerate(invariants):
            for kind, looks in invariant.observers().items():
                assert isinstance(looks, MethodType), "a fork calls the same method of the property's copy"
                looking.setdefault(kind, []).append((index, invariant.name, looks.__func__))
        self.observers = {kind: (first.get(kind), tuple(looking.get(kind, ()))) for kind in {**first, **looking}}


def _hooks(invariants: Sequence[Invariant], hook: str) -> list[_Call]:
    """Return this hook of each property that has it."""
    found: list[_Call] = []
    for index, kind in enumerate(type(each) for each in invariants):
        call = getattr(kind, hook)
        if call is not getattr(Invariant, hook):
            found.append((index, kind.name, call))
    return found


def _detected(violation: Violation, detected: int | None) -> Violation:
    return Violation(
        violation.property, violation.statement, violation.source, violation.summary, violation.witness, detected
    )


def _quorums(header: Header) -> Quorums:
    try:
        return quorums_of(header.quorums, header.processes)
    except ValueError as error:
        raise EventError(f"field `quorums`: {error}") from None


def judge_events(
    events: Iterable[Event], properties: Sequence[type[Invariant]], of_changes: Sequence[type[Invariant]] = ()
) -> list[Verdict]:
    """Judge a whole trace; `invariants.check` describes the roles of header and end.

    By `of_changes` as well if the header's quorum system is a configuration, which may change.
    """
    judge = Judge(properties, "per-process")
    complete = True
    for event in events:
        if isinstance(event, Header):
            quorums = _quorums(event)
            changes = of_changes if isinstance(quorums, Configuration) else ()
            judge = Judge([*properties, *changes], event.order, quorums)
            complete = False
        elif isinstance(event, End):
            if event.count != judge.count:
                raise EventError(f"field `count`: expected {judge.count}, the number of events, found {event.count}")
            complete = event.complete
        elif isinstance(event, Event):
            judge.observe(event)
        else:
            raise TypeError(f"expected an event (`invariants.trace.load` reads them from a file), found {event!r:.60}")
    return judge.finish(complete)
