"""Fold rows of a trace that say the same of one transaction after the other into fewer rows.

The *work* of a broadcast is folded: the events of each transaction, and the messages that carry it.
It is folded only while nothing else happens anywhere, and never what the witness has.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from zabcheck.counterexample.story import Flight
from zabcheck.invariants import Accept, Broadcast, ClientAck, Deliver, Event, Receive, Recover, Send, Wake, Zxid
from zabcheck.text.words import name

FEWEST = 3
"""The number of events from which on they share a row."""

Placed = tuple[int, Event]
"""The number of a line (or of an event), and what stands there."""
TraceRow = tuple[Placed, ...]
"""Events that happened at once; not empty."""
Key = tuple[type[Event], int, int, str]
"""A kind: the class of the event, its process, and for a message the other process and the message's name."""

_VERBS: Mapping[type[Event], str] = {
    Broadcast: "broadcasts",
    Accept: "accepts",
    Deliver: "delivers",
    ClientAck: "tells clients of",
}
"""The events that happen to every transaction."""
_CAUSED = (Accept, Deliver, ClientAck)
_WORK = (Broadcast, *_CAUSED)
_MESSAGES = ("PROPOSE", "PROPOSAL", "ACK", "COMMIT")
"""The messages that every transaction takes, by the paper's names and by ZooKeeper's."""


def fold(rows: Sequence[TraceRow], witness: Collection[Event]) -> Iterator[TraceRow]:
    """Yield the rows, with one for each process and kind of event where nothing but work goes on.

    Rows of the witness stay as they are. Otherwise each process keeps its own order. A row that begins with a recovery
    ends with it. O(events).
    """
    kinds = {event.message: event.kind for row in rows for _, event in row if isinstance(event, Send)}
    kept = set(witness)
    work: list[TraceRow] = []
    apart = ([(placed,) for placed in row] if _is_taken_apart(row, kinds) else [row] for row in rows)
    for row in chain.from_iterable(apart):
        if any(_key(event, kinds) is None or event in kept for _, event in row):
            yield from _folded(work, kinds)
            work = []
            yield row
        else:
            work.append(row)
    yield from _folded(work, kinds)


def is_folded(row: TraceRow) -> bool:
    """Return True if a row holds many events of one kind of work.

    Without folding, what is received begins a row of its own, so such a row can only come from `fold`.
    """
    kinds = {event.message: _MESSAGES[0] for _, event in row if isinstance(event, Receive)}
    keys = {_key(event, kinds) for _, event in row}
    return len(row) >= FEWEST and len(keys) == 1 and None not in keys


def many(events: Sequence[Event], flights: Mapping[int, Flight]) -> str:
    """Summarise a folded row in a few words."""
    match events[0], events[-1]:
        case Send() as first, Send() as last:
            return f"→ {name(first.to)} {len(events):,} {first.kind}, {first.text} to {last.text}"
        case Receive() as first, Receive() as last:
            sent = flights[first.message], flights[last.message]
            return f"← {name(first.sender)} {len(events):,} {sent[0].kind}, {sent[0].text} to {sent[1].text}"
        case (Broadcast() | Accept() | Deliver() | ClientAck()) as first, last:
            assert isinstance(last, type(first))
            return f"{_VERBS[type(first)]} {len(events):,} transactions, {first.txn.zxid} to {last.txn.zxid}"
    raise AssertionError(events[0])


def merged(flights: Iterable[Flight]) -> Iterator[Flight]:
    """Yield the flights, merging those of the same name that lead from the same row to the same row."""
    groups: dict[Flight, list[Flight]] = {}
    for flight in flights:
        groups.setdefault(replace(flight, number=0, text=""), []).append(flight)
    for group in groups.values():
        if len(group) >= FEWEST:
            yield replace(group[0], text=f"{group[0].text} to {group[-1].text}, {len(group):,} of them")
        else:
            yield from group


def _key(event: Event, kinds: Mapping[int, str]) -> Key | None:
    """Return which kind of work an event is; None if it is none."""
    if isinstance(event, _WORK):
        return type(event), event.process, 0, ""
    if isinstance(event, Send) and event.kind in _MESSAGES:
        return Send, event.process, event.to, event.kind
    if isinstance(event, Receive) and kinds.get(event.message) in _MESSAGES:
        return Receive, event.process, event.sender, kinds[event.message]
    return None


def _is_taken_apart(row: TraceRow, kinds: Mapping[int, str]) -> bool:
    """Return True if a row has to be split into events: it begins with a recovery, or holds much work."""
    if isinstance(row[0][1], Recover | Wake):
        return True
    if len(row) < FEWEST:
        return False
    counts: dict[Key, int] = {}
    for _, event in row:
        key = _key(event, kinds)
        if key is not None:
            counts[key] = counts.get(key, 0) + 1
    return max(counts.values(), default=0) >= FEWEST


def _folded(work: Sequence[TraceRow], kinds: Mapping[int, str]) -> Iterator[TraceRow]:
    """Fold rows in which nothing but work goes on. A group stands where the first of its events was."""
    groups = [group for group in _groups(list(chain.from_iterable(work)), kinds) if len(group) >= FEWEST]
    grouped = {number for group in groups for number, _ in group}
    few = [tuple(placed for placed in row if placed[0] not in grouped) for row in work]
    yield from sorted([*map(tuple, groups), *filter(None, few)], key=lambda row: row[0][0])


def _groups(work: Sequence[Placed], kinds: Mapping[int, str]) -> Iterator[list[Placed]]:
    """Yield groups of like events; each stands behind what led to it: a broadcast, or the sending of its messages."""
    stands: dict[Zxid | int, int] = {}  # a broadcast by its zxid, what led to a message by its number
    for phase in ((Broadcast,), (Accept, Deliver, ClientAck, Send), (Receive,)):
        for group in _alike([placed for placed in work if isinstance(placed[1], phase)], kinds, stands):
            for number, event in group:
                where = group[0][0] if len(group) >= FEWEST else number
                if isinstance(event, Broadcast):
                    stands[event.txn.zxid] = where
                elif isinstance(event, Send):
                    stands[event.message] = where
            yield group
        if Broadcast in phase:
            stands |= _led_to_messages(work, stands)


def _led_to_messages(work: Sequence[Placed], stands: Mapping[Zxid | int, int]) -> dict[Zxid | int, int]:
    """Return, by message, where the last of the broadcasts before its sending stands.

    A trace does not say which transaction a message is about, but its broadcast is one of these.
    """
    led: dict[Zxid | int, int] = {}
    last = 0
    for _, event in work:
        if isinstance(event, Broadcast):
            last = max(last, stands[event.txn.zxid])
        elif isinstance(event, Send):
            led[event.message] = last
    return led


def _alike(work: Iterable[Placed], kinds: Mapping[int, str], stands: Mapping[Zxid | int, int]) -> list[list[Placed]]:
    """Group events of the same kind; a group ends before an event whose cause stands behind the first of the group."""
    groups: list[list[Placed]] = []
    latest: dict[Key | None, list[Placed]] = {}
    for number, event in work:
        key = _key(event, kinds)
        if key not in latest or any(stands.get(cause, 0) > latest[key][0][0] for cause in _causes(event)):
            latest[key] = []
            groups.append(latest[key])
        latest[key].append((number, event))
    return groups


def _causes(event: Event) -> Iterable[Zxid | int]:
    if isinstance(event, _CAUSED):
        return (event.txn.zxid,)
    return (event.message,) if isinstance(event, Send | Receive) else ()
