"""The properties that are judged from the delivered sequences on record alone.

Their other attributes only save time.
"""

from collections.abc import Hashable, Sequence
from typing import ClassVar

from zabcheck.explore.judges.monitored import Monitored, Need, monitors
from zabcheck.invariants import (
    Agreement,
    Clock,
    GlobalPrimaryOrder,
    Integrity,
    LadisCausalOrder,
    LocalPrimaryOrder,
    PoCausalOrder,
    Prefix,
    PrimaryIntegrity,
    StrictCausality,
    TotalOrder,
)


class _OfSequences(Monitored):
    """A property that remembers nothing but the record."""

    needs: ClassVar[tuple[Need, ...] | None] = ()

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        return None


@monitors(Integrity)
class MonitoredIntegrity(_OfSequences, Integrity):
    pass


@monitors(TotalOrder)
class MonitoredTotalOrder(_OfSequences, TotalOrder):
    pass


@monitors(Agreement)
class MonitoredAgreement(_OfSequences, Agreement):
    pass


@monitors(LocalPrimaryOrder)
class MonitoredLocalPrimaryOrder(_OfSequences, LocalPrimaryOrder):
    pass


@monitors(GlobalPrimaryOrder)
class MonitoredGlobalPrimaryOrder(_OfSequences, GlobalPrimaryOrder):
    pass


@monitors(PrimaryIntegrity)
class MonitoredPrimaryIntegrity(_OfSequences, PrimaryIntegrity):
    pass


@monitors(PoCausalOrder)
class MonitoredPoCausalOrder(_OfSequences, PoCausalOrder):
    pass


@monitors(StrictCausality)
class MonitoredStrictCausality(_OfSequences, StrictCausality):
    needs = ("who delivered the whole path",)


@monitors(Clock)
class MonitoredClock(_OfSequences, Clock):
    pass


@monitors(Prefix)
class MonitoredPrefix(_OfSequences, Prefix):
    pass


@monitors(LadisCausalOrder)
class MonitoredLadisCausalOrder(_OfSequences, LadisCausalOrder):
    needs = ("what each server broadcast",)
