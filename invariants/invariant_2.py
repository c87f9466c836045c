"""Invariant 2 (DSN 2011, VI-B).

    During the broadcast phase of epoch e, a follower f with f.a = e accepts proposals and delivers transactions
    according to zxid order.

For accepting, the phase begins with the last `Adopt`, whose zxid is where the order goes on from, and it lasts over
incarnations, as a history does; an `Accept` of another epoch than f.a is left to invariant 1. For delivering, it
begins with `CommitEpoch`, with which the initial history is delivered, perhaps from its start; it ends with the next
one, with an `Adopt`, or the incarnation. A `Restore` within it counts as the last delivery: the order goes on from its
zxid, be it higher or lower than what was delivered before. (One before `CommitEpoch`, as at recovery, is in no phase.)
So within a phase a transaction is not delivered twice, unless a snapshot took the process back.

Detection: it is enough to look at neighbours. Only the order of a process's own events matters.

Witness: an event and the next of its kind with a zxid that is not higher (`Accept` after `Accept` or `Adopt`,
`Deliver` after `Deliver` or
`Restore`); least by (zxid, value, process, incarnation, kind) of the second, first in its process.
Exercised by: an `Accept` with f.a = e, or a `Deliver` in a phase after another or a `Restore` in it.
Cost: O(1) an event; memory O(processes).

In an incomplete trace an incarnation may lack its last lines, and so an `Adopt` with which the order begins anew: an
`Accept` and one of an earlier incarnation are no certain violation.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import (
    Accept,
    Adopt,
    CommitEpoch,
    Crash,
    Deliver,
    Event,
    Halt,
    Local,
    Recover,
    Restore,
    Zxid,
)
from zabcheck.invariants.record import Record

_OF_A_TRANSACTION = (Accept, Deliver)


class Invariant2(Invariant):
    name = "invariant 2"
    statement = (
        "During the broadcast phase of epoch e, a follower f with f.a = e accepts proposals and delivers transactions "
        "according to zxid order."
    )
    source = "DSN 2011, VI-B"
    group = "protocol"
    looks_at = (Adopt, Accept, CommitEpoch)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.pairs = 0
        self.history: dict[int, Adopt | Accept] = {}  # by process: the last event of its durable history
        self.phase: dict[int, CommitEpoch | Deliver | Restore] = {}  # by process: the last of its phase, if any
        self.least: tuple[Adopt | Accept | Deliver | Restore, Accept | Deliver] | None = None

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {
            Adopt: self._adopt,
            Accept: self._accept,
            CommitEpoch: self._commit_epoch,
            Deliver: self._deliver,
            Restore: self._restore,
            Crash: self._end,
            Recover: self._end,
            Halt: self._end,
        }

    def _adopt(self, event: Adopt) -> bool:
        self.history[event.process] = event
        return self._end(event)

    def _accept(self, event: Accept) -> bool:
        before = self.history.get(event.process)
        if before is None or before.epoch != event.epoch:
            return False
        self.history[event.process] = event
        self.pairs += 1
        return not zxid_of(before) < event.txn.zxid and self._found(before, event)

    def _commit_epoch(self, event: CommitEpoch) -> bool:
        self.phase[event.process] = event
        return False

    def _restore(self, event: Restore) -> bool:
        before = self.phase.get(event.process)
        if before is None or before.incarnation != event.incarnation:
            return self._end(event)
        self.phase[event.process] = event
        return False

    def _deliver(self, event: Deliver) -> bool:
        before = self.phase.get(event.process)
        if before is None:
            return False
        if before.incarnation != event.incarnation:
            return self._end(event)
        self.phase[event.process] = event
        if isinstance(before, CommitEpoch):
            return False
        self.pairs += 1
        return not zxid_of(before) < event.txn.zxid and self._found(before, event)

    def _end(self, event: Local) -> bool:
        self.phase.pop(event.process, None)
        return False

    def _found(self, before: Adopt | Accept | Deliver | Restore, event: Accept | Deliver) -> bool:
        if self.least is None or _rank(event) < _rank(self.least[1]):
            self.least = before, event
        return True

    def judged(self) -> int:
        return self.pairs

    def inconclusive(self) -> bool:
        return self.least is not None and self.least[0].incarnation != self.least[1].incarnation

    def violation(self) -> Violation | None:
        if self.least is None:
            return None
        before, event = self.least
        did = "accepted" if isinstance(event, Accept) else "delivered"
        if isinstance(before, Adopt):
            last = f"adopted a history up to {before.zxid}"
        elif isinstance(before, Restore):
            last = f"taken over a snapshot up to {before.zxid}"
        else:
            last = f"{did} {before.txn}"
        return self._violation(f"p{event.process} {did} {event.txn} after it had {last}", before, event)


def zxid_of(event: Adopt | Accept | Deliver | Restore) -> Zxid:
    """Return the zxid from which the order goes on."""
    return event.txn.zxid if isinstance(event, _OF_A_TRANSACTION) else event.zxid


def _rank(event: Accept | Deliver) -> tuple[Any, ...]:
    return event.txn, event.process, event.incarnation, isinstance(event, Deliver)
