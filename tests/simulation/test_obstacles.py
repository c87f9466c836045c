"""Obstacles to messages: cuts, stalls, links that hold one kind of message, paused processes (DSN 2011, II)."""

import pytest
from msgspec import structs

import invariants
from invariants import Send
from invariants.quorums import Configuration
from tests.search.walk import Walk
from tests.simulation.chatter import Chat, connected, dropped
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Message, Protocol
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Cut,
    Drain,
    Elect,
    Heal,
    Hold,
    Mend,
    Notice,
    Pause,
    Receive,
    Recover,
    Request,
    Reset,
    Run,
    Settle,
    Stall,
    Sync,
    Timeout,
    Wake,
)
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model.reconfiguration.switches import ReconfigurationSwitches
from zabcheck.zookeeper.model.votes import Notification


def test_a_cut_holds_messages_back_one_way() -> None:
    chat = connected(2)
    assert chat.do(Cut(2, 1)) == [True]
    chat.say(2, 1, "held", "back")
    chat.say(1, 2, "through")
    assert chat.receive_all(1, 2) == []
    assert chat.receive_all(2, 1) == ["through"]
    assert chat.simulator.waiting() == []
    assert chat.do(Heal()) == [True]
    assert chat.receive_all(1, 2) == ["held", "back"]


def test_a_cut_is_not_noticed() -> None:
    chat = connected(2)
    chat.do(Cut(2, 1), Cut(1, 2))
    assert chat.simulator.closed() == []


def test_a_cut_outlives_a_connection() -> None:
    chat = connected(2)
    chat.do(Cut(2, 1), Elect(2, 1))
    chat.say(2, 1, "held")
    assert chat.receive_all(1, 2) == []


def test_cuts_and_healing_are_shown_once() -> None:
    chat = Chat()
    assert chat.do(Heal(), Cut(1, 2), Cut(1, 2), Cut(1, 1), Heal(), Heal()) == [False, True, False, False, True, False]
    assert chat.events == [invariants.Cut(1, 2), invariants.Heal()]


@pytest.mark.parametrize("fault", [Cut(2, 1), Stall(2, 1), Hold(2, 1, "SAY")])
@pytest.mark.parametrize("repair", [Mend(2, 1), Heal()])
def test_what_stands_in_the_way_of_messages_loses_none_and_can_be_repaired(fault: Choice, repair: Choice) -> None:
    chat = connected(2)
    chat.say(2, 1, "before")
    assert chat.do(fault, fault) == [True, False]
    chat.say(2, 1, "after")
    chat.say(1, 2, "the other way")
    assert chat.simulator.waiting() == [(2, 1, 1)]
    assert chat.simulator.obstructed() == [(2, 1)]
    assert chat.simulator.closed() == []
    assert chat.do(Receive(1, 2), Drain(1, 2), Receive(2, 1)) == [False, False, True]
    assert chat.do(repair, repair) == [True, False]
    assert chat.simulator.obstructed() == []
    assert not chat.simulator.disturbed
    assert chat.receive_all(1, 2) == ["before", "after"]


def test_mending_repairs_one_direction_of_one_link() -> None:
    chat = connected(2, 3)
    chat.do(Cut(2, 1), Cut(1, 2), Cut(3, 1))
    assert chat.do(Mend(2, 1)) == [True]
    assert chat.simulator.obstructed() == [(1, 2), (3, 1)]
    chat.say(2, 1, "through")
    chat.say(3, 1, "held back")
    chat.say(1, 2, "held back")
    assert chat.simulator.waiting() == [(1, 2, 1)]
    assert chat.do(Mend(2, 1), Mend(1, 3), Mend(1, 1)) == [False] * 3


def test_mending_repairs_all_that_is_wrong_with_a_link() -> None:
    chat = connected(2)
    chat.say(2, 1, "through")
    chat.do(Cut(2, 1), Stall(2, 1), Hold(2, 1, "SAY"), Hold(2, 1, "ASK"))
    assert chat.do(Mend(2, 1)) == [True]
    assert chat.receive_all(1, 2) == ["through"]


