"""Causal order (DSN 2011, definition III.1), which tells a causal broadcast from one that keeps primary order."""

from collections import Counter
from random import Random

import pytest
from msgspec import structs

from invariants import GROUPS, OF_OTHERS, Broadcast, Deliver, select
from tests.invariants.builders import (
    FIGURE_3,
    FIGURE_4,
    A,
    B,
    D,
    F,
    Order,
    broadcasts,
    deliveries,
    judge,
    merge,
    summary,
    witness,
)
from tests.invariants.oracle import Reading, full_causal_order
from tests.invariants.traces import random_trace
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.search.run import replay
from zabcheck.simulation.schedule import Schedule

JUDGED = "full causal order"


def test_figure_3_breaks_it_by_z_that_nobody_delivers() -> None:
    verdict = judge(JUDGED, FIGURE_3)
    assert witness(verdict) == (Broadcast(1, 0, 1, A), Broadcast(1, 0, 3, F), Deliver(1, 0, F))
    assert summary(verdict) == (
        "p1, primary of epoch 3, broadcast a⟨1,1⟩ before it broadcast f⟨3,1⟩, but p1 delivered f⟨3,1⟩ without a⟨1,1⟩"
    )


def test_figure_4_satisfies_it() -> None:
    assert judge(JUDGED, FIGURE_4).status == "holds"


def test_what_another_primary_of_the_process_sent_comes_first() -> None:
    """Another epoch and another incarnation make no difference."""
    events = [*broadcasts(1, 1, A), Broadcast(1, 1, 2, D)]
    assert judge(JUDGED, [*events, *deliveries(2, A, D)]).status == "holds"
    assert witness(judge(JUDGED, [*events, *deliveries(2, D, A)])) == (
        Broadcast(1, 0, 1, A),
        Broadcast(1, 1, 2, D),
        Deliver(2, 0, D),
        Deliver(2, 0, A),
    )


def test_what_is_broadcast_again_does_not_precede_itself() -> None:
    events = [*broadcasts(1, 1, A), Broadcast(1, 0, 2, A), *deliveries(2, A)]
    assert judge(JUDGED, events).status == "not exercised"
    again = [*broadcasts(1, 1, B), *events]
    assert witness(judge(JUDGED, again)) == (Broadcast(1, 0, 1, B), Broadcast(1, 0, 1, A), Deliver(2, 0, A))


def test_it_is_chosen_by_its_name_alone() -> None:
    assert select(["full-causal-order"]) == list(OF_OTHERS)
    assert JUDGED not in {name for names in GROUPS.values() for name in names}
    assert not set(select()) & set(OF_OTHERS)


def test_a_schedule_that_is_said_to_violate_it_is_judged_by_it() -> None:
    """No other property breaks: Zab has the run of figure 3."""
    figure = SCENARIOS["dsn-figure-3-zab"].run
    assert isinstance(figure, Schedule)
    assert JUDGED not in {verdict.property for verdict in replay(figure).verdicts}
    verdicts = replay(structs.replace(figure, violates=JUDGED)).verdicts
    assert [verdict.property for verdict in verdicts if verdict.status == "violated"] == [JUDGED]


@pytest.mark.parametrize("order", ["global", "per-process"])
def test_it_says_what_its_sentence_says(order: Order) -> None:
    """Random traces are judged, and the sentence is read word for word over all pairs."""
    statuses: Counter[str] = Counter()
    for seed in range(150):
        events = random_trace(seed).events
        events = merge(Random(seed), events) if order == "per-process" else events
        verdict = judge(JUDGED, events, order)
        found = verdict.status, None if verdict.violation is None else verdict.violation.witness
        assert found == full_causal_order(Reading(events, order)), f"seed {seed}"
        statuses[verdict.status] += 1
    assert set(statuses) == {"holds", "violated", "not exercised"}
