"""Reliable delivery (Reed and Junqueira, LADIS 2008, 2).

    If a message, m, is delivered by one server, then it will be eventually delivered by all correct servers.

The correct servers are the members of the quorum of a `Stabilised`, and "eventually" is when the trace ends (see
`invariants.stabilised` for the promises that count). A message counts as delivered if any process delivered it in any
incarnation: clients that saw it rely on it.

Detection: at the end, by the position of each member. Witness: the delivery of m, by the least actor, and the
`Stabilised` of a quorum with a member q that lacks it; least by (zxid and value of m, q, leader).
Exercised by: a `Stabilised` that counts, if a member lacked something that was delivered when it came (merged logs
do not show this, and each counts if something was delivered). Cost: O(1) an event; at the end O(members) as long
as nothing is missing, else O(n log n) for each of them and n distinct transactions.
"""

from collections.abc import Iterable

from zabcheck.invariants.base import Violation
from zabcheck.invariants.events import Deliver, Stabilised, Txn
from zabcheck.invariants.record import named
from zabcheck.invariants.stabilised import Liveness


class ReliableDelivery(Liveness):
    name = "reliable delivery"
    statement = (
        "If a message, m, is delivered by one server, then it will be eventually delivered by all correct servers."
    )
    source = "LADIS 2008, 2"

    def wanted(self) -> Iterable[Txn]:
        return {**dict.fromkeys(self.record.delivered()), **self.record.delivered_apart()}

    def judged(self) -> int:
        return super().judged() if self.record.deliveries or self.record.delivered_apart() else 0

    def violation(self) -> Violation | None:
        events = [event for event in self.counting() if not self._all_is_well(event)]
        if not events:
            return None
        unmatched = self.record.delivered_apart()
        lacking = [
            (txn, member, event.process, event)
            for txn in self.wanted()
            for event in events
            for member in self.lacking(event, txn)
        ]
        if not lacking:
            return None
        txn, member, _, event = min(lacking, key=lambda each: each[:3])
        actors = [unmatched[txn]] if txn in unmatched else []
        links = self.record.links_of(txn)
        if links:
            actors.append(self.record.least_actor(*links)[0])
        actor, lacks = min(actors), (member, self.last_incarnation(member))
        return self._violation(
            f"{named(actor, lacks)} delivered {txn}, and {named(lacks, actor)} never did, although p{event.process} "
            f"led {_members(event)} undisturbed",
            Deliver(*actor, txn),
            event,
        )

    def _all_is_well(self, event: Stabilised) -> bool:
        """Return True if all members are where the only sequence ends. If not, a member may lack something."""
        if self.record.forked or self.record.unmatched():
            return False
        longest = next(reversed(self.record.links.values()))
        return all(self.has(member) == longest for member in event.quorum)


def _members(event: Stabilised) -> str:
    return " ".join(f"p{member}" for member in event.quorum)
