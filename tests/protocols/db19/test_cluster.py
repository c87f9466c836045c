"""The lab's clock, heap, schedule and dump; and the same dumps as a reference of their own gives."""

import struct
from hashlib import sha256

import pytest

from invariants import Broadcast, Deliver, Event, Local, Receive, Send, Zxid
from tests.protocols.db19.configurations import dump_of, run, setting
from tests.protocols.db19.reference import reference
from zabcheck.protocols.db19.cluster import BITS, Cluster, Proposals, Setting, splitmix64
from zabcheck.protocols.db19.node import Role


def test_the_mixing_function_has_the_labs_constants() -> None:
    """The values are those of a program in C, whose integers wrap."""
    assert splitmix64(0) == 0x8B57DAFCA0CEE644
    assert splitmix64(1) == 0x7FB97677C699F0C6
    assert splitmix64(BITS) == 0x0F0D3494B255436E


def same(case: int) -> bool:
    which = setting(case)
    return dump_of(which) == reference(
        which.seed, which.nodes, which.rounds, which.proposals, [tuple(link) for link in which.partition]
    )


def test_dumps_are_those_of_the_reference() -> None:
    assert [case for case in range(150) if not same(case)] == []


@pytest.mark.slow
def test_many_dumps_are_those_of_the_reference() -> None:
    assert [case for case in range(150, 700) if not same(case)] == []


def test_the_dump_byte_by_byte() -> None:
    """One node: it leads from the start and commits what it proposes."""
    cluster, _ = run(Setting(7, 1, 10, 2))
    expected = b"DSEZAB01" + struct.pack("<I", 1)
    expected += struct.pack("<I", 0) + b"\x02"  # id, Leading
    expected += struct.pack("<IIIIII", 1, 1, 1, 2, 1, 2)  # epochs, last zxid, last committed
    expected += struct.pack("<I", 2)
    expected += struct.pack("<III", 1, 1, 5) + b"zab-0" + struct.pack("<III", 1, 2, 5) + b"zab-1"
    assert b"".join(cluster.dump()) == expected
    assert cluster.digest() == sha256(expected).hexdigest()


def test_a_node_that_never_found_a_leader_is_looking_in_the_dump() -> None:
    dump = dump_of(Setting(1, 2, 5, 3, ((0, 1), (1, 0))))
    assert dump == b"DSEZAB01" + struct.pack("<I", 2) + b"".join(
        struct.pack("<IBIIIIIII", node, 0, 0, 0, 0, 0, 0, 0, 0) for node in (0, 1)
    )


def test_proposals_are_spread_evenly_and_wait_until_they_are_taken() -> None:
    proposals = Proposals(10, 3)
    assert [proposals.tick_of(number) for number in range(3)] == [2, 5, 7]
    for t in range(6):
        proposals.enqueue(t)
    assert [proposals.take(), proposals.pending, proposals.take(), proposals.pending] == ["zab-0", True, "zab-1", False]


def test_several_are_due_in_one_tick_if_there_are_more_than_ticks() -> None:
    proposals = Proposals(2, 5)
    proposals.enqueue(0)
    assert (proposals.due, proposals.next) == (2, 1)


def test_what_overflows_is_cut_off() -> None:
    """(i+1) × 2^63 is 2^63, 0, 2^63 in 64 bits."""
    proposals = Proposals(2**63, 3)
    assert [proposals.tick_of(number) for number in range(3)] == [2**61, 0, 2**61]
    proposals.enqueue(0)
    assert (proposals.take(), proposals.pending, proposals.next) == ("zab-1", False, 2**61)


def test_a_client_asks_the_synced_leader_with_the_lowest_id() -> None:
    events: list[Event] = []
    cluster = Cluster(Setting(1, 4, 4, 3), events.append)
    for node, synced in zip(cluster.nodes, (False, False, True, True), strict=True):
        node.role, node.leader_id, node.synced = Role.LEADING, node.id, synced
    events.clear()
    cluster.tick(1)
    assert [event.process for event in events if isinstance(event, Broadcast)] == [3]


def test_ticks_in_which_nothing_happens_are_left_out() -> None:
    """A node alone has a heartbeat each 50 ticks, which it sends to nobody."""
    cluster = Cluster(Setting(1, 1, 10**6, 0), lambda _: None)
    assert list(cluster.ticks()) == list(range(0, 10**6, 50))


def test_a_message_takes_one_to_three_ticks_and_none_arrives_that_the_partition_drops() -> None:
    cut = ((0, 1), (2, 1), (1, 0))
    cluster, events = run(Setting(3, 3, 400, 5, cut), network=True)
    sent = {event.message: event for event in events if isinstance(event, Send)}
    received = {event.message: event for event in events if isinstance(event, Receive)}
    assert list(sent) == list(range(cluster.messages))
    assert {(event.process - 1, event.to - 1) for event in sent.values()} == {(0, 2), (1, 2), (2, 0)}
    assert all(event.sender == sent[number].process for number, event in received.items())
    assert len(sent) - len(received) < 20, "only what was sent in the last ticks is under way"


def test_events_are_of_the_first_incarnation_and_deliver_what_is_committed() -> None:
    cluster, events = run(Setting(1, 3, 500, 20))
    assert all(event.incarnation == 1 for event in events if isinstance(event, Local))
    for node in cluster.nodes:
        delivered = [event.txn for event in events if isinstance(event, Deliver) and event.process == node.id]
        assert delivered == node.history.between(Zxid(0, 0), node.last_committed)
