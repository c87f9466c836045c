"""Runs of a real ensemble of Debian's ZooKeeper, 3.8.0: whatever it does, this much is sure of what is said of it."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from invariants import PROPERTIES, trace
from invariants.events import End
from tests.cli.command import Result, process
from tests.cli.conftest import Command
from tests.zookeeper.processes import groups_of
from tests.zookeeper.real import UNEXPLAINED
from zabcheck.cli.zookeeper import gate
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Ended
from zabcheck.zookeeper.run.distribution import DEBIAN
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES
from zabcheck.zookeeper.verdict.judge import SERIOUS, SERIOUS_RULES, judge

pytestmark = pytest.mark.zookeeper

RUNS = 5
SECONDS = 2400
"""Some thirty times as long as it takes on two cores."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zookeeper")


@pytest.fixture(scope="module")
def searched(folder: Path) -> Result:
    assert all(jar.exists() for jar in DEBIAN), "apt-get install zookeeper libzookeeper-java"
    return search(folder)


def search(folder: Path) -> Result:
    classpath = ":".join(map(str, DEBIAN))
    options = ["--seed", "1", "--runs", str(RUNS), "--minimise", "0", "--keep", "--out", folder / "kept", "--processes"]
    return process("zookeeper", *options, "--classpath", classpath, "--format", "json", cwd=folder, timeout=SECONDS)


def test_every_run_is_done_and_recorded_to_its_end(searched: Result, folder: Path) -> None:
    assert searched.err == ""
    told = searched.json
    assert (told["zookeeper"].split("-")[0], told["servers"], told["runs"]) == ("3.8.0", 3, RUNS)
    assert (told["partial"], told["failed"], told["interrupted"], told["error"]) == (0, 0, False, "")
    assert len(told["kept"]) == RUNS
    for kept in map(Path, told["kept"]):
        *_, last = read(kept)
        assert isinstance(last, Ended)
        assert last.complete
        *_, end = trace.loads((kept / "trace.jsonl").read_bytes())
        assert isinstance(end, End)
        assert end.complete
    assert groups_of(str(folder)) == set()


def test_there_was_something_to_judge(searched: Result) -> None:
    told = searched.json
    assert 0 < told["acknowledged"] <= told["asked"]
    assert told["epochs"] > RUNS
    assert told["packets"] > 2 * told["acknowledged"], "a proposal, and an acknowledgement, for each at least"
    assert 0 < told["delivered"] <= told["logged"]
    assert sum(each["exercised"] >= RUNS - 1 for each in told["properties"]) >= 15


def test_all_that_sound_runs_delivered_is_in_their_traces(searched: Result) -> None:
    """A run that loses writes has them in a log, and no server delivers them."""
    judged = [judge(Path(folder)) for folder in searched.json["kept"]]
    assert sum(each.delivered for run in judged for each in run.coverage) == searched.json["delivered"]
    assert [each for run in judged if not run.violated for each in run.coverage if each.missing] == []


def test_what_is_wrong_looks_like_a_known_issue(searched: Result, tmp_path: Path) -> None:
    """Another finding is one of ZooKeeper's or of zabcheck's: a fault of zabcheck's comes again."""
    told = searched.json
    assert searched.code == (1 if told["wrong"] else 0)
    assert {each["name"] for each in told["wrong"]} <= {*PROPERTIES, *CLIENT_PROPERTIES, *SERIOUS, *SERIOUS_RULES}
    unknown = unexplained(searched)
    for number in range(3):
        if not unknown:
            break
        (tmp_path / str(number)).mkdir()
        unknown &= unexplained(search(tmp_path / str(number)))
    assert unknown == set()


def unexplained(searched: Result) -> set[str]:
    """The names of findings that look like no known issue."""
    return {each["name"] for each in searched.json["wrong"] if not each["looks_like"]} - UNEXPLAINED


def test_a_recording_is_judged_again_as_it_was(searched: Result, zabcheck: Command) -> None:
    again = zabcheck("zookeeper", "judge", *searched.json["kept"], "--format", "json")
    assert again.code == searched.code
    for what in ("wrong", "noticed"):
        assert [(each["name"], each["runs"]) for each in again.json[what]] == [
            (each["name"], each["runs"]) for each in searched.json[what]
        ]


def test_a_gate_passes_with_what_the_version_is_known_to_have(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drawn run may find anything; it has a page then.

    Each execution takes ten seconds, whatever a clock says: the budget lasts for the bug and a drawn run.
    """
    executed, add = count(1), gate.Gating._count

    def added(gating: gate.Gating, tried: Any) -> None:
        moment = 10.0 * next(executed)
        monkeypatch.setattr(gate, "monotonic", lambda: moment)
        add(gating, tried)

    monkeypatch.setattr(gate, "monotonic", lambda: 0.0)
    monkeypatch.setattr(gate.Gating, "_count", added)
    options = ("--bug", "3598", "--budget", "30s", "--classpath", ":".join(map(str, DEBIAN)))
    told = zabcheck("zookeeper", "gate", *options, "--format", "json").json
    known, *found, drawn, compared = told["outcomes"]
    assert known["message"] == "known: shown in 1 of 1; ZooKeeper 3.8.0 has it"
    assert (drawn["name"], drawn["status"]) == ("drawn runs", "passed")
    assert (compared["name"], compared["status"]) == ("recordings", "passed")
    assert all((tmp_path / file).exists() for each in found for file in each["files"])
    assert told["runs"] >= 2
    assert groups_of(str(tmp_path)) == set()
