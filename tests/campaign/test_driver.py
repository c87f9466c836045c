"""A campaign on Spark: its runs are the plan's, whatever is killed; and what breaks ends as findings."""

import logging
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from invariants import select
from tests.campaign.plans import begun, made, plan_of, rows
from tests.search.builders import failure_of
from zabcheck.campaign import driver, tables
from zabcheck.campaign.driver import AnyMaker, Progress
from zabcheck.campaign.findings import ERROR, INDEX, RAISED, Finding
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.store import Store, StoreError
from zabcheck.campaign.tasks import TaskFailed, run_tasks
from zabcheck.protocols.adapter import imported
from zabcheck.simulation import schedule as schedules
from zabcheck.zookeeper.model import ZOOKEEPER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

Look = Callable[[float], None]
MIXED = plan_of(60, None, "no-truncation")


def written(store: Store) -> dict[str, int]:
    """Return the time at which each file of the folder was written."""
    return {str(path): path.stat().st_mtime_ns for path in Path(store.root).rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def without_spark(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return made(tmp_path_factory.mktemp("without"), MIXED)


@pytest.fixture(scope="module")
def finished(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[Progress]]:
    """A campaign from its beginning to its end, with how it went on."""
    store = begun(tmp_path_factory.mktemp("finished"), MIXED)
    shown: list[Progress] = []
    driver.run(spark, store, MIXED, lambda progress: shown.append(msgspec.structs.replace(progress)))
    return store, shown


@pytest.mark.slow
def test_the_runs_are_those_that_are_made_without_spark(
    finished: tuple[Store, list[Progress]], without_spark: Store
) -> None:
    store, _ = finished
    assert rows(store) == rows(without_spark)
    for part in range(MIXED.parts):
        assert store.read(f"events/part-{part:06}.parquet") == without_spark.read(f"events/part-{part:06}.parquet")


@pytest.mark.slow
def test_progress_goes_from_nothing_to_all(finished: tuple[Store, list[Progress]], without_spark: Store) -> None:
    _, shown = finished
    assert (shown[0].finished, shown[0].runs) == (0, 0)
    found = rows(without_spark)
    last = shown[-1]
    assert (last.finished, last.runs) == (6, 60)
    assert last.steps == sum(row["steps"] for row in found)
    assert last.events == sum(row["events"] for row in found)
    assert last.failing == sum(row["broken"] is not None for row in found)
    assert last.minimised == last.to_minimise > 0
    for before, after in pairwise(shown):
        assert before.finished <= after.finished


@pytest.mark.slow
def test_runs_of_parts_that_are_under_way_count(
    without_spark: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = msgspec.structs.replace(MIXED, minimise=0)
    store = begun(tmp_path / "again", plan)
    for folder in ("runs", "events"):
        shutil.copytree(Path(without_spark.root, folder), Path(store.root, folder), dirs_exist_ok=True)
    Path(store.root, "runs/part-000004.parquet").unlink()

    def tasks(spark: object, pieces: list[int], worker: Callable[[], Callable[[int], None]], look: Look) -> None:
        if pieces:
            Path(store.root, "runs/.part-000004.7-made.0f.tmp").touch()
            look(0)
            worker()(4)
        look(0)

    shown: list[tuple[int, int]] = []
    monkeypatch.setattr(driver, "run_tasks", tasks)
    driver.run(None, store, plan, lambda each: shown.append((each.runs, each.under_way)))  # type: ignore[arg-type]  # unused
    assert shown == [(50, 0), (50, 7), (60, 0), (60, 0)]


@pytest.mark.slow
def test_findings_are_minimised_and_reported(finished: tuple[Store, list[Progress]]) -> None:
    store, shown = finished
    findings = msgspec.json.decode(store.read(INDEX) or b"", type=list[Finding])
    assert sum(each.runs for each in findings) == shown[-1].minimised
    for each in findings:
        schedule = schedules.load(store.read(f"findings/{each.schedule}") or b"", each.schedule)
        assert (schedule.mutant, schedule.violates) == (each.mutant, each.property) == ("no-truncation", each.property)
        failure = failure_of(schedule, each.property)
        assert failure is not None
        assert failure.steps == each.steps <= 40
        assert each.summary in " ".join((store.read(f"findings/{each.report}") or b"").decode().split())
        [row] = [row for row in rows(store) if row["run"] == each.run]
        assert (row["broken"], row["seed"]) == (each.property, each.seed)
        assert "request" in each.how


@pytest.mark.slow
def test_a_finished_campaign_makes_nothing_again(spark: "SparkSession", finished: tuple[Store, list[Progress]]) -> None:
    store, _ = finished
    before = {path: time for path, time in written(store).items() if "findings" not in path}
    progress, findings = driver.run(spark, store, MIXED)
    assert progress.resumed == 60
    assert findings
    assert {path: time for path, time in written(store).items() if "findings" not in path} == before


@pytest.mark.slow
def test_only_what_is_missing_is_made(
    spark: "SparkSession", finished: tuple[Store, list[Progress]], tmp_path: Path
) -> None:
    store, _ = finished
    again = begun(tmp_path, MIXED)
    for name in ("runs/part-000001.parquet", "events/part-000001.parquet", "events/part-000003.parquet"):
        Path(again.root, name).write_bytes(store.read(name) or b"")
    Path(again.root, "runs/.part-000002.parquet.1f.tmp").write_bytes(b"half")
    before = written(again)
    progress, _ = driver.run(spark, again, MIXED)
    assert (progress.resumed, progress.runs) == (10, 60)
    assert rows(again) == rows(store)
    assert again.read(INDEX) == store.read(INDEX)
    kept = {path for path, time in written(again).items() if before.get(path) == time}
    assert {Path(path).name for path in kept} >= {"campaign.json", "part-000001.parquet"}
    assert not [path for path in written(again) if path.endswith(".tmp")]


@pytest.mark.slow
def test_a_corrupt_part_is_named_before_anything_is_made(spark: "SparkSession", tmp_path: Path) -> None:
    store = begun(tmp_path, MIXED)
    Path(store.root, "runs/part-000004.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"runs/part-000004\.parquet"):
        driver.run(spark, store, MIXED)
    assert list(store.finished()) == [4]


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(
    spark: "SparkSession", without_spark: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first task to make part 3 kills its own process; Spark tries the task again in another one."""
    store = begun(tmp_path, MIXED)
    flag = tmp_path / "killed"
    make = driver._maker

    def killing(plan: Plan, kind: Callable[[Any, Store], AnyMaker], place: str) -> object:
        worker = make(plan, kind, place)

        def work() -> object:
            does = worker()

            def do(part: int) -> None:
                if part == 3 and not flag.exists():
                    flag.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                does(part)

            return do

        return work

    monkeypatch.setattr(driver, "_maker", killing)
    progress, _ = driver.run(spark, store, MIXED)
    assert flag.exists()
    assert progress.runs == 60
    flag.unlink()
    assert rows(store) == rows(without_spark)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(spark: "SparkSession", without_spark: Store, tmp_path: Path) -> None:
    store = begun(tmp_path, MIXED)

    def interrupt(progress: Progress) -> None:
        if progress.finished:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        driver.run(spark, store, MIXED, interrupt)
    assert store.finished()
    for part in store.finished():
        store.check_part(MIXED, part)
    driver.run(spark, store, MIXED)
    assert rows(store) == rows(without_spark)


@pytest.mark.slow
def test_ctrl_c_is_no_failed_task_where_its_exception_is_lost(
    spark: "SparkSession", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A KeyboardInterrupt in a finaliser is printed and forgotten; the jobs are cancelled all the same."""
    store = begun(tmp_path, plan_of(4000))

    def look(progress: Progress) -> None:
        if progress.finished:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            logging.error("interrupted while sending a command")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        driver.run(spark, store, plan_of(4000), look)
    assert signal.getsignal(signal.SIGINT) is before
    assert caplog.text == ""
    logging.error("this is for the reader")
    assert "this is for the reader" in caplog.text


@pytest.mark.slow
def test_a_protocol_that_raises_is_a_finding(spark: "SparkSession", tmp_path: Path) -> None:
    plan = plan_of(20, protocol=imported("tests.protocols.own.raising:Raising").name)
    store = begun(tmp_path, plan)
    progress, findings = driver.run(spark, store, plan)
    assert progress.failing > 0
    raised = [each for each in findings if each.property == RAISED]
    assert raised
    for each in raised:
        assert "KeyError" in each.summary
        assert b"look_up" in (store.read(f"findings/{each.report}") or b"")


@pytest.mark.slow
def test_an_error_of_the_code_that_is_modelled_is_a_finding(spark: "SparkSession", tmp_path: Path) -> None:
    switches = {"version": "3.8.0", "defects": "4394", "errors": "raised"}
    judged = tuple(kind.name for kind in select(ZOOKEEPER.properties))
    plan = plan_of(30, protocol="zookeeper", switches=switches, processes=None, steps=200, properties=judged)
    store = begun(tmp_path, plan)
    progress, findings = driver.run(spark, store, plan)
    assert progress.failing > 0
    assert {each.property for each in findings} == {ERROR}
    assert "NullPointerException" in findings[0].summary
    assert sum(each.runs for each in findings) == progress.failing
    told = tables.make(None, store, plan)
    assert {(row.property, row.first) for row in told.broken} == {(ERROR, progress.failing)}
    assert told.overview[0].raised == 0
    assert sum(row.runs for row in told.raised) == progress.failing
    assert tables.make(spark, store, plan) == told


@pytest.mark.slow
def test_what_a_task_raises_is_told_in_one_line(spark: "SparkSession") -> None:
    def worker() -> object:
        raise ValueError("not\nlike this")

    with pytest.raises(TaskFailed) as raised:
        run_tasks(spark, [1], worker, lambda _: None)  # type: ignore[arg-type]  # it never returns
    assert str(raised.value) == "not"


@pytest.mark.slow
def test_every_piece_is_done_once(spark: "SparkSession", tmp_path: Path) -> None:
    folder = str(tmp_path)

    def worker() -> object:
        return lambda piece: Path(folder, f"{piece}-{os.getpid()}").touch()

    looks: list[int] = []
    run_tasks(spark, [5, 7, 9], worker, lambda _: looks.append(1))  # type: ignore[arg-type]  # what it returns is not looked at
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == ["5", "7", "9"]
    assert looks
    looks.clear()
    run_tasks(spark, [], worker, lambda _: looks.append(1))  # type: ignore[arg-type]  # nor is it called
    assert looks == [1]
