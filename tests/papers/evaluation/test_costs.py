"""Times of operations, worked out by hand."""

import pytest

from invariants import EMPTY, NO_ZXID, Txn, Zxid
from zabcheck.papers.evaluation.costs import Costs, Disk, appended, carried
from zabcheck.protocols.base import Message
from zabcheck.protocols.zab.histories import Missing, Whole
from zabcheck.protocols.zab.messages import Ack, AckE, CEpoch, Commit, NewLeader, Propose

TXNS = tuple(Txn(Zxid(1, counter), f"v{counter}") for counter in range(1, 6))
FIVE = EMPTY
for _txn in TXNS:
    FIVE = FIVE.append(_txn)


def test_the_cap_is_what_one_card_can_send_to_all_others() -> None:
    assert Costs(size=1000, bandwidth=8_000_000).cap(3) == 500
    assert Costs(size=1000, bandwidth=8_000_000).cap(5) == 250
    assert round(Costs().cap(3)) == 61_035
    assert round(Costs().cap(13)) == 10_173


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (Propose(1, TXNS[0]), 60 + 1024),
        (Propose(1, TXNS[1], Zxid(1, 1), (3, 4)), 60 + 1024 + 8 + 2),
        (Ack(1, Zxid(1, 1)), 60),
        (Commit(1, Zxid(1, 1), (3,)), 60 + 1),
        (CEpoch(1), 60),
        (CEpoch(1, (Zxid(2, 9), Zxid(1, 5))), 60 + 2 * 8),
        (AckE(1, Whole(FIVE)), 60 + 5 * (60 + 1024)),
        (NewLeader(2, Whole(FIVE, FIVE.prefix(3))), 60 + 2 * (60 + 1024)),
        (NewLeader(2, Missing(NO_ZXID, TXNS[:1])), 60 + (60 + 1024)),
        (NewLeader(2, Missing(Zxid(1, 5), ())), 60),
    ],
)
def test_a_message_is_as_large_as_its_operations_and_a_header(message: Message, size: int) -> None:
    assert Costs().bytes_of(message) == size


def test_what_is_carried_of_a_history() -> None:
    assert carried(Whole(FIVE)) == 5
    assert carried(Missing(Zxid(1, 2), TXNS[2:])) == 3


@pytest.mark.parametrize(("size", "takes"), [(125, 1000), (1084, 8672), (0, 1)])
def test_a_gigabit_takes_a_second(size: int, takes: int) -> None:
    assert Costs().on_the_wire(size) == takes


def test_a_fraction_of_a_nanosecond_is_a_whole_one() -> None:
    assert Costs(bandwidth=3 * 10**9).on_the_wire(1) == 3
    assert Disk("d", 5, rate=3 * 10**9).takes(1) == 6


def test_a_sync_takes_a_while_and_what_it_writes() -> None:
    assert Disk("d", 100_000, rate=10**8).takes(1000) == 100_000 + 10_000


def test_only_what_is_new_in_the_log_is_written() -> None:
    assert appended(FIVE.prefix(4), FIVE) == 1
    assert appended(FIVE.prefix(1), FIVE) == 4
    assert appended(FIVE, FIVE) == 0
    other = FIVE.prefix(3).append(Txn(Zxid(2, 1), "w"))
    assert appended(FIVE, other) == 1
