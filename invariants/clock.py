"""Clock: in a trace whose order is the order in time, a broadcast comes before its deliveries.

No property of the paper, but a finding of its own: integrity demands that some process "has broadcast" a delivered
transaction, which can be judged without a clock; with one, a delivery that precedes the broadcast shows a trace that
was recorded wrongly, or a protocol that delivers transactions that its primary has yet to broadcast.

Witness: the delivery and the broadcast, least by (zxid, value, process, incarnation) of the delivery.
Exercised by: a transaction that is both broadcast and delivered in a trace of `global` order, counted once: later
deliveries cannot come before the broadcast any more. Cost: O(1) an event, and O(processes) where one breaks it.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Actor, Record, Sent, named


class Clock(Invariant):
    name = "clock"
    statement = "In the order of time, ⟨v,z⟩ is broadcast before it is delivered."
    source = "the trace format; follows from DSN 2011, III-A, integrity, read in time"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.least: tuple[Txn, Actor, Sent] | None = None  # delivered first, and broadcast then
        self.both = 0  # transactions that were broadcast and delivered

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        self.both += sent is not None and self.record.is_first_link(link)
        return False

    def on_sent(self, sent: Sent) -> bool:
        if self.order != "global" or sent.other is not None:
            return False
        links = self.record.links_of(sent.txn)
        self.both += bool(links)
        if links and (self.least is None or sent.txn < self.least[0]):
            actor, _ = self.record.least_actor(*links)
            self.least = sent.txn, actor, sent
        return bool(links)

    def judged(self) -> int:
        return self.both if self.order == "global" else 0

    def violation(self) -> Violation | None:
        if self.least is None:
            return None
        txn, actor, sent = self.least
        sender = sent.primary[1:]
        return self._violation(
            f"{named(actor, sender)} delivered {txn} before {named(sender, actor)} broadcast it (if the lines are "
            'not in the order of time, as in a merged log, the header has to say "order":"per-process")',
            Deliver(*actor, txn),
            sent.event,
        )
