"""The channel keeps what DSN 2011, II asks of one, and what a link, a crash or an old iteration does to it."""

import re

import pytest

from docs.generators.output import DOCS
from invariants import Broadcast, Deliver, Event, Send, select
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.exploration import explore
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.papers.scenarios.base import scheduled
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Search, replay
from zabcheck.search.swarm import find
from zabcheck.search.tally import Tally
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

PAGE = DOCS / "channel.md"
CHANNEL = PROTOCOLS["channel"]
OPENED: tuple[AnyChoice, ...] = (choices.Lead(1, (2,)), choices.Settle(1))
SENT: tuple[AnyChoice, ...] = (*OPENED, choices.Request(1, "a"), choices.Request(1, "b"), choices.Drain(2, 1))
ARRIVES, REPEATS, OVERTAKES = (choices.Run(2, thread) for thread in ("arrives", "repeats", "overtakes"))


def shown(*all_: AnyChoice) -> list[Event]:
    return replay(scheduled("channel", 2, *all_)).events


def received(*all_: AnyChoice) -> list[str]:
    return [str(event.txn) for event in shown(*all_) if isinstance(event, Deliver)]


def sent(kind: str, *all_: AnyChoice) -> list[str]:
    return [event.text for event in shown(*all_) if isinstance(event, Send) and event.kind == kind]


def test_it_keeps_what_it_promises() -> None:
    tally = Tally(select(CHANNEL.properties))
    assert find(Search(CHANNEL, None, CHANNEL.properties, runs=100, rng=1, on_run=tally.add)) is None
    assert all(tally.exercised.values())


@pytest.mark.parametrize(
    ("order", "comes"),
    [
        ((ARRIVES, ARRIVES), ["a⟨1,1⟩", "b⟨1,2⟩"]),
        ((REPEATS, ARRIVES, ARRIVES), ["a⟨1,1⟩", "b⟨1,2⟩"]),
        ((REPEATS, OVERTAKES, ARRIVES), ["a⟨1,1⟩", "b⟨1,2⟩"]),
        ((OVERTAKES, ARRIVES), ["a⟨1,1⟩"]),
    ],
    ids=["in order", "repeated", "repeated and overtaken", "overtaken"],
)
def test_it_receives_a_prefix_whatever_the_link_does(order: tuple[AnyChoice, ...], comes: list[str]) -> None:
    assert received(*SENT, *order) == comes


def test_a_frame_arrives_twice_at_most() -> None:
    assert received(*SENT, REPEATS, REPEATS, ARRIVES, ARRIVES) == ["a⟨1,1⟩", "b⟨1,2⟩"]
    assert len(sent("ACK", *SENT, REPEATS, REPEATS, REPEATS)) == 1


def test_what_is_not_acknowledged_is_sent_again() -> None:
    again = (*SENT, OVERTAKES, ARRIVES, choices.Drain(1, 2), choices.Run(1, "arrives"), choices.Timeout(1))
    assert sent("DATA", *again)[2:] == ["b⟨1,2⟩ for iteration 1"]
    assert received(*again, choices.Drain(2, 1), ARRIVES) == ["a⟨1,1⟩", "b⟨1,2⟩"]


def test_an_iteration_that_is_over_brings_no_more_messages() -> None:
    begun = (*SENT, choices.Elect(2, 1), choices.Receive(1, 2), choices.Run(1, "arrives"), choices.Request(1, "c"))
    assert received(*begun, choices.Drain(2, 1), OVERTAKES, ARRIVES, ARRIVES) == ["c⟨2,1⟩"]


@pytest.mark.parametrize("process", [1, 2])
def test_frames_outlive_a_crash_and_numbers_of_iterations_are_not_used_again(process: int) -> None:
    """Frames under way to p2 arrive after the crash of either, and are not of the new iteration."""
    back = (choices.Crash(process, 0), choices.Recover(process), choices.Lead(1, (2,)), choices.Settle(1))
    events = shown(*SENT, *back, choices.Request(1, "c"), choices.Drain(2, 1), ARRIVES, ARRIVES, ARRIVES)
    assert [str(event.txn) for event in events if isinstance(event, Broadcast)] == ["a⟨1,1⟩", "b⟨1,2⟩", "c⟨2,1⟩"]
    assert [str(event.txn) for event in events if isinstance(event, Deliver)] == ["c⟨2,1⟩"]


def test_every_state_within_bounds_keeps_it() -> None:
    found = explore("channel", bounds=Bounds(2, 2, 2, 1, 0))
    assert found.whole
    assert found.broken is None
    assert found.exercised == CHANNEL.properties


@pytest.mark.parametrize(
    "row", re.findall(r"\| ([^|]+) \| `([^`]+)` \| (\d+) steps \|", PAGE.read_text(encoding="utf-8"))
)
def test_the_page_has_the_shortest_run_of_each_bug(row: tuple[str, str, str]) -> None:
    property_, mutant, steps = row
    found = explore("channel", mutant=mutant, bounds=Bounds(2, 2, 3, 1, 0))
    assert (found.broken, found.steps) == (property_, int(steps))
    assert CATALOGUE[mutant].breaks[0] == property_
