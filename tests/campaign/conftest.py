"""One Spark for all tests that need it: to start it takes as long as many of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import zabcheck  # noqa: F401  # the command, for the tests here too
from zabcheck.campaign.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """A real one, on two cores of this machine. Tests that use it belong to the xdist group "spark"."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZABCHECK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        patch.setenv("SPARK_DRIVER_MEMORY", "1g")
        started = session("local[2,4]")
        started.conf.set("spark.sql.shuffle.partitions", 4)
        yield started
        started.stop()
