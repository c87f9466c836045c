"""`zabcheck replay`: a saved schedule gives the same run again, everywhere."""

from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.command import CALM_SCHEDULE, violation_in
from tests.cli.conftest import Command, Found
from tests.protocols.own.raising import Fickle
from zabcheck.protocols.switches import Switches
from zabcheck.search.run import schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Request


def test_the_verdict_and_the_hash_are_those_of_the_search(found: Found, zabcheck: Command) -> None:
    file = found.file(".schedule.json")
    said = found.result.json["counterexample"]
    result = zabcheck("replay", file, "--format", "json")
    assert result.code == 1
    assert (result.json["sha256"], result.json["steps"]) == (said["sha256"], said["steps"])
    assert violation_in(result.json["verdicts"], said["violation"]["property"]) == said["violation"]


def test_the_hash_is_that_of_the_saved_trace(found: Found, zabcheck: Command) -> None:
    result = zabcheck("replay", found.file(".schedule.json"))
    assert f"trace SHA-256 {sha256(found.file('.trace.jsonl').read_bytes()).hexdigest()}\n" in result.out


def test_the_trace_can_be_written(found: Found, zabcheck: Command, tmp_path: Path) -> None:
    saved = found.file(".trace.jsonl").read_bytes()
    for _ in range(2):  # the second time it is replaced
        result = zabcheck("replay", found.file(".schedule.json"), "--trace", "t.jsonl")
        assert "\nwrote t.jsonl\n\nFAIL: " in result.out
        assert (tmp_path / "t.jsonl").read_bytes() == saved
        assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    result = zabcheck("replay", found.file(".schedule.json"), "--trace", "t.jsonl", "--format", "json")
    assert result.json["trace"] == "t.jsonl"
    assert sha256(saved).hexdigest() == result.json["sha256"]
    assert zabcheck("replay", found.file(".schedule.json"), "--format", "json").json["trace"] is None


def test_a_run_that_breaks_nothing(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "calm.json").write_bytes(CALM_SCHEDULE)
    result = zabcheck("replay", "calm.json")
    assert (result.code, result.err) == (0, "")
    assert "holds" in result.out
    assert "is violated" not in result.out.replace("nothing is violated", "")


def test_a_run_that_exercises_nothing(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "idle.json").write_bytes(schedules.dump(schedule_of("zab", None, 3, ())))
    result = zabcheck("replay", "idle.json", "--format", "json")
    assert result.code == 3
    assert {verdict["status"] for verdict in result.json["verdicts"]} == {"not exercised"}


def test_a_protocol_that_is_not_deterministic_is_told_so(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fickle, "left", 1)
    (tmp_path / "it.json").write_bytes(
        schedules.dump(schedule_of("tests.protocols.own.raising:Fickle", None, 1, [Request(1)]))
    )
    result = zabcheck("replay", "it.json", "--protocol", "tests.protocols.own.raising:Fickle")
    assert result.code == 2
    assert result.err == (
        "zabcheck: it.json: the same schedule does something else each time: the protocol is not deterministic;"
        " in step 1, Request(process=1, value=None), p1 delivers v1⟨1,1⟩ the first time,"
        " and p1 broadcasts v1⟨1,1⟩ the second time\n"
    )


@pytest.mark.parametrize("command", [("replay",), ("explain",), ("explore", "--certify")])
def test_a_schedule_with_elections_by_vote_is_of_a_protocol_that_votes(
    command: tuple[str, ...], zabcheck: Command, tmp_path: Path
) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(schedules.dump(schedule_of("zab", None, 3, (), switches=Switches(elections="oracle"))))
    result = zabcheck(*command, str(file))
    assert (result.code, result.out) == (2, "")
    assert "field `switches`: elections=oracle: expected `apart` or `together`" in result.err


def test_a_file_whose_name_is_no_text(zabcheck: Command, tmp_path: Path) -> None:
    name = "bell\a\udcff.json"
    (tmp_path / name).write_bytes(CALM_SCHEDULE)
    assert zabcheck("replay", name).code == 0
    assert zabcheck("replay", name, "--format", "json").json["schedule"] == "bell\a\\udcff.json"
