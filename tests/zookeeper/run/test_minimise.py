"""The shortest schedule that shows the same; what a schedule shows is a function of the test here."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from tests.zookeeper.recordings import BEGIN, Recording
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import Cast, Chose, Reached, Run
from zabcheck.zookeeper.run import minimise as minimising
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.links import Await
from zabcheck.zookeeper.run.choices.points import Go, KillAtPoint, PowerLoss, Stop
from zabcheck.zookeeper.run.choices.servers import Kill, Resume, Start
from zabcheck.zookeeper.run.choices.writes import Wait, Write
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.minimise import idle_in, minimise
from zabcheck.zookeeper.run.schedule import EnsembleSchedule

LONG = 60.0
"""Seconds: more than any test here needs."""


def of(*choices: Choice) -> EnsembleSchedule:
    return EnsembleSchedule(1, "zookeeper", 3, choices)


def contains(schedule: EnsembleSchedule, wanted: list[Choice]) -> bool:
    """Return True if these choices are in it, in this order."""
    rest = iter(schedule.choices)
    return all(choice in rest for choice in wanted)


@pytest.mark.parametrize("seed", range(20))
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
    assert tried < 20 + 12 * len(schedule.choices)


@pytest.mark.parametrize("seed", range(10))
def test_choices_that_are_needed_together_all_stay(seed: int) -> None:
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


def test_a_power_failure_loses_no_more_and_no_less_than_it_has_to() -> None:
    plain, partial = PowerLoss("A", "log-force", 2), PowerLoss("A", "log-force", 2, 1, 20, "lost")
    assert minimise(of(Kill("B"), partial), lambda each: len(each.choices) > 1, LONG) == of(Kill("B"), plain)
    assert minimise(of(Kill("B"), partial), lambda each: partial in each.choices, LONG) == of(partial)


def test_what_never_shows_it_again_stays_as_it_is() -> None:
    schedule = draw(1, 3)
    assert minimise(schedule, lambda _: False, LONG) == schedule


def test_choices_that_did_nothing_are_left_out_first() -> None:
    """So are those that do nothing only now that the others are gone."""
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
    assert list(dict.fromkeys(tried))[:3] == [schedule, of(Kill("A"), Start("A"), Await("A", "B")), of(*wanted)]


def test_what_did_nothing_is_told_by_the_recording(tmp_path: Path) -> None:
    """Whatever its words are."""
    recording = Recording(tmp_path)
    for number, idle in enumerate((True, True, False)):
        recording.record.record(Chose(BEGIN, number, "kill -9 of A"))
        recording.record.record(Chose(BEGIN, number, "kill -9 of A", "so it was", idle))
    assert idle_in(tmp_path) == [0, 1]


def test_stops_to_which_no_thread_came_did_nothing(tmp_path: Path) -> None:
    """Server 2 is B; of its two stops one is come to, and the other server's of the same name is not."""
    schedule = EnsembleSchedule(
        2,
        "zookeeper",
        3,
        (
            Stop("B", "sync-force"),
            Stop("C", "sync-force"),
            KillAtPoint("B", "learner-serve"),
            PowerLoss("B"),
            PowerLoss("B", "log-force"),
            Stop("leader", "sync-force"),
            Go("B", "sync-force"),
            Go("C", "sync-force"),
            Kill("A"),
        ),
    )
    recorder = Recorder(tmp_path)
    recorder.record(Run(1, "3.8.0", 3, msgspec.to_builtins(schedule)))
    recorder.record(Cast(BEGIN, {"A": 3, "B": 2, "C": 1}))
    recorder.record(Reached(BEGIN, 2, "sync-force", "SyncThread:2", "held"))
    recorder.record(Chose(BEGIN, 8, "kill -9 of A", "passed over: it is down", True))
    recorder.close()
    assert idle_in(tmp_path) == [1, 2, 4, 7, 8]


def test_a_choice_that_did_nothing_and_matters_stays() -> None:
    """Being passed over may take time that something needs."""
    schedule = of(Await("A", "B"), Kill("A"))
    assert minimise(schedule, lambda candidate: candidate == schedule, LONG, lambda: [0]) == schedule


