"""Which properties can be judged by counting, in a trace that is in order; see `invariants.columns.in_order`.

A property is either counted there, or looks at kinds of event of its own and is not exercised in a trace without them.
Where a trace has an event of a kind that one of the chosen properties looks at, only a `Judge` can tell; zxid
uniqueness, which is counted, looks at `Accept` besides.
"""

from collections.abc import Iterable, Mapping

from invariants.base import Invariant, Status, Verdict
from invariants.events import (
    Accept,
    AckEpoch,
    Adopt,
    ClientAck,
    CommitEpoch,
    Establish,
    Event,
    FinalRead,
    Promise,
    Stabilised,
    State,
)

LOOKS_AT: Mapping[str, tuple[type[Event], ...]] = {
    "integrity": (),
    "total order": (),
    "agreement": (),
    "local primary order": (),
    "global primary order": (),
    "primary integrity": (),
    "po causal order": (),
    "strict causality": (),
    "clock": (),
    "prefix": (),
    "causal order": (),
    "redelivery": (),
    "invariant 1": (Adopt, Accept),
    "invariant 2": (Adopt, Accept, CommitEpoch),
    "invariant 3": (Promise, AckEpoch, Accept, Adopt),
    "invariant 4": (Adopt, Accept, AckEpoch),
    "invariant 5": (Adopt, CommitEpoch),
    "chosen": (Adopt, Accept),
    "epoch uniqueness": (Establish,),
    "zxid uniqueness": (Accept,),
    "convergence": (Stabilised,),
    "reliable delivery": (Stabilised,),
    "state": (State,),
    "durability": (ClientAck, FinalRead),
    "final agreement": (FinalRead,),
}
"""The kinds of event that a property looks at, besides broadcasts, deliveries, snapshots, crashes and recoveries."""


class Chosen:
    """The properties that a trace is judged by, in the order of their verdicts."""

    def __init__(self, properties: Iterable[type[Invariant]]) -> None:
        self.properties = list(properties)
        self.names = [kind.name for kind in self.properties]
        self.countable = all(name in LOOKS_AT for name in self.names)
        """Whether a trace that is in order can be judged by counting, if it has no event of `left_to_a_judge`."""
        self.left_to_a_judge = tuple(dict.fromkeys(kind for name in self.names for kind in LOOKS_AT.get(name, ())))
        self.redelivery = "redelivery" in self.names
        self.causality = "strict causality" in self.names


def status(judged: int, complete: bool) -> Status:
    """What is said of a property that is not broken in a trace."""
    if not complete:
        return "inconclusive"
    return "holds" if judged else "not exercised"


def verdicts(names: Iterable[str], counts: Mapping[str, int], complete: bool) -> list[Verdict]:
    """Of a trace in order, by how often each property was exercised; one without a count was not."""
    return [Verdict(name, status(counts.get(name, 0), complete), counts.get(name, 0)) for name in names]
