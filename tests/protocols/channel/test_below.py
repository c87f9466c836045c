"""Zab runs on channels over lossy links: what the link delays, repeats or brings from before is no matter to it."""

from collections.abc import Sequence

import pytest

from invariants import Accept, Broadcast, Deliver, Event, Promise, Send
from zabcheck.papers.scenarios.base import scheduled
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switch_settings import switches_of
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.search.run import Search, replay
from zabcheck.search.swarm import find
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

ZAB = PROTOCOLS["zab"]
LOSSY = ZabSwitches(links="lossy")
LED: tuple[AnyChoice, ...] = (choices.Lead(1, (2,)), choices.Settle(9))
DELAYED: tuple[AnyChoice, ...] = (*LED, choices.Run(2, "delays"), choices.Request(1, "v"), choices.Drain(2, 1))
ARRIVES, REPEATS = choices.Run(2, "arrives"), choices.Run(2, "repeats")


def shown(*all_: AnyChoice, processes: int = 2) -> Sequence[Event]:
    return replay(scheduled("zab", processes, *all_, switches=LOSSY)).events


def test_zab_keeps_what_it_promises() -> None:
    assert find(Search(ZAB, None, ZAB.properties, runs=60, rng=1, fixed={"links": "lossy"})) is None


def test_where_the_link_does_nothing_the_messages_are_those_of_zab() -> None:
    run = (*LED, choices.Request(1, "v"), choices.Settle(9))
    plain = replay(scheduled("zab", 2, *run)).events
    sent = [[event.kind for event in events if isinstance(event, Send)] for events in (plain, shown(*run))]
    assert sent[0] == sent[1]


@pytest.mark.parametrize("order", [(ARRIVES,), (REPEATS, ARRIVES), (choices.Timeout(1), choices.Settle(9), ARRIVES)])
def test_a_frame_that_was_delayed_is_received_once(order: Sequence[AnyChoice]) -> None:
    accepted = [event for event in shown(*DELAYED, *order, choices.Settle(9)) if isinstance(event, Accept)]
    assert [event.process for event in accepted] == [1, 2]


def test_what_nobody_has_answered_is_sent_again_once_and_then_the_iteration_ends() -> None:
    cut = (*LED, choices.Split((1,)), choices.Request(1, "v"), choices.Timeout(1))
    again = [event.text for event in shown(*cut) if isinstance(event, Send) and event.kind == "PROPOSE"]
    assert again == ["v⟨1,1⟩, frame 1.4", "v⟨1,1⟩, frame 1.4"]
    went_on = [shown(*cut, *more, choices.Request(1, "w")) for more in ((), (choices.Timeout(1),))]
    assert [sum(isinstance(event, Broadcast) for event in events) for events in went_on] == [2, 1]


def test_no_frame_of_the_time_when_the_leader_followed_opens_a_channel() -> None:
    """p2 follows p1, whose link delays its CEPOCH; p1 follows p2 then, and the CEPOCH comes to it as a follower."""
    before = (choices.Elect(1, 1), choices.Elect(2, 1), choices.Receive(1, 2), choices.Run(1, "delays"))
    turned = (choices.Elect(2, 1), choices.Receive(1, 2), choices.Elect(2, 2), choices.Elect(1, 2))
    events = shown(
        *before, *turned, choices.Run(1, "arrives"), choices.Settle(9), choices.Request(2), choices.Settle(9)
    )
    assert [event.process for event in events if isinstance(event, Deliver)] == [2, 1]


def test_iterations_outlive_a_crash() -> None:
    """A message that p2 was sent before it crashed is of an iteration that is over."""
    old = (choices.Lead(1, (2,)), choices.Receive(1, 2), choices.Run(2, "delays"), choices.Receive(2, 1))
    back = (choices.Crash(2), choices.Recover(2), choices.Elect(2, 1), choices.Run(2, "arrives"))
    assert not [event for event in shown(*old, *back) if isinstance(event, Promise) and event.process == 2]


@pytest.mark.parametrize(("setting", "instead"), [("commits=acks", "commits=leader"), ("dissemination=tree", "star")])
def test_only_connections_to_a_leader_are_channels(setting: str, instead: str) -> None:
    with pytest.raises(ValueError, match=f"links=lossy: expected .*{instead}"):
        switches_of(["links=lossy", setting], ZAB)
