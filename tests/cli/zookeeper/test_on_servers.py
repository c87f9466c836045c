"""`zabcheck replay --on-zookeeper`: what is said of a run of the model that was executed on real servers."""

import shutil
from pathlib import Path

import msgspec
import pytest

from tests.cli.command import ROOT, process
from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from tests.cli.zookeeper.conftest import RECORDINGS, fake
from zabcheck.zookeeper.recording.records import Chose, Differed
from zabcheck.zookeeper.run.distribution import DEBIAN, Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, decode
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import judge

KEPT = ROOT / "tests/zookeeper/model/schedules"
LOST_WRITE = KEPT / "4712c.schedule.json"
STALE = KEPT / "2846-abandoned.schedule.json"


def recorded_as(monkeypatch: pytest.MonkeyPatch, recording: str, *further: Chose | Differed) -> list[EnsembleSchedule]:
    """Have each execution take this recording, with these records at its end; return what is executed."""
    executed: list[EnsembleSchedule] = []

    def attempt(
        schedule: EnsembleSchedule, distribution: Distribution, folder: Path, *, exact: bool, stop: object
    ) -> Attempt:
        assert not exact, "how long a choice may take is in the schedule"
        executed.append(schedule)
        shutil.copytree(RECORDINGS / recording, folder, dirs_exist_ok=True)
        judged = judge(folder)
        with (folder / "recording.jsonl").open("ab") as file:
            file.writelines(msgspec.json.encode(each) + b"\n" for each in further)
        return Attempt(schedule, judged, 1.0, error="A: state: the model has 2, the server 1" if further else "")

    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", attempt)
    return executed


