"""The part of a trace that a judge still needs: two judges with one identity agree on every continuation.

An exhaustive search meets the same state of a protocol after different traces, and may identify these if the
properties need not distinguish them either. Every distinction multiplies its states, so an identity leaves out
everything that no continuation can make matter. Each property knows what it still needs
(`MonitoredInvariant.remembers`); the needs of the record are here, as they depend on the properties that read it. Facts
that only a witness shows are left out, and how often something was judged.

Two judges agree if the same event is the first with which something is violated, and the same property is `named` for
it. The order of the properties in the judge does not matter to that, except where several are named alike. Later
verdicts are not compared. This is taken for granted:

- the order is "global", and nothing is violated so far;
- the incarnation of a process only grows: none of its events to come is of one below `incarnations[process]`;
- no transaction is broadcast a second time;
- if a process goes on with an iteration that it had left, a judge that is `told_of_leaving` raises `WentOn` instead of
  a verdict.

An incarnation counts as current or over, so that there are finitely many identities however often processes crash. Only
if sequences have forked and in other rare cases (`_is_a_path`) the whole record is kept as it is.
"""

from collections.abc import Collection, Hashable, Sequence

from zabcheck.explore.judges.content import content
from zabcheck.explore.judges.judge import MonitorJudge
from zabcheck.invariants.agreement import Agreement
from zabcheck.invariants.base import Judge
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.integrity import Integrity
from zabcheck.invariants.record import Record, Sent
from zabcheck.invariants.total_order import TotalOrder

_NOT_NEEDED = frozenset(
    (
        "quorums",
        "new_links",
        "new_sents",
        "new_positions",
        "actors",
        "deliveries",
        "starts",
        "sequences",
        "transactions",
        "_only_restored",
        "broadcast_events",
        "_branch",
        "_made",
        "_forks",
        "_proposals",
    )
)
"""Attributes that are the same for a whole search, empty between two events, only counted, or follow from the rest."""


_AT_A_FORK = (Integrity.name, TotalOrder.name, Agreement.name)
"""The properties that detect a fork of the delivered sequences: an identity decides which of them is broken first.

The verdicts on other properties may depend on facts that an identity leaves out, and so may agreement where total order
is broken.
"""


def named(judge: Judge, violated: Collection[str]) -> str | None:
    """Return the property that stands for all that are `violated` (by name) after one event; None if none is.

    It is the first of `_AT_A_FORK` that is broken; if none of these is, the first in the judge's order.
    """
    names = (*_AT_A_FORK, *(each.name for each in judge.invariants))
    return next((name for name in names if name in violated), None)


def identity(judge: MonitorJudge, incarnations: Sequence[int], exercised: Collection[str] = ()) -> Hashable:
    """Return the facts about past events that `judge` still needs, to be compared with those of another judge.

    `incarnations` are the current ones, by process (entry 0 is not used). For properties that are `exercised`, by name,
    it does not matter any more if they are. O(size of the result).
    """
    remembered = [each.remembers(incarnations) for each in judge.invariants]
    awaited = [None if each.name in exercised else each.awaits() for each in judge.invariants]
    return _record(judge, incarnations), *remembered, *awaited


def _record(judge: MonitorJudge, incarnations: Sequence[int]) -> Hashable:
    """Return the part of the record that properties need which judge delivered sequences."""
    if not any(each.reads_sequences for each in judge.invariants):
        return None
    record = judge.record
    reading = [type(each) for each in judge.invariants if each.reads_sequences]
    needs = [need for kind in reading for need in kind.needs or ()]
    if not _is_a_path(record) or any(kind.needs is None for kind in reading):
        return _everything(record, incarnations)
    past = _Past(record, incarnations, judge.told_of_leaving)
    tells_of_forks = all(any(issubclass(each, kind) for each in reading) for kind in (TotalOrder, Agreement))
    if not tells_of_forks or not past.is_in_order():
        return past.whole()
    return past.ahead(strict="who delivered the whole path" in needs, by_server="what each server broadcast" in needs)


def _is_a_path(record: Record) -> bool:
    """Return True if all delivered sequences are prefixes of one, broadcast before, and on record when restored."""
    odd = record.forked or record.late or record.resumed
    return not odd and not record.unmatched()


def _everything(record: Record, incarnations: Sequence[int]) -> Hashable:
    kept = {name: value for name, value in vars(record).items() if name not in _NOT_NEEDED}
    kept["_more_links"] = {txn: list(links.values()) for txn, links in record._more_links.items()}
    kept["_left"] = frozenset(record._left)  # where sequences ended; the processes matter to witnesses only
    return tuple(incarnations), content(kept)


