"""USENIX ATC 2012: there is one configuration at each place of the chain, and nobody passes one by."""

from random import Random

import pytest

from invariants import Activate, Crash, Deliver, Event, Recover, Txn, Verdict, Zxid
from tests.invariants.builders import A, Order, deliveries, restore, split, summary, witness
from tests.invariants.builders import judge as judge_property

JUDGED = "one chain"
V = Txn(Zxid(1, 2), "config 1,2,4")
ALSO = Txn(Zxid(1, 2), "config 1,2,5")
W = Txn(Zxid(2, 1), "config 4,5")
X = Txn(Zxid(1, 3), "x")
both_orders = pytest.mark.parametrize("order", ["global", "per-process"])


def judge(events: list[Event], order: Order = "global", quorums: str = "config 1,2,3") -> Verdict:
    return judge_property(JUDGED, events, order, processes=5, quorums=quorums)


@both_orders
def test_a_chain_of_two_configurations_holds(order: Order) -> None:
    """Who is told of the later one need not activate the one before, nor deliver anything."""
    one = [*deliveries(1, A, V, X, W), Activate(1, 0, V), Activate(1, 0, W), Activate(3, 0, W)]
    verdict = judge([*one, *deliveries(2, A, V)], order)
    assert (verdict.status, verdict.judged) == ("holds", 2)


@both_orders
def test_two_configurations_with_one_zxid_are_two_chains(order: Order) -> None:
    verdict = judge([Activate(3, 0, ALSO), Activate(2, 0, V), Activate(1, 0, V), Activate(1, 0, ALSO)], order)
    assert witness(verdict) == (Activate(1, 0, V), Activate(1, 0, ALSO))
    assert summary(verdict) == "p1 activated config 1,2,4⟨1,2⟩, and p1 config 1,2,5⟨1,2⟩, with one zxid"


@both_orders
@pytest.mark.parametrize("active_first", [False, True])
def test_who_delivers_more_has_delivered_what_is_active(order: Order, active_first: bool) -> None:
    passing, active = deliveries(3, A, X), [Activate(4, 0, V), Activate(2, 0, V)]
    events = [*active, *passing] if active_first else [*passing, *active]
    verdict = judge([*deliveries(1, A, V, X), *events], order)
    assert witness(verdict) == (Activate(2, 0, V), Deliver(3, 0, X))
    assert summary(verdict) == "p2 activated config 1,2,4⟨1,2⟩, and p3 delivered x⟨1,3⟩ without it"
    assert verdict.violation is not None
    assert verdict.violation.detected == 3 + (3 if active_first else 2)


@both_orders
def test_the_least_configuration_and_the_least_delivery_are_shown(order: Order) -> None:
    later = Txn(Zxid(3, 1), "y")
    events = [Activate(5, 0, W), Activate(5, 0, V), *deliveries(2, A, later), *deliveries(1, A, later)]
    assert witness(judge([*events, *deliveries(3, A, W)], order)) == (Activate(5, 0, V), Deliver(3, 0, W))


@both_orders
def test_what_an_incarnation_delivered_stays_on_record(order: Order) -> None:
    events: list[Event] = [*deliveries(3, A, X), Crash(3, 0), Recover(3, 1), *deliveries(3, A, V, incarnation=1)]
    assert witness(judge([*events, Activate(1, 0, V)], order)) == (Activate(1, 0, V), Deliver(3, 0, X))


@both_orders
def test_a_snapshot_brings_the_configuration_too(order: Order) -> None:
    begun = [*deliveries(1, A, V), Activate(1, 0, V)]
    assert judge([*begun, restore(3, A, V), *deliveries(3, X)], order).status == "holds"
    assert judge([*begun, restore(3, A), *deliveries(3, X)], order).status == "violated"
    unknown = [Activate(1, 0, V), restore(3, A), *deliveries(3, X)]
    assert judge(unknown, order).status == "holds", "nobody knows what the snapshot holds"


def test_where_the_quorums_are_fixed_nothing_is_judged() -> None:
    assert judge([Activate(1, 0, V), Activate(1, 0, ALSO)], quorums="majority").status == "not exercised"


def own_trace(rng: Random) -> list[Event]:
    """Few transactions, so that they meet, delivered and activated in any order."""
    txns = [Txn(Zxid(1, n), value) for n in (1, 2, 3) for value in ("config 1", "config 2")]
    return [
        rng.choice((Activate, Deliver, Deliver))(rng.randint(1, 3), 0, rng.choice(txns))
        for _ in range(rng.randint(1, 6))
    ]


def literal(events: list[Event]) -> tuple[Event, ...] | None:
    """The two sentences, over all pairs of events; the least pair, or None."""
    active = [event for event in events if isinstance(event, Activate)]
    pairs = [
        (one, other) for one in active for other in active if one.txn < other.txn and one.txn.zxid == other.txn.zxid
    ]
    if pairs:
        return min(pairs, key=lambda pair: [(each.txn, each.process) for each in pair])
    logs = split(events)
    found: list[tuple[Event, ...]] = []
    for one in active:
        for process, log in logs.items():
            done = list(dict.fromkeys(event.txn for event in log if isinstance(event, Deliver)))
            for place, txn in enumerate(done):
                if txn.zxid > one.txn.zxid and one.txn not in done[:place]:
                    found.append((one, Deliver(process, 0, txn)))
    return min(found, key=lambda pair: [(each.txn, each.process) for each in pair], default=None)  # type: ignore[attr-defined]


@both_orders
def test_random_traces_are_judged_by_the_letter(order: Order) -> None:
    kinds = set()
    for seed in range(1500):
        events = own_trace(Random(seed))
        verdict = judge(events, order)
        wrong = literal(events)
        assert (verdict.violation and verdict.violation.witness) == wrong, seed
        kinds.add(None if wrong is None else type(wrong[-1]))
    assert kinds == {None, Activate, Deliver}
