"""Integrity (DSN 2011, III-A).

    If some process delivers ⟨v,z⟩, then some process has broadcast ⟨v,z⟩.

The statement is existential and does not mention time: in merged logs the broadcast may come later in the file. So a
delivery without a broadcast is pending until the trace ends. (Where the order of the file is the order in time, a
broadcast that comes too late is reported as `clock`.)

A snapshot that a process took over brings transactions into its state too: it must hold a prefix that some process
delivered.

Witness: the delivery, least by (zxid, value, process, incarnation); if there is none, the least such `Restore`.
Exercised by: a transaction that is delivered, counted once: it is broadcast or it is not, however many deliver it. (A
snapshot that is not on record counts too.) Cost: O(1) an event.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Actor, Record, Sent


class Integrity(Invariant):
    name = "integrity"
    statement = "If some process delivers ⟨v,z⟩, then some process has broadcast ⟨v,z⟩."
    source = "DSN 2011, III-A"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.pending: dict[Txn, None] = {}  # delivered, not broadcast so far

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        if sent is None:
            self.pending[link.txn] = None
        return False

    def on_sent(self, sent: Sent) -> bool:
        if self.pending:
            self.pending.pop(sent.txn, None)
        return False

    def judged(self) -> int:
        apart = [txn for txn in self.record.delivered_apart() if not self.record.links_of(txn)]
        return self.record.distinct() + len(apart) + len(self.record.unmatched())

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        unmatched = self.record.unmatched()
        found: list[tuple[Txn, Actor]] = [
            (done, actor)
            for actor, waiting in unmatched
            for done in waiting.done
            if isinstance(done, Txn) and done not in self.record.sent
        ]
        if self.pending:
            txn = min(self.pending)
            found.append((txn, self.record.least_actor(*self.record.links_of(txn))[0]))
        if found:
            txn, (process, incarnation) = min(found)
            return self._violation(
                f"p{process} delivered {txn}, which nobody broadcast", Deliver(process, incarnation, txn)
            )
        if unmatched:
            restore = min(
                (waiting.restore for _, waiting in unmatched),
                key=lambda r: (r.zxid, r.process, r.incarnation, r.length, r.hash),
            )
            return self._violation(
                f"p{restore.process} took over a snapshot up to {restore.zxid} that holds no prefix of what anybody "
                "delivered",
                restore,
            )
        return None
