"""A follower that keeps its connection to the leader before, where a protocol says so."""

import pytest

from tests.simulation.chatter import LOYAL, Chat, connected, dropped
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Cut,
    Elect,
    Heal,
    Hold,
    Notice,
    Receive,
    Reset,
    Stall,
    Sync,
    Timeout,
)


def with_two_leaders() -> Chat:
    """Process 2 followed 1, and has opened a connection to 3, which leads as well; the one to 1 it kept."""
    chat = connected(2, protocol=LOYAL)
    chat.do(Elect(3, 3), Elect(2, 3))
    chat.say(2, 3, "hello")
    assert chat.receive_all(3, 2) == ["hello"]
    return chat


def test_a_connection_that_is_kept_goes_on_both_ways() -> None:
    chat = with_two_leaders()
    chat.say(1, 2, "a", "b")
    chat.say(3, 2, "x")
    assert sorted(chat.simulator.waiting()) == [(2, 1, 2), (2, 3, 1)]
    assert chat.simulator.closed() == []
    assert chat.receive_all(2, 3) == ["x"]
    assert chat.receive_all(2, 1) == ["a", "b"]
    chat.say(2, 1, "still here")
    chat.say(2, 3, "and here")
    assert chat.receive_all(1, 2) == ["still here"]
    assert chat.receive_all(3, 2) == ["and here"]


def test_what_is_under_way_on_a_connection_that_is_kept_is_not_lost() -> None:
    chat = connected(2, protocol=LOYAL)
    chat.say(1, 2, "down")
    chat.say(2, 1, "up")
    chat.do(Elect(3, 3), Elect(2, 3))
    assert dropped(chat) == []
    assert (chat.receive_all(2, 1), chat.receive_all(1, 2)) == (["down"], ["up"])


def test_what_waits_for_the_disk_is_not_sent_on_a_connection_that_is_kept() -> None:
    """It was the answer of an iteration that is over."""
    chat = connected(2, protocol=LOYAL)
    chat.say(2, 1, "late", disk=True)
    chat.do(Elect(3, 3), Elect(2, 3), Sync(2))
    assert chat.receive_all(1, 2) == []


@pytest.mark.parametrize("fault", [Cut(1, 2), Stall(1, 2), Hold(1, 2, "SAY")])
def test_what_stands_in_the_way_of_a_connection_that_is_kept_can_be_repaired(fault: Choice) -> None:
    chat = with_two_leaders()
    chat.say(1, 2, "a")
    chat.say(3, 2, "x")
    assert chat.do(fault, Receive(2, 1)) == [True, False]
    assert chat.simulator.waiting() == [(2, 3, 1)]
    chat.do(Heal())
    assert chat.receive_all(2, 1) == ["a"]


@pytest.mark.parametrize("over", [[Elect(1, 1)], [Timeout(1)], [Crash(1)], [Reset(1, 2)]])
def test_the_end_of_a_connection_that_is_kept_is_noticed(over: list[Choice]) -> None:
    """It changes nothing at a follower that has another leader now."""
    chat = with_two_leaders()
    chat.do(*over)
    assert (2, 1) in chat.simulator.closed()
    assert chat.do(Notice(2, 1), Notice(2, 1)) == [True, False]
    assert (2, 1) not in chat.simulator.closed()
    chat.say(2, 3, "fine")
    assert chat.receive_all(3, 2) == ["fine"]


@pytest.mark.parametrize("over", [Timeout(2), Crash(2), Elect(2, 2)])
def test_letting_go_of_everything_lets_go_of_what_was_kept(over: Choice) -> None:
    chat = with_two_leaders()
    chat.do(over)
    assert chat.simulator.closed() == [(1, 2), (3, 2)]
    chat.say(1, 2, "nobody listens")
    assert chat.simulator.waiting() == []


def test_a_new_connection_to_a_former_leader_replaces_the_one_that_was_kept() -> None:
    chat = with_two_leaders()
    chat.say(1, 2, "old")
    chat.do(Elect(2, 1))
    chat.say(2, 1, "new")
    assert len(dropped(chat)) == 1
    assert chat.receive_all(2, 1) == []
    assert chat.receive_all(1, 2) == ["new"]
    chat.say(1, 2, "welcome back")
    chat.say(3, 2, "I am still there")
    assert (chat.receive_all(2, 1), chat.receive_all(2, 3)) == (["welcome back"], ["I am still there"])


def test_a_fork_keeps_what_was_kept() -> None:
    chat = with_two_leaders()
    chat.say(1, 2, "a")
    twin = chat.simulator.fork(lambda _: None)
    assert twin.waiting() == chat.simulator.waiting() == [(2, 1, 1)]
    assert twin.execute(Receive(2, 1)) == 1
    assert chat.simulator.waiting() == [(2, 1, 1)]


def test_a_leader_that_follows_another_keeps_no_follower() -> None:
    chat = connected(2, protocol=LOYAL)
    chat.do(Elect(3, 3), Elect(1, 3))
    assert chat.simulator.closed() == [(2, 1)]
