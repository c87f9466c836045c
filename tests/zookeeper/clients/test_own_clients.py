"""Histories of clients of one's own that look wrong, and are not: what they leave out, or give up, proves nothing."""

from collections.abc import Callable

import pytest

from tests.zookeeper.clients.histories import History, stat
from zabcheck.zookeeper.clients.history import ClientMessage, Request
from zabcheck.zookeeper.clients.orders import given_up_in


def a_client_gave_up_before_it_was_answered() -> History:
    h = History()
    c1 = h.client(1)
    first, second = (c1.ask("setData", "/a", data=data) for data in "xy")
    c1.answer(second, error="RequestTimeout")
    c1.answer(first, 5, stat=stat(2, 5, version=1))
    return h


def sessions_are_not_told() -> History:
    h = History(complete=(), initial="unknown", clock="none")
    for number, zxid in ((1, 9), (2, 8), (3, 7)):
        client = h.client(number)
        h.lines.pop()
        client.set(f"/{number}", zxid, "x", stat(2, zxid, version=1))
        client.exists(f"/{number}", zxid, stat(2, zxid, version=1))
    return h


def a_number_that_somebody_told_of_was_used_again() -> History:
    h = History(complete=(), initial="unknown", clock="none")
    c1, c2 = h.client(1), h.client(2)
    c1.set("/a", 5, "x", stat(2, 5, version=1))
    h.add(ClientMessage(from_=1, to=2, after=1, before=1))
    c2.set("/b", 6, "x", stat(3, 6, version=1))
    c1.again(seen=5)
    c1.xid = 0
    c1.set("/a", 9, "y", stat(2, 9, version=2))
    return h


def given_up(**header: object) -> History:
    """Somebody reads what a client had given up, written after a later write of it."""
    h = History(initial="unknown", **header)
    c1 = h.client(1)
    c1.ask("setData", "/a", data="x")
    c1.again()
    c1.set("/b", 8, "y", stat(2, 8, version=1))
    h.client(2).get("/a", 10, "x", stat(3, 10, version=5))
    return h


def somebody_else_may_have_written_what_was_given_up() -> History:
    return given_up(complete=(), values="any")


def a_ping_is_sent_while_another_waits() -> History:
    h = History()
    c1 = h.client(1)
    for _ in range(3):
        c1.add(Request, xid=-2, op="ping")
    for zxid in (3, 4, 5):
        c1.answer(-2, zxid)
    return h


def a_session_expires_after_a_request_that_did_not_arrive() -> History:
    h = History()
    c1 = h.client(1)
    c1.exists("/a", 3)
    h.now(10**10)
    c1.answer(c1.ask("exists", "/a"), error="ConnectionLoss")
    c1.again(given="0x0")
    return h


def watched(*requests: tuple[str, str, str], is_told: bool) -> History:
    """A node is watched, by requests with these outcomes, and changes."""
    h = History()
    c1, c2 = h.client(1), h.client(2)
    c1.create("/a", 2)
    for op, watch, error in requests:
        c1.answer(c1.ask(op, "/a", watch=watch), 0 if error else 3, error)
    c2.set("/a", 5, "x", stat(2, 5, version=1))
    if is_told:
        c1.event("DataChanged", "/a", 5)
    c1.get("/a", 6, "x", stat(2, 5, version=1))
    return h


def a_watch_that_was_given_up_fires() -> History:
    return watched(("addWatch", "persistent", "OperationTimeout"), is_told=True)


def a_watch_that_was_given_up_is_removed() -> History:
    return watched(("addWatch", "persistent", "OperationTimeout"), ("removeWatches", "any", ""), is_told=False)


def a_watch_whose_removal_was_given_up_is_silent() -> History:
    return watched(
        ("addWatch", "persistent", ""),
        ("removeWatches", "any", "OperationTimeout"),
        ("removeWatches", "any", "NoWatcher"),
        is_told=False,
    )


RIGHT = (
    a_ping_is_sent_while_another_waits,
    a_session_expires_after_a_request_that_did_not_arrive,
    a_watch_that_was_given_up_fires,
    a_watch_that_was_given_up_is_removed,
    a_watch_whose_removal_was_given_up_is_silent,
    a_client_gave_up_before_it_was_answered,
    sessions_are_not_told,
    a_number_that_somebody_told_of_was_used_again,
    somebody_else_may_have_written_what_was_given_up,
)


@pytest.mark.parametrize("write", RIGHT)
def test_what_proves_nothing_is_no_violation(write: Callable[[], History]) -> None:
    assert write().broken() == set()


@pytest.mark.parametrize("header", [{"values": "unique", "complete": ()}, {"values": "any", "complete": ("/a",)}])
def test_what_was_given_up_comes_late_if_nobody_else_can_have_written_it(header: dict[str, object]) -> None:
    assert given_up(**header).broken() == {"writes in the order sent"}


def test_a_write_of_unknown_outcome_knows_what_its_connection_had_told() -> None:
    h = History()
    c1 = h.client(1)
    for zxid in (2, 4, 3):
        c1.exists("/b", zxid)
        c1.answer(c1.ask("setData", "/a", data="x"), error="OperationTimeout")
    c1.create("/b", 9)
    assert [each.least for each in given_up_in(h.exchange())] == [2, 4, 4]
