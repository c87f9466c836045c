"""Activation: a configuration decides nothing before it is committed (USENIX ATC 2012; see `configurations`).

    A configuration becomes active at a process only if the transaction that names it is chosen: for some epoch e a
    quorum of the configuration before it, and one of its own, have accepted it in e.

If it could be active at one process and lost everywhere else, two ensembles could both go on. The property is
`chosen`, judged at `Activate` instead of deliveries: all that is said there of acceptances, histories, detection and
cost holds here. A process that is told that a configuration is active activates it as well, without a delivery.

Witness: the activation, least by (zxid, value, process, incarnation), preceded by the acceptances of its transaction in
the epoch in which most processes had accepted it. Exercised by: a configuration that is activated, counted once.
"""

from collections.abc import Callable
from typing import Any

from zabcheck.invariants.chosen import Chosen
from zabcheck.invariants.events import Accept, Activate, Adopt, Event


class Activation(Chosen):
    name = "activation"
    statement = (
        "A configuration becomes active at a process only if the transaction that names it is chosen: for some epoch e "
        "a quorum of the configuration before it, and one of its own, have accepted it in e."
    )
    source = "USENIX ATC 2012 (Shraer et al.), and DSN 2011, definition VI.1"
    group = "configurations"
    looks_at = (Adopt, Accept, Activate)
    did = "activated"

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        if self.configurations is None:
            return {}
        return {Adopt: self._adopt, Accept: self._accept, Activate: self._deliver}
