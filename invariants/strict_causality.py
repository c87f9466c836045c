"""Strict causality (DSN 2011, III-B).

    If some process delivers ⟨v,z⟩ and ⟨v',z'⟩, then either ⟨v,z⟩ ≺_PO ⟨v',z'⟩ or ⟨v',z'⟩ ≺_PO ⟨v,z⟩.

≺_PO is read as in `po_causal_order`; both transactions were broadcast. PO causal order judges the order of their
deliveries.

Detection: where each transaction of a sequence precedes the next one, any two are related, by transitivity. So it is
enough to look at a new link and the one before it (transactions without a broadcast are passed over): the primary
broadcast them in a row, or its process had delivered the one when it broadcast the other. If neither is so, the
relation may still go through transactions that this process did not deliver, or a later broadcast may establish it:
such a link is a suspicion, which `violation` examines. If a broadcast or a snapshot's prefix turns up later than the
delivery that it explains (merged logs), the tree is traversed once at the end.

Witness, with z = x and z' = y, x < y: the least primary of x broadcasts x, that of y broadcasts y, p delivers x, p
delivers y; least by (x, y, p). If more than `LARGE` transactions were broadcast, x and y are the least of those
unrelated pairs that some process delivered one after the other (except for transactions without a broadcast), if there
is one. Exercised by: a process that delivers two transactions that were broadcast.

Cost: O(1) an event. The witness of a small trace: O(r n^2 / 64 + E n^2) for n transactions, E different last positions,
and r rounds, two of them unless the relation is at odds with the order of the trace. That of a large one: O(s n) for s
suspicions, of which those after the least unrelated pair are not examined; memory O(n). It costs as much as in a
small trace (n^2 bits of memory) if all suspicions come to nothing and some process delivered y right before x, which
precedes it: then only the pairs further apart can tell.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Record, Sent, named

LARGE = 1000
"""The number of transactions above which the witness is looked for among neighbours."""


class StrictCausality(Invariant):
    name = "strict causality"
    statement = "If some process delivers ⟨v,z⟩ and ⟨v',z'⟩, then either ⟨v,z⟩ ≺_PO ⟨v',z'⟩ or ⟨v',z'⟩ ≺_PO ⟨v,z⟩."
    source = "DSN 2011, III-B"
    group = "causality"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.cases = 0
        self.suspicious = False

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        if self._suspected(link, sent) is None:
            return False
        self.suspicious = True
        return True

    def _suspected(self, link: Chain, sent: Sent | None) -> Chain | None:
        """Return the link before, if its transaction is not known to precede this one. Counts the case."""
        if sent is None or link.length == 1:
            return None
        previous = sent.previous
        if previous is not None and previous.txn is link.previous.txn:
            self.cases += 1
            return None  # the usual case
        before = self._last_broadcast(link.previous)
        if before is None:
            return None
        self.cases += 1
        if any(self._follows(each, before) for each in self.record.broadcasts(link.txn)):
            return None
        return before

    def _last_broadcast(self, link: Chain) -> Chain | None:
        """Return the longest prefix that ends in a broadcast transaction."""
        while link.length and link.txn not in self.record.sent:
            link = link.previous
        return link if link.length else None

    def _follows(self, sent: Sent, before: Chain) -> bool:
        """Return True if `before.txn` immediately precedes this broadcast; of its own primary, a neighbour does."""
        record = self.record
        if before.length <= sent.longest.length and not (record.forked or record.resumed):
            return True  # the usual case: on a path, what is shorter is a prefix
        if sent.previous is not None and sent.previous.txn == before.txn:
            return True
        return any(record.contains(known, before.txn) for _, known in record.known(sent))

    def judged(self) -> int:
        self._settle()
        return self.cases

    def inconclusive(self) -> bool:
        return True

    def _settle(self) -> None:
        """Traverse the tree again, if a broadcast or a snapshot's prefix came late."""
        record = self.record
        if not (record.late or record.resumed):
            return
        self.cases = 0
        self.suspicious = False
        for link in record.links.values():
            if link.length:
                self.on_link(link, record.sent.get(link.txn))

    def violation(self) -> Violation | None:
        self._settle()
        if not self.suspicious:
            return None
        if len(self.record.sent) > LARGE:
            found, reversed_ = self._least_neighbours()
            if found is not None or not reversed_:
                return None if found is None else self._unrelated(*found)
        return self._least()

    def _least_neighbours(self) -> tuple[tuple[Txn, Txn] | None, bool]:
        """Return the least unrelated neighbours, or None, and True if a later one precedes an earlier one."""
        record, cases = self.record, self.cases
        pairs: set[tuple[Txn, Txn]] = set()
        for link in record.links.values():
            before = self._suspected(link, record.sent.get(link.txn)) if link.length else None
            if before is not None:
                pairs.add((before.txn, link.txn))
        self.cases = cases
        reversed_ = False
        for first, second in sorted(pairs, key=lambda pair: (min(pair), max(pair))):
            if not _precedes(record, first, second):
                if not _precedes(record, second, first):
                    return (min(first, second), max(first, second)), False
                reversed_ = True
        return None, reversed_

    def _least(self) -> Violation | None:
        record = self.record
        ordered = sorted(record.sent)
        bit_of = {txn: bit for bit, txn in enumerate(ordered)}
        below = _below(record, bit_of)
        ends = [(actor, _mask(end, bit_of)) for actor, end in record.ends()]
        pairs = [pair for _, mask in ends if (pair := _least_unrelated(mask, below)) is not None]
        if not pairs:
            return None
        x, y = min(pairs)
        return self._unrelated(ordered[x], ordered[y])

    def _unrelated(self, x: Txn, y: Txn) -> Violation:
        record = self.record
        p = min(actor for actor, end in record.ends() if record.contains(end, x) and record.contains(end, y))
        first, second = (min(record.broadcasts(txn), key=lambda sent: sent.primary) for txn in (x, y))
        actors = (p, first.primary[1:], second.primary[1:])
        who, one, other = (named(each, *actors) for each in actors)
        return self._violation(
            f"{who} delivered {first.txn} and {second.txn}, of which neither precedes the other: {one} broadcast the "
            f"one in epoch {first.epoch}, {other} the other in epoch {second.epoch}",
            first.event,
            second.event,
            Deliver(*p, first.txn),
            Deliver(*p, second.txn),
        )


