"""The properties that are judged from the delivered sequences on record alone.

Their other attributes only save time.
"""

from collections.abc import Hashable, Sequence
from types import new_class
from typing import ClassVar

from zabcheck.explore.judges.monitored import MonitoredInvariant, Need, monitors
from zabcheck.invariants import (
    Agreement,
    Clock,
    FullCausalOrder,
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


class _SequenceProperty(MonitoredInvariant):
    """A property that remembers nothing but the record."""

    needs: ClassVar[tuple[Need, ...] | None] = ()

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        return None


@monitors(StrictCausality)
class MonitoredStrictCausality(_SequenceProperty, StrictCausality):
    needs = ("who delivered the whole path",)


@monitors(LadisCausalOrder)
class MonitoredLadisCausalOrder(_SequenceProperty, LadisCausalOrder):
    needs = ("what each server broadcast",)


@monitors(FullCausalOrder)
class MonitoredFullCausalOrder(_SequenceProperty, FullCausalOrder):
    needs = None


for _kind in (
    Integrity,
    TotalOrder,
    Agreement,
    LocalPrimaryOrder,
    GlobalPrimaryOrder,
    PrimaryIntegrity,
    PoCausalOrder,
    Clock,
    Prefix,
):
    monitors(_kind)(new_class(f"Monitored{_kind.__name__}", (_SequenceProperty, _kind)))
