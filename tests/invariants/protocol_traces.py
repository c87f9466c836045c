"""Random protocol traces: small runs of a correct Zab with defects of every kind put in."""

from random import Random

from tests.invariants.protocol_defects import DEFECTS
from tests.invariants.protocol_runs import Run
from tests.invariants.traces import RandomTrace

LONGEST = 150


def random_protocol_trace(seed: int) -> RandomTrace:
    """The trace of this seed: 150 events at most, 4 processes at most, none to all kinds of defect."""
    rng = Random(seed)
    run = Run(rng)
    size = rng.choice((rng.randint(1, 8), rng.randint(5, 45), rng.randint(20, 45), rng.randint(20, 45)))
    kinds = rng.sample(list(DEFECTS), rng.choice((0, 1, 1, 2, 2, 3, 5)))
    while len(run.events) < size:
        if kinds and rng.random() < 0.2:
            kind = rng.choice(kinds)
            if DEFECTS[kind](run):
                run.defects.add(kind)
        else:
            run.step()
    if size > 8 and rng.random() < 0.7:
        run.stabilise()
        if kinds and rng.random() < 0.9:
            kind = rng.choice(kinds)
            if DEFECTS[kind](run):
                run.defects.add(kind)
    return RandomTrace(run.events[:size] if size <= 8 else run.events, run.defects)
