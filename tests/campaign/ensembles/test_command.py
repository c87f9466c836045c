"""`zabcheck campaign --zookeeper` and its report: the parts are made without Spark, from recordings that are kept."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.campaign.ensembles.executed import HEALTHY, LOST, PLAN, execute_kept, made, rows
from tests.campaign.plans import begun, plan_of
from tests.cli.conftest import Command
from zabcheck.campaign import driver
from zabcheck.campaign import session as sessions
from zabcheck.campaign.store import Store
from zabcheck.cli.campaign import on_servers
from zabcheck.search.coverage import states_of
from zabcheck.zookeeper.campaign import driver as ensembles
from zabcheck.zookeeper.campaign import tables
from zabcheck.zookeeper.campaign.part import EnsembleMaker
from zabcheck.zookeeper.campaign.plan import Build
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.verdict.judge import judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAMPAIGN = ("campaign", "--zookeeper", "--classpath", "one", "--classpath", "other", "--seed", "5", "--runs", "6")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts in this process, and find two builds."""
    execute_kept(monkeypatch)
    monkeypatch.setattr(sessions, "session", lambda *_, **__: None)
    monkeypatch.setattr(ensembles, "_maker", EnsembleMaker)

    def tasks(
        spark: object, pieces: list[int], worker: Callable[[], Callable[[int], None]], look: Callable[[float], None]
    ) -> None:
        for piece in pieces:
            worker()(piece)
        look(0)

    monkeypatch.setattr(driver, "run_tasks", tasks)
    two = [Distribution("3.8.0", Path("java"), "one"), Distribution("3.9.5", Path("java"), "other")]
    monkeypatch.setattr(on_servers, "found_distributions", lambda *named: two[: len(named[2]) or 1])


