"""Channels (DSN 2011, II): FIFO, prefixes, a single iteration; and what faults do to them."""

import pytest

import invariants
from invariants import Drop, Event, Send
from tests.search.walk import DEFAULT_FAULTS, Walk
from tests.simulation.chatter import Chat, connected, dropped
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Elect,
    Heal,
    Hold,
    Mend,
    Notice,
    Pause,
    Receive,
    Recover,
    Reset,
    Settle,
    Stall,
    Timeout,
    Wake,
)
from zabcheck.simulation.network import Connection
from zabcheck.simulation.simulator import Simulator


def test_a_connection_is_first_in_first_out_each_way() -> None:
    chat = connected(2)
    chat.say(2, 1, "a", "b", "c")
    chat.say(1, 2, "x", "y")
    assert chat.receive_all(2, 1) == ["x", "y"]
    assert chat.receive_all(1, 2) == ["a", "b", "c"]


def test_messages_of_different_connections_interleave_freely() -> None:
    chat = connected(2, 3)
    chat.say(2, 1, "first")
    chat.say(3, 1, "second")
    assert chat.receive_all(1, 3) == ["second"]
    assert chat.receive_all(1, 2) == ["first"]


def test_waiting_messages_can_be_asked_for() -> None:
    chat = connected(2, 3)
    chat.say(2, 1, "a", "b")
    chat.say(1, 3, "x")
    assert sorted(chat.simulator.waiting()) == [(1, 2, 2), (3, 1, 1)]


def test_a_message_to_oneself_is_handled_right_after_the_step() -> None:
    chat = connected()
    chat.say(1, 1, "note")
    assert chat.heard(1, 1) == ["note"]
    assert chat.simulator.messages == 0


def test_a_connection_to_a_process_that_does_not_lead_waits() -> None:
    chat = Chat()
    chat.do(Elect(2, 1))
    chat.say(2, 1, "hello")
    assert chat.do(Receive(1, 2)) == [False]
    assert chat.simulator.waiting() == []
    chat.do(Elect(1, 3))
    assert chat.do(Receive(1, 2)) == [False]
    chat.do(Elect(1, 1))
    assert chat.do(Receive(1, 2)) == [True]


def test_a_leader_reaches_a_follower_only_after_its_first_message() -> None:
    chat = Chat()
    chat.do(Elect(1, 1), Elect(2, 1))
    chat.say(1, 2, "too early")
    assert chat.do(Receive(2, 1)) == [False]


def test_followers_of_one_leader_are_not_connected_with_each_other() -> None:
    chat = connected(2, 3)
    chat.say(2, 3, "psst")
    assert chat.receive_all(3, 2) == []


def test_a_new_connection_carries_nothing_of_the_old_one_in_either_direction() -> None:
    """Single iteration."""
    chat = connected(2)
    chat.say(2, 1, "old")
    chat.say(1, 2, "old")
    chat.do(Elect(2, 1))
    chat.say(1, 2, "before the new end is open")
    chat.say(2, 1, "new")
    assert chat.receive_all(1, 2) == ["new"]
    chat.say(1, 2, "new")
    assert chat.receive_all(2, 1) == ["new"]
    assert len(dropped(chat)) == 2


def test_a_leader_that_leads_anew_has_none_of_its_followers() -> None:
    chat = connected(2)
    chat.say(2, 1, "old")
    chat.do(Elect(1, 1))
    assert chat.receive_all(1, 2) == []
    chat.say(1, 2, "new")
    assert chat.receive_all(2, 1) == []
    assert chat.do(Notice(2, 1)) == [True]


@pytest.mark.parametrize("end", [Crash(2), Timeout(2), Elect(2, 3)])
def test_what_a_follower_sent_before_it_closed_may_still_arrive(end: Crash | Timeout | Elect) -> None:
    """A prefix of it, until the leader notices."""
    chat = connected(2)
    chat.say(2, 1, "a", "b", "c")
    chat.do(end)
    assert chat.do(Receive(1, 2), Receive(1, 2)) == [True, True]
    assert chat.do(Notice(1, 2)) == [True]
    assert chat.do(Receive(1, 2)) == [False]
    assert chat.heard(1, 2)[1:] == ["a", "b"]
    assert chat.simulator.connections.get((2, 1)) is None


