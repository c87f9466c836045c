"""The workflow on GitHub does what `.ci/run` does, and the forms there can be read."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
FILES = [*FORMS, *sorted((ROOT / ".github/workflows").iterdir()), ROOT / ".pre-commit-config.yaml"]


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def targets_of(script: str) -> list[str]:
    """The make targets that `.ci/run` makes."""
    [named] = re.findall(r"^targets=\((.*)\)$", script, re.MULTILINE)
    return str(named).split()


def made_by(job: dict[str, Any]) -> list[str]:
    """The make targets of a job, one for each cell of its matrix."""
    matrix = job["strategy"]["matrix"]
    assert [step["run"] for step in job["steps"] if ".ci/run" in step.get("run", "")] == [
        ".ci/run ${{ matrix.target }}"
    ]
    return [*matrix["target"], *(cell["target"] for cell in matrix.get("include", ()))]


SCRIPT = (ROOT / ".ci/run").read_text(encoding="utf-8")
WORKFLOW = load(ROOT / ".github/workflows/ci.yml")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_is_yaml(path: Path) -> None:
    assert isinstance(load(path), dict)


def test_the_workflow_makes_what_the_script_makes() -> None:
    made = [target for job in WORKFLOW["jobs"].values() for target in made_by(job)]
    assert sorted(set(made)) == sorted(targets_of(SCRIPT))


def test_what_the_script_makes_can_be_made() -> None:
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(targets_of(SCRIPT)) <= set(rules)


def test_every_tier_is_made() -> None:
    assert {"test", "test-slow", "test-browser", "test-zookeeper", "test-kits"} <= set(targets_of(SCRIPT))


@pytest.mark.parametrize(
    ("target", "fails", "expected"),
    [
        ("test-slow", "no", (0, ["--cache-clear"])),
        ("test-slow", "once", (0, ["--cache-clear", "--last-failed"])),
        ("test-slow", "always", (1, ["--cache-clear", "--last-failed"])),
        ("test", "once", (1, ["--cache-clear"])),
        ("lint", "once", (1, ["--cache-clear"])),
    ],
)
def test_what_failed_in_a_tier_with_real_processes_is_run_once_more(
    target: str, fails: str, expected: tuple[int, list[str]], tmp_path: Path
) -> None:
    """Fake `make`: it fails `no` time, `once`, or `always`."""
    make = tmp_path / "make"
    failure = {"no": "exit 0", "once": '[[ "$*" = *--last-failed* ]]', "always": "exit 2"}[fails]
    make.write_text(f'#!/bin/bash\necho "$@" >> {tmp_path}/made\n{failure}\n', encoding="utf-8")
    make.chmod(0o755)
    done = subprocess.run(
        [ROOT / ".ci/run", target], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False
    )
    made = (tmp_path / "made").read_text(encoding="utf-8")
    assert (int(done.returncode != 0), re.findall(r"--cache-clear|--last-failed(?!-)", made)) == expected
    assert all(each.startswith(f"{target} PYTEST_OPTIONS=") for each in made.splitlines())


def test_the_workflow_may_read_and_no_more() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not [name for name, job in WORKFLOW["jobs"].items() if "permissions" in job]


@pytest.mark.parametrize(
    "path", [*(ROOT / ".github/workflows").iterdir(), ROOT / "docs/gate.md"], ids=lambda path: path.name
)
def test_each_action_is_pinned_by_its_hash(path: Path) -> None:
    """A tag can be moved to other code. The comment says which version it was."""
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_the_oldest_python_that_is_allowed_is_tried() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [oldest] = re.findall(r'^requires-python = ">=(.*)"$', project, re.MULTILINE)
    assert WORKFLOW["jobs"]["python"]["strategy"]["matrix"]["python"] == [oldest]


@pytest.mark.parametrize("path", [form for form in FORMS if form.stem != "config"], ids=lambda path: path.name)
def test_a_form_asks_for_something(path: Path) -> None:
    form = load(path)
    assert form["name"]
    assert form["description"]
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert any(field.get("validations", {}).get("required") for field in asked)
    assert len({field["id"] for field in asked}) == len(asked)
    assert all(field["attributes"]["label"] for field in asked)


def test_the_hooks_before_a_commit_are_those_of_make_lint() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    linted = re.findall(r"^\t.*\$\(BIN\)/(ruff check|ruff format|mypy|deno lint|deno check)", makefile, re.MULTILINE)
    hooks = [hook["entry"] for repo in load(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    found = re.findall(r"\.venv/bin/(ruff check|ruff format|mypy|deno lint|deno check)", "\n".join(hooks))
    assert len(linted) == 5
    assert sorted(found) == sorted(linted)


@pytest.mark.parametrize("tier", ["kits", "zookeeper"])
def test_a_tier_that_collects_some_folders_finds_all_of_its_tests_there(tier: str) -> None:
    [named] = re.findall(rf" -m {tier} (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    folders = [ROOT / each for each in named.split()]
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if f"mark.{tier}" in path.read_text(encoding="utf-8")]
    assert len(files) > len(folders)
    assert [path for path in files if not any(path.is_relative_to(each) for each in folders)] == []
