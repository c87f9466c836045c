"""A release: one version everywhere, a changelog that tells of it, a workflow that publishes it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))


def test_the_changelog_begins_with_this_version() -> None:
    """After what is not released yet, of which a release has nothing."""
    newest, *_ = [title for title in re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE) if title != "Unreleased"]
    version, date = newest.split(" – ")
    assert version == PROJECT["version"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def test_the_newest_entry_can_be_read_at_once() -> None:
    entry = CHANGELOG.split("\n## ")[1]
    sections = ["Added", "Changed", "Fixed", "Removed"]
    named = re.findall(r"^### (.*)$", entry, re.MULTILINE)
    assert named == [section for section in sections if section in named]
    assert len(entry.splitlines()) <= 80
    assert [line for line in entry.splitlines() if len(line) > 200] == []


def test_each_python_that_is_allowed_is_named() -> None:
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", each)]
    assert f">={named[0]}" == PROJECT["requires-python"]


def test_the_workflow_publishes_what_it_has_tested_and_stores_no_password() -> None:
    build, publish = WORKFLOW["jobs"]["build"], WORKFLOW["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not re.search("secrets|password", str(WORKFLOW))
    [checked] = [step["run"] for step in build["steps"] if step.get("name") == "The tag is the version"]
    assert "! grep -q '^## Unreleased' CHANGELOG.md" in checked
    [tested] = [step["run"] for step in build["steps"] if "pytest" in step.get("run", "")]
    assert all((ROOT / file).is_file() for file in re.findall(r"tests/\S+", tested))


@pytest.mark.parametrize("label", ["Repository", "Documentation", "Changelog", "Issues"])
def test_the_addresses_are_of_one_repository(label: str) -> None:
    assert PROJECT["urls"][label].startswith(PROJECT["urls"]["Repository"])
