"""The place where the model and a real ensemble part, as a story: the run up to there, and what the ensemble did."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.tiers import sweep
from tests.zookeeper.conformance.test_conform import ALTERED, HEALTHY, LOST_WRITE, QUICK, altered
from zabcheck.counterexample.story import states_after
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Recover
from zabcheck.zookeeper.conformance.conform import conform
from zabcheck.zookeeper.conformance.on_servers import as_servers_are, translate
from zabcheck.zookeeper.conformance.story import Where, of_execution, of_recording
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

KEPT = Path(__file__).parents[1] / "model/schedules"


def test_the_last_row_is_the_packet_that_nothing_leads_to() -> None:
    found = conform(LOST_WRITE, "3.9.2")
    story = of_recording(found)
    assert found.before is not None
    last = story.moments[-1]
    assert last.step == len(found.before.choices) + 1
    assert (last.process, last.action) == (1, "→ p2 ACK(⟨1,4⟩), packet 48")
    sent = story.flights[-1]
    assert (sent.sender, sent.to, sent.name, sent.sent, sent.received) == (1, 2, "ACK(⟨1,4⟩)", last.step, None)
    assert story.mismatch is not None
    assert story.mismatch.summary == (
        "server 1: nothing in the model of ZooKeeper 3.9.2 leads to packet 48: ACK(⟨1,4⟩) to server 2"
    )
    facts = dict(story.mismatch.facts)
    assert facts["instead, in the model"] == ("it would wait for server 2, of which nothing was passed on after that",)
    assert facts["explained before"] == ("18 of 136 observations of server 1",)
    assert facts["left open"] == ("server 2: it was sent a tree (packet 135) that is not known",)


def test_what_does_not_fit_together_is_left_out_and_the_page_says_so() -> None:
    found = conform(LOST_WRITE, "3.9.2")
    assert found.before is not None
    more = replace(found.before, choices=(Recover(1), *found.before.choices))  # it is up
    story = of_recording(replace(found, before=more))
    assert len(story.moments) == len(of_recording(found).moments)
    assert story.mismatch is not None
    assert dict(story.mismatch.facts)["left out"] == ("1 choice: the parts of the servers do not fit together",)


@pytest.mark.parametrize(
    "name", sweep((*QUICK, "an ACK too early", "a snapshot is missing", "an answer too early"), normal=QUICK)
)
def test_the_run_ends_in_the_state_that_every_attempt_reached(name: str, tmp_path: Path) -> None:
    """The simulator executes what each server's search has found, so both have to be in the same state."""
    found = conform(altered(HEALTHY, tmp_path, ALTERED[name][0]))
    story, first = of_recording(found), found.differences[0]
    state = states_after(story, len(story.moments) - 1)[first.server]
    for variable, value in first.state.items():
        reached = state[variable]
        assert value.split()[-1:] == (reached.split() if isinstance(reached, str) else [*reached])[-1:], variable
    assert story.moments[-1].process == first.server
    assert story.mismatch is not None
    others = dict(story.mismatch.facts).get("differs, too", ())
    assert len(others) == len(found.differences) - 1


def test_what_servers_had_instead_of_the_model_ends_the_run_that_they_executed() -> None:
    file = KEPT / "4712c.schedule.json"
    run = as_servers_are(schedules.load(file.read_bytes(), file.name), "3.8.0")
    translation = translate(run)
    where = Where(3, "receive process 2, sender 1", 3, "state", "2", "1")
    story = of_execution(run, translation.executed, where, "3.8.0")
    assert len(story.moments) == 5
    assert (story.moments[-1].process, story.moments[-1].action) == (3, "state: the model has 2, the server 1")
    assert story.mismatch is not None
    assert story.mismatch.summary == (
        "server 3 of ZooKeeper 3.8.0, after choice 3 of 28, receive process 2, sender 1: "
        "state: the model has 2, the server 1"
    )
    assert (story.violation, story.schedule) == (None, b"")


def test_servers_may_differ_before_the_first_choice() -> None:
    run = schedules.Schedule(1, "zookeeper", 3, (), switches=ZooKeeperSwitches(elections="oracle"))
    story = of_execution(run, (), Where(-1, "", 1, "up", "True", "False"), "3.9.5")
    assert [(each.step, each.process) for each in story.moments] == [(1, 1)]
    assert story.mismatch is not None
    assert "at the start" in story.mismatch.summary
