"""Looks at a history in columns: what each promise could have broken, and whether it may be broken, without a proof.

The modules beside this package look at each operation by itself, and prove what is broken. Here whole columns are
compared at once, which takes a fraction of the time, and is all that there is to say of a history that breaks nothing.
If anything may be wrong, the promise is judged by its own module.
"""

from collections.abc import Callable
from functools import partial

from zabcheck.zookeeper.clients.screen import lives, orders, registers, values, watches
from zabcheck.zookeeper.clients.screen.columns import Columns, Gathering, Unusual
from zabcheck.zookeeper.clients.screen.nodes import Nodes

SCREENS: dict[str, Callable[[Columns, Nodes], int | None]] = {
    "answer order": orders.answer_order,
    "rising view": orders.rising_view,
    "single system image": orders.system_image,
    "own writes": orders.own_writes,
    "writes in the order sent": orders.order_sent,
    "linearizable writes": orders.linearizable,
    "sync": orders.sync,
    "reads as of one zxid": values.reads,
    "reliability": values.reliability,
    "agreement": values.agreement,
    "multi": values.multi,
    "multi read": values.multi_read,
    "conditions": values.conditions,
    "Stat": values.counters,
    "sequential nodes": values.sequential,
    "ephemeral nodes end": lives.ephemeral_ends,
    "ephemeral nodes stay": lives.ephemeral_stays,
    "session": lives.sessions,
    "containers and TTL": lives.containers,
    "watch fires": partial(watches.cases, "fires"),
    "watch fires once, for a cause": partial(watches.cases, "cause"),
    "event order": partial(watches.cases, "order"),
    "re-arming": partial(watches.cases, "rearming"),
    "persistent watches": partial(watches.cases, "persistent"),
    "removal": partial(watches.cases, "removal"),
    "one order": registers.one_order,
}
"""By promise: the number of cases in which a history could have broken it; None if one of them may have."""


class Screened:
    """A history that is looked at, whose lines are not kept."""

    def __init__(self, gather: Callable[[Gathering], None]) -> None:
        """Have the lines gathered. Unusual, if they have to be judged in another way; any error of `gather`."""
        gathering = Gathering()
        gather(gathering)
        self._columns = Columns(gathering)
        self._nodes = Nodes(self._columns)
        self.header, self.is_whole = self._columns.header, self._columns.is_whole

    def cases(self, promise: str) -> int | None:
        """Return the number of cases in which a promise could have been broken; None if one of them may have."""
        try:
            return SCREENS[promise](self._columns, self._nodes)
        except Unusual:
            return None


__all__ = ["SCREENS", "Gathering", "Screened", "Unusual"]
