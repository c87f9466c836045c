"""Total order (DSN 2011, III-A).

    If some process delivers ⟨v,z⟩ before ⟨v',z'⟩, then any process that delivers ⟨v',z'⟩ must also deliver ⟨v,z⟩,
    and deliver it before ⟨v',z'⟩.

Detection: the property is broken if and only if some transaction is delivered after two different sequences. For if p
delivers b after x, and q delivers b after y, where x and y are the last before b: either one of the two lacks the
other's predecessor, or one has x before y and the other y before x. So it is enough to look at new links of the tree.

Witness, with z' = b and z = a: p delivers a, p delivers b, q delivers b (and q delivers a, if it does so later); least
by (b, a, p, q). Exercised by: b delivered by two actors, by one of them not as its first transaction. Transactions that
came with a snapshot count for nothing: by its hash some process delivered them. Cost: O(1) an event; the witness
O(links).
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Deliver, Event
from zabcheck.invariants.record import Record, Sent, named


class TotalOrder(Invariant):
    name = "total order"
    statement = (
        "If some process delivers ⟨v,z⟩ before ⟨v',z'⟩, then any process that delivers ⟨v',z'⟩ must also deliver "
        "⟨v,z⟩, and deliver it before ⟨v',z'⟩."
    )
    source = "DSN 2011, III-A"
    looks_at = ()

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        return not self.record.is_first_link(link)

    def judged(self) -> int:
        record = self.record
        nodes = len(record.links) - 1
        starts = sum(1 for link in record.links.values() if link.length == 1)
        again = sum(len(record.links_of(txn)) - 1 for txn in record.repeated())
        return (record.deliveries - record.starts) - (nodes - starts) + again

    def violation(self) -> Violation | None:
        record = self.record
        digests = _set_digests(record)
        broken = [
            txn for txn in record.repeated() if len({digests[link.previous.hash] for link in record.links_of(txn)}) > 1
        ]
        if not broken:
            return None
        b = min(broken)
        links = record.links_of(b)
        before = record.counts(link.previous for link in links)
        a = min(txn for txn, number in before.items() if number < len(links))
        with_a = [link for link in links if record.contains(link.previous, a)]
        without = [link for link in links if not record.contains(link.previous, a)]
        p, _ = record.least_actor(*with_a)
        q, passed = record.least_actor(*without)
        witness: list[Event] = [Deliver(*p, a), Deliver(*p, b), Deliver(*q, b)]
        later = any(record.contains(end, a) for _, end in passed)
        if later:
            witness.append(Deliver(*q, a))
        return self._violation(
            f"{named(p, q)} delivered {a} before {b}, but {named(q, p)} delivered {b} "
            + ("before " if later else "and never ")
            + f"{a}",
            *witness,
        )


def _set_digests(record: Record) -> dict[int, int]:
    """Return for each link a digest of the *set* of its transactions: equal sets have equal digests.

    It is the sum of a hash of each transaction, for which that of the first link that ends in it will do.
    """
    digests = {EMPTY.hash: 0}
    if any(True for _ in record.repeated()):
        for link in record.links.values():
            if link.length:
                digests[link.hash] = digests[link.previous.hash] + record.first_link(link.txn).hash
    return digests
