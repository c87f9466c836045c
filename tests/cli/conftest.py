"""Fixtures for the tests of the command."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.command import MUTANT_RUN, Result, process
from zabcheck import cli
from zabcheck.search.tally import Tally

Command = Callable[..., Result]
HERE = Path(__file__).parent


@pytest.fixture
def zabcheck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command within this process, which is quicker, in a folder of its own."""
    for variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["zabcheck", *map(str, arguments)])
        reader, writer = os.pipe()
        assert os.write(writer, stdin) == len(stdin), "a pipe holds no more"
        os.close(writer)
        capsys.readouterr()
        with os.fdopen(reader) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            with pytest.raises(SystemExit) as exited:
                cli.main()
        assert isinstance(exited.value.code, int)
        return Result(exited.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def own_module(zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Write modules into the current folder, by name and code."""

    def write(name: str, code: str) -> None:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    return write


@pytest.fixture
def ctrl_c_in_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Have Ctrl-C come in the run of this number, counted from 1 over all searches."""
    add, runs = Tally.add, 0

    def come(number: int) -> None:
        def add_and_interrupt(tally: Tally, run: Any) -> None:
            nonlocal runs
            runs += 1
            if runs == number:
                signal.raise_signal(signal.SIGINT)
            add(tally, run)

        monkeypatch.setattr(Tally, "add", add_and_interrupt)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # xdist has its workers ignore it
    yield come
    signal.signal(signal.SIGINT, before)


class Found(msgspec.Struct):
    """A search that found something: what it printed, and where its files are."""

    result: Result
    folder: Path

    def file(self, suffix: str) -> Path:
        [file] = (self.folder / "found").glob(f"*{suffix}")
        return file


@pytest.hookimpl(tryfirst=True)  # xdist looks at the groups here, too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one worker make the search `found` and run all tests that look at it."""
    for item in items:
        if isinstance(item, pytest.Function) and "found" in item.fixturenames and item.path.parent == HERE:
            item.add_marker(pytest.mark.xdist_group("found"))


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """A search for a planted bug, with its result as JSON and its files under `found`."""
    folder = tmp_path_factory.mktemp("search")
    return Found(process(*MUTANT_RUN, "--out", "found", "--format", "json", cwd=folder), folder)
