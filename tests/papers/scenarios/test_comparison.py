"""DSN 2011, III-B: primary order and causal order, of which neither implies the other."""

from itertools import pairwise

from invariants import Broadcast, Event, check
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.papers.scenarios.base import HandWrittenTrace


def events_of(name: str) -> list[Event]:
    run = SCENARIOS[name].run
    assert isinstance(run, HandWrittenTrace)
    return list(run.events)


def test_figure_3_breaks_causal_order_by_z_that_nobody_delivers() -> None:
    [verdict] = check(events_of("dsn-figure-3"), ["full causal order"])
    assert verdict.violation is not None
    assert verdict.violation.summary == (
        "p1, primary of epoch 3, broadcast v⟨1,1⟩ before it broadcast v''⟨3,1⟩, but p1 delivered v''⟨3,1⟩ without "
        "v⟨1,1⟩"
    )


def test_figure_4_satisfies_causal_order() -> None:
    assert [verdict.status for verdict in check(events_of("dsn-figure-4"), ["full causal order"])] == ["holds"]


def test_the_transactions_of_both_are_of_ascending_epochs() -> None:
    for name in ("dsn-figure-3", "dsn-figure-4"):
        txns = [event.txn for event in events_of(name) if isinstance(event, Broadcast)]
        assert all(z.zxid.epoch < later.zxid.epoch for z, later in pairwise(txns))
