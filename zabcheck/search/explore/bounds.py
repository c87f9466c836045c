"""How far an exhaustive search goes: how many processes, and how often each thing may happen."""

from msgspec import Struct

from zabcheck.report.words import counted

UNLIMITED = -1
"""Of a fault that may happen any number of times; it is not counted, which makes for fewer states."""


class Bounds(Struct, frozen=True):
    """The numbers of an exhaustive search. `timeouts` may be UNLIMITED; crashes not, as incarnations are counted.

    `epochs`: no process promises a later one. `txns`: client requests that a primary takes. `timeouts`: time-outs, and
    oracles that name another leader to a process in the middle of an iteration. `crashes`: a process that is down may
    recover at any time, free of charge. A process whose iteration is over may be told any leader at any time.
    """

    processes: int = 3
    epochs: int = 2
    txns: int = 2
    timeouts: int = 1
    crashes: int = 0

    def in_words(self) -> str:
        """ "3 processes, 2 epochs, …"."""
        timeouts = counted(self.timeouts, "time-out", "time-outs")
        return ", ".join(
            (
                counted(self.processes, "process", "processes"),
                counted(self.epochs, "epoch", "epochs"),
                counted(self.txns, "transaction", "transactions"),
                "any number of time-outs" if self.timeouts == UNLIMITED else timeouts,
                counted(self.crashes, "crash", "crashes"),
            )
        )