@pytest.mark.parametrize("end", [Crash(1), Timeout(1), Elect(1, 3)])
def test_what_a_leader_sent_before_it_closed_may_still_arrive(end: Crash | Timeout | Elect) -> None:
    chat = connected(2)
    chat.say(1, 2, "a", "b")
    chat.do(end)
    assert chat.do(Receive(2, 1), Notice(2, 1), Receive(2, 1)) == [True, True, False]
    assert chat.heard(2, 1) == ["a"]
    assert chat.simulator.states[2].leader is None


def test_what_is_on_its_way_to_an_end_that_closes_is_lost() -> None:
    chat = connected(2)
    chat.say(1, 2, "a", "b")
    chat.do(Crash(2), Recover(2))
    assert len(dropped(chat)) == 2
    chat.do(Elect(2, 1))
    assert chat.receive_all(2, 1) == []


def test_a_follower_that_is_gone_before_its_leader_was_there_is_still_heard() -> None:
    chat = Chat()
    chat.do(Elect(2, 1))
    chat.say(2, 1, "hello")
    chat.do(Crash(2), Elect(1, 1))
    assert chat.receive_all(1, 2) == ["hello"]
    assert chat.do(Notice(1, 2), Notice(1, 2)) == [True, False]


def test_what_waits_for_a_process_that_crashes_is_lost() -> None:
    """Buffers are volatile."""
    chat = Chat()
    chat.do(Elect(2, 1))
    chat.say(2, 1, "hello")
    chat.do(Crash(1), Recover(1), Elect(1, 1))
    assert chat.receive_all(1, 2) == []
    assert chat.do(Notice(2, 1)) == [True]
    assert chat.simulator.connections == {}


def test_a_process_reads_nothing_of_an_iteration_that_it_has_heard_a_later_one_of() -> None:
    """A buffer holds messages of one iteration only."""
    chat = Chat()
    chat.do(Elect(2, 1))
    chat.say(2, 1, "old")
    chat.do(Elect(2, 2), Elect(1, 2))
    chat.say(1, 2, "hello")
    chat.receive_all(2, 1)
    chat.say(2, 1, "new")
    assert chat.receive_all(1, 2) == ["new"]
    chat.do(Elect(1, 1))
    assert chat.receive_all(1, 2) == []


def test_a_message_of_an_iteration_that_is_over_does_no_harm_to_a_later_connection() -> None:
    chat = connected(2)
    chat.say(1, 2, "before")
    chat.do(Elect(1, 2))
    chat.say(1, 2, "after")
    assert chat.receive_all(2, 1) == ["before"]
    chat.do(Elect(2, 2))
    assert chat.receive_all(2, 1) == ["after"]


@pytest.mark.parametrize("end", [Crash(2), Timeout(2), Elect(2, 3)])
def test_a_process_that_closes_abruptly_loses_what_it_has_sent(end: Crash | Timeout | Elect) -> None:
    chat = connected(2, switches=Switches(closing="abrupt"))
    chat.say(2, 1, "a")
    chat.say(1, 2, "b")
    chat.do(end)
    assert len(dropped(chat)) == 2
    assert chat.do(Receive(1, 2), Notice(1, 2)) == [False, True]
    assert (2, 1) not in chat.simulator.connections


@pytest.mark.parametrize("end", [Crash(1), Timeout(1), Elect(1, 3)])
def test_so_does_a_leader(end: Crash | Timeout | Elect) -> None:
    chat = connected(2, switches=Switches(closing="abrupt"))
    chat.say(1, 2, "a")
    chat.do(end)
    assert chat.do(Receive(2, 1), Notice(2, 1)) == [False, True]


def test_a_connection_that_nobody_used_or_knows_of_leaves_nothing_behind() -> None:
    chat = Chat()
    chat.do(Elect(2, 1), Crash(2))
    assert chat.simulator.connections == {}


