"""Global primary order (DSN 2011, III-A).

    Suppose a primary ρ_i broadcasts ⟨v,z⟩, and a primary ρ_j, ρ_i ≺ ρ_j, broadcasts ⟨v',z'⟩. If a process delivers
    both ⟨v,z⟩ and ⟨v',z'⟩, then it must deliver ⟨v,z⟩ before ⟨v',z'⟩.

ρ_e precedes ρ_e' if and only if e < e'.

⟨v,z⟩ and ⟨v',z'⟩ are two transactions: strict causality (III-B) demands in the same words, of the transactions that a
process delivers, that one precedes the other, and nothing can precede itself. So a transaction that two primaries
broadcast is in no order with itself, and alone exercises nothing. It is of both epochs when it is compared with any
other transaction. Zxid uniqueness and zxid assignment report that it has two primaries (III: the epoch of a zxid is
that of its primary).

Detection: each link of the tree knows the lowest and the highest epoch broadcast among its transactions; a delivery
after one of a higher epoch breaks the property. If a broadcast turns up after its delivery (merged logs), the tree is
traversed once at the end.

Witness, with z = a and z' = b: ρ_i broadcasts a, ρ_j broadcasts b, p delivers b, then a; least by (a, b, p, ρ_i, ρ_j).
Exercised by: a process that delivers from two epochs. Cost: O(1) an event; the witness O(links).
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Record, Sent, named

_NONE = (1 << 62, -1)
"""The lowest and the highest epoch of nothing."""


class GlobalPrimaryOrder(Invariant):
    name = "global primary order"
    statement = (
        "Suppose a primary ρ_i broadcasts ⟨v,z⟩, and a primary ρ_j, ρ_i ≺ ρ_j, broadcasts ⟨v',z'⟩. If a process "
        "delivers both, then it must deliver ⟨v,z⟩ before ⟨v',z'⟩."
    )
    source = "DSN 2011, III-A"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.epochs: dict[int, tuple[int, int]] = {EMPTY.hash: _NONE}  # by chain hash: lowest and highest up to here
        self.changes = 0
        self.out_of_order: list[Chain] = []

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        before = self.epochs[link.previous.hash]
        if sent is None or (before[0] == before[1] and sent.epochs == before):
            self.epochs[link.hash] = before
            return False
        lowest, highest = sent.epochs
        after = before
        if lowest < before[0] or highest > before[1]:
            after = min(lowest, before[0]), max(highest, before[1])
        self.epochs[link.hash] = after
        if before[1] > lowest or before[0] < highest:
            self.changes += 1
        if before[1] > lowest:
            self.out_of_order.append(link)
            return True
        return False

    def judged(self) -> int:
        self._settle()
        return self.changes

    def _settle(self) -> None:
        """Traverse the tree again, if a broadcast came later than its delivery."""
        if not self.record.late:
            return
        self.epochs = {EMPTY.hash: _NONE}
        self.changes = 0
        self.out_of_order = []
        for link in self.record.links.values():
            if link.length:
                self.on_link(link, self.record.sent.get(link.txn))

    def violation(self) -> Violation | None:
        self._settle()
        if not self.out_of_order:
            return None
        record = self.record
        a = min(link.txn for link in self.out_of_order)
        first = min(record.broadcasts(a), key=lambda sent: sent.primary)
        links = [link for link in self.out_of_order if link.txn == a]

        def later(txn: Txn) -> list[Sent]:
            """Return the broadcasts of a transaction in later epochs."""
            return [sent for sent in record.broadcasts(txn) if sent.epoch > first.epoch]

        b = min(txn for txn in record.counts(link.previous for link in links) if later(txn))
        p, _ = record.least_actor(*[link for link in links if record.contains(link.previous, b)])
        second = min(later(b), key=lambda sent: sent.primary)
        return self._violation(
            f"{named(p)} delivered {b} of epoch {second.epoch} before {a} of epoch {first.epoch}",
            first.event,
            second.event,
            Deliver(*p, b),
            Deliver(*p, a),
        )
