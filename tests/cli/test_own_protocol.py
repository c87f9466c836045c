"""`zabcheck run --protocol module:Class` and `replay`: what is found in a protocol of one's own, from any folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from invariants import select
from tests.cli.command import BROKEN_SCHEDULE, ROOT, process
from tests.cli.conftest import Command
from zabcheck.campaign import plan as plans
from zabcheck.campaign.plan import Plan
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
    again = process("replay", schedule, "--protocol", "mine:Hasty", cwd=folder)
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
    again = zabcheck("replay", schedule, "--protocol", "mine:Raising", "--format", format)
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


NAMED = '{"version":1,"protocol":"planted:Mine","processes":2,"choices":[]'


@pytest.fixture
def planted(folder: Path) -> Path:
    """A folder with files that name the class of a module beside them."""
    (folder / "planted.py").write_text(MODULE + "\nclass Mine(Hasty):\n    pass\n")
    (folder / "it.json").write_text(NAMED + "}")
    (folder / "switches.json").write_text(NAMED + ',"switches":{"of its own":1}}')
    header = f'{{"event":"header","version":1,"processes":2,"protocol":"zab","schedule":{NAMED}}}}}'
    (folder / "it.jsonl").write_text(header + '\n{"event":"end","count":0}\n')
    plan = Plan(1, "planted:Mine", (None,), 1, 1, 1, "none", 9, 2, None, ("integrity",), {})
    (folder / "campaign").mkdir()
    (folder / "campaign/campaign.json").write_bytes(plans.dump(plan))
    return folder


OPTION = "its protocol is a class, which is imported, so add --protocol planted:Mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["replay", "it.json"], f"it.json: {OPTION}"),
        (["replay", "switches.json"], f"switches.json: {OPTION}"),
        (["explain", "it.json"], f"it.json: {OPTION}"),
        (["explore", "--certify", "it.json"], f"it.json: {OPTION}"),
        (["campaign", "--resume", "--out", "campaign"], f"--resume: {OPTION}"),
        (["explain", "it.jsonl"], None),
        (["check", "it.jsonl"], None),
    ],
)
def test_a_file_alone_imports_nothing(planted: Path, zabcheck: Command, arguments: list[str], said: str | None) -> None:
    result = zabcheck(*arguments)
    assert "planted" not in sys.modules
    if said is None:
        assert result.code != 2
    else:
        assert (result.code, result.out, result.err) == (2, "", f"zabcheck: {said}\n")


@pytest.mark.parametrize("arguments", [["replay", "it.json"], ["explain", "it.json"], ["explain", "it.jsonl"]])
def test_the_command_line_says_what_is_imported(planted: Path, zabcheck: Command, arguments: list[str]) -> None:
    result = zabcheck(*arguments, "--protocol", "planted:Mine")
    assert "planted" in sys.modules
    assert result.code != 2
    assert "planted:Mine" in result.out or arguments[0] == "replay"


def test_a_schedule_is_executed_with_another_protocol_and_without_its_bug(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "it.json").write_bytes(BROKEN_SCHEDULE)
    assert zabcheck("replay", "it.json", "--protocol", "zab").code == 1
    assert zabcheck("replay", "it.json", "--protocol", "ladis").code == 0


def test_what_lies_beside_a_trace_is_not_imported(tmp_path: Path) -> None:
    """Python itself looks into the current folder first, for `-m`, and main() did."""
    (tmp_path / "it.jsonl").write_text(
        '{"event":"header","version":1,"processes":2,"protocol":"zab"}\n{"event":"end","count":0}\n'
    )
    for name in ("csv", "numbers", "typing", "typer", "numpy", "rich"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    result = process("check", "it.jsonl", cwd=tmp_path)
    assert (result.code, result.err) == (3, "")
    assert not (tmp_path / "executed").exists()


def test_a_named_class_is_looked_for_in_the_current_folder_last(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    zabcheck("list", "protocols")
    assert "" not in sys.path
    zabcheck("run", "--protocol", "nowhere:Mine")
    assert sys.path[-1] == ""
