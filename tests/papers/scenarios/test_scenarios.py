"""Each scenario has the outcome that it must have, and says what it is."""

import pytest
from msgspec.structs import replace

from invariants import FURTHER, PROPERTIES, Recover
from zabcheck.papers.scenarios import MODULES, SCENARIOS
from zabcheck.papers.scenarios.base import HandWrittenTrace, Outcome, Scenario
from zabcheck.papers.scenarios.play import play
from zabcheck.search.goals import GOALS
from zabcheck.search.run import replay

each_scenario = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


@each_scenario
def test_a_scenario_has_its_outcome(scenario: Scenario) -> None:
    assert play(scenario).unmet == ()


@each_scenario
def test_it_says_what_it_is(scenario: Scenario) -> None:
    assert scenario.name.replace("-", "").isalnum()
    assert not scenario.title.endswith(".")
    assert "\n" not in scenario.title
    assert scenario.source
    assert 2 <= scenario.shows.count(". ") + 1 <= 5
    assert scenario.shows.endswith(".")


@each_scenario
def test_it_demands_something_that_there_is(scenario: Scenario) -> None:
    outcome = scenario.outcome
    assert outcome.violated or outcome.holds
    named = [*outcome.holds, *([outcome.violated] if outcome.violated else [])]
    assert set(named) <= {*PROPERTIES, *FURTHER}
    assert set(outcome.goals) <= set(GOALS)
    assert len(set(named)) == len(named)


@each_scenario
def test_a_schedule_is_executed_without_a_choice_that_does_nothing(scenario: Scenario) -> None:
    if not isinstance(scenario.run, HandWrittenTrace):
        assert replay(scenario.run).skipped == 0


def test_the_reason_is_told_in_the_words_of_the_property() -> None:
    told = [each for each in SCENARIOS.values() if each.outcome.witness is not None]
    assert told == [each for each in SCENARIOS.values() if each.witness]
    assert len(told) == 2
    for each in told:
        [violation] = [v.violation for v in play(each).story.verdicts if v.property == each.outcome.violated]
        assert violation is not None
        assert violation.summary == each.outcome.witness


def test_another_witness_is_told() -> None:
    assert play(replace(FIGURE_4, witness=(Recover(1, 1),))).unmet == (
        "strict causality is violated for another reason: p1 delivered v⟨1,1⟩ and v'⟨2,1⟩, of which neither precedes "
        "the other: p1 broadcast the one in epoch 1, p2 the other in epoch 2",
    )


def test_no_two_have_one_name() -> None:
    assert list(SCENARIOS) == [scenario.name for module in MODULES for scenario in module.SCENARIOS]


FIGURE_4 = SCENARIOS["dsn-figure-4"]


@pytest.mark.parametrize(
    ("outcome", "unmet"),
    [
        (Outcome(), "violated: primary integrity, strict causality"),
        (Outcome(violated="total order"), "total order is not violated"),
        (Outcome(violated="primary integrity", holds=("prefix",)), "prefix: not exercised"),
        (Outcome(violated="primary integrity", delivered={1: "v⟨1,1⟩"}), "p1 delivers v⟨1,1⟩ v'⟨2,1⟩ v''⟨3,1⟩"),
        (Outcome(violated="primary integrity", delivered={4: "v⟨1,1⟩"}), "p4 delivers nothing"),
        (Outcome(violated="primary integrity", histories={1: "v⟨1,1⟩"}), "p1 has in its log nothing"),
        (Outcome(violated="primary integrity", goals=("truncation",)), "not reached: truncation"),
    ],
)
def test_what_does_not_come_about_is_told(outcome: Outcome, unmet: str) -> None:
    assert play(replace(FIGURE_4, outcome=outcome, witness=())).unmet == (unmet,)
