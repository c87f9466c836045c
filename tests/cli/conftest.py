"""Fixtures for the tests of the command."""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.cli.command import MUTANT_RUN, Result, process
from zabcheck import cli

Command = Callable[..., Result]


@pytest.fixture
def zabcheck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command within this process, which is quicker, in a folder of its own."""
    for variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["zabcheck", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            cli.main()
        assert isinstance(exited.value.code, int)
        return Result(exited.value.code, *capsys.readouterr())

    return call


class Found(msgspec.Struct):
    """A search that found something: what it printed, and where its files are."""

    result: Result
    folder: Path

    def file(self, suffix: str) -> Path:
        [file] = (self.folder / "found").glob(f"*{suffix}")
        return file


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """A search for a planted bug, with its result as JSON and its files under `found`."""
    folder = tmp_path_factory.mktemp("search")
    return Found(process(*MUTANT_RUN, "--out", "found", "--format", "json", cwd=folder), folder)
