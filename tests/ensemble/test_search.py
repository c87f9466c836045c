"""Attempts, and the shortest schedule that shows the same; what a schedule shows is a function of the test here."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.ensemble import fake_zookeeper
from zabcheck.ensemble import search
from zabcheck.ensemble.distribution import Distribution
from zabcheck.ensemble.draw import draw
from zabcheck.ensemble.ensemble import EnsembleError
from zabcheck.ensemble.schedule import Choice, EnsembleSchedule, Wait, Write
from zabcheck.ensemble.search import attempt, minimise

LONG = 60.0
"""Seconds: more than any test here needs."""


def contains(schedule: EnsembleSchedule, wanted: list[Choice]) -> bool:
    """Whether these choices are in it, in this order."""
    rest = iter(schedule.choices)
    return all(choice in rest for choice in wanted)


@pytest.mark.parametrize("seed", range(60))
def test_nothing_can_be_left_out_of_what_is_found(seed: int) -> None:
    schedule = draw(seed, 3)
    rng = Random(seed)
    size = rng.randint(0, min(4, len(schedule.choices)))
    wanted = [schedule.choices[at] for at in sorted(rng.sample(range(len(schedule.choices)), size))]
    tried = 0

    def shows(candidate: EnsembleSchedule) -> bool:
        nonlocal tried
        tried += 1
        assert candidate.seed == schedule.seed
        return contains(candidate, wanted)

    assert minimise(schedule, shows, LONG).choices == tuple(wanted)
    assert tried < 20 + 8 * len(schedule.choices)


@pytest.mark.parametrize("seed", range(30))
def test_of_what_depends_on_several_at_once_none_can_be_left_out(seed: int) -> None:
    """It is shown by choices of an even number above one: leaving out one never shows it, leaving out two may."""
    schedule = draw(seed, 3)

    def shows(candidate: EnsembleSchedule) -> bool:
        return len(candidate.choices) % 2 == len(schedule.choices) % 2 and len(candidate.choices) > 1

    found = minimise(schedule, shows, LONG)
    assert shows(found)
    for at in range(len(found.choices)):
        assert not shows(search._with(found, found.choices[:at] + found.choices[at + 1 :]))


def test_less_is_written_as_far_as_it_shows_it() -> None:
    schedule = EnsembleSchedule(1, "zookeeper", 3, (Write("A", 300, 10_000), Write("B", 300, 10_000)))

    def shows(candidate: EnsembleSchedule) -> bool:
        writes = [choice for choice in candidate.choices if isinstance(choice, Write)]
        return len(writes) == 2 and writes[0].count >= 15 and writes[1].size >= 1000

    assert minimise(schedule, shows, LONG).choices == (Write("A", 20, 10), Write("B", 1, 1000))


def test_what_never_shows_it_again_stays_as_it_is() -> None:
    schedule = draw(1, 3)
    assert minimise(schedule, lambda _: False, LONG) == schedule


@pytest.mark.parametrize("seconds", [0, 7, 20])
def test_the_search_ends_in_time(seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes 5 seconds; the one that is under way when time is over is the last."""
    clock = 0.0

    def shows(candidate: EnsembleSchedule) -> bool:
        nonlocal clock
        clock += 5
        return False

    monkeypatch.setattr(search, "monotonic", lambda: clock)
    schedule = draw(3, 5)
    assert minimise(schedule, shows, seconds) == schedule
    assert seconds <= clock < seconds + 5


def raising(error: BaseException) -> Callable[..., Any]:
    def execute(schedule: EnsembleSchedule, distribution: Distribution, folder: Path) -> None:
        (folder / "server-1").mkdir()
        (folder / "server-1" / "myid").touch()
        (folder / "recording.jsonl").write_text('{"record":"run","version":1,"zookeeper":"3.8.0","servers":3}\n')
        raise error

    return execute


def test_an_attempt_that_fails_is_told_and_its_data_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution = Distribution("3.8.0", fake_zookeeper.java(tmp_path, "exits"), "")
    schedule = EnsembleSchedule(1, "zookeeper", 3, (Wait(0.0),))
    tried = attempt(schedule, distribution, tmp_path / "run")
    assert tried.error.startswith("server ")
    assert (tried.interrupted, tried.judged.wrong, tried.schedule) == (False, [], schedule)
    assert tried.judged.observation.partial == (f"the recording is not complete: {tried.error}",)
    assert {file.name for file in (tmp_path / "run").glob("server-*")} == {f"server-{n}.0.log" for n in (1, 2, 3)}
    monkeypatch.setattr(search, "execute", raising(KeyboardInterrupt()))
    tried = attempt(schedule, distribution, tmp_path / "run")
    assert (tried.interrupted, tried.error) == (True, "")
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"recording.jsonl"}
    monkeypatch.setattr(search, "execute", raising(EnsembleError("broken")))
    assert attempt(schedule, distribution, tmp_path / "run", keep_data=True).error == "broken"
    assert (tmp_path / "run" / "server-1" / "myid").exists()
