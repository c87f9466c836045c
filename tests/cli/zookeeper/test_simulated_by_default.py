"""Simulated servers or processes: the default of `zabcheck zookeeper`, its `catalogue`, and `replay`."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.zookeeper.conftest import RECORDINGS, fake
from tests.zookeeper import fake_zookeeper
from zabcheck.cli.zookeeper.recordings import save_report
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder
from zabcheck.zookeeper.verdict.judge import judge

SCHEDULE = {"version": 2, "protocol": "zookeeper", "servers": 3, "choices": [{"choice": "wait", "seconds": 0}]}
ORDER = {"seed": 1, "strategy": "uniform", "decisions": ""}


@pytest.mark.parametrize(
    ("options", "java", "simulated", "runs"),
    [((), 17, True, 3), (("--processes",), 17, False, 2), ((), 10, False, 2), (("--simulated",), 10, True, 3)],
)
def test_a_search_simulates_servers_if_java_can(
    options: tuple[str, ...],
    java: int,
    simulated: bool,
    runs: int,
    recorded: list[str],
    zabcheck: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In ten times as many runs, for each takes little time; here in few."""
    monkeypatch.setattr("zabcheck.cli.zookeeper.builds.version_of", lambda _: java)
    monkeypatch.setattr("zabcheck.cli.zookeeper.command.RUNS", 2)
    monkeypatch.setattr("zabcheck.cli.zookeeper.command.RUNS_SIMULATED", 3)
    recorded += ["healthy-3.8.0"] * runs
    told = zabcheck("zookeeper", *options, *fake(tmp_path), "--format", "json").json
    assert (told["simulated"], told["runs"], recorded) == (simulated, runs, [])


@pytest.mark.slow
def test_a_finding_of_simulated_servers_is_executed_on_processes_too(
    recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    recorded += ["lost-write-3.8.0"] * 3 + ["healthy-3.8.0"]
    told = zabcheck("zookeeper", "--runs", "1", "--minimise", "0", *fake(tmp_path), "--format", "json").json
    assert (told["counterexample"]["on_processes"], recorded) == ({"shown": 2, "times": 3}, [])


def test_the_report_says_which_threads_stand_still(tmp_path: Path) -> None:
    order = ThreadOrder(decisions="3/PrepRequestProcessor@165:1001", places=("Leader.sendPacket:1189",))
    schedule = EnsembleSchedule(2, "zookeeper", 3, (), simulated=order)
    shutil.copytree(RECORDINGS / "healthy-3.8.0", tmp_path / "run")
    save_report(schedule, judge(tmp_path / "run"))
    for name in ("report.txt", "report.html"):
        told = (tmp_path / "run" / name).read_text()
        assert "PrepRequestProcessor of server 3 stalls for 0.1 s in Leader.sendPacket:1189" in told


@pytest.mark.parametrize(
    ("order", "options", "simulated"),
    [
        (None, (), False),
        (None, ("--simulated",), True),
        (ORDER, (), True),
        (ORDER, ("--processes",), False),
    ],
)
def test_a_schedule_is_replayed_as_it_was_saved(
    order: object,
    options: tuple[str, ...],
    simulated: bool,
    recorded: list[str],
    zabcheck: Command,
    tmp_path: Path,
) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCHEDULE if order is None else {**SCHEDULE, "simulated": order}))
    recorded += ["healthy-3.8.0"] * 5
    told = zabcheck("replay", "s.json", *options, *fake(tmp_path), "--format", "json").json
    assert (told["simulated"], told["times"]) == (simulated, 1 if order and simulated else 5)


@pytest.mark.parametrize(("saved", "told"), [(21, True), (17, False), (None, False)])
def test_another_java_has_another_order_of_threads(
    saved: int | None, told: bool, recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    (tmp_path / "s.json").write_text(json.dumps({**SCHEDULE, "simulated": {**ORDER, "java": saved}}))
    recorded += ["healthy-3.8.0"]
    out = zabcheck("replay", "s.json", *fake(tmp_path)).out
    assert ("it was saved with Java 21; on Java 17 the same decisions lead to another run" in out) == told


def test_a_replay_says_which_threads_stand_still(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    order = {**ORDER, "decisions": "3/PrepRequestProcessor@165:1001", "places": ["Leader.sendPacket:1189"]}
    (tmp_path / "s.json").write_text(json.dumps({**SCHEDULE, "simulated": order}))
    stands = "  PrepRequestProcessor of server 3 stalls for 0.1 s in Leader.sendPacket:1189"
    recorded += ["healthy-3.8.0"] * 6
    assert stands in zabcheck("replay", "s.json", *fake(tmp_path)).out.splitlines()
    assert stands not in zabcheck("replay", "s.json", "--processes", *fake(tmp_path)).out.splitlines()


def test_the_next_step_is_about_the_same_servers(zabcheck: Command, tmp_path: Path) -> None:
    java = ("--java", str(fake_zookeeper.java(tmp_path, "exits")), "--classpath", str(tmp_path))
    result = zabcheck("zookeeper", "--runs", "1", "--seed", "7", "--processes", *java)
    assert "next: zabcheck zookeeper --runs 2 --seed 7 --processes --java " in result.out.splitlines()[-1]
