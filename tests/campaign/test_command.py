"""`zabcheck campaign` as its user sees it: what it makes and prints, and what it says to bad input."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.campaign.cluster import WAITING, wait_until
from tests.campaign.plans import made, rows
from tests.cli.command import ROOT, TIMEOUT, argv, environment, process
from tests.cli.conftest import Command
from zabcheck.campaign import driver
from zabcheck.campaign import session as sessions
from zabcheck.campaign.part import Maker
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.store import Store
from zabcheck.extras import pip_install
from zabcheck.mutants.catalogue import CATALOGUE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SMALL = ("campaign", "--runs", "20", "--seed", "1", "--steps", "50", "--processes", "3")
JAVA = {"ZABCHECK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def make_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the parts of a campaign made in this process, without Spark, and nothing minimised."""

    def ran(spark: object, store: Store, plan: Plan, show: object) -> None:
        for part in range(plan.parts):
            Maker(plan, store).make(part)

    monkeypatch.setattr(sessions, "session", lambda *_, **__: None)
    monkeypatch.setattr(driver, "run", ran)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """The folder of one whose parts are finished, as SMALL makes it, in the current folder; made without Spark."""
    store = made(tmp_path / "there", small())
    assert len(rows(store)) == 20
    return tmp_path / "there"


def small() -> Plan:
    from zabcheck.cli.campaign.plan import new_plan

    return new_plan({"runs": 20, "seed": 1, "steps": 50, "processes": 3})


