"""Messages that overtake others, where a protocol says that its channels do not keep the order."""

import invariants
from tests.simulation.chatter import RUSHED, connected, dropped
from zabcheck.simulation.choices import Cut, Heal, Hold, Overtake, Pause, Wake


def test_the_last_message_of_a_link_overtakes_all_before_it() -> None:
    chat = connected(2, protocol=RUSHED)
    chat.say(2, 1, "a", "b", "c")
    chat.say(1, 2, "x", "y")
    assert chat.do(Overtake(2, 1)) == [True]
    assert sorted(chat.simulator.waiting()) == [(1, 2, 3), (2, 1, 2)]
    assert chat.receive_all(1, 2) == ["c", "a", "b"]
    assert chat.receive_all(2, 1) == ["x", "y"]
    assert dropped(chat) == []


def test_any_order_can_be_made_by_overtaking() -> None:
    chat = connected(2, protocol=RUSHED)
    chat.say(1, 2, "a", "b")
    chat.do(Overtake(1, 2))
    chat.say(1, 2, "c")
    chat.do(Overtake(1, 2))
    assert chat.receive_all(2, 1) == ["c", "b", "a"]


def test_only_where_several_messages_wait_one_can_overtake() -> None:
    chat = connected(2, protocol=RUSHED)
    assert chat.do(Overtake(2, 1), Overtake(2, 3), Overtake(1, 1)) == [False] * 3
    chat.say(2, 1, "alone")
    assert chat.do(Overtake(2, 1)) == [False]
    chat.say(2, 1, "with another")
    assert chat.do(Overtake(1, 2), Overtake(2, 1)) == [False, True]


def test_messages_may_overtake_while_the_link_is_cut_and_nothing_wakes_up_for_it() -> None:
    chat = connected(2, protocol=RUSHED)
    chat.say(2, 1, "a", "b")
    assert chat.do(Cut(2, 1), Pause(1), Pause(2), Overtake(2, 1)) == [True] * 4
    assert chat.simulator.waiting() == []
    chat.do(Heal(), Wake(1))
    assert chat.receive_all(1, 2) == ["b", "a"]


def test_what_a_link_holds_holds_what_it_overtook() -> None:
    chat = connected(2, protocol=RUSHED)
    chat.say(2, 1, "a", "b?")
    chat.do(Hold(2, 1, "ASK"))
    assert chat.simulator.waiting() == [(1, 2, 1)]
    chat.do(Overtake(2, 1))
    assert chat.simulator.waiting() == []


def test_nothing_overtakes_where_channels_keep_the_order() -> None:
    chat = connected(2)
    chat.say(2, 1, "a", "b")
    assert chat.do(Overtake(2, 1)) == [False]
    assert chat.receive_all(1, 2) == ["a", "b"]


def test_overtaking_is_shown() -> None:
    chat = connected(2, protocol=RUSHED)
    chat.say(2, 1, "a", "b")
    chat.events.clear()
    chat.do(Overtake(2, 1), Overtake(1, 2))
    assert chat.events == [invariants.Overtake(2, 1)]
