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
their lengths; once it has forked, they are compared as often as the cost of that stays O(1) an event on average, and
all is settled once at the end. So it is if a broadcast or a snapshot's prefix turns up later than the delivery that it
explains (merged logs).

Witness, with z' = y and z = x, an immediate pair: the primary broadcasts x, or the process of the primary delivers x;
the primary broadcasts y; p delivers y (and p delivers x, if it does so later); least by (y, p, x, the primary of y),
the first kind before the second, then the least incarnation that had delivered x. Exercised by: a delivery of a
transaction that has a predecessor. Cost: O(1) an event; the witness as `invariants.precedence.lacking`.
"""

from itertools import islice

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Broadcast, Deliver, Event, Txn
from zabcheck.invariants.precedence import Demand, Precedence, lacking
from zabcheck.invariants.record import Record, Sent, named

_WORK = 1 << 17
"""The number of transactions that may be compared at first."""

_WORK_AN_EVENT = 1
"""The number of them that may be compared for each event after that, on average."""


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
        self.budget = _WORK  # transactions that may still be compared
        self.unsure = False  # True if the budget did not suffice

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        self.budget += _WORK_AN_EVENT
        found = False
        while sent is not None:
            found |= self._breaks(link, sent)
            sent = sent.other
        return found

    def _breaks(self, link: Chain, sent: Sent) -> bool:
        if self._has_sent_before(sent) or self._has_learned(sent):
            self.cases += 1
        else:
            return False
        if not self._lacks_previous(link, sent) and not self._lacks_known(link, sent):
            return False
        self.broken = True
        return True

    def _has_sent_before(self, sent: Sent) -> bool:
        """Return True if an earlier broadcast precedes this one."""
        return sent.previous is not None

    def _lacks_previous(self, link: Chain, sent: Sent) -> bool:
        """Return True if the last of the earlier broadcasts that precede this one is missing before `link`."""
        return self.record.lacks_previous(link, sent)

    def _earlier(self, precedence: Precedence, sent: Sent) -> Demand:
        """Return the broadcasts that precede this one without a delivery in between, in their order."""
        return precedence.earlier(sent)

    def _sent_before(self, x: Txn, sent: Sent) -> Broadcast:
        """Return the broadcast of `x` that is one of these."""
        return next(each.event for each in self.record.broadcasts(x) if each.primary == sent.primary)

    def _has_learned(self, sent: Sent) -> bool:
        """Return True if the process had delivered any broadcast transaction other than `sent.txn`."""
        record = self.record
        if sent.longest.length and sent.longest.txn in record.sent and sent.longest.txn != sent.txn:
            return True  # the usual case
        if not (sent.longest.length or record.resumed):
            return False
        known = record.known(sent)
        if not self._affords(sum(at.length for _, at in known)):
            return False
        return any(x in record.sent and x != sent.txn for _, at in known for x in at)

    def _lacks_known(self, link: Chain, sent: Sent) -> bool:
        """Return True if a transaction is missing that the process of the primary had delivered.

        The deliveries before its broadcast ahead of `sent` are there if that broadcast is, and if nothing came late.
        """
        record = self.record
        if sent.longest.length < link.length and not (record.forked or record.resumed):
            return False  # the usual case: on a path, what is shorter is a prefix
        if self.broken or self.unsure:
            return False
        known = record.known(sent)
        news = [(at, 0) for _, at in known]
        previous = sent.previous
        if previous is not None and previous.segment == sent.segment and not (record.late or record.resumed):
            had, before = record.had(sent), record.had(previous)
            if had is not None and before is not None:
                news = [(had, before.length)]
        behind = [(at, start) for at, start in news if at.length > start and not link.previous.starts_with(at)]
        behind = [(at, max(start, link.previous.common_prefix(at).length)) for at, start in behind]
        if not self._affords(len(known) + sum(at.length - start for at, start in behind)):
            return False
        return any(
            x != link.txn and x in record.sent and not record.contains(link.previous, x)
            for at, start in behind
            for x in at.after(start)
        )

    def _affords(self, work: int) -> bool:
        if not self.unsure:
            self.budget -= work
            self.unsure = self.budget < 0
        return not self.unsure

    def judged(self) -> int:
        record = self.record
        if not (record.late or record.resumed or self.unsure):
            return self.cases
        precedence = record.once(Precedence)
        links = (link for link in record.links.values() if link.length)
        return sum(
            self._has_sent_before(sent) or precedence.has_learned(sent)
            for link in links
            for sent in record.broadcasts(link.txn)
        )

    def violation(self) -> Violation | None:
        record = self.record
        if not (self.broken or record.late or record.resumed or self.unsure):
            return None
        precedence = record.once(Precedence)
        bad = lacking(record, lambda sent: (self._earlier(precedence, sent), precedence.delivered(sent)))
        if not bad:
            return None
        y = min(link.txn for link in bad)
        return self._witness([link for link in bad if link.txn == y], precedence)

    def _witness(self, bad: list[Chain], precedence: Precedence) -> Violation:
        record = self.record
        p, passed = record.least_actor(*bad)
        y = bad[0].txn
        there = record.counts(link.previous for link, _ in passed)

        def missing(demand: Demand) -> list[Txn]:
            _, txns, number = demand
            return [x for x in islice(txns, number) if x != y and there.get(x, 0) < len(passed)]

        pairs = []
        for sent in record.broadcasts(y):
            for rule, demand in ((1, self._earlier(precedence, sent)), (2, precedence.delivered(sent))):
                pairs += [(min(lost), sent.primary, rule, sent) for lost in [missing(demand)] if lost]
        x, _, rule, sent = min(pairs, key=lambda pair: pair[:3])
        if rule == 1:
            before: Broadcast | Deliver = self._sent_before(x, sent)
        else:
            incarnation = min(life for life, known in record.known(sent) if record.contains(known, x))
            before = Deliver(sent.event.process, incarnation, x)
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
