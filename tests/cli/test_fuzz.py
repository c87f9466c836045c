"""Whatever is in a file or on the command line, the answer is a verdict or one line that says what is wrong."""

import time
from pathlib import Path

import pytest

from tests.cli.fuzzing import calling
from tests.cli.fuzzing.calling import Hang, limited
from tests.cli.fuzzing.kinds import KINDS, fuzz

QUICK, BLOCK = 60, 2000
NUMBERS = {"recording": 15, "explain": 160, "arguments": 70, "configuration": 70}
"""A case of a recording takes ten times as long as others; of the other kinds few cases are inconclusive, or a bug."""
LONG = {
    "check": 8000,
    "merge": 6000,
    "replay": 6000,
    "explain": 2000,
    "recording": 2000,
    "configuration": 8000,
    "gate": 2000,
    "arguments": 6000,
}
BLOCKS = [(kind, range(first, first + BLOCK)) for kind in KINDS for first in range(0, LONG[kind], BLOCK)]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_an_answer(kind: str, tmp_path: Path) -> None:
    codes = fuzz(kind, range(NUMBERS.get(kind, QUICK)), tmp_path)
    assert set(codes) == {0, 1, 2, 3}, "the cases are too much alike"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "numbers"), BLOCKS, ids=[f"{kind}-{numbers[0]}" for kind, numbers in BLOCKS])
def test_there_is_an_answer_at_length(kind: str, numbers: range, tmp_path: Path) -> None:
    fuzz(kind, numbers, tmp_path)


def test_these_are_forty_thousand_cases() -> None:
    assert sum(len(numbers) for _, numbers in BLOCKS) == 40_000


def test_what_hangs_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "SECONDS", 0.05)

    def hang() -> None:
        start = time.process_time()
        while time.process_time() < start + 10:
            pass

    with pytest.raises(Hang), limited():
        hang()
    with limited():
        pass


def test_a_traceback_is_a_failure_that_names_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("zabcheck.cli.check.judge_files", broken)
    with pytest.raises(AssertionError, match=r"^check, case 0: (?s:.)*RuntimeError: broken\n"):
        fuzz("check", range(1), tmp_path)
