"""Zxid assignment: a primary gives its transactions the zxids of its epoch, in ascending order (DSN 2011, III).

    The call ready(e) changes the variable instance, and a primary sets the epoch of the zxids that it assigns to its
    value. For a given primary ρ_e, epoch(z) = instance = e, and the primary increments the counter for each new
    transaction.

So three things can be wrong with a broadcast of ⟨v,z⟩ by ρ_e:

- epoch(z) is not e;
- the last `Ready` of its process, in this incarnation, was of another epoch than e (if there is none before it, the
  trace may simply not show these: nothing is judged);
- ρ_e has broadcast a higher zxid before. (Zxid uniqueness judges the same zxid with another value.)

Only a primary's first broadcast of a transaction counts.

Detection: each broadcast is compared with the last `Ready` of its process, and with the highest zxid of its primary.
Witness: of the least broadcast (by transaction, epoch, process and incarnation) with which something is wrong, the
first of these: the `Broadcast`; the `Ready` and the `Broadcast`; the least `Broadcast` of a higher zxid before it, and
the `Broadcast`. Exercised by: a broadcast. Cost: O(1) an event; memory O(processes + epochs); the witness
O(broadcasts).
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Event, Ready, Zxid
from zabcheck.invariants.record import Primary, Record, Sent


class ZxidAssignment(Invariant):
    name = "zxid assignment"
    statement = (
        "What a primary ρ_e broadcasts has a zxid of epoch e, which is the epoch that ready(e) told it last, and no "
        "zxid is lower than one that ρ_e has broadcast before."
    )
    source = "DSN 2011, III"
    group = "protocol"
    looks_at = (Ready,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.broadcasts = 0
        self.ready: dict[int, Ready] = {}  # by process: the last
        self.highest: dict[Primary, Zxid] = {}  # that it has broadcast
        self.least: tuple[Sent, Ready | None] | None = (
            None  # the least wrong broadcast, with the last `Ready` before it
        )

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Ready: self._ready}

    def _ready(self, event: Ready) -> bool:
        self.ready[event.process] = event
        return False

    def on_sent(self, sent: Sent) -> bool:
        self.broadcasts += 1
        zxid, primary = sent.txn.zxid, sent.primary
        ready = self.ready.get(sent.event.process)
        if ready is not None and ready.incarnation != sent.event.incarnation:
            ready = None
        highest = self.highest.get(primary, zxid)
        self.highest[primary] = max(highest, zxid)
        if zxid.epoch == sent.epoch and zxid >= highest and (ready is None or ready.epoch == sent.epoch):
            return False
        if self.least is None or (sent.txn, primary) < (self.least[0].txn, self.least[0].primary):
            self.least = sent, ready
        return True

    def judged(self) -> int:
        return self.broadcasts

    def violation(self) -> Violation | None:
        if self.least is None:
            return None
        sent, ready = self.least
        who = f"p{sent.event.process}, primary of epoch {sent.epoch}, broadcast {sent.txn}"
        if sent.txn.zxid.epoch != sent.epoch:
            return self._violation(f"{who}, whose zxid is of epoch {sent.txn.zxid.epoch}", sent.event)
        if ready is not None and ready.epoch != sent.epoch:
            return self._violation(
                f"{who} after it had become ready to broadcast in epoch {ready.epoch}", ready, sent.event
            )
        higher = []
        before = sent.previous
        while before is not None:
            if before.txn.zxid > sent.txn.zxid:
                higher.append(before)
            before = before.previous
        first = min(higher, key=lambda each: each.txn)
        return self._violation(f"{who} after {first.txn}, which has a higher zxid", first.event, sent.event)
