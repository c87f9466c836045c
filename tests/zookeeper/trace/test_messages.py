"""Messages and faults of a recording in its trace: each message once, sent before it is received, and what broke it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from invariants import Crash, Cut, Deliver, Drop, Event, Heal, Hold, Mend, Pause, Receive, Send, Wake
from invariants.events import ClientAck
from tests.zookeeper.recordings import Recording, create, zxid
from zabcheck.zookeeper.recording.records import Fault, Lost, Paused, Resumed
from zabcheck.zookeeper.trace.messages import Network
from zabcheck.zookeeper.trace.observe import ObservedRun, observe
from zabcheck.zookeeper.trace.sources import Intervention

HEALTHY = Path(__file__).parents[1] / "healthy-3.8.0"
A, B = (create(zxid(1, number), 1, number) for number in (1, 2))


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def messages(observation: ObservedRun, one: int, other: int) -> list[str]:
    """Return the messages between two servers: "3>1 NEWLEADER(1)"."""
    return [
        f"{event.process}>{event.to} {event.kind}({event.text})"
        for event in observation.events
        if isinstance(event, Send) and {event.process, event.to} == {one, other}
    ]


def test_the_messages_of_a_synchronisation_and_a_broadcast_are_told_in_the_words_of_the_paper(
    recording: Recording,
) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.end(1, 2, 3)
    found = observe(recording.folder)
    assert messages(found, 1, 3) == [
        "1>3 FOLLOWERINFO(0)",
        "3>1 LEADERINFO(1)",
        "1>3 ACKEPOCH(0, ⟨0,0⟩)",
        "3>1 DIFF(⟨0,0⟩)",
        "3>1 NEWLEADER(1)",
        "1>3 ACK-LD(1)",
        "3>1 UPTODATE()",
        "1>3 ACK(⟨1,0⟩)",
        "3>1 PROPOSAL(c1.1⟨1,1⟩)",
        "1>3 ACK(⟨1,1⟩)",
        "3>1 COMMIT(⟨1,1⟩)",
    ]


def test_a_server_that_rejoins_an_epoch_that_it_promised_does_not_count_and_tells_no_current_epoch(
    recording: Recording,
) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.packet(2, 3, "ACKEPOCH", zxid(1, 0), epoch=-1)
    recording.end(1, 2, 3)
    assert messages(observe(recording.folder), 2, 3)[-1] == "2>3 ACKEPOCH(⟨1,0⟩)"


def test_what_is_no_step_of_zab_is_not_told(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    before = messages_of(recording)
    recording.packet(3, 1, "PING", zxid(1, 0))
    recording.packet(1, 3, "REQUEST", 0, txn=A)
    recording.packet(1, 3, "REVALIDATE", 0)
    assert messages_of(recording) == before


def messages_of(recording: Recording) -> list[str]:
    return messages(observe(recording.folder), 1, 3)


def assert_each_is_received_after_it_is_sent(events: tuple[Event, ...]) -> int:
    """Return the number of events that are received."""
    under_way: dict[int, Send] = {}
    received = 0
    for event in events:
        if isinstance(event, Send):
            assert event.message not in under_way, "each is sent once"
            under_way[event.message] = event
        elif isinstance(event, Receive):
            sent = under_way[event.message]
            assert (sent.process, sent.to) == (event.sender, event.process)
            received += 1
    return received


@pytest.mark.parametrize("step", [1000, 100, 7])
def test_no_message_is_received_before_it_is_sent(recording: Recording, step: int) -> None:
    """The lines of a log, with their milliseconds, may push an answer behind its receipt."""
    recording.step = step
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.write(3, [1, 2], A, 1)
    recording.end(1, 2, 3)
    assert assert_each_is_received_after_it_is_sent(observe(recording.folder).events) == 22


def test_in_a_real_run_each_message_is_received_after_it_is_sent_and_before_the_delivery_that_it_leads_to() -> None:
    events = observe(HEALTHY).events
    assert assert_each_is_received_after_it_is_sent(events) > 100
    about = {
        event.message: event.text for event in events if isinstance(event, Send) and event.kind in ("ACK", "COMMIT")
    }
    learned: dict[tuple[int, str], int] = {}
    delivered: dict[tuple[int, str], int] = {}
    for number, event in enumerate(events):
        if isinstance(event, Receive) and event.message in about:
            learned.setdefault((event.process, about[event.message]), number)
        elif isinstance(event, Deliver):
            delivered.setdefault((event.process, str(event.txn.zxid)), number)
    both = learned.keys() & delivered.keys()
    assert len(both) > 30
    assert all(learned[each] < delivered[each] for each in both)


def test_a_delivery_comes_behind_the_commit_of_the_same_millisecond(recording: Recording) -> None:
    """The time of a line is cut: that of a delivery, to before the packet that led to it."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.time += 1000 - recording.time % 1000  # all of the write is in one millisecond
    recording.step = 30
    recording.write(3, [1, 2], A, 1)
    recording.step = 1000
    recording.end(1, 2, 3)
    events = observe(recording.folder).events
    for server, kind in ((3, "ACK"), (1, "COMMIT"), (2, "COMMIT")):
        sent = {event.message for event in events if isinstance(event, Send) and event.kind == kind}
        own = [event for event in events if getattr(event, "process", 0) == server]
        delivered = next(i for i, event in enumerate(own) if isinstance(event, Deliver))
        reason = [event for event in own[:delivered] if isinstance(event, Receive) and event.message in sent]
        assert reason, f"server {server} delivers before it has {kind}"
    acknowledged = next(i for i, event in enumerate(events) if isinstance(event, ClientAck))
    assert any(isinstance(event, Deliver) and event.process == 1 for event in events[:acknowledged])


