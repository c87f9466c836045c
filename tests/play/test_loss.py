"""A run in which a user loses something, by the bug of a run that only a property of the proof shows."""

import pytest

from tests.cli.command import ROOT
from zabcheck.counterexample.pieces import LOSSES
from zabcheck.play.loss import find_loss, lost_in
from zabcheck.search.run import Replay, replay
from zabcheck.simulation import schedule


def of_gallery(mutant: str) -> Replay:
    return replay(schedule.load((ROOT / f"reports/gallery/{mutant}.schedule.json").read_bytes(), mutant))


def broken(replayed: Replay) -> list[str]:
    return [verdict.property for verdict in replayed.verdicts if verdict.status == "violated"]


def test_a_user_notices_the_six_and_what_clients_rely_on() -> None:
    assert LOSSES == (
        "integrity",
        "total order",
        "agreement",
        "local primary order",
        "global primary order",
        "primary integrity",
        "durability",
        "final agreement",
    )


@pytest.mark.slow
def test_what_breaks_an_invariant_goes_on_to_a_loss() -> None:
    first = of_gallery("commit-on-own-ack")
    assert not lost_in(broken(first))
    found = find_loss(first, tries=20, runs=200, seconds=0.5)
    assert found is not None
    assert lost_in(broken(found))
    assert found.schedule.mutant == "commit-on-own-ack"
    assert found.schedule.violates == broken(found)[0]
    assert lost_in(broken(replay(found.schedule)))


def test_an_epoch_that_does_not_get_on_loses_nothing() -> None:
    assert find_loss(of_gallery("ignore-closed-connection"), tries=20, runs=20) is None
