"""The bounds of an exhaustive search: the number of processes, and how often each thing may happen."""

from msgspec import Struct

from zabcheck.text.words import counted

UNLIMITED = -1
"""The bound of a fault that may happen any number of times: it is not counted, which makes for fewer states."""

_BITS = 6
MOST = (1 << _BITS) - 1
"""The greatest bound for most things."""
_FEWER_BITS = 4

FREE = 0
REQUEST, TIMEOUT, CRASH, CUT, SNAPSHOT = (1 << _BITS * place for place in range(5))
CHANGE = SNAPSHOT << _FEWER_BITS
"""The cost of a move, as a summand of the part of the bounds that is used: each cost has bits of its own.

All together have 32, as a state has no more for them (`compact`). So the last two have 4 each.
"""

COSTS = {
    REQUEST: "txns",
    TIMEOUT: "timeouts",
    CRASH: "crashes",
    CUT: "cuts",
    SNAPSHOT: "snapshots",
    CHANGE: "changes",
}
"""By cost: the bound that it is paid from."""

MOST_SNAPSHOTS = MOST_CHANGES = (1 << _FEWER_BITS) - 1
"""The greatest bounds for snapshots, and for configuration changes."""
_MOST = {name: MOST_SNAPSHOTS if name in ("snapshots", "changes") else MOST for name in COSTS.values()}


class Bounds(Struct, frozen=True):
    """The bounds of an exhaustive search. `timeouts`, `crashes` and `cuts` may be UNLIMITED.

    `epochs`: no process proposes or promises a later one (`Protocol.highest_epoch`). `txns`: client requests that
    primaries take, all together. `timeouts`: time-outs, and oracles that name another leader to a process in the middle
    of an iteration. `crashes`: a process that is down may recover at any time, which costs nothing. `cuts`: connections
    that break, with all messages in transit. `snapshots`: snapshots that processes write although nothing asks them to,
    each with all before it purged or not. `changes`: the configurations that clients ask for, by name, each once and in
    this order. A process whose iteration is over may be told any leader at any time.
    """

    processes: int = 3
    epochs: int = 2
    txns: int = 2
    timeouts: int = 1
    crashes: int = 0
    cuts: int = 0
    snapshots: int = 0
    changes: tuple[str, ...] = ()

    def affordable(self, used: int) -> int:
        """Return the sum of the costs that can still be paid when `used` was used. O(1)."""
        sum_ = 0
        for cost, name in COSTS.items():
            most = self._number_of(name)
            if most == UNLIMITED or used // cost & _MOST[name] < most:
                sum_ += cost
        return sum_

    def counted(self, cost: int) -> int:
        """Return the cost as far as it counts: nothing if it is not limited."""
        unlimited = {TIMEOUT: self.timeouts, CRASH: self.crashes, CUT: self.cuts}
        return FREE if unlimited.get(cost) == UNLIMITED else cost

    def excess(self) -> str:
        """Return the bound that is too large to be counted, as in "at most 15 snapshots"; "" if none is."""
        return next((f"at most {most} {name}" for name, most in _MOST.items() if self._number_of(name) > most), "")

    def _number_of(self, name: str) -> int:
        return len(self.changes) if name == "changes" else int(getattr(self, name))

    def in_words(self) -> str:
        """Return the bounds as text: "3 processes, 2 epochs, …"."""
        faults = [
            _said(self.timeouts, "time-out", "time-outs"),
            _said(self.crashes, "crash", "crashes"),
            *([_said(self.cuts, "cut", "cuts")] if self.cuts else []),
            *([_said(self.snapshots, "snapshot", "snapshots")] if self.snapshots else []),
            *([f"changes to {', '.join(f'`{each}`' for each in self.changes)}"] if self.changes else []),
        ]
        return ", ".join(
            (
                counted(self.processes, "process", "processes"),
                counted(self.epochs, "epoch", "epochs"),
                counted(self.txns, "transaction", "transactions"),
                *faults,
            )
        )


def requests_in(used: int) -> int:
    """Return the number of client requests that were taken when `used` was used."""
    return used & MOST


def changes_in(used: int) -> int:
    """Return the number of configuration changes that were asked for when `used` was used."""
    return used // CHANGE & MOST_CHANGES


def _said(number: int, one: str, many: str) -> str:
    return f"any number of {many}" if number == UNLIMITED else counted(number, one, many)


SMALL = Bounds(processes=3, epochs=2, txns=2, timeouts=0, crashes=1, cuts=0)
"""The bounds of a search without others: the smallest ones in which Zab exercises every property.

An order takes two transactions, an earlier leader takes two epochs, and a crash leads from one to the other, and to
deliveries that are repeated; a time-out would only add to that.
"""
