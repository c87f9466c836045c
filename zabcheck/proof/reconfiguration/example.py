"""A run in which the configuration changes, and what is committed behind the change leads on in the next epoch."""

from zabcheck.proof.example import Example
from zabcheck.proof.finite import FIRST_OF_THREE, Configuration, Facts, Thing, Universe
from zabcheck.proof.reconfiguration.steps import (
    accept,
    activate,
    adopt,
    adopt_late,
    ask,
    broadcast,
    choose,
    choose_empty,
    commit,
    deliver,
    establish,
    promise,
    tell,
)
from zabcheck.proof.steps import Step

P1, P2, P3, P4 = "p1", "p2", "p3", "p4"
C = FIRST_OF_THREE
V = Configuration(1, (P1, P4))
W = Configuration(2, (P2, P3))
A, TO_V, B, TO_W = (1, 1, "a", C), (1, 2, "to V", C, V), (1, 3, "b", V), (1, 4, "to W", V, W)
X, Y = (2, 1, "x", C), (2, 2, "y", V)
Q12, Q13, Q23, Q14, Q124, Q134, Q234, ALL = (
    frozenset(f"p{each}" for each in members) for members in ("12", "13", "23", "14", "124", "134", "234", "1234")
)
UNIVERSE = Universe(
    (P1, P2, P3, P4),
    (Q12, Q13, Q23, Q14, Q124, Q134, Q234, ALL),
    (0, 1, 2),
    (A, TO_V, B, TO_W, X, Y),
    configurations=(C, V, W),
)
"""Four processes, C = {p1, p2, p3}, V = {p1, p4} and W = {p2, p3}, which has quorums that no quorum of V meets."""
START: Facts = frozenset(
    {
        ("opened", (0,)),
        ("base", (0, C)),
        *((name, (node, first)) for node in UNIVERSE.nodes for name, first in (("adopted", 0), ("active", C))),
    }
)
_STEPS: list[tuple[Step, tuple[Thing, ...]]] = [
    # Epoch 1: p1 leads C, changes to V, which p4 joins, and commits b by p1 and p4 alone.
    (ask, (1, P1, C)),
    (promise, (P1, 1, P1)),
    (promise, (P2, 1, P1)),
    (choose_empty, (1, P1, Q12, P1, 0, C, A, C)),
    (adopt, (P1, 1, P1)),
    (adopt, (P2, 1, P1)),
    (establish, (1, P1, Q12, C)),
    (broadcast, (1, P1, A)),
    (accept, (P1, 1, A)),
    (accept, (P2, 1, A)),
    (commit, (1, P1, A, Q12, C)),
    (deliver, (P1, 1, A)),
    (promise, (P4, 1, P1)),
    (adopt_late, (P4, 1, P1, A)),
    (broadcast, (1, P1, TO_V)),
    *((accept, (node, 1, TO_V)) for node in (P1, P2, P4)),
    (commit, (1, P1, TO_V, Q124, C)),
    (deliver, (P1, 1, TO_V)),
    (activate, (P4, 1, TO_V, V)),
    (tell, (P1, P4, V)),
    (broadcast, (1, P1, B)),
    (accept, (P1, 1, B)),
    (accept, (P4, 1, B)),
    (commit, (1, P1, B, Q14, C)),
    # Epoch 2: p4 leads V, with p1.
    (ask, (2, P4, V)),
    (promise, (P1, 2, P4)),
    (promise, (P4, 2, P4)),
    (choose, (2, P4, Q14, P4, 1, B, V, A, V)),
    (adopt, (P1, 2, P4)),
    (adopt, (P4, 2, P4)),
    (establish, (2, P4, Q14, V)),
    *((deliver, (P4, 1, each)) for each in (A, TO_V, B)),
    (broadcast, (2, P4, Y)),
    (accept, (P1, 2, Y)),
    (accept, (P4, 2, Y)),
    (commit, (2, P4, Y, Q14, V)),
    (deliver, (P4, 2, Y)),
]
EXAMPLE = Example(UNIVERSE, START, _STEPS)
"""The run."""
