"""USENIX ATC 2012: only a configuration whose transaction two quorums have accepted becomes active."""

from random import Random

import pytest

from invariants import OF_CHANGES, Accept, Activate, Adopt, Event, Txn, Verdict, Zxid, check, select
from invariants.quorums import Configuration, configuration_of
from tests.invariants.builders import A, B, Order, accepts, adopt, deliveries, restore, summary, whole, witness
from tests.invariants.builders import judge as judge_property

JUDGED = "activation"
FIRST = "config 1,2,3"
V = Txn(Zxid(1, 2), "config 1,2,4")
W = Txn(Zxid(1, 3), "config 2,4,5")
BEGUN: list[Event] = [*(adopt(process, 1) for process in (1, 2, 3, 4)), *accepts(1, 1, A), *accepts(2, 1, A)]
both_orders = pytest.mark.parametrize("order", ["global", "per-process"])


def judge(events: list[Event], order: Order = "global", quorums: str = FIRST, *, complete: bool = True) -> Verdict:
    return judge_property(JUDGED, events, order, processes=5, quorums=quorums, complete=complete)


@both_orders
def test_a_quorum_of_both_configurations_has_to_accept_the_change(order: Order) -> None:
    accepted = [*BEGUN, *accepts(1, 1, V), *accepts(2, 1, V)]
    verdict = judge([*accepted, Activate(4, 0, V)], order)
    assert (verdict.status, verdict.judged) == ("holds", 1), "1 and 2 are a quorum of each"


@both_orders
def test_what_one_process_has_accepted_is_not_active(order: Order) -> None:
    verdict = judge([*BEGUN, *accepts(1, 1, V), Activate(4, 0, V), Activate(1, 0, V)], order)
    assert witness(verdict) == (Accept(1, 0, 1, V), Activate(1, 0, V))
    assert summary(verdict) == (
        "p1 activated config 1,2,4⟨1,2⟩, which only p1 had accepted in epoch 1: "
        "no quorum of config 1,2,3 and none of config 1,2,4"
    )


@both_orders
@pytest.mark.parametrize(
    ("accepting", "lacking"), [((1, 4), "config 1,2,3"), ((2, 3), "config 1,2,4"), ((1, 2), None), ((1, 3, 4), None)]
)
def test_a_quorum_of_one_of_the_two_will_not_do(order: Order, accepting: tuple[int, ...], lacking: str | None) -> None:
    begun = [*BEGUN, *accepts(3, 1, A), *accepts(4, 1, A)]
    verdict = judge([*begun, *(accepts(process, 1, V)[0] for process in accepting), Activate(1, 0, V)], order)
    if lacking is None:
        assert verdict.status == "holds"
    else:
        assert summary(verdict).endswith(f"in epoch 1: no quorum of {lacking}")


@both_orders
def test_the_configuration_before_it_is_the_one_of_its_history(order: Order) -> None:
    """W needs a quorum of V, not of the first configuration: 2 and 4 are one of both."""
    begun: list[Event] = [adopt(process, 1) for process in (2, 4, 5)]
    accepted = [event for process in (2, 4) for event in accepts(process, 1, A, V, W)]
    assert judge([*begun, *accepted, Activate(5, 0, W)], order).status == "holds"
    alone = judge([*begun, *accepts(2, 1, A, V, W), *accepts(5, 1, A, V, W), Activate(5, 0, W)], order)
    assert summary(alone).endswith("no quorum of config 1,2,4")


@both_orders
def test_a_new_leader_completes_it_in_its_own_epoch(order: Order) -> None:
    begun = [*BEGUN, *accepts(1, 1, V), adopt(1, 2, A, V), adopt(2, 2, A, V), Activate(1, 0, V)]
    assert judge(begun, order).status == "holds"
    apart = judge([*BEGUN, *accepts(1, 1, V), adopt(2, 2, A, V), Activate(2, 0, V)], order)
    assert witness(apart)[-1] == Activate(2, 0, V), "acceptances of two epochs do not add up"


def test_in_the_order_of_time_it_is_committed_before() -> None:
    events = [*BEGUN, *accepts(1, 1, V), Activate(1, 0, V), *accepts(2, 1, V)]
    verdict = judge(events)
    assert witness(verdict) == (Accept(1, 0, 1, V), Activate(1, 0, V))
    assert verdict.violation is not None
    assert verdict.violation.detected == len(events) - 2
    assert judge(events, "per-process").status == "holds"
    assert judge(events[:-1], "per-process", complete=False).status == "inconclusive"


@both_orders
def test_without_a_history_that_ends_with_it_nobody_knows_what_it_needs(order: Order) -> None:
    unknown: list[Event] = [adopt(1, 2, A, B, V), adopt(1, 3, A), *accepts(1, 3, B), Activate(1, 0, V)]
    assert judge(unknown, order).status == "not exercised"


@both_orders
def test_nothing_is_activated_where_the_quorums_are_fixed(order: Order) -> None:
    events = [*BEGUN, *accepts(1, 1, V), Activate(1, 0, V)]
    for fixed in ("majority", "weights 1,1,1,0,0", "sets 1+2"):
        assert judge(events, order, fixed).status == "not exercised"


