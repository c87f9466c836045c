"""The fixture `gate`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Result
from tests.cli.conftest import Command
from tests.cli.gate.configurations import OWN, Gate


@pytest.fixture
def gate(zabcheck: Command, tmp_path: Path, own_module: Callable[[str, str], None]) -> Gate:
    """The gate with this table as its configuration, in a folder with the module `mine_here`."""
    own_module("mine_here", OWN)

    def call(table: str, *arguments: str) -> Result:
        (tmp_path / "pyproject.toml").write_text(f"[tool.zabcheck]\n{table}", encoding="utf-8")
        return zabcheck("gate", *arguments)

    return call
