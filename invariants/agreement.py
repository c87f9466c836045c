"""Agreement (DSN 2011, III-A).

    If some process p_i delivers ⟨v,z⟩ and some process p_j delivers ⟨v',z'⟩, then either p_i delivers ⟨v',z'⟩ or
    p_j delivers ⟨v,z⟩.

So of any two sets of delivered transactions one contains the other. It is judged on the transactions delivered when the
trace ends: a process may catch up.

Detection: as long as the tree of delivered sequences is a path nothing can be broken. Once it has forked, the position
that moved is compared with every other, as often as the cost of that stays O(1) an event on average; the end of the
trace settles it in any case.

Witness: p_i delivers a, p_j delivers b, where a < b; least by (a, p_i, b, p_j). Exercised by: two actors that
deliver something. One that only took a snapshot over (its own, too) has a delivered sequence, and cannot diverge.
Cost: O(1) an event; the witness O(E^2 n / 64) for E different last positions and n distinct transactions.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Actor, Record, named

_WORK_AN_EVENT = 256
"""The number of links that may be compared for each event, on average."""


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
        self.budget = 10 * _WORK_AN_EVENT  # links that may still be compared

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
        ordered = sorted(record.delivered())
        best: tuple[int, Actor, int, Actor] | None = None
        ends = _masks(record, {txn: bit for bit, txn in enumerate(ordered)})
        for index, (p, own) in enumerate(ends):
            for q, other in ends[index + 1 :]:
                only_p, only_q = own & ~other, other & ~own
                if not only_p or not only_q:
                    continue
                a, b = _lowest(only_p), _lowest(only_q)
                found = (a, p, b, q) if a < b else (b, q, a, p)
                best = found if best is None else min(best, found)
        if best is None:
            return None
        a, p, b, q = best
        return self._violation(
            f"{named(p, q)} delivered {ordered[a]} and never {ordered[b]}, {named(q, p)} delivered {ordered[b]} "
            f"and never {ordered[a]}",
            Deliver(*p, ordered[a]),
            Deliver(*q, ordered[b]),
        )


def _masks(record: Record, bit_of: dict[Txn, int]) -> list[tuple[Actor, int]]:
    """Return for each last position its least actor, and the set of its delivered transactions as one integer."""
    known: dict[int, int] = {0: 0}
    masks = []
    for actor, end in sorted(record.ends(), key=lambda pair: pair[1].length):
        link, mask = end, 0
        while link.hash not in known:
            mask |= 1 << bit_of[link.txn]
            link = link.previous
        known[end.hash] = mask | known[link.hash]
        masks.append((actor, known[end.hash]))
    return masks


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
