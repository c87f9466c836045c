"""One process is a quorum; two need each other."""

import pytest

from invariants import Broadcast, Deliver, Establish, Ready
from invariants.quorums import Quorums
from tests.protocols.zab.builders import announcing, gives_up
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Lost
from zabcheck.protocols.zab.leader import on_lost
from zabcheck.simulation.choices import Lead, Request, Settle
from zabcheck.simulation.simulator import Simulator


@pytest.mark.parametrize(
    ("size", "members", "is_quorum"),
    [
        (1, [], False),
        (1, [1], True),
        (2, [1], False),
        (2, [1, 2], True),
        (3, [1, 3], True),
        (4, [1, 2], False),
        (4, [1, 2, 4], True),
        (5, [1, 2, 5], True),
    ],
)
def test_a_majority_is_more_than_half(size: int, members: list[int], is_quorum: bool) -> None:
    """Definition II.1: any two quorums intersect."""
    assert Quorums(size).contains(members) == is_quorum


@pytest.mark.parametrize("n", [1, 2])
def test_an_epoch_of_one_or_two_processes(n: int) -> None:
    events: list[object] = []
    simulator = Simulator(PROTOCOLS["zab"], n, events.append)
    for choice in (Lead(1, tuple(range(1, n + 1))), Settle(9), Request(1, "x"), Settle(9)):
        simulator.execute(choice)
    assert [type(event) for event in events if isinstance(event, Establish | Ready | Broadcast)] == [
        Establish,
        Ready,
        Broadcast,
    ]
    assert [event.process for event in events if isinstance(event, Deliver)] == list(range(1, n + 1))


def test_neither_of_two_processes_leads_alone() -> None:
    assert gives_up(on_lost(announcing(1, 2, n=2), 2, Lost(2)))
    events: list[object] = []
    simulator = Simulator(PROTOCOLS["zab"], 2, events.append)
    simulator.execute(Lead(1, (1,)))
    simulator.execute(Settle(9))
    assert events == []