def _precedes(record: Record, x: Txn, y: Txn) -> bool:
    """Return True if x ≺_PO y: searches the predecessors of y for x. O(n)."""
    seen = {y}
    links = {EMPTY.hash}
    waiting = [y]
    while waiting:
        found: list[Txn] = []
        for sent in record.broadcasts(waiting.pop()):
            if sent.previous is not None:
                found.append(sent.previous.txn)
            for _, known in record.known(sent):
                link = known
                while link.hash not in links:
                    links.add(link.hash)
                    if link.txn in record.sent:
                        found.append(link.txn)
                    link = link.previous
        if x in found:
            return True
        fresh = dict.fromkeys(txn for txn in found if txn not in seen)
        seen.update(fresh)
        waiting.extend(fresh)
    return False


def _below(record: Record, bit_of: dict[Txn, int]) -> list[int]:
    """Return for each transaction the set of all that precede it, as one integer; repeats until nothing changes."""
    below = [0] * len(bit_of)
    changed = True
    while changed:
        changed = False
        closed = {EMPTY.hash: 0}  # by chain hash: the transactions of a sequence, and their predecessors
        for txn, bit in bit_of.items():
            mask = below[bit]
            for sent in record.broadcasts(txn):
                if sent.previous is not None:
                    before = bit_of[sent.previous.txn]
                    mask |= below[before] | 1 << before
                for _, known in record.known(sent):
                    mask |= _closed(known, bit_of, below, closed)
            if mask != below[bit]:
                below[bit] = mask
                changed = True
    return below


def _closed(known: Chain, bit_of: dict[Txn, int], below: list[int], closed: dict[int, int]) -> int:
    links = []
    while known.hash not in closed:
        links.append(known)
        known = known.previous
    mask = closed[known.hash]
    for link in reversed(links):
        bit = bit_of.get(link.txn)
        if bit is not None:
            mask |= below[bit] | 1 << bit
        closed[link.hash] = mask
    return mask


def _mask(end: Chain, bit_of: dict[Txn, int]) -> int:
    return sum(1 << bit_of[txn] for txn in end if txn in bit_of)


def _least_unrelated(mask: int, below: list[int]) -> tuple[int, int] | None:
    """Return the least two of this set of which neither precedes the other."""
    bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
    for place, x in enumerate(bits):
        for y in bits[place + 1 :]:
            if not below[x] >> y & 1 and not below[y] >> x & 1:
                return x, y
    return None
