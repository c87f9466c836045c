"""Configurations that change: which quorums a transaction needs, as a function of the history that ends with it.

Where the quorum system of a trace's header is a configuration, the value of a transaction may name another one (Shraer,
Reed, Malkhi, Junqueira: "Dynamic Reconfiguration of Primary/Backup Clusters", USENIX ATC 2012). Such a transaction is a
*configuration change*: it lies in the history like any other, and the configuration that it names governs what comes
after it. So the configurations of a history form a chain.

A transaction needs a quorum of the configuration that governs it. A configuration change needs two: one of the
configuration before it, so that whoever is elected there finds it, and one of its own, so that whoever is elected there
has everything up to it. Two configurations need not have a process in common.
"""

from collections.abc import Collection

from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Zxid
from zabcheck.invariants.quorums import Configuration, configuration_of

Required = tuple[Configuration, ...]
"""The configurations of which a transaction needs a quorum each; the last one governs what comes after it."""


class Configurations:
    """The configurations of all histories that begin with `first`; what it finds for one it keeps."""

    def __init__(self, first: Configuration) -> None:
        self.first = first
        # By chain hash: these, and the history up to the last configuration change.
        self._known: dict[int, tuple[Required, Chain]] = {EMPTY.hash: ((first,), EMPTY)}

    def required(self, history: Chain) -> Required:
        """Return the configurations of which the last transaction of `history` needs a quorum each.

        Of an empty history, the first configuration. Amortised O(1).
        """
        return self._of(history)[0]

    def governing(self, history: Chain) -> Configuration:
        """Return the configuration that governs what comes after `history`. Amortised O(1)."""
        return self.required(history)[-1]

    def changes_after(self, history: Chain, zxid: Zxid) -> list[Chain]:
        """Return the histories up to each configuration change in `history` above `zxid`, the lowest first.

        Amortised O(their number).
        """
        changes = []
        change = self._of(history)[1]
        while change.zxid > zxid:
            changes.append(change)
            change = self._of(change.previous)[1]
        return changes[::-1]

    def _of(self, history: Chain) -> tuple[Required, Chain]:
        unknown = []
        while history.hash not in self._known:
            unknown.append(history)
            history = history.previous
        required, change = self._known[history.hash]
        for link in reversed(unknown):
            named = configuration_of(link.txn.value, self.first.size)
            required, change = (required[-1:], change) if named is None else ((required[-1], named), link)
            self._known[link.hash] = required, change
        return required, change


def without_quorum(required: Required, members: Collection[int]) -> Required:
    """Return those of the configurations of which `members` are no quorum. O(their processes)."""
    return tuple([each for each in required if not each.contains(members)])
