"""`zabcheck zookeeper points`."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.zookeeper import fake_zookeeper
from zabcheck.zookeeper.debugger.catalogue import CATALOGUE

POINTS = ("zookeeper", "points", "--classpath", "pyspark")


def test_every_point_is_listed_with_its_place(zabcheck: Command) -> None:
    result = zabcheck(*POINTS)
    assert (result.code, result.err) == (0, "")
    said = " ".join(result.out.split())
    assert [name for name in CATALOGUE if f"{name} " not in said] == []
    assert "Learner.syncWithLeader, after QuorumPeer.setCurrentEpoch, line " in said
    assert "not in this version: quorum.Learner.syncWithLeader does not call LearnerZooKeeperServer.startup" in said
    assert f"{len(CATALOGUE) - 1} of {len(CATALOGUE)} points are in ZooKeeper 3.9." in said


def test_points_that_are_asked_for_in_their_order(zabcheck: Command) -> None:
    found = zabcheck(*POINTS, "log-force", "ack", "--format", "json").json
    assert [each["point"] for each in found["points"]] == ["log-force", "ack"]
    assert all(each["places"] for each in found["points"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("log-forse", "no point `log-forse`; did you mean `log-force`?"),
        (
            "learner-start-threads",
            " has no point `learner-start-threads`: quorum.Learner.syncWithLeader does not call ",
        ),
    ],
)
def test_a_point_that_is_not_there(name: str, message: str, zabcheck: Command) -> None:
    result = zabcheck(*POINTS, name)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_jars_that_are_none(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "damaged.jar").write_bytes(b"no jar")
    for path, message in (("damaged.jar", "expected a jar"), ("gone.jar", "expected a jar or a folder"), ("", "empty")):
        result = zabcheck("zookeeper", "points", "--classpath", path)
        assert (result.code, result.out) == (2, "")
        assert message in result.err
    result = zabcheck(*POINTS, "--zookeeper-home", ".")
    assert (result.code, result.err) == (2, "zabcheck: --zookeeper-home and --classpath: expected one of them\n")


def test_a_schedule_with_a_point_that_the_version_lacks_is_not_begun(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(
        '{"version":2,"protocol":"zookeeper","servers":3,'
        '"choices":[{"choice":"stop","server":"A","point":"learner-start-threads"}]}'
    )
    java = fake_zookeeper.java(tmp_path, "serves", "3.9.5")
    result = zabcheck("replay", "s.json", "--java", str(java), "--classpath", "pyspark")
    assert (result.code, result.out) == (2, "")
    assert "s.json: ZooKeeper 3.9." in result.err
    assert "has no point `learner-start-threads`: " in result.err
