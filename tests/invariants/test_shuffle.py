"""Only each process's own order matters, so a trace merged from logs without a clock is as good as any other."""

from random import Random

import pytest
from msgspec.structs import replace

from invariants import Event, Verdict, check
from tests.invariants.builders import merge, whole
from tests.invariants.recorded import PROCESSES, RECORDED
from tests.invariants.traces import random_trace
from tests.tiers import sweep

BLOCK = 250
QUICK = range(30)
"""The seeds of the normal tier."""


def findings(events: list[Event], processes: int = 9) -> list[tuple[Verdict, tuple[Event, ...], str]]:
    """The verdicts, without the number of the event with which a violation was found."""
    return [
        (replace(verdict, violation=None), found.witness if found else (), found.summary if found else "")
        for verdict in check(whole(events, "per-process", processes=processes))
        for found in [verdict.violation]
    ]


@pytest.mark.parametrize(
    "seeds",
    sweep(
        [QUICK, range(len(QUICK), BLOCK), *(range(first, first + BLOCK) for first in range(BLOCK, 2000, BLOCK))],
        normal=[QUICK],
    ),
    ids=lambda seeds: f"from-{seeds[0]}",
)
def test_no_merge_of_the_logs_changes_a_verdict_or_a_witness(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        expected = findings(events)
        rng = Random(seed)
        for _ in range(4):
            assert findings(merge(rng, events)) == expected, f"seed {seed}"


@pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::120]))
def test_no_merge_of_what_a_simulator_showed_changes_a_verdict_or_a_witness(name: str) -> None:
    events = RECORDED[name]()
    expected = findings(events, PROCESSES[name])
    rng = Random(name)
    for _ in range(100):
        assert findings(merge(rng, events), PROCESSES[name]) == expected


@pytest.mark.parametrize("seeds", sweep((QUICK, range(len(QUICK), 1000)), normal=(QUICK,)), ids=str)
def test_a_log_after_another_is_a_merge_too(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        expected = findings(events)
        for sign in (1, -1):
            in_a_row = sorted(events, key=lambda event: sign * event.process)  # type: ignore[attr-defined]  # all local
            assert findings(in_a_row) == expected, f"seed {seed}"
