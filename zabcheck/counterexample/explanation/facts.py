"""Look-ups in a trace: when an event happened, what each process had delivered or accepted by then, how it lost it.

Each look-up goes by the own order of one process, so it is right in merged logs too. `Facts.earlier` alone compares
events of different processes, and knows nothing where the trace has no order in time.

A history is told by its hash only (`Adopt`, `AckEpoch`, `Restore`). Which transactions are in it is found by putting
together what processes delivered and accepted; one that cannot be put together is None, and nothing is said of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from zabcheck.invariants import (
    EMPTY,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Chain,
    Crash,
    Deliver,
    Event,
    Local,
    Recover,
    Restore,
    State,
    Truncate,
    Txn,
    chain_hash,
)
from zabcheck.invariants.quorums import MAJORITY, is_configuration, weights_of
from zabcheck.invariants.record import Actor, named

_MOST_GUESSES = 5000
"""The number of sequences that are tried, in all, to find those that have a certain hash."""
_MOST_TRANSACTIONS = 100
"""The most transactions of a trace in which sequences are tried: with more it would be in vain."""

_Kind = TypeVar("_Kind", bound=Event, covariant=True)


class Place(NamedTuple, Generic[_Kind]):
    """An event, its place (the number of its step or line), and its rank among all events."""

    rank: int
    number: int
    event: _Kind


class Facts:
    """Answers questions about a trace. O(events) to build, and for each question."""

    def __init__(
        self, events: Iterable[tuple[int, Event]], unit: str = "step", ordered: bool = True, quorums: str = MAJORITY
    ) -> None:
        self.places = [Place(rank, number, event) for rank, (number, event) in enumerate(events)]
        self.unit = unit
        self.ordered = ordered
        self.quorums = quorums
        self.first: dict[Event, Place[Event]] = {}
        self.own: dict[int, list[Place[Event]]] = {}
        for place in self.places:
            self.first.setdefault(place.event, place)
            if isinstance(place.event, Local):
                self.own.setdefault(place.event.process, []).append(place)
        self._guesses = _MOST_GUESSES
        self.shows_histories = any(isinstance(place.event, Adopt | Accept) for place in self.places)

    @cached_property
    def _txns(self) -> list[Txn]:
        return list(dict.fromkeys(p.event.txn for p in self.places if isinstance(p.event, Broadcast | Deliver)))

    @cached_property
    def _known(self) -> dict[int, Chain]:
        """Each sequence that a process delivered or accepted, by its hash."""
        known = {EMPTY.hash: EMPTY}
        for process in self.own:
            self._learn(process, known)
        return known

    # When.

    def find(self, event: Event) -> Place[Event] | None:
        """Return the place where the event is first."""
        return self.first.get(event)

    def at(self, event: Event) -> str:
        """Return " at step 17" for the first place of the event; "" if it is not in the trace."""
        return self.at_place(self.first.get(event))

    def at_place(self, place: Place[Event] | None) -> str:
        return "" if place is None else f" at {self.unit} {place.number}"

    def earlier(self, one: Event | None, other: Event | None) -> bool:
        """Return True if `one` was certainly before `other`."""
        if one is None or other is None or one not in self.first or other not in self.first:
            return False
        local = isinstance(one, Local) and isinstance(other, Local) and one.process == other.process
        return (self.ordered or local) and self.first[one].rank < self.first[other].rank

    # Who.

    def who(self, event: Local) -> str:
        """Return "p1", with the incarnation if the process has several."""
        process, incarnation = event.process, event.incarnation
        return named((process, incarnation), (process, self.last_incarnation(process)))

    def weighed(self, processes: Sequence[int]) -> str:
        """Return how much weight these processes have together, behind a colon; "" where a majority is a quorum."""
        if self.quorums == MAJORITY:
            return ""
        weights = weights_of(self.quorums)
        if is_configuration(self.quorums):
            return " of the configuration that governs it"
        if weights is None:
            return f" of {self.quorums}"
        return (
            f", with {sum(weights[process - 1] for process in dict.fromkeys(processes))} of the weight {sum(weights)}"
        )

    def life(self, process: int, incarnation: int) -> str:
        """Return "up since step 9", or "down from step 9 on" for the first incarnation; "" if that is not known."""
        for place in self.of(process, Recover):
            if place.event.incarnation == incarnation:
                return f"up since {self.unit} {place.number}"
        for down in self.of(process, Crash):
            if down.event.incarnation == incarnation:
                return f"down from {self.unit} {down.number} on"
        return ""

    def by_full_name(self) -> dict[str, Actor]:
        """Return all incarnations, by the name each has if its process has several."""
        actors = ((each.event.process, each.event.incarnation) for each in self.places if isinstance(each.event, Local))
        return {named(actor, (actor[0], -1)): actor for actor in dict.fromkeys(actors)}

    def last_incarnation(self, process: int) -> int:
        return max((p.event.incarnation for p in self.of(process, Local)), default=0)

    # What.

    def all(self, kind: type[_Kind]) -> list[_Kind]:
        """Return the events of a kind, in order."""
        return [place.event for place in self.places if isinstance(place.event, kind)]

    def of(self, process: int, kind: type[_Kind]) -> list[Place[_Kind]]:
        """Return the events of a kind at a process, in order, with their places."""
        own: Sequence[Place[Any]] = self.own.get(process, ())
        return list(own) if kind is Local else [place for place in own if isinstance(place[2], kind)]

    def broadcast(self, txn: Txn) -> Broadcast | None:
        """Return the first broadcast of `txn`."""
        return next((event for event in self.all(Broadcast) if event.txn == txn), None)

    def delivery(self, process: int, incarnation: int, txn: Txn, before: int | None = None) -> Place[Local] | None:
        """Return where this incarnation first delivered `txn`, or took it over, at a rank below `before`."""
        own = (place for place in self.of(process, Local) if _is_before(place.rank, before))
        return next((p for p in own if p.event.incarnation == incarnation and self._brings(p.event, txn)), None)

    def earlier_delivery(self, event: Local, txn: Txn, before: int | None) -> Place[Local] | None:
        """Return where the latest of the earlier incarnations that delivered `txn` first did so."""
        latest: Place[Local] | None = None
        for place in self.of(event.process, Local):
            incarnation = place.event.incarnation
            if incarnation >= event.incarnation or not _is_before(place.rank, before):
                continue
            if (latest is None or latest.event.incarnation < incarnation) and self._brings(place.event, txn):
                latest = place
        return latest

    def _brings(self, event: Event, txn: Txn) -> bool:
        if isinstance(event, Restore):
            return txn in (self.resolved(event) or ())
        return isinstance(event, Deliver) and event.txn == txn

    def incarnations(self, process: int) -> list[int]:
        """Return the incarnations that the trace shows, the last first; there may be gaps of any size between them."""
        return sorted({place.event.incarnation for place in self.of(process, Local)}, reverse=True)

    def delivered(self, process: int, incarnation: int, before: int | None = None) -> list[Txn]:
        """Return what this incarnation delivered, each once, with what its last snapshot brought if that is known."""
        found: dict[Txn, None] = {}
        for place in self._before(process, before):
            event = place.event
            if isinstance(event, Restore) and event.incarnation == incarnation:
                found = dict.fromkeys(self.resolved(event) or ())
            elif isinstance(event, Deliver) and event.incarnation == incarnation:
                found[event.txn] = None
        return list(found)

    def applied(self, event: State) -> list[Txn]:
        """Return what led to this state: the deliveries of the incarnation after its last snapshot, with repeats."""
        found: list[Txn] = []
        place = self.find(event)
        for each in self._before(event.process, None if place is None else place.rank):
            if isinstance(each.event, Restore) and each.event.incarnation == event.incarnation:
                found = list(self.resolved(each.event) or ())
            elif isinstance(each.event, Deliver) and each.event.incarnation == event.incarnation:
                found.append(each.event.txn)
        return found

    def history(self, process: int, before: int | None = None) -> Chain | None:
        """Return the durable history of a process, by what it adopted and accepted; None if that is not known."""
        if not self.shows_histories:
            return None
        history: Chain | None = EMPTY
        for place in self._before(process, before):
            if isinstance(place.event, Adopt):
                history = self.resolved(place.event)
            elif isinstance(place.event, Accept) and history is not None:
                history = history.append(place.event.txn)
        return history

    def acceptance(self, process: int, txn: Txn, before: int | None = None) -> Place[Accept] | None:
        """Return where the process first accepted a proposal of `txn`."""
        return next((a for a in self.of(process, Accept) if a.event.txn == txn and _is_before(a.rank, before)), None)

    def truncation(self, process: int, txn: Txn, before: int | None = None) -> Place[Truncate] | None:
        """Return where the process dropped `txn` again after it had accepted it."""
        accepted = self.acceptance(process, txn, before)
        if accepted is None:
            return None
        for found in self.of(process, Truncate):
            if accepted.rank < found.rank and _is_before(found.rank, before) and found.event.zxid < txn.zxid:
                return found
        return None

    def acquisition(self, process: int, txn: Txn, after: int | None) -> Place[Local] | None:
        """Return where the process accepted `txn`, by itself or within an initial history, after rank `after`."""
        for place in self.of(process, Local):
            if after is None or place.rank <= after:
                continue
            event = place.event
            if isinstance(event, Accept) and event.txn == txn:
                return place
            if isinstance(event, Adopt) and txn in (self.resolved(event) or ()):
                return place
        return None

    def resolved(self, event: Adopt | AckEpoch | Restore) -> Chain | None:
        """Return the sequence that the event tells by its hash; None if it is not known."""
        known = self._known.get(event.hash)
        if known is None:
            known = self._guess(event.hash, event.length)
        return known if known is not None and (known.length, known.zxid) == (event.length, event.zxid) else None

    def _before(self, process: int, before: int | None) -> Iterator[Place[Event]]:
        return (place for place in self.own.get(process, ()) if _is_before(place.rank, before))

    def _learn(self, process: int, known: dict[int, Chain]) -> None:
        """Add each sequence that this process delivered or accepted to the `known` ones."""
        delivered: dict[int, Chain | None] = {}
        history: Chain | None = EMPTY
        for place in self.own[process]:
            event = place.event
            if isinstance(event, Deliver):
                at = delivered.get(event.incarnation, EMPTY)
                delivered[event.incarnation] = None if at is None else _appended(known, at, event.txn)
            elif isinstance(event, Restore):
                delivered[event.incarnation] = known.get(event.hash)
            elif isinstance(event, Accept):
                history = None if history is None else _appended(known, history, event.txn)
            elif isinstance(event, Adopt):
                history = known.get(event.hash)

    def _guess(self, wanted: int, length: int) -> Chain | None:
        """Try the known sequences with some of the transactions of the trace behind them, the longest first."""
        if len(self._txns) > _MOST_TRANSACTIONS:
            return None
        waiting = sorted((c for c in self._known.values() if c.length < length), key=lambda c: (c.length, c.hash))
        while waiting:
            chain = waiting.pop()
            for txn in self._txns:
                if not self._guesses:
                    return None
                self._guesses -= 1
                if chain.length + 1 < length:
                    waiting.append(chain.append(txn))
                elif chain_hash(chain.hash, txn) == wanted:
                    return _appended(self._known, chain, txn)
        return None


def _appended(known: dict[int, Chain], chain: Chain, txn: Txn) -> Chain:
    """Return the chain with `txn` after it, which becomes one of the `known` ones."""
    chain = chain.append(txn)
    return known.setdefault(chain.hash, chain)


def _is_before(rank: int, before: int | None) -> bool:
    return before is None or rank < before
