"""The properties of DSN 2011, III and LADIS 2008, 2 by brute force.

Each sentence is read word for word, over all tuples that it speaks of.

A function is named after its property: `tests.invariants.by_property` finds it. Nothing here is incremental, clever or
shared with the package: of that, only the event classes and the published chain hash are used. Each function gives the
status and the canonical witness, the least of *all* violating tuples.

A process of the paper is a *segment* here: one incarnation of a process, begun anew at each `Restore` with the prefix
that was taken over, if that is a prefix of what some segment delivered. If it is not, the segment is judged by
integrity alone. Of repeated deliveries in a segment, and of repeated broadcasts by one primary, the first counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from invariants import NO_ZXID, Broadcast, Deliver, Event, Restore, Txn, Zxid, chain_hash

Finding = tuple[str, tuple[Event, ...] | None]
Actor = tuple[int, int]


@dataclass
class Segment:
    """One process of the paper: who, what it took over, and what it did after that."""

    actor: Actor
    restore: Restore | None = None
    did: list[Txn | Broadcast] = field(default_factory=list)
    prefix: tuple[Txn, ...] | None = None  # None: not on record

    def sequence(self, steps: int | None = None) -> tuple[Txn, ...]:
        """The first deliveries, in order, up to a number of steps."""
        own = [step for step in self.did[:steps] if isinstance(step, Txn)]
        return tuple(dict.fromkeys([*(self.prefix or ()), *own]))

    def own(self) -> tuple[Txn, ...]:
        """The transactions among these that it delivered itself."""
        return self.sequence()[len(self.prefix or ()) :]


@dataclass
class Cast:
    """The first broadcast of a transaction by a primary, and what the primary had delivered by then."""

    event: Broadcast
    had: tuple[Txn, ...] | None  # None: it went on from a prefix that is not on record

    @property
    def txn(self) -> Txn:
        return self.event.txn

    @property
    def primary(self) -> tuple[int, int, int]:
        return self.event.epoch, self.event.process, self.event.incarnation


class Reading:
    """A trace, taken apart into segments and casts."""

    def __init__(self, events: Iterable[Event], order: str = "global") -> None:
        self.events = list(events)
        self.order = order
        self.all_segments = _segments(self.events)
        _resolve(self.all_segments)
        self.unmatched = [s for s in self.all_segments if s.prefix is None]
        self.segments = [(s.actor, s.sequence()) for s in self.all_segments if s.prefix is not None]
        self.places = [{txn: i for i, txn in enumerate(sequence)} for _, sequence in self.segments]
        self.casts = _casts(self.events, self.all_segments)

    def delivering(self) -> list[tuple[Actor, dict[Txn, int]]]:
        """Each segment with the place of every transaction in what it delivered."""
        return [(actor, place) for (actor, _), place in zip(self.segments, self.places, strict=True)]


def _segments(events: Sequence[Event]) -> list[Segment]:
    segments: list[Segment] = []
    current: dict[Actor, Segment] = {}
    for event in events:
        if not isinstance(event, Broadcast | Deliver | Restore):
            continue
        actor = event.process, event.incarnation
        if isinstance(event, Restore) or actor not in current:
            current[actor] = Segment(actor, event if isinstance(event, Restore) else None)
            segments.append(current[actor])
        if isinstance(event, Deliver):
            current[actor].did.append(event.txn)
        elif isinstance(event, Broadcast):
            current[actor].did.append(event)
    return segments


def _resolve(segments: list[Segment]) -> None:
    """Give each segment the prefix that it took over, as long as more of them turn out to be on record."""
    on_record: dict[tuple[int, int, Zxid], tuple[Txn, ...]] = {(0, 0, NO_ZXID): ()}
    waiting = list(segments)
    progress = True
    while progress:
        progress = False
        for segment in list(waiting):
            taken = segment.restore
            prefix = () if taken is None else on_record.get((taken.length, taken.hash, taken.zxid))
            if prefix is None:
                continue
            segment.prefix = prefix
            waiting.remove(segment)
            progress = True
            value = 0
            sequence = segment.sequence()
            for length, txn in enumerate(sequence, 1):
                value = chain_hash(value, txn)
                on_record[length, value, txn.zxid] = sequence[:length]


def _casts(events: Sequence[Event], segments: list[Segment]) -> list[Cast]:
    """The casts in the order of the trace."""
    had: dict[int, tuple[Txn, ...] | None] = {}
    for segment in segments:
        for step, done in enumerate(segment.did):
            if isinstance(done, Broadcast):
                had[id(done)] = None if segment.prefix is None else segment.sequence(step)
    casts: dict[tuple[int, int, int, Txn], Cast] = {}
    for event in events:
        if isinstance(event, Broadcast):
            key = event.epoch, event.process, event.incarnation, event.txn
            casts.setdefault(key, Cast(event, had[id(event)]))
    return list(casts.values())


def _finding(exercised: bool, violating: Mapping[Any, tuple[Event, ...]]) -> Finding:
    if violating:
        return "violated", violating[min(violating)]
    return ("holds" if exercised else "not exercised"), None


def integrity(reading: Reading) -> Finding:
    """If some process delivers x, then some process has broadcast x; what is taken over was delivered by someone."""
    broadcast = {cast.txn for cast in reading.casts}
    sequences = reading.segments + [(s.actor, s.sequence()) for s in reading.unmatched]
    delivered = {(txn, actor): (Deliver(*actor, txn),) for actor, sequence in sequences for txn in sequence}
    violating = {key: witness for key, witness in delivered.items() if key[0] not in broadcast}
    if not violating:
        taken = [s.restore for s in reading.unmatched if s.restore is not None]
        return _finding(bool(delivered), {(r.zxid, r.process, r.incarnation, r.length, r.hash): (r,) for r in taken})
    return _finding(True, violating)


def total_order(reading: Reading) -> Finding:
    """If some p delivers a before b, then any q that delivers b must also deliver a, and deliver it before b."""
    own_deliveries = [txn for segment in reading.all_segments if segment.prefix is not None for txn in segment.own()]
    exercised = False
    found: dict[tuple[Txn, Txn, Actor, Actor], bool] = {}
    segments = reading.delivering()
    for i, (p, own) in enumerate(segments):
        for j, (q, other) in enumerate(segments):
            if i == j:
                continue
            for b in own:
                if b not in other:
                    continue
                for a in own:
                    if own[a] < own[b]:
                        exercised = exercised or own_deliveries.count(b) > 1
                        if a not in other or other[a] > other[b]:
                            found[b, a, p, q] = found.get((b, a, p, q), False) or a in other
    witnesses: dict[Any, tuple[Event, ...]] = {
        (b, a, p, q): (Deliver(*p, a), Deliver(*p, b), Deliver(*q, b), *([Deliver(*q, a)] if later else []))
        for (b, a, p, q), later in found.items()
    }
    return _finding(exercised, witnesses)


def agreement(reading: Reading) -> Finding:
    """If p delivers a and q delivers b, then either p delivers b or q delivers a."""
    violating: dict[Any, tuple[Event, ...]] = {}
    segments = [(actor, place) for actor, place in reading.delivering() if place]
    for p, own in segments:
        for q, other in segments:
            for a in own:
                for b in other:
                    if a < b and b not in own and a not in other:
                        violating[a, p, b, q] = Deliver(*p, a), Deliver(*q, b)
    delivering = [segment for segment in reading.all_segments if segment.prefix is not None and segment.own()]
    return _finding(len(delivering) > 1, violating)


def local_primary_order(reading: Reading) -> Finding:
    """If a primary broadcasts a before b, then a process that delivers b must also deliver a before b."""
    exercised = False
    found: dict[tuple[Txn, Actor, Txn, tuple[int, int, int]], tuple[Cast, Cast, bool]] = {}
    for index, second in enumerate(reading.casts):
        for first in reading.casts[:index]:
            if first.primary != second.primary:
                continue
            a, b = first.txn, second.txn
            for p, place in reading.delivering():
                if b not in place:
                    continue
                exercised = True
                if a not in place or place[a] > place[b]:
                    key = b, p, a, first.primary
                    later = key in found and found[key][2]
                    found[key] = first, second, later or a in place
    witnesses: dict[Any, tuple[Event, ...]] = {
        (b, p, a, rho): (first.event, second.event, Deliver(*p, b), *([Deliver(*p, a)] if later else []))
        for (b, p, a, rho), (first, second, later) in found.items()
    }
    return _finding(exercised, witnesses)


def global_primary_order(reading: Reading) -> Finding:
    """If ρ_i broadcasts a, a later ρ_j broadcasts b, and a process delivers both, then it delivers a before b."""
    exercised = False
    violating: dict[Any, tuple[Event, ...]] = {}
    for first in reading.casts:
        for second in reading.casts:
            a, b = first.txn, second.txn
            if first.event.epoch >= second.event.epoch or a == b:
                continue
            for p, place in reading.delivering():
                if a in place and b in place:
                    exercised = True
                    if place[b] < place[a]:
                        key = a, b, p, first.primary, second.primary
                        violating[key] = first.event, second.event, Deliver(*p, b), Deliver(*p, a)
    return _finding(exercised, violating)


def primary_integrity(reading: Reading) -> Finding:
    """If ρ_e broadcasts b, and some process delivers a that a ρ_e', e' < e, broadcast, ρ_e delivers a before that."""
    exercised = False
    violating: dict[Any, tuple[Event, ...]] = {}
    for cast in reading.casts:
        if cast.had is None:
            continue
        for older in reading.casts:
            a = older.txn
            if older.event.epoch >= cast.event.epoch:
                continue
            for p, place in reading.delivering():
                if a in place:
                    exercised = True
                    if a not in cast.had:
                        key = cast.txn, cast.primary, a, p, older.primary
                        violating[key] = older.event, cast.event, Deliver(*p, a)
    return _finding(exercised, violating)


def clock(reading: Reading) -> Finding:
    """In the order of time, x is broadcast before it is on record that a process delivered it."""
    if reading.order != "global":
        return "not exercised", None
    violating: dict[Any, tuple[Event, ...]] = {}
    broadcast: set[Txn] = set()
    for number, event in enumerate(reading.events):
        if isinstance(event, Broadcast) and event.txn not in broadcast:
            broadcast.add(event.txn)
            for actor, sequence in Reading(reading.events[:number]).segments:
                if event.txn in sequence:
                    violating[event.txn, actor] = Deliver(*actor, event.txn), event
    return _finding(any(txn in broadcast for _, sequence in reading.segments for txn in sequence), violating)


@dataclass
class Precedence:
    """`before` is an event that shows that `x` PO-precedes what `cast` broadcast, without anything in between."""

    x: Txn
    cast: Cast
    rule: int  # 1: an earlier broadcast of the same primary, 2: a delivery at its process
    before: Broadcast | Deliver

    @property
    def key(self) -> Any:
        return self.x, self.cast.primary, self.rule, self.before.incarnation


def _same_primary(first: Cast, later: Cast) -> bool:
    return first.primary == later.primary


def _same_process(first: Cast, later: Cast) -> bool:
    return first.event.process == later.event.process


def _immediate(reading: Reading, goes_on: Callable[[Cast, Cast], bool] = _same_primary) -> list[Precedence]:
    """x precedes y without a step in between; both were broadcast. A broadcast does if a later one `goes_on`."""
    broadcast = {cast.txn for cast in reading.casts}
    found = []
    for index, cast in enumerate(reading.casts):
        own = [first for first in reading.casts[:index] if goes_on(first, cast) and first.txn != cast.txn]
        found += [Precedence(first.txn, cast, 1, first.event) for first in own]
        for incarnation, sequence in _had_in_any_incarnation(reading, cast):
            known = [x for x in sequence if x in broadcast and x != cast.txn]
            found += [Precedence(x, cast, 2, Deliver(cast.event.process, incarnation, x)) for x in known]
    return found


def _had_in_any_incarnation(reading: Reading, cast: Cast) -> list[tuple[int, tuple[Txn, ...]]]:
    """Return what the process had delivered when it broadcast, in each of its segments so far."""
    had = []
    for segment in reading.all_segments:
        process, incarnation = segment.actor
        if process == cast.event.process:
            if any(done is cast.event for done in segment.did):
                return had if cast.had is None else [*had, (incarnation, cast.had)]
            if segment.prefix is not None:
                had.append((incarnation, segment.sequence()))
    raise AssertionError("a broadcast is in some segment")


def _closure(pairs: Iterable[tuple[Txn, Txn]]) -> set[tuple[Txn, Txn]]:
    closure = set(pairs)
    while True:
        more = {(x, z) for x, y in closure for y2, z in closure if y == y2} - closure
        if not more:
            return closure
        closure |= more


def po_causal_order(reading: Reading) -> Finding:
    """If x ≺_PO y and a process delivers y, it must also deliver x before y; the witness has an immediate pair."""
    return _preceded(reading, _immediate(reading))


def full_causal_order(reading: Reading) -> Finding:
    """Definition III.1: the same of ≺_c, where any earlier broadcast of the process precedes a later one."""
    return _preceded(reading, _immediate(reading, _same_process))


def _preceded(reading: Reading, immediate: list[Precedence]) -> Finding:
    exercised = any(each.cast.txn in place for each in immediate for _, place in reading.delivering())
    found: dict[Any, tuple[Precedence, bool]] = {}
    for each in immediate:
        x, y = each.x, each.cast.txn
        for p, place in reading.delivering():
            if y in place and (x not in place or place[x] > place[y]):
                key = y, p, each.key
                first, later = found.get(key, (each, False))
                found[key] = first, x in place or later
    closure = _closure((each.x, each.cast.txn) for each in immediate)
    broken = any(
        y in place and (x not in place or place[x] > place[y])
        for x, y in closure
        if x != y
        for _, place in reading.delivering()
    )
    assert broken == bool(found)
    witnesses: dict[Any, tuple[Event, ...]] = {
        (y, p, key): (each.before, each.cast.event, Deliver(*p, y), *([Deliver(*p, each.x)] if later else []))
        for (y, p, key), (each, later) in found.items()
    }
    return _finding(exercised, witnesses)


def strict_causality(reading: Reading) -> Finding:
    """If a process delivers x and y, both broadcast, then x ≺_PO y or y ≺_PO x."""
    exercised = False
    violating: dict[Any, tuple[Event, ...]] = {}
    closure = _closure((each.x, each.cast.txn) for each in _immediate(reading))
    for first in reading.casts:
        for second in reading.casts:
            x, y = first.txn, second.txn
            for p, place in reading.delivering():
                if x < y and x in place and y in place:
                    exercised = True
                    if (x, y) not in closure and (y, x) not in closure:
                        key = x, y, p, first.primary, second.primary
                        violating[key] = first.event, second.event, Deliver(*p, x), Deliver(*p, y)
    return _finding(exercised, violating)


def prefix(reading: Reading) -> Finding:
    """If a process delivers m, it delivers every message that the leader proposed before m."""
    exercised = False
    violating: dict[Any, tuple[Event, ...]] = {}
    for index, second in enumerate(reading.casts):
        for first in reading.casts[:index]:
            if first.primary != second.primary:
                continue
            a, m = first.txn, second.txn
            for p, place in reading.delivering():
                if m in place:
                    exercised = True
                    if a not in place:
                        violating[m, p, a, first.primary] = first.event, second.event, Deliver(*p, m)
    return _finding(exercised, violating)


def causal_order(reading: Reading) -> Finding:
    """If one server proposes a before b, or a is of a lower epoch, and a process delivers both, then a before b."""
    exercised = False
    violating: dict[Any, tuple[Event, ...]] = {}
    own: dict[int, list[Cast]] = {}
    for cast in reading.casts:
        own.setdefault(cast.event.process, []).append(cast)
    for first in reading.casts:
        for second in reading.casts:
            a, b = first.txn, second.txn
            server = own[first.event.process]
            before = second in server and server.index(first) < server.index(second)
            if a == b or not (before or first.event.epoch < second.event.epoch):
                continue
            for p, place in reading.delivering():
                if a in place and b in place:
                    exercised = True
                    if place[b] < place[a]:
                        key = a, b, p, first.primary, second.primary
                        violating[key] = first.event, second.event, Deliver(*p, b), Deliver(*p, a)
    return _finding(exercised, violating)


def redelivery(reading: Reading) -> Finding:
    """After z again, or a snapshot up to z, a process goes back, or on to what it first delivered directly after z.

    It goes back with what it has delivered before, and first delivered before the successor of z, or with what has a
    lower zxid than z.
    """
    exercised = False
    violating: dict[Any, tuple[Event, ...]] = {}
    for process in {segment.actor[0] for segment in reading.all_segments}:
        steps = _steps([event for event in reading.events if getattr(event, "process", None) == process])
        for place, step in enumerate(steps):
            if step.then.txn.zxid < step.z.zxid:
                continue
            successors = [each.then for each in steps[:place] if each.z == step.z and _is_forward(each)]
            if not successors:
                continue
            successor = successors[0]
            since = step.had.index(successor.txn)
            if step.then.txn in step.had[:since]:
                continue
            exercised = True
            key = step.z, process, step.then.incarnation
            if step.then.txn != successor.txn and key not in violating:
                first = Deliver(process, successor.incarnation, step.z)
                violating[key] = first, successor, step.after, step.then
    return _finding(exercised, violating)


def _is_forward(step: "Step") -> bool:
    return step.then.txn not in step.had and step.then.txn.zxid >= step.z.zxid


@dataclass
class Step:
    """A process came to z by `after`, and right after that delivered something else, when it `had` delivered these."""

    z: Txn
    after: Deliver | Restore
    then: Deliver
    had: list[Txn]  # in the order of the first deliveries


def _steps(events: Sequence[Event]) -> list[Step]:
    """Return the steps of one process, in its order."""
    steps = []
    for place, then in enumerate(events):
        if not isinstance(then, Deliver):
            continue
        own = [e for e in events[:place] if isinstance(e, Deliver | Restore) and e.incarnation == then.incarnation]
        if not own:
            continue
        z = _came_to(own[-1], events)
        if z is None or z == then.txn:
            continue
        # Of a transaction delivered several times in a row, the first counts.
        since = len(own) - 1
        while isinstance(own[since], Deliver) and since and _came_to(own[since - 1], events) == z:
            since -= 1
        had = list(dict.fromkeys(e.txn for e in events[:place] if isinstance(e, Deliver)))
        steps.append(Step(z, own[since], then, had))
    return steps


def _came_to(event: Deliver | Restore, events: Sequence[Event]) -> Txn | None:
    """Return the transaction delivered, or the only one of the snapshot's zxid that the process had delivered."""
    if isinstance(event, Deliver):
        return event.txn
    place = next(i for i, each in enumerate(events) if each is event)
    found = {e.txn for e in events[:place] if isinstance(e, Deliver) and e.txn.zxid == event.zxid}
    return found.pop() if len(found) == 1 and event.length else None
