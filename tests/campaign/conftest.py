"""One Spark for all tests that need it, as to start it takes as long as many of them; and campaigns made once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.campaign.campaigns import MUTANTS, NUMBER, made
from tests.cli.conftest import zabcheck  # noqa: F401  # the command, for the tests here too
from zabcheck.campaign import tables
from zabcheck.campaign.results import Tables
from zabcheck.campaign.session import session
from zabcheck.campaign.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """A real one, on two cores of this machine. Tests that use it belong to the xdist group "spark"."""
    with pytest.MonkeyPatch.context() as patch:
        # What is compiled for long runs is not worth it here, and one collector thread does.
        patch.setenv("ZABCHECK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        patch.setenv("SPARK_DRIVER_MEMORY", "2g")
        patch.delenv("SPARK_REMOTE", raising=False)
        patch.setattr("zabcheck.campaign.tasks.PATIENCE", 3600.0)  # a busy machine is not told of
        started = session("local[2,4]")
        started.conf.set("spark.sql.shuffle.partitions", 2)
        # Queries are interpreted: to compile each takes longer than it runs.
        started.conf.set("spark.sql.codegen.wholeStage", False)
        started.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        yield started
        started.stop()


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """300 runs in six parts, with two mutants and without. Nothing may be changed in it."""
    return made(tmp_path_factory.mktemp("campaign") / "with mutants", NUMBER, MUTANTS)


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """100 runs in two parts, of the protocol as it is. Nothing may be changed in it."""
    return made(tmp_path_factory.mktemp("campaign") / "sound", 100, (None,))


@pytest.fixture(scope="session")
def found(campaign: Store) -> Tables:
    """The tables of `campaign`, made in this process; one test compares them with those that Spark makes."""
    plan = campaign.plan()
    assert plan is not None
    tables.check(campaign)
    return tables.make(None, campaign, plan)
