"""A run of servers that commits in two epochs and takes each step: DIFF, TRUNC, SNAP, a power loss and a retreat."""

from zabcheck.proof.example import P1, P2, P3, Q12, Q23, T11, T12, T21, Example
from zabcheck.proof.finite import SMALL, Facts, Thing
from zabcheck.proof.implemented.steps import (
    ack,
    acknowledge,
    append,
    apply,
    apply_unsaved,
    broadcast,
    choose,
    choose_empty,
    commit,
    crash,
    diff,
    establish,
    force,
    forget,
    leave,
    load,
    load_snapshot,
    promise,
    serve,
    snap,
    truncate,
    write_epoch,
    write_snapshot,
)
from zabcheck.proof.steps import Step

START: Facts = frozenset(
    {("opened", (0,)), *((name, (node, 0)) for name in ("reached", "current", "adopted") for node in SMALL.nodes)}
)

_STEPS: list[tuple[Step, tuple[Thing, ...]]] = [
    # Epoch 1: p1 leads p1 and p2, and commits ⟨1,1⟩; p1 alone logs ⟨1,2⟩.
    (promise, (P1, 1, P1)),
    (promise, (P2, 1, P1)),
    (choose_empty, (1, P1, Q12, 0)),
    (diff, (P2, 1, T11)),
    *((each, (node, 1)) for node in (P1, P2) for each in (write_epoch, acknowledge)),
    (establish, (1, P1, Q12)),
    *((serve, (node, 1, P1)) for node in (P1, P2)),
    (broadcast, (1, P1, T11)),
    *(
        (each, (node, *rest))
        for node in (P1, P2)
        for each, rest in ((append, (1, T11)), (force, (T11,)), (ack, (1, T11)))
    ),
    (commit, (1, P1, T11, Q12)),
    *((apply, (node, 1, T11)) for node in (P1, P2)),
    (broadcast, (1, P1, T12)),
    (append, (P1, 1, T12)),
    # Epoch 2: p2 leads p2 and p3, which gets SNAP; ⟨1,2⟩ is not in I_2.
    (leave, (P2,)),
    (promise, (P2, 2, P2)),
    (promise, (P3, 2, P2)),
    (choose, (2, P2, Q23, 1, T11)),
    (forget, (P3, 2)),
    (snap, (P3, 2, T12)),
    (write_snapshot, (P3, 2)),
    *((each, (node, 2)) for node in (P2, P3) for each in (write_epoch, acknowledge)),
    (establish, (2, P2, Q23)),
    *((serve, (node, 2, P2)) for node in (P2, P3)),
    (broadcast, (2, P2, T21)),
    *(
        (each, (node, *rest))
        for node in (P2, P3)
        for each, rest in ((append, (2, T21)), (force, (T21,)), (ack, (2, T21)))
    ),
    (commit, (2, P2, T21, Q23)),
    (apply, (P2, 2, T21)),
    # p1 had logged ⟨1,2⟩, and gets TRUNC; ⟨2,1⟩ is committed meanwhile. p3 loses its power, and comes back.
    (leave, (P1,)),
    (promise, (P1, 2, P2)),
    (truncate, (P1, 2, T12)),
    (apply_unsaved, (P1, 2, T21)),
    (write_snapshot, (P1, 2)),
    *((each, (P1, 2)) for each in (write_epoch, acknowledge)),
    (serve, (P1, 2, P2)),
    (crash, (P3, T11)),
    (load, (P3, T21)),
    (load_snapshot, (P3, 2)),
    (diff, (P3, 2, T21)),
]
EXAMPLE = Example(SMALL, START, _STEPS)
"""The run."""
