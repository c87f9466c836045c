"""Epoch uniqueness: at most one primary an epoch (DSN 2011, III and definition V.1).

The properties of III name a primary by its epoch, ρ_e, and "the value of e is unique across primary instances", so
there must be no second one. A process shows that it is the primary of e by any of three events: it is established as
the leader of e (`Establish`), it is told that it may broadcast in e (`Ready`), or it broadcasts in e (`Broadcast`). A
quorum promises an epoch to one prospective leader only, and two quorums intersect. A process that recovered and leads
the same epoch again has forgotten what it led, and counts as another primary.

Detection: a look-up by epoch. Witness: what the two least (process, incarnation) did as primaries of the lowest epoch
that has two: the `Establish` of each, or else its `Ready`, or else its least `Broadcast`.
Exercised by: an epoch that has a primary, and was promised to another process, too (`Promise` tells to whom), so that
this one had chosen it as well. Where nobody else has, there can be no second primary.
Cost: O(1) an event; memory O(epochs), and O(processes) for each epoch that is promised to several. Where it is told who
leaves (`leave`), O(epochs) for that, and for a new primary.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from invariants.base import Invariant, Violation, WentOn
from invariants.events import Broadcast, Establish, Event, Promise, Ready
from invariants.record import Record, Sent

_Claim = Establish | Ready | Broadcast


class EpochUniqueness(Invariant):
    name = "epoch uniqueness"
    statement = "At most one process, in one incarnation, is the primary of an epoch."
    source = "DSN 2011, III (ρ_e) and definition V.1"
    group = "protocol"
    reads_sequences = False
    looks_at = (Promise, Establish, Ready)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.primaries: dict[int, tuple[_Claim, ...]] = {}  # by epoch: the least two, each with what shows it best
        self.lowest: int | None = None  # the lowest epoch with two primaries
        self.promised: dict[int, tuple[int, ...]] = {}  # by epoch: to whom
        self.asking: set[tuple[int, int]] = set()  # an epoch, and who was promised it and has not left since
        self.over: set[int] = set()  # epochs of which nobody is expected to act as the primary any more

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Promise: self._promise, Establish: self.claim, Ready: self.claim}

    def on_sent(self, sent: Sent) -> bool:
        return self.claim(sent.event)

    def _promise(self, event: Promise) -> bool:
        asked = self.promised.get(event.epoch, ())
        if event.leader is not None and event.leader not in asked:
            self.promised[event.epoch] = (*asked, event.leader)
        if event.leader is not None and self.told_of_leaving:
            self.asking.add((event.epoch, event.leader))
        return False

    def claim(self, event: _Claim) -> bool:
        """Take in that a process acts as the primary of an epoch; return whether another one did."""
        if event.epoch in self.over:
            raise WentOn
        primaries = self.primaries.get(event.epoch, ())
        others = tuple(each for each in primaries if _actor(each) != _actor(event))
        if len(others) < len(primaries):
            [known] = [each for each in primaries if each not in others]
            if _rank(event) < _rank(known):
                self.primaries[event.epoch] = tuple(sorted((*others, event), key=_rank))
            return False
        self.primaries[event.epoch] = tuple(sorted((*primaries, event), key=_rank)[:2])
        if self.told_of_leaving:
            self._end_epochs()
        if not primaries:
            return False
        if self.lowest is None or event.epoch < self.lowest:
            self.lowest = event.epoch
        return True

    def leave(self, process: int) -> None:
        """Forget who the primary of an epoch was: that one acts as it no more, and nobody else is to.

        Nor is anybody to be the primary of an epoch below one that has a primary, once all have left who were promised
        it: a quorum has promised more. So it need not be known either whether such an epoch ever had one.
        """
        self.asking = {(epoch, leader) for epoch, leader in self.asking if leader != process}
        for epoch, claims in self.primaries.items():
            if any(claim.process == process for claim in claims):
                self.over.add(epoch)
        self._end_epochs()

    def _end_epochs(self) -> None:
        """Have the epochs be over that have no primary, are below one that has, and that nobody asks for."""
        asked = {epoch for epoch, _ in self.asking}
        below = range(1, max(self.primaries, default=0))
        self.over.update(epoch for epoch in below if epoch not in self.primaries and epoch not in asked)

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the primary of each epoch; 0 if its incarnation is over, as whoever comes then is another one.

        For an epoch that is not over, also who was promised it and has not left: their leaving may end it.
        """
        primaries = frozenset(
            (epoch, claim.process if claim.incarnation == incarnations[claim.process] else 0)
            for epoch, claims in self.primaries.items()
            for claim in claims
            if epoch not in self.over
        )
        return primaries, frozenset(self.over), frozenset(each for each in self.asking if each[0] not in self.over)

    def awaits(self) -> Hashable:
        """Return to whom each epoch without a primary was promised.

        Who the primary of an epoch that is over was is left out: a promise to another one that comes only then may not
        be counted.
        """
        return frozenset((e, tuple(sorted(who))) for e, who in self.promised.items() if e not in self.primaries)

    def judged(self) -> int:
        return sum(
            len(claims) > 1 or any(asked != claims[0].process for asked in self.promised.get(epoch, ()))
            for epoch, claims in self.primaries.items()
        )

    def violation(self) -> Violation | None:
        if self.lowest is None:
            return None
        first, second = self.primaries[self.lowest]
        if type(first) is type(second) and not isinstance(first, Broadcast):
            also = f"p{second.process} {'again' if first.process == second.process else 'as well'}"
        else:
            also = f"p{second.process} {_did(second)} it"
        return self._violation(f"p{first.process} {_did(first)} epoch {self.lowest}, and {also}", first, second)


def _actor(claim: _Claim) -> tuple[int, int]:
    return claim.process, claim.incarnation


def _rank(claim: _Claim) -> tuple[Any, ...]:
    """Return the rank of a primary; of the claims of one primary the least shows it best."""
    if isinstance(claim, Broadcast):
        return *_actor(claim), 2, claim.txn
    return *_actor(claim), int(isinstance(claim, Ready))


def _did(claim: _Claim) -> str:
    match claim:
        case Establish():
            return "was established as leader of"
        case Ready():
            return "became ready to broadcast in"
        case Broadcast():
            return f"broadcast {claim.txn} in"