@pytest.mark.parametrize("again", [[Elect(2, 1)], [Reset(1, 2), Notice(2, 1), Elect(2, 1)], [Timeout(2), Elect(2, 1)]])
def test_a_stall_ends_with_its_connection(again: list[Choice]) -> None:
    """In contrast to a cut, which is of the link."""
    chat = connected(2)
    chat.say(2, 1, "lost")
    chat.do(Stall(2, 1), *again)
    assert chat.simulator.obstructed() == []
    assert chat.do(Mend(2, 1)) == [False]
    chat.say(2, 1, "new")
    assert chat.receive_all(1, 2) == ["new"]


def test_a_stall_ends_when_the_end_that_is_waiting_for_messages_closes() -> None:
    chat = connected(2)
    chat.do(Stall(2, 1), Stall(1, 2), Timeout(1))
    assert chat.simulator.obstructed() == [(1, 2)]
    assert chat.do(Heal(), Heal()) == [True, False]


def test_a_stalled_connection_can_be_reset_and_noticed() -> None:
    chat = connected(2)
    chat.say(2, 1, "a")
    assert chat.do(Stall(2, 1), Reset(2, 1), Notice(1, 2), Notice(2, 1)) == [True] * 4
    assert len(dropped(chat)) == 1


def test_a_connection_that_nobody_has_accepted_yet_can_stall() -> None:
    chat = Chat()
    chat.do(Elect(2, 1), Stall(2, 1))
    chat.say(2, 1, "hello")
    chat.do(Elect(1, 1))
    assert chat.receive_all(1, 2) == []
    chat.do(Mend(2, 1))
    assert chat.receive_all(1, 2) == ["hello"]


def test_only_a_connection_that_is_there_can_stall() -> None:
    chat = connected(2)
    assert chat.do(Stall(1, 3), Stall(3, 1), Stall(1, 1)) == [False] * 3
    chat.do(Reset(1, 2))
    assert chat.do(Stall(1, 2), Stall(2, 1)) == [False] * 2


def test_a_link_holds_a_kind_of_message_and_what_is_behind_it() -> None:
    chat = connected(2)
    chat.say(2, 1, "a", "b", "c?", "d")
    assert chat.do(Hold(2, 1, "ASK")) == [True]
    assert chat.simulator.waiting() == [(1, 2, 2)]
    assert chat.receive_all(1, 2) == ["a", "b"]
    assert chat.simulator.waiting() == []
    chat.say(2, 1, "e")
    assert chat.receive_all(1, 2) == []
    chat.do(Mend(2, 1))
    assert chat.receive_all(1, 2) == ["c?", "d", "e"]


def test_a_link_holds_what_is_sent_later_and_on_a_new_connection() -> None:
    chat = connected(2)
    chat.do(Hold(2, 1, "ASK"), Elect(2, 1))
    chat.say(2, 1, "hello", "why?")
    assert chat.receive_all(1, 2) == ["hello"]


def test_a_link_holds_several_kinds() -> None:
    chat = connected(2)
    assert chat.do(Hold(2, 1, "ASK"), Hold(2, 1, "SAY"), Hold(2, 1, "ASK")) == [True, True, False]
    chat.say(2, 1, "a")
    assert chat.receive_all(1, 2) == []


def test_nothing_is_held_that_there_is_not() -> None:
    chat = connected(2)
    assert chat.do(Hold(2, 1, "PROPOSE"), Hold(2, 1, "say"), Hold(2, 2, "SAY")) == [False] * 3


