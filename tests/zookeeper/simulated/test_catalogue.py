"""The known bugs of ZooKeeper on simulated servers show in the versions in which they show on processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generators.zookeeper_catalogue import SHOWN
from zabcheck.zookeeper.bugs.catalogue import BUGS, Bug
from zabcheck.zookeeper.bugs.executed import not_executable
from zabcheck.zookeeper.run.distribution import DEBIAN, PYSPARK, Distribution, find
from zabcheck.zookeeper.run.search import attempt
from zabcheck.zookeeper.simulated.pool import simulated

CLASSPATHS = {"3.8.0": ":".join(map(str, DEBIAN)), "3.9.5": PYSPARK}


@pytest.fixture(scope="module", params=CLASSPATHS)
def servers(request: pytest.FixtureRequest) -> Iterator[Distribution]:
    with simulated(find(classpath=CLASSPATHS[request.param])) as servers:
        yield servers


@pytest.mark.zookeeper
@pytest.mark.xdist_group("simulated")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_shows_in_the_versions_that_have_it(servers: Distribution, bug: Bug, tmp_path: Path) -> None:
    schedule = bug.schedule()
    shown = False
    if not not_executable(schedule, servers):
        tried = attempt(schedule, servers, tmp_path / "run")
        assert tried.error == ""
        shown = any(map(tried.shows, bug.finds))
    assert shown == bool(SHOWN[bug.name][servers.version][0])
