"""The promises of the environment: the `Stabilised` events that count, and the transactions of a quorum's members.

A `Stabilised` promises that from there to the end of the trace the conditions of claim 7 (DSN 2011, VI-D) are kept. So
the processes of its quorum are the ones that have to catch up, and they are judged when the trace ends.

It counts for nothing if a member of its quorum is down or halted at the end (by a `Crash` or `Halt` of its last
incarnation, for a trace may lack the `Recover` after it), or if the leader itself crashed,
recovered or halted after it, or went on in another incarnation: then the environment broke its promise. Nor does it
if a later one without a quorum takes it back, as the trace did not go on for long enough. (Merged logs
do not show when a member went down and came back; it must have caught up all the same.) A later one of the
same process takes its place.

A process has the transactions that its last incarnation delivered, or took over with a snapshot. The last incarnation
is the highest that its deliveries, broadcasts, snapshots and life events show, or its `Stabilised`. If the prefix in a
snapshot is not on record, the transactions of the process are unknown; that is left to integrity.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from zabcheck.invariants.base import Invariant
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Crash, Event, Halt, Recover, Stabilised, Txn
from zabcheck.invariants.record import Record

Life = Crash | Recover | Halt

_DOWN = (Crash, Halt)
"""The events that can be the last of an incarnation; a tuple, as a search uses it all the time."""


class Liveness(Invariant):
    """A property of the processes that a `Stabilised` names, judged when the trace ends."""

    group = "liveness"
    looks_at = (Stabilised,)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.stabilised: dict[int, Stabilised] = {}  # by leader: the last
        self.life: dict[int, Life | Stabilised] = {}  # by process: the last
        self.behind: dict[int, bool] = {}  # by leader: True if a member lacked something when it came

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Stabilised: self.on_stabilised, Crash: self._lives, Recover: self._lives, Halt: self._lives}

    def on_stabilised(self, event: Stabilised) -> bool:
        self.stabilised[event.process] = self.life[event.process] = event
        self.behind[event.process] = self._is_behind(event)
        return False

    def _is_behind(self, event: Stabilised) -> bool:
        """Return True if a member of the quorum lacks something that the others could, and so may fail to, give it.

        True in merged logs, which do not show what a member had when the leader's log has `Stabilised`.
        """
        wanted = self.wanted()
        return self.order != "global" or any(len(at) < wanted for at in self.members(event).values())

    @abstractmethod
    def wanted(self) -> int:
        """Return the number of transactions that a member may lack so far, with all that are delivered."""

    def _lives(self, event: Life) -> bool:
        self.life[event.process] = event
        if self.stabilised:
            self.stabilised.pop(event.process, None)
            self.behind.pop(event.process, None)
        return False

    def counting(self) -> list[Stabilised]:
        """Return the `Stabilised` events whose promise was kept, in the order of their leaders."""
        return [
            event
            for _, event in sorted(self.stabilised.items())
            if event.quorum
            and event.incarnation >= self.record.incarnation(event.process)
            and not any(self._is_down(member) for member in event.quorum)
        ]

    def _is_down(self, process: int) -> bool:
        life = self.life.get(process)
        return isinstance(life, _DOWN) and life.incarnation >= self.record.incarnation(process)

    def last_incarnation(self, process: int) -> int:
        """Return the last incarnation of `process` that the trace shows."""
        life = self.life.get(process)
        return max(0, self.record.incarnation(process), 0 if life is None else life.incarnation)

    def has(self, process: int) -> Chain | None:
        """Return the delivered sequence of the last incarnation of `process`; None if that is not on record."""
        life = self.life.get(process)
        if life is not None and life.incarnation > self.record.incarnation(process):
            return EMPTY
        if self.record.incarnation(process) < 0:
            return EMPTY
        return self.record.position(process)

    def members(self, event: Stabilised) -> dict[int, Chain]:
        """Return what each member of the quorum has, in ascending order, as far as that is on record."""
        return {member: at for member in sorted(set(event.quorum)) if (at := self.has(member)) is not None}

    def lacking(self, event: Stabilised, txn: Txn) -> int:
        """Return the first member of the quorum that does not have `txn`, which one does not."""
        return next(member for member, at in self.members(event).items() if not self.record.contains(at, txn))

    def judged(self) -> int:
        """Count the `Stabilised` that count and found a member behind; violated ones in any case."""
        return sum(self.behind[event.process] for event in self.counting()) or int(self.violation() is not None)

    def inconclusive(self) -> bool:
        return True