class _Past:
    """A summary of a record of which `_is_a_path` is true: a position is a length of the only path."""

    def __init__(self, record: Record, incarnations: Sequence[int], told_of_leaving: bool = False) -> None:
        self.record = record
        self.incarnations = incarnations
        self.told_of_leaving = told_of_leaving
        self.path: Chain = next(reversed(record.links.values()), EMPTY)
        self.place = {link.txn: link.length for link in record.links.values() if link.length}
        self.at: list[int] = []  # by process: the length that its current incarnation has delivered
        self.most: list[int] = []  # by process: the length that any of its incarnations has delivered
        self.left = {end.length for _, end in record._left.values()}
        for process in range(1, len(incarnations)):
            at, most = record.position(process) or EMPTY, record._longest.get(process, EMPTY)
            over = record.incarnation(process) != incarnations[process]
            if over and at:
                self.left.add(at.length)
            self.at.append(0 if over else at.length)
            self.most.append(max(at.length, most.length))

    def is_in_order(self) -> bool:
        """Return True if each transaction on the path was broadcast, and follows the one before in every respect."""
        for txn, place in self.place.items():
            sent = self.record.sent.get(txn)
            if sent is None:
                return False
            before = 0 if sent.previous is None else self.place.get(sent.previous.txn, place)
            if before >= place or max(before, sent.longest.length) < place - 1:
                return False
        return True

    def whole(self) -> Hashable:
        """Return all broadcasts, and where each sequence ended: enough even if no property detects a fork."""
        sents = frozenset(
            (
                sent.txn,
                sent.epoch,
                sent.event.process,
                self._is_current(sent),
                None if sent.previous is None else sent.previous.txn,
                None if sent.delivered is None else sent.delivered.length,
                sent.longest.length,
                sent.rank,
            )
            for sent in self.record.sent.values()
        )
        last = frozenset(self._last(strict=False))
        return "whole", self.path.hash, tuple(self.at), tuple(self.most), frozenset(self.left), sents, last

    def ahead(self, *, strict: bool, by_server: bool) -> Hashable:
        """Return the broadcasts yet to be delivered: enough if total order or agreement detects a fork (see `named`).

        So whatever is delivered next has the whole path before it, and of the transactions on the path only the order
        matters, and the epochs. `strict`: strict causality asks if a process had delivered the whole path, in any
        incarnation, when it broadcast: if it had not, the broadcast is related to the last transaction on the path only
        if that is the previous broadcast of its primary. `by_server`: the causal order of LADIS 2008 asks for the order
        of a process's broadcasts, in all its incarnations.
        """
        record, place, length = self.record, self.place, self.path.length
        epochs = [(place[sent.txn], sent.epoch) for sent in record.sent.values() if sent.txn in place]
        coming = [sent for sent in record.sent.values() if sent.txn not in place]
        return (
            self.path.hash,
            frozenset((at, epoch) for at, epoch in epochs if epoch != self.path.prefix(at).zxid.epoch),
            tuple(self.at),
            tuple(most == length for most in self.most) if strict else None,
            frozenset((sent.txn, sent.epoch, self._before(sent), strict and self._knows_all(sent)) for sent in coming),
            frozenset(self._last(strict)),
            self._by_server(coming, max((epoch for _, epoch in epochs), default=-1)) if by_server else None,
        )

    def _before(self, sent: Sent) -> Hashable:
        """Return the previous broadcast of `sent`'s primary, if that is yet to be delivered too."""
        before = sent.previous
        return None if before is None or before.txn in self.place else before.txn

    def _knows_all(self, sent: Sent) -> bool:
        """Return True if the last transaction on the path is known to precede `sent`."""
        before = 0 if sent.previous is None else self.place.get(sent.previous.txn, 0)
        return max(before, sent.longest.length) == self.path.length

    def _last(self, strict: bool) -> set[Hashable]:
        """Return the last broadcast of each primary that may go on, if its next broadcast has to follow that.

        A judge that is `told_of_leaving` expects no other primary to go on (`Record.goes_on`), so it names all.
        """
        found: set[Hashable] = set()
        for (epoch, process, _), sent in self.record._last.items():
            if not self._is_current(sent):
                continue
            place = self.place.get(sent.txn)
            if place is None:
                found.add((epoch, process, sent.txn))
            elif strict and place == self.path.length > self.most[process - 1]:
                found.add((epoch, process, None))
            elif self.told_of_leaving:
                found.add((epoch, process))
        return found

    def _by_server(self, coming: list[Sent], highest: int) -> Hashable:
        """Return each process's broadcasts, in order; and, apart, those that causally precede something on the path."""
        latest: dict[int, int] = {}
        for txn in self.place:
            sent = self.record.sent[txn]
            latest[sent.event.process] = max(sent.rank, latest.get(sent.event.process, -1))
        too_late = set()
        in_order: dict[int, list[Sent]] = {}
        for sent in coming:
            process = sent.event.process
            if sent.epoch < highest or sent.rank < latest.get(process, -1):
                too_late.add(sent.txn)
            else:
                in_order.setdefault(process, []).append(sent)
        for sents in in_order.values():
            sents.sort(key=lambda sent: sent.rank)
        return frozenset(too_late), content({p: [sent.txn for sent in sents] for p, sents in in_order.items()})

    def _is_current(self, sent: Sent) -> bool:
        return sent.event.incarnation == self.incarnations[sent.event.process]
