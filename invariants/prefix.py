"""Prefix (LADIS 2008, 2).

    If m is the last message delivered for a leader L, any message proposed before m by L must also be delivered.

A process that is elected again is a different leader: a leader is one process in one incarnation and one epoch. A
message that was not delivered last needs all before it as well, since every delivered message was the last at some
time. The place does not matter: the property is local primary order without the order. So it is judged on the messages
delivered when the trace ends: a missing one may still come.

Detection: a delivered m needs its neighbour before it in β, wherever; that one needs its own, and so on. A link before
which the neighbour is missing is a suspicion, which the end of each sequence through it settles.

Witness: L proposes a, then m; p delivers m, and never a; least by (m, p, a, L).
Exercised by: a delivery of a transaction that was not the leader's first proposal.
Cost: O(1) an event; the witness O(E n) for E different last positions and n transactions.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Actor, Primary, Record, Sent, named


class Prefix(Invariant):
    name = "prefix"
    statement = (
        "If m is the last message delivered for a leader L, any message proposed before m by L is delivered too."
    )
    source = "LADIS 2008, 2, prefix property"
    group = "ladis"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.pairs = 0
        self.suspects: dict[Chain, None] = {}

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        found = False
        while sent is not None:
            found |= self._gap(link, sent)
            sent = sent.other
        return found

    def on_sent(self, sent: Sent) -> bool:
        found = False
        if not self.record.late:
            return False  # the usual case
        for link in self.record.links_of(sent.txn):
            found |= self._gap(link, sent)
        return found

    def _gap(self, link: Chain, sent: Sent) -> bool:
        if sent.previous is None:
            return False
        self.pairs += 1
        if not self.record.lacks_previous(link, sent):
            return False
        self.suspects[link] = None
        return True

    def judged(self) -> int:
        return self.pairs

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        if not self.suspects:
            return None
        suspected = {link.txn for link in self.suspects}
        proposals = _proposals(self.record)
        best: tuple[Txn, Actor, Txn, Primary] | None = None
        found: tuple[Sent, Sent] | None = None
        for p, end in self.record.ends():
            done = set(end)
            if suspected.isdisjoint(done):
                continue
            for primary, sents in proposals.items():
                for a, m in _gaps(sents, done):
                    key = m.txn, p, a.txn, primary
                    if best is None or key < best:
                        best, found = key, (a, m)
        if best is None or found is None:
            return None
        (first, second), p = found, best[1]
        leader = first.primary[1:]
        return self._violation(
            f"{named(leader, p)}, leader of epoch {first.epoch}, proposed {first.txn} before {second.txn}, but "
            f"{named(p, leader)} delivered {second.txn} and never {first.txn}",
            first.event,
            second.event,
            Deliver(*p, second.txn),
        )


def _proposals(record: Record) -> dict[Primary, list[Sent]]:
    """Return the proposals of each leader, in order."""
    proposals: dict[Primary, list[Sent]] = {}
    for txn in record.sent:
        for sent in record.broadcasts(txn):
            proposals.setdefault(sent.primary, []).append(sent)
    for sents in proposals.values():
        sents.sort(key=lambda sent: sent.rank)
    return proposals


def _gaps(sents: list[Sent], done: set[Txn]) -> list[tuple[Sent, Sent]]:
    """Yield each of `sents` that was delivered although one before it was not, with the least of those."""
    gaps = []
    least: Sent | None = None
    for sent in sents:
        if sent.txn in done:
            if least is not None:
                gaps.append((least, sent))
        elif least is None or sent.txn < least.txn:
            least = sent
    return gaps
