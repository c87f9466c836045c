"""Each property says of ten thousand random traces what its sentence says, read word for word over all tuples.

The normal tier judges the first 150 of them.
"""

from functools import cache
from itertools import pairwise

import pytest

from invariants import PROPERTIES, Broadcast, Deliver, Event, Judge, Verdict, check, select
from tests.invariants.builders import Order, whole
from tests.invariants.by_property import OF_SEQUENCES
from tests.invariants.oracle import Finding, Reading
from tests.invariants.traces import random_trace
from tests.tiers import sweep

BLOCK = 500
QUICK = range(60)
"""The seeds of the normal tier."""
blocks = pytest.mark.parametrize(
    "seeds",
    sweep(
        [QUICK, range(len(QUICK), BLOCK), *(range(first, first + BLOCK) for first in range(BLOCK, 10_000, BLOCK))],
        normal=[QUICK],
    ),
    ids=lambda seeds: f"from-{seeds[0]}",
)

MONOTONE = [
    "total order",
    "local primary order",
    "global primary order",
    "primary integrity",
    "po causal order",
    "clock",
    "causal order",
    "redelivery",
]
"""The properties that, once broken, stay broken."""


def found(verdict: Verdict) -> Finding:
    return verdict.status, None if verdict.violation is None else verdict.violation.witness


def observed(events: list[Event], order: Order = "global") -> Judge:
    judge = Judge(select(), order)
    for event in events:
        judge.observe(event)
    return judge


def only_first_broadcasts_before_deliveries(events: list[Event]) -> bool:
    """Whether no transaction is broadcast after it was delivered, or broadcast by somebody else."""
    delivered = set()
    primaries: dict[object, tuple[int, int, int]] = {}
    for event in events:
        if isinstance(event, Deliver):
            delivered.add(event.txn)
        elif isinstance(event, Broadcast):
            primary = event.epoch, event.process, event.incarnation
            if primaries.setdefault(event.txn, primary) != primary or event.txn in delivered:
                return False
    return True


def zxids_ascend(reading: Reading) -> bool:
    """Whether what is delivered was broadcast, in the epoch of its zxid, and is delivered in ascending order."""
    broadcast = {cast.txn for cast in reading.casts if cast.event.epoch == cast.txn.zxid.epoch}
    return all(
        broadcast.issuperset(sequence) and all(a.zxid < b.zxid for a, b in pairwise(sequence))
        for _, sequence in reading.segments
    )


@blocks
def test_every_verdict_and_witness_is_that_of_the_literal_reading(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        reading = Reading(events)
        got = {verdict.property: found(verdict) for verdict in check(whole(events, "global"), OF_SEQUENCES)}
        assert got == {name: oracle(reading) for name, oracle in OF_SEQUENCES.items()}, f"seed {seed}"


@blocks
def test_the_order_of_the_file_matters_to_the_clock_alone(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        with_clock = {v.property: found(v) for v in check(whole(events, "global"))}
        without = {v.property: found(v) for v in check(whole(events, "per-process"))}
        assert without == with_clock | {"clock": ("not exercised", None)}, f"seed {seed}"


@pytest.mark.parametrize("seeds", sweep((range(30), range(30, 1000)), normal=(range(30),)), ids=str)
@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_judged_alone_says_the_same(name: str, seeds: range) -> None:
    for seed in seeds:
        trace, together = judged_together(seed)
        assert check(trace, [name]) == [v for v in together if v.property == name], f"seed {seed}"


@cache
def judged_together(seed: int) -> tuple[list[Event], list[Verdict]]:
    """A random trace, and what all properties say of it."""
    trace = whole(random_trace(seed).events, "global")
    return trace, check(trace)


@blocks
def test_what_is_found_while_the_trace_grows_is_a_violation(seeds: range) -> None:
    """Never a false alarm: what is reported at an event is broken by the trace up to that event."""
    for seed in seeds:
        events = random_trace(seed).events
        judge = observed(events)
        for name in set(judge.broken).intersection(MONOTONE):
            status, _ = OF_SEQUENCES[name](Reading(events[: judge.broken[name] + 1]))
            assert status == "violated", f"seed {seed}, {name}"
        assert not [v for v in judge.finish() if v.property in set(MONOTONE) & set(judge.broken) and not v.violation]


@blocks
def test_a_violation_is_found_with_the_event_that_makes_it_certain(seeds: range) -> None:
    """Always for the first of them; for the others as far as their modules promise it."""
    for seed in seeds:
        events = random_trace(seed).events
        reading = Reading(events)
        judge = observed(events)
        exact = ["total order", "local primary order", "clock", "redelivery", "prefix"]
        if only_first_broadcasts_before_deliveries(events):
            exact += ["global primary order", "causal order"]
            if not judge.record.resumed:
                exact += ["po causal order", "strict causality"]
            if zxids_ascend(reading):
                exact.append("primary integrity")
        for name in exact:
            oracle = OF_SEQUENCES[name]
            detected = judge.broken.get(name, len(events))
            assert oracle(Reading(events[:detected]))[0] != "violated", f"seed {seed}, {name}"


@pytest.mark.parametrize("seeds", sweep((range(100), range(100, 1000)), normal=(range(100),)), ids=str)
def test_the_event_of_detection_is_reported_with_the_violation(seeds: range) -> None:
    reported = 0
    for seed in seeds:
        judge = observed(random_trace(seed).events)
        for verdict in judge.finish():
            if verdict.violation is not None:
                assert verdict.violation.detected == judge.broken.get(verdict.property)
                reported += verdict.violation.detected is not None
    assert reported > len(seeds) // 10


@pytest.mark.parametrize("seeds", sweep((range(100), range(100, 1000)), normal=(range(100),)), ids=str)
def test_finishing_changes_nothing(seeds: range) -> None:
    """A trace may be judged as if it ended here, and go on."""
    for seed in seeds:
        events = random_trace(seed).events
        judge = Judge(select(), "global")
        for event in events:
            judge.observe(event)
            judge.finish()
        assert [found(v) for v in judge.finish()] == [found(v) for v in check(whole(events, "global"))], f"seed {seed}"
