"""`zabcheck zookeeper --minimise`: what shows it only now and then is shortened too, and how often is told."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from tests.cli.command import ROOT
from tests.cli.conftest import Command
from tests.zookeeper import fake_zookeeper
from zabcheck.cli.zookeeper.shorten import Shortening
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.points import PowerLoss, Stop
from zabcheck.zookeeper.run.choices.servers import Kill, Start
from zabcheck.zookeeper.run.choices.writes import Wait, Write
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder, decode
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge

LOST_WRITE = ROOT / "tests/zookeeper/lost-write-3.8.0"
HEALTHY = ROOT / "tests/zookeeper/healthy-3.8.0"
NOWHERE = Distribution("3.8.0", Path("java"), "")
LONG = 60


@cache
def as_judged(recording: Path) -> RecordingVerdict:
    return judge(recording)


Executed = Callable[[EnsembleSchedule], str]
"""Says what an execution comes to: "lost", "sound", "failed" (the ensemble) or "Ctrl-C"."""


def executes(monkeypatch: pytest.MonkeyPatch, comes_to: Executed) -> list[str]:
    """Have executions come to this; return them as they come."""
    came: list[str] = []

    def attempt(schedule: EnsembleSchedule, distribution: object, folder: Path, *others: object) -> Attempt:
        came.append(comes_to(schedule))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "recording.jsonl").write_text('{"record":"run","version":1,"zookeeper":"3.8.0","servers":3}\n')
        (folder / "executed").write_text(f"{len(came)}")
        judged = as_judged(LOST_WRITE if came[-1] == "lost" else HEALTHY)._replace(folder=folder)
        return Attempt(schedule, judged, 1.0, "broken" if came[-1] == "failed" else "", came[-1] == "Ctrl-C")

    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", attempt)
    return came


def shortening(folder: Path, *choices: Choice) -> Shortening:
    schedule = EnsembleSchedule(2, "zookeeper", 3, choices)
    found = as_judged(LOST_WRITE)._replace(folder=folder / "found")
    found.folder.mkdir(exist_ok=True)
    (found.folder / "recording.jsonl").write_text('{"record":"run","version":1,"zookeeper":"3.8.0","servers":3}\n')
    return Shortening(schedule, found, NOWHERE, None, folder / "minimised")


@pytest.mark.parametrize("needed", [[Stop("A", "sync-force"), Kill("B")], [PowerLoss("A", "log-force"), Start("A")]])
def test_races_and_power_failures_that_show_it_now_and_then_are_shortened(
    needed: list[Choice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown in 3 of 4 executions, drawn by a seed."""
    rng = Random(1)

    def comes_to(schedule: EnsembleSchedule) -> str:
        return "lost" if all(each in schedule.choices for each in needed) and rng.random() < 0.75 else "sound"

    came = executes(monkeypatch, comes_to)
    shorter = shortening(tmp_path, Write("A"), Wait(1.0), needed[0], Write("B", 3), Kill("C"), needed[1], Start("C"))
    shorter.shorten(LONG)
    assert shorter.schedule.choices == tuple(needed)
    assert (shorter.shown, shorter.times) == (came[-5:].count("lost"), 5)
    assert [*shorter.sentences()] == [f"the schedule shows durability in {shorter.shown} of 5 further executions"]
    assert {each.name for each in tmp_path.iterdir()} == {"found", "minimised"}
    assert shorter.judged.folder == tmp_path / "minimised"
    assert came[int((tmp_path / "minimised/executed").read_text()) - 1] == "lost"


def test_a_run_that_showed_it_once_only_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {2: ["lost"] * 9, 1: ["lost", "sound", "sound", "sound"], 0: ["sound"] * 2}
    executes(monkeypatch, lambda schedule: shown[len(schedule.choices)].pop(0))
    shorter = shortening(tmp_path, Kill("A"), Kill("A"))
    shorter.shorten(LONG)
    assert len(shorter.schedule.choices) == 2
    assert (shorter.shown, shorter.times) == (5, 5)
    assert shorter.judged.folder == tmp_path / "found"
    assert {each.name for each in tmp_path.iterdir()} == {"found"}


