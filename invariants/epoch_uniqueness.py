"""Epoch uniqueness: at most one primary an epoch (DSN 2011, III and definition V.1).

The properties of III name a primary by its epoch, ρ_e, and "the value of e is unique across primary instances", so
there must be no second one. Any of three events shows that a process is the primary of e: it is established as
the leader of e (`Establish`), it is told that it may broadcast in e (`Ready`), or it broadcasts in e (`Broadcast`). A
quorum promises an epoch to one prospective leader only, and two quorums intersect. A process that recovered and leads
the same epoch again has forgotten that it led, and counts as another primary.

Detection: a look-up by epoch. Witness: an event of each of the two least (process, incarnation) that are primaries of
the lowest epoch that has two: the `Establish` of each, or else its `Ready`, or else its least `Broadcast`.
Exercised by: an epoch that has a primary, and was promised to another process, too (`Promise.leader`), so that
this one had chosen it as well. If no other process has, there can be no second primary.
Cost: O(1) an event; memory O(epochs), and O(processes) for each epoch that is promised to several.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import Broadcast, Establish, Event, Promise, Ready
from zabcheck.invariants.record import Record, Sent, named

Claim = Establish | Ready | Broadcast


class EpochUniqueness(Invariant):
    name = "epoch uniqueness"
    statement = "At most one process, in one incarnation, is the primary of an epoch."
    source = "DSN 2011, III (ρ_e) and definition V.1"
    group = "protocol"
    looks_at = (Promise, Establish, Ready)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.primaries: dict[
            int, tuple[Claim, ...]
        ] = {}  # by epoch: the least two, each with the event that shows it best
        self.lowest: int | None = None  # the lowest epoch with two primaries
        self.promised: dict[int, tuple[int, ...]] = {}  # by epoch: the processes that it was promised to

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Promise: self._promise, Establish: self.claim, Ready: self.claim}

    def on_sent(self, sent: Sent) -> bool:
        return self.claim(sent.event)

    def _promise(self, event: Promise) -> bool:
        asked = self.promised.get(event.epoch, ())
        if event.leader is not None and event.leader not in asked:
            self.promised[event.epoch] = (*asked, event.leader)
        return False

    def claim(self, event: Claim) -> bool:
        """Take in that a process acts as the primary of an epoch; return True if another one did."""
        primaries = self.primaries.get(event.epoch, ())
        others = tuple(each for each in primaries if _actor(each) != _actor(event))
        if len(others) < len(primaries):
            [known] = [each for each in primaries if each not in others]
            if _rank(event) < _rank(known):
                self.primaries[event.epoch] = tuple(sorted((*others, event), key=_rank))
            return False
        self.primaries[event.epoch] = tuple(sorted((*primaries, event), key=_rank)[:2])
        if not primaries:
            return False
        if self.lowest is None or event.epoch < self.lowest:
            self.lowest = event.epoch
        return True

    def judged(self) -> int:
        return sum(
            len(claims) > 1 or any(asked != claims[0].process for asked in self.promised.get(epoch, ()))
            for epoch, claims in self.primaries.items()
        )

    def violation(self) -> Violation | None:
        if self.lowest is None:
            return None
        first, second = self.primaries[self.lowest]
        one, other = _actor(first), _actor(second)
        also = named(other, one)
        if type(first) is type(second) and not isinstance(first, Broadcast):
            also += " again" if first.process == second.process else " as well"
        else:
            also += f" {_did(second)} it"
        return self._violation(f"{named(one, other)} {_did(first)} epoch {self.lowest}, and {also}", first, second)


def _actor(claim: Claim) -> tuple[int, int]:
    return claim.process, claim.incarnation


def _rank(claim: Claim) -> tuple[Any, ...]:
    """Return the rank of a primary; of the claims of one primary the least shows it best."""
    if isinstance(claim, Broadcast):
        return *_actor(claim), 2, claim.txn
    return *_actor(claim), int(isinstance(claim, Ready))


def _did(claim: Claim) -> str:
    match claim:
        case Establish():
            return "was established as leader of"
        case Ready():
            return "became ready to broadcast in"
        case Broadcast():
            return f"broadcast {claim.txn} in"
