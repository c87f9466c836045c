"""One chain: the configurations that were active anywhere are those of one history (USENIX ATC 2012).

    No two configurations with one zxid are active, and a process that delivers a transaction with a higher zxid than
    that of an active configuration has delivered that configuration's transaction before.

A configuration is known by the zxid of the transaction that names it (in ZooKeeper its version). Two that are active
under one zxid, or one that others have passed by, mean that two ensembles go on beside each other. A process need not
activate every configuration: it may be told of a later one. After a snapshot whose prefix is not on record nothing is
judged.

Witness: the activations of two configurations with the lowest zxid that has two, each the least by (value, process,
incarnation); if there are none, the least activation of the least configuration that was passed by, and the least
delivery, by (zxid, value, process, incarnation), that passed it by. Exercised by: a configuration that is active.
Detection: with the event that shows it; a later one repairs nothing. Cost: O(configurations) for each new sequence that
is delivered, O(sequences) for each configuration that becomes active for the first time.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import Chain
from zabcheck.invariants.events import Activate, Deliver, Event, Txn
from zabcheck.invariants.quorums import Configuration
from zabcheck.invariants.record import Record, Sent


class OneChain(Invariant):
    name = "one chain"
    statement = (
        "No two configurations with one zxid are active, and a process that delivers a transaction with a higher zxid "
        "than that of an active configuration has delivered that configuration's transaction before."
    )
    source = "USENIX ATC 2012 (Shraer et al.): one configuration at each place of the chain"
    group = "configurations"
    looks_at = (Activate,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.active: dict[Txn, Activate] = {}
        """By the transaction that names it: the least activation of a configuration."""

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Activate: self._activate} if isinstance(self.record.quorums, Configuration) else {}

    def _activate(self, event: Activate) -> bool:
        txn = event.txn
        known = self.active.get(txn)
        self.active[txn] = event if known is None else min(known, event, key=_rank)
        if known is not None:
            return False
        others = any(other.zxid == txn.zxid and other != txn for other in self.active)
        return others or any(self._passes(link, txn) for link in self.record.links.values())

    def on_link(self, link: Chain, sent: Sent | None) -> bool:
        return any(self._passes(link, txn) for txn in self.active)

    def _passes(self, link: Chain, txn: Txn) -> bool:
        """Return True if the last transaction of a delivered sequence has a higher zxid, and `txn` is not before it."""
        return link.zxid > txn.zxid and not self.record.contains(link, txn)

    def judged(self) -> int:
        return len(self.active)

    def violation(self) -> Violation | None:
        active = sorted(self.active)
        for one, other in pairwise(active):
            if one.zxid == other.zxid:
                first, second = self.active[one], self.active[other]
                summary = f"p{first.process} activated {one}, and p{second.process} {other}, with one zxid"
                return self._violation(summary, first, second)
        for txn in active:
            passing = [link for link in self.record.links.values() if self._passes(link, txn)]
            if passing:
                by = min(link.txn for link in passing)
                actor, _ = self.record.least_actor(*(link for link in passing if link.txn == by))
                activation = self.active[txn]
                summary = f"p{activation.process} activated {txn}, and p{actor[0]} delivered {by} without it"
                return self._violation(summary, activation, Deliver(*actor, by))
        return None


def _rank(event: Activate) -> tuple[int, int]:
    return event.process, event.incarnation
