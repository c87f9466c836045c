"""The properties of primary order atomic broadcast, as checks on a trace of events.

    >>> from zabcheck.invariants import Broadcast, Deliver, Txn, Zxid, check
    >>> x = Txn(Zxid(1, 1), "x")
    >>> [v.status for v in check([Broadcast(1, 0, 1, x), Deliver(2, 0, x)], properties=["integrity"])]
    ['holds']
    >>> [verdict] = check([Deliver(2, 0, x)], properties=["integrity"])
    >>> verdict.violation.summary
    'p2 delivered x⟨1,1⟩, which nobody broadcast'

`check` judges a whole trace, `Judge` one that is still growing; `zabcheck.invariants.trace` reads and writes traces.
This is `zabcheck.invariants`, in a checkout by a link; there, `checkout` lets `import invariants` find the same.
The properties are stated in the docstrings of their modules, with their source, witness and cost.
"""

from collections.abc import Iterable
from math import inf

from zabcheck.invariants import trace
from zabcheck.invariants.activation import Activation
from zabcheck.invariants.agreement import Agreement
from zabcheck.invariants.base import Invariant, Judge, Status, Verdict, Violation, judge_events
from zabcheck.invariants.chain import EMPTY, Chain, chain_hash
from zabcheck.invariants.chosen import Chosen
from zabcheck.invariants.clock import Clock
from zabcheck.invariants.convergence import Convergence
from zabcheck.invariants.diagnosis import like
from zabcheck.invariants.durability import Durability
from zabcheck.invariants.epoch_progress import EpochProgress
from zabcheck.invariants.epoch_uniqueness import EpochUniqueness
from zabcheck.invariants.events import (
    NO_ZXID,
    Accept,
    AckEpoch,
    Activate,
    Adopt,
    AnyEvent,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Corrupt,
    Crash,
    Cut,
    Deliver,
    Drop,
    Elect,
    End,
    Establish,
    Event,
    FinalRead,
    Halt,
    Header,
    Heal,
    Hold,
    Local,
    Mend,
    Overtake,
    Pause,
    Promise,
    Quiescent,
    Ready,
    Receive,
    Recover,
    Restore,
    Send,
    Stabilised,
    Stall,
    State,
    TraceError,
    Truncate,
    Txn,
    Wake,
    Zxid,
)
from zabcheck.invariants.final_agreement import FinalAgreement
from zabcheck.invariants.full_causal_order import FullCausalOrder
from zabcheck.invariants.global_primary_order import GlobalPrimaryOrder
from zabcheck.invariants.integrity import Integrity
from zabcheck.invariants.invariant_1 import Invariant1
from zabcheck.invariants.invariant_2 import Invariant2
from zabcheck.invariants.invariant_3 import Invariant3
from zabcheck.invariants.invariant_4 import Invariant4
from zabcheck.invariants.invariant_5 import Invariant5
from zabcheck.invariants.ladis_causal_order import LadisCausalOrder
from zabcheck.invariants.local_primary_order import LocalPrimaryOrder
from zabcheck.invariants.one_chain import OneChain
from zabcheck.invariants.po_causal_order import PoCausalOrder
from zabcheck.invariants.prefix import Prefix
from zabcheck.invariants.primary_integrity import PrimaryIntegrity
from zabcheck.invariants.quorums import Configuration, Quorums
from zabcheck.invariants.redelivery import Redelivery
from zabcheck.invariants.reliable_delivery import ReliableDelivery
from zabcheck.invariants.state import SameState
from zabcheck.invariants.strict_causality import StrictCausality
from zabcheck.invariants.total_order import TotalOrder
from zabcheck.invariants.zxid_assignment import ZxidAssignment
from zabcheck.invariants.zxid_uniqueness import ZxidUniqueness

PROPERTIES: dict[str, type[Invariant]] = {
    kind.name: kind
    for kind in (
        Integrity,
        TotalOrder,
        Agreement,
        LocalPrimaryOrder,
        GlobalPrimaryOrder,
        PrimaryIntegrity,
        PoCausalOrder,
        StrictCausality,
        Clock,
        Prefix,
        LadisCausalOrder,
        Redelivery,
        Invariant1,
        Invariant2,
        Invariant3,
        Invariant4,
        Invariant5,
        Chosen,
        EpochUniqueness,
        ZxidUniqueness,
        ZxidAssignment,
        Convergence,
        ReliableDelivery,
        EpochProgress,
        SameState,
        Durability,
        FinalAgreement,
    )
}
"""Every property by name, in the order of the papers."""

GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(name for name, kind in PROPERTIES.items() if kind.group == group)
    for group in dict.fromkeys(kind.group for kind in PROPERTIES.values())
}
"""The properties that belong together, by the name of their group."""

EXPLAINING_FIRST: tuple[str, ...] = tuple(
    kind.name
    for kind in (
        Clock,
        Invariant3,
        EpochUniqueness,
        ZxidUniqueness,
        ZxidAssignment,
        Invariant1,
        Invariant4,
        Invariant2,
        Chosen,
        Invariant5,
        Redelivery,
        Integrity,
        LocalPrimaryOrder,
        PrimaryIntegrity,
        Agreement,
        TotalOrder,
        GlobalPrimaryOrder,
        PoCausalOrder,
        StrictCausality,
        Prefix,
        LadisCausalOrder,
        SameState,
        EpochProgress,
        ReliableDelivery,
        Convergence,
        Durability,
        FinalAgreement,
    )
)
"""Every property by name: of several that one event breaks, the first explains the others, if any does.

First comes an order of lines that is not that of time, then promises, epochs and zxids, from which the order of
transactions follows; then what was accepted, broadcast and delivered, and at last what clients saw of it.
"""

