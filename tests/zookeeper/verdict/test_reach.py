"""The abstract states and the orders of packets of a run, in which it does not matter which server is which."""

import random
from collections.abc import Callable

from msgspec.structs import replace

from zabcheck.invariants.events import (
    Accept,
    Adopt,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    Promise,
    Ready,
    Recover,
    Txn,
    Zxid,
)
from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Sent
from zabcheck.zookeeper.verdict.reach import (
    ADOPTED,
    DOWN,
    ESTABLISHED,
    FOLLOWS,
    LEADS,
    LOOKING,
    PROMISED,
    orders_of,
    states_of,
)

NOTHING = (LOOKING, 0, 0, 0, 0)


def txn(counter: int) -> Txn:
    return Txn(Zxid(1, counter), str(counter))


def test_each_step_of_a_server_is_a_state() -> None:
    events: list[tuple[Event, tuple[int, ...]]] = [
        (Promise(1, 0, 1), (PROMISED, 1, 0, 0, 0)),
        (Adopt(1, 0, 1, Zxid(0, 0), 0, 0), (ADOPTED, 1, 1, 0, 0)),
        (Establish(1, 0, 1), (ESTABLISHED, 1, 1, 0, 0)),
        (Ready(1, 0, 1), (LEADS, 1, 1, 0, 0)),
        (Accept(1, 0, 1, txn(1)), (LEADS, 1, 1, 1, 0)),
        (CommitEpoch(1, 0, 1), (FOLLOWS, 1, 1, 1, 0)),
        (Deliver(1, 0, txn(1)), (FOLLOWS, 1, 1, 1, 1)),
        (Crash(1, 0), (DOWN, 1, 1, 1, 1)),
        (Recover(1, 1), (LOOKING, 1, 1, 1, 1)),
    ]
    for number, (_, state) in enumerate(events):
        done = [event for event, _ in events[: number + 1]]
        assert tuple(sorted([state, NOTHING, NOTHING])) in states_of(done, 3)
        assert len(states_of(done, 3)) == number + 1


def test_ranks_stand_for_zxids_however_far_apart_they_are() -> None:
    near, far = ([Accept(1, 0, 1, txn(1)), Accept(2, 0, 1, txn(last)), Accept(3, 0, 1, txn(1))] for last in (2, 900))
    assert states_of(near, 3) == states_of(far, 3)
    assert states_of([Accept(1, 0, 1, txn(1)), Accept(2, 0, 1, txn(1)), Accept(3, 0, 1, txn(1))], 3) != states_of(
        near, 3
    )


def test_it_does_not_matter_which_server_is_which() -> None:
    draw = random.Random(3)
    kinds: list[Callable[[int], Event]] = [
        lambda server: Promise(server, 0, draw.randrange(3)),
        lambda server: Accept(server, 0, 1, txn(draw.randrange(9))),
        lambda server: Ready(server, 0, 1),
    ]
    for _ in range(50):
        events = [draw.choice(kinds)(draw.randrange(1, 4)) for _ in range(20)]
        renamed = [replace(each, process=each.process % 3 + 1) for each in events]
        assert states_of(events, 3) == states_of(renamed, 3)


def sent(packet: int, connection: int, sender: int, receiver: int, kind: str) -> list[AnyRecord]:
    return [Sent(packet, packet, connection, sender, receiver, kind, 0), Passed(packet, packet)]


def test_orders_are_of_three_packets_at_a_server_and_of_no_ping() -> None:
    records = [
        *sent(1, 7, 1, 2, "PROPOSAL"),
        *sent(2, 7, 1, 2, "PING"),
        *sent(3, 7, 2, 1, "ACK"),
        *sent(4, 8, 1, 3, "COMMIT"),
    ]
    proposal, answer, commit = ("PROPOSAL", True, False), ("ACK", False, True), ("COMMIT", True, False)
    assert {each for each in orders_of(records) if each[0] == proposal} == {
        (proposal,),
        (proposal, answer),
        (proposal, answer, commit),
    }
    renamed = [*sent(1, 5, 3, 1, "PROPOSAL"), *sent(3, 5, 1, 3, "ACK"), *sent(4, 6, 3, 2, "COMMIT")]
    assert orders_of(records) == orders_of(renamed)


def test_a_packet_on_its_way_has_not_been_received() -> None:
    one, other = sent(1, 7, 1, 2, "PROPOSAL"), sent(2, 8, 3, 2, "FOLLOWERINFO")
    assert orders_of([one[0], other[0], one[1], other[1]]) != orders_of([one[0], other[0], other[1], one[1]])
