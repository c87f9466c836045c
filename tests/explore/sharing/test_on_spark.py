"""A search on Spark finds what one on this machine finds, in the same order, and goes on after it was ended."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.campaign.conftest import spark, zabcheck  # noqa: F401  # one Spark for all tests
from tests.cli.conftest import Command
from tests.explore.at_once.test_many import ABRUPT, ANY, ORACLE, by_vote, space
from tests.explore.told import everything
from zabcheck.explore import space as module
from zabcheck.explore.at_once import many as many_module
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.explored import Explored
from zabcheck.explore.sharing.on_spark import InParquet, Spark
from zabcheck.explore.shortest import search
from zabcheck.explore.space import Space
from zabcheck.explore.states.checkpoint import CheckpointError
from zabcheck.explore.tables.reduction import MayLeave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]

SMALL = Bounds(2, 1, 1, ANY, ANY)


@pytest.fixture
def cluster(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spark:  # noqa: F811  # the fixture that is imported above
    """Levels are expanded there that are not worth it, and a few states at once."""
    monkeypatch.setattr(module, "LARGE_ON_SPARK", 5)
    monkeypatch.setattr(many_module, "FEWEST", 4)
    monkeypatch.setattr(many_module, "MOST", 4)
    monkeypatch.setattr(module, "_LOOK", 1)
    monkeypatch.setattr("zabcheck.explore.states.checkpoint._SHARE", 0)  # after each level, however slow the disk is
    return Spark(spark, tmp_path / "states")


def test_a_known_bug_is_found_by_the_same_run(cluster: Spark) -> None:
    """Rows, how they were found, the run to what is broken, and the tables."""
    there = space(SMALL, ABRUPT, "commit-on-own-ack")
    assert everything(there, spark=cluster) == everything(space(SMALL, ABRUPT, "commit-on-own-ack"))
    assert isinstance(there.states, InParquet)


def test_elections_by_vote_are_made_as_on_this_machine(cluster: Spark) -> None:
    there = by_vote(Bounds(2, 2, 1, 1, 1), ORACLE)
    assert everything(there, levels=9, spark=cluster) == everything(by_vote(Bounds(2, 2, 1, 1, 1), ORACLE), levels=9)
    assert isinstance(there.states, InParquet)


def test_a_search_that_was_ended_goes_on_from_the_last_level(cluster: Spark, tmp_path: Path) -> None:
    """It is ended as kill -9 ends it: nothing is written any more. A level that was begun is there, in part."""

    class Killed(Exception):
        pass

    def look() -> None:
        if (cluster.folder / "level-0002").exists():
            raise Killed

    file = tmp_path / "checkpoint"
    with pytest.raises(Killed):
        space(SMALL, ABRUPT).explore(spark=cluster, checkpoint=file, every=0, look_for_interrupt=look)
    (cluster.folder / "level-0003").mkdir()
    (cluster.folder / "level-0003" / "part-0.parquet").touch()
    with pytest.raises(CheckpointError, match="expected a search on Spark, which this is the checkpoint of"):
        space(SMALL, ABRUPT).explore(checkpoint=file, resume=True)
    resumed = space(SMALL, ABRUPT)
    found = everything(resumed, levels=7, spark=cluster, checkpoint=file, resume=True, every=0)
    assert found == everything(space(SMALL, ABRUPT), levels=7)


def test_a_search_without_a_checkpoint_leaves_the_folder_to_one_that_has_one(
    cluster: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search in vain is followed by one without a checkpoint; and what it has left can be gone on from."""
    folders, search_here = list[Path](), Space.explore

    def recorded(self: Space, *_: object, **how: Any) -> Explored:
        folders.append(how["spark"].folder)
        if len(folders) == 1:
            raise MayLeave
        return search_here(self)

    monkeypatch.setattr(Space, "explore", recorded)
    found = search(lambda _: space(SMALL, ABRUPT), reduction=True, spark=cluster, checkpoint=tmp_path / "checkpoint")
    assert found.found.whole
    assert folders == [cluster.folder, cluster.folder / "apart"]


@pytest.mark.usefixtures("cluster")
def test_the_command_goes_on_with_what_is_in_its_folder(
    zabcheck: Command,  # noqa: F811  # the fixture that is imported above
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LARGE_ON_SPARK", 3)
    few = ("explore", "--processes", "2", "--epochs", "1", "--txns", "0", "--format", "json")
    there = zabcheck(*few, "--master", "local[2]", "--out", "there")
    assert Path("there/states/level-0001").is_dir()
    assert zabcheck(*few, "--master", "local[2]", "--out", "there").code == 2
    again = zabcheck(*few, "--master", "local[2]", "--out", "there", "--resume")
    here = zabcheck(*few)
    for field in ("states", "transitions", "depth", "parts", "exercised", "goals", "followed", "whole"):
        assert there.json[field] == again.json[field] == here.json[field], field