def test_what_matches_to_the_end_and_breaks_the_same_is_told(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    executed = recorded_as(monkeypatch, "lost-write-3.8.0")
    saved, trace, page = tmp_path / "servers.json", tmp_path / "trace.jsonl", tmp_path / "difference.html"
    options = [*fake(tmp_path), "--save", saved, "--trace", trace, "--page", page, "--times", "2"]
    told = zabcheck("replay", LOST_WRITE, "--on-zookeeper", *options)
    assert told.code == 1, told.err
    assert "the model (3.8.0): 28 choices, breaks " in told.out
    assert "run 2: matched to the end; broke durability" in told.out
    verdict = told.out.splitlines()[-1]
    assert verdict.startswith("FAIL: 2 of 2 executions on ZooKeeper 3.8.0 matched the model to the end, and 2 broke ")
    assert verdict.endswith(", as the model does")
    assert executed == [decode(saved.read_bytes(), "x")] * 2
    assert trace.read_bytes().startswith(b'{"event":"header"')
    assert not page.exists(), "nothing differs"


def test_what_matches_and_breaks_nothing_leaves_it_open(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recorded_as(monkeypatch, "healthy-3.8.0")
    told = zabcheck("replay", LOST_WRITE, "--on-zookeeper", *fake(tmp_path))
    assert told.code == 3
    assert "matched the model to the end, and the servers broke nothing, while the model breaks " in told.out
    sound = tmp_path / "sound.json"
    lines = LOST_WRITE.read_text().splitlines()
    sound.write_text("\n".join([*lines[:4], lines[4].rstrip(","), *lines[-1:]]))
    told = zabcheck("replay", sound, "--on-zookeeper", *fake(tmp_path))
    assert (told.code, told.out.splitlines()[-1]) == (
        0,
        "PASS: 1 of 1 execution on ZooKeeper 3.8.0 matched the model to the end",
    )


def test_the_first_difference_is_told_with_the_choice_of_the_run(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = 20
    recorded_as(monkeypatch, "healthy-3.8.0", Chose(9, at, "compare"), Differed(9, 3, "state", "2", "1"))
    told = zabcheck("replay", LOST_WRITE, "--on-zookeeper", *fake(tmp_path))
    assert told.code == 3
    said = "differs after choice 3 of 28 (receive process 2, sender 1): server 3, state: the model has 2, the server 1"
    assert said in " ".join(told.out.split())
    assert "0 of 1 execution on ZooKeeper 3.8.0 matched the model to the end" in told.out
    page = tmp_path / "difference.html"
    json = zabcheck("replay", LOST_WRITE, "--on-zookeeper", *fake(tmp_path), "--page", page, "--format", "json").json
    assert json["page"] == str(page)
    shown = page.read_text(encoding="utf-8")
    assert "<h1>the servers differ from the model</h1>" in shown
    assert "server 3 of ZooKeeper 3.8.0, after choice 3 of 28, receive process 2, sender 1: state: " in shown
    assert (json["command"], json["times"], json["matched"]) == ("replay", 1, 0)
    assert_documented(json, "replay --on-zookeeper")
    assert json["runs"][0]["difference"] == {
        "choice": 3,
        "text": "receive process 2, sender 1",
        "server": 3,
        "field": "state",
        "model": "2",
        "seen": "1",
    }


@pytest.mark.parametrize(
    ("file", "options", "said"),
    [
        ("zab.json", (), "--on-zookeeper: expected a run of the model `zookeeper`, zab.json is of `zab`"),
        ("ensemble.json", (), "--on-zookeeper: expected a run of the model, ensemble.json is for real servers already"),
        (
            STALE,
            (),
            f"{STALE}: cannot be had on real servers: its version is 3.9.5, the servers are 3.8.0",
        ),
        (LOST_WRITE, ("--exact",), "--exact: does not go with --on-zookeeper"),
        (LOST_WRITE, ("--save", LOST_WRITE), f"--save {LOST_WRITE}: expected another file than the schedule"),
        (LOST_WRITE, ("--page", LOST_WRITE), f"--page {LOST_WRITE}: expected another file than the schedule"),
    ],
)
def test_bad_input(
    zabcheck: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    file: str | Path,
    options: tuple[str | Path, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zab.json").write_text('{"version":1,"protocol":"zab","processes":3,"choices":[]}')
    Path("ensemble.json").write_text('{"version":2,"protocol":"zookeeper","servers":3,"choices":[]}')
    told = zabcheck("replay", file, "--on-zookeeper", *fake(tmp_path), *options)
    assert (told.code, told.out) == (2, "")
    assert said in told.err
    assert len(told.err.splitlines()) == 1


def test_a_version_that_the_model_does_not_have(zabcheck: Command, tmp_path: Path) -> None:
    told = zabcheck("replay", LOST_WRITE, "--on-zookeeper", *fake(tmp_path, version="3.6.1"))
    assert (told.code, told.err) == (2, "zabcheck: --on-zookeeper: the model has no ZooKeeper 3.6.1\n")


@pytest.mark.parametrize("option", ["--save", "--page"])
def test_what_is_written_of_real_servers_only(option: str, zabcheck: Command) -> None:
    told = zabcheck("replay", LOST_WRITE, option, "x.json")
    assert (told.code, told.err) == (2, f"zabcheck: {option}: only with --on-zookeeper\n")


@pytest.mark.zookeeper
@pytest.mark.parametrize("name", ["4643", "4712c"])
def test_the_run_of_a_bug_breaks_the_same_on_debians_servers(name: str, tmp_path: Path) -> None:
    """Servers have clocks and threads of their own: of some twenty executions one comes to another order of packets."""
    classpath = ":".join(map(str, DEBIAN))
    file = KEPT / f"{name}.schedule.json"
    options = ("--times", "1", "--classpath", classpath, "--format", "json")
    differences = []
    while len(differences) < 5:
        told = process("replay", file, "--on-zookeeper", *options, cwd=tmp_path, timeout=2400)
        assert told.err == ""
        [run] = told.json["runs"]
        assert told.json["matched"] == (run["difference"] is None)
        if told.json["matched"]:
            assert set(run["wrong"]) & set(told.json["broken"])
            return
        differences.append(run["difference"])
    pytest.fail(f"{differences}")
