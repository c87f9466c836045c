"""Causal order, as broadcasts define it (DSN 2011, definition III.1). PO atomic broadcast does not promise it.

    If ⟨v,z⟩ ≺_c ⟨v',z'⟩ and some process p delivers ⟨v',z'⟩, then p must also deliver ⟨v,z⟩, and deliver it before
    ⟨v',z'⟩.

⟨v,z⟩ ≺_c ⟨v',z'⟩ is: abcast(⟨v,z⟩) happened before abcast(⟨v',z'⟩). So an earlier broadcast of the same process
precedes a later one whatever their epochs and incarnations are; with PO causal order only one of the same primary does.
The rest is as in `invariants.po_causal_order`: what precedes immediately, detection, witness and cost. No group has it,
so that it judges where its name is given.

Exercised by: a delivery of a transaction that has a predecessor.
"""

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Broadcast, Txn
from zabcheck.invariants.po_causal_order import PoCausalOrder
from zabcheck.invariants.precedence import Demand, Precedence
from zabcheck.invariants.record import Record, Sent


class FullCausalOrder(PoCausalOrder):
    name = "full causal order"
    statement = (
        "If ⟨v,z⟩ ≺_c ⟨v',z'⟩ and some process p delivers ⟨v',z'⟩, then p must also deliver ⟨v,z⟩, and deliver it "
        "before ⟨v',z'⟩."
    )
    source = "DSN 2011, definition III.1"
    group = "not of primary order"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.last: dict[int, Sent] = {}  # by process
        self.before: dict[Sent, Sent] = {}  # the broadcast of the same process just before

    def on_sent(self, sent: Sent) -> bool:
        process = sent.event.process
        if process in self.last:
            self.before[sent] = self.last[process]
        self.last[process] = sent
        return False

    def _previous(self, sent: Sent) -> Sent | None:
        """Return the broadcast of another transaction by the same process just before; None if there is none."""
        previous = self.before.get(sent)
        while previous is not None and previous.txn == sent.txn:
            previous = self.before.get(previous)
        return previous

    def _has_sent_before(self, sent: Sent) -> bool:
        return self._previous(sent) is not None

    def _lacks_previous(self, link: Chain, sent: Sent) -> bool:
        previous = self._previous(sent)
        return previous is not None and not self.record.contains(link.previous, previous.txn)

    def _earlier(self, precedence: Precedence, sent: Sent) -> Demand:
        return precedence.earlier_of_process(sent)

    def _sent_before(self, x: Txn, sent: Sent) -> Broadcast:
        own = (each for each in self.record.broadcasts(x) if each.event.process == sent.event.process)
        return min(own, key=lambda each: each.rank).event