def test_nothing_is_sent_to_an_end_that_is_closed() -> None:
    """The sender does not know; the message is lost with no trace."""
    chat = connected(2)
    chat.do(Crash(2))
    before = list(chat.events)
    chat.say(1, 2, "hello?")
    assert chat.events == before


def test_a_leader_notices_that_a_follower_has_connected_anew() -> None:
    """Its old connection is gone, and the leader may learn so before it hears from the new one, or by that."""
    chat = connected(2)
    chat.do(Elect(2, 1))
    assert chat.simulator.closed() == [(1, 2)]
    assert chat.do(Notice(1, 2)) == [True]
    assert chat.do(Notice(1, 2)) == [False]

    chat = connected(2)
    chat.do(Elect(2, 1))
    chat.say(2, 1, "again")
    chat.receive_all(1, 2)
    assert chat.do(Notice(1, 2)) == [False]


def test_a_leader_notices_although_the_new_connection_is_gone_as_well() -> None:
    chat = connected(2)
    chat.do(Elect(2, 1), Reset(1, 2), Notice(2, 1))
    assert chat.do(Notice(1, 2)) == [True]
    assert chat.simulator.connections == {}


def test_nothing_is_noticed_that_has_not_happened() -> None:
    chat = connected(2)
    assert chat.do(Notice(1, 2), Notice(2, 1), Notice(1, 3), Notice(3, 1), Notice(1, 1)) == [False] * 5
    assert chat.simulator.closed() == []


def test_a_reset_loses_what_is_under_way_and_each_end_notices_separately() -> None:
    chat = connected(2)
    chat.say(2, 1, "a")
    chat.say(1, 2, "b")
    assert chat.do(Reset(1, 2)) == [True]
    assert len(dropped(chat)) == 2
    assert sorted(chat.simulator.closed()) == [(1, 2), (2, 1)]
    assert chat.do(Notice(1, 2)) == [True]
    assert chat.simulator.closed() == [(2, 1)]
    assert chat.simulator.states[2].leader == 1
    assert chat.do(Notice(2, 1)) == [True]
    assert chat.simulator.closed() == []


def test_after_a_reset_nothing_gets_through_that_connection() -> None:
    chat = connected(2)
    chat.do(Reset(2, 1))
    chat.say(2, 1, "a")
    chat.say(1, 2, "b")
    assert chat.simulator.waiting() == []
    chat.do(Elect(2, 1))
    chat.say(2, 1, "new")
    assert chat.receive_all(1, 2) == ["new"]


def test_only_a_connection_that_is_there_and_whole_can_be_reset() -> None:
    chat = connected(2)
    assert chat.do(Reset(1, 3), Reset(1, 1), Reset(2, 1), Reset(2, 1), Reset(1, 2)) == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_each_end_notices_a_reset_by_itself_and_one_may_go_on_for_long() -> None:
    chat = connected(2, 3)
    chat.do(Reset(1, 2))
    assert chat.do(Notice(2, 1), Elect(2, 2), Elect(3, 2)) == [True] * 3
    chat.say(3, 2, "elsewhere")
    for _ in range(50):
        chat.say(1, 2, "into the void")
        chat.say(1, 1, "note")
        chat.do(Settle(1))
    assert chat.heard(2, 3) == ["elsewhere"]
    assert len(chat.heard(1, 1)) == 50
    assert (1, 2) in chat.simulator.closed()
    assert chat.do(Notice(1, 2), Notice(1, 2)) == [True, False]


def test_faults_of_the_network_are_shown() -> None:
    chat = connected(2)
    chat.events.clear()
    chat.do(Stall(2, 1), Hold(1, 2, "ASK"), Mend(2, 1), Pause(2), Wake(2), Crash(3), Recover(3), Pause(3), Heal())
    shown = [event for event in chat.events if not isinstance(event, invariants.Crash | invariants.Recover)]
    assert shown == [
        invariants.Stall(2, 1),
        invariants.Hold(1, 2, "ASK"),
        invariants.Mend(2, 1),
        invariants.Pause(2, 0),
        invariants.Wake(2, 0),
        invariants.Pause(3, 1),
        invariants.Heal(),
    ]


