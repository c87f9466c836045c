"""Epoch uniqueness: at most one established leader an epoch (DSN 2011, definition V.1).

The properties of III name a primary by its epoch, ρ_e, so there must be no second one. A quorum promises an epoch to
one prospective leader only, and two quorums intersect. A process that recovered and is established for the same epoch
again has forgotten what it led, and counts as another leader.

Detection: a look-up by epoch. Witness: the `Establish` of the two least (process, incarnation) of the lowest epoch that
has two. Exercised by: an `Establish`. Cost: O(1) an event; memory O(epochs).
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from invariants.base import Invariant, Violation
from invariants.events import Establish, Event
from invariants.record import Record


class EpochUniqueness(Invariant):
    name = "epoch uniqueness"
    statement = "At most one process, in one incarnation, is the established leader of an epoch."
    source = "DSN 2011, III-A (ρ_e) and definition V.1"
    group = "protocol"
    reads_sequences = False
    looks_at = (Establish,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.established = 0
        self.leaders: dict[int, tuple[Establish, ...]] = {}  # by epoch: the least two
        self.lowest: int | None = None  # the lowest epoch with two leaders

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Establish: self._establish}

    def _establish(self, event: Establish) -> bool:
        self.established += 1
        leaders = self.leaders.get(event.epoch, ())
        if event in leaders:
            return False
        self.leaders[event.epoch] = tuple(sorted((*leaders, event), key=_rank)[:2])
        if not leaders:
            return False
        if self.lowest is None or event.epoch < self.lowest:
            self.lowest = event.epoch
        return True

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the leader of each epoch; 0 if its incarnation is over, as whoever comes then is another leader."""
        return frozenset(
            (epoch, leader.process if leader.incarnation == incarnations[leader.process] else 0)
            for epoch, leaders in self.leaders.items()
            for leader in leaders
        )

    def judged(self) -> int:
        return self.established

    def violation(self) -> Violation | None:
        if self.lowest is None:
            return None
        first, second = self.leaders[self.lowest]
        again = f"p{second.process} again" if first.process == second.process else f"p{second.process} as well"
        return self._violation(
            f"p{first.process} was established as leader of epoch {self.lowest}, and {again}", first, second
        )


def _rank(event: Establish) -> tuple[int, int]:
    return event.process, event.incarnation
