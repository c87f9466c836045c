"""Screens a history in columns: counts the cases of each promise, and says whether it may be broken, without a proof.

The modules beside this package look at each operation by itself, and prove what is broken. Here whole columns are
compared at once, in a fraction of the time; for a history that breaks nothing that is enough. A promise that may be
broken is judged by its own module.
"""

from collections.abc import Callable, Iterable
from functools import partial

from zabcheck.zookeeper.clients.screen import lives, orders, registers, values, watches
from zabcheck.zookeeper.clients.screen.columns import Columns, Gathering, Unusual
from zabcheck.zookeeper.clients.screen.nodes import Nodes

Screen = Callable[[Columns, Nodes], int | None]
"""A function that returns the number of cases in which a history could have broken a promise; None if it may have."""
OF_SESSIONS: dict[str, Screen] = {
    "answer order": orders.answer_order,
    "rising view": orders.rising_view,
    "single system image": orders.system_image,
    "own writes": orders.own_writes,
    "writes in the order sent": orders.order_sent,
    "multi": values.multi,
    "multi read": values.multi_read,
    "session": lives.sessions,
}
"""The parts of promises that are about one session."""
OF_NODES: dict[str, Screen] = {
    "own writes": values.without_conflicts,
    "reads as of one zxid": values.reads,
    "reliability": values.reliability,
    "agreement": values.agreement,
    "multi": values.views_of_multis,
    "multi read": values.views_of_multi_reads,
    "conditions": values.conditions,
    "Stat": values.counters,
    "sequential nodes": values.sequential,
    "one order": registers.one_order,
}
"""The parts of promises that are about one node, or one and its children."""
OF_WATCHES: dict[str, Screen] = {
    "watch fires": partial(watches.cases, "fires"),
    "watch fires once, for a cause": partial(watches.cases, "cause"),
    "event order": partial(watches.cases, "order"),
    "re-arming": partial(watches.cases, "rearming"),
    "persistent watches": partial(watches.cases, "persistent"),
    "removal": partial(watches.cases, "removal"),
}
"""The promises about the watches of one session."""
OF_EPHEMERALS: dict[str, Callable[[lives.Ephemerals, lives.Ends], int | None]] = {
    "ephemeral nodes end": lives.ephemeral_ends,
    "ephemeral nodes stay": lives.ephemeral_stays,
}
"""The promises about sessions and their ephemeral nodes."""
IN_REAL_TIME: dict[str, Callable[[orders.Times], int | None]] = {
    "linearizable writes": orders.linearizable,
    "sync": orders.sync,
    "timeliness": orders.timeliness,
}
"""The promises about the order of all operations in real time."""


def look(promise: str, columns: Columns, nodes: Nodes) -> int | None:
    """Return the number of cases in which a promise could have been broken; None if one of them may have."""
    if promise in OF_EPHEMERALS:
        return OF_EPHEMERALS[promise](lives.ephemerals_in(columns, nodes), lives.ends_in(columns, nodes))
    if promise in IN_REAL_TIME:
        return IN_REAL_TIME[promise](orders.times_of(columns, nodes))
    if promise == "containers and TTL":
        return lives.containers(lives.gone_in(columns, nodes), nodes)
    if promise == "writes in the order sent" and not orders.is_none_late(orders.lost_in(columns, nodes), nodes):
        return None
    return total(parts[promise](columns, nodes) for parts in (OF_SESSIONS, OF_NODES, OF_WATCHES) if promise in parts)


def total(cases: Iterable[int | None]) -> int | None:
    """Return the sum of the cases of a promise's parts; None if one of them is None."""
    found = 0
    for each in cases:
        if each is None:
            return None
        found += each
    return found


class ScreenedHistory:
    """A history in columns, without its lines."""

    def __init__(self, gather: Callable[[Gathering], None]) -> None:
        """Gather the lines. Unusual if they cannot be judged in columns; any error of `gather`."""
        gathering = Gathering()
        gather(gathering)
        self._columns = Columns(gathering)
        self._nodes = Nodes(self._columns)
        self.header, self.is_whole = self._columns.header, self._columns.is_whole

    @property
    def age(self) -> int | None:
        """The longest time, in ns, for which a read missed a write."""
        return orders.greatest_age(orders.times_of(self._columns, self._nodes))

    def cases(self, promise: str) -> int | None:
        """Return the number of cases in which a promise could have been broken; None if one of them may have."""
        try:
            return look(promise, self._columns, self._nodes)
        except Unusual:
            return None


__all__ = ["Gathering", "ScreenedHistory", "Unusual"]
