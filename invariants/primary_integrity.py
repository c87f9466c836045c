"""Primary integrity (DSN 2011, III-A).

    If a primary ρ_e broadcasts ⟨v,z⟩, and some process delivers ⟨v',z'⟩ that was broadcast by ρ_e', e' < e, then ρ_e
    must deliver ⟨v',z'⟩ before it broadcasts ⟨v,z⟩.

"Some process delivers" has no time: a delivery after the broadcast counts as well. A transaction that ρ_e broadcasts
again after ρ_e' did is no exception: ρ_e must have delivered it before.

Detection: the first broadcast of an epoch demands most (and the first after a `Restore`). At that moment the primary
must have delivered every transaction of earlier epochs that any process has delivered, which is a matter of counting;
and from then on no transaction of an earlier epoch may be delivered for the first time. Counting needs sequences of
transactions broadcast in the epoch of their zxids, with zxids that ascend; for others, and if a broadcast turns up
after its delivery (merged logs), all is settled once at the end.

Witness, with z = b and z' = a: ρ_e' broadcasts a, ρ_e broadcasts b, p delivers a (p may be ρ_e itself, if it does so
later); least by (b, ρ_e, a, p, ρ_e'). Exercised by: a broadcast in an epoch above that of a delivered transaction.
Cost: O(1) an event, O(epochs) a primary whose epoch is over; the witness O(n log epochs) for n links.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Deliver, Txn, Zxid
from zabcheck.invariants.record import Record, Sent, named


class PrimaryIntegrity(Invariant):
    name = "primary integrity"
    statement = (
        "If a primary ρ_e broadcasts ⟨v,z⟩, and some process delivers ⟨v',z'⟩ that was broadcast by ρ_e', e' < e, "
        "then ρ_e must deliver ⟨v',z'⟩ before it broadcasts ⟨v,z⟩."
    )
    source = "DSN 2011, III-A"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.delivered: dict[int, int] = {}  # epoch -> distinct transactions of it that were delivered
        self.unsorted: set[int] = set()  # hashes of the sequences in which counting does not work
        self.total = 0  # of all epochs
        self.highest_delivered = -1
        self.highest_primary = -1
        self.broken = False

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        epochs = None if sent is None else sent.epochs
        self._sort(link, epochs)
        if epochs is None or not self.record.is_first_link(link):
            return False
        epoch = epochs[0]
        self.delivered[epoch] = self.delivered.get(epoch, 0) + 1
        self.total += 1
        if epoch > self.highest_delivered:
            self.highest_delivered = epoch
        if epoch < self.highest_primary:
            self.broken = True
            return True
        return False

    def on_position(self, sent: Sent) -> bool:
        if self.broken or not self._demands_most(sent):
            return False
        had = self.record.had(sent)
        assert had is not None
        self.highest_primary = max(self.highest_primary, sent.epoch)
        if had.hash in self.unsorted:
            return False
        if self.highest_delivered < sent.epoch:
            older = self.total  # the usual case: nobody has delivered anything of this epoch or a later one
        else:
            older = sum(count for epoch, count in self.delivered.items() if epoch < sent.epoch)
        found = _older_part(had, sent.epoch) < older
        self.broken |= found
        return found

    def _demands_most(self, sent: Sent) -> bool:
        """Return True if the earlier broadcasts of this primary do not imply that `sent` is in order too.

        They do as long as the primary's sequence grows, which only a `Restore` in between can change.
        """
        if sent.previous is not None and not self.record.rewound:
            return False  # the usual case
        had = self.record.had(sent)
        if had is None:
            return False
        if sent.previous is None:
            return True
        before = self.record.had(sent.previous)
        return before is None or not had.starts_with(before)

    def _sort(self, link: Chain, epochs: tuple[int, int] | None) -> None:
        """Record if the zxids of this sequence ascend, with the epochs in which they were broadcast."""
        epoch = link.zxid.epoch
        if (
            epochs is None
            or epochs[0] != epoch
            or epochs[1] != epoch
            or not link.previous.zxid < link.zxid
            or link.previous.hash in self.unsorted
        ):
            self.unsorted.add(link.hash)

    def judged(self) -> int:
        epochs = [found[0] for txn in self.record.delivered() if (found := self.record.epochs(txn)) is not None]
        if not epochs:
            return 0
        lowest = min(epochs)
        sents = _all_sents(self.record)
        return len({sent.primary for sent in sents if sent.epoch > lowest and self.record.had(sent) is not None})

    def violation(self) -> Violation | None:
        record = self.record
        if not (self.broken or self.unsorted or record.late):
            return None
        epoch_of = {txn: found[0] for txn in record.delivered() if (found := record.epochs(txn)) is not None}
        sents = [sent for sent in _all_sents(record) if record.had(sent) is not None]
        sent = min(_lacking(record, sents, epoch_of), key=lambda sent: (sent.txn, sent.primary), default=None)
        if sent is None:
            return None
        had = set(record.had(sent) or ())
        return self._witness(sent, min(txn for txn, epoch in epoch_of.items() if epoch < sent.epoch and txn not in had))

    def _witness(self, sent: Sent, a: Txn) -> Violation:
        record = self.record
        p, _ = record.least_actor(*record.links_of(a))
        first = min(record.broadcasts(a), key=lambda each: each.primary)
        sender = sent.primary[1:]
        delivers = "it delivers later" if p == sender else f"{named(p, sender)} delivers"
        return self._violation(
            f"{named(sender, p)}, primary of epoch {sent.epoch}, broadcast {sent.txn} before it had delivered "
            f"{a} of epoch {first.epoch}, which {delivers}",
            first.event,
            sent.event,
            Deliver(*p, a),
        )


def _older_part(sequence: Chain, epoch: int) -> int:
    """Count the transactions of an ascending sequence that are of an epoch below `epoch`. O(log length)."""
    if sequence.zxid.epoch < epoch:
        return sequence.length
    return sequence.up_to(Zxid(epoch - 1, 2**32 - 1)).length if epoch else 0


def _all_sents(record: Record) -> list[Sent]:
    return [sent for txn in record.sent for sent in record.broadcasts(txn)]


def _lacking(record: Record, sents: Iterable[Sent], epoch_of: Mapping[Txn, int]) -> Iterator[Sent]:
    """Yield those of `sents` before which their process had not delivered everything of earlier epochs.

    In each sequence of the tree its transactions are counted, by epoch.
    """
    ascending = sorted(epoch_of.values())
    epochs = list(dict.fromkeys(ascending))
    place = {epoch: at for at, epoch in enumerate(epochs)}
    asked: dict[int, list[Sent]] = {}
    for sent in sents:
        asked.setdefault((record.had(sent) or EMPTY).hash, []).append(sent)
    yield from (sent for sent in asked.get(EMPTY.hash, ()) if bisect_left(ascending, sent.epoch))
    counts = _Counts(len(epochs))
    path: list[int | None] = []
    for link in record.walk():
        while len(path) >= link.length:
            counts.add(path.pop(), -1)
        epoch = epoch_of.get(link.txn)
        path.append(None if epoch is None else place[epoch])
        counts.add(path[-1], 1)
        for sent in asked.get(link.hash, ()):
            if counts.before(bisect_left(epochs, sent.epoch)) < bisect_left(ascending, sent.epoch):
                yield sent


class _Counts:
    """Numbers by place, of which the first can be summed up: O(log places) (Fenwick 1994)."""

    def __init__(self, places: int) -> None:
        self._tree = [0] * (places + 1)

    def add(self, place: int | None, number: int) -> None:
        """Add to the number at a place; None is no place."""
        at = len(self._tree) if place is None else place + 1
        while at < len(self._tree):
            self._tree[at] += number
            at += at & -at

    def before(self, place: int) -> int:
        """Return the sum of the numbers before a place."""
        total = 0
        while place:
            total += self._tree[place]
            place -= place & -place
        return total
