"""One attempt to explain a server's observations: a state of the model, and the choices that led there."""

from collections.abc import Mapping

from zabcheck.invariants import Chain
from zabcheck.simulation.choices import AnyChoice
from zabcheck.zookeeper.model.server import Server


class Attempt:
    """A state of one server in the model that explains its first `at` observations, with its origin.

    `unsynced` of the last records of its log are not forced to the disk. `reads` and `outs` are, by connection, the
    numbers of packets read and sent; `open` has the connection to each peer in this iteration. `proposed` and `applied`
    count the broadcasts of this incarnation, and the transactions of its applying thread. `choice`, at `time`, led here
    from `before`; it read packet `read` (0: none) and sent the packets `sent`; `trees` are those of the SNAPs among
    them. `cost`: the length of the detour since the last observation. `halted` is the reason why the server ended
    itself when it was started, or is "": then it never comes up again.
    """

    __slots__ = (
        "applied",
        "at",
        "before",
        "choice",
        "cost",
        "halted",
        "incarnation",
        "open",
        "outs",
        "proposed",
        "read",
        "reads",
        "sent",
        "server",
        "time",
        "trees",
        "unsynced",
    )

    def __init__(self, server: Server, connections: int) -> None:
        self.server = server
        self.at = 0
        self.incarnation = 0
        self.unsynced = 0
        self.reads = (0,) * connections
        self.outs = (0,) * connections
        self.open: Mapping[int, int] = {}
        self.proposed = self.applied = 0
        self.halted = ""
        self.before: Attempt | None = None
        self.choice: AnyChoice | None = None
        self.cost = 0
        self.time = 0
        self.read = 0
        self.sent: tuple[int, ...] = ()
        self.trees: tuple[tuple[int, Chain], ...] = ()

    def bucket(self) -> tuple[object, ...]:
        """Return a key that attempts share which may be the same state: see `same`."""
        s = self.server
        sizes = len(s.log), len(s.to_log), len(s.to_flush), len(s.to_apply), len(s.todo), len(s.outstanding)
        counts = self.proposed, self.applied, self.unsynced
        return self.at, self.reads, self.outs, counts, sizes, s.phase, s.current_epoch, len(s.links)

    def same(self, other: "Attempt") -> bool:
        """Return True if the two can go on in the same ways."""
        return self.open == other.open and self.server == other.server

    def path(self) -> list["Attempt"]:
        """Return an attempt for each choice that led here, in order."""
        found: list[Attempt] = []
        attempt: Attempt | None = self
        while attempt is not None:
            if attempt.choice is not None:
                found.append(attempt)
            attempt = attempt.before
        found.reverse()
        return found


def raised(counts: tuple[int, ...], index: int) -> tuple[int, ...]:
    """Return the counts, the one at `index` more by one."""
    return (*counts[:index], counts[index] + 1, *counts[index + 1 :])
