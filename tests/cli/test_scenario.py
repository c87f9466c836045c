"""`zabcheck scenario`."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.conftest import Command
from zabcheck.cli import scenario as command
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.papers.scenarios.base import Outcome


def test_it_tells_what_it_is_about_then_the_run_then_whether_the_outcome_came_about(zabcheck: Command) -> None:
    result = zabcheck("scenario", "dsn-figure-4")
    assert (result.code, result.err) == (0, "")
    places = [
        result.out.index(text)
        for text in (
            "dsn-figure-4: ",
            "DSN 2011, III-B, figure 4",
            "Expected outcome",
            "strict causality is violated",
            "what broke it",
            "PASS: dsn-figure-4 has the expected outcome",
        )
    ]
    assert places == sorted(places)


def test_an_outcome_that_does_not_come_about_is_exit_code_1(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(SCENARIOS["dsn-figure-4"], outcome=Outcome())
    monkeypatch.setattr(command, "SCENARIOS", {"x": other})
    result = zabcheck("scenario", "x")
    assert result.code == 1
    assert "- violated: primary integrity, strict causality" in result.out


def test_its_files_are_written_and_can_be_read_again(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("scenario", "dsn-figure-4", "--out", "files")
    written = sorted(path.name for path in (tmp_path / "files").iterdir())
    assert written == ["dsn-figure-4.html", "dsn-figure-4.trace.jsonl", "dsn-figure-4.txt"]
    assert all(f"wrote files/{name}" in result.out for name in written)
    assert "strict causality" in zabcheck("check", "files/dsn-figure-4.trace.jsonl").out


def test_as_json_it_has_the_outcome_and_the_story(zabcheck: Command) -> None:
    document = zabcheck("scenario", "dsn-figure-3", "--format", "json").json
    assert (document["scenario"], document["unmet"], document["story"]["violation"]) == ("dsn-figure-3", [], None)
    assert document["outcome"]["violated"] is None


def test_a_name_that_there_is_not_is_bad_input(zabcheck: Command) -> None:
    result = zabcheck("scenario", "x")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"zabcheck: no scenario `x`; expected one of: {', '.join(SCENARIOS)}\n"


def test_a_folder_that_cannot_be_written_is_bad_input(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert zabcheck("scenario", "dsn-figure-3", "--out", "file").code == 2
