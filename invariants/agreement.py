"""Agreement (DSN 2011, III-A).

    If some process p_i delivers ⟨v,z⟩ and some process p_j delivers ⟨v',z'⟩, then either p_i delivers ⟨v',z'⟩ or
    p_j delivers ⟨v,z⟩.

So of any two sets of delivered transactions one contains the other. It is judged on the transactions delivered when the
trace ends: a process may catch up.

Detection: as long as the tree of delivered sequences is a path nothing can be broken. Once it has forked, the position
that moved is compared with every other, as often as the cost of that stays O(1) an event on average; the end of the
trace settles it in any case.

Then a and b break it if and only if, of the sequences with a and those with b, neither are among the other. Let the
transactions be in order, first those that most sequences have. If a sequence lacks one of them and has a later one,
these two break it, for no more sequences have the later one; and so does each between them, with the one or the other.
If there is no such sequence, each has the first ones in this order, and nothing is broken.

Witness: p_i delivers a, p_j delivers b, where a < b; least by (a, p_i, b, p_j). Exercised by: two actors that
deliver something. One that only took a snapshot over (its own, too) has a delivered sequence, and cannot diverge.
Cost: O(1) an event; the witness O(n log n) for n links.
"""

from heapq import heappop, heappush
from itertools import accumulate

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Record, named

_WORK = 1 << 20
"""The number of links that may be compared at first."""

_WORK_AN_EVENT = 4
"""The number of them that may be compared for each event after that, on average."""


class Agreement(Invariant):
    name = "agreement"
    statement = (
        "If some process p_i delivers ⟨v,z⟩ and some process p_j delivers ⟨v',z'⟩, then either p_i delivers ⟨v',z'⟩ "
        "or p_j delivers ⟨v,z⟩."
    )
    source = "DSN 2011, III-A"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.budget = _WORK  # links that may still be compared

    def on_move(self, process: int) -> bool:
        self.budget += _WORK_AN_EVENT
        at = self.record.position(process)
        if self.budget < 0 or at is None:
            return False
        ends = self.record.ends()
        self.budget -= len(ends)
        return any(self._incomparable(at, end) for _, end in ends)

    def _incomparable(self, u: Chain, v: Chain) -> bool:
        self.budget -= 1
        if u.starts_with(v) or v.starts_with(u):
            return False
        common = u.common_prefix(v).length
        own, other = u.after(common), v.after(common)
        self.budget -= len(own) + len(other)
        return not set(own) <= set(other) and not set(other) <= set(own)

    def judged(self) -> int:
        return max(0, self.record.actors - 1)

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        record = self.record
        if not record.forked:
            return None
        ends = record.ends()
        a = _least_that_breaks(record, [end for _, end in ends])
        if a is None:
            return None
        with_a = [(actor, end) for actor, end in ends if record.contains(end, a)]
        without = [(actor, end) for actor, end in ends if not record.contains(end, a)]
        others = record.counts(end for _, end in without)
        held = record.held(others)
        p = min(actor for actor, end in with_a if held[end.hash] < len(others))
        lacking = [end for actor, end in with_a if actor == p]
        there = record.counts(lacking)
        b = min(txn for txn in others if there.get(txn, 0) < len(lacking))
        q = min(actor for actor, end in without if record.contains(end, b))
        return self._violation(
            f"{named(p, q)} delivered {a} and never {b}, {named(q, p)} delivered {b} and never {a}",
            Deliver(*p, a),
            Deliver(*q, b),
        )


def _least_that_breaks(record: Record, ends: list[Chain]) -> Txn | None:
    """Return the least transaction that breaks agreement together with another one; None if there is none."""
    counts = record.counts(ends)
    ordered = sorted(counts, key=lambda txn: -counts[txn])
    rank = {txn: place for place, txn in enumerate(ordered)}
    asked = {end.hash for end in ends}
    breaks = [0] * (len(ordered) + 1)  # how many more sequences show that one breaks it than of the one before
    lacking = list(range(len(ordered)))  # a heap of the ranks that the sequence lacks, and perhaps of others
    held = [False] * len(ordered)
    path: list[tuple[int, int]] = []  # the rank of each transaction, and the last so far
    for link in record.walk():
        while len(path) >= link.length:
            gone, _ = path.pop()
            held[gone] = False
            heappush(lacking, gone)
        own = rank[link.txn]
        held[own] = True
        path.append((own, max(own, path[-1][1]) if path else own))
        last = path[-1][1]
        if last >= link.length and link.hash in asked:
            while held[lacking[0]]:
                heappop(lacking)
            breaks[lacking[0]] += 1
            breaks[last + 1] -= 1
    found = [txn for txn, many in zip(ordered, accumulate(breaks), strict=False) if many]
    return min(found, default=None)
