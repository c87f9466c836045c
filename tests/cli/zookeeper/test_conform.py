"""`zabcheck zookeeper conform`."""

import shutil
from pathlib import Path

import pytest

from docs.generators.zookeeper import extracted
from tests.cli.command import ROOT
from tests.cli.conftest import Command

LOST_WRITE = ROOT / "tests/zookeeper/lost-write-3.8.0"
HEALTHY = ROOT / "tests/zookeeper/healthy-3.8.0"


@pytest.mark.slow
def test_a_recording_that_conforms_and_the_run_of_the_model_replayed(zabcheck: Command, tmp_path: Path) -> None:
    recording = Path(shutil.copytree(LOST_WRITE, tmp_path / "recording"))
    result = zabcheck("zookeeper", "conform", recording, "--write")
    assert result.code == 0
    assert result.out.splitlines()[1:4] == [
        "  ZooKeeper 3.8.0, 149 packets, 358 states tried",
        "  a run of the model: 329 choices",
        "  it breaks agreement, primary integrity, redelivery, invariant 4",
    ]
    schedule = recording / "model.schedule.json"
    assert f"wrote {schedule}" in result.out
    said = "PASS: 1 recording: a run of the model, which breaks agreement, and 3 other properties; next: zabcheck"
    assert result.out.splitlines()[-1] == f"{said} replay {schedule}"
    replayed = zabcheck("replay", schedule)
    assert replayed.code == 1
    assert "agreement" in replayed.out.splitlines()[-1]


@pytest.mark.slow
def test_a_finding_becomes_a_minimal_run_of_the_model(zabcheck: Command, tmp_path: Path) -> None:
    recording = extracted("5094-3.8.0", tmp_path)
    result = zabcheck("zookeeper", "conform", recording, "--minimise", "60")
    assert result.code == 0
    run, broken, shortest, *_ = (line for line in result.out.splitlines()[2:])
    assert run.startswith("  a run of the model: ")
    assert broken.startswith("  it breaks total order, ")
    assert shortest.startswith("  the shortest that was found to break total order: ")
    lengths = [int(line.split()[-2]) for line in (run, shortest)]
    assert lengths[1] < lengths[0] - 50
    assert not (recording / "model.schedule.json").exists()
    assert "<h1>total order is violated</h1>" in (recording / "minimal.html").read_text(encoding="utf-8")
    replayed = zabcheck("replay", recording / "minimal.schedule.json")
    assert replayed.code == 1
    assert replayed.out.splitlines()[-1].startswith("FAIL: invariant 4, ")
    told = zabcheck("zookeeper", "conform", HEALTHY, "--minimise", "60", "--format", "json").json
    assert (told["recordings"][0]["broken"], told["files"]) == (None, [])


def test_a_recording_that_does_not(zabcheck: Command) -> None:
    result = zabcheck("zookeeper", "conform", LOST_WRITE, "--release", "3.9.2")
    assert result.code == 1
    assert "server 1: nothing in the model leads to packet 48: ACK(⟨1,4⟩) to server 2" in result.out
    said = "FAIL: of 1 recording 1 is no run of the model; next: zabcheck "
    said += f"zookeeper conform {LOST_WRITE} --release 3.9.2 --write"
    assert result.out.splitlines()[-1] == said
    told = zabcheck("zookeeper", "conform", LOST_WRITE, "--release", "3.9.2", "--format", "json")
    assert told.code == 1
    [recording] = told.json["recordings"]
    assert (recording["verdict"], recording["choices"]) == ("differs", None)
    [difference] = recording["differences"]
    assert (difference["server"], difference["source"]) == (1, "packet 48")
    assert difference["packet"] == {"kind": "ACK", "text": "⟨1,4⟩", "to": 2}


def test_a_page_of_the_difference_and_the_run_up_to_it(zabcheck: Command, tmp_path: Path) -> None:
    recording = Path(shutil.copytree(LOST_WRITE, tmp_path / "recording"))
    result = zabcheck("zookeeper", "conform", recording, "--release", "3.9.2", "--write")
    page, schedule = recording / "difference.html", recording / "difference.schedule.json"
    assert result.out.splitlines()[-1] == f"FAIL: of 1 recording 1 is no run of the model; next: open {page}"
    shown = page.read_text(encoding="utf-8")
    assert "server 1: nothing in the model of ZooKeeper 3.9.2 leads to packet 48: ACK(⟨1,4⟩) to server 2." in shown
    assert not (recording / "model.schedule.json").exists()
    replayed = zabcheck("replay", schedule, "--format", "json")
    assert replayed.json["skipped"] == 0


def test_one_of_several_recordings_is_left_open(zabcheck: Command, tmp_path: Path) -> None:
    shutil.copytree(LOST_WRITE, tmp_path / "of" / "a")
    cut = Path(shutil.copytree(LOST_WRITE, tmp_path / "of" / "b")) / "recording.jsonl"
    cut.write_bytes(b"".join(cut.read_bytes().splitlines(keepends=True)[:-1]))
    result = zabcheck("zookeeper", "conform", tmp_path / "of")
    assert result.code == 3
    assert "  left open: the recording has no end" in result.out.splitlines()
    assert result.out.splitlines()[-1] == "INCONCLUSIVE: of 2 recordings 1 is left open"


def test_bad_input_is_one_line(zabcheck: Command, tmp_path: Path) -> None:
    unknown = zabcheck("zookeeper", "conform", LOST_WRITE, "--release", "3.9.7")
    assert (unknown.code, unknown.err) == (2, "zabcheck: --release: no `3.9.7`; did you mean `3.9.5`?\n")
    nothing = zabcheck("zookeeper", "conform", tmp_path)
    assert nothing.code == 2
    assert nothing.err == f"zabcheck: {tmp_path}: expected a folder with a recording, found no recording.jsonl in it\n"
