"""A change of every message text changes no verdict and no diagnosis."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from invariants import FURTHER, PROPERTIES
from tests.frozen.__main__ import Chosen, differences, known
from tests.rewording.reworded import is_prose, literal_names, reword
from zabcheck.search.goals import GOALS
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("invariants/**/*.py"), *ROOT.glob("zabcheck/**/*.py")])


def names() -> set[str]:
    """The names that contain blanks, which are no messages."""
    found = {*PROPERTIES, *FURTHER, *GOALS, *CLIENT_PROPERTIES}
    for path in SOURCES:
        found |= literal_names(path.read_text(encoding="utf-8"))
    return set(filter(is_prose, found))


@pytest.mark.slow
def test_no_code_reads_a_message(tmp_path: Path) -> None:
    """All verdicts and diagnoses are as they are frozen."""
    kept = tmp_path / "names.json"
    kept.write_text(json.dumps(sorted(names())))
    program = [sys.executable, "-m", "tests.rewording.diagnoses", str(kept)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before = Chosen(["diagnoses"]).only(known())
    assert len(before) > 90
    assert [line for line in differences(Chosen(["diagnoses"]), json.loads(done.stdout)) if "/words" not in line] == []


def test_messages_are_changed_wherever_they_are() -> None:
    """The module of the signatures has some sixty."""
    signatures = ROOT / "zabcheck/zookeeper/verdict/signatures.py"
    assert reword(signatures.read_text(encoding="utf-8"), ())[1] > 20


@pytest.mark.parametrize(
    ("reads", "changed"),
    [
        ('"its log lacks it" in note', False),
        ('note.startswith("what its snapshot")', False),
        ('f"server {n} has it"', True),
        ('say("nobody leads now")', True),
        ('{"nobody leads": 1}', False),
    ],
)
def test_texts_that_are_looked_for_stay(reads: str, changed: bool) -> None:
    assert (reword(reads, ())[1] > 0) == changed
