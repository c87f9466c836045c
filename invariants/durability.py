"""Durability: a transaction that a client was told is done is there in the end.

Clients rely on it, and the guarantees of the broadcast exist for it (DSN 2011, II: a transaction that a client
was told of must not be undone by a change of the primary). It is judged by what is seen from outside: the answers to
clients (`ClientAck`), and reads of everything at the end (`FinalRead`). If a transaction that a client was told of is
in none of these reads, no process has it any more, and the client was told something wrong.

If only some of the reads have it, `invariants.final_agreement` reports that. Without any read nothing is judged.

Detection: at the end, by look-ups. Witness: the `ClientAck`, least by (zxid, value, process, incarnation), and the
least `FinalRead` by (process, incarnation, transactions). Exercised by: a `ClientAck`, if there is a `FinalRead`.
Cost: O(1) an event and transaction of a read; memory O(distinct transactions).

In an incomplete trace a read that has it may be missing: a violation is never certain.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import ClientAck, Event, FinalRead, Txn
from zabcheck.invariants.record import Record


class Durability(Invariant):
    name = "durability"
    statement = "If a client was told that a transaction is done, then what is read at the end holds it."
    source = "after DSN 2011, II: what clients rely on"
    group = "clients"
    looks_at = (ClientAck, FinalRead)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.told: dict[Txn, ClientAck] = {}  # the least of each transaction
        self.read: dict[Txn, None] = {}  # at any process
        self.least: FinalRead | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {ClientAck: self._client_ack, FinalRead: self._final_read}

    def _client_ack(self, event: ClientAck) -> bool:
        known = self.told.get(event.txn)
        if known is None or (event.process, event.incarnation) < (known.process, known.incarnation):
            self.told[event.txn] = event
        return False

    def _final_read(self, event: FinalRead) -> bool:
        self.read.update(dict.fromkeys(event.txns))
        if self.least is None or _rank(event) < _rank(self.least):
            self.least = event
        return False

    def judged(self) -> int:
        return 0 if self.least is None else len(self.told)

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        lost = min((txn for txn in self.told if txn not in self.read), default=None)
        if lost is None or self.least is None:
            return None
        told = self.told[lost]
        return self._violation(
            f"p{told.process} told a client that {lost} is done, and no final read has it", told, self.least
        )


def _rank(event: FinalRead) -> tuple[Any, ...]:
    return event.process, event.incarnation, event.txns
