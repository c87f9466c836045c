"""An error of the code that a protocol models is found, told and searched for as a violation is: exit code 1."""

from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.cli.conftest import Command
from tests.tiers import sweep

KEPT = ROOT / "tests/zookeeper/model/schedules"
SAID = "Learner.syncWithLeader: a NullPointerException, as COMMIT of ⟨1,1⟩ finds no packet"
TITLE = "the code that is modelled has an error; no property was judged"
OF_4394 = [
    *("--protocol", "zookeeper", "--property", "core"),
    *(part for value in ("version=3.8.0", "defects=4394", "errors=raised") for part in ("--switch", value)),
]
SMALL = ("--processes", "3", "--epochs", "1", "--txns", "1", "--timeouts", "0", "--crashes", "0")
RAISED = {
    "process": 1,
    "stimulus": "COMMIT(⟨1,1⟩) from p3",
    "error": SAID,
    "traceback": [],
    "is_modelled": True,
}


def test_run_finds_and_explains_it(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("run", *OF_4394, "--engine", "swarm", "--seed", "1")
    assert (result.code, result.err) == (1, "")
    assert TITLE in result.out
    assert "Traceback" not in result.out
    [schedule] = (tmp_path / "reports").glob("zookeeper-error-*.schedule.json")
    assert result.out.splitlines()[-1] == (
        f"FAIL: zookeeper has an error, in run 3: {SAID}; next: zabcheck play reports/{schedule.name} --property core"
    )
    [page] = (tmp_path / "reports").glob("*.html")
    assert "traceback" not in page.read_text(encoding="utf-8").split("<script")[0]
    told = zabcheck("run", *OF_4394, "--engine", "swarm", "--seed", "1", "--format", "json")
    assert told.code == 1
    assert told.json["counterexample"]["raised"] == {**RAISED, "process": 3, "stimulus": "COMMIT(⟨1,1⟩) from p2"}


def test_replay_and_explain_tell_of_it(zabcheck: Command) -> None:
    schedule = KEPT / "4394.schedule.json"
    for command in ("replay", "explain"):
        result = zabcheck(command, schedule)
        assert (result.code, result.err) == (1, "")
        assert result.out.startswith(f"{TITLE}\n{SAID}\n")
        assert result.out.splitlines()[-1].startswith(f"FAIL: zookeeper has an error: {SAID}; next: ")
        told = zabcheck(command, schedule, "--format", "json")
        assert (told.code, told.json["raised"]) == (1, RAISED)


@pytest.mark.slow
def test_explore_finds_the_shortest_run_and_certifies_it(zabcheck: Command) -> None:
    found = zabcheck("explore", *OF_4394, *SMALL)
    least = "no shorter run within the bounds has an error, or violates any property that was judged"
    said = f"zookeeper has an error, and {least}"
    assert (found.code, found.err) == (1, "")
    assert found.out.splitlines()[-1].startswith(f"FAIL: {said}; next: zabcheck play ")
    told = zabcheck("explore", *OF_4394, *SMALL, "--format", "json")
    assert (told.json["steps"], told.json["tried"], told.json["counterexample"]["raised"]) == (
        19,
        18,
        RAISED,
    )
    certified = zabcheck("explore", "--certify", KEPT / "4394.schedule.json")
    assert certified.code == 0
    assert certified.out.splitlines()[-1] == (
        "PASS: certified: no run of fewer than 19 steps has an error; every run of up to 18 steps was tried"
    )


def test_a_longer_run_with_an_error_is_replaced_by_the_shortest(zabcheck: Command, tmp_path: Path) -> None:
    choices = (KEPT / "4394.schedule.json").read_text(encoding="utf-8")
    request, snapshot = (f'  {{"choice":"{kind}","process":3' for kind in ("request", "snapshot"))
    assert choices.count(request) == 1
    longer = tmp_path / "longer.schedule.json"
    longer.write_text(choices.replace(request, f"{snapshot}}},\n{request}"), encoding="utf-8")
    found = zabcheck("explore", "--certify", longer)
    assert found.code == 1
    assert "\nFAIL: zookeeper has an error in 19 steps instead of 20, and no shorter run" in found.out


@pytest.mark.parametrize("grain", sweep(("G0", "G4"), normal=("G0",)))
def test_repaired_code_has_no_modelled_error(grain: str, zabcheck: Command) -> None:
    fixed = [value.replace("4394", "none") for value in OF_4394]
    result = zabcheck("explore", *fixed, "--switch", f"grain={grain}", *SMALL)
    assert result.code == 3, "one transaction exercises no order"
    assert "\nINCONCLUSIVE: proved for " in result.out
