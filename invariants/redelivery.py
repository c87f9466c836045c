"""Redelivery (LADIS 2008, 2).

    If message a is delivered before message b at a process, and after a failure a is redelivered, b will also be
    redelivered after a.

It speaks of one process and all its incarnations, so it is judged on the deliveries as they are in the trace, repeats
included. What a process delivered directly after a, in one incarnation, the first time that anything followed a there,
is the successor of a. Whenever it delivers a again, or takes over a snapshot up to a by a `Restore`, and delivers
anything more in that incarnation, the next has to be the successor of a, if it has one. So everything after a follows
again, in the order of the first time, as far as the process gets.

A snapshot is up to a if its zxid is that of a, and of nothing else that the process has delivered. After a snapshot of
something that it has not delivered, or of nothing, and at the start of an incarnation, anything may come first. A
transaction delivered twice in a row is taken as delivered once.

Detection: in the order of the process, at the delivery that is wrong.

Witness, with the process p: p delivers a, p delivers its successor, p delivers a again (or the `Restore`), p delivers
something else; least by (a, p, incarnation), the first of an incarnation. In the incarnation in which the successor
came first, a may have been taken over. Exercised by: a delivery after a repeat of what has a successor.
Cost: O(1) an event; memory O(distinct transactions) for each process.
"""

from collections.abc import Callable
from typing import Any

from invariants.base import Invariant, Violation
from invariants.events import Deliver, Event, Restore, Txn, Zxid
from invariants.record import Record


class Redelivery(Invariant):
    name = "redelivery"
    statement = (
        "If message a is delivered before message b at a process, and after a failure a is redelivered, b will also be "
        "redelivered after a."
    )
    source = "LADIS 2008, 2"
    group = "ladis"

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.repeats = 0
        self.last: dict[int, Deliver] = {}  # by process; a snapshot is noted as a delivery of what it is up to
        self.restored: dict[int, Restore] = {}  # the processes whose last of these was a snapshot
        self.successors: dict[int, dict[Txn, Deliver]] = {}  # by process and transaction
        self.values: dict[int, dict[Zxid, Txn | None]] = {}  # by process; None if there are several
        self.least: tuple[tuple[Txn, int, int], tuple[Deliver, Deliver, Deliver | Restore, Deliver]] | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Deliver: self.deliver, Restore: self.restore}

    def deliver(self, event: Deliver) -> bool:
        process, txn = event.process, event.txn
        last = self.last.get(process)
        if last is None or last.incarnation != event.incarnation:
            self.successors.setdefault(process, {})
            self._note(event)
            return False
        before = last.txn
        if before == txn:
            return False
        successors = self.successors[process]
        successor = successors.get(before)
        if successor is None:
            successors[before] = event
            self._note(event)
            return False
        self.repeats += 1
        if successor.txn == txn:  # noted when it came first
            self.last[process] = event
            self.restored.pop(process, None)
            return False
        self._break(last, successor, event)
        self._note(event)
        return True

    def _note(self, event: Deliver) -> None:
        """The process has come to this, perhaps for the first time."""
        process, txn = event.process, event.txn
        self.last[process] = event
        self.restored.pop(process, None)
        values = self.values.setdefault(process, {})
        if values.setdefault(txn.zxid, txn) != txn:
            values[txn.zxid] = None

    def restore(self, event: Restore) -> bool:
        process = event.process
        self.last.pop(process, None)
        self.restored.pop(process, None)
        up_to = self.values.get(process, {}).get(event.zxid)
        if up_to is not None and event.length:
            self.last[process] = Deliver(process, event.incarnation, up_to)
            self.restored[process] = event
        return False

    def _break(self, last: Deliver, successor: Deliver, wrong: Deliver) -> None:
        process, a = wrong.process, last.txn
        key = a, process, wrong.incarnation
        if self.least is None or key < self.least[0]:
            again: Deliver | Restore = self.restored.get(process, last)
            self.least = key, (Deliver(process, successor.incarnation, a), successor, again, wrong)

    def judged(self) -> int:
        return self.repeats

    def violation(self) -> Violation | None:
        if self.least is None:
            return None
        (a, process, _), witness = self.least
        _, successor, again, wrong = witness
        did = "took over a snapshot up to" if isinstance(again, Restore) else "had delivered"
        return self._violation(
            f"p{process} delivered {successor.txn} directly after {a}, but {wrong.txn} after it {did} {a} again",
            *witness,
        )

    def fork(self, record: Record) -> "Redelivery":
        copy = super().fork(record)
        assert isinstance(copy, Redelivery)
        copy.successors = {process: each.copy() for process, each in self.successors.items()}
        copy.values = {process: each.copy() for process, each in self.values.items()}
        return copy
