"""Traces that break each property, and the edges that the graphs of their counterexamples mark."""

from invariants import (
    ClientAck,
    CommitEpoch,
    Establish,
    Event,
    FinalRead,
    Promise,
    Stabilised,
    State,
    Txn,
    Zxid,
)
from tests.invariants.builders import (
    FIGURE_4,
    A,
    B,
    C,
    D,
    accepts,
    ack_epoch,
    adopt,
    broadcasts,
    deliveries,
    restore,
)
from tests.invariants.by_property import MODULES

CASES: list[tuple[str, list[Event], list[tuple[str, str, str]], str]] = [
    (
        "integrity",
        deliveries(1, A),
        [("never: somebody broadcasts a⟨1,1⟩", "W1 p1 delivers a⟨1,1⟩", "missing")],
        "nobody broadcast it",
    ),
    (
        "integrity",
        [restore(1, A)],
        [("never: somebody delivers this prefix", "W1 p1 takes over a snapshot up to ⟨1,1⟩", "missing")],
        "nobody delivered it",
    ),
    (
        "total order",
        [*deliveries(1, A, B), *deliveries(2, B)],
        [("never: p2 delivers a⟨1,1⟩", "W3 p2 delivers b⟨1,2⟩", "missing")],
        "it must be delivered too",
    ),
    (
        "total order",
        [*deliveries(2, A, B), *deliveries(1, B, A)],
        [("W3 p2 delivers a⟨1,1⟩", "W4 p2 delivers b⟨1,2⟩", "broken")],
        "b⟨1,2⟩ has to come first",
    ),
    (
        "agreement",
        [*deliveries(1, A), *deliveries(2, B)],
        [
            ("W1 p1 delivers a⟨1,1⟩", "never: p1 delivers b⟨1,2⟩", "missing"),
            ("W2 p2 delivers b⟨1,2⟩", "never: p2 delivers a⟨1,1⟩", "missing"),
        ],
        "one of the two has to be there",
    ),
    (
        "local primary order",
        [*broadcasts(1, 1, A, B), *deliveries(2, B)],
        [("never: p2 delivers a⟨1,1⟩", "W3 p2 delivers b⟨1,2⟩", "missing")],
        "it must be delivered too",
    ),
    (
        "local primary order",
        [*broadcasts(1, 1, A, B), *deliveries(2, B, A)],
        [("W3 p2 delivers b⟨1,2⟩", "W4 p2 delivers a⟨1,1⟩", "broken")],
        "a⟨1,1⟩ has to come first",
    ),
    (
        "global primary order",
        [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D, C, A)],
        [("W3 p3 delivers d⟨2,1⟩", "W4 p3 delivers a⟨1,1⟩", "broken")],
        "epoch 1 comes first",
    ),
    (
        "primary integrity",
        [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, A)],
        [("never: p2 delivers a⟨1,1⟩", "W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "missing")],
        "epoch 1 comes first",
    ),
    (
        "primary integrity",
        [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(2, 2, D), *deliveries(2, A)],
        [("p2 delivers a⟨1,1⟩", "W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "missing")],
        "epoch 1 comes first",
    ),
    (
        "primary integrity",
        [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(2, A)],
        [("W3 p2 delivers a⟨1,1⟩", "W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "missing")],
        "epoch 1 comes first",
    ),
    (
        "po causal order",
        [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D), *deliveries(3, D)],
        [("never: p3 delivers a⟨1,1⟩", "W3 p3 delivers d⟨2,1⟩", "missing")],
        "it must be delivered too",
    ),
    (
        "po causal order",
        [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D), *deliveries(3, D, A)],
        [("W3 p3 delivers d⟨2,1⟩", "W4 p3 delivers a⟨1,1⟩", "broken")],
        "a⟨1,1⟩ has to come first",
    ),
    (
        "strict causality",
        FIGURE_4,
        [
            ("W1 p1 broadcasts a⟨1,1⟩ in epoch 1", "W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "missing"),
            ("W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "W1 p1 broadcasts a⟨1,1⟩ in epoch 1", "missing"),
        ],
        "neither precedes the other",
    ),
    (
        "prefix",
        [*broadcasts(1, 1, A, B), *deliveries(2, B)],
        [("never: p2 delivers a⟨1,1⟩", "W3 p2 delivers b⟨1,2⟩", "missing")],
        "it must be delivered too",
    ),
    (
        "causal order",
        [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, D, A)],
        [("W3 p3 delivers d⟨2,1⟩", "W4 p3 delivers a⟨1,1⟩", "broken")],
        "a⟨1,1⟩ has to come first",
    ),
    (
        "redelivery",
        [*deliveries(1, A, B), *deliveries(1, A, C)],
        [("W1 p1 delivers a⟨1,1⟩", "W3 p1 delivers c⟨1,3⟩", "broken")],
        "b⟨1,2⟩ comes next",
    ),
    (
        "redelivery",
        [*deliveries(1, A, B), restore(1, A, incarnation=1), *deliveries(1, C, incarnation=1)],
        [
            (
                "W3 p1 (incarnation 1) takes over a snapshot up to ⟨1,1⟩",
                "W4 p1 (incarnation 1) delivers c⟨1,3⟩",
                "broken",
            )
        ],
        "b⟨1,2⟩ comes next",
    ),
    (
        "invariant 1",
        [adopt(1, 1), *accepts(1, 2, D)],
        [
            (
                "W1 p1 accepts the initial history of epoch 1, up to ⟨0,0⟩",
                "W2 p1 accepts d⟨2,1⟩ in epoch 2",
                "broken",
            )
        ],
        "f.a is 1, not 2",
    ),
    (
        "invariant 1",
        accepts(1, 1, A),
        [("never: p1 accepts the initial history of epoch 1", "W1 p1 accepts a⟨1,1⟩ in epoch 1", "missing")],
        "f.a is ⊥",
    ),
    (
        "invariant 2",
        [adopt(1, 1), *accepts(1, 1, B, A)],
        [("W1 p1 accepts b⟨1,2⟩ in epoch 1", "W2 p1 accepts a⟨1,1⟩ in epoch 1", "broken")],
        "the zxid is not higher",
    ),
    (
        "invariant 2",
        [CommitEpoch(1, 0, 1), *deliveries(1, A, A)],
        [("W1 p1 delivers a⟨1,1⟩", "W1 p1 delivers a⟨1,1⟩", "broken")],
        "the zxid is not higher",
    ),
    (
        "invariant 3",
        [ack_epoch(1, 1, 0)],
        [
            (
                "never: p1 promises epoch 1",
                "W1 p1 provides its history up to ⟨0,0⟩ for epoch 1",
                "missing",
            )
        ],
        "not promised",
    ),
    (
        "invariant 3",
        [Promise(1, 0, 2), *accepts(1, 1, A)],
        [("W1 p1 promises epoch 2", "W2 p1 accepts a⟨1,1⟩ in epoch 1", "broken")],
        "epoch 2 was promised, not 1",
    ),
    (
        "invariant 4",
        [ack_epoch(1, 1, 0, A)],
        [
            (
                "never: p1 has this history, up to ⟨1,1⟩",
                "W1 p1 provides its history up to ⟨1,1⟩ for epoch 1",
                "missing",
            )
        ],
        "it has another one",
    ),
    (
        "invariant 4",
        [ack_epoch(2, 1, 0), adopt(1, 1, A)],
        [
            (
                "never: a follower provides this history, up to ⟨1,1⟩",
                "W1 p1 accepts the initial history of epoch 1, up to ⟨1,1⟩",
                "missing",
            )
        ],
        "nobody provided it",
    ),
    (
        "invariant 5",
        [*broadcasts(2, 1, A, B), adopt(1, 1), CommitEpoch(1, 0, 1), *deliveries(1, B)],
        [("W1 p1 learns that epoch 1 is committed", "W2 p1 delivers b⟨1,2⟩", "broken")],
        "not what was broadcast next",
    ),
    (
        "chosen",
        [adopt(1, 1), *accepts(1, 1, A), *deliveries(2, A)],
        [("never: a quorum accepts a⟨1,1⟩", "W2 p2 delivers a⟨1,1⟩", "missing")],
        "no quorum accepted it",
    ),
    (
        "epoch uniqueness",
        [Establish(1, 0, 2), Establish(2, 0, 2)],
        [
            (
                "W1 p1 is established as leader of epoch 2",
                "W2 p2 is established as leader of epoch 2",
                "broken",
            )
        ],
        "two primaries of epoch 2",
    ),
    (
        "zxid uniqueness",
        [*broadcasts(1, 1, A), *broadcasts(2, 2, A)],
        [("W1 p1 broadcasts a⟨1,1⟩ in epoch 1", "W2 p2 broadcasts a⟨1,1⟩ in epoch 2", "broken")],
        "both are ⟨1,1⟩",
    ),
    (
        "zxid uniqueness",
        [*deliveries(1, Txn(Zxid(1, 1), "b")), *accepts(2, 1, A)],
        [("W1 p2 accepts a⟨1,1⟩ in epoch 1", "W2 p1 delivers b⟨1,1⟩", "broken")],
        "both are ⟨1,1⟩",
    ),
    (
        "convergence",
        [Stabilised(1, 0, (1, 2)), *broadcasts(1, 1, A), *deliveries(1, A)],
        [("W2 p1 broadcasts a⟨1,1⟩ in epoch 1", "never: p2 delivers a⟨1,1⟩", "missing")],
        "it has to follow",
    ),
    (
        "convergence",
        [Stabilised(1, 0, (1, 2))],
        [("W1 p1 leads p1 p2 undisturbed from here on", "never: p1 broadcasts something", "missing")],
        "it has to follow",
    ),
    (
        "reliable delivery",
        [*deliveries(3, A), Stabilised(1, 0, (1, 2)), *deliveries(1, A)],
        [("W1 p1 delivers a⟨1,1⟩", "never: p2 delivers a⟨1,1⟩", "missing")],
        "it has to follow",
    ),
    (
        "state",
        [State(1, 0, A.zxid, 1, 7, "one"), State(2, 0, A.zxid, 1, 8, "two")],
        [("W1 p1 has one after ⟨1,1⟩", "W2 p2 has two after ⟨1,1⟩", "broken")],
        "not the same state",
    ),
    (
        "durability",
        [ClientAck(1, 0, A), FinalRead(2, 0, ())],
        [("W1 p1 tells a client that a⟨1,1⟩ is done", "W2 p2 reads 0 transactions at the end", "broken")],
        "it has to be there",
    ),
    (
        "final agreement",
        [FinalRead(1, 0, ()), FinalRead(2, 0, (A,))],
        [("W1 p2 reads 1 transaction at the end", "W2 p1 reads 0 transactions at the end", "broken")],
        "not the same",
    ),
]
CASES += [(name, *case) for name, module in MODULES.items() for case in getattr(module, "EDGES", ())]
"""The property, a trace that breaks it, the marked edges, and why. The module of its tests may have them as well."""
