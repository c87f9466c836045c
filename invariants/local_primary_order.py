"""Local primary order (DSN 2011, III-A).

    If a primary broadcasts ⟨v,z⟩ before it broadcasts ⟨v',z'⟩, then a process that delivers ⟨v',z'⟩ must also deliver
    ⟨v,z⟩ before ⟨v',z'⟩.

This holds *for all* pairs that a primary broadcast. A primary is one process in one incarnation and one epoch.

Transactions that a process takes over with a snapshot count as delivered by it, in the order of the process that
delivered them. If none did, the contents of the snapshot are unknown: later deliveries of the process are judged by
integrity alone, and exercise nothing here. Neither does a snapshot of transactions that were not broadcast, as no pair
of a primary's broadcasts is in it.

Detection: it is enough to look at neighbours in β. A delivered b needs its neighbour before it; that one was delivered
too, so it needs its own, and so on.

Witness, with z' = b and z = a: the primary broadcasts a, then b; p delivers b (and p delivers a, if it does so later);
least by (b, p, a, primary). Exercised by: a delivery of a transaction that was not the primary's first broadcast.
Cost: O(1) an event; where the tree has forked, O(log n); the witness O(n) for n links.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Event
from zabcheck.invariants.precedence import lacking
from zabcheck.invariants.record import Record, Sent, named


class LocalPrimaryOrder(Invariant):
    name = "local primary order"
    statement = (
        "If a primary broadcasts ⟨v,z⟩ before it broadcasts ⟨v',z'⟩, then a process that delivers ⟨v',z'⟩ must also "
        "deliver ⟨v,z⟩ before ⟨v',z'⟩."
    )
    source = "DSN 2011, III-A"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.pairs = 0
        self.broken = False

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        found = False
        while sent is not None:
            found |= self._breaks(link, sent)
            sent = sent.other
        return found

    def on_sent(self, sent: Sent) -> bool:
        found = False
        for link in self.record.links_of(sent.txn):
            found |= self._breaks(link, sent)
        return found

    def _breaks(self, link: Chain, sent: Sent) -> bool:
        if sent.previous is None:
            return False
        self.pairs += 1
        if not self.record.lacks_previous(link, sent):
            return False
        self.broken = True
        return True

    def judged(self) -> int:
        return self.pairs

    def violation(self) -> Violation | None:
        if not self.broken:
            return None
        txns = {primary: [sent.txn for sent in sents] for primary, sents in self.record.sequences.items()}
        bad = lacking(self.record, lambda sent: ((sent.primary, txns[sent.primary], sent.place),))
        b = min(link.txn for link in bad)
        return self._witness([link for link in bad if link.txn == b])

    def _witness(self, bad: list[Chain]) -> Violation:
        record = self.record
        p, passed = record.least_actor(*bad)
        b = bad[0].txn
        there = record.counts(link.previous for link, _ in passed)
        missing: list[tuple[Sent, Sent]] = []
        for later in record.broadcasts(b):
            earlier = later.previous
            while earlier is not None:
                if there.get(earlier.txn, 0) < len(passed):
                    missing.append((earlier, later))
                earlier = earlier.previous
        first, second = min(missing, key=lambda pair: (pair[0].txn, pair[0].primary))
        a = first.txn
        witness: list[Event] = [first.event, second.event, Deliver(*p, b)]
        after = any(record.contains(end, a) and not record.contains(link.previous, a) for link, end in passed)
        if after:
            witness.append(Deliver(*p, a))
        sender = first.primary[1:]
        return self._violation(
            f"{named(sender, p)}, primary of epoch {first.epoch}, broadcast {a} before {b}, but {named(p, sender)} "
            f"delivered {b} " + ("before" if after else "without") + f" {a}",
            *witness,
        )
