"""Servers with a clock: what happens when, worked out by hand to the nanosecond.

An operation of 1,024 bytes and a header of 60 take 8,672 ns on a gigabit card, a header 480 ns; half a ping is 50,000
ns, and to handle a message takes 1,000 ns.
"""

import pytest

from invariants import Accept, Broadcast, Chain, Deliver, Event, Ready, Txn, Zxid
from zabcheck.papers.evaluation.cluster import Cluster
from zabcheck.papers.evaluation.costs import Costs, Disk
from zabcheck.protocols.base import Message
from zabcheck.protocols.zab import KINDS, ZAB

OPERATION, HEADER, WAY, CPU = 8_672, 480, 50_000, 1_000
DISK = Disk("slow", 1_000_000, rate=10**8)
WRITTEN = 10_840
"""To write an operation and its header, ns."""


class Watched:
    """A cluster that server 1 leads, and each event since then with its time."""

    def __init__(self, servers: int, disk: Disk | None = None, costs: Costs | None = None) -> None:
        self.seen: list[tuple[int, Event]] = []
        self.sent: list[tuple[int, int, str]] = []
        self.cluster = Cluster(ZAB, servers, costs or Costs(), disk, self.show, on_send=self.on_send)
        self.cluster.elect(1, list(self.cluster.ids))
        self.cluster.run()
        assert any(isinstance(event, Ready) for _, event in self.seen)
        self.start = self.cluster.now
        self.syncs = list(self.cluster.syncs)
        self.seen.clear()
        self.sent.clear()

    def show(self, event: Event) -> None:
        self.seen.append((self.cluster.now if hasattr(self, "cluster") else 0, event))

    def on_send(self, sender: int, message: Message) -> None:
        self.sent.append((self.cluster.now - self.start if hasattr(self, "start") else 0, sender, KINDS[type(message)]))

    def times(self, kind: type[Event], process: int) -> list[int]:
        """Since the start."""
        return [time - self.start for time, event in self.seen if isinstance(event, kind) and event.process == process]


def test_one_operation_of_three_servers_takes_a_ping_and_the_cards() -> None:
    watched = Watched(3)
    watched.cluster.request(1, "a")
    watched.cluster.run()
    committed = OPERATION + WAY + CPU + HEADER + WAY + CPU
    assert committed == 111_152
    assert watched.times(Broadcast, 1) == watched.times(Accept, 1) == [0]
    assert watched.times(Accept, 2) == [OPERATION + WAY + CPU]
    assert watched.times(Accept, 3) == [2 * OPERATION + WAY + CPU]
    assert watched.times(Deliver, 1) == [committed]
    assert watched.times(Deliver, 2) == [committed + HEADER + WAY + CPU]
    assert watched.times(Deliver, 3) == [committed + 2 * HEADER + WAY + CPU]
    assert [kind for _, _, kind in watched.sent] == ["PROPOSE", "PROPOSE", "ACK", "ACK", "COMMIT", "COMMIT"]


def test_the_card_is_shared_by_all_that_it_sends() -> None:
    """With seven servers the third follower's ACK makes the quorum: three operations have to go out before."""
    watched = Watched(7)
    watched.cluster.request(1, "a")
    watched.cluster.run()
    assert watched.times(Deliver, 1) == [3 * OPERATION + WAY + CPU + HEADER + WAY + CPU]
    assert watched.times(Accept, 7) == [6 * OPERATION + WAY + CPU]


def test_an_operation_of_a_follower_takes_four_message_delays() -> None:
    watched = Watched(3)
    watched.cluster.forward(3, 1, "a")
    watched.cluster.run()
    asked = OPERATION + WAY + CPU
    committed = OPERATION + WAY + CPU + HEADER + WAY + CPU
    assert watched.times(Deliver, 3) == [asked + committed + 2 * HEADER + WAY + CPU] == [222_784]


def test_without_costs_only_the_ways_are_left() -> None:
    watched = Watched(3, costs=Costs(bandwidth=10**15, cpu=0))
    watched.cluster.forward(3, 1, "a")
    watched.cluster.run()
    [took] = watched.times(Deliver, 3)
    assert 4 * WAY <= took < 4 * WAY + 20


def test_what_comes_in_goes_through_one_card_too() -> None:
    """Two that send at the same time: the second is received when the first is."""
    watched = Watched(3)
    for follower in (2, 3):
        watched.cluster.forward(follower, 1, f"of {follower}")
    watched.cluster.run()
    assert watched.times(Broadcast, 1) == [OPERATION + WAY + CPU, 2 * OPERATION + WAY + CPU]


def test_a_disk_comes_on_top() -> None:
    """The followers sync at the same time as the leader, but for the way to them: theirs ends last."""
    watched = Watched(3, DISK)
    watched.cluster.request(1, "a")
    watched.cluster.run()
    sync = DISK.sync + WRITTEN
    assert watched.times(Accept, 1) == [sync]
    assert watched.times(Deliver, 1) == [OPERATION + WAY + CPU + sync + HEADER + WAY + CPU]


@pytest.mark.parametrize("waiting", [1, 9, 100])
def test_all_writes_that_wait_share_one_sync(waiting: int) -> None:
    watched = Watched(3, DISK)
    for number in range(1 + waiting):
        watched.cluster.request(1, f"v{number}")
    watched.cluster.run()
    first, *others = watched.times(Accept, 1)
    assert first == DISK.sync + WRITTEN
    assert others == [first + DISK.sync + waiting * WRITTEN] * waiting
    assert watched.cluster.syncs[1] - watched.syncs[1] == 2
    assert watched.cluster.synced_for(1) >= 2 * DISK.sync + (1 + waiting) * WRITTEN


def test_what_the_card_had_not_sent_is_lost_with_its_server() -> None:
    """The leader stops when half of its second message is out."""
    watched = Watched(3)
    watched.cluster.request(1, "a")
    watched.cluster.at(watched.start + OPERATION + OPERATION // 2, watched.cluster.crash, 1)
    watched.cluster.run()
    assert watched.times(Accept, 2) == [OPERATION + WAY + CPU]
    assert watched.times(Accept, 3) == []
    assert watched.times(Deliver, 1) == []


def test_how_long_a_card_has_been_sending_counts_only_what_is_sent() -> None:
    watched = Watched(3)
    before = watched.cluster.sent_for(1)
    watched.cluster.request(1, "a")
    assert watched.cluster.sent_for(1) == before
    watched.cluster.at(watched.start + OPERATION + 100, lambda: None)
    watched.cluster.run(lambda: watched.cluster.now == watched.start + OPERATION + 100)
    assert watched.cluster.sent_for(1) == before + OPERATION + 100


def test_time_ends_when_nothing_is_left_to_happen() -> None:
    watched = Watched(3)
    assert watched.cluster.run(lambda: False) is False
    assert watched.cluster.run() is True


def test_a_history_is_there_from_the_start() -> None:
    history = Chain.of(Txn(Zxid(1, counter), "v") for counter in (1, 2, 3))
    cluster = Cluster(ZAB, 3, Costs(), DISK, [].append, history=history)
    states = cluster.processes.states[1:]
    assert [(state.history, state.delivered, state.incarnation) for state in states] == [(history, history, 1)] * 3