def test_a_message_whose_connection_is_closed_is_lost(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.propose(3, A)
    recording.proposal(3, 1, A, passed=False)
    number = recording._packet
    recording.kill(3)
    recording.record.record(Lost(recording.tick(), number))
    recording.end(1, 2)
    events = [event for event in observe(recording.folder).events if isinstance(event, Send | Drop | Crash)]
    sent = next(event for event in events if isinstance(event, Send) and event.kind == "PROPOSAL")
    assert events[events.index(sent) :][:3] == [sent, Crash(3, 0), Drop(sent.message)]


def test_what_was_answered_is_not_lost(recording: Recording) -> None:
    """The connection was closed before it was written down that the packet was passed on."""
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    recording.propose(3, A)
    recording.proposal(3, 1, A, passed=False)
    number = recording._packet
    recording.packet(1, 3, "ACK", A.zxid)
    recording.record.record(Lost(recording.tick(), number))
    recording.end(1, 2, 3)
    events = observe(recording.folder).events
    assert [type(event) for event in events if getattr(event, "message", 0) == number] == [Send, Receive]


def test_what_was_done_to_network_and_servers_has_its_place(recording: Recording) -> None:
    recording.start(1, 2, 3)
    recording.lead(3, [1, 2], 1)
    for record in (
        Fault(recording.tick(), "hold", 3, 1, "PROPOSAL"),
        Paused(recording.tick(), 2),
        Fault(recording.tick(), "release", 3, 1),
        Resumed(recording.tick(), 2),
    ):
        recording.record.record(record)
    recording.end(1, 2, 3)
    found = observe(recording.folder)
    pairs = zip(found.events, found.sources, strict=True)
    assert [pair for pair in pairs if isinstance(pair[0], Hold | Mend | Pause | Wake)] == [
        (Hold(3, 1, "PROPOSAL"), Intervention(by_proxy=True)),
        (Pause(2, 0), Intervention()),
        (Mend(3, 1), Intervention(by_proxy=True)),
        (Wake(2, 0), Intervention()),
    ]


def events(*faults: tuple[str, int, int]) -> Iterator[Event]:
    network = Network({1: 0, 2: 0}.__getitem__)
    for what, sender, receiver in faults:
        event = network.event(Fault(0, what, sender, receiver, "ACK"))
        if event is not None:
            yield event


def test_a_link_is_mended_when_it_is_neither_cut_nor_held() -> None:
    assert list(events(("cut", 1, 2), ("hold", 1, 2), ("mend", 1, 2), ("release", 1, 2))) == [
        Cut(1, 2),
        Hold(1, 2, "ACK"),
        Mend(1, 2),
    ]
    assert list(events(("mend", 1, 2), ("release", 2, 1), ("trap", 1, 2), ("delay", 1, 2), ("reset", 1, 2))) == []


def test_healing_is_told_if_something_was_broken() -> None:
    assert list(events(("heal", 0, 0))) == []
    assert list(events(("hold", 1, 2), ("heal", 0, 0), ("heal", 0, 0), ("mend", 1, 2))) == [Hold(1, 2, "ACK"), Heal()]
