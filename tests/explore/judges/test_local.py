"""A property that `is_local` says of a trace what it says of each process alone."""

from collections.abc import Iterator, Sequence

import pytest

from invariants import Broadcast, Crash, Event, Invariant, Invariant1, Local, select
from invariants.quorums import Quorums
from invariants.record import Record
from tests.explore.judges.continuations import run_of
from tests.invariants.protocol_traces import random_protocol_trace
from tests.invariants.traces import random_trace
from zabcheck.explore.judges import MonitoredInvariant, MonitorJudge, monitored

LOCAL = tuple(kind for kind in map(monitored, select(None)) if kind.is_local)
SEEDS = range(150)
MUTANTS = ("deliver-initial-history-last", "redeliver-with-gap", "stale-proposal-accepted", "propose-to-acked-only")


def traces() -> Iterator[Sequence[Event]]:
    for seed in SEEDS:
        yield random_trace(seed).events
        yield random_protocol_trace(seed).events
    for mutant in MUTANTS:
        for seed in range(10):
            yield run_of(mutant, seed)


def shown_to(process: int, kind: type[MonitoredInvariant], event: Event) -> bool:
    """Return whether a judge of this process alone has to be shown the event."""
    if isinstance(event, Local) and event.process == process:
        return True
    kinds = (*kind.of_all, Crash) if kind.of_all else ()
    return type(event) in kinds or (kind.reads_broadcasts and isinstance(event, Broadcast | Crash))


def judged(
    kind: type[Invariant], events: Sequence[tuple[int, Event]], process: int | None = None
) -> tuple[int, dict[int, None]]:
    """Return how often the property was judged, and the numbers of the events with which a trace could end badly."""
    judge = MonitorJudge([kind], Quorums(4), process=process)
    bad: dict[int, None] = {}
    for number, event in events:
        judge.observe(event)
        if judge.invariants[0].violation() is not None:
            bad[number] = None
    return judge.invariants[0].judged(), bad


def test_no_local_property_reads_what_others_delivered() -> None:
    assert {"invariant 2", "invariant 4", "redelivery"} <= {kind.name for kind in LOCAL}
    assert not any(kind.reads_sequences for kind in LOCAL)


@pytest.mark.parametrize("kind", LOCAL, ids=lambda kind: kind.name)
def test_a_local_property_judges_each_process_by_itself(kind: type[Invariant]) -> None:
    violated = exercised = 0
    for trace in traces():
        events = list(enumerate(trace))
        processes = {event.process for event in trace if isinstance(event, Local)}
        alone = [judged(kind, [each for each in events if shown_to(p, kind, each[1])], p) for p in processes]
        times, bad = judged(kind, events)
        assert times == sum(each for each, _ in alone)
        first = [next(iter(each)) for _, each in alone if each]
        assert next(iter(bad), None) == min(first, default=None)
        violated += bool(bad)
        exercised += times > 0 and not bad
    assert violated > 3
    assert exercised > 3


def test_a_subclass_of_a_local_property_is_not_taken_for_local() -> None:
    """It may compare processes."""

    class Compares(Invariant1):
        name = "compares"

    assert monitored(Invariant1).is_local
    assert not monitored(Compares).is_local


def test_a_local_property_says_that_it_reads_no_delivered_sequences() -> None:
    with pytest.raises(TypeError, match="Forgets: expected `reads_sequences = False`"):
        type("Forgets", (MonitoredInvariant,), {"is_local": True})


def test_a_property_may_keep_a_process_of_its_own() -> None:
    class Keeps(monitored(Invariant1)):  # type: ignore[misc]  # which class it is, mypy cannot tell
        def __init__(self, record: Record, order: str) -> None:
            super().__init__(record, order)
            self.process = 2

    assert [each.process for each in MonitorJudge([Keeps]).invariants] == [2]
    assert [each.process for each in MonitorJudge([Invariant1], process=3).invariants] == [3]
