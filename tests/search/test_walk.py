"""A walk makes every kind of fault."""

from tests.search.walk import DEFAULT_FAULTS, Walk
from zabcheck.invariants import select
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Run
from zabcheck.simulation.choices import FINE


def test_every_kind_of_fault_happens() -> None:
    run = Run(PROTOCOLS["zab"], 3, select())
    walking = Walk(run.simulator, 1)
    while run.simulator.steps < 10_000:
        walking.step()
    kinds = {type(choice) for choice in run.simulator.executed}
    assert set(DEFAULT_FAULTS) & set(FINE) < kinds
    assert "power loss" in run.goals.reached  # a coarse choice: it is executed as one crash each
