"""Strict causality (DSN 2011, III-B): of two delivered transactions one precedes the other."""

from random import Random
from time import process_time

import pytest

from invariants import Broadcast, Deliver, Judge, Txn, Zxid, select, strict_causality
from tests.invariants import oracle
from tests.invariants.builders import (
    FIGURE_3,
    FIGURE_4,
    A,
    B,
    C,
    D,
    E,
    F,
    broadcasts,
    deliveries,
    judge,
    merge,
    restore,
    summary,
    witness,
)
from tests.invariants.oracle import Reading
from tests.invariants.traces import random_trace
from tests.tiers import sweep

NAME = "strict causality"


def test_two_that_do_not_know_of_each_other_are_a_violation() -> None:
    verdict = judge(NAME, [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, A, D)])
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 2, D), Deliver(3, 0, A), Deliver(3, 0, D))
    assert summary(verdict) == (
        "p3 delivered a⟨1,1⟩ and d⟨2,1⟩, of which neither precedes the other: p1 broadcast the one in epoch 1, p2 the "
        "other in epoch 2"
    )


def test_what_a_primary_broadcast_and_what_it_had_delivered_is_related() -> None:
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A, B), *broadcasts(2, 2, D), *deliveries(2, D)]
    verdict = judge(NAME, events)
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_figure_3_satisfies_it() -> None:
    assert judge(NAME, FIGURE_3).status == "holds"


def test_figure_4_breaks_it_and_neither_causal_order() -> None:
    assert witness(judge(NAME, FIGURE_4)) == (
        Broadcast(1, 0, 1, A),
        Broadcast(2, 0, 2, D),
        Deliver(1, 0, A),
        Deliver(1, 0, D),
    )
    assert judge("po causal order", FIGURE_4).status == "holds"
    assert judge("causal order", FIGURE_4).status == "holds"


def test_in_which_order_they_are_delivered_does_not_matter() -> None:
    assert judge(NAME, [*broadcasts(1, 1, A, B, C), *deliveries(2, C, A, B)]).status == "holds"


def test_both_have_to_be_delivered_by_one_process() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, A), *deliveries(4, D)]
    assert judge(NAME, events).status == "not exercised"


def test_each_incarnation_is_a_process_of_its_own() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, A), *deliveries(3, D, incarnation=1)]
    assert judge(NAME, events).status == "not exercised"


def test_what_a_snapshot_held_is_delivered_too() -> None:
    start = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, A), restore(4, A)]
    assert witness(judge(NAME, [*start, *deliveries(4, D)]))[2:] == (Deliver(4, 0, A), Deliver(4, 0, D))


def test_two_are_related_by_what_the_process_did_not_deliver() -> None:
    """a precedes d, d precedes f; p4 delivers a and f."""
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D), *deliveries(3, D), *broadcasts(3, 3, F)]
    assert judge(NAME, [*events, *deliveries(4, A, F)]).status == "holds"


def test_two_of_one_process_in_two_epochs_are_not_related_without_a_delivery() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 2, D)]
    assert judge(NAME, [*events, *deliveries(2, A, D)]).status == "violated"
    events = [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(1, 2, D, incarnation=1)]
    assert judge(NAME, [*events, *deliveries(2, A, D)]).status == "holds"


def test_what_nobody_broadcast_is_passed_over() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 2, D)]
    verdict = judge(NAME, [*events, *deliveries(3, A, C, D)])
    assert (verdict.status, verdict.judged) == ("holds", 1)
    assert judge(NAME, [*broadcasts(1, 1, A), *deliveries(3, C, A)]).status == "not exercised"


def test_a_broadcast_may_come_later_in_the_file() -> None:
    events = [*deliveries(3, A, D), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]
    assert judge(NAME, events).status == "violated"
    assert judge(
        NAME, [*deliveries(3, A, D), *deliveries(2, A), *broadcasts(2, 2, D), *broadcasts(1, 1, A)]
    ).status == ("holds")


def test_a_snapshot_whose_prefix_turns_up_later_in_the_file_relates_too() -> None:
    events = [restore(2, A), *broadcasts(2, 2, D), *broadcasts(1, 1, A), *deliveries(3, A, D)]
    assert judge(NAME, events).status == "holds"


def test_a_later_broadcast_may_repair_it() -> None:
    start = [*broadcasts(1, 1, A), *broadcasts(2, 2, D), *deliveries(3, A, D)]
    judged = Judge(select([NAME]), "global")
    for event in start:
        judged.observe(event)
    assert judged.violated() == NAME
    for event in broadcasts(3, 3, D):
        judged.observe(event)
    assert judged.violated() is None
    assert judge(NAME, start, complete=False).status == "inconclusive"


def test_what_two_precede_each_other_is_related() -> None:
    """Each was broadcast again after the other had been delivered there."""
    events = [*broadcasts(1, 1, A), *broadcasts(2, 1, B), *deliveries(1, B), *deliveries(2, A)]
    assert judge(NAME, [*events, *broadcasts(1, 2, A), *broadcasts(2, 2, B), *deliveries(3, A, B)]).status == "holds"


def test_the_witness_is_the_least_pair_not_the_first_found() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 1, B), *broadcasts(3, 2, D, E), *deliveries(4, D, E, B, A)]
    events += [*broadcasts(5, 1, A), *deliveries(5, B, A)]
    assert witness(judge(NAME, events)) == (
        Broadcast(1, 0, 1, A),
        Broadcast(2, 0, 1, B),
        Deliver(4, 0, A),
        Deliver(4, 0, B),
    )


@pytest.mark.parametrize("seeds", sweep((range(150), range(150, 1500)), normal=(range(150),)), ids=str)
def test_in_a_large_trace_the_verdict_is_the_same_and_so_is_the_witness_of_every_merge(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict_causality, "LARGE", 0)
    for seed in seeds:
        events = random_trace(seed).events
        verdict = judge(NAME, events)
        assert verdict.status == oracle.strict_causality(Reading(events))[0], f"seed {seed}"
        if verdict.violation is not None:
            again = judge(NAME, merge(Random(seed), events))
            assert witness(again) == witness(verdict), f"seed {seed}"


def test_one_bug_in_a_large_trace_is_found_in_linear_time() -> None:
    """The second primary had not delivered the last transaction of the first one."""
    first = [Txn(Zxid(1, counter), "v") for counter in range(1, 10_001)]
    second = [Txn(Zxid(2, counter), "v") for counter in range(1, 10_001)]
    events = [*broadcasts(1, 1, *first), *deliveries(2, *first[:-1]), *broadcasts(2, 2, *second)]
    events += deliveries(3, *first, *second)
    start = process_time()
    found = witness(judge(NAME, events))
    assert process_time() - start < 5
    assert found[2:] == (Deliver(3, 0, first[-1]), Deliver(3, 0, second[0]))
