"""The plan and the parts of a campaign on simulated servers: the runs are those of `zookeeper --simulated`."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.campaign.ensembles.executed import HEALTHY, PLAN, execute_kept, made, rows
from zabcheck.campaign.store import PLAN as PLAN_FILE
from zabcheck.campaign.store import Store, StoreError
from zabcheck.java import find_java, version_of
from zabcheck.zookeeper.campaign import part as parts
from zabcheck.zookeeper.campaign.part import EnsembleMaker, cool
from zabcheck.zookeeper.campaign.plan import Build, plan_of, runs_a_part
from zabcheck.zookeeper.campaign.schema import ENSEMBLE_RUNS, RECORDINGS
from zabcheck.zookeeper.run.distribution import PYSPARK, NoZooKeeper, find
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import decode
from zabcheck.zookeeper.run.search import attempt
from zabcheck.zookeeper.simulated.pool import simulated


def test_the_parts_have_every_run_once_and_each_build_the_same_seeds() -> None:
    assert PLAN.parts == 4
    assert [run for part in range(4) for run in PLAN.runs_of(part)] == list(range(12))
    assert [PLAN.seed_of(run) for run in range(12)] == [*range(5, 11)] * 2
    assert [PLAN.build_of(run).zookeeper for run in (0, 5, 6, 11)] == ["3.8.0", "3.8.0", "3.9.5", "3.9.5"]
    for part in range(4):
        assert len({PLAN.build_of(run) for run in PLAN.runs_of(part)}) == 1
    assert PLAN.schedule_of(7) == draw(6, 3)
    assert msgspec.structs.replace(PLAN, disks=True).schedule_of(7) == draw(6, 3, disks=True)


@pytest.mark.parametrize(("runs", "size"), [(1, 1), (17, 2), (800, 50), (10**6, 50)])
def test_parts_are_small(runs: int, size: int) -> None:
    assert runs_a_part(runs) == size


def test_a_plan_survives_its_file_and_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert plan_of(store) is None
    store.begin(PLAN)
    assert plan_of(store) == PLAN
    store.write(PLAN_FILE, (store.read(PLAN_FILE) or b"").replace(b'"servers": 3', b'"servers": 4'))
    with pytest.raises(StoreError, match=r"campaign\.json, line \d+, field `servers`: Invalid value 4"):
        plan_of(store)


@pytest.mark.slow
def test_a_part_has_verdicts_and_the_recordings_of_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute_kept(monkeypatch)
    store = made(tmp_path)
    found = rows(store)
    assert [row["run"] for row in found] == list(range(12))
    assert [bool(row["wrong"]) for row in found] == [True, False] * 6
    assert [row["error"] for row in found] == [None, None, None, "nobody leads", None, None] * 2
    lost, healthy = found[6], found[7]
    assert (lost["seed"], lost["zookeeper"], lost["order_of_threads"]) == ("5", "3.9.5", "uniform 100, stalls 300")
    assert lost["wrong"][0] == "durability"
    assert "ZOOKEEPER-4712" in lost["known"]
    assert "kill" in lost["faults"]
    assert not {"write", "start"} & {*lost["faults"]}
    schedule = decode(lost["schedule"].encode(), "schedule")
    assert (schedule.seed, schedule.simulated and schedule.simulated.decisions) == (5, "1:2")
    assert (healthy["schedule"], healthy["wrong"], healthy["partial"]) == (None, [], False)
    assert "durability" in healthy["exercised"]
    kept = [row for part in range(4) for row in store.table(f"events/part-{part:06}.parquet", RECORDINGS).to_pylist()]
    assert {row["run"] for row in kept} == {0, 2, 4, 6, 8, 10}
    for part in range(4):
        store.check_part(PLAN, part, ENSEMBLE_RUNS)
    with pytest.raises(StoreError, match="expected runs 0 to 3"):
        store.check_part(msgspec.structs.replace(PLAN, seed=6), 0, ENSEMBLE_RUNS)


def test_recordings_of_all_runs_or_of_none_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute_kept(monkeypatch)
    few = msgspec.structs.replace(PLAN, runs=2, builds=PLAN.builds[:1])
    store = made(tmp_path / "all", msgspec.structs.replace(few, keep="events"))
    kept = store.table("events/part-000000.parquet", RECORDINGS).to_pylist()
    [recording] = [row["content"] for row in kept if row["run"] == 1 and row["file"] == "recording.jsonl"]
    assert recording == (HEALTHY / "recording.jsonl").read_bytes()
    assert made(tmp_path / "none", msgspec.structs.replace(few, keep="none")).names("events") == []


@pytest.fixture
def warm() -> Iterator[None]:
    yield
    cool()


@pytest.mark.slow
@pytest.mark.xdist_group("simulated")
@pytest.mark.usefixtures("warm")
def test_a_seed_gives_the_bytes_that_it_gives_the_command(tmp_path: Path) -> None:
    """A run is the same the second time, in a JVM that has done something else, and that stayed warm."""
    java = version_of(find_java(11, "ZooKeeper"))
    plan = msgspec.structs.replace(PLAN, builds=(Build("3.9.5", PYSPARK, None, java),), runs=2, seed=3, keep="events")
    store = made(tmp_path / "campaign", plan)
    warm_ones = dict(parts._of_build)
    EnsembleMaker(plan, store).make(0)
    assert parts._of_build == warm_ones
    kept = store.table("events/part-000000.parquet", RECORDINGS).to_pylist()
    with simulated(find(classpath=PYSPARK)) as servers:
        for run in range(2):
            attempt(draw(3 + run, 3), servers, tmp_path / "run")
            files = {row["file"]: row["content"] for row in kept if row["run"] == run}
            assert {"recording.jsonl", "server-1.0.log"} <= files.keys()
            assert files == {name: (tmp_path / "run" / name).read_bytes() for name in files}


@pytest.mark.usefixtures("warm")
def test_a_worker_with_another_version_of_zookeeper_or_java_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "find", lambda *_: find_of("3.8.0"))
    monkeypatch.setattr(parts, "version_of", lambda _: 21)
    with pytest.raises(NoZooKeeper, match=r"one\.jar: expected ZooKeeper 3\.9\.5, found 3\.8\.0 on a worker"):
        parts._warm_for(Build("3.9.5", "one.jar"))
    with pytest.raises(NoZooKeeper, match=r"java: expected Java 17, found 21 on a worker: a seed would give another"):
        parts._warm_for(Build("3.8.0", "one.jar", None, 17))


def find_of(version: str) -> object:
    return parts.Distribution(version, Path("java"), "one.jar")