def error(zabcheck: Command, *arguments: str) -> str:
    """The line that a command ends with, with exit code 2."""
    result = zabcheck(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: ")
    assert result.err.count("\n") == 1
    return result.err.removeprefix("zabcheck: ").rstrip("\n")


# What it makes.


@pytest.mark.slow
def test_a_planted_bug_is_exit_code_1_and_a_report(spark: "SparkSession", zabcheck: Command, tmp_path: Path) -> None:
    """In the folder that is named after the seed, with the runs of the protocol as it is."""
    result = zabcheck(*SMALL, "--mutant", "none", "--mutant", "commit-on-own-ack", "--minimise", "2")
    assert (result.code, result.err) == (1, "")
    assert "commit-on-own-ack" in result.out
    last = result.out.splitlines()[-1]
    assert last.startswith("FAIL: ")
    assert "violate a property, each of them with a planted bug; first chosen" in last
    assert last.endswith("; next: zabcheck campaign report reports/campaign-1")
    folder = tmp_path / "reports/campaign-1"
    assert {row["mutant"] for row in rows(Store(str(folder)))} == {None, "commit-on-own-ack"}
    schedule = next((folder / "findings").glob("*.schedule.json"))
    assert zabcheck("replay", schedule).code == 1


@pytest.mark.slow
def test_mutants_run_in_turn_with_the_protocol_as_it_is(
    spark: "SparkSession", zabcheck: Command, tmp_path: Path
) -> None:
    bugs = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab"]
    runs = str(2 * len(bugs) + 2)
    few = ("campaign", "--runs", runs, "--seed", "1", "--steps", "50", "--processes", "3", "--minimise", "0")
    zabcheck(*few, "--mutant", "none", "--mutant", "all", "--out", "all")
    found = rows(Store(str(tmp_path / "all")))
    assert {row["mutant"] for row in found} == {None, *bugs}
    assert found[0]["mutant"] is None


@pytest.mark.slow
def test_a_protocol_of_ones_own_is_found_where_the_command_runs(
    spark: "SparkSession", zabcheck: Command, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "tests/protocols/own/hasty.py", tmp_path / "hasty_one.py")
    result = zabcheck(
        "campaign", "--protocol", "hasty_one:Hasty", "--runs", "20", "--seed", "1", "--out", "own", "--minimise", "1"
    )
    assert (result.code, result.err) == (1, "")
    assert "hasty_one:Hasty" in result.out
    [*_, schedule] = sorted((tmp_path / "own/findings").glob("*.schedule.json"))
    assert zabcheck("replay", schedule, "--protocol", "hasty_one:Hasty").code == 1


@pytest.mark.slow
def test_without_out_the_folder_is_named_after_the_seed(
    spark: "SparkSession", zabcheck: Command, tmp_path: Path
) -> None:
    zabcheck(*SMALL)
    assert Store(str(tmp_path / "reports/campaign-1")).plan() is not None


# Going on.


@pytest.mark.slow
def test_one_whose_driver_is_killed_goes_on(tmp_path: Path) -> None:
    """SIGKILL for all of it, Java and workers too, as soon as a part is finished."""
    arguments = ("campaign", "--runs", "1600", "--seed", "1", "--steps", "100", "--out", "killed", "--keep", "none")
    running = subprocess.Popen(
        argv(*arguments), cwd=tmp_path, env=environment(**JAVA), stderr=subprocess.DEVNULL, start_new_session=True
    )
    store = Store(str(tmp_path / "killed"))
    deadline = time.monotonic() + TIMEOUT
    while len(store.finished()) < 2 and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    finished = store.finished()
    plan = store.plan()
    assert plan is not None
    assert 2 <= len(finished) < plan.parts
    before = {name: Path(store.root, name).stat().st_mtime_ns for name in finished.values()}
    result = process("campaign", "--resume", "--out", "killed", cwd=tmp_path, variables=JAVA)
    assert (result.code, result.err.replace(WAITING, "")) == (0, "")
    assert {name: Path(store.root, name).stat().st_mtime_ns for name in before} == before
    assert rows(store) == rows(made(tmp_path / "whole", plan))


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(
    spark: "SparkSession", zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(spark: object, store: Store, plan: Plan, show: object) -> None:
        Maker(plan, store).make(0)
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "run", interrupted)
    result = zabcheck(*SMALL, "--out", "it's")
    assert (result.code, result.out) == (3, "")
    goes_on = """zabcheck campaign --resume --out 'it'"'"'s'"""
    assert result.err == f"INCONCLUSIVE: interrupted: 2 of 20 runs are kept; next: {goes_on}\n"


def test_ctrl_c_while_spark_starts_keeps_the_plan(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(master: str | None, short: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sessions, "session", interrupted)
    result = zabcheck(*SMALL, "--out", "early")
    assert (result.code, result.out) == (3, "")
    goes_on = "zabcheck campaign --resume --out early"
    assert result.err == f"INCONCLUSIVE: interrupted: 0 of 20 runs are kept; next: {goes_on}\n"
    assert Store(str(tmp_path / "early")).plan() == small()


def test_code_that_raises_is_an_error_and_the_last_line_says_so(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_here(monkeypatch)
    result = zabcheck(*SMALL, "--protocol", "tests.protocols.own.raising:RaisingAtOnce", "--out", "raised")
    last = result.out.splitlines()[-1]
    assert (result.code, result.err) == (2, "")
    assert last.startswith("ERROR: the protocol's own code raised in 20 of 20 runs; nothing is judged there; next: ")


@pytest.mark.slow
def test_an_error_of_the_code_that_is_modelled_is_a_failure_and_the_last_line_says_so(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_here(monkeypatch)
    switches = ("--switch", "version=3.8.0", "--switch", "defects=4394", "--switch", "errors=raised")
    result = zabcheck(
        "campaign", "--runs", "40", "--seed", "1", "--protocol", "zookeeper", *switches, "--out", "errors"
    )
    last = result.out.splitlines()[-1]
    assert (result.code, result.err) == (1, "")
    assert re.match(r"FAIL: \d+ of 40 runs end with an error of the code that is modelled; next: ", last)
    assert re.search(r"as it is: 40 runs, \d+ of them end with an error of the code that is modelled", result.out)


@pytest.mark.slow
def test_resume_where_nothing_was_written_yet_begins(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_here(monkeypatch)
    (tmp_path / "empty").mkdir()
    for place in ("empty", "not/there"):
        result = zabcheck(*SMALL, "--resume", "--out", place)
        assert result.code in (0, 3)
        assert result.err == (
            f"zabcheck: --resume: nothing was written to {place} yet, so this begins at the beginning\n"
        )
        assert Store(str(tmp_path / place)).plan() == small()
        assert len(rows(Store(str(tmp_path / place)))) == 20


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_comes_to_the_command_and_spark_below_it(number: int, tmp_path: Path) -> None:
    """A terminal or `timeout` sends it to the group. Nothing is left in the folder for temporary files."""
    (tmp_path / "tmp").mkdir()
    running = subprocess.Popen(
        argv("campaign", "--runs", "4000", "--seed", "1", "--out", "it's", "--keep", "none"),
        cwd=tmp_path,
        env=environment(**JAVA, TMPDIR=str(tmp_path / "tmp")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    store = Store(str(tmp_path / "it's"))
    deadline = time.monotonic() + TIMEOUT
    while not store.finished() and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.05)
    os.killpg(running.pid, number)
    out, err = running.communicate(timeout=TIMEOUT)
    err = err.replace(WAITING, "")
    assert err.startswith("INCONCLUSIVE: interrupted: ")
    assert (running.returncode, out) == (3, "")
    assert err.endswith(""" of 4,000 runs are kept; next: zabcheck campaign --resume --out 'it'"'"'s'\n""")
    assert err.count("\n") == 1
    wait_until(lambda: not list((tmp_path / "tmp").iterdir()), TIMEOUT, "Java has ended, too")


# Bad input.


def test_a_folder_that_holds_a_campaign_is_not_written_to(
    campaign: Path, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_here(monkeypatch)
    assert error(zabcheck, *SMALL, "--out", "there") == (
        "--out there: holds a campaign already; --resume goes on with it"
    )


@pytest.mark.parametrize(
    ("option", "value", "has"),
    [
        ("--seed", "2", "1"),
        ("--runs", "21", "20"),
        ("--steps", "51", "50"),
        ("--processes", "5", "3"),
        ("--keep", "none", "events"),
        ("--protocol", "tests.protocols.own.hasty:Hasty", "zab"),
        ("--mutant", "no-truncation", "none"),
        ("--quorums", "weights 1,1,2", "none"),
        ("--switch", "histories=full", "none"),
        ("--minimise", "all", "100"),
        ("--property", "agreement", "integrity, total order, "),
    ],
)
def test_a_campaign_goes_on_as_it_began(option: str, value: str, has: str, zabcheck: Command, one: Path) -> None:
    message = error(zabcheck, "campaign", "--resume", "--out", str(one), option, value)
    assert message.startswith(f"{option} {value}: the campaign in {one} has {has}")
    assert message.endswith("; leave it out, or name another --out")


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that has begun, and no more."""
    folder = tmp_path_factory.mktemp("one")
    Store(str(folder)).begin(small())
    return folder


@pytest.mark.slow
def test_the_same_options_are_welcome(spark: "SparkSession", one: Path, zabcheck: Command, tmp_path: Path) -> None:
    copy = shutil.copytree(one, tmp_path / "copy")
    assert zabcheck(*SMALL, "--resume", "--out", copy, "--keep", "events").code in (0, 3)
    assert len(rows(Store(str(copy)))) == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "--resume: expected --out DIR, the folder of the campaign"),
        (["--resume", "--out", "/proc/self/fdinfo"], "--resume: /proc/self/fdinfo holds no campaign"),
        (["--mutant", "foo"], "no mutant `foo` of protocol `zab`; expected one of: quorum-off-by-one, "),
        (["--protocol", "foo"], "no protocol `foo`"),
        (["--property", "foo"], "no property `foo`"),
        (["--switch", "foo=1"], "--switch: "),
        (["--quorums", "weights 1,2"], "--quorums weights 1,2: expected --processes, too"),
        (["--quorums", "weights 1,2", "--processes", "3"], "--quorums: "),
        (["--minimise", "some"], "--minimise some: expected a number, or `all`"),
        (["--out", "ftp://host/x"], "ftp://host/x: "),
        (["--protocol", "tests.protocols.own.hasty:Hasty", "--mutant", "all"], "--mutant all: protocol "),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before Spark is started."""

    def started(master: str | None) -> None:
        pytest.fail("Spark is started")

    monkeypatch.setattr(sessions, "session", started)
    assert error(zabcheck, "campaign", "--runs", "5", *arguments).startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """In a process of its own, which has no Spark yet, and does not get one."""
    done = process("campaign", "--runs", "5", "--master", "spark://127.0.0.1:1", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("zabcheck: --master spark://127.0.0.1:1: cannot be reached, Connection refused")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_corrupt_part_is_named(spark: "SparkSession", campaign: Path, zabcheck: Command) -> None:
    part = campaign / "runs/part-000003.parquet"
    part.write_bytes(part.read_bytes()[:100])
    message = error(zabcheck, "campaign", "--resume", "--out", "there")
    assert message.startswith("there/runs/part-000003.parquet: ")


@pytest.mark.slow
def test_a_full_disk_is_told_with_the_file_and_finished_parts_stay_whole(tmp_path: Path) -> None:
    """No file may get longer than this, which those of a part do, and nothing else."""
    done = subprocess.run(
        argv("campaign", "--runs", "2000", "--seed", "1", "--out", "full", "--mutant", "commit-on-own-ack"),
        cwd=tmp_path,
        env=environment(**JAVA),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
    )
    assert done.returncode == 2, done.stdout + done.stderr
    line = rf"zabcheck: {tmp_path}/full/(events|runs)/part-0000\d\d\.parquet: File too large\n"
    assert re.fullmatch(line, done.stderr), done.stderr
    assert not list((tmp_path / "full").rglob("*.tmp"))
    for path in (tmp_path / "full").rglob("*.parquet"):
        assert path.read_bytes()[-4:] == b"PAR1"


@pytest.mark.slow
def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['pyarrow'] = None; from zabcheck.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "campaign", "--runs", "5"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"zabcheck: this needs Spark: {pip_install('spark')} (")
    assert done.stderr.count("\n") == 1
