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

Cost: O(1) an event. The witness: O(n) for n links, if each sequence with a suspicion has no transaction that a sequence
without one lacks, so that all are related; otherwise again for each `LARGE` suspicions that are no immediate
predecessors one way or the other. If all of them come to nothing, and some process delivered y right before x, which
precedes it, each sequence is put in an order that fits the relation, where it is again enough to look at neighbours:
O(n log n). Only if one of these pairs is unrelated is the least pair looked for among all: O(n) for each `LARGE`
transactions up to it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.precedence import Precedence, Relation
from zabcheck.invariants.record import Record, Sent, named

LARGE = 1000
"""The number of transactions above which the witness is looked for among neighbours."""

_WORK = 1 << 17
"""The number of sequences that may be searched for a transaction at first."""

_WORK_AN_EVENT = 1
"""The number of them that may be searched for each event after that, on average."""


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
        self.budget = _WORK  # sequences that may still be searched
        self.unsure = False  # True if the budget did not suffice

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        self.budget += _WORK_AN_EVENT
        if sent is None or link.length == 1:
            return False
        previous = sent.previous
        if previous is not None and previous.txn is link.previous.txn:
            self.cases += 1
            return False  # the usual case
        before = self._last_broadcast(link.previous)
        if before is None:
            return False
        self.cases += 1
        if any(self._follows(each, before) for each in self.record.broadcasts(link.txn)):
            return False
        self.suspicious = True
        return True

    def _last_broadcast(self, link: Chain) -> Chain | None:
        """Return the longest prefix that ends in a broadcast transaction."""
        while link.length and link.txn not in self.record.sent:
            link = link.previous
        return link if link.length else None

    def _follows(self, sent: Sent, before: Chain) -> bool:
        """Return True if `before.txn` immediately precedes this broadcast; of its own primary, a neighbour does.

        And if that would cost too much: then the end of the trace settles it.
        """
        record = self.record
        if before.length <= sent.longest.length and not (record.forked or record.resumed):
            return True  # the usual case: on a path, what is shorter is a prefix
        if sent.previous is not None and sent.previous.txn == before.txn:
            return True
        self.budget -= 1 + len(record.passed(sent.event.process))
        if self.budget < 0:
            self.unsure = True
            return True
        return any(record.contains(known, before.txn) for _, known in record.known(sent))

    def judged(self) -> int:
        record = self.record
        if not (record.late or record.resumed):
            return self.cases
        related = {EMPTY.hash: False}  # by sequence: True if something in it was broadcast
        cases = 0
        for link in record.links.values():
            if link.length:
                sent, before = link.txn in record.sent, related[link.previous.hash]
                cases += sent and before
                related[link.hash] = sent or before
        return cases

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        record = self.record
        if not (self.suspicious or self.unsure or record.late or record.resumed):
            return None
        precedence = record.once(Precedence)
        suspects = list(self._suspects(precedence))
        if self._are_among_others([link for _, link in suspects]):
            return None
        neighbours = {(x, link.txn) for x, link in suspects}
        relation = Relation(precedence)
        if len(record.sent) > LARGE:
            found, reversed_ = _least_unrelated(precedence, relation, neighbours)
            if found is not None or not reversed_:
                return None if found is None else self._unrelated(*found)
            if _least_unrelated(precedence, relation, _arranged(precedence, relation))[0] is None:
                return None
        return self._least(relation)

    def _suspects(self, precedence: Precedence) -> Iterator[tuple[Txn, Chain]]:
        """Yield what was delivered and the link after it, unless it immediately precedes the transaction of that."""
        for link in self.record.links.values():
            if link.txn in self.record.sent and link.length > 1:
                before = self._last_broadcast(link.previous)
                if before is not None and not precedence.is_immediate(before.txn, link.txn):
                    yield before.txn, link

    def _are_among_others(self, suspects: Sequence[Chain]) -> bool:
        """Return True if one sequence without a suspect has all transactions of each sequence that has one."""
        through: set[int] = set()
        suspected = {link.hash for link in suspects}
        for link in self.record.links.values() if suspects else ():
            if link.hash in suspected or link.previous.hash in through:
                through.add(link.hash)
        ends = [end for _, end in self.record.ends()]
        whole = max((end for end in ends if end.hash not in through), key=len, default=EMPTY)
        held = self.record.held(set(whole)) if through else {}
        return all(held[end.hash] == end.length for end in ends if end.hash in through)

    def _least(self, relation: Relation) -> Violation | None:
        """Look for the least pair among all, for `LARGE` transactions at once."""
        record, at_once = self.record, max(1, LARGE)
        ordered = sorted(record.sent)
        for start in range(0, len(ordered), at_once):
            some = ordered[start : start + at_once]
            related = [one | other for one, other in zip(relation.among(some), relation.among(some, True), strict=True)]
            by_txn = {txn: related[component] for txn, component in relation.component.items()}
            x = _least_with_unrelated(record, some, by_txn)
            if x is not None:
                bit = 1 << some.index(x)
                ends = [end for _, end in record.ends() if record.contains(end, x)]
                y = min(txn for txn in record.counts(ends) if txn in by_txn and not by_txn[txn] & bit)
                return self._unrelated(x, y)
        return None

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


