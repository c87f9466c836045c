"""The properties of primaries, their epochs and broadcasts, and of the choice of transactions by a quorum."""

from collections.abc import Hashable, Sequence

from zabcheck.explore.judges.monitored import MonitoredInvariant, WentOn, monitors
from zabcheck.invariants import Activation, Chain, Chosen, EpochUniqueness, Promise, ZxidAssignment, ZxidUniqueness
from zabcheck.invariants.chain import reference
from zabcheck.invariants.epoch_uniqueness import Claim
from zabcheck.invariants.record import Record, Sent


@monitors(EpochUniqueness)
class MonitoredEpochUniqueness(MonitoredInvariant, EpochUniqueness):
    """Epoch uniqueness; with `told_of_leaving`, leaving costs O(epochs), and so does a new primary."""

    reads_sequences = False

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.asking: set[tuple[int, int]] = set()  # an epoch, and a process that was promised it and has not left since
        self.over: set[int] = set()  # epochs that are not expected to get another primary

    def _promise(self, event: Promise) -> bool:
        if event.leader is not None and self.told_of_leaving:
            self.asking.add((event.epoch, event.leader))
        return super()._promise(event)

    def claim(self, event: Claim) -> bool:
        if event.epoch in self.over:
            raise WentOn
        is_broken = super().claim(event)
        if self.told_of_leaving:
            self._end_epochs()
        return is_broken

    def leave(self, process: int) -> None:
        """Forget the primary of an epoch: it acts no more, and no other process is to be the primary.

        Nor is any to be the primary of an epoch below one that has a primary, once all have left who were promised
        it: a quorum has promised more. So it does not matter either if such an epoch ever had one.
        """
        self.asking = {(epoch, leader) for epoch, leader in self.asking if leader != process}
        for epoch, claims in self.primaries.items():
            if any(claim.process == process for claim in claims):
                self.over.add(epoch)
        self._end_epochs()

    def _end_epochs(self) -> None:
        """End the epochs that have no primary, are below one that has, and are promised to no running iteration."""
        asked = {epoch for epoch, _ in self.asking}
        below = range(1, max(self.primaries, default=0))
        self.over.update(epoch for epoch in below if epoch not in self.primaries and epoch not in asked)

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the primary of each epoch; 0 if its incarnation is over, as the next one would be another one.

        For an epoch that is not over, also the processes that were promised it and have not left: their leaving may end
        it.
        """
        primaries = frozenset(
            (epoch, claim.process if claim.incarnation == incarnations[claim.process] else 0)
            for epoch, claims in self.primaries.items()
            for claim in claims
            if epoch not in self.over
        )
        return primaries, frozenset(self.over), frozenset(each for each in self.asking if each[0] not in self.over)

    def awaits(self) -> Hashable:
        """Return for each epoch without a primary the processes that it was promised to.

        The primary of an epoch that is over is left out: a promise to another process that comes only then may not
        be counted.
        """
        return frozenset((e, tuple(sorted(who))) for e, who in self.promised.items() if e not in self.primaries)


@monitors(ZxidUniqueness)
class MonitoredZxidUniqueness(MonitoredInvariant, ZxidUniqueness):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the value of each zxid, without the processes."""
        return frozenset((*self.values.values(), *self.record.delivered_apart()))


@monitors(ZxidAssignment)
class MonitoredZxidAssignment(MonitoredInvariant, ZxidAssignment):
    reads_sequences = False

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.left: set[int] = set()  # epochs in which a process broadcast that has left since

    def on_sent(self, sent: Sent) -> bool:
        if self.told_of_leaving and sent.primary not in self.highest:
            ready = self.ready.get(sent.event.process)
            is_ready = ready is not None and ready.incarnation == sent.event.incarnation
            if not is_ready or sent.epoch in self.left:
                raise WentOn
        return super().on_sent(sent)

    def leave(self, process: int) -> None:
        """Forget its last `Ready`, and its broadcasts: it broadcasts nothing before it gets another epoch."""
        self.ready.pop(process, None)
        self.left.update(primary[0] for primary in self.highest if primary[1] == process)
        self.highest = {primary: zxid for primary, zxid in self.highest.items() if primary[1] != process}

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return for each running incarnation its last `Ready`, and its highest zxid in each epoch.

        For one that has left: only the epochs that it broadcast in.
        """
        return (
            frozenset((p, each.epoch) for p, each in self.ready.items() if each.incarnation == incarnations[p]),
            frozenset((e, p, zxid) for (e, p, life), zxid in self.highest.items() if life == incarnations[p]),
            frozenset(self.left),
        )


@monitors(Chosen)
class MonitoredChosen(MonitoredInvariant, Chosen):
    reads_sequences = False
    reads_broadcasts = True

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the acceptances, by epoch, of transactions not yet chosen, known histories, and that of each process.

        A history that is not known may turn out to be one that was adopted with later broadcasts behind it, so
        these are needed too. A wrong delivery is not reported until the trace shows both kinds of event. Where
        configurations change, the histories that end with a transaction tell which quorums it needs, delivered ones
        before others.
        """
        if self.record.quorums is None:
            return None
        accepted = {
            txn: None
            if accepted is None or self._is_chosen(txn, accepted)
            else frozenset((event.epoch, event.process) for event in accepted)
            for txn, accepted in list(self.accepted.items())
        }
        return (
            (self.accepts, self.adopts, self.least is not None),
            frozenset(accepted.items()),
            frozenset((p, reference(at) if isinstance(at, Chain) else at) for p, at in self.histories.items()),
            frozenset(self.known),
            frozenset((told, adopt.epoch, adopt.process) for told, adopts in self.unknown.items() for adopt in adopts),
            frozenset((told, txn) for told, following in self.going_on.items() for txn in following),
            frozenset((epoch, initial.hash) for epoch, initials in self.initial.items() for initial in initials),
            self.record.proposals(incarnations),
            None if self.configurations is None else self._histories(incarnations),
        )

    def _histories(self, incarnations: Sequence[int]) -> Hashable:
        """Return the histories by the transaction that they end with, and how far each process has delivered."""
        return (
            frozenset((txn, frozenset(link.hash for link in links)) for txn, links in self.accepted_in.items()),
            self.record.delivered_so_far(incarnations),
        )


@monitors(Activation)
class MonitoredActivation(MonitoredChosen, Activation):
    """Activation, which needs what `chosen` needs."""
