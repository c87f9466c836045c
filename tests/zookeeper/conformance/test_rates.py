"""The rates of faults in drawn runs, and what is more frequent with a patch."""

from math import comb, isclose
from pathlib import Path

import pytest
from msgspec import structs

from tests.cli.command import ROOT
from tests.zookeeper import real
from zabcheck.zookeeper.conformance import rates
from zabcheck.zookeeper.conformance.gate import of_rates
from zabcheck.zookeeper.conformance.rates import Rates, Tally, by_chance, drawn, marks_of, measured, raised, sights
from zabcheck.zookeeper.run.choices.points import PowerLoss, Stop
from zabcheck.zookeeper.run.choices.servers import Kill, Start
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.places import executable
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge
from zabcheck.zookeeper.verdict.known_issues import issue_named


def judged(name: str) -> RecordingVerdict:
    return judge(ROOT / "tests/zookeeper" / name)


@pytest.mark.parametrize(("shown", "runs", "before", "of"), [(3, 10, 1, 20), (4, 4, 0, 4), (0, 5, 2, 7), (5, 8, 5, 6)])
def test_the_probability_is_that_of_all_ways_to_draw(shown: int, runs: int, before: int, of: int) -> None:
    total = shown + before
    ways = sum(comb(runs, each) * comb(of, total - each) for each in range(shown, min(total, runs) + 1))
    assert isclose(by_chance(shown, runs, before, of), ways / comb(runs + of, total), rel_tol=1e-9)


def test_more_is_raised_only_if_chance_does_not_explain_it_and_it_is_much_more() -> None:
    before = Rates(10_000, {"often": 5000, "seldom": 10})
    [found] = raised({"often": 700, "seldom": 12, "new": 1}, 1000, before)
    assert (found.mark, found.shown, found.before) == ("seldom", 12, 10)
    assert found.sentence().startswith("in 12 of 1,000 runs, without a patch in 10 of 10,000 (by chance: ")
    assert [each.mark for each in raised({"new": 20, "seldom": 20}, 1000, before)] == ["new", "seldom"]
    assert list(raised({"often": 999}, 1000, before)) == [], "almost twice as often is not enough"


def test_marks_are_the_faults_and_the_bugs_that_a_run_looks_like() -> None:
    found = judged("lost-write-3.8.0")
    assert marks_of(found) == [*found.wrong, *(f"looks like {each.issue.name}" for each in found.known)]
    unknown = found._replace(known=[])
    assert marks_of(unknown) == [*found.wrong, *(f"{name}, like no known bug" for name in found.wrong)]
    assert marks_of(judged("healthy-3.8.0")) == []


def test_a_tally_looks_now_and_then_and_keeps_the_shortest_schedules() -> None:
    lost = judged("lost-write-3.8.0")
    long, short = sorted((drawn(1), drawn(2)), key=lambda each: -len(each.choices))
    tally = Tally(Rates(1000, {}))
    for number in range(rates.FIRST_LOOK):
        assert tally.look() is None
        tally.add(Attempt(short if number == 3 else long, lost, 1.0, "no answer" if number < 2 else ""))
    found = tally.look()
    assert found is not None
    assert (found.shown, found.runs) == (rates.FIRST_LOOK, rates.FIRST_LOOK)
    assert tally.shortest["durability"] == short
    assert (tally.failed, tally.in_a_row, tally.error) == (2, 0, "no answer")
    assert tally.look() is None, "the next look comes later"
    assert tally.look(last=True) == found


def test_a_fault_is_compared_with_the_runs_in_which_it_was_looked_for() -> None:
    marks = {"nobody leads": 12, "nobody leads, like no known bug": 12}
    fewer, none = (Rates(1000, {}, {"nobody leads": of}) for of in (220, 0))
    assert [each.of for each in raised(marks, 24, fewer)] == [220, 220]
    assert not [*raised(marks, 24, none)], "nothing is known of it"
    [found] = raised({"lower vote": 1}, 1000, none)
    assert found.sentence() == "in 1 of 1,000 runs; a server that is sound never does that", "one is enough"


def test_a_tenth_of_the_runs_may_fail() -> None:
    """In the others nothing is wrong; more of them are no pass, whatever the reason is."""
    healthy = judged("healthy-3.8.0")
    for failed, status in ((2, "passed"), (3, "inconclusive")):
        tally = Tally(Rates(1000, {}))
        for number in range(20):
            tally.add(Attempt(drawn(1), healthy, 1.0, "they try again" if number < failed else ""))
        assert of_rates(tally, "").status == status


def test_a_mark_names_its_fault_or_the_issues_of_its_bug() -> None:
    marks = {"durability": 90, "durability, like no known bug": 80, "looks like ZOOKEEPER-4643": 70}
    assert [each.name for each in raised(marks, 100, Rates(1000, {}))] == [
        "durability",
        "durability",
        issue_named("ZOOKEEPER-4643").key,
    ]


def test_the_least_share_that_is_told_falls_with_the_runs() -> None:
    tally = Tally(Rates(1000, {}))
    assert tally.least == 1.0
    tally.runs = 100
    assert by_chance(round(100 * tally.least), 100, 0, 1000) < rates.UNLIKELY
    assert by_chance(round(100 * tally.least) - 1, 100, 0, 1000) >= rates.UNLIKELY


def test_what_was_measured_can_be_read_and_names_what_is_there() -> None:
    assert measured().keys() >= {"3.8.6", "3.9.4", "3.9.5"}
    for each in measured().values():
        assert all(0 < shown <= each.runs for shown in each.marks.values())
    seen = sights()["trunc-keeps-one"]
    assert seen.zookeeper in measured()
    assert seen.words() == f"1 in {seen.runs} ({seen.zookeeper})"
    assert "ZOOKEEPER-3642" not in sights(), "no version that can be run has it"


def test_drawn_runs_lose_power() -> None:
    assert sum(drawn(seed).cuts_power for seed in range(0, 200, 2)) > 10
    assert not any(isinstance(choice, PowerLoss) for choice in drawn(1).choices)
    assert Path(rates.FILE).exists()


def test_choices_at_points_that_patched_code_lacks_are_left_out(tmp_path: Path) -> None:
    schedule = structs.replace(drawn(2), choices=(Kill("B"), Stop("B", "sync-force"), Start("B")))
    there = Distribution("3.9.5", tmp_path, real.classpath())
    assert executable(schedule, there) == (schedule, ())
    without, lacking = executable(schedule, there._replace(classpath=str(tmp_path)))
    assert lacking == ("sync-force",)
    assert without.choices == (Kill("B"), Start("B"))
