"""Zxids: counters start at 1, and do not overflow."""

from invariants import EMPTY, Broadcast, Chain, Txn, Zxid
from tests.protocols.zab.builders import EPOCH, established, gives_up, txn
from zabcheck.protocols.base import Request
from zabcheck.protocols.switches import COUNTER_LIMIT, ZabSwitches
from zabcheck.protocols.zab.leader import on_request
from zabcheck.protocols.zab.process import Leader


def broadcast(leader: Leader) -> Zxid:
    """The zxid of what this leader broadcasts next."""
    first = on_request(leader, 1, Request("v"))[0]
    assert isinstance(first, Broadcast)
    return first.txn.zxid


def test_the_counters_of_an_epoch_start_at_1() -> None:
    assert broadcast(established(1, 2, history=EMPTY)) == Zxid(EPOCH, 1)
    assert broadcast(established(1, 2, history=Chain.of([txn(1, 9)]))) == Zxid(EPOCH, 1)


def test_they_count_the_broadcasts_of_the_epoch() -> None:
    leader = established(1, 2)
    assert [broadcast(leader).counter for _ in range(3)] == [1, 2, 3]


def test_a_counter_fits_into_zookeeper_s_32_bits() -> None:
    assert COUNTER_LIMIT == 2**32 - 1
    assert Zxid(EPOCH, COUNTER_LIMIT).packed() + 1 == Zxid(EPOCH + 1, 0).packed()


def test_a_counter_that_would_overflow_ends_the_epoch() -> None:
    leader = established(1, 2, proposed=Chain.of([Txn(Zxid(EPOCH, COUNTER_LIMIT - 1), "v")]))
    assert broadcast(leader) == Zxid(EPOCH, COUNTER_LIMIT)
    assert gives_up(on_request(leader, 1, Request("one too many")))


def test_the_limit_can_be_set_lower() -> None:
    leader = established(1, 2, switches=ZabSwitches(counter_limit=2))
    assert [broadcast(leader).counter for _ in range(2)] == [1, 2]
    assert gives_up(on_request(leader, 1, Request("one too many")))
