"""PO causal order (DSN 2011, III-B).

    If ⟨v,z⟩ ≺_PO ⟨v',z'⟩ and some process p delivers ⟨v',z'⟩, then p must also deliver ⟨v,z⟩, and deliver it before
    ⟨v',z'⟩.

⟨v,z⟩ ≺_PO ⟨v',z'⟩ is: abcast(⟨v,z⟩) PO-precedes abcast(⟨v',z'⟩). In the paper, event ε PO-precedes ε' if (1) both are
local to one process, ε comes before ε', and one of them is no abcast or both are of one epoch; or (2) ε is the abcast
and ε' an abdeliver of one transaction; or (3) by transitivity. To the letter, (1) and (3) relate any two broadcasts of
a process that delivered anything in between. But the paper's Figure 3 satisfies PO causal order, and there p1
broadcasts z in epoch 1, delivers z' of epoch 2 and broadcasts z'' in epoch 3, while nobody delivers z; the same happens
in correct runs of Zab, where z is lost with epoch 1. So an abcast is taken to precede a later event of its process only
by (2), or as an earlier abcast of the same primary. Over transactions, x ≺_PO y is then the transitive closure of

- some primary broadcast x before y (a primary is one process in one incarnation and one epoch);
- a process had delivered x, in that incarnation or an earlier one, when it broadcast y. The prefix that it took over by
  a `Restore` counts as delivered, if it is on record.

A transaction that was broadcast again does not precede itself. A transaction without a broadcast precedes nothing.

Detection: it is enough to look at these two, the immediate predecessors. A delivered y needs each of its own before it;
these are delivered too, so they need theirs, and so on down any chain. Of the first kind it is enough to look at the
neighbour in β, by the same argument. As long as the tree of delivered sequences is a path, sequences are compared by
their lengths. If a broadcast or a snapshot's prefix turns up later than the delivery that it explains (merged logs),
all is settled once at the end.

Witness, with z' = y and z = x, an immediate pair: the primary broadcasts x, or the process of the primary delivers x;
the primary broadcasts y; p delivers y (and p delivers x, if it does so later); least by (y, p, x, the primary of y),
the first kind before the second, then the least incarnation that had delivered x. Exercised by: a delivery of a
transaction that has a predecessor. Cost: O(1) an event; the witness O(n log n), or O(n^2) where the sequences of the
processes fork or zxids descend within β.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Event, Txn
from zabcheck.invariants.record import Primary, Record, Sent, named


class PoCausalOrder(Invariant):
    name = "po causal order"
    statement = (
        "If ⟨v,z⟩ ≺_PO ⟨v',z'⟩ and some process p delivers ⟨v',z'⟩, then p must also deliver ⟨v,z⟩, and deliver it "
        "before ⟨v',z'⟩."
    )
    source = "DSN 2011, III-B"
    group = "causality"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.cases = 0
        self.broken = False

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        found = False
        while sent is not None:
            found |= self._breaks(link, sent)
            sent = sent.other
        return found

    def _breaks(self, link: Chain, sent: Sent) -> bool:
        record = self.record
        if sent.previous is not None or _learned(record, sent):
            self.cases += 1
        else:
            return False
        if not record.lacks_previous(link, sent) and not self._lacks_known(link, sent):
            return False
        self.broken = True
        return True

    def _lacks_known(self, link: Chain, sent: Sent) -> bool:
        """Return True if a transaction is missing that the process of the primary had delivered."""
        record = self.record
        if sent.longest.length < link.length and not (record.forked or record.resumed):
            return False  # the usual case: on a path, what is shorter is a prefix
        return any(
            not record.contains(link.previous, x)
            for _, known in record.known(sent)
            if not link.previous.starts_with(known)
            for x in known.after(link.previous.common_prefix(known).length)
            if x != link.txn and x in record.sent
        )

    def judged(self) -> int:
        self._settle()
        return self.cases

    def _settle(self) -> None:
        """Traverse the tree again, if a broadcast or a snapshot's prefix came late."""
        record = self.record
        if not (record.late or record.resumed):
            return
        self.cases = 0
        self.broken = False
        for link in record.links.values():
            if link.length:
                self.on_link(link, record.sent.get(link.txn))

    def violation(self) -> Violation | None:
        self._settle()
        if not self.broken:
            return None
        record = self.record
        whole: set[tuple[Primary, int]] = set()
        for txn in sorted(record.delivered()):
            bad = [
                link
                for link in record.links_of(txn)
                if any(
                    record.lacks(link, sent, whole) or self._lacks_known(link, sent) for sent in record.broadcasts(txn)
                )
            ]
            if bad:
                return self._witness(bad)
        return None

    def _witness(self, bad: list[Chain]) -> Violation:
        record = self.record
        p, passed = record.least_actor(*bad)
        y = bad[0].txn
        x, _, _, _, before, sent = min(
            (
                (x, sent.primary, rule, incarnation, before, sent)
                for sent in record.broadcasts(y)
                for x, rule, incarnation, before in _predecessors(record, sent)
                if any(not record.contains(link.previous, x) for link, _ in passed)
            ),
            key=lambda found: found[:4],
        )
        witness: list[Event] = [before, sent.event, Deliver(*p, y)]
        after = any(record.contains(end, x) and not record.contains(link.previous, x) for link, end in passed)
        if after:
            witness.append(Deliver(*p, x))
        did = "delivered" if isinstance(before, Deliver) else "broadcast"
        sender = sent.primary[1:]
        return self._violation(
            f"{named(sender, p)}, primary of epoch {sent.epoch}, {did} {x} before it broadcast {y}, but "
            f"{named(p, sender)} delivered {y} " + ("before" if after else "without") + f" {x}",
            *witness,
        )


def _learned(record: Record, sent: Sent) -> bool:
    """Return True if the process had delivered any broadcast transaction other than `sent.txn`."""
    if sent.longest.length and sent.longest.txn in record.sent and sent.longest.txn != sent.txn:
        return True  # the usual case
    if not (sent.longest.length or record.resumed):
        return False
    return any(x in record.sent and x != sent.txn for _, known in record.known(sent) for x in known)


def _predecessors(record: Record, sent: Sent) -> list[tuple[Txn, int, int, Event]]:
    """Return the immediate predecessors by this broadcast, each with the rule, the incarnation and the event."""
    found: list[tuple[Txn, int, int, Event]] = []
    earlier = sent.previous
    while earlier is not None:
        found.append((earlier.txn, 1, earlier.event.incarnation, earlier.event))
        earlier = earlier.previous
    process = sent.event.process
    for incarnation, known in record.known(sent):
        found += [
            (x, 2, incarnation, Deliver(process, incarnation, x)) for x in known if x != sent.txn and x in record.sent
        ]
    return found
