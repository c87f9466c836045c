"""Reports of the variables of a class of one's own: what changed, and nothing else."""

import pytest

from tests.protocols.own.changing import Changing
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.terminal import render_step, text_of
from zabcheck.counterexample.pieces import entries_of
from zabcheck.counterexample.story import Story, states_after
from zabcheck.protocols.adapter import register
from zabcheck.search.run import schedule_of
from zabcheck.simulation.choices import Request


@pytest.fixture(scope="module")
def told() -> Story:
    return explain(schedule_of(register(Changing).name, None, 1, [Request(1)] * 3))


def test_every_kind_of_value_is_shown_by_what_changed_in_it(told: Story) -> None:
    [entry] = entries_of(told.moments[0], {})
    action, *changes = [piece.text for piece in entry.pieces]
    assert action == "client: request"
    assert changes == [
        "votes +1",
        "vote.voters +1",
        "ballot.round 1→2",
        "entry.value 1→2",
        "log +Entry(y, 2)",
        "best +p +q",
        "text …aaaaaaaabcccccccc…→…aaaaaaaadcccccccc…",
        "acks[7] +4 +5",
        "heard[5] +(epoch 2, voters 6 7)",
    ]


def test_a_record_that_a_dictionary_gets_or_loses_is_one_change(told: Story) -> None:
    said = [
        [piece.text for entry in entries_of(moment, {}) for piece in entry.pieces if piece.text.startswith("heard")]
        for moment in told.moments
    ]
    assert said == [["heard[5] +(epoch 2, voters 6 7)"], ["heard[5].epoch 2→3"], ["heard[5] −"]]


def test_the_variables_after_a_step_are_those_that_the_process_has(told: Story) -> None:
    """A variable may have been ⊥ before, or be it again."""
    first, second = states_after(told, 0)[1], states_after(told, 1)[1]
    assert (first["votes"], first["best"], first["acks[7]"]) == (("1", "2", "9"), ("p", "q"), ("4", "5"))
    assert (second["best"], second["vote.voters"]) == ("⊥", ("1", "3"))


def test_one_step_shows_only_the_new_members_of_a_set_as_new(told: Story) -> None:
    lines = text_of(render_step(told, 0), 100).splitlines()
    assert ["votes", "2", "9", "+1"] in [line.split() for line in lines]
