"""A run of the abstraction that commits in two epochs, and takes every step but one after an earlier commit.

An invariant that excluded such runs would prove nothing. (With a commit before, the histories of the latest epoch in a
quorum are never empty, so `choose empty` comes first: that, too, is a consequence of the invariant.)
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from zabcheck.proof.finite import SMALL, Facts, Thing, Universe, at_start, take
from zabcheck.proof.steps import (
    Step,
    accept,
    adopt,
    adopt_late,
    broadcast,
    choose,
    choose_empty,
    commit,
    deliver,
    establish,
    promise,
)

P1, P2, P3 = SMALL.nodes
Q12, Q13, Q23 = SMALL.quorums
T11, T12, T21, T31 = SMALL.transactions


class Example(Struct, frozen=True):
    """A run of an abstraction in a small universe: the state at the start, and steps, each with what it is about."""

    universe: Universe
    start: Facts
    steps: Sequence[tuple[Step, tuple[Thing, ...]]]

    def states(self) -> Iterator[Facts]:
        """Yield the state before each step, and the last one. AssertionError if a step is not possible."""
        state = self.start
        yield state
        for step, things in self.steps:
            after = take(step, self.universe, state, things)
            assert after is not None, f"{step.name} is no step of the example"
            state = after
            yield state


_STEPS: list[tuple[Step, tuple[Thing, ...]]] = [
    # Epoch 1: p1 leads p1 and p2 and commits ⟨1,1⟩; p2 has ⟨1,2⟩ of it, too, which is not committed.
    (promise, (P1, 1, P1)),
    (promise, (P2, 1, P1)),
    (choose_empty, (1, P1, Q12, P1, 0)),
    (adopt, (P1, 1, P1)),
    (adopt, (P2, 1, P1)),
    (establish, (1, P1, Q12)),
    (broadcast, (1, P1, T11)),
    (accept, (P1, 1, T11)),
    (accept, (P2, 1, T11)),
    (commit, (1, P1, T11, Q12)),
    (deliver, (P1, 1, T11)),
    (broadcast, (1, P1, T12)),
    (accept, (P2, 1, T12)),
    # Epoch 2: p3 leads p2 and p3, and takes p2's history over, so ⟨1,2⟩ is committed here first. p1 joins late.
    (promise, (P2, 2, P3)),
    (promise, (P3, 2, P3)),
    (choose, (2, P3, Q23, P2, 1, T12)),
    (adopt, (P2, 2, P3)),
    (adopt, (P3, 2, P3)),
    (establish, (2, P3, Q23)),
    (deliver, (P3, 2, T11)),
    (deliver, (P3, 2, T12)),
    (broadcast, (2, P3, T21)),
    (promise, (P1, 2, P3)),
    (adopt_late, (P1, 2, P3, T21)),
    (accept, (P3, 2, T21)),
    (commit, (2, P3, T21, Q13)),
    (deliver, (P3, 2, T21)),
    (deliver, (P1, 2, T12)),
    (deliver, (P1, 2, T21)),
]
EXAMPLE = Example(SMALL, at_start(SMALL), _STEPS)
"""The run."""
