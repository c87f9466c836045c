"""The properties of what clients see, and of the state of an application."""

from collections.abc import Hashable, Sequence

from zabcheck.explore.judges.monitored import MonitoredInvariant, monitors
from zabcheck.invariants import Durability, FinalAgreement, SameState


@monitors(SameState)
class MonitoredSameState(MonitoredInvariant, SameState):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the digest at each length."""
        return frozenset((length, state.digest) for length, state in self.least.items())


@monitors(Durability)
class MonitoredDurability(MonitoredInvariant, Durability):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the transactions that clients were told of, those that were read, and True if there was a read."""
        return frozenset(self.told), frozenset(self.read), self.least is None


@monitors(FinalAgreement)
class MonitoredFinalAgreement(MonitoredInvariant, FinalAgreement):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the different reads."""
        return frozenset(self.different)
