"""Invariant 5 (DSN 2011, VI-B).

    Let D_f be the sequence of transactions that a follower f delivers in the broadcast phase of epoch f.e. Then
    D_f ⊑ β_{f.e}.

β_e is the sequence of broadcasts of a primary of e. The phase begins with `CommitEpoch` and ends with the next one,
with an `Adopt`, or the incarnation. With `CommitEpoch` the follower delivers the initial history, which
is of phase 2; a follower that joined late has adopted a part of β_e with it, and may deliver that in phase 3. The zxid
of the last `Adopt` is the end of both, and so the beginning of D_f: D_f and β_e are compared above that zxid. With a
`Restore` in the phase D_f begins anew, above the zxid of the snapshot, if that is higher than the one adopted. (A
`Restore` before `CommitEpoch`, as at recovery, is in no phase.) A phase whose epoch is not the one last adopted is not
judged. Transactions that D_f has already do not count again.

Detection: the follower's last delivery in its phase has a successor in β_e, which comes next. In merged logs the
successor may be broadcast later in the file; from the first delivery that is not the successor on, a phase is kept, and
settled at the end.

Witness: `CommitEpoch`, and the first delivery with which D_f is a prefix of no primary's β_e any more; least by
(epoch, zxid, value, process, incarnation) of the delivery, the first phase in its process.
Exercised by: a delivery in such a phase above the beginning of D_f. Cost: O(1) an event; a kept phase takes
its length. Memory O(distinct transactions + processes), as long as nothing is kept.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.events import (
    Adopt,
    CommitEpoch,
    Crash,
    Deliver,
    Event,
    Halt,
    Local,
    Recover,
    Restore,
    Txn,
    Zxid,
)
from zabcheck.invariants.record import Record, Sent


class Phase:
    """The broadcast phase of a follower, or the rest of it after a snapshot, and its deliveries in it."""

    __slots__ = ("begin", "last", "rest", "zxid")

    def __init__(self, begin: CommitEpoch, zxid: Zxid) -> None:
        self.begin = begin
        self.zxid = zxid  # the beginning of D_f
        self.last: Sent | None = None  # up to here it is as in β
        self.rest: list[Txn] = []  # in order, from the first on that was not known to be as in β

    def copy(self) -> "Phase":
        twin = Phase(self.begin, self.zxid)
        twin.last = self.last
        twin.rest = self.rest.copy()
        return twin


class Invariant5(Invariant):
    name = "invariant 5"
    statement = (
        "Let D_f be the sequence of transactions that a follower f delivers in the broadcast phase of epoch f.e. Then "
        "D_f ⊑ β_{f.e}."
    )
    source = "DSN 2011, VI-B"
    group = "protocol"
    looks_at = (Adopt, CommitEpoch)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.deliveries = 0
        self.adopted: dict[int, Adopt] = {}  # by process: the last
        self.phases: dict[int, Phase] = {}  # by process
        self.kept: list[Phase] = []  # that are over, and yet to be settled
        self.first: dict[int, tuple[Sent, ...]] = {}  # by epoch: the first broadcast of each primary
        self.descends = False  # True if zxids descend within some β

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {
            Adopt: self._adopt,
            CommitEpoch: self._commit_epoch,
            Deliver: self._deliver,
            Restore: self._restore,
            Crash: self._end,
            Recover: self._end,
            Halt: self._end,
        }

    def on_sent(self, sent: Sent) -> bool:
        before = sent.previous
        if before is None:
            self.first[sent.epoch] = (*self.first.get(sent.epoch, ()), sent)
        else:
            self.descends |= not before.txn.zxid < sent.txn.zxid
        return False

    def _adopt(self, event: Adopt) -> bool:
        self.adopted[event.process] = event
        return self._end(event)

    def _commit_epoch(self, event: CommitEpoch) -> bool:
        self._end(event)
        adopted = self.adopted.get(event.process)
        if adopted is not None and adopted.epoch == event.epoch:
            self.phases[event.process] = Phase(event, adopted.zxid)
        return False

    def _restore(self, event: Restore) -> bool:
        phase = self.phases.get(event.process)
        self._end(event)
        if phase is not None and phase.begin.incarnation == event.incarnation:
            zxid = max(self.adopted[event.process].zxid, event.zxid)
            self.phases[event.process] = Phase(phase.begin, zxid)
        return False

    def _end(self, event: Local) -> bool:
        self._end_phase(event.process)
        return False

    def _end_phase(self, process: int) -> None:
        phase = self.phases.pop(process, None)
        if phase is not None and phase.rest:
            self.kept.append(phase)

    def _deliver(self, event: Deliver) -> bool:
        phase = self.phases.get(event.process)
        if phase is None:
            return False
        txn = event.txn
        if phase.last is not None and not phase.rest and not self.descends:
            following = self.record.following(phase.last)
            if following is not None and following.txn is txn and phase.begin.incarnation == event.incarnation:
                phase.last = following  # the usual case
                self.deliveries += 1
                return False
        if phase.begin.incarnation != event.incarnation:
            return self._end(event)
        return phase.zxid < txn.zxid and self._deviates(phase, txn)

    def _deviates(self, phase: Phase, txn: Txn) -> bool:
        """Return True if a delivery above the beginning of D_f is not known to be the next one."""
        self.deliveries += 1
        if not phase.rest:
            following = [sent for sent in self._following(phase) if sent.txn == txn]
            if len(following) == 1:
                [phase.last] = following
                return False
            if self._is_repeat(phase, txn):
                return False
        phase.rest.append(txn)
        return self.order == "global"

    def _following(self, phase: Phase) -> list[Sent]:
        """Return what may be delivered next: the broadcast after the last delivery, or the first of each primary."""
        if phase.last is None:
            return self._firsts(phase)
        sent = self._next_above(phase.last, phase.zxid)
        return [] if sent is None else [sent]

    def _firsts(self, phase: Phase) -> list[Sent]:
        """Return the first broadcast above the beginning of D_f of each primary of the epoch that has one."""
        firsts = []
        for primary in [sent.primary for sent in self.first.get(phase.begin.epoch, ())]:
            sequence = self.record.sequences[primary]
            place = bisect_right(sequence, phase.zxid, key=lambda sent: sent.highest)
            firsts += sequence[place : place + 1]
        return firsts

    def _next_above(self, sent: Sent, zxid: Zxid) -> Sent | None:
        """Return the first after `sent` in β that has a zxid above `zxid`."""
        following = self.record.following(sent)
        while following is not None and not zxid < following.txn.zxid:
            following = self.record.following(following)
        return following

    def _is_repeat(self, phase: Phase, txn: Txn) -> bool:
        last = phase.last
        return last is not None and any(
            sent.primary == last.primary and sent.place <= last.place for sent in self.record.broadcasts(txn)
        )

    def judged(self) -> int:
        return self.deliveries

    def inconclusive(self) -> bool:
        return True

    def violation(self) -> Violation | None:
        wrong = []
        for phase in [*self.kept, *self.phases.values()]:
            if phase.rest:
                found = self._first_wrong(phase)
                if found is not None:
                    wrong.append((phase.begin, *found))
        if not wrong:
            return None
        begin, txn, following = min(
            wrong, key=lambda each: (each[0].epoch, each[1], each[0].process, each[0].incarnation)
        )
        return self._violation(
            f"p{begin.process} delivered {txn} in the broadcast phase of epoch {begin.epoch}, in which "
            + (f"{following} comes next" if following is not None else "nothing was broadcast that comes next"),
            begin,
            Deliver(begin.process, begin.incarnation, txn),
        )

    def _first_wrong(self, phase: Phase) -> tuple[Txn, Txn | None] | None:
        """Return the delivery by which D_f is no prefix of a β_e any more, and the one possible in its place."""
        candidates, delivered = self._firsts(phase), list(dict.fromkeys(phase.rest))
        if phase.last is not None:
            primary = phase.last.primary
            [first] = [sent for sent in candidates if sent.primary == primary]
            if sum(sent.txn == first.txn for sent in candidates) == 1:  # the usual case: only one primary's β goes on
                candidates = self._following(phase)
                delivered = [txn for txn in delivered if not self._is_repeat(phase, txn)]
            else:
                delivered = list(dict.fromkeys([*self._matched(phase), *phase.rest]))
        for txn in delivered:
            going_on = [sent for sent in candidates if sent.txn == txn]
            if not going_on:
                return txn, min((sent.txn for sent in candidates), default=None)
            following = [self._next_above(sent, phase.zxid) for sent in going_on]
            candidates = [sent for sent in following if sent is not None]
        return None

    def _matched(self, phase: Phase) -> list[Txn]:
        txns = []
        sent = phase.last
        while sent is not None:
            if phase.zxid < sent.txn.zxid:
                txns.append(sent.txn)
            sent = sent.previous
        return txns[::-1]

    def fork(self, record: Record) -> "Invariant":
        copy = super().fork(record)
        assert isinstance(copy, Invariant5)
        copy.phases = {process: phase.copy() for process, phase in self.phases.items()}
        return copy
