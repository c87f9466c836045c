"""Invariant 1 (DSN 2011, VI-B).

    A follower f accepts a proposal ⟨e,⟨v,z⟩⟩ only if its current epoch f.a = e.

f.a is durable, so an epoch that an incarnation adopted holds for the next ones too. A follower that never adopted an
initial history has f.a = ⊥, and accepts nothing.

Detection: f.a is the epoch of the last `Adopt` of each process. Only its own order matters.

Witness: the last `Adopt`, if there is one, and the `Accept`; least by (zxid, value, epoch, process, incarnation) of
the latter. Exercised by: an `Accept`. Cost: O(1) an event; memory O(processes).

In an incomplete trace an incarnation may lack its last lines, and so an `Adopt` on which the next ones rely: the
violation is certain only if nothing can be missing between the two, that is, within one incarnation.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Accept, Adopt, Event
from zabcheck.invariants.record import Record


class Invariant1(Invariant):
    name = "invariant 1"
    statement = "A follower f accepts a proposal ⟨e,⟨v,z⟩⟩ only if its current epoch f.a = e."
    source = "DSN 2011, VI-B"
    group = "protocol"
    looks_at = (Adopt, Accept)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.accepts = 0
        self.adopted: dict[int, Adopt] = {}  # by process: the last
        self.least: tuple[Accept, Adopt | None] | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Adopt: self._adopt, Accept: self._accept}

    def _adopt(self, event: Adopt) -> bool:
        self.adopted[event.process] = event
        return False

    def _accept(self, event: Accept) -> bool:
        self.accepts += 1
        adopted = self.adopted.get(event.process)
        if adopted is not None and adopted.epoch == event.epoch:
            return False
        if self.least is None or _rank(event) < _rank(self.least[0]):
            self.least = event, adopted
        return True

    def judged(self) -> int:
        return self.accepts

    def inconclusive(self) -> bool:
        if self.least is None:
            return False
        accept, adopted = self.least
        return accept.incarnation != (0 if adopted is None else adopted.incarnation)

    def violation(self) -> Violation | None:
        if self.least is None:
            return None
        accept, adopted = self.least
        said = f"p{accept.process} accepted {accept.txn} of epoch {accept.epoch}, although "
        if adopted is None:
            return self._violation(said + "it had adopted no initial history", accept)
        return self._violation(said + f"its current epoch was {adopted.epoch}", adopted, accept)


def _rank(accept: Accept) -> tuple[Any, ...]:
    return accept.txn, accept.epoch, accept.process, accept.incarnation
