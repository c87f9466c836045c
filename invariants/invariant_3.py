"""Invariant 3 (DSN 2011, VI-B).

    In phase 1, before a follower f provides its history as the initial history of epoch e, it promises not to accept
    proposals from the leader of any epoch e' < e.

A promise is durable, and holds for the incarnations to come. It has to be made before, and it has to be kept: after it
the follower neither accepts a proposal of an epoch
e' < e nor adopts an initial history of one.

Detection: the highest `Promise` of each process. Only the order of a process's own events matters.

Witness: the `AckEpoch` that no promise of its epoch or a later one precedes; or the first of the highest promises, and
the `Accept` or `Adopt` that breaks it. Least by (epoch, zxid, process, incarnation) of the last of these, first in
its process. Exercised by: an `AckEpoch`, or an `Accept` or `Adopt` after a promise. Cost: O(1) an event; memory
O(processes).

In an incomplete trace an incarnation may lack its last lines, and so the promise that a later one relies on: an
`AckEpoch` without one is a certain violation only in incarnation 0. A broken promise is always one.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Accept, AckEpoch, Adopt, Event, Promise
from zabcheck.invariants.record import Record


class Invariant3(Invariant):
    name = "invariant 3"
    statement = (
        "In phase 1, before a follower f provides its history as the initial history of epoch e, it promises not to "
        "accept proposals from the leader of any epoch e' < e."
    )
    source = "DSN 2011, VI-B"
    group = "protocol"
    looks_at = (Promise, AckEpoch, Accept, Adopt)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.cases = 0
        self.promised: dict[int, Promise] = {}  # by process: the highest
        self.least: tuple[AckEpoch | Accept | Adopt, Promise | None] | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Promise: self._promise, AckEpoch: self._ack_epoch, Accept: self._keeps, Adopt: self._keeps}

    def _promise(self, event: Promise) -> bool:
        highest = self.promised.get(event.process)
        if highest is None or event.epoch > highest.epoch:
            self.promised[event.process] = event
        return False

    def _ack_epoch(self, event: AckEpoch) -> bool:
        self.cases += 1
        promise = self.promised.get(event.process)
        return (promise is None or promise.epoch < event.epoch) and self._found(event, None)

    def _keeps(self, event: Accept | Adopt) -> bool:
        promise = self.promised.get(event.process)
        if promise is None:
            return False
        self.cases += 1
        return event.epoch < promise.epoch and self._found(event, promise)

    def _found(self, event: AckEpoch | Accept | Adopt, promise: Promise | None) -> bool:
        if self.least is None or _rank(event) < _rank(self.least[0]):
            self.least = event, promise
        return True

    def judged(self) -> int:
        return self.cases

    def inconclusive(self) -> bool:
        return self.least is not None and self.least[1] is None and self.least[0].incarnation > 0

    def violation(self) -> Violation | None:
        if self.least is None:
            return None
        event, promise = self.least
        if promise is None:
            return self._violation(
                f"p{event.process} provided its history for epoch {event.epoch} without having promised that epoch",
                event,
            )
        what = event.txn if isinstance(event, Accept) else "the initial history"
        return self._violation(
            f"p{event.process} accepted {what} of epoch {event.epoch} after it had promised epoch {promise.epoch}",
            promise,
            event,
        )


def _rank(event: AckEpoch | Accept | Adopt) -> tuple[Any, ...]:
    zxid = event.txn.zxid if isinstance(event, Accept) else event.zxid
    return event.epoch, zxid, event.process, event.incarnation
