"""Schedules that other runs can make shorter than leaving out can, and schedules that stay as they are."""

from collections.abc import Sequence

import pytest

from invariants.quorums import MAJORITY, quorums_of
from tests.search.builders import breaks_alone, failure_of, minimised
from zabcheck.mutants.catalogue import mutated
from zabcheck.search import minimise as minimising
from zabcheck.search.minimise import SECONDS, shortest
from zabcheck.search.run import Search, named_by, simulate
from zabcheck.search.swarm import drive, find
from zabcheck.simulation.schedule import Schedule


def found(mutant: str, seed: int, property_: str, processes: int | None = None) -> Schedule:
    broken = find(Search(mutated("zab", mutant), processes, (property_,), rng=seed))
    assert broken is not None
    return broken.schedule


def shortened(schedule: Schedule, property_: str, seconds: float = SECONDS, keep: Sequence[str] = ()) -> Schedule:
    return shortest(named_by(schedule), schedule, property_, seconds, keep).schedule


def steps(schedule: Schedule, property_: str) -> int:
    failure = failure_of(schedule, property_)
    assert failure is not None
    return failure.steps


SHORT, LONG = ("commit-on-own-ack", "agreement"), ("no-truncation", "total order")


@pytest.mark.parametrize(
    ("mutant", "property_", "seed"),
    [(*SHORT, 3), (*LONG, 1)],
)
@pytest.mark.slow
def test_it_breaks_the_same_property_in_no_more_steps(mutant: str, property_: str, seed: int) -> None:
    schedule = found(mutant, seed, property_)
    short = shortened(schedule, property_)
    assert breaks_alone(short)
    assert short.violates == property_
    assert steps(short, property_) <= steps(minimised(schedule, property_), property_)


@pytest.mark.slow
def test_what_leaving_out_gets_stuck_with_becomes_shorter() -> None:
    """The shortest counterexample of this bug has 20 steps, and most runs lead to longer ones."""
    schedules = [found("history-by-zxid-only", seed, "primary integrity") for seed in (3, 4)]
    lengths = [steps(minimised(each, "primary integrity"), "primary integrity") for each in schedules]
    assert max(lengths) > 20
    assert [steps(shortened(each, "primary integrity"), "primary integrity") for each in schedules] == [20] * 2


@pytest.mark.slow
def test_settings_named_in_keep_stay() -> None:
    schedule = found("no-truncation", 1, "primary integrity", processes=5)
    short = shortened(schedule, "primary integrity", keep=("sync", "quorums"))
    assert short.processes <= 5
    assert short.switches.sync == schedule.switches.sync
    assert short.quorums == schedule.quorums


def test_without_time_the_schedule_comes_back_as_it_was_executed() -> None:
    schedule = found("no-truncation", 1, "total order")
    assert breaks_alone(shortened(schedule, "total order", seconds=0.0))


@pytest.mark.slow
def test_no_other_run_is_made_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = found("no-truncation", 1, "total order")
    driven: list[object] = []
    monkeypatch.setattr(minimising, "time_spent", lambda: float(len(driven)))  # a run takes a second, all else nothing
    monkeypatch.setattr(minimising.swarm, "drive", lambda *given: driven.append(given) or drive(*given))
    assert breaks_alone(shortened(schedule, "total order", seconds=9.0))
    assert len(driven) == 9


def test_without_time_it_is_executed_only_to_see_that_it_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, executed = found("no-truncation", 1, "total order"), []
    monkeypatch.setattr(minimising, "simulate", lambda *given: executed.append(given) or simulate(*given))
    shortened(schedule, "total order", seconds=0.0)
    assert len(executed) == 1


def test_one_that_breaks_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="does not break integrity"):
        shortest(mutated("zab", "no-truncation"), found("no-truncation", 1, "total order"), "integrity")


@pytest.mark.slow
def test_the_majority_is_worth_some_steps() -> None:
    """A result of a run with weights is looked for with the majority, unless the quorum system is to be kept."""
    weights = quorums_of("weights 3,4", 2)
    broken = find(
        Search(mutated("zab", "no-truncation"), properties=("agreement",), rng=1, quorums=weights, processes=2)
    )
    assert broken is not None
    schedule = broken.schedule
    assert schedule.quorums == "weights 3,4"
    assert shortened(schedule, "agreement").quorums == MAJORITY
    assert shortened(schedule, "agreement", keep=("quorums",)).quorums == "weights 3,4"
