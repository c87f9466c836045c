"""The causal broadcast keeps what it promises, and what a primary has broadcast outlives its epoch and its crash."""

import pytest

from invariants import Broadcast, Crash, Event, Send, select
from zabcheck.papers.scenarios.base import scheduled
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Search, replay
from zabcheck.search.swarm import find
from zabcheck.search.tally import Tally
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

CAUSAL = PROTOCOLS["causal"]
LED: tuple[AnyChoice, ...] = (choices.Lead(1, (2,)), choices.Settle(9), choices.Request(1, "v"))


def shown(*more: AnyChoice) -> list[Event]:
    return replay(scheduled("causal", 3, *LED, *more)).events


def test_it_keeps_what_it_promises() -> None:
    tally = Tally(select(CAUSAL.properties))
    assert find(Search(CAUSAL, None, CAUSAL.properties, runs=60, rng=1, on_run=tally.add)) is None
    assert all(tally.exercised.values())


@pytest.mark.parametrize("property_", ["global primary order", "primary integrity", "strict causality"])
def test_it_keeps_no_order_of_primaries(property_: str) -> None:
    assert find(Search(CAUSAL, None, (property_,), runs=60, rng=1)) is not None


@pytest.mark.parametrize(("kept", "broadcast"), [(9, 1), (0, 0)])
def test_what_a_crash_keeps_was_broadcast_and_what_it_loses_was_not(kept: int, broadcast: int) -> None:
    events = shown(choices.Crash(1, kept))
    before = events[: [type(event) for event in events].index(Crash)]
    assert sum(isinstance(event, Broadcast) for event in before) == broadcast
    back = shown(choices.Crash(1, kept), choices.Recover(1), choices.Elect(1, 2), choices.Sync(1))
    handed = [event.text for event in back if isinstance(event, Send) and event.kind == "HAND-OVER"]
    assert handed == ["v⟨1,1⟩"] * broadcast


def test_nothing_is_handed_over_before_it_is_on_the_disk() -> None:
    def handed(*more: AnyChoice) -> int:
        return sum(isinstance(event, Send) and event.kind == "HAND-OVER" for event in shown(*more))

    assert handed(choices.Elect(1, 2)) == 0
    assert handed(choices.Elect(1, 2), choices.Sync(1)) == 1
