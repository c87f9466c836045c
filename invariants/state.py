"""State: replicas that applied equally many transactions are in the same state (DSN 2011, I and II).

That is the purpose of the broadcast: a primary turns each request into a state change, and every backup that applies
the same changes in the same order has the same state. So this property sees a divergence in values, whatever caused it:
the broadcast, or an application that applied something else than it delivered, or in another way.

Detection: one look-up by length. Witness: at the least length with two digests, the least event by (process,
incarnation, digest, zxid, text), and the least with another digest. Exercised by: two `State` events of one length.
Cost: O(1) an event; memory O(lengths).
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Event, State
from zabcheck.invariants.record import Record, named


class SameState(Invariant):
    name = "state"
    statement = "Processes that have applied equally many transactions are in the same state."
    source = "after DSN 2011, I and II: primary-backup"
    group = "application"
    looks_at = (State,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.compared = 0
        self.least: dict[int, State] = {}  # by length: the least of the first digest
        self.others: dict[tuple[int, int], State] = {}  # by length and digest: the least of each other digest
        self.lowest: int | None = None  # the least length with two digests

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {State: self._state}

    def _state(self, event: State) -> bool:
        known = self.least.get(event.length)
        if known is None:
            self.least[event.length] = event
            return False
        self.compared += 1
        if known.digest == event.digest:
            if event.process <= known.process and _rank(event) < _rank(known):
                self.least[event.length] = event
            return False
        other = self.others.get((event.length, event.digest), event)
        self.others[event.length, event.digest] = min(other, event, key=_rank)
        if self.lowest is None or event.length < self.lowest:
            self.lowest = event.length
        return True

    def judged(self) -> int:
        return self.compared

    def violation(self) -> Violation | None:
        if self.lowest is None:
            return None
        others = [event for (length, _), event in self.others.items() if length == self.lowest]
        first, second = sorted([self.least[self.lowest], *others], key=_rank)[:2]
        count = "1 transaction" if self.lowest == 1 else f"{self.lowest} transactions"
        one, other = (first.process, first.incarnation), (second.process, second.incarnation)
        return self._violation(
            f"after {count} {named(one, other)} has {_content(first)}, and {named(other, one)} has {_content(second)}",
            first,
            second,
        )


def _content(event: State) -> str:
    return event.text or f"state {event.digest:x}"


def _rank(event: State) -> tuple[Any, ...]:
    return event.process, event.incarnation, event.digest, event.zxid, event.text
