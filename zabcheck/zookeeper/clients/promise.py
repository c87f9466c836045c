"""A promise to clients, and the findings on it in a history."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from zabcheck.zookeeper.clients.exchange import Exchange, Operation
from zabcheck.zookeeper.clients.history import Answer, InitialNode, Record, Request, WatchEvent
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

    @property
    def place(self) -> tuple[object, ...]:
        """The key that orders breaches: the zxid, and then the places of the witness, so that one is the least."""
        return self.zxid, [_place(each) for each in self.witness], self.summary


def _place(record: Record | InitialNode) -> tuple[int, int, int, str]:
    """Return a key that orders records, whatever the order in which sessions are mixed in a file."""
    if isinstance(record, InitialNode):
        return 0, 0, 0, record.path
    return record.connection, record.time or 0, getattr(record, "xid", 0), type(record).__name__


class Linearizability(NamedTuple):
    """Evidence on whether reads are linearizable, which is not promised; `holds` is None if the search gave up.

    `witness` is the operation that shows that they are not.
    """

    holds: bool | None
    witness: tuple[Request | Answer, ...] = ()


class Findings:
    """The findings on a promise in a history: the number of cases, and the breaches."""

    def __init__(self) -> None:
        self.cases = 0
        self.is_undecided = False
        """True if a search was given up, or an event may rightly be missing."""
        self.breaches: list[Breach] = []
        self.age: int | None = None
        """The longest time, in ns, for which a read missed a write; None if the promise is about something else."""
        self.reads: Linearizability | None = None
        """None if the promise is about something else, or times are not of one clock."""

    @property
    def judged(self) -> int:
        """The number of cases; a breach is one, too."""
        return max(self.cases, min(1, len(self.breaches)))

    def case(self, count: int = 1) -> None:
        """Note that the history could have broken the promise `count` times more."""
        self.cases += count

    def breach(
        self,
        zxid: int,
        summary: str,
        *witness: Operation | WatchEvent | Record | InitialNode | None,
        kind: Kind = "documented",
    ) -> None:
        """Note a breach, which is a case too."""
        records: list[Record | InitialNode] = []
        for each in witness:
            records += each.witness if isinstance(each, Operation) else [] if each is None else [each]
        self.breaches.append(Breach(zxid, summary, tuple(dict.fromkeys(records)), kind))


class Promise(NamedTuple):
    """A promise, its source, and the function that checks it on a history and adds to the findings."""

    name: str
    statement: str
    source: str
    kind: Kind
    check: Callable[[Exchange, Tree, Findings], None]
