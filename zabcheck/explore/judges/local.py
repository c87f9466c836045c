"""The properties that judge each process by itself."""

from collections.abc import Hashable, Sequence

from zabcheck.explore.judges.monitored import MonitoredInvariant, WentOn, monitors
from zabcheck.invariants import (
    AckEpoch,
    Adopt,
    CommitEpoch,
    Deliver,
    Invariant1,
    Invariant2,
    Invariant3,
    Invariant4,
    Invariant5,
    Redelivery,
)
from zabcheck.invariants.chain import reference
from zabcheck.invariants.invariant_2 import zxid_of
from zabcheck.invariants.invariant_5 import Phase


@monitors(Redelivery)
class MonitoredRedelivery(MonitoredInvariant, Redelivery):
    reads_sequences = False
    is_local = True

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return for each process its deliveries, in the order of first deliveries, the successors, and the last.

        An incarnation that is over has no last: the next one may begin with anything.
        """
        for process in list(self.ascending):
            self.spread(process)
        return frozenset(
            (
                process,
                tuple(positions),
                frozenset((txn, after.txn) for txn, after in self.successors.get(process, {}).items()),
                last.txn if (last := self.last.get(process)) and last.incarnation == incarnations[process] else None,
            )
            for process, positions in self.positions.items()
        )


@monitors(Invariant1)
class MonitoredInvariant1(MonitoredInvariant, Invariant1):
    reads_sequences = False
    is_local = True

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return f.a of each process."""
        return frozenset((process, adopt.epoch) for process, adopt in self.adopted.items())


@monitors(Invariant2)
class MonitoredInvariant2(MonitoredInvariant, Invariant2):
    reads_sequences = False
    is_local = True

    def _deliver(self, event: Deliver) -> bool:
        if self.told_of_leaving and event.process not in self.phase:
            raise WentOn
        return super()._deliver(event)

    def leave(self, process: int) -> None:
        """End the phase: nothing is delivered in it any more."""
        self.phase.pop(process, None)

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the epoch and zxid that each history ends with, and the last zxid of each phase that is not over."""
        phases = {
            process: None if isinstance(last, CommitEpoch) else zxid_of(last)
            for process, last in self.phase.items()
            if last.incarnation == incarnations[process]
        }
        histories = {(process, last.epoch, zxid_of(last)) for process, last in self.history.items()}
        return frozenset(histories), frozenset(phases.items())


@monitors(Invariant3)
class MonitoredInvariant3(MonitoredInvariant, Invariant3):
    reads_sequences = False
    is_local = True

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the highest promise of each process."""
        return frozenset((process, promise.epoch) for process, promise in self.promised.items())


@monitors(Invariant4)
class MonitoredInvariant4(MonitoredInvariant, Invariant4):
    reads_sequences = False
    reads_broadcasts = True
    is_local = True
    of_all = (AckEpoch, Adopt)

    def _ack_epoch(self, event: AckEpoch) -> bool:
        if self.process in (None, event.process):
            return super()._ack_epoch(event)
        self._provide(event)
        return False

    def _adopt(self, event: Adopt) -> bool:
        if self.process in (None, event.process):
            return super()._adopt(event)
        if not self.acks:
            self.unmatched[event] = None  # as `remembers` leaves out their processes
        return False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return each durable history, the candidates for each I_e, and β: these decide which histories can be adopted.

        A history adopted before the trace showed any `AckEpoch` is judged once it does; after that it is settled.
        """
        return (
            frozenset((process, *reference(history)) for process, history in self.durable.items()),
            frozenset((epoch, *reference(each)) for (epoch, _), known in self.provided.items() for each in known),
            None if self.acks else frozenset((adopt.epoch, *reference(adopt)) for adopt in self.unmatched),
            self.record.proposals(incarnations),
        )


@monitors(Invariant5)
class MonitoredInvariant5(MonitoredInvariant, Invariant5):
    reads_sequences = False
    reads_broadcasts = True
    is_local = True

    def _commit_epoch(self, event: CommitEpoch) -> bool:
        if self.told_of_leaving and event.process not in self.adopted:
            raise WentOn
        return super()._commit_epoch(event)

    def _deliver(self, event: Deliver) -> bool:
        if self.told_of_leaving and event.process not in self.phases and event.process not in self.adopted:
            raise WentOn
        return super()._deliver(event)

    def leave(self, process: int) -> None:
        """End the phase, and forget the last `Adopt`: the next phase begins with another one."""
        self._end_phase(process)
        self.adopted.pop(process, None)

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the last `Adopt` of each process, how far each phase is, and β. A phase that is over matters if kept.

        So does one that was left without an event that shows it; the next event of its process will.
        """
        phases = {p: phase for p, phase in self.phases.items() if phase.begin.incarnation == incarnations[p]}
        over = [phase for p, phase in self.phases.items() if p not in phases]
        return (
            frozenset((process, adopt.epoch, adopt.zxid) for process, adopt in self.adopted.items()),
            frozenset((process, _progress(phase)) for process, phase in phases.items()),
            frozenset(_progress(phase) for phase in (*self.kept, *over) if phase.rest),
            self.record.proposals(incarnations),
        )


def _progress(phase: Phase) -> Hashable:
    """Return how far a phase is."""
    last = None if phase.last is None else phase.last.txn
    return phase.begin.epoch, phase.zxid, last, tuple(phase.rest)
