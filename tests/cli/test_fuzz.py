"""Whatever is in a file or on the command line, the answer is a verdict or one line that says what is wrong."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ROOT
from tests.cli.fuzzing import calling
from tests.cli.fuzzing.calling import Hang, limited
from tests.cli.fuzzing.kinds import KINDS, fuzz
from tests.cli.fuzzing.watching import PLANTED, watched
from zabcheck.protocols import adapter
from zabcheck.text.nodes import is_class

QUICK, BLOCK = range(20), 2000
NUMBERS = {
    "merge": range(25, 45),
    "replay": range(28, 52),
    "explain": range(150, 162),
    "play": range(38, 45),
    "recording": range(6),
    "gate": range(28),
    "plan": range(12),
    "disk": range(100, 112),
    "checkpoint": range(6),
    "jar": range(10),
    "columns": range(100, 109),
}
"""Few that end in each of the exit codes. The slow tier has thousands."""
CODES = {"plan": {0, 1, 2}, "checkpoint": {2, 3}, "campaign": {2}, "certificate": {2}, "jar": {2}}
"""The exit codes of kinds that have not all four."""
LONG = {
    "check": 1475,
    "merge": 625,
    "replay": 950,
    "explain": 200,
    "play": 25,
    "recording": 30,
    "configuration": 800,
    "gate": 75,
    "arguments": 115,
    "plan": 30,
    "disk": 250,
    "campaign": 100,
    "checkpoint": 75,
    "certificate": 100,
    "jar": 25,
    "columns": 125,
}
BLOCKS = [
    (kind, range(first, min(first + BLOCK, LONG[kind]))) for kind in KINDS for first in range(0, LONG[kind], BLOCK)
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_an_answer(kind: str, tmp_path: Path) -> None:
    codes = fuzz(kind, NUMBERS.get(kind, QUICK), tmp_path)
    assert set(codes) == CODES.get(kind, {0, 1, 2, 3}), "the cases are too much alike"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "numbers"), BLOCKS, ids=[f"{kind}-{numbers[0]}" for kind, numbers in BLOCKS])
def test_there_is_an_answer_at_length(kind: str, numbers: range, tmp_path: Path) -> None:
    fuzz(kind, numbers, tmp_path)


def test_these_are_five_thousand_cases() -> None:
    assert sum(len(numbers) for _, numbers in BLOCKS) == 5_000


DONE: dict[str, tuple[Callable[[], object], str | None]] = {
    "writes the output": (lambda: Path("out/it").write_text(""), None),
    "makes the folder of the output": (lambda: Path("out").mkdir(exist_ok=True), None),
    "writes a temporary file": (lambda: tempfile.TemporaryFile().close(), None),
    "writes elsewhere": (lambda: Path("t.jsonl").write_text(""), "writes 't.jsonl'"),
    "writes into a folder that begins alike": (lambda: Path("outer").write_text(""), "writes 'outer'"),
    "makes a folder": (lambda: Path("made").mkdir(), "writes 'made'"),
    "renames": (lambda: Path("there").rename("out/it"), "writes 'there'"),
    "imports what a file names": (lambda: find_spec(f"{PLANTED}.of"), f"imports {PLANTED}"),
    "starts a program": (lambda: subprocess.run(["true"], check=True), "starts 'true'"),
    "starts one that is named": (lambda: subprocess.run(["false"], check=False), None),
    "asks another machine": (lambda: socket.socket().connect_ex(("198.51.100.1", 0)), "connects to "),
    "executes what is elsewhere": (lambda: exec(compile("", "/elsewhere/x.py", "exec")), "executes /elsewhere/x.py"),
    "executes text": (lambda: exec(compile("exec('')", ROOT / "zabcheck/x.py", "exec")), "executes text in "),
}


@pytest.mark.parametrize("what", DONE)
def test_what_a_command_does_besides_is_seen(what: str, tmp_path: Path) -> None:
    does, complaint = DONE[what]
    (tmp_path / "out").mkdir()
    (tmp_path / "there").write_text("")
    if complaint is None:
        with watched([Path("out/it")], ["false"]):
            does()
        return
    with pytest.raises(AssertionError, match=complaint), watched([Path("out/it")], ["false"]), suppress(ImportError):
        does()


def test_hanging_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_an_import_for_a_file_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> Any:
        return import_module(name.partition(":")[0]).Mine if is_class(name) else find(name)

    find = adapter.find
    monkeypatch.setattr("zabcheck.cli.replay.untrusted", lambda _: "")
    monkeypatch.setattr(adapter, "find", found)
    with pytest.raises(AssertionError, match=rf"executes .*/{PLANTED}\.py"):
        fuzz("configuration", range(70), tmp_path)
