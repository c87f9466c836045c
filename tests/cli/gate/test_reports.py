"""`zabcheck gate`: the files, annotations and summaries that it writes."""

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.command import process
from tests.cli.gate.configurations import FOUND_TWICE, OWN, PASSES, SURVIVES, Gate, names_of
from zabcheck.gate import checks


@pytest.mark.slow
def test_a_counterexample_that_two_seeds_lead_to_is_named_once(gate: Gate) -> None:
    wrote = [line for line in gate(FOUND_TWICE).out.splitlines() if line.startswith("wrote ")]
    assert len(wrote) == len(set(wrote)) == 4


def test_junit_and_markdown_are_written_and_named(gate: Gate, tmp_path: Path) -> None:
    result = gate('protocols = ["mine_here:Mine"]', "--junit", "j.xml", "--summary", "s.md")
    assert result.code == 1
    assert "\nwrote j.xml\nwrote s.md\n\nFAIL: gate failed: " in result.out
    [failure] = ElementTree.parse(tmp_path / "j.xml").getroot().iter("failure")
    assert failure.attrib["message"].startswith("zxid uniqueness is violated: ")
    assert "◀W1" in str(failure.text)
    assert ".schedule.json" in str(failure.text)
    summary = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert summary.startswith("## zabcheck: failed\n")
    assert "<details><summary><code>zxid uniqueness is violated: " in summary
    assert "◀W1" in summary
    assert names_of(tmp_path) == ["j.xml", "reports", "s.md"]


def test_the_files_are_written_anew(gate: Gate, tmp_path: Path) -> None:
    for name in ("j.xml", "s.md"):
        (tmp_path / name).write_text("x" * 100_000)
    gate(PASSES, "--junit", "j.xml", "--summary", "s.md")
    assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["errors"] == "0"
    assert (tmp_path / "s.md").read_text().startswith("## zabcheck: passed\n")
    assert names_of(tmp_path) == ["j.xml", "s.md"]


def test_values_of_users_code_do_no_harm(gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = gate('protocols = ["mine_here:Evil"]', "--junit", "j.xml", "--summary", "s.md")
    assert result.code == 1
    assert not {"\x1b", "\x00"} & {*result.out, *result.err}
    [failure] = ElementTree.parse(tmp_path / "j.xml").getroot().iter("failure")
    assert "]]>" in failure.attrib["message"]
    [row] = [line for line in (tmp_path / "s.md").read_text(encoding="utf-8").splitlines() if "| failed |" in line]
    assert "]]>\\x7c<b>&" in row
    assert [
        line for line in result.err.splitlines() if not line.startswith(("::error title=", "::warning title="))
    ] == []
    assert "%250A::error::" in result.err


def test_github_gets_annotations_and_a_summary_beside_that_of_others(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "step.md").write_text("what was there\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    result = gate(SURVIVES)
    assert result.code == 1
    assert result.err.startswith("::error title=zabcheck%3A known bugs%2C counter-wraps::survived 3 runs: ")
    assert result.err.count("\n") == 1
    assert (tmp_path / "step.md").read_text(encoding="utf-8").startswith("what was there\n## zabcheck: failed\n")
    gate(PASSES)
    text = (tmp_path / "step.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## zabcheck: failed",
        "## zabcheck: passed",
    ]


@pytest.mark.parametrize("value", ["", "false", "1"])
def test_elsewhere_there_are_no_annotations(value: str, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", value)
    assert gate(SURVIVES).err == ""


def test_out_can_be_somewhere_else(gate: Gate, tmp_path: Path) -> None:
    gate('protocols = ["mine_here:Mine"]\nout = "here"', "--out", "there")
    assert names_of(tmp_path) == ["there"]


def test_a_name_that_is_no_utf8_is_written_as_an_escape(gate: Gate) -> None:
    result = gate('protocols = ["mine_here:Mine"]', "--out", os.fsdecode(b"o\xff"), "--format", "json")
    assert result.code == 1
    assert result.json["outcomes"][0]["files"][0].startswith("o\\udcff/mine_here-Mine-")


def test_what_was_found_counts_even_if_it_cannot_be_saved(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checks, "save", full)
    result = gate('protocols = ["mine_here:Mine"]')
    assert (result.code, result.err) == (1, "")
    assert "(not saved: reports: No space left on device)" in " ".join(result.out.split())
    assert "◀W1" in result.out
    assert "wrote" not in result.out


@pytest.mark.slow
def test_the_command_as_a_process_finds_the_class_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine_there.py").write_text(OWN)
    (tmp_path / "gate.toml").write_text('[tool.zabcheck]\nprotocols = ["mine_there:Mine"]\nruns = 50\n')
    result = process("gate", "--config", "gate.toml", cwd=tmp_path)
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines()[0] == "zxid uniqueness is violated"