def test_an_ensemble_that_fails_says_nothing_of_a_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second execution fails by itself."""
    count = 0

    def comes_to(schedule: EnsembleSchedule) -> str:
        nonlocal count
        count += 1
        return "failed" if count % 2 else "lost" if Kill("A") in schedule.choices else "sound"

    executes(monkeypatch, comes_to)
    shorter = shortening(tmp_path, Wait(1.0), Kill("A"))
    shorter.shorten(LONG)
    assert shorter.schedule.choices == (Kill("A"),)
    assert (shorter.shown, shorter.times) == (5, 5)
    came = executes(monkeypatch, lambda _: "failed")
    shorter = shortening(tmp_path, Kill("A"))
    shorter.shorten(LONG)
    assert (shorter.shown, shorter.times) == (0, 5)
    assert len(came) % 3 == 0, "three times each"


def test_after_ctrl_c_what_was_found_until_then_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = iter(["lost"] * 4)
    executes(monkeypatch, lambda _: next(results, "Ctrl-C"))
    shorter = shortening(tmp_path, Wait(1.0), Kill("A"))
    with pytest.raises(KeyboardInterrupt):
        shorter.shorten(LONG)
    assert len(shorter.schedule.choices) == 1
    assert (shorter.times, [*shorter.sentences()]) == (0, [])
    assert {each.name for each in tmp_path.iterdir()} == {"found", "minimised"}


@pytest.mark.slow
def test_the_command_tells_how_often_the_shortest_schedule_shows_it(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, count = draw(1, 3), 0
    needed = found.choices[3]

    def attempt(schedule: EnsembleSchedule, distribution: object, folder: Path, *others: object) -> Attempt:
        nonlocal count
        count += 1
        shown = LOST_WRITE if needed in schedule.choices and count % 4 else HEALTHY
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(shown, folder)
        return Attempt(schedule, as_judged(shown)._replace(folder=folder), 1.0)

    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", attempt)
    fake = ("--processes", "--java", str(fake_zookeeper.java(tmp_path, "serves")), "--classpath", str(tmp_path))
    result = zabcheck("zookeeper", "--seed", "1", "--runs", "1", "--minimise", "60", *fake)
    assert (result.code, result.err) == (1, "")
    assert "\nthe schedule shows durability in 4 of 5 further executions\n" in result.out
    schedule = tmp_path / "reports/zookeeper-3.8.0-3-minimised/schedule.json"
    assert decode(schedule.read_bytes(), "schedule.json").choices == (needed,)


NEEDED_DECISIONS = "1/A@3:1003,1/A@40:2"


class Simulated:
    """Simulated servers that lose a write by two choices, in runs that make two decisions among others."""

    def __init__(self, needed: tuple[Choice, ...]) -> None:
        self.needed = needed
        self.executed: list[EnsembleSchedule] = []

    def execute(self, schedule: EnsembleSchedule, folder: Path, *_: object) -> EnsembleSchedule:
        self.executed.append(schedule)
        order = schedule.simulated or ThreadOrder(9)
        drawn = "2/B@1:1,2/B@2:7,1/A@3:1003,2/B@9:4,1/A@40:2,2/B@41:1" if order.seed == 9 else "2/B@5:5"
        made = (drawn if order.decisions is None else order.decisions).split(",")
        order = replace(order, decisions=",".join(made), places=tuple(f"A.b:{number}" for number in range(len(made))))
        needed = NEEDED_DECISIONS.split(",") if len(schedule.choices) > 2 else NEEDED_DECISIONS.split(",")[:1]
        shown = all(each in schedule.choices for each in self.needed) and all(each in made for each in needed)
        shutil.copytree(LOST_WRITE if shown else HEALTHY, folder, dirs_exist_ok=True)
        return replace(schedule, simulated=order)


@pytest.mark.slow
def test_choices_and_decisions_of_simulated_servers_are_shortened(tmp_path: Path) -> None:
    """With fewer choices one of the decisions is no longer needed. Executions of a result are exact."""
    needed = (Kill("B"), Start("B"))
    servers = Simulated(needed)
    choices = (Write("A"), Wait(1.0), needed[0], Write("B", 3), needed[1])
    found = servers.execute(EnsembleSchedule(2, "zookeeper", 3, choices), tmp_path / "found")
    shorter = Shortening(
        found, judge(tmp_path / "found"), NOWHERE._replace(simulation=servers), None, tmp_path / "short"
    )
    shorter.shorten(LONG)
    assert shorter.schedule == replace(
        found, choices=needed, simulated=ThreadOrder(9, decisions="1/A@3:1003", places=("A.b:0",))
    )
    assert (shorter.exactly, shorter.shown, shorter.times) == (True, 1, 20), "of the seeds 0 to 19 it is 9"
    assert [*shorter.sentences()] == [
        "simulated servers show durability again with exactly this order of threads, and with others in "
        "1 of 20 further executions",
        "thread scheduling decisions:",
        "  A of server 1 stalls for 2.5 s in A.b:0",
    ]
    assert {each.name for each in tmp_path.iterdir()} == {"found", "short"}
    executed = len(servers.executed)
    assert executed < 100


def test_what_simulated_servers_show_is_executed_on_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = iter([LOST_WRITE, HEALTHY, LOST_WRITE])

    def execute(schedule: EnsembleSchedule, distribution: Distribution, folder: Path, *_: object) -> None:
        assert (schedule.simulated, distribution.simulation) == (None, None)
        shutil.copytree(next(shown), folder, dirs_exist_ok=True)

    monkeypatch.setattr("zabcheck.zookeeper.run.search.execute", execute)
    servers = Simulated((Kill("B"),))
    found = servers.execute(EnsembleSchedule(2, "zookeeper", 3, (Kill("B"),)), tmp_path / "found")
    simulated = NOWHERE._replace(simulation=servers)
    shortening = Shortening(found, judge(tmp_path / "found"), simulated, None, tmp_path / "short")
    shortening.confirm(3)
    assert [*shortening.sentences()] == ["on real processes it shows durability in 2 of 3 executions"]
    assert shortening.schedule.simulated is not None
