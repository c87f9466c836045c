"""Attempts, and the shortest schedule that shows the same; what a schedule shows is a function of the test here."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from tests.ensemble import fake_zookeeper
from tests.ensemble.processes import until
from tests.ensemble.recordings import BEGIN, Recording
from zabcheck.ensemble.recording.records import Chose
from zabcheck.ensemble.run import search
from zabcheck.ensemble.run.distribution import Distribution
from zabcheck.ensemble.run.draw import draw
from zabcheck.ensemble.run.ensemble import EnsembleError
from zabcheck.ensemble.run.schedule import AnyChoice, Await, Choice, EnsembleSchedule, Kill, Resume, Start, Wait, Write
from zabcheck.ensemble.run.search import Attempt, attempt, attempts, idle_in, minimise
from zabcheck.ensemble.verdict.judge import judge

LONG = 60.0
"""Seconds: more than any test here needs."""


def of(*choices: AnyChoice) -> EnsembleSchedule:
    return EnsembleSchedule(1, "zookeeper", 3, choices)


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
    assert tried < 20 + 10 * len(schedule.choices)


@pytest.mark.parametrize("seed", range(30))
def test_of_what_depends_on_several_at_once_none_can_be_left_out(seed: int) -> None:
    """It is shown by choices of an even number above one: leaving out one never shows it, leaving out two may."""
    schedule = draw(seed, 3)

    def shows(candidate: EnsembleSchedule) -> bool:
        return len(candidate.choices) % 2 == len(schedule.choices) % 2 and len(candidate.choices) > 1

    found = minimise(schedule, shows, LONG)
    assert shows(found)
    for at in range(len(found.choices)):
        assert not shows(of(*found.choices[:at], *found.choices[at + 1 :]))


def test_less_is_written_as_far_as_it_shows_it() -> None:
    schedule = of(Write("A", 300, 10_000), Write("B", 300, 10_000))

    def shows(candidate: EnsembleSchedule) -> bool:
        writes = [choice for choice in candidate.choices if isinstance(choice, Write)]
        return len(writes) == 2 and writes[0].count >= 15 and writes[1].size >= 1000

    assert minimise(schedule, shows, LONG).choices == (Write("A", 20, 10), Write("B", 1, 1000))


def test_what_never_shows_it_again_stays_as_it_is() -> None:
    schedule = draw(1, 3)
    assert minimise(schedule, lambda _: False, LONG) == schedule


def test_what_did_nothing_is_left_out_first() -> None:
    """Also what does nothing only now that the others are gone."""
    wanted = [Kill("A"), Start("A")]
    schedule = of(Start("B"), Kill("A"), Resume("C"), Start("A"), Await("A", "B"))
    tried: list[EnsembleSchedule] = []
    idle = {schedule: [0, 2], of(Kill("A"), Start("A"), Await("A", "B")): [2]}

    def shows(candidate: EnsembleSchedule) -> bool:
        tried.append(candidate)
        return contains(candidate, [*wanted])

    def idle_in_the_last_that_showed() -> list[int]:
        shown = [schedule, *(each for each in tried if contains(each, [*wanted]))]
        return idle.get(shown[-1], [])

    assert minimise(schedule, shows, LONG, idle_in_the_last_that_showed) == of(*wanted)
    assert tried[:2] == [of(Kill("A"), Start("A"), Await("A", "B")), of(*wanted)]


def test_what_did_nothing_is_told_by_the_recording(tmp_path: Path) -> None:
    notes = {
        0: "passed over: it is up",
        1: "no such packet came",
        2: "only 0 of them: nothing is answered",
        3: "only 17 of them: nothing is answered",
        4: "nobody leads",
        5: "some writes have no answer",
        6: "",
    }
    recording = Recording(tmp_path)
    for number, note in notes.items():
        recording.record.record(Chose(BEGIN, number, "kill -9 of A"))
        recording.record.record(Chose(BEGIN, number, "kill -9 of A", note))
    assert idle_in(tmp_path) == [0, 1, 2]


def test_what_did_nothing_and_matters_all_the_same_stays() -> None:
    """Being passed over may take time that something needs."""
    schedule = of(Await("A", "B"), Kill("A"))
    assert minimise(schedule, lambda candidate: candidate == schedule, LONG, lambda: [0]) == schedule


def test_each_candidate_has_a_second_attempt_after_all_have_had_one() -> None:
    schedule = of(Kill("A"), Kill("B"), Kill("C"))
    tried: list[EnsembleSchedule] = []

    def shows(candidate: EnsembleSchedule) -> bool:
        tried.append(candidate)
        return False

    assert minimise(schedule, shows, LONG) == schedule
    one_out = [of(Kill("B"), Kill("C")), of(Kill("A"), Kill("C")), of(Kill("A"), Kill("B"))]
    assert tried == [*one_out, *one_out]


def leftover(chance: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many choices too many are left of 40 schedules, when what shows it does so with this chance.

    A run takes 5 seconds of a clock that the test has.
    """
    clock = 0.0
    monkeypatch.setattr(search, "monotonic", lambda: clock)
    left = 0
    for seed in range(40):
        schedule = draw(seed, 3)
        rng = Random(seed)
        wanted = [schedule.choices[at] for at in sorted(rng.sample(range(len(schedule.choices)), 3))]

        def shows(candidate: EnsembleSchedule) -> bool:
            nonlocal clock
            clock += 5
            return contains(candidate, wanted) and rng.random() < chance  # noqa: B023  # called in this turn only

        found = minimise(schedule, shows, seconds)
        assert contains(found, wanted)
        left += len(found.choices) - len(wanted)
    return left


def test_what_shows_it_now_and_then_is_short_too(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = sum(len(draw(seed, 3).choices) - 3 for seed in range(40))
    assert leftover(1.0, 1e6, monkeypatch) == 0
    assert leftover(0.5, 1e6, monkeypatch) < 0.05 * drawn
    assert leftover(0.5, 120, monkeypatch) < 0.4 * drawn
    once = leftover(0.3, 1e6, monkeypatch)
    monkeypatch.setattr(search, "ATTEMPTS", 1)
    assert once < 0.7 * leftover(0.3, 1e6, monkeypatch)


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
    assert tried.judged.observation.partial == (f"the recording is not complete: {tried.error}",)
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
    """So a version without the bug is judged by the same."""
    found = Attempt(of(), judge(Path(__file__).parents[1] / "lost-write-3.8.0"), 1.0)
    assert found.shows("ZOOKEEPER-4712")
    assert not found.shows("ZOOKEEPER-4394")
    other = found._replace(judged=found.judged._replace(zookeeper="3.9.5", known=[]))
    assert other.shows("ZOOKEEPER-4712")
    assert other.shows("durability")
