"""Causal order (LADIS 2008, 2).

    If message a causally precedes message b and both are delivered, then a must be ordered before b.

a causally precedes b if (1) the same server proposed a before b, or (2) a was proposed by a leader of a lower epoch
than b's. A server is a process in all its incarnations. "Both are delivered" is read as: by one process; and the order
is the one in which it delivers them.

Detection: as long as the tree of delivered sequences is a path, a new link stands after all delivered transactions.
So it is enough to know their lowest and highest epoch, and for each server its latest proposal among
them. If the tree has forked these are bounds, and a sequence that they do not clear is traversed, as often as the
cost of that stays O(1) an event on average. The end of the trace settles it in any case, also where a broadcast turned
up after its delivery (merged logs).

Witness: a leader proposes a, a leader proposes b, p delivers b, then a; least by (a, b, p, the two leaders).
Exercised by: a process that delivers two of which one causally precedes the other.
Cost: O(1) an event; where the tree has forked, the verdict O(n) for n links, and so the witness.
"""

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Deliver, Txn
from zabcheck.invariants.record import Record, Sent, named

_WORK = 1 << 17
"""The number of transactions that may be traversed at first."""

_WORK_AN_EVENT = 1
"""The number of them that may be traversed for each new link after that, on average."""


class LadisCausalOrder(Invariant):
    name = "causal order"
    statement = "If message a causally precedes message b and both are delivered, then a must be ordered before b."
    source = "LADIS 2008, 2"
    group = "ladis"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.cases = 0
        self.broken = False
        self.lowest = 1 << 62  # the lowest and the highest epoch of the delivered transactions
        self.highest = -1
        self.latest: dict[int, int] = {}  # by server: the rank of its latest proposal that was delivered
        self.budget = _WORK  # transactions that may still be traversed

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        if sent is None:
            return False
        self.budget += _WORK_AN_EVENT
        related = self.lowest < sent.epochs[1] or self.highest > sent.epochs[0]
        late = self.highest > sent.epochs[0]
        each: Sent | None = sent
        while each is not None:
            latest = self.latest.get(each.event.process)
            if latest is not None:
                related = True
                late |= each.rank < latest
            each = each.other
        self.cases += related
        self._bound(sent)
        if not late or not self._overtaken(link):
            return False
        self.broken = True
        return True

    def on_sent(self, sent: Sent) -> bool:
        if self.record.late and self.record.links_of(sent.txn):
            self._bound(sent)
        return False

    def _bound(self, sent: Sent) -> None:
        """Extend the bounds by a delivered transaction, with all its broadcasts."""
        lowest, highest = sent.epochs
        if lowest < self.lowest:
            self.lowest = lowest
        if highest > self.highest:
            self.highest = highest
        latest = self.latest
        each: Sent | None = sent
        while each is not None:
            process = each.event.process
            if each.rank > latest.get(process, -1):
                latest[process] = each.rank
            each = each.other

    def _overtaken(self, link: Chain) -> bool:
        """Return True if something before `link` should come after it, as far as the budget lets it look."""
        if self.broken or self.budget < 0:
            return False
        self.budget -= link.length
        return any(_precedes(self.record, link.txn, b) for b in link.previous)

    def judged(self) -> int:
        return self.record.once(_settled)[0] if self.record.late or self.record.forked else self.cases

    def violation(self) -> Violation | None:
        record = self.record
        if not (self.broken or record.late or record.forked):
            return None
        _, late = record.once(_settled)
        if not late:
            return None
        a = min(link.txn for link in late)
        links = [link for link in late if link.txn == a]
        b = min(b for b in record.counts(link.previous for link in links) if _precedes(record, a, b))
        p, _ = record.least_actor(*[link for link in links if record.contains(link.previous, b)])
        first, second = min(_related(record, a, b), key=lambda pair: (pair[0].primary, pair[1].primary))
        apart = first.epoch < second.epoch
        actors = (p, first.primary[1:], second.primary[1:])
        who, proposer, other = (named(each, *actors) for each in actors)
        return self._violation(
            f"{who} delivered {b} before {a}, but {proposer} proposed {a} in epoch {first.epoch}, and {other} {b} "
            + (f"in epoch {second.epoch}" if apart else "after it"),
            first.event,
            second.event,
            Deliver(*p, b),
            Deliver(*p, a),
        )


def _related(record: Record, a: Txn, b: Txn) -> list[tuple[Sent, Sent]]:
    """Return the broadcasts of `a` and of `b` by which `a` causally precedes `b`."""
    return [
        (first, second)
        for first in record.broadcasts(a)
        for second in record.broadcasts(b)
        if first.epoch < second.epoch or (first.event.process == second.event.process and first.rank < second.rank)
    ]


def _precedes(record: Record, a: Txn, b: Txn) -> bool:
    return bool(_related(record, a, b))


def _settled(record: Record) -> tuple[int, list[Chain]]:
    """Traverse the whole tree: return how often the condition was met, and the links that come too late."""
    cases, late = 0, []
    latest: dict[int, int] = {}  # by server, on the path to the link
    changes: list[tuple[int, int]] = []  # of `latest`: what there was before
    path: list[tuple[int, int, int]] = [(1 << 62, -1, 0)]  # lowest and highest epoch, and the number of `changes`
    for link in record.walk():
        while len(path) > link.length:
            path.pop()
        lowest, highest, known = path[-1]
        while len(changes) > known:
            process, rank = changes.pop()
            latest[process] = rank
        sent = record.sent.get(link.txn)
        if sent is None:
            path.append(path[-1])
            continue
        low, high = sent.epochs
        related = lowest < high or highest > low
        is_late = highest > low
        for each in (sent,) if sent.other is None else record.broadcasts(link.txn):
            process, before = each.event.process, latest.get(each.event.process, -1)
            related |= before >= 0
            is_late |= each.rank < before
            changes.append((process, before))
        for process, before in changes[known:]:
            own = [each.rank for each in record.broadcasts(link.txn) if each.event.process == process]
            latest[process] = max(before, *own)
        path.append((min(low, lowest), max(high, highest), len(changes)))
        cases += related
        if is_late:
            late.append(link)
    return cases, late
