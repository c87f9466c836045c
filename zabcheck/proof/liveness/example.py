"""A run of an iteration: p1 leads p1 and p2; p2's connection is closed, and p2 comes back, and p3 joins late."""

from zabcheck.proof.example import Example
from zabcheck.proof.finite import THREE, Facts, Thing, Universe, majorities
from zabcheck.proof.liveness.steps import (
    accept,
    adopt,
    broadcast,
    choose_epoch,
    choose_history,
    commit,
    connect,
    deliver,
    establish,
    hear_ack,
    hear_ack_e,
    hear_ack_ld,
    hear_cepoch,
    join,
    promise,
)
from zabcheck.proof.steps import Step

P1, P2, P3 = THREE
Q12 = frozenset((P1, P2))
C1, C2, C2_AGAIN, C3 = (P1, 1), (P2, 1), (P2, 2), (P3, 1)
OLD, NEW = (1, 1, "a"), (2, 1, "b")
UNIVERSE = Universe(THREE, majorities(THREE), (0, 1, 2), (OLD, NEW), (C1, C2, C2_AGAIN, C3))
"""Three processes, of which one connects twice, two epochs and two transactions."""
START: Facts = frozenset(
    {
        ("leads", (P1,)),
        *(("lasting", (each,)) for each in (C1, C2_AGAIN, C3)),
        *(("promised", (each, 0)) for each in (C1, C2, C3)),
        ("promised", (C2_AGAIN, 1)),
        ("abandoned", (C2,)),
        ("has_history", (P2, OLD)),
    }
)

_STEPS: list[tuple[Step, tuple[Thing, ...]]] = [
    # p1 and p2 go through phases 1 and 2, with p2's history; p3 is slow.
    *((step, (each,)) for each in (C1, C2, C3) for step in (connect, hear_cepoch)),
    (choose_epoch, (1, Q12)),
    *((step, (each,)) for each in (C1, C2) for step in (promise, hear_ack_e)),
    (choose_history, (Q12, P2)),
    *((step, (each,)) for each in (C1, C2) for step in (adopt, hear_ack_ld)),
    (establish, (Q12,)),
    (join, (C1,)),
    (deliver, (C1, OLD)),
    (broadcast, (NEW,)),
    # p2's connection is closed, and p2 comes back; its ACK-E does not count.
    *((step, (C2_AGAIN,)) for step in (connect, hear_cepoch, promise, adopt)),
    *((step, (C3,)) for step in (promise, hear_ack_e, adopt)),
    (accept, (C1, NEW)),
    (hear_ack, (C1, NEW)),
    (hear_ack_ld, (C2_AGAIN,)),
    (commit, (NEW, Q12)),
    (hear_ack_ld, (C3,)),
    *((step, (each,)) for each in (C2_AGAIN, C3) for step in (join,)),
    *((deliver, (each, txn)) for each in (C2_AGAIN, C3) for txn in (OLD, NEW)),
    (deliver, (C1, NEW)),
]
EXAMPLE = Example(UNIVERSE, START, _STEPS)
"""The run."""
