"""Attempts at schedules, one after the other or beside each other."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.zookeeper import fake_zookeeper
from tests.zookeeper.processes import until
from zabcheck.zookeeper.run import search
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.writes import Wait
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.search import Attempt, attempt, attempts
from zabcheck.zookeeper.trace.notes import NotComplete
from zabcheck.zookeeper.verdict.judge import judge

LONG = 60.0
"""Seconds: more than any test here needs."""


def of(*choices: Choice) -> EnsembleSchedule:
    return EnsembleSchedule(1, "zookeeper", 3, choices)


def raising(error: BaseException) -> Callable[..., Any]:
    def execute(
        schedule: EnsembleSchedule, distribution: Distribution, folder: Path, stop: object, exact: bool
    ) -> None:
        (folder / "server-1").mkdir()
        (folder / "server-1" / "myid").touch()
        (folder / "recording.jsonl").write_text('{"record":"run","version":1,"zookeeper":"3.8.0","servers":3}\n')
        raise error

    return execute


def test_an_attempt_that_fails_is_told_and_its_data_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution = Distribution("3.8.0", fake_zookeeper.java(tmp_path, "exits"), "")
    schedule = of(Wait(0.0))
    tried = attempt(schedule, distribution, tmp_path / "run")
    assert tried.error.startswith("server ")
    assert (tried.interrupted, tried.judged.wrong, tried.schedule) == (False, [], schedule)
    assert tried.judged.observation.partial == (NotComplete(tried.error),)
    assert {file.name for file in (tmp_path / "run").glob("server-*")} == {f"server-{n}.0.log" for n in (1, 2, 3)}
    monkeypatch.setattr(search, "execute", raising(KeyboardInterrupt()))
    tried = attempt(schedule, distribution, tmp_path / "run")
    assert (tried.interrupted, tried.error) == (True, "")
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"recording.jsonl"}
    monkeypatch.setattr(search, "execute", raising(EnsembleError("broken")))
    assert attempt(schedule, distribution, tmp_path / "run", keep_data=True).error == "broken"
    assert (tmp_path / "run" / "server-1" / "myid").exists()


class Runs:
    """Runs that are executed beside each other, without an ensemble; `ends` says how each of them ends."""

    def __init__(self, folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tasks = [(of(Wait(float(number))), folder / f"run-{number}") for number in range(count)]
        self.begun: list[str] = []
        monkeypatch.setattr(search, "execute", self.execute)

    def ends(self, folder: Path, stop: Event) -> None:
        """At once."""

    def execute(
        self, schedule: EnsembleSchedule, distribution: Distribution, folder: Path, stop: Event, exact: bool
    ) -> None:
        self.begun.append(folder.name)
        (folder / "recording.jsonl").write_text('{"record":"run","version":1,"zookeeper":"3.8.0","servers":3}\n')
        self.ends(folder, stop)

    def attempts(self, jobs: int) -> Generator[Attempt, None, None]:
        return attempts(self.tasks, Distribution("3.8.0", Path("java"), ""), None, jobs)


def test_attempts_are_told_in_their_order_whichever_ends_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, 4, monkeypatch)
    second = Event()

    def the_first_ends_after_the_second(folder: Path, stop: Event) -> None:
        if folder.name == "run-0":
            assert second.wait(LONG)
        elif folder.name == "run-1":
            second.set()

    monkeypatch.setattr(runs, "ends", the_first_ends_after_the_second)
    told = [*runs.attempts(2)]
    assert [each.schedule for each in told] == [schedule for schedule, _ in runs.tasks]
    assert sorted(runs.begun) == ["run-0", "run-1", "run-2", "run-3"]


def never_by_itself(folder: Path, stop: Event) -> None:
    assert stop.wait(LONG)
    raise KeyboardInterrupt


def test_after_ctrl_c_what_is_under_way_is_told_and_no_more_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, 9, monkeypatch)
    monkeypatch.setattr(runs, "ends", never_by_itself)
    wait = search.wait
    calls = 0

    def interrupted_once(futures: list[Future[Attempt]]) -> object:
        nonlocal calls
        calls += 1
        if calls == 1:
            until(lambda: len(runs.begun) == 2)
            raise KeyboardInterrupt
        return wait(futures)

    monkeypatch.setattr(search, "wait", interrupted_once)
    told = [*runs.attempts(2)]
    assert [(each.schedule, each.interrupted) for each in told] == [(runs.tasks[0][0], True), (runs.tasks[1][0], True)]
    assert {each.name for each in tmp_path.iterdir()} == {"run-0", "run-1"}


def test_what_is_not_taken_is_ended_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, 9, monkeypatch)

    def only_the_first(folder: Path, stop: Event) -> None:
        if folder.name != "run-0":
            never_by_itself(folder, stop)

    monkeypatch.setattr(runs, "ends", only_the_first)
    (tmp_path / "run-8").mkdir()
    tried = runs.attempts(2)
    assert not next(tried).interrupted
    until(lambda: len(runs.begun) == 3)
    tried.close()
    assert {each.name for each in tmp_path.iterdir()} == {"run-0", "run-8"}, "that of an earlier search stays"


def test_a_run_shows_a_known_issue_whatever_its_version_if_it_looks_like_it() -> None:
    """A version without the bug is judged by the same."""
    found = Attempt(of(), judge(Path(__file__).parents[1] / "lost-write-3.8.0"), 1.0)
    assert found.shows("ZOOKEEPER-4712")
    assert not found.shows("ZOOKEEPER-4394")
    other = found._replace(judged=found.judged._replace(zookeeper="3.9.5", known=[]))
    assert other.shows("ZOOKEEPER-4712")
    assert other.shows("durability")
