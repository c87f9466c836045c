"""The story as JSON: all of it is there, as it was."""

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.counterexample.stories import HOSTILE, broken, scheduled, traced
from zabcheck.counterexample.forms.story_json import fields, to_json
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Decisive, RaisedException, Story
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules


def read(story: Story) -> Any:
    data = to_json(story)
    assert msgspec.json.decode(data) == json.loads(data) == fields(story)
    return json.loads(data)


@pytest.mark.parametrize("story", [broken(3), broken(5, HOSTILE), scheduled("no-truncation.agreement")])
def test_the_events_of_the_steps_are_those_of_the_trace(story: Story) -> None:
    document = read(story)
    shown = [event for step in document["steps"] for event in step["events"]]
    events = replay(schedules.load(story.schedule, "")).events[1:-1]
    traced = [msgspec.to_builtins(event) for event in events]
    assert shown == [event for event in traced if event["event"] not in ("send", "receive")]
    assert len(document["messages"]) == sum(event["event"] == "send" for event in traced)


def test_the_witness_says_in_which_steps_it_is() -> None:
    story = scheduled("no-truncation.agreement")
    document = read(story)
    found = {(each["step"], each["label"]) for each in document["witness"]}
    assert found == {(step, label) for (step, _), label in labels_by_step(story).items()}
    steps = {step["step"]: step for step in document["steps"]}
    for each in document["witness"]:
        assert each["event"] in steps[each["step"]]["events"]
        assert each["event"] in document["violation"]["witness"]


def test_states_follow_from_the_first_ones_and_the_changes() -> None:
    story = broken(3, HOSTILE)
    document = read(story)
    states = {each["process"]: each["variables"] for each in document["initial"]}
    assert list(states) == [1, 2, 3]
    for step in document["steps"]:
        for change in step["changes"]:
            state, variable = states[change["process"]], change["variable"]
            if change["is_sequence"]:
                kept = state[variable][: len(state[variable]) - len(change["removed"])]
                assert state[variable] == kept + change["removed"]
                state[variable] = kept + change["added"]
            else:
                assert [state[variable]] == change["removed"]
                [state[variable]] = change["added"]
    assert any(HOSTILE in entry for entry in states[1]["h_f"])


def test_messages_say_which_steps_they_were_in() -> None:
    document = read(broken(3))
    steps = {step["step"]: step for step in document["steps"]}
    messages = {message["number"]: message for message in document["messages"]}
    assert {message["lost"] for message in messages.values()} > {None}
    for step in document["steps"]:
        assert all(messages[number]["lost"] == step["step"] for number in step["lost"])
    for message in messages.values():
        assert message["to"] in {to for sent in steps[message["sent"]]["sent"] for to in sent["to"]}
        if message["received"] is not None:
            assert steps[message["received"]]["process"] == message["to"]
            assert steps[message["received"]]["peer"] == message["sender"]


def test_the_schedule_is_the_object_that_its_file_holds() -> None:
    story = broken(3, HOSTILE)
    schedule = read(story)["schedule"]
    assert schedules.dump(schedules.load(json.dumps(schedule).encode(), "")) == story.schedule
    assert read(replace(story, schedule=b""))["schedule"] is None


def test_deliveries_and_the_rest() -> None:
    story = broken(3, HOSTILE)
    document = read(story)
    assert {"process": 1, "incarnation": 0, "txns": [{"zxid": [1, 1], "value": HOSTILE}]} in document["delivered"]
    assert document["sha256"] == story.sha256
    assert document["violation"]["property"] == "primary integrity"
    assert len(document["verdicts"]) == len(story.verdicts)
    assert (document["raised"], document["decisive"]) == (None, None)
    more = replace(
        story,
        raised=RaisedException(1, "a stimulus", "an error", ("a line",)),
        decisive=Decisive(3, 2, "p1 leads p2", 1, (1, 2), "After step 3."),
        explanation=("Once.", "Twice."),
    )
    document = read(more)
    assert document["raised"]["traceback"] == ["a line"]
    assert document["decisive"] == {
        "step": 3,
        "tried": 2,
        "saved_by": "p1 leads p2",
        "leader": 1,
        "members": [1, 2],
        "sentence": "After step 3.",
        "unfinished": 0,
    }
    assert document["explanation"] == ["Once.", "Twice."]


def test_half_of_a_surrogate_pair_is_told() -> None:
    story = broken(3)
    flights = tuple(replace(flight, text="\ud800\\") for flight in story.flights)
    document = read(replace(story, flights=flights, initial={1: {"\udfff": ("\ud800",)}}))
    assert document["messages"][0]["text"] == "\\ud800\\"
    assert document["initial"] == [{"process": 1, "variables": {"\\udfff": ["\\ud800"]}}]


def test_every_field_of_a_story_is_told() -> None:
    told_otherwise = {"choices", "moments", "flights", "trace", "servers", "is_minimal"}
    """In the schedule, as steps, as messages, in the steps, in what is noticed, and by `run`."""
    assert set(Story.__struct_fields__) - told_otherwise <= set(read(broken(3)))


def test_a_trace_has_no_schedule_and_its_steps_are_lines() -> None:
    document = read(traced())
    assert (document["schedule"], document["unit"]) == (None, "line")
    assert document["steps"][0]["step"] == 2
    assert document["messages"]


def test_the_same_story_gives_the_same_bytes() -> None:
    assert to_json(broken(3)) == to_json(broken(3))
