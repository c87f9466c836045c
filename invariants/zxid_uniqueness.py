"""Zxid uniqueness: one value and one primary a zxid (DSN 2011, III: a zxid identifies a transaction).

Here a transaction is the pair ⟨v,z⟩, so that two values under one zxid can be told apart; and two values are a
finding of their own, whether a broadcast, a delivery, or the acceptance of a proposal shows them. So is a
transaction that two primaries broadcast, even with the same value: each of them took the zxid for its own. Repeated
broadcasts of one transaction by one primary count once, as for the other properties.

Detection: a value that is new to the record, or accepted for the first time, is looked up by its zxid. Deliveries
after a snapshot that is not on record are settled at the end.

Witness, for the least zxid: the two least values, each by the least primary that broadcast it, or else by the least
actor that delivered it, or else by the least (process, incarnation, epoch) that accepted it; if there is only one
value, its broadcasts by the two least primaries.
Exercised by: a zxid that was shown twice, so that the second could have differed from the first: by a broadcast (each
primary's first of a transaction), by a delivery (all deliveries of a transaction are one), by the acceptance of another
process or of another value. A lone broadcast could not. Cost: O(1) an event; memory, and the witness, O(distinct
transactions).
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Accept, Broadcast, Deliver, Event, Txn, Zxid
from zabcheck.invariants.record import Actor, Record, Sent, named


class ZxidUniqueness(Invariant):
    name = "zxid uniqueness"
    statement = "No zxid has two values, and none is broadcast by two primaries."
    source = "DSN 2011, III and IV, step l.3.1"
    group = "protocol"
    looks_at = (Accept,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.values: dict[Zxid, Txn] = {}  # the first value that turned up
        self.accepted: dict[Zxid, Accept] = {}  # the least of the first value that was accepted
        self.others: dict[Txn, Accept] = {}  # the least of each other value
        self.again: dict[Zxid, None] = {}  # accepted by a second process, or with a second value
        self.broken: set[Zxid] = set()

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Accept: self._accept}

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        return self._clashes(link.txn)

    def on_sent(self, sent: Sent) -> bool:
        if sent.other is not None:
            self.broken.add(sent.txn.zxid)
            return True
        return self._clashes(sent.txn)

    def _accept(self, event: Accept) -> bool:
        txn = event.txn
        least = self.accepted.get(txn.zxid)
        if least is None:
            self.accepted[txn.zxid] = event
            return self._clashes(txn)
        if least.txn is txn or least.txn == txn:
            if event.process != least.process:
                self.again[txn.zxid] = None
            if event.process <= least.process and _rank(event) < _rank(least):
                self.accepted[txn.zxid] = event
            return False
        self.again[txn.zxid] = None
        least = self.others.get(txn)
        if least is None or _rank(event) < _rank(least):
            self.others[txn] = event
        return self._clashes(txn)

    def _clashes(self, txn: Txn) -> bool:
        value = self.values.setdefault(txn.zxid, txn)
        if value is txn or value == txn:
            return False
        self.broken.add(txn.zxid)
        return True

    def judged(self) -> int:
        shown: Counter[Zxid] = Counter()
        for txn in self.record.sent:
            shown[txn.zxid] += sum(1 for _ in self.record.broadcasts(txn))
        for txn in {**dict.fromkeys(self.record.delivered()), **self.record.delivered_apart()}:
            shown[txn.zxid] += 1
        for zxid in (*self.accepted, *self.again):
            shown[zxid] += 1
        return sum(times > 1 for times in shown.values())

    def violation(self) -> Violation | None:
        unmatched = self.record.delivered_apart()
        broken = set(self.broken)
        for txn in unmatched:
            if self.values.get(txn.zxid, txn) != txn:
                broken.add(txn.zxid)
        by_zxid: dict[Zxid, Txn] = {}
        for txn in unmatched:
            if by_zxid.setdefault(txn.zxid, txn) != txn:
                broken.add(txn.zxid)
        if not broken:
            return None
        zxid = min(broken)
        accepts = {accept.txn: accept for accept in (*self.accepted.values(), *self.others.values())}
        everything = {*self.record.sent, *self.record.delivered(), *unmatched, *accepts}
        txns = sorted(txn for txn in everything if txn.zxid == zxid)
        if len(txns) == 1:
            first, second = sorted(self.record.broadcasts(txns[0]), key=lambda sent: sent.primary)[:2]
            one, other = first.primary[1:], second.primary[1:]
            return self._violation(
                f"{named(one, other)} broadcast {first.txn} in epoch {first.epoch}, and {named(other, one)} in epoch "
                f"{second.epoch}",
                first.event,
                second.event,
            )
        witness = [self._witness(txn, accepts.get(txn), unmatched.get(txn)) for txn in txns[:2]]
        shows, shows_other = witness
        said = f"{_did(shows, shows_other)}, {_did(shows_other, shows)}"
        return self._violation(f"{zxid} has two values: {said}", *witness)

    def _witness(self, txn: Txn, accept: Accept | None, actor: Actor | None) -> Broadcast | Deliver | Accept:
        """Return the event that shows this transaction best."""
        sents = list(self.record.broadcasts(txn))
        if sents:
            return min(sents, key=lambda sent: sent.primary).event
        actors = [] if actor is None else [actor]
        links = self.record.links_of(txn)
        if links:
            actors.append(self.record.least_actor(*links)[0])
        if actors:
            return Deliver(*min(actors), txn)
        assert accept is not None
        return accept


def _rank(accept: Accept) -> tuple[int, int, int]:
    return accept.process, accept.incarnation, accept.epoch


def _did(event: Broadcast | Deliver | Accept, other: Broadcast | Deliver | Accept) -> str:
    who = named((event.process, event.incarnation), (other.process, other.incarnation))
    did = {Broadcast: "broadcast", Deliver: "delivered", Accept: "accepted"}[type(event)]
    return f"{who} {did} {event.txn}"
