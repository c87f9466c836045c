"""Which servers may come to serve, as servers and links are; the servers are fakes that do nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ensemble import fake_zookeeper
from zabcheck.ensemble.distribution import Distribution
from zabcheck.ensemble.ensemble import Ensemble


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[Ensemble]:
    """Three servers that are up."""
    distribution = Distribution("3.8.0", fake_zookeeper.java(tmp_path, "silent"), str(tmp_path))
    with Ensemble(3, distribution, tmp_path, lambda _: None) as ensemble:
        for number in ensemble.servers:
            ensemble.start(number)
        yield ensemble


def test_a_server_that_is_down_or_stands_still_may_not_serve(ensemble: Ensemble) -> None:
    assert ensemble.may_serve() == [1, 2, 3]
    ensemble.servers[2].pause()
    assert ensemble.may_serve() == [1, 3]
    ensemble.servers[1].kill()
    assert ensemble.may_serve() == []
    ensemble.servers[2].resume()
    assert ensemble.may_serve() == [2, 3]


def test_a_server_that_reaches_no_quorum_may_not_serve(ensemble: Ensemble) -> None:
    """One direction is enough to keep two servers apart. Who leads needs a link to each of a quorum."""
    ensemble.proxy.cut(1, 2)
    assert ensemble.may_serve() == [1, 2, 3], "server 3 may lead the others"
    ensemble.proxy.cut(3, 1)
    assert ensemble.may_serve() == [2, 3]
    ensemble.proxy.cut(2, 3)
    assert ensemble.may_serve() == []
    ensemble.proxy.heal()
    assert ensemble.may_serve() == [1, 2, 3]
