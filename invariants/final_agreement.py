"""Final agreement: reads of everything at the end give the same, at whichever process.

Replicas of one state are to be the same when nothing is in progress any more (DSN 2011, I and II). `invariants.state`
compares states that the application reports; this property compares reads from outside. The order of the transactions
in a read does not matter, nor how often one is in it.

Detection: each read is compared with earlier ones. Witness: for the least transaction that one read holds and
another lacks, the least read that holds it and the least that lacks it, by (process, incarnation, transactions).
Exercised by: two `FinalRead`s. Cost: O(transactions of the read) for each; memory O(different reads).
"""

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Event, FinalRead, Txn
from zabcheck.invariants.record import Record, named


class FinalAgreement(Invariant):
    name = "final agreement"
    statement = "What is read at the end is the same at every process."
    source = "after DSN 2011, I and II: primary-backup"
    group = "clients"
    looks_at = (FinalRead,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.reads = 0
        self.different: dict[tuple[Txn, ...], FinalRead] = {}  # by the transactions, in order: the least such read

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {FinalRead: self._final_read}

    def _final_read(self, event: FinalRead) -> bool:
        self.reads += 1
        held = tuple(sorted(dict.fromkeys(event.txns)))
        known = self.different.get(held)
        if known is None or _rank(event) < _rank(known):
            self.different[held] = event
        return len(self.different) > 1

    def judged(self) -> int:
        return max(0, self.reads - 1)

    def violation(self) -> Violation | None:
        if len(self.different) < 2:
            return None
        counts = Counter(chain.from_iterable(self.different))
        txn = min(txn for txn, reads in counts.items() if reads < len(self.different))
        holds = min((event for held, event in self.different.items() if txn in held), key=_rank)
        lacks = min((event for held, event in self.different.items() if txn not in held), key=_rank)
        one, other = (holds.process, holds.incarnation), (lacks.process, lacks.incarnation)
        return self._violation(
            f"what was read at the end at {named(one, other)} has {txn}, and what was read at {named(other, one)} has "
            "not",
            holds,
            lacks,
        )


def _rank(event: FinalRead) -> tuple[Any, ...]:
    return event.process, event.incarnation, event.txns
