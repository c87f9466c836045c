"""The property that configurations make one chain."""

from collections.abc import Hashable, Sequence

from zabcheck.explore.judges.monitored import MonitoredInvariant, monitors
from zabcheck.invariants import OneChain


@monitors(OneChain)
class MonitoredOneChain(MonitoredInvariant, OneChain):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the configurations that were active, and what was delivered: each is compared with the others."""
        return frozenset(self.active), self.record.delivered_so_far(incarnations)