def _least_unrelated(
    precedence: Precedence, relation: Relation, pairs: Iterable[tuple[Txn, Txn]]
) -> tuple[tuple[Txn, Txn] | None, bool]:
    """Return the least of these pairs of which neither precedes the other, and True if one is the wrong way round.

    If there is one, the others are not all examined.
    """
    reversed_ = False
    doubtful: list[tuple[Txn, Txn]] = []
    for x, y in sorted(pairs, key=lambda pair: (min(pair), max(pair))):
        if precedence.is_immediate(y, x):
            reversed_ = True
        else:
            doubtful.append((x, y))
    for start in range(0, len(doubtful), max(1, LARGE)):
        some = doubtful[start : start + max(1, LARGE)]
        bits = {txn: bit for bit, txn in enumerate(dict.fromkeys(chain.from_iterable(some)))}
        masks = relation.among(list(bits))
        for x, y in some:
            if not masks[relation.component[y]] >> bits[x] & 1:
                if not masks[relation.component[x]] >> bits[y] & 1:
                    return (min(x, y), max(x, y)), reversed_
                reversed_ = True
    return None, reversed_


def _arranged(precedence: Precedence, relation: Relation) -> Iterator[tuple[Txn, Txn]]:
    """Yield neighbours in the sequences, each put in the order of the relation, unless they are known to be related."""
    ordered = sorted(relation.component, key=relation.component.__getitem__)
    place = {txn: at for at, txn in enumerate(ordered)}
    known: set[tuple[int, int]] = set()
    held: list[int] = []
    path: list[int | None] = []
    for link in precedence.record.walk():
        while len(path) >= link.length:
            gone = path.pop()
            if gone is not None:
                del held[bisect_left(held, gone)]
        at = place.get(link.txn)
        path.append(at)
        if at is None:
            continue
        index = bisect_left(held, at)
        held.insert(index, at)
        for pair in zip(held[max(0, index - 1) : index + 1], held[max(1, index) : index + 2], strict=False):
            x, y = ordered[pair[0]], ordered[pair[1]]
            if pair not in known and relation.component[x] != relation.component[y]:
                known.add(pair)
                if not precedence.is_immediate(x, y):
                    yield x, y


def _least_with_unrelated(record: Record, some: Sequence[Txn], related: dict[Txn, int]) -> Txn | None:
    """Return the least of `some` transactions that is unrelated to another one in a sequence; None if none is."""
    everything = (1 << len(some)) - 1
    bit = {txn: 1 << place for place, txn in enumerate(some)}
    path = [(0, 0)]
    least = 0
    for link in record.walk():
        del path[link.length :]
        held, unrelated = path[-1]
        if link.txn in related:
            held |= bit.get(link.txn, 0)
            unrelated |= everything & ~related[link.txn]
        path.append((held, unrelated))
        if found := held & unrelated:
            least = found & -found if not least else min(least, found & -found)
    return some[least.bit_length() - 1] if least else None
