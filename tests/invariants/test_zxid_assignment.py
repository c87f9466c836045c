"""Zxid assignment (DSN 2011, III): the zxids that a primary assigns are of its epoch, and ascend."""

from random import Random

import pytest

from invariants import Broadcast, Event, Ready, Txn, Zxid
from tests.invariants.builders import A, B, C, D, E, Order, broadcasts, deliveries, judge, summary, witness
from tests.invariants.oracle import Finding, Reading

NAME = "zxid assignment"
EDGES = [
    (
        broadcasts(1, 2, A),
        [("never: p1 broadcasts it as primary of epoch 1", "W1 p1 broadcasts a⟨1,1⟩ in epoch 2", "missing")],
        "it broadcasts in epoch 2",
    ),
    (
        [Ready(1, 0, 2), *broadcasts(1, 1, A)],
        [("W1 p1 ready(2)", "W2 p1 broadcasts a⟨1,1⟩ in epoch 1", "broken")],
        "ready(2) was told last, not ready(1)",
    ),
    (
        broadcasts(1, 1, B, A),
        [("W1 p1 broadcasts b⟨1,2⟩ in epoch 1", "W2 p1 broadcasts a⟨1,1⟩ in epoch 1", "broken")],
        "the zxid is lower",
    ),
]


def test_a_zxid_of_another_epoch_is_a_violation() -> None:
    verdict = judge(NAME, broadcasts(1, 2, D, A))
    assert witness(verdict) == (Broadcast(1, 0, 2, A),)
    assert summary(verdict) == "p1, primary of epoch 2, broadcast a⟨1,1⟩, whose zxid is of epoch 1"


def test_so_is_a_broadcast_in_another_epoch_than_the_one_that_ready_told() -> None:
    events = [Ready(1, 0, 1), *broadcasts(1, 1, A), Ready(1, 0, 2), *broadcasts(1, 1, B), *broadcasts(1, 2, D)]
    verdict = judge(NAME, events)
    assert witness(verdict) == (Ready(1, 0, 2), Broadcast(1, 0, 1, B))
    assert summary(verdict) == (
        "p1, primary of epoch 1, broadcast b⟨1,2⟩ after it had become ready to broadcast in epoch 2"
    )


def test_so_is_a_zxid_that_descends_within_one_primary() -> None:
    verdict = judge(NAME, broadcasts(1, 1, A, C, B))
    assert witness(verdict) == (Broadcast(1, 0, 1, C), Broadcast(1, 0, 1, B))
    assert summary(verdict) == "p1, primary of epoch 1, broadcast b⟨1,2⟩ after c⟨1,3⟩, which has a higher zxid"


@pytest.mark.parametrize("order", ["global", "per-process"])
def test_ascending_zxids_of_the_epoch_that_ready_told_are_right(order: Order) -> None:
    events = [Ready(1, 0, 1), *broadcasts(1, 1, A, B, A), *broadcasts(2, 2, D), Ready(1, 0, 3), Ready(2, 0, 2)]
    events += [*broadcasts(2, 2, E), *deliveries(3, B, A)]
    verdict = judge(NAME, events, order)
    assert (verdict.status, verdict.judged) == ("holds", 4)


def test_where_the_trace_shows_no_ready_before_nothing_is_said_of_it() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A), Ready(1, 0, 2), *broadcasts(1, 2, D)]).status == "holds"
    assert judge(NAME, [Ready(1, 0, 1), *broadcasts(1, 2, D, incarnation=1)]).status == "holds"


def test_counters_may_have_gaps_and_begin_anywhere() -> None:
    assert judge(NAME, broadcasts(1, 1, B, Txn(Zxid(1, 9), "x"))).status == "holds"


def test_another_incarnation_is_another_primary_and_one_zxid_twice_is_left_to_zxid_uniqueness() -> None:
    assert judge(NAME, [*broadcasts(1, 1, B), *broadcasts(1, 1, A, incarnation=1)]).status == "holds"
    assert judge(NAME, broadcasts(1, 1, A, Txn(A.zxid, "other"))).status == "holds"


def test_the_witness_is_of_the_least_broadcast() -> None:
    events = [*broadcasts(3, 2, D), *broadcasts(3, 2, B), *broadcasts(2, 1, C, B), *broadcasts(1, 1, C, B, A)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, B), Broadcast(1, 0, 1, A))
    assert witness(judge(NAME, events[:-1])) == (Broadcast(1, 0, 1, C), Broadcast(1, 0, 1, B))


def test_without_a_broadcast_it_is_not_exercised() -> None:
    assert judge(NAME, [Ready(1, 0, 1), *deliveries(1, A)]).status == "not exercised"


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    assert judge(NAME, broadcasts(1, 2, A), complete=False).status == "violated"


def literal(reading: Reading) -> Finding:
    """The zxid of a broadcast in epoch e is of e, which its last ready told; none before it has a higher one."""
    found: list[tuple[tuple[object, ...], tuple[Event, ...]]] = []
    for index, cast in enumerate(reading.casts):
        event, rank = cast.event, (cast.txn, cast.primary)
        if event.txn.zxid.epoch != event.epoch:
            found.append(((*rank, 0), (event,)))
        place = next(i for i, each in enumerate(reading.events) if each is event)
        ready = [
            each
            for each in reading.events[:place]
            if isinstance(each, Ready) and (each.process, each.incarnation) == (event.process, event.incarnation)
        ]
        if ready and ready[-1].epoch != event.epoch:
            found.append(((*rank, 1), (ready[-1], event)))
        before = [first for first in reading.casts[:index] if first.primary == cast.primary]
        found += [((*rank, 2, a.txn), (a.event, event)) for a in before if a.txn.zxid > cast.txn.zxid]
    if found:
        return "violated", min(found, key=lambda each: each[0])[1]
    return ("holds" if reading.casts else "not exercised"), None


def own_trace(rng: Random) -> list[Event]:
    """A few broadcasts and calls of ready, most of them right."""
    events: list[Event] = []
    for _ in range(rng.choice((0, 2, 3, 4))):
        process, incarnation, epoch = rng.randint(1, 2), rng.randint(0, 1), rng.randint(1, 2)
        incarnation = max([incarnation, *(e.incarnation for e in events if getattr(e, "process", 0) == process)])  # type: ignore[attr-defined]  # all local
        if rng.random() < 0.3:
            events.append(Ready(process, incarnation, epoch))
        else:
            zxid = Zxid(epoch if rng.random() < 0.9 else 3 - epoch, rng.randint(1, 3))
            events.append(Broadcast(process, incarnation, epoch, Txn(zxid, rng.choice("xy"))))
    return events
