"""`zabcheck run --protocol module:Class` and `replay`: what is found in a protocol of one's own, from any folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from invariants import select
from tests.cli.command import ROOT, process
from tests.cli.conftest import Command
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.adapter import PROPERTIES

MODULE = (
    (ROOT / "tests/protocols/own/hasty.py").read_text(encoding="utf-8")
    + """

class Raising(Hasty):
    def on_request(self, value):
        {}[value]

class Mistaken(Hasty):
    durable = "log"
"""
)


@pytest.fixture
def folder(tmp_path: Path, own_module: Callable[[str, str], None]) -> Path:
    own_module("mine", MODULE)
    return tmp_path


def test_a_class_in_the_current_folder_is_searched_and_replayed(folder: Path, zabcheck: Command) -> None:
    """The replay is a process of its own, which has to find the folder by itself."""
    found = zabcheck("run", "--protocol", "mine:Hasty", "--seed", "1", "--property", "agreement")
    assert (found.code, found.err) == (1, "")
    assert "agreement is violated" in found.out
    assert "mine:Hasty, " in found.out
    [schedule] = (folder / "reports").glob("mine-Hasty-agreement-*.schedule.json")
    again = process("replay", schedule, cwd=folder)
    assert (again.code, again.err) == (1, "")
    assert "agreement is violated" in again.out


def test_it_is_judged_by_what_holds_for_any_such_protocol(folder: Path, zabcheck: Command) -> None:
    result = zabcheck("run", "--protocol", "mine:Hasty", "--seed", "1", "--runs", "1", "--format", "json")
    names = [each["property"] for each in result.json["properties"]]
    assert names == [each.name for each in select(PROPERTIES)]
    assert {"agreement", "primary integrity", "strict causality", "zxid uniqueness"} < set(names)
    assert not {"convergence", "invariant 1", "redelivery"} & set(names)


@pytest.mark.parametrize("format", ["text", "json"])
def test_code_that_raises_is_a_report_on_standard_error_and_exit_code_2(
    folder: Path, format: str, zabcheck: Command
) -> None:
    found = zabcheck("run", "--protocol", "mine:Raising", "--seed", "1", "--format", format)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("the protocol's own code raised an exception; no property was judged\nKeyError: 'v1'\n")
    assert 'File "mine.py", line 19, in on_request\n    {}[value]\n' in found.err
    assert "violated" not in found.err
    [schedule] = (folder / "reports").glob("mine-Raising-raised-*.schedule.json")
    assert f"wrote reports/{schedule.name}\n" in found.err
    again = zabcheck("replay", schedule, "--format", format)
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("the protocol's own code raised an exception; no property was judged\nKeyError: 'v1'\n")
    assert "wrote" not in again.err


NOTHING = {
    "mine:No": "protocol `mine:No`: no `No` in module `mine`",
    "yours:Hasty": "protocol `yours:Hasty`: cannot import `yours`: ModuleNotFoundError: No module named 'yours'",
    "mine:zabcheck": "protocol `mine:zabcheck`: expected a subclass of zabcheck.Process, found <module",
    "mine:Mistaken": "Mistaken.durable: expected a tuple",
    "mine": f"no protocol `mine`; expected one of: {', '.join(PROTOCOLS)}; or `module:Class`",
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_name_of_nothing_is_one_line(folder: Path, name: str, zabcheck: Command) -> None:
    result = zabcheck("run", "--protocol", name)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {NOTHING[name]}")
    assert result.err.count("\n") == 1


def test_a_schedule_of_a_class_that_is_gone_is_refused(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"version":1,"protocol":"gone:Mine","processes":1,"choices":[]}')
    result = zabcheck("replay", "it.json")
    assert result.code == 2
    assert result.err.startswith("zabcheck: it.json, field `protocol`: protocol `gone:Mine`: cannot import `gone`")
