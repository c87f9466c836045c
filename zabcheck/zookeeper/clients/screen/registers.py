"""Screens the promises of `clients.registers` in columns."""

import numpy as np

from zabcheck.zookeeper.clients.screen.columns import NO_ID, NONE, OPS, Columns, is_one_of
from zabcheck.zookeeper.clients.screen.nodes import SET, Nodes


def one_order(columns: Columns, nodes: Nodes) -> int | None:
    """Return 0 if the answers about each node have zxids or counters, None otherwise."""
    if not len(nodes.is_owned):
        return 0
    accesses = is_one_of(columns.op, [OPS["getData"], SET]) & (columns.path != NO_ID)
    has_stat = (columns.answer >= 0) & (columns.of_answer("czxid") != NONE)
    told = np.zeros(len(nodes.unsettled) + 1, np.bool_)  # the last for requests without a path
    told[columns.path[accesses & ((columns.zxid > 0) | has_stat)]] = True
    rest = accesses & ~told[columns.path] & nodes.is_owned[columns.path]
    judged = columns.is_done | ((columns.content != NONE) & ~columns.is_known)
    return None if (rest & judged).any() else 0
