"""Reliable delivery (Reed and Junqueira, LADIS 2008, 2).

    If a message, m, is delivered by one server, then it will be eventually delivered by all correct servers.

The correct servers are the members of the quorum of a `Stabilised`, and "eventually" is when the trace ends (see
`invariants.stabilised` for the promises that count). A message counts as delivered if any process delivered it in any
incarnation: clients that saw it rely on it.

Detection: at the end, by the position of each member. Witness: the delivery of m, by the least actor, and the
`Stabilised` of a quorum with a member q that lacks it; least by (zxid and value of m, q, leader).
Exercised by: a `Stabilised` that counts, if a member lacked something that was delivered when it came (merged logs
do not show this, and each counts if something was delivered). Cost: O(1) an event, O(members) for a `Stabilised`;
at the end O(n) for n links, if something is missing.
"""

from zabcheck.invariants.base import Violation
from zabcheck.invariants.events import Deliver, Stabilised
from zabcheck.invariants.record import named
from zabcheck.invariants.stabilised import Liveness


class ReliableDelivery(Liveness):
    name = "reliable delivery"
    statement = (
        "If a message, m, is delivered by one server, then it will be eventually delivered by all correct servers."
    )
    source = "LADIS 2008, 2"

    def wanted(self) -> int:
        apart = [txn for txn in self.record.delivered_apart() if not self.record.links_of(txn)]
        return self.record.distinct() + len(apart)

    def judged(self) -> int:
        return super().judged() if self.record.deliveries or self.record.delivered_apart() else 0

    def violation(self) -> Violation | None:
        record, events = self.record, self.counting()
        wanted = self.wanted()
        has = {m: at for event in events for m, at in self.members(event).items() if len(at) < wanted}
        if not has:
            return None
        unmatched = record.delivered_apart()
        there = record.counts(has.values())
        txn = min(txn for txn in (*record.delivered(), *unmatched) if there.get(txn, 0) < len(has))
        member = min(member for member, at in has.items() if not record.contains(at, txn))
        event = next(event for event in events if member in event.quorum)
        actors = [unmatched[txn]] if txn in unmatched else []
        links = record.links_of(txn)
        if links:
            actors.append(record.least_actor(*links)[0])
        actor, lacks = min(actors), (member, self.last_incarnation(member))
        return self._violation(
            f"{named(actor, lacks)} delivered {txn}, and {named(lacks, actor)} never did, although p{event.process} "
            f"led {_members(event)} undisturbed",
            Deliver(*actor, txn),
            event,
        )


def _members(event: Stabilised) -> str:
    return " ".join(f"p{member}" for member in event.quorum)
