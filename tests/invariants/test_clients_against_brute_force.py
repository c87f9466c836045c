"""What clients were told and what is read at the end, on random traces: the verdicts are those of a literal reading."""

from collections import Counter
from random import Random

import pytest

from invariants import GROUPS, ClientAck, Event, FinalRead, Txn, Verdict, Zxid, check
from tests.invariants.builders import merge, whole
from tests.invariants.by_property import OF_CLIENTS
from tests.invariants.oracle import Finding, Reading
from tests.invariants.traces import random_trace
from tests.tiers import sweep

NAMES = GROUPS["clients"]
TRACES = 2000
TXNS = [Txn(Zxid(epoch, counter), value) for epoch in (1, 2) for counter in (1, 2) for value in "vw"]


def events_of(seed: int) -> list[Event]:
    """Few transactions, so that they meet: most of them are told and read, and some are forgotten."""
    rng = Random(seed)
    txns = rng.sample(TXNS, rng.randint(1, 4))
    events: list[Event] = list(random_trace(seed).events[:5])
    told = range(rng.randint(0, 5))
    events += [ClientAck(rng.randint(1, 3), rng.randint(0, 1), rng.choice(txns)) for _ in told]
    for _ in range(rng.choice((0, 1, 2, 2, 3, 4))):
        held = [txn for txn in txns if rng.random() < 0.9]
        rng.shuffle(held)
        events.append(FinalRead(rng.randint(1, 3), rng.randint(0, 1), tuple(held)))
    rng.shuffle(events)
    return sorted(events, key=lambda event: event.incarnation)  # type: ignore[attr-defined]  # all are local


def found(verdict: Verdict) -> Finding:
    return verdict.status, None if verdict.violation is None else verdict.violation.witness


@pytest.mark.parametrize("seeds", sweep((range(400), range(TRACES)), normal=(range(400),)), ids=str)
def test_every_verdict_and_witness_is_that_of_the_literal_reading(seeds: range) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        events = events_of(seed)
        got = {verdict.property: found(verdict) for verdict in check(whole(events), NAMES)}
        reading = Reading(events)
        assert got == {name: literal(reading) for name, literal in OF_CLIENTS.items()}, f"seed {seed}"
        seen.update((name, status) for name, (status, _) in got.items())
    assert all(
        seen[name, status] > len(seeds) // 40 for name in NAMES for status in ("holds", "violated", "not exercised")
    )


def test_no_merge_of_the_logs_changes_a_verdict_or_a_witness() -> None:
    for seed in range(0, TRACES, 10):
        events = events_of(seed)
        merged = merge(Random(seed), events)
        assert list(map(found, check(whole(events), NAMES))) == list(map(found, check(whole(merged), NAMES)))


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_without_clients_does_not_exercise_them(name: str) -> None:
    for seed in range(100):
        [verdict] = check(whole(random_trace(seed).events), [name])
        assert (verdict.status, verdict.judged) == ("not exercised", 0)
