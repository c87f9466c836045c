"""The class that a search keeps in place of a property, by the property."""

import sys
from types import new_class

from zabcheck.explore.judges import clients, configurations, local, primaries, sequences  # noqa: F401  # they register their classes
from zabcheck.explore.judges.monitored import MONITORED, MonitoredInvariant
from zabcheck.invariants import Invariant


def monitored(kind: type[Invariant]) -> type[MonitoredInvariant]:
    """Return a property as a search keeps it. If no class `monitors` it, it remembers its attributes and the record.

    A subclass of a property needs a class of its own: it may look at more.
    """
    if issubclass(kind, MonitoredInvariant):
        return kind
    if "zabcheck.proof.monitors" in sys.modules:  # otherwise no caller has asked for its properties
        from zabcheck.explore.judges import abstraction  # noqa: F401
    if kind not in MONITORED:
        MONITORED[kind] = new_class(f"Monitored{kind.__name__}", (MonitoredInvariant, kind))
    return MONITORED[kind]
