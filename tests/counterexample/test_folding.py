"""The events of a broadcast of many transactions as few rows: causes stand above effects, no arrow points upwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from invariants import Broadcast, Crash, Deliver, Event, Hold, Local, Receive, Send, Txn, Zxid
from tests.counterexample.pages import told
from tests.invariants.builders import whole
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.story import Flight, Story
from zabcheck.zookeeper.trace.observe import observe

RECORDINGS = Path(__file__).parents[1] / "zookeeper"


def folded(*events: Event) -> Story:
    return told(whole(events, processes=3), folded=True)


def rows(story: Story) -> list[str]:
    """Return the text of each row: "p1 delivers …"."""
    return [
        f"p{moment.process} " + "; ".join([moment.action, *(text for text, _ in moment.sent)]).strip("; ")
        for moment in story.moments
    ]


def arrows(story: Story) -> list[str]:
    return [f"{each.sent}>{each.received} p{each.sender}>p{each.to} {each.name}" for each in story.flights]


def txn(counter: int) -> Txn:
    return Txn(Zxid(1, counter), "v")


def broadcasts(counters: range, *, followers: tuple[int, ...] = (2,), first: int = 0) -> Iterator[Event]:
    """Each transaction on its whole way, one after the other. Message numbers begin behind `first`."""
    number = first
    for counter in counters:
        about = txn(counter)
        yield Broadcast(1, 0, 1, about)
        for follower in followers:
            number += 1
            yield Send(1, 0, follower, number, "PROPOSAL", str(about))
            yield Receive(follower, 0, 1, number)
            number += 1
            yield Send(follower, 0, 1, number, "ACK", str(about.zxid))
            yield Receive(1, 0, follower, number)
        yield Deliver(1, 0, about)


def test_messages_of_a_broadcast_share_a_row_and_an_arrow() -> None:
    found = folded(*broadcasts(range(1, 101)))
    assert rows(found) == [
        "p1 broadcasts 100 transactions, ⟨1,1⟩ to ⟨1,100⟩",
        "p1 → p2 100 PROPOSAL, v⟨1,1⟩ to v⟨1,100⟩",
        "p2 ← p1 100 PROPOSAL, v⟨1,1⟩ to v⟨1,100⟩",
        "p2 → p1 100 ACK, ⟨1,1⟩ to ⟨1,100⟩",
        "p1 ← p2 100 ACK, ⟨1,1⟩ to ⟨1,100⟩",
        "p1 delivers 100 transactions, ⟨1,1⟩ to ⟨1,100⟩",
    ]
    assert arrows(found) == [
        "3>4 p1>p2 PROPOSAL(v⟨1,1⟩ to v⟨1,100⟩, 100 of them)",
        "5>6 p2>p1 ACK(⟨1,1⟩ to ⟨1,100⟩, 100 of them)",
    ]
    for text in (to_text(found, 100), page(found)):
        assert "100 PROPOSAL" in text


def test_messages_to_each_receiver_are_rows_of_their_own() -> None:
    found = rows(folded(*broadcasts(range(1, 4), followers=(2, 3))))
    assert found[1:3] == ["p1 → p2 3 PROPOSAL, v⟨1,1⟩ to v⟨1,3⟩", "p2 ← p1 3 PROPOSAL, v⟨1,1⟩ to v⟨1,3⟩"]
    assert "p1 → p3 3 PROPOSAL, v⟨1,1⟩ to v⟨1,3⟩" in found


def test_two_of_a_kind_are_told_one_by_one() -> None:
    found = folded(*broadcasts(range(1, 3)))
    assert len(found.flights) == 4
    assert not [row for row in rows(found) if "transactions" in row or " 2 " in row]


def test_other_messages_and_what_is_done_to_links_end_the_work() -> None:
    found = folded(
        *broadcasts(range(1, 4)),
        Hold(1, 2, "PROPOSAL"),
        *broadcasts(range(4, 7), first=100),
        Send(2, 0, 3, 999, "NEWLEADER", "1"),
        *broadcasts(range(7, 10), first=200),
        Receive(3, 0, 2, 999),
    )
    assert [row for row in rows(found) if "broadcasts" in row or "NEWLEADER" in row or "holds" in row] == [
        "p1 broadcasts 3 transactions, ⟨1,1⟩ to ⟨1,3⟩",
        "pNone holds PROPOSAL p1 → p2",
        "p1 broadcasts 3 transactions, ⟨1,4⟩ to ⟨1,6⟩",
        "p2 NEWLEADER(1)",
        "p1 broadcasts 3 transactions, ⟨1,7⟩ to ⟨1,9⟩",
        "p3 ← p2 NEWLEADER(1)",
    ]


def test_a_row_that_sends_much_is_taken_apart() -> None:
    """A leader that brings a follower up to date sends all of it at once."""
    texts = [("DIFF", "⟨1,4⟩"), *(("PROPOSAL", str(txn(n))) for n in range(1, 5)), ("NEWLEADER", "2")]
    sent = [Send(1, 0, 2, number, *text) for number, text in enumerate(texts)]
    received = [Receive(2, 0, 1, each.message) for each in sent]
    assert rows(folded(*sent, *received)) == [
        "p1 DIFF(⟨1,4⟩)",
        "p1 → p2 4 PROPOSAL, v⟨1,1⟩ to v⟨1,4⟩",
        "p1 NEWLEADER(2)",
        "p2 ← p1 DIFF(⟨1,4⟩)",
        "p2 ← p1 4 PROPOSAL, v⟨1,1⟩ to v⟨1,4⟩",
        "p2 ← p1 NEWLEADER(2)",
    ]


def test_what_arrives_before_the_rest_was_sent_does_not_take_the_rest_with_it() -> None:
    """An acknowledgement of something older is in the same row only if no arrow would point upwards."""
    older = [Send(2, 0, 1, 900, "ACK", "⟨1,0⟩"), Receive(1, 0, 2, 900)]
    found = folded(*older, *broadcasts(range(1, 5)))
    assert rows(found)[:2] == ["p2 ACK(⟨1,0⟩)", "p1 ← p2 ACK(⟨1,0⟩)"]
    assert "7>8 p2>p1 ACK(⟨1,1⟩ to ⟨1,4⟩, 4 of them)" in arrows(found)


def test_what_is_delivered_of_an_initial_history_is_not_in_a_row_with_what_is_broadcast_later() -> None:
    initial, later = ([Deliver(3, 0, txn(counter)) for counter in counters] for counters in (range(1, 4), range(4, 7)))
    found = folded(
        *broadcasts(range(1, 4)), Crash(2, 0), *initial, *broadcasts(range(4, 7), followers=(3,), first=100), *later
    )
    assert [row for row in rows(found) if "p3 delivers" in row] == [
        "p3 delivers 3 transactions, ⟨1,1⟩ to ⟨1,3⟩",
        "p3 delivers 3 transactions, ⟨1,4⟩ to ⟨1,6⟩",
    ]


def test_messages_that_never_arrive_share_an_arrow_too() -> None:
    sent = [Send(1, 0, 2, number, "PROPOSAL", f"v{number}") for number in range(1, 6)]
    found = folded(*sent, Crash(2, 0))
    assert found.flights == (Flight(1, 1, 2, "PROPOSAL", "v1 to v5, 5 of them", 2),)


def test_where_nothing_is_folded_each_message_is_told() -> None:
    sent = [Send(1, 0, 2, number, "PROPOSAL", str(txn(number))) for number in range(1, 6)]
    assert len(told(whole([*sent, Crash(2, 0)], processes=3)).flights) == 5


@pytest.mark.parametrize("name", ["healthy-3.8.0", "lost-write-3.8.0"])
def test_in_a_real_run_nothing_is_lost_and_no_arrow_points_upwards(name: str) -> None:
    observation = observe(RECORDINGS / name)
    found = told(list(observation.trace()), folded=True)
    events = observation.events
    received = [event.message for event in events if isinstance(event, Receive)]
    arrived = 0
    for flight in found.flights:
        times = int(flight.text.rpartition(", ")[2].split()[0]) if flight.text.endswith(" of them") else 1
        if flight.received is not None:
            assert flight.sent is not None
            assert flight.sent < flight.received
            arrived += times
    assert arrived == len(received)
    steps = [moment.step for moment in found.moments]
    assert steps == sorted({*steps})
    assert len(steps) < len(events) / 2
    for process in range(1, found.processes + 1):
        own = [event for event in events if isinstance(event, Local) and event.process == process]
        assert any(moment.process == process for moment in found.moments) == bool(own)
