"""A promise to clients, and what is found of it in a history."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from zabcheck.zookeeper.clients.exchange import Exchange, Exchanged
from zabcheck.zookeeper.clients.history import InitialNode, Record, WatchEvent
from zabcheck.zookeeper.clients.tree import Tree

GUIDE = "ZooKeeper Programmer's Guide"
USENIX = "Hunt et al., ATC 2010"
INTERNALS = "ZooKeeper Internals, Consistency Guarantees"

Kind = Literal["documented", "by the code"]
"""The source of a promise: the documentation, or only the code of 3.9.5."""


class Breach(NamedTuple):
    """A broken promise. `zxid` is where it broke, `witness` the least records that show it."""

    zxid: int
    summary: str
    witness: tuple[Record | InitialNode, ...]
    kind: Kind = "documented"


class Found:
    """The cases of a promise in a history, and its breaches."""

    def __init__(self) -> None:
        self.judged = 0
        self.is_undecided = False
        """True if a search was given up."""
        self.breaches: list[Breach] = []

    def case(self, count: int = 1) -> None:
        """Note that the history could have broken the promise `count` times more."""
        self.judged += count

    def breach(
        self,
        zxid: int,
        summary: str,
        *witness: Exchanged | WatchEvent | Record | InitialNode | None,
        kind: Kind = "documented",
    ) -> None:
        """Note a breach, which is a case too."""
        records: list[Record | InitialNode] = []
        for each in witness:
            records += each.witness if isinstance(each, Exchanged) else [] if each is None else [each]
        self.judged = max(self.judged, 1)
        self.breaches.append(Breach(zxid, summary, tuple(dict.fromkeys(records)), kind))


class Promise(NamedTuple):
    """A promise, its source, and the function that looks at each of its cases."""

    name: str
    statement: str
    source: str
    kind: Kind
    check: Callable[[Exchange, Tree, Found], None]