RUNS: dict[str, list[tuple[Switches, tuple[int, ...]]]] = {
    "zookeeper-reconfiguration": [(LETTER, (1, 2, 3)), (ReconfigurationSwitches(outsiders="observers"), (1, 2))]
}
"""By protocol: the switches and first members of the runs in which each message is sent, if one run is not enough."""


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda protocol: protocol.name)
def test_every_message_of_a_protocol_can_be_held(protocol: Protocol) -> None:
    """Each has one name, which is that of no other, and the one that a report shows."""
    on_connections = {kind for kind in protocol.steps if issubclass(kind, Message) and kind is not Notification}
    assert set(protocol.kinds) == on_connections
    assert len(set(protocol.kinds.values())) == len(protocol.kinds)
    shown: dict[str, str] = {}
    for switches, members in RUNS.get(protocol.name, [(LETTER, (1, 2, 3))]):
        simulator = Simulator(
            structs.replace(protocol, show=lambda m: (protocol.kinds[type(m)], protocol.show(m)[0])),
            3,
            lambda event: shown.update({event.kind: event.text} if isinstance(event, Send) else {}),
            quorums=Configuration(3, members) if protocol.environment.configurations else None,
            switches=switches,
            network=True,
        )
        walk = Walk(simulator, 1)
        turns: list[Choice] = [Run(p, thread) for p in simulator.ids for thread in protocol.threads(simulator.switches)]
        if protocol.environment.configurations:
            turns += [Request(process, "config 1,2") for process in simulator.ids]
        for _ in range(4000):
            if len(shown) == len(protocol.kinds):
                break
            walk.step()
            for turn in turns:
                simulator.execute(turn)
    assert {name: name for name in protocol.kinds.values()} == shown


def test_settling_goes_around_what_is_held_stalled_or_paused() -> None:
    chat = connected(2, 3, processes=4)
    chat.say(2, 1, "a", "b?")
    chat.say(1, 3, "x")
    chat.say(3, 1, "y", disk=True)
    chat.do(Hold(2, 1, "ASK"), Stall(1, 3), Pause(3), Settle(9), Settle(9))
    assert chat.heard(1, 2)[1:] == ["a"]
    assert (chat.heard(1, 3)[1:], chat.heard(3, 1)) == ([], [])
    chat.do(Wake(3), Settle(9))
    assert (chat.heard(1, 3)[1:], chat.heard(3, 1)) == (["y"], [])
    chat.do(Heal(), Settle(9))
    assert (chat.heard(1, 2)[2:], chat.heard(3, 1)) == (["b?"], ["x"])


def test_a_paused_process_does_nothing_and_forgets_nothing() -> None:
    chat = connected(2, 3)
    chat.say(2, 1, "mine", disk=True)
    state = chat.simulator.states[2]
    assert chat.do(Pause(2), Pause(2)) == [True, False]
    chat.say(1, 2, "a", "b")
    chat.say(2, 1, "nothing")
    assert chat.do(Receive(2, 1), Sync(2), Timeout(2), Elect(2, 3), Elect(2, 1)) == [False] * 5
    assert chat.simulator.waiting() == []
    assert chat.simulator.states[2] == state
    assert chat.simulator.is_up(2)
    assert chat.do(Wake(2), Wake(2)) == [True, False]
    assert not chat.simulator.disturbed
    assert chat.receive_all(2, 1) == ["a", "b"]
    assert chat.do(Sync(2)) == [True]
    assert chat.receive_all(1, 2) == ["mine"]


def test_others_hear_of_a_pause_by_silence_only() -> None:
    chat = connected(2)
    chat.say(2, 1, "on its way")
    chat.do(Pause(2))
    assert chat.simulator.closed() == []
    assert chat.receive_all(1, 2) == ["on its way"]
    assert chat.do(Notice(1, 2)) == [False]
    assert chat.do(Crash(1)) == [True]
    assert (chat.simulator.closed(), chat.do(Notice(2, 1))) == ([], [False])
    chat.do(Wake(2))
    assert (chat.simulator.closed(), chat.do(Notice(2, 1))) == ([(2, 1)], [True])


def test_healing_wakes_nobody() -> None:
    chat = connected(2)
    assert chat.do(Pause(2), Heal(), Cut(1, 2), Heal(), Timeout(2)) == [True, False, True, True, False]


def test_a_crash_ends_a_pause() -> None:
    chat = connected(2)
    chat.do(Pause(2))
    assert chat.do(Crash(2), Pause(2), Wake(2), Recover(2), Wake(2)) == [True, False, False, True, False]
    assert chat.do(Elect(2, 1)) == [True]
