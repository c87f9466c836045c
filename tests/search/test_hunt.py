"""Hunts: how soon a known bug is found, and when a search for it ends."""

from typing import Any

import pytest

from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.search import hunt as hunts
from zabcheck.search.engines import Engine
from zabcheck.search.hunt import Budget, hunt, row_of
from zabcheck.search.minimise import Shortened, minimise
from zabcheck.search.run import Run, replay

SOON, LATE = CATALOGUE["commit-on-own-ack"], CATALOGUE["counter-wraps"]


@pytest.mark.parametrize("engine", Engine)
def test_what_is_found_breaks_the_property_again(engine: Engine) -> None:
    found = hunt(SOON, 1, engine, Budget(runs=50), shorten=minimise)
    assert found.property is not None
    assert found.schedule is not None
    replayed = replay(found.schedule, [found.property])
    assert [verdict.status for verdict in replayed.verdicts] == ["violated"]
    assert found.minimised == replayed.steps
    assert 1 <= found.runs <= 50
    assert found.schedule.mutant == SOON.name


def test_a_bug_is_not_found_by_what_its_protocol_does_not_promise() -> None:
    """Primary integrity breaks without the bug, too, and sooner."""
    bug = CATALOGUE["hand-over-newest-alone"]
    found = hunt(bug, 1, budget=Budget(runs=200), shorten=lambda _, schedule, __: Shortened(schedule, False))
    assert found.property in bug.breaks
    assert found.schedule is not None
    said = [verdict.property for verdict in replay(found.schedule).verdicts if verdict.status == "violated"]
    assert "primary integrity" in said


def test_a_hunt_ends_with_its_runs() -> None:
    found = hunt(LATE, 1, budget=Budget(runs=4))
    assert (found.property, found.runs, found.schedule, found.minimised) == (None, 4, None, None)


@pytest.mark.parametrize("engine", Engine)
def test_a_hunt_ends_when_somebody_says_so(engine: Engine) -> None:
    seen: list[Run] = []
    found = hunt(LATE, 1, engine, on_run=seen.append, over=lambda: len(seen) == 2)
    assert (found.property, found.runs, len(seen)) == (None, 2, 2)


def test_a_hunt_ends_with_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(hunts, "process_time", lambda: next(now))
    found = hunt(LATE, 1, budget=Budget(seconds=5))
    assert (found.property, found.runs) == (None, 6)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["redeliver-with-gap", "deliver-initial-history-last"])
def test_what_only_the_end_of_a_run_shows_is_found_even_if_the_time_is_over(mutant: str) -> None:
    """Integrity is one such property: what was delivered could still be broadcast."""
    budget = Budget(runs=400)
    late = hunt(CATALOGUE[mutant], 1, budget=budget, properties=("integrity",), shorten=minimise)
    assert late.property == "integrity"
    runs = 0

    def count(_: Any) -> None:
        nonlocal runs
        runs += 1

    found = hunt(
        CATALOGUE[mutant],
        1,
        budget=budget,
        properties=("integrity",),
        on_run=count,
        over=lambda: runs == late.runs,
        shorten=minimise,
    )
    assert (found.property, found.runs, found.minimised) == (late.property, late.runs, late.minimised)


def test_a_row_counts_only_what_was_found() -> None:
    some = [hunt(LATE, seed, budget=Budget(runs=45), shorten=minimise) for seed in range(1, 5)]
    found = [each for each in some if each.property is not None]
    row = row_of(LATE.name, some)
    assert 0 < len(found) < 4
    assert (row.hunts, row.found, sum(row.first.values())) == (4, len(found), len(found))
    assert row.runs is not None
    assert row.runs.most == max(each.runs for each in found)
    nothing = row_of(LATE.name, [each for each in some if each.property is None])
    assert (nothing.found, nothing.first, nothing.runs, nothing.minimised) == (0, {}, None, None)