OF_CHANGES: tuple[type[Invariant], ...] = (Activation, OneChain)
"""The properties of configurations that change: all properties include them where the quorum system is a configuration.

Elsewhere nothing exercises them, so that each is chosen by its name only.
"""

OF_OTHERS: tuple[type[Invariant], ...] = (FullCausalOrder,)
"""The properties of other broadcasts, which one that keeps primary order need not have: chosen by name only."""

FURTHER: dict[str, type[Invariant]] = {kind.name: kind for kind in (*OF_CHANGES, *OF_OTHERS)}
"""`OF_CHANGES`, `OF_OTHERS`, and properties added by users of this package, by name."""


def add(kind: type[Invariant]) -> type[Invariant]:
    """Add a property, so that it can be chosen by its name; it is in no group, and not among all properties."""
    assert kind.name not in {**PROPERTIES, **FURTHER}, f"there is a property `{kind.name}`"
    FURTHER[kind.name] = kind
    return kind


def select(names: Iterable[str] | None = None, quorums: Quorums | None = None) -> list[type[Invariant]]:
    """Return the properties of these names, in the order of the papers; for None all that `quorums` can exercise.

    The name of a group stands for each property in it, a hyphen or an underscore for a space. ValueError for a name
    that is in none of `PROPERTIES`, `FURTHER` and `GROUPS`.
    """
    if names is None:
        return [*PROPERTIES.values(), *(OF_CHANGES if isinstance(quorums, Configuration) else ())]
    names = [names] if isinstance(names, str) else names
    wanted = [name.lower().replace("-", " ").replace("_", " ") for name in names]
    for name in wanted:
        if name not in PROPERTIES and name not in GROUPS and name not in FURTHER:
            known = f"expected one of: {', '.join((*PROPERTIES, *FURTHER))}; or a group: {', '.join(GROUPS)}"
            raise ValueError(f"no property `{name}`; {like(name, (*PROPERTIES, *FURTHER, *GROUPS), known)}")
    chosen = [kind for name, kind in PROPERTIES.items() if name in wanted or kind.group in wanted]
    return chosen + [kind for name, kind in FURTHER.items() if name in wanted]


def explaining_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Sort verdicts by which violation to read first: the one detected first, as a later one cannot explain it.

    Violations that no event showed, but only the end, come last, and those without a violation after all others.
    """

    def rank(verdict: Verdict) -> tuple[bool, float, int]:
        detected = None if verdict.violation is None else verdict.violation.detected
        name = verdict.property
        place = EXPLAINING_FIRST.index(name) if name in EXPLAINING_FIRST else len(EXPLAINING_FIRST)
        return verdict.violation is None, inf if detected is None else detected, place

    return sorted(verdicts, key=rank)


def check(events: Iterable[Event], properties: Iterable[str] | None = None) -> list[Verdict]:
    """Judge a whole trace by these properties (all of them for None): one verdict each, in the order of the paper.

    All of them include `OF_CHANGES` if the header's quorum system is a configuration.

    Events without a `Header` are taken as a complete trace of which only each process's own order is known. A trace
    with a header has to have an `End`, or nothing but a certain violation is concluded. Amortised O(1) an event,
    memory O(distinct transactions + processes); with redelivery, O(distinct transactions) for each process.

    ValueError for an unknown property; TypeError for an object that is no event; TraceError if a process's events are
    out of order or the end miscounts them.
    """
    return judge_events(events, select(properties), OF_CHANGES if properties is None else ())


__all__ = [
    "EMPTY",
    "EXPLAINING_FIRST",
    "FURTHER",
    "GROUPS",
    "NO_ZXID",
    "OF_CHANGES",
    "OF_OTHERS",
    "PROPERTIES",
    "Accept",
    "AckEpoch",
    "Activate",
    "Activation",
    "Adopt",
    "Agreement",
    "AnyEvent",
    "Broadcast",
    "Chain",
    "Chosen",
    "ClientAck",
    "Clock",
    "CommitEpoch",
    "Convergence",
    "Corrupt",
    "Crash",
    "Cut",
    "Deliver",
    "Drop",
    "Durability",
    "Elect",
    "End",
    "EpochProgress",
    "EpochUniqueness",
    "Establish",
    "Event",
    "FinalAgreement",
    "FinalRead",
    "FullCausalOrder",
    "GlobalPrimaryOrder",
    "Halt",
    "Header",
    "Heal",
    "Hold",
    "Integrity",
    "Invariant",
    "Invariant1",
    "Invariant2",
    "Invariant3",
    "Invariant4",
    "Invariant5",
    "Judge",
    "LadisCausalOrder",
    "Local",
    "LocalPrimaryOrder",
    "Mend",
    "OneChain",
    "Overtake",
    "Pause",
    "PoCausalOrder",
    "Prefix",
    "PrimaryIntegrity",
    "Promise",
    "Quiescent",
    "Ready",
    "Receive",
    "Recover",
    "Redelivery",
    "ReliableDelivery",
    "Restore",
    "SameState",
    "Send",
    "Stabilised",
    "Stall",
    "State",
    "Status",
    "StrictCausality",
    "TotalOrder",
    "TraceError",
    "Truncate",
    "Txn",
    "Verdict",
    "Violation",
    "Wake",
    "Zxid",
    "ZxidAssignment",
    "ZxidUniqueness",
    "add",
    "chain_hash",
    "check",
    "explaining_first",
    "select",
    "trace",
]

if __name__ == "invariants":
    import zabcheck.invariants.checkout  # noqa: F401
