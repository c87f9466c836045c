"""The chance that a property breaks from each position of a run, and a run from here that breaks one."""

import pytest
from msgspec.structs import replace

from tests.cli.command import ROOT
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.chances import break_from_here, chances
from zabcheck.play.session import Session
from zabcheck.search.run import replay
from zabcheck.simulation import choices, schedule

LED = (choices.Lead(1, (2, 3)), choices.Settle(9), choices.Request(1))


@pytest.mark.slow
def test_the_share_grows_to_all_as_the_bug_of_a_saved_run_happens() -> None:
    saved = schedule.load((ROOT / "reports/gallery/no-truncation.schedule.json").read_bytes(), "saved")
    session = Session.of(mutated("zab", saved.mutant), saved)
    found = chances(session, session.here.broken[0], tries=16)
    assert len(found) == len(session.here.path)
    assert found[0] < 8 < found[-2]
    assert found[-1] == 16
    assert chances(session, session.here.broken[0], tries=16) == found
    assert session.here.path == session.positions  # it has gone nowhere


@pytest.mark.slow
def test_a_property_that_only_the_end_of_a_run_breaks_is_broken_by_that() -> None:
    """A leader asks for ever, for a change that was cut off: the calm end of a run shows it."""
    file = ROOT / "tests/schedules/keep-cut-off-change.convergence.json"
    saved = schedule.load(file.read_bytes(), "saved")
    bug = mutated(saved.protocol, saved.mutant)
    assert chances(Session.of(bug, saved), "convergence", tries=1)[-1] == 1
    session = Session.of(bug, replace(saved, choices=saved.choices[:-1]))
    found = break_from_here(session, ["convergence"], tries=100)
    assert found is not None
    assert isinstance(found[-1], choices.Stabilise)
    assert session.follow(found) == 0
    assert "convergence" in [v.property for v in replay(session.schedule()).verdicts if v.status == "violated"]


def test_nothing_breaks_zab_as_it_is() -> None:
    session = Session(mutated("zab"), 3)
    session.follow(LED)
    assert chances(session, "agreement", tries=20) == [0, 0, 0, 0]
    assert break_from_here(session, session.properties, tries=100) is None


@pytest.mark.slow
def test_a_violation_from_here_has_no_choice_that_is_not_needed() -> None:
    session = Session(mutated("zab", "commit-on-own-ack"), 3)
    session.follow(LED[:2])
    found = break_from_here(session, ["chosen"])
    assert found == (choices.Request(1), choices.Sync(1))
    assert session.follow(found) == 0
    assert session.here.broken == ("chosen",)
    assert "chosen" in [v.property for v in replay(session.schedule()).verdicts if v.status == "violated"]


def test_there_has_to_be_such_a_property() -> None:
    with pytest.raises(ValueError, match="chosem"):
        chances(Session(mutated("zab"), 3), "chosem")