def test_all_properties_include_these_where_a_configuration_may_change() -> None:
    events: list[Event] = [*BEGUN, *accepts(1, 1, V), Activate(1, 0, V)]
    verdicts = {verdict.property: verdict for verdict in check(whole(events, "global", processes=5, quorums=FIRST))}
    assert [name for name, verdict in verdicts.items() if verdict.status == "violated"] == [JUDGED]
    assert [kind.name for kind in OF_CHANGES] == ["activation", "one chain"] == list(verdicts)[-2:]
    assert not {"activation", "one chain"} & {verdict.property for verdict in check(whole(events, processes=5))}
    assert tuple(select(["one chain", "activation"])) == OF_CHANGES


@both_orders
def test_what_is_delivered_is_judged_by_the_configuration_that_governs_it(order: Order) -> None:
    """The property `chosen`: behind V, 1 and 4 are a quorum; before V they are none."""
    begun: list[Event] = [adopt(process, 1) for process in (1, 2, 4)]
    accepted = [event for process in (1, 2) for event in accepts(process, 1, A, V)]
    behind = Txn(Zxid(1, 3), "x")
    joined = [*accepts(4, 1, A, V, behind), *accepts(1, 1, behind)]
    whole_run = [*begun, *accepted, *joined, *deliveries(4, A, V, behind)]
    verdict = judge_property("chosen", whole_run, order, processes=5, quorums=FIRST)
    assert (verdict.status, verdict.judged) == ("holds", 3)
    lacking = [*begun, *accepted, *accepts(2, 1, behind), *accepts(3, 1, behind), *deliveries(4, A, V, behind)]
    verdict = judge_property("chosen", lacking, order, processes=5, quorums=FIRST)
    assert summary(verdict).endswith("which only p2, p3 had accepted in epoch 1: no quorum of config 1,2,4")
    alone = [*begun, *accepts(1, 1, A), *accepts(4, 1, A), *deliveries(4, A)]
    verdict = judge_property("chosen", alone, order, processes=5, quorums=FIRST)
    assert summary(verdict).endswith("which only p1, p4 had accepted in epoch 1: no quorum of config 1,2,3")
    snapshot = [*whole_run, restore(5, A, V), *deliveries(5, behind)]
    assert judge_property("chosen", snapshot, order, processes=5, quorums=FIRST).status == "holds"


# The sentence word by word, on random traces.

SIZE = 4
CHANGES = ["config 1,2", "config 2,3,4", "config 4"]


def random_changes(rng: Random) -> list[Event]:
    """Two epochs of accepting and adopting, with configurations activated too early, in time or never."""
    txns = [Txn(Zxid(1, n), rng.choice([*CHANGES, "a"])) for n in range(1, 4)]
    held: dict[int, int] = {}
    events: list[Event] = []
    for epoch in (1, 2):
        for process in rng.sample(range(1, SIZE + 1), rng.randint(2, SIZE)):
            held[process] = held.get(process, 0)
            events.append(adopt(process, epoch, *txns[: held[process]]))
        for _ in range(rng.randint(2, 8)):
            process = rng.choice(list(held))
            if held[process] < len(txns) and rng.random() < 0.8:
                events += accepts(process, epoch, txns[held[process]])
                held[process] += 1
            elif held[process]:
                txn = txns[rng.randrange(held[process])]
                if configuration_of(txn.value, SIZE):
                    events.append(Activate(process, 0, txn))
    return events


def literal(events: list[Event], first: Configuration, order: Order) -> tuple[str, Event | None]:
    """The sentence of the property; every history here is a prefix of one sequence, so each is known."""
    sequence = sorted({event.txn for event in events if isinstance(event, Accept)})
    judged, wrong = set(), []
    for place, event in enumerate(events):
        if not isinstance(event, Activate):
            continue
        judged.add(event.txn)
        before = [each for txn in sequence if txn < event.txn and (each := configuration_of(txn.value, SIZE))]
        named = configuration_of(event.txn.value, SIZE)
        assert named is not None
        needed = ([first, *before][-1], named)
        seen = events[:place] if order == "global" else events
        if not any(all(each.contains(accepting(seen, epoch, event.txn)) for each in needed) for epoch in (1, 2)):
            wrong.append(event)
    if wrong:
        return "violated", min(wrong, key=lambda event: (event.txn, event.process))
    return ("holds" if judged else "not exercised"), None


def accepting(events: list[Event], epoch: int, txn: Txn) -> set[int]:
    """Return the processes that have accepted `txn` in `epoch`."""
    proposals = {each.process for each in events if isinstance(each, Accept) and (each.epoch, each.txn) == (epoch, txn)}
    initial = {
        each.process for each in events if isinstance(each, Adopt) and each.epoch == epoch and each.zxid >= txn.zxid
    }
    return proposals | initial


@both_orders
def test_random_traces_are_judged_by_the_letter(order: Order) -> None:
    first = Configuration(SIZE, (1, 2, 3))
    statuses = []
    for seed in range(600):
        events = random_changes(Random(seed))
        shows_both = any(isinstance(each, Accept) for each in events)
        status, wrong = literal(events, first, order) if shows_both else ("not exercised", None)
        verdict = judge_property(JUDGED, events, order, processes=SIZE, quorums=first.name)
        assert (verdict.status, verdict.violation and verdict.violation.witness[-1]) == (status, wrong), seed
        statuses.append(status)
    assert min(statuses.count(each) for each in ("violated", "holds", "not exercised")) > 10
