"""Redelivery (LADIS 2008, 2).

    If message a is delivered before message b at a process, and after a failure a is redelivered, b will also be
    redelivered after a.

It speaks of one process and all its incarnations, so it is judged on the deliveries as they are in the trace, repeats
included. The successor of a is the first transaction that the process delivered directly after a, going forward: in one
incarnation, with no lower zxid, and never delivered by the process before. Transactions are ordered by their
first delivery at the process.

Going back is always allowed: a process may begin to deliver again at any time, with a transaction that it has delivered
before or that has a lower zxid (a snapshot may have brought it), in the same incarnation too (step f.2.2 of DSN 2011
delivers the whole initial history) and after a snapshot that is ahead of the next delivery. Going forward, nothing
may be left out. Whenever the process delivers a again, or takes over a snapshot up to a by a `Restore`, and a has a
successor, its next delivery in that incarnation is wrong if it is new to the process, and if it comes after the
successor in the order of first deliveries.

A snapshot is up to a if its zxid is that of a, and of nothing else that the process has delivered. After a snapshot of
something that it has not delivered, or of nothing, and at the start of an incarnation, anything may come first. A
transaction delivered twice in a row is taken as delivered once.

Detection: in the order of the process, at the delivery that is wrong.

Witness, with the process p: p delivers a, p delivers its successor, p delivers a again (or the `Restore`), p delivers
something that is new or comes after the successor; least by (a, p, incarnation), the first of an incarnation. In the
incarnation in which the successor came first, a may have been taken over. Exercised by: a delivery after a repeat of
a transaction that has a successor, if it does not go back.
Cost: O(1) an event; memory O(distinct transactions) for each process, little as long as nothing is delivered again.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Deliver, Event, Restore, Txn, Zxid
from zabcheck.invariants.record import Record


class Redelivery(Invariant):
    name = "redelivery"
    statement = (
        "If message a is delivered before message b at a process, and after a failure a is redelivered, b will also be "
        "redelivered after a."
    )
    source = "LADIS 2008, 2"
    group = "ladis"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.repeats = 0
        self.last: dict[int, Deliver] = {}  # by process; a snapshot counts as a delivery of its last transaction
        self.restored: dict[int, Restore] = {}  # the processes whose last of these was a snapshot
        # As long as the zxids of a process's deliveries ascend, in one incarnation, the following needs no more:
        self.ascending: dict[int, list[Txn]] = {}  # by process: its deliveries
        self.positions: dict[int, dict[Txn, int]] = {}  # by process and transaction: the order of first deliveries
        self.successors: dict[int, dict[Txn, Deliver]] = {}  # by process and transaction
        self.values: dict[int, dict[Zxid, Txn | None]] = {}  # by process; None if there are several
        self.least: tuple[tuple[Txn, int, int], tuple[Deliver, Deliver, Deliver | Restore, Deliver]] | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Deliver: self.deliver, Restore: self.restore}

    def deliver(self, event: Deliver) -> bool:
        process, txn = event.process, event.txn
        last = self.last.get(process)
        ascending = self.ascending.get(process)
        if ascending is None and process not in self.positions:
            ascending = self.ascending[process] = []
        if ascending is not None:
            if not ascending or (last and last.incarnation == event.incarnation and last.txn.zxid < txn.zxid):
                at = self.record.position(process)
                ascending.append(txn if at is None or at.txn != txn else at.txn)  # the one that others have, too
                self.last[process] = event
                return False
            self.spread(process)
        if last is not None and last.incarnation != event.incarnation:
            last = None
        if last is not None and last.txn == txn:
            return False
        positions = self.positions[process]
        new = txn not in positions
        if new:
            self._note(event, positions)
        wrong = last is not None and self._after(last, event, new, positions)
        self.last[process] = event
        self.restored.pop(process, None)
        return wrong

    def spread(self, process: int) -> None:
        """Put what a process delivered in ascending order in the other dictionaries."""
        txns = self.ascending.pop(process)
        incarnation = self.last[process].incarnation
        self.positions[process] = {txn: place for place, txn in enumerate(txns)}
        self.values[process] = {txn.zxid: txn for txn in txns}
        self.successors[process] = {txn: Deliver(process, incarnation, after) for txn, after in pairwise(txns)}

    def _note(self, event: Deliver, positions: dict[Txn, int]) -> None:
        """Note that the process delivers this for the first time."""
        txn = event.txn
        positions[txn] = len(positions)
        values = self.values[event.process]
        if values.setdefault(txn.zxid, txn) != txn:
            values[txn.zxid] = None

    def _after(self, last: Deliver, event: Deliver, new: bool, positions: dict[Txn, int]) -> bool:
        """Return True if this must not follow the last delivery; a new one becomes its successor if that has none."""
        if event.txn.zxid < last.txn.zxid:
            return False  # it goes back
        successors = self.successors[event.process]
        successor = successors.get(last.txn)
        if successor is None:
            if new:
                successors[last.txn] = event
            return False
        ahead = positions[event.txn] - positions[successor.txn]  # a new transaction is ahead of all
        if ahead < 0:
            return False
        self.repeats += 1
        if ahead == 0:
            return False
        self._break(last, successor, event)
        return True

    def restore(self, event: Restore) -> bool:
        process = event.process
        if process in self.ascending:
            self.spread(process)
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
        copy.ascending = {process: each.copy() for process, each in self.ascending.items()}
        copy.positions = {process: each.copy() for process, each in self.positions.items()}
        copy.successors = {process: each.copy() for process, each in self.successors.items()}
        copy.values = {process: each.copy() for process, each in self.values.items()}
        return copy