@pytest.mark.parametrize("processes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_connection_brings_is_a_prefix_of_what_was_sent_on_it(seed: int, processes: int) -> None:
    """Whatever is held, stalled or paused: nothing is left out, doubled, overtaken, or moved to another connection."""
    sent: dict[tuple[int, bool], list[int]] = {}
    received: dict[tuple[int, bool], list[int]] = {}
    place: dict[int, tuple[int, bool]] = {}  # message -> connection and direction
    kept: list[Connection] = []  # so that no two have one id

    def show(event: Event) -> None:
        if isinstance(event, Send):
            for connection in simulator.connections.values():
                for to_leader, queue in ((True, connection.to_leader), (False, connection.to_follower)):
                    if queue and queue[-1][1] == event.message:
                        kept.append(connection)
                        place[event.message] = id(connection), to_leader
                        sent.setdefault(place[event.message], []).append(event.message)
        elif isinstance(event, invariants.Receive):
            received.setdefault(place[event.message], []).append(event.message)

    simulator = Simulator(PROTOCOLS["zab"], processes, show, network=True)
    often: dict[type[Choice], int] = {Hold: 10, Stall: 30, Pause: 10, Mend: 10, Wake: 40, Heal: 20}
    walk = Walk(simulator, seed, {**DEFAULT_FAULTS, **often})
    for _ in range(2000):
        walk.step()
    assert {Hold, Stall, Pause, Mend, Wake, Heal} <= {type(choice) for choice in simulator.executed}
    assert sum(map(len, received.values())) > 100
    for at, messages in received.items():
        assert messages == sent[at][: len(messages)]


@pytest.mark.parametrize("seed", range(3))
def test_a_fork_in_the_middle_of_faults_has_them_too(seed: int) -> None:
    simulator = Simulator(PROTOCOLS["zab"], 3, lambda _: None)
    walk = Walk(simulator, seed, {**DEFAULT_FAULTS, Hold: 30, Stall: 30, Pause: 30})
    while not (simulator.holds and simulator.paused and set(simulator.obstructed()) - {*simulator.holds}):
        walk.step()
    twin = simulator.fork(lambda _: None)
    before = (simulator.waiting(), simulator.closed(), simulator.obstructed(), sorted(simulator.paused))
    assert (twin.waiting(), twin.closed(), twin.obstructed(), sorted(twin.paused)) == before
    twin.execute(Heal())
    for process in twin.ids:
        twin.execute(Wake(process))
    assert (simulator.waiting(), simulator.closed(), simulator.obstructed(), sorted(simulator.paused)) == before
    assert not twin.disturbed


@pytest.mark.parametrize("seed", range(5))
def test_channels_keep_their_promises_on_a_random_walk(seed: int) -> None:
    """Each message is sent before it is handled or lost, once; in order; and in the connection it was sent on."""
    events: list[Event] = []
    walk = Walk(Simulator(PROTOCOLS["zab"], 4, events.append, network=True), seed)
    for _ in range(2000):
        walk.step()
    sent: dict[int, tuple[int, Send]] = {}
    over: set[int] = set()
    last: dict[tuple[int, int], int] = {}
    elected: dict[int, tuple[int, int]] = {}  # process -> the leader that its oracle named, and when
    for index, event in enumerate(events):
        match event:
            case invariants.Elect():
                elected[event.process] = event.leader, index
            case Send():
                sent[event.message] = index, event
            case Drop():
                assert event.message in sent
                assert event.message not in over
                over.add(event.message)
            case invariants.Receive():
                assert event.message not in over
                over.add(event.message)
                at, message = sent[event.message]
                link = message.process, message.to
                assert link == (event.sender, event.process)
                assert last.get(link, 0) < event.message
                last[link] = event.message
                for follower, other in (link, link[::-1]):
                    leader, opened = elected.get(follower, (0, 0))
                    assert leader != other or at > opened or elected[other][0] == follower
    assert len(over) > 100
