"""A property that is broken for good need not be judged any further."""

from invariants import Broadcast, Deliver, Event, Judge, Txn, Zxid, select
from tests.invariants.traces import random_trace

X, Y, Z = (Txn(Zxid(1, counter), value) for counter, value in ((1, "x"), (2, "y"), (3, "z")))
SENT: list[Event] = [Broadcast(1, 0, 1, txn) for txn in (X, Y, Z)]


def judged(events: list[Event], *names: str) -> Judge:
    judge = Judge(select(names or None))
    for event in events:
        judge.observe(event)
    return judge


def test_a_property_that_nothing_repairs_is_settled_once() -> None:
    judge = judged([*SENT, Deliver(1, 0, X), Deliver(1, 0, Z)], "local primary order", "total order")
    [verdict] = judge.settle()
    assert (verdict.property, verdict.status) == ("local primary order", "violated")
    assert judge.settle() == []
    judge.observe(Deliver(1, 0, Y))
    assert [each.property for each in judge.finish()] == ["total order"]


def test_one_that_may_be_repaired_is_not() -> None:
    """p1 and p2 have each what the other lacks, which later deliveries can mend."""
    judge = judged([*SENT, Deliver(1, 0, X), Deliver(2, 0, Y)], "agreement")
    assert "agreement" in judge.broken
    assert judge.settle() == []
    judge.observe(Deliver(1, 0, Y))
    assert [verdict.status for verdict in judge.finish()] == ["holds"]


def test_the_same_properties_are_violated_with_and_without_and_detected_by_the_same_event() -> None:
    violated = 0
    for seed in range(60):
        events = random_trace(seed).events
        plain, judge, settled = judged(events), Judge(select(None)), []
        for event in events:
            judge.observe(event)
            if judge.broken:
                settled += judge.settle()
        verdicts = {verdict.property: verdict for verdict in (*settled, *judge.finish())}
        for verdict in plain.finish():
            other = verdicts[verdict.property]
            assert other.status == verdict.status, (seed, verdict.property)
            if verdict.violation is not None:
                assert other.violation is not None
                assert other.violation.detected == verdict.violation.detected
                violated += 1
    assert violated > 50