def test_each_candidate_has_more_attempts_after_all_have_had_one() -> None:
    schedule = of(Kill("A"), Kill("B"), Kill("C"))
    one_out = [of(Kill("B"), Kill("C")), of(Kill("A"), Kill("C")), of(Kill("A"), Kill("B"))]
    for always, tries in ((True, 1), (False, 2)):
        tried: list[EnsembleSchedule] = []

        def shows(candidate: EnsembleSchedule) -> bool:
            tried.append(candidate)  # noqa: B023  # called in this turn only
            return always and candidate == schedule  # noqa: B023  # as above

        assert minimise(schedule, shows, LONG) == schedule
        twice = [each for each in one_out for _ in range(tries)]
        assert tried == [schedule, schedule, *one_out, *twice]


@pytest.mark.parametrize(
    ("shown", "kept"),
    [("11", True), ("101", True), ("011", True), ("100", False), ("010", False), ("00", False)],
)
def test_a_candidate_has_to_show_it_in_two_of_three_attempts(shown: str, kept: bool) -> None:
    schedule, shorter = of(Kill("A"), Start("A")), of(Start("A"))
    results = list(shown)
    keeps: list[bool] = []

    def shows(candidate: EnsembleSchedule) -> bool:
        return candidate == schedule or (candidate == shorter and results.pop(0) == "1")

    assert minimise(schedule, shows, LONG, keep=lambda: keeps.append(True)) == (shorter if kept else schedule)
    assert results == []
    assert keeps == [True] * kept


def test_one_of_three_is_enough_if_the_schedule_itself_shows_it_no_more_often() -> None:
    schedule, shorter = of(Kill("A"), Start("A")), of(Start("A"))
    results = {schedule: list("010"), shorter: list("001")}

    def shows(candidate: EnsembleSchedule) -> bool:
        return candidate in results and results[candidate].pop(0) == "1"

    assert minimise(schedule, shows, LONG) == shorter


def leftover(chance: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many choices too many are left of 40 schedules, if each execution shows it with this chance.

    A run takes 5 seconds of a clock that the test has.
    """
    clock = 0.0
    monkeypatch.setattr(minimising, "monotonic", lambda: clock)
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
    assert leftover(0.7, 1e6, monkeypatch) < 0.05 * drawn
    assert leftover(0.5, 1e6, monkeypatch) < 0.1 * drawn
    assert leftover(0.2, 1e6, monkeypatch) < 0.25 * drawn
    assert leftover(0.5, 120, monkeypatch) < 0.6 * drawn
    few = leftover(0.3, 1e6, monkeypatch)
    monkeypatch.setattr(minimising, "ATTEMPTS", 1)
    monkeypatch.setattr(minimising, "NEEDED", 1)
    assert few < 1.1 * leftover(0.3, 1e6, monkeypatch)


def test_what_is_left_shows_it_as_often_as_what_was_found() -> None:
    """A race: each of some choices that are not needed makes it likelier. Without them it is shown too seldom."""
    helping = [Wait(number / 10) for number in range(8)]
    kept = []
    for seed in range(30):
        rng = Random(seed)

        def chance(candidate: EnsembleSchedule) -> float:
            return 0.1 * sum(each in candidate.choices for each in helping) if Kill("A") in candidate.choices else 0

        def shows(candidate: EnsembleSchedule) -> bool:
            return rng.random() < chance(candidate)  # noqa: B023  # called in this turn only

        kept.append(chance(minimise(of(Kill("A"), *helping), shows, LONG)))
    assert sum(kept) / len(kept) > 0.28


@pytest.mark.parametrize("seconds", [0, 7, 20])
def test_the_search_ends_in_time(seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes 5 seconds; the one that is under way when time is over is the last."""
    clock = 0.0

    def shows(candidate: EnsembleSchedule) -> bool:
        nonlocal clock
        clock += 5
        return False

    monkeypatch.setattr(minimising, "monotonic", lambda: clock)
    schedule = draw(3, 5)
    assert minimise(schedule, shows, seconds) == schedule
    assert seconds <= clock < seconds + 5
