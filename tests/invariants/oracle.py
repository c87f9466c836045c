"""The properties of DSN 2011, III-A by brute force: each sentence read word for word, over all tuples it speaks of.

Nothing here is incremental, clever or shared with the package: of that, only the event classes and the published
chain hash are used. Each function gives the status and the canonical witness, the least of *all* violating tuples.

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
                        exercised = True
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
    return _finding(len(segments) > 1, violating)


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
    return _finding(any(sequence for _, sequence in reading.segments), violating)


ORACLES: dict[str, Callable[[Reading], Finding]] = {
    "integrity": integrity,
    "total order": total_order,
    "agreement": agreement,
    "local primary order": local_primary_order,
    "global primary order": global_primary_order,
    "primary integrity": primary_integrity,
    "clock": clock,
}
