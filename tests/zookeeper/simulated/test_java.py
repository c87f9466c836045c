"""The parts of the simulation that are in Java, by tests in Java: each class of tests runs in a JVM of its own."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import Result
from tests.cli.conftest import Command
from zabcheck.zookeeper.run.distribution import jars_of_pyspark
from zabcheck.zookeeper.simulated.simulator import JARS

HERE = Path(__file__).parent / "java"
CLASSES = sorted(path.relative_to(HERE / "tests") for path in (HERE / "tests").rglob("*Test.java"))
LINT = ("--release", "11", "-Werror", "-Xlint:all,-options,-serial")

pytestmark = [pytest.mark.kits, pytest.mark.xdist_group("simulated-java")]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tests, and one with the classes that they load in place of ZooKeeper's."""
    folder = tmp_path_factory.mktemp("classes")
    for name in ("servers", "tests"):
        sources = sorted((HERE / name).rglob("*.java"))
        on = os.pathsep.join(map(str, JARS)) if name == "tests" else str(folder)
        subprocess.run(["javac", *LINT, "-cp", on, "-d", folder / name, *sources], check=True)
    return folder


@pytest.mark.parametrize("test", CLASSES, ids=lambda path: path.stem)
def test_it(compiled: Path, test: Path) -> None:
    name = ".".join(test.with_suffix("").parts)
    path = os.pathsep.join(map(str, [compiled / "tests", *JARS]))
    command = ["java", f"-Dservers={compiled / 'servers'}", "-cp", path, "zabcheck.simulated.Tests", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: " in done.stdout


def simulated_with(zabcheck: Command, *folders: Path) -> Result:
    """Simulate servers whose class path begins with these folders."""
    path = os.pathsep.join(map(str, [*folders, *jars_of_pyspark()]))
    return zabcheck("zookeeper", "--simulated", "--seed", "1", "--runs", "1", "--classpath", path)


def test_a_release_that_cannot_be_simulated_is_bad_input_with_class_and_call(zabcheck: Command, compiled: Path) -> None:
    result = simulated_with(zabcheck, compiled / "servers")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: ZooKeeper 3.9.5 cannot be simulated: ")
    assert "org.apache.zookeeper.sample.Unknown.drained(Unknown.java:10): java.lang.NoSuchMethodError: " in result.err
    assert "Semaphore.drainPermits()" in result.err
    assert result.err.count("\n") == 1


def test_a_thread_that_blocks_in_earnest_is_told_and_the_run_is_inconclusive(
    zabcheck: Command, compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zabcheck.zookeeper.simulated.simulator.PATIENCE", 10)
    (tmp_path / "more").mkdir()
    (tmp_path / "more/blocks").touch()
    result = simulated_with(zabcheck, compiled / "servers", tmp_path / "more")
    assert (result.code, result.err) == (3, "")
    last = " ".join(result.out.split())
    assert "the ensemble itself failed in 1 of 1 run: the simulation failed: stuck: thread main of " in last
    assert "org.apache.zookeeper.server.quorum.QuorumPeerMain.main(QuorumPeerMain.java:" in last