@pytest.mark.slow
def test_what_is_wrong_is_exit_code_1_and_tables_by_version_bug_and_fault(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck(*CAMPAIGN, "--out", "there")
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines()[0].startswith(
        "there: a campaign on simulated servers of ZooKeeper 3.8.0, 3.9.5, 3 servers, seed 5"
    )
    last = result.out.splitlines()[-1]
    assert "of 12 runs of ZooKeeper 3.8.0, 3.9.5 something is wrong: durability with 3.8.0 in 3" in last
    assert last.endswith("; next: zabcheck campaign report there")
    result = zabcheck("campaign", "report", "there", "--html", "page.html")
    assert (result.code, result.err) == (1, "")
    assert "next: zabcheck replay there/findings/3.8.0-seed-5.schedule.json --simulated --classpath one" in result.out
    assert "Faults" in (tmp_path / "page.html").read_text()
    bugs = pq.read_table(tmp_path / "there/tables/bugs.parquet").to_pylist()
    [first] = [row for row in bugs if (row["zookeeper"], row["bug"]) == ("3.9.5", "durability")]
    assert (first["runs"], first["seed"], first["is_known"]) == (3, "5", False)
    assert any(row["is_known"] and row["bug"] == "ZOOKEEPER-4712" for row in bugs)
    faults = pq.read_table(tmp_path / "there/tables/faults.parquet").to_pylist()
    for row in faults:
        assert row["found"] + row["found_without"] == next(
            bug["runs"] for bug in bugs if (bug["zookeeper"], bug["bug"]) == (row["zookeeper"], row["bug"])
        )
        assert row["runs"] + row["runs_without"] == 6
    schedule = tmp_path / "there/findings/3.8.0-seed-5.schedule.json"
    assert msgspec.json.decode(schedule.read_bytes())["finds"] == "durability"


@pytest.mark.slow
def test_a_campaign_that_was_stopped_goes_on_where_it_was(zabcheck: Command, tmp_path: Path) -> None:
    whole = rows(made(tmp_path / "whole"))
    store = made(tmp_path / "stopped")
    Path(store.root, "runs/part-000002.parquet").unlink()
    left = Path(store.root, "runs/part-000001.parquet")
    before = left.stat().st_mtime_ns
    report = zabcheck("campaign", "report", "stopped", "--format", "json")
    assert msgspec.json.decode(report.out)["versions"][1]["runs"] == 2
    assert zabcheck("campaign", "--resume", "--out", "stopped").code == 1
    assert left.stat().st_mtime_ns == before
    assert rows(store) == whole


@pytest.mark.slow
def test_a_campaign_that_was_begun_before_there_were_disks_goes_on(zabcheck: Command, tmp_path: Path) -> None:
    store = made(tmp_path / "before")
    plan = Path(store.root, "campaign.json")
    fields = msgspec.json.decode(plan.read_bytes())
    assert not fields.pop("disks")
    plan.write_bytes(msgspec.json.encode(fields))
    Path(store.root, "runs/part-000002.parquet").unlink()
    assert zabcheck("campaign", "--resume", "--out", "before").code == 1
    assert rows(store) == rows(made(tmp_path / "whole"))


@pytest.mark.slow
def test_a_campaign_with_disks_says_so(zabcheck: Command) -> None:
    result = zabcheck(*CAMPAIGN, "--out", "there", "--disks", "--format", "json")
    assert (result.code, result.err) == (1, "")
    assert msgspec.json.decode(result.out)["plan"]["disks"] is True
    assert "3 servers, with changed disks, seed 5" in zabcheck("campaign", "report", "there").out


def test_versions_are_added_up(tmp_path: Path) -> None:
    found = tables.make(None, made(tmp_path), PLAN)
    assert [row.zookeeper for row in found.versions] == ["3.8.0", "3.9.5"]
    assert [(row.runs, row.wrong, row.failed, row.partial) for row in found.versions] == [(6, 3, 1, 0)] * 2


def test_states_and_orders_of_packets_are_counted_once(tmp_path: Path) -> None:
    """Each run leaves one of two recordings, so the first two of a version reach all that there is."""
    one, other = (judge(each) for each in (HEALTHY, LOST))
    states = len(states_of(one.observation.events, 3) | states_of(other.observation.events, 3))
    orders = len(one.orders | other.orders)
    found = tables.make(None, made(tmp_path), PLAN)
    assert [(row.states, row.orders, row.since_new) for row in found.versions] == [(states, orders, 4)] * 2


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_makes_the_same_tables(spark: "SparkSession", tmp_path: Path) -> None:
    store = made(tmp_path)
    assert tables.make(spark, store, PLAN) == tables.make(None, store, PLAN)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zookeeper", "--mutant", "all"], "--mutant: only without --zookeeper"),
        (["--servers", "5"], "--servers: only with --zookeeper"),
        (["--zookeeper", "--servers", "4"], "--servers 4: expected 3 or 5"),
        (["--zookeeper", "--property", "x"], "no property `x`; expected one of: "),
        (["--zookeeper", "--seed", str(2**63 - 1)], f"--seed {2**63 - 1}: expected less than 2^63 with 10,000 runs"),
        (["--resume", "--out", "there", "--seed", "6"], "--seed 6: the campaign in there has 5; leave it out, or name"),
        (["--resume", "--out", "there", "--sessions"], "--sessions True: the campaign in there has False; leave it"),
        (["--disks"], "--disks: only with --zookeeper"),
        (["--resume", "--out", "there", "--disks"], "--disks True: the campaign in there has False; leave it"),
        (["--resume", "--out", "there", "--classpath", "one"], "--classpath: the campaign in there has 3.8.0, 3.9.5;"),
        (["--resume", "--out", "there", "--steps", "5"], "--steps: only without --zookeeper"),
        (["--zookeeper", "--out", "there"], "--out there: holds a campaign already; --resume goes on with it"),
        (["--zookeeper", "--resume", "--out", "other"], "--resume: other holds a campaign that is not on ZooKeeper"),
    ],
)
def test_bad_input(zabcheck: Command, tmp_path: Path, arguments: list[str], message: str) -> None:
    Store(str(tmp_path / "there")).begin(PLAN)
    begun(tmp_path / "other", plan_of())
    result = zabcheck("campaign", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {message}")


def test_the_plan_names_the_jars_of_pyspark_as_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_servers, "version_of", lambda _: 17)
    plan = on_servers.new_plan({"classpath": ["pyspark"], "runs": 3, "seed": 1})
    assert plan.builds == (Build("3.8.0", "pyspark", None, 17),)
    assert on_servers.new_plan({"runs": 3, "seed": 1, "java": Path("java")}).builds == (
        Build("3.8.0", "one", "java", 17),
    )
