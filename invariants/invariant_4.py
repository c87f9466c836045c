"""Invariant 4 (DSN 2011, VI-B).

    The initial history I_e of an epoch e is the history of some follower, and the messages ACK-E and NEWLEADER do not
    alter, reorder, or lose transactions.

Two halves, one for each message:

- the history of an `AckEpoch` is the durable one of its process: that of its last `Adopt` (in the beginning: the empty
  one), with the transaction of each later `Accept` appended. A process answers once its promise is durable, and a disk
  has one write order, so everything in that history is durable too, and has been shown before;
- the history of an `Adopt` of epoch e is I_e ∘ β, where I_e is the history of some `AckEpoch` of e, and β is a prefix
  of the broadcasts of a primary of e, in their order: a follower that joins late gets NEWLEADER with the transactions
  broadcast before.

Nothing is judged about which of several histories the leader had to choose; other properties would break by a wrong
choice.

Detection: the first half needs the process's own events only. For the second, in merged logs the `AckEpoch` and the
broadcasts of others may come later in the file, so an `Adopt` without a match is settled at the end. A trace with no
`AckEpoch` at all (they are as optional as other protocol events) is not judged by it.

Witness: an `AckEpoch` with another history, least by (epoch, zxid, process, incarnation), first in its process;
if there is none, the least such `Adopt`, then by length and hash. Exercised by: an `AckEpoch`.
Cost: O(1) an event, for processes that accept the same transactions after each other share the hash; for an `Adopt`
that has no known match, O(broadcasts of e) in all for each candidate for I_e of a length that fits. Memory
O(distinct transactions).

In an incomplete trace an incarnation may lack its last lines, and so an `Accept` or `Adopt` that makes a later
history right: the first half is a certain violation only in incarnation 0. The second never is, as an `AckEpoch` or
`Broadcast` may be missing.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Reference, chain_hash, reference
from zabcheck.invariants.events import NO_ZXID, Accept, AckEpoch, Adopt, Event, Txn, Zxid
from zabcheck.invariants.record import Primary, Record, Sent


class _History:
    """A history as far as a trace shows it, and the last one that it was continued to."""

    __slots__ = ("continued", "hash", "length", "txn", "zxid")

    def __init__(self, zxid: Zxid, length: int, hash_: int, txn: Txn | None = None) -> None:
        self.zxid = zxid
        self.length = length
        self.hash = hash_
        self.txn = txn
        self.continued: _History | None = None

    def tells(self, event: AckEpoch | Adopt) -> bool:
        """Return True if `event` has this history."""
        return self.hash == event.hash and self.length == event.length and self.zxid == event.zxid


class Invariant4(Invariant):
    name = "invariant 4"
    statement = (
        "The initial history I_e of an epoch e is the history of some follower, and the messages ACK-E and NEWLEADER "
        "do not alter, reorder, or lose transactions."
    )
    source = "DSN 2011, VI-B"
    group = "protocol"
    looks_at = (Adopt, Accept, AckEpoch)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.empty = _History(NO_ZXID, 0, 0)
        self.acks = 0
        self.cases = 0
        self.known: dict[int, _History] = {0: self.empty}  # by hash
        self.durable: dict[int, _History] = {}  # by process
        self.provided: dict[tuple[int, int], tuple[_History, ...]] = {}  # by epoch and length: the candidates for I_e
        self.candidates: set[tuple[int, Reference]] = set()  # the same, by epoch
        self.first: dict[int, tuple[Sent, ...]] = {}  # by epoch: the first broadcast of each primary
        self.places: dict[tuple[Primary, Zxid], tuple[int, ...]] = {}  # of a zxid in β, as far as
        self.indexed: dict[Primary, int] = {}  # was asked for
        self.matched: set[tuple[int, Reference]] = set()  # epoch and history: I_e ∘ a prefix of β_e, as far as
        self.ends: dict[tuple[_History, Sent], tuple[int, _History]] = {}  # these have been followed
        self.unmatched: dict[Adopt, None] = {}
        self.least: tuple[AckEpoch, _History] | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Adopt: self._adopt, Accept: self._accept, AckEpoch: self._ack_epoch}

    def on_sent(self, sent: Sent) -> bool:
        if sent.previous is None:
            self.first[sent.epoch] = (*self.first.get(sent.epoch, ()), sent)
        return False

    def _accept(self, event: Accept) -> bool:
        at = self.durable.get(event.process, self.empty)
        continued = at.continued
        if continued is None or continued.txn is not event.txn:
            continued = self._continued(at, event.txn)
        self.durable[event.process] = continued
        return False

    def _continued(self, at: _History, txn: Txn) -> _History:
        """Return the history `at` with `txn` after it."""
        continued = at.continued
        if continued is None or continued.txn != txn:
            hash_ = chain_hash(at.hash, txn)
            continued = self.known.get(hash_)
            if continued is None or continued.length != at.length + 1 or continued.zxid != txn.zxid:
                continued = self.known[hash_] = _History(txn.zxid, at.length + 1, hash_)
            continued.txn = txn
            at.continued = continued
        return continued

    def _told(self, event: AckEpoch | Adopt) -> _History:
        known = self.known.get(event.hash)
        if known is None or not known.tells(event):
            known = self.known[event.hash] = _History(event.zxid, event.length, event.hash)
        return known

    def _ack_epoch(self, event: AckEpoch) -> bool:
        self._provide(event)
        self.cases += 1
        durable = self.durable.get(event.process, self.empty)
        if durable.tells(event):
            return False
        if self.least is None or _rank(event) < _rank(self.least[0]):
            self.least = event, durable
        return True

    def _provide(self, event: AckEpoch) -> None:
        """Take in a candidate for the initial history of an epoch."""
        self.acks += 1
        candidate = event.epoch, reference(event)
        if candidate not in self.candidates:
            self.candidates.add(candidate)
            self.matched.add(candidate)
            known = self.provided.get((event.epoch, event.length), ())
            self.provided[event.epoch, event.length] = (*known, self._told(event))

    def _adopt(self, event: Adopt) -> bool:
        self.cases += 1
        self.durable[event.process] = self._told(event)
        if self._matches(event):
            return False
        self.unmatched[event] = None
        return self.acks > 0 and self.order == "global"

    def _matches(self, event: Adopt) -> bool:
        """Return True if the adopted history is I_e ∘ a prefix of β_e, for some candidates for these."""
        history = event.epoch, reference(event)
        if history in self.matched:
            return True
        for first in self.first.get(event.epoch, ()):
            for place in self._places(first.primary).get((first.primary, event.zxid), ()):
                for initial in self.provided.get((event.epoch, event.length - place - 1), ()):
                    self._follow(event.epoch, initial, first, event.length)
        return history in self.matched

    def _places(self, primary: Primary) -> dict[tuple[Primary, Zxid], tuple[int, ...]]:
        """Return the places of the zxids in β, for all primaries that were asked for."""
        sents = self.record.sequences[primary]
        for sent in sents[self.indexed.get(primary, 0) :]:
            key = primary, sent.txn.zxid
            self.places[key] = (*self.places.get(key, ()), sent.place)
        self.indexed[primary] = len(sents)
        return self.places

    def _follow(self, epoch: int, initial: _History, first: Sent, length: int) -> None:
        """Add `initial` ∘ each prefix, up to a length, of the β that begins with `first` to the possible histories."""
        done, at = self.ends.get((initial, first), (0, initial))
        for sent in self.record.sequences[first.primary][done : length - initial.length]:
            at = self._continued(at, sent.txn)
            self.matched.add((epoch, reference(at)))
        self.ends[initial, first] = at.length - initial.length, at

    def judged(self) -> int:
        return self.cases if self.acks else 0

    def inconclusive(self) -> bool:
        return self.least is None or self.least[0].incarnation > 0

    def violation(self) -> Violation | None:
        if self.least is not None:
            ack, durable = self.least
            return self._violation(
                f"p{ack.process} provided {_described(ack)} for epoch {ack.epoch}, but has accepted "
                f"{_described(durable)}",
                ack,
            )
        if not self.acks:
            return None
        wrong = [event for event in self.unmatched if not self._matches(event)]
        if not wrong:
            return None
        adopt = min(wrong, key=lambda event: (*_rank(event), event.length, event.hash))
        return self._violation(
            f"p{adopt.process} adopted {_described(adopt)} for epoch {adopt.epoch}, which is no history that a "
            "follower provided for it, nor one with what was broadcast in it",
            adopt,
        )


def _rank(event: AckEpoch | Adopt) -> tuple[Any, ...]:
    return event.epoch, event.zxid, event.process, event.incarnation


def _described(history: _History | AckEpoch | Adopt) -> str:
    if not history.length:
        return "an empty history"
    # The hash distinguishes histories of one length; its last digits do, for a reader.
    return f"a history of length {history.length} up to {history.zxid} (hash …{history.hash % 10_000:04})"
