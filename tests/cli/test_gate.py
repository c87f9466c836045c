"""`zabcheck gate`: what a change has to pass; never a pass where something was not looked at."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from invariants import PROPERTIES, select
from tests.cli.command import Result, process, raising_mutant
from tests.cli.conftest import Command
from zabcheck.gate import checks
from zabcheck.gate.configuration import MAX_PROCESSES, MAX_RUNS, Configuration
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import WITHOUT_CLIENTS
from zabcheck.search.goals import GOALS
from zabcheck.search.run import MAX_STEPS

OF_THE_BROADCAST = [kind.name for kind in select(WITHOUT_CLIENTS)]

OF_ZAB = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab"]
PASSES = 'protocols = ["zab"]\nruns = 20\ngoals = ["three epochs"]\nkills = ["commit-on-own-ack"]\n'
NOT_EXERCISED = 'protocols = ["zab"]\nruns = 1\nsteps = 1\ngoals = ["truncation"]\n'
SURVIVES = 'protocols = ["zab"]\nruns = 3\nproperties = ["integrity"]\nkills = ["counter-wraps"]\n'
FOUND_TWICE = 'protocols = ["mine_here:Mine"]\nproperties = ["zxid uniqueness"]\nseeds = [1, 2]\n'
OWN = """
import zabcheck

class Mine(zabcheck.Process):
    messages = ()

    def on_elected(self, leader):
        if self.leads:
            self.ready(1)

    def on_request(self, value):
        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), self.changed(value))
        self.broadcast(txn)
        self.deliver(txn)

    def changed(self, value):
        return value

class Evil(Mine):
    def changed(self, value):
        return value + "]]>|<b>&`\\n\\x00\\x1b[2J%0A::error::,"

class Raising(Mine):
    def changed(self, value):
        return {}[value]

class Inventive(Mine):
    def on_request(self, value):
        self.deliver(zabcheck.Txn(zabcheck.Zxid(1, 1), value))

class Stuck(Mine):
    def changed(self, value):
        while True:
            pass

class Moody(Mine):
    calls = 0

    def changed(self, value):
        Moody.calls += 1
        if Moody.calls == 1:
            raise KeyError("once")
        return value
"""


@pytest.fixture
def gate(zabcheck: Command, tmp_path: Path, own_module: Callable[[str, str], None]) -> Callable[..., Result]:
    """The gate with this table as its configuration, in a folder with the module `mine_here`."""
    own_module("mine_here", OWN)

    def call(table: str, *arguments: str) -> Result:
        (tmp_path / "pyproject.toml").write_text(f"[tool.zabcheck]\n{table}", encoding="utf-8")
        return zabcheck("gate", *arguments)

    return call


Gate = Callable[..., Result]


def outcomes(document: dict[str, Any], *statuses: str) -> list[str]:
    return [f"{each['suite']}: {each['name']}" for each in document["outcomes"] if each["status"] in statuses]


def names_of(folder: Path) -> list[str]:
    """The files, but for those that every test has."""
    ours = ("pyproject.toml", "mine_here.py", "__pycache__")
    return sorted(file.name for file in folder.iterdir() if file.name not in ours)


# What passes, and what does not.


def test_a_protocol_without_a_bug_passes(gate: Gate, tmp_path: Path) -> None:
    result = gate(PASSES)
    assert (result.code, result.err) == (0, "")
    of_zab = len(["the search", *OF_THE_BROADCAST, "the goal"])
    lines = result.out.splitlines()
    assert lines[:2] == [f"zab: {of_zab} of {of_zab} passed", "known bugs: 1 of 1 passed"]
    assert lines[-1].startswith(f"PASS: gate passed: {of_zab + 1} of {of_zab + 1} passed, ")
    assert names_of(tmp_path) == []


def test_everything_that_is_demanded_is_an_outcome(gate: Gate) -> None:
    document = gate(PASSES + "seeds = [1, 2]\n", "--format", "json").json
    searched = ["zab: seed 1", "zab: seed 2"]
    assert outcomes(document, "passed") == [
        *searched,
        *(f"zab: {name} is exercised" for name in OF_THE_BROADCAST),
        "zab: goal three epochs",
        "known bugs: commit-on-own-ack",
    ]
    assert [row["mutant"] for row in document["kills"]] == ["commit-on-own-ack"]
    assert document["runs"] == 2 * 20 + document["kills"][0]["runs"]["median"]


def test_the_same_configuration_gives_the_same_result(gate: Gate) -> None:
    def without_seconds() -> Any:
        document = gate(PASSES, "--format", "json").json
        rows = [{**row, "seconds": None, "minimising": None} for row in document["kills"]]
        cases = [{**each, "seconds": None} for each in document["outcomes"]]
        return {**document, "kills": rows, "outcomes": cases, "seconds": None}

    assert without_seconds() == without_seconds()


def test_all_stands_for_all_goals_and_mutants(gate: Gate) -> None:
    document = gate(NOT_EXERCISED.replace('"truncation"', '"all"') + 'kills = ["all"]', "--format", "json").json
    named = [each["name"] for each in document["outcomes"]]
    assert [name for name in named if name.startswith("goal ")] == [f"goal {name}" for name in GOALS]
    assert [name for name in named if name in OF_ZAB] == OF_ZAB


def test_a_protocol_of_ones_own_that_is_broken_fails(gate: Gate, tmp_path: Path) -> None:
    result = gate('protocols = ["mine_here:Mine"]\nout = "found/here"\n')
    assert (result.code, result.err) == (1, "")
    assert "zxid uniqueness is violated" in result.out
    assert "◀W1" in result.out
    assert "\n  failed        seed 1: zxid uniqueness is violated: " in result.out
    files = sorted(str(file.relative_to(tmp_path)) for file in (tmp_path / "found/here").iterdir())
    assert [file.split(".", 1)[1] for file in files] == ["html", "schedule.json", "trace.jsonl", "txt"]
    for file in files:
        assert f"\nwrote {file}\n" in result.out
    assert f"replay: zabcheck replay {files[1]}" in result.out


def test_the_counterexample_is_replayed(gate: Gate, zabcheck: Command, tmp_path: Path) -> None:
    gate('protocols = ["mine_here:Mine"]')
    [schedule] = (tmp_path / "reports").glob("*.schedule.json")
    again = zabcheck("replay", schedule)
    assert again.code == 1
    assert "zxid uniqueness is violated" in again.out


def test_a_protocol_of_ones_own_is_judged_by_what_holds_for_it(gate: Gate) -> None:
    document = gate('protocols = ["mine_here:Mine"]\nruns = 1', "--format", "json").json
    named = {each["name"] for each in document["outcomes"]}
    assert "agreement is exercised" in named
    assert not {"convergence is exercised", "invariant 1 is exercised"} & named


def test_properties_are_names_or_groups(gate: Gate) -> None:
    document = gate('protocols = ["zab"]\nproperties = ["causality", "Total-Order"]\nruns = 9', "--format", "json").json
    assert [each["name"] for each in document["outcomes"]] == [
        "seed 1",
        "total order is exercised",
        "po causal order is exercised",
        "strict causality is exercised",
    ]


def test_code_that_raises_is_an_error_and_no_violation(gate: Gate, tmp_path: Path) -> None:
    result = gate('protocols = ["mine_here:Raising"]', "--junit", "j.xml")
    assert (result.code, result.err) == (2, "")
    assert "\n  error         seed 1: the protocol's own code raised KeyError: " in result.out
    assert "is violated" not in result.out
    last = result.out.splitlines()[-1]
    assert last.startswith("ERROR: gate error: ")
    assert "; mine_here:Raising, seed 1: the protocol's own code raised KeyError: " in last
    assert "; next: zabcheck explain reports/mine_here-Raising-raised-" in last
    assert "in changed\n    return {}[value]\n" in result.out
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert root.attrib["failures"] == "0"
    [error] = [case[0] for case in root.iter("testcase") if case.attrib["name"] == "seed 1"]
    assert (error.tag, error.attrib["type"]) == ("error", "error")
    [schedule] = (tmp_path / "reports").glob("mine_here-Raising-raised-*.schedule.json")
    assert schedule.name in str(error.text)


def test_a_step_that_never_returns_is_an_error_and_does_not_use_up_the_time(gate: Gate) -> None:
    result = gate('protocols = ["mine_here:Stuck"]\ntime-limit = 1\nseeds = [1]')
    assert (result.code, result.err) == (2, "")
    assert "TimeoutError: the step has not returned after 0.1 s of CPU time\n" in result.out
    assert "Request(value='v1')" in result.out
    assert "in changed\n    while True:\n" in result.out or "in changed\n    pass\n" in result.out


def test_a_known_bug_whose_code_raises_is_an_error(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "commit-on-own-ack", raising_mutant())
    result = gate('protocols = ["zab"]\nruns = 1\nseeds = [1]\nkills = ["commit-on-own-ack"]')
    assert (result.code, result.err) == (2, "")
    said = "known bugs, commit-on-own-ack: the code of the known bug raised KeyError: 3; next: zabcheck explain "
    assert f"; {said}" in result.out.splitlines()[-1]


def test_code_that_raises_only_once_is_an_error_too(gate: Gate) -> None:
    result = gate('protocols = ["mine_here:Moody"]')
    assert (result.code, result.err) == (2, "")
    said = " ".join(result.out.split())
    assert "the protocol's own code raised KeyError: 'once', but not again: " in said
    assert "the protocol is not deterministic" in said


def test_what_was_not_exercised_or_reached_is_inconclusive(gate: Gate) -> None:
    result = gate(NOT_EXERCISED, "--format", "json")
    document = result.json
    assert (result.code, document["verdict"]) == (3, "inconclusive")
    assert "zab: seed 1" in outcomes(document, "passed")
    assert {"zab: global primary order is exercised", "zab: goal truncation"} <= {*outcomes(document, "inconclusive")}
    said = {each["name"]: each["message"] for each in document["outcomes"]}
    assert said["global primary order is exercised"] == "exercised by none of 1 run"
    assert said["goal truncation"] == f"reached by none of 1 run: {GOALS['truncation']}"


def test_a_mutant_that_survives_fails(gate: Gate) -> None:
    result = gate(SURVIVES)
    assert (result.code, result.err) == (1, "")
    assert "\n  failed  counter-wraps: survived 3 runs: a counter that overflows" in result.out


@pytest.mark.parametrize("engine", ["swarm", "hypothesis"])
def test_without_time_nothing_passes_and_all_that_was_not_done_is_named(
    engine: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = itertools.chain([0.0, 0.0], itertools.repeat(1.0))  # it is up as soon as the first search has begun
    monkeypatch.setattr(checks, "monotonic", lambda: next(times))
    table = f'protocols = ["zab", "mine_here:Mine"]\nseeds = [1, 2]\nkills = ["all"]\nengine = "{engine}"\n'
    result = gate(f"{table}time-limit = 0.5\n", "--format", "json")
    document = result.json
    assert (result.code, document["verdict"], document["interrupted"]) == (3, "inconclusive", False)
    assert {
        "zab: seed 1",
        "zab: seed 2",
        "mine_here:Mine: seed 1",
        "mine_here:Mine: seed 2",
        *(f"known bugs: {name}" for name in OF_ZAB),
    } <= {*outcomes(document, "inconclusive")}
    said = {f"{each['suite']} {each['name']}": each["message"] for each in document["outcomes"]}
    assert said["zab seed 1"] == "1 of 2,000 runs: the time limit was reached"
    assert said["zab seed 2"] == "not searched: the time limit was reached"
    assert said["known bugs counter-wraps"] == "not searched for: the time limit was reached"
    assert document["kills"] == []


def test_the_time_limit_is_one_by_the_clock(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes in the second hunt, and hardly any CPU time with it."""
    now = 0.0

    def later() -> float:
        nonlocal now
        now += 1
        return now

    monkeypatch.setattr(checks, "monotonic", later)
    table = 'protocols = ["zab"]\nruns = 40\nkills = ["commit-on-own-ack", "counter-wraps"]\ntime-limit = 50\n'
    document = gate(table, "--format", "json").json
    assert outcomes(document, "inconclusive") == ["known bugs: counter-wraps"]
    assert document["outcomes"][-1]["message"] == "not found yet: the time limit was reached"


def test_what_only_the_end_of_a_run_shows_counts_even_if_time_is_up_then(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is delivered here could still be broadcast, up to the end."""
    times = itertools.chain([0.0, 0.0], itertools.repeat(1.0))  # it is up as soon as the search has begun
    monkeypatch.setattr(checks, "monotonic", lambda: next(times))
    result = gate('protocols = ["mine_here:Inventive"]\nproperties = ["integrity"]\ntime-limit = 0.5\n')
    assert (result.code, result.err) == (1, "")
    assert "integrity is violated" in result.out
    assert ", 1 run, " in result.out


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ('protocols = ["zab", "mine_here:Mine"]\nruns = 1\nsteps = 9\nseeds = [1, 2]', 1),
        ('protocols = ["zab", "mine_here:Mine", "mine_here:Raising"]\nruns = 9', 2),
        ('protocols = ["zab"]\nruns = 1\nsteps = 1\nkills = ["counter-wraps"]', 1),
    ],
)
def test_the_worst_decides(table: str, code: int, gate: Gate) -> None:
    """Each has something inconclusive, too."""
    result = gate(table, "--format", "json")
    assert outcomes(result.json, "inconclusive") != []
    assert result.code == code


def test_its_progress_passes_over_what_a_search_had_no_need_of(tmp_path: Path) -> None:
    """The mutant is found long before the runs for it are used up."""
    seen: list[tuple[str, int]] = []
    configuration = Configuration(("zab",), seeds=(1, 2), runs=20, kills=("commit-on-own-ack", "counter-wraps"))
    gate = checks.Gate(configuration, lambda _: seen.append((gate.doing, gate.place)))
    gate.check()
    assert [place for doing, place in seen if doing.startswith("zab, seed ")] == [*range(1, 41)]
    assert [place for doing, place in seen if doing == "commit-on-own-ack"] == [41]
    assert [place for doing, place in seen if doing == "counter-wraps"] == [*range(61, 81)]


# Ctrl-C.


def test_ctrl_c_ends_it_with_what_is_known_so_far(gate: Gate, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(7)
    result = gate(PASSES + "seeds = [1, 2]", "--format", "json")
    document = result.json
    assert (result.code, result.err, document["interrupted"], document["runs"]) == (3, "", True, 7)
    said = {each["name"]: each["message"] for each in document["outcomes"]}
    assert said["seed 1"] == "7 of 20 runs: interrupted"
    assert said["seed 2"] == "not searched: interrupted"
    assert said["commit-on-own-ack"] == "not searched for: interrupted"


def test_ctrl_c_in_the_last_run_of_a_search_comes_too_late_for_it(
    gate: Gate, ctrl_c_in_run: Callable[[int], None]
) -> None:
    ctrl_c_in_run(20)
    document = gate(PASSES + "seeds = [1, 2]", "--format", "json").json
    said = {each["name"]: (each["status"], each["message"]) for each in document["outcomes"]}
    assert said["seed 1"] == ("passed", "20 runs, nothing broken")
    assert said["seed 2"] == ("inconclusive", "not searched: interrupted")


def test_ctrl_c_in_a_hunt_ends_it_too(gate: Gate, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(22)
    document = gate(PASSES.replace("commit-on-own-ack", "counter-wraps"), "--format", "json").json
    assert document["outcomes"][-1]["message"] == "not found yet: interrupted"


def test_ctrl_c_while_a_counterexample_is_made_shorter_costs_only_that(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain = checks.counterexample

    def interrupted(found: Any, seconds: float) -> object:
        if seconds:
            raise KeyboardInterrupt
        return explain(found, seconds)

    monkeypatch.setattr(checks, "counterexample", interrupted)
    result = gate('protocols = ["mine_here:Mine"]\nseeds = [1, 2]\n', "--format", "json")
    document = result.json
    assert (result.code, document["interrupted"]) == (1, True)
    assert outcomes(document, "failed") == ["mine_here:Mine: seed 1"]
    assert all(Path(file).is_file() for file in document["outcomes"][0]["files"])
    assert document["outcomes"][1]["message"] == "not searched: interrupted"


# What it writes.


def test_a_counterexample_that_two_seeds_lead_to_is_named_once(gate: Gate) -> None:
    wrote = [line for line in gate(FOUND_TWICE).out.splitlines() if line.startswith("wrote ")]
    assert len(wrote) == len(set(wrote)) == 4


def test_junit_and_markdown_are_written_and_named(gate: Gate, tmp_path: Path) -> None:
    result = gate('protocols = ["mine_here:Mine"]', "--junit", "j.xml", "--summary", "s.md")
    assert result.code == 1
    assert "\nwrote j.xml\nwrote s.md\n\nFAIL: gate failed: " in result.out
    [failure] = ElementTree.parse(tmp_path / "j.xml").getroot().iter("failure")
    assert failure.attrib["message"].startswith("zxid uniqueness is violated: ")
    assert "◀W1" in str(failure.text)
    assert ".schedule.json" in str(failure.text)
    summary = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert summary.startswith("## zabcheck: failed\n")
    assert "<details><summary>zxid uniqueness is violated: " in summary
    assert "◀W1" in summary
    assert names_of(tmp_path) == ["j.xml", "reports", "s.md"]


def test_the_files_are_written_anew(gate: Gate, tmp_path: Path) -> None:
    for name in ("j.xml", "s.md"):
        (tmp_path / name).write_text("x" * 100_000)
    gate(PASSES, "--junit", "j.xml", "--summary", "s.md")
    assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["errors"] == "0"
    assert (tmp_path / "s.md").read_text().startswith("## zabcheck: passed\n")
    assert names_of(tmp_path) == ["j.xml", "s.md"]


def test_values_of_users_code_do_no_harm(gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = gate('protocols = ["mine_here:Evil"]', "--junit", "j.xml", "--summary", "s.md")
    assert result.code == 1
    assert not {"\x1b", "\x00"} & {*result.out, *result.err}
    [failure] = ElementTree.parse(tmp_path / "j.xml").getroot().iter("failure")
    assert "]]>" in failure.attrib["message"]
    [row] = [line for line in (tmp_path / "s.md").read_text(encoding="utf-8").splitlines() if "| failed |" in line]
    assert "]]&gt;\\|&lt;b&gt;&amp;" in row
    assert [
        line for line in result.err.splitlines() if not line.startswith(("::error title=", "::warning title="))
    ] == []
    assert "%250A::error::" in result.err


def test_github_gets_annotations_and_a_summary_beside_that_of_others(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "step.md").write_text("what was there\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    result = gate(SURVIVES)
    assert result.code == 1
    assert result.err.startswith("::error title=zabcheck%3A known bugs%2C counter-wraps::survived 3 runs: ")
    assert result.err.count("\n") == 1
    assert (tmp_path / "step.md").read_text(encoding="utf-8").startswith("what was there\n## zabcheck: failed\n")
    gate(PASSES)
    text = (tmp_path / "step.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## zabcheck: failed",
        "## zabcheck: passed",
    ]


@pytest.mark.parametrize("value", ["", "false", "1"])
def test_elsewhere_there_are_no_annotations(value: str, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", value)
    assert gate(SURVIVES).err == ""


def test_out_can_be_somewhere_else(gate: Gate, tmp_path: Path) -> None:
    gate('protocols = ["mine_here:Mine"]\nout = "here"', "--out", "there")
    assert names_of(tmp_path) == ["there"]


def test_a_name_that_is_no_utf8_is_written_as_an_escape(gate: Gate) -> None:
    result = gate('protocols = ["mine_here:Mine"]', "--out", os.fsdecode(b"o\xff"), "--format", "json")
    assert result.code == 1
    assert result.json["outcomes"][0]["files"][0].startswith("o\\udcff/mine_here-Mine-")


def test_what_was_found_counts_even_if_it_cannot_be_saved(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checks, "save", full)
    result = gate('protocols = ["mine_here:Mine"]')
    assert (result.code, result.err) == (1, "")
    assert "(not saved: reports: No space left on device)" in " ".join(result.out.split())
    assert "◀W1" in result.out
    assert "wrote" not in result.out


def test_what_was_found_is_told_even_if_a_report_cannot_be_written(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is a part of it left."""

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zabcheck.text.files.os.replace", full)
    for option in ("--junit", "--summary"):
        result = gate(PASSES, option, "file")
        assert (result.code, result.err) == (2, f"zabcheck: {option} file: No space left on device\n")
        assert "gate passed: " in result.out
        assert names_of(tmp_path) == []


@pytest.mark.slow
def test_the_command_as_a_process_finds_the_class_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine_there.py").write_text(OWN)
    (tmp_path / "gate.toml").write_text('[tool.zabcheck]\nprotocols = ["mine_there:Mine"]\nruns = 50\n')
    result = process("gate", "--config", "gate.toml", cwd=tmp_path)
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines()[0] == "zxid uniqueness is violated"


# Bad input.


def complaint(result: Result) -> str:
    """What is wrong, in one line."""
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: ")
    assert result.err[:-1].isprintable()
    assert result.err.endswith("\n")
    return result.err[:-1].removeprefix("zabcheck: ")


KEYS = "protocols, engine, seeds, runs, steps, processes, properties, goals, kills, time-limit, out"
SEEDS = "a list of at least one whole number of 0 or more"
NAMES = "a list of at least one name of a property or group"
KNOWN = ", ".join(PROTOCOLS)
A_PROTOCOL = f"a list of at least one of: {KNOWN}; or `module:Class`"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("runs", '"many"', f'expected a whole number from 1 to {MAX_RUNS}, found "many"'),
        ("runs", "0", f"expected a whole number from 1 to {MAX_RUNS}, found 0"),
        ("runs", "1.5", f"expected a whole number from 1 to {MAX_RUNS}, found 1.5"),
        ("runs", "true", f"expected a whole number from 1 to {MAX_RUNS}, found true"),
        ("runs", "1979-05-27", f"expected a whole number from 1 to {MAX_RUNS}, found 1979-05-27"),
        ("runs", f"{MAX_RUNS + 1}", f"expected a whole number from 1 to {MAX_RUNS}, found {MAX_RUNS + 1}"),
        ("runs", "1" * 4000, f"expected a whole number from 1 to {MAX_RUNS}, found a number that is too large"),
        ("runs", f'"{"x" * 99}"', f'expected a whole number from 1 to {MAX_RUNS}, found "{"x" * 39}…{"x" * 20}"'),
        ("steps", "5001", f"expected a whole number from 1 to {MAX_STEPS}, found 5001"),
        ("processes", "100", f"expected a whole number from 1 to {MAX_PROCESSES}, found 100"),
        ("processes", "[]", f"expected a whole number from 1 to {MAX_PROCESSES}, found an empty list"),
        ("seeds", "[]", f"expected {SEEDS}, found an empty list"),
        ("seeds", "1", f"expected {SEEDS}, found 1"),
        ("seeds", "[1, -2]", f"expected {SEEDS}, found -2 in it"),
        ("seeds", "[[1]]", f"expected {SEEDS}, found a list in it"),
        ("engine", '"swarms"', 'expected one of: hypothesis, swarm, found "swarms"'),
        ("engine", "{}", "expected one of: hypothesis, swarm, found a table"),
        ("properties", "[]", f"expected {NAMES}, found an empty list"),
        ("properties", '"core"', f'expected {NAMES}, found "core"'),
        ("properties", '["x"]', f"no property `x`; expected one of: {', '.join(PROPERTIES)}; or a group: core, "),
        ("goals", '"all"', 'expected a list of names of goals, or of all, found "all"'),
        ("goals", '["x"]', f"no goal `x`; expected all, or some of: {', '.join(GOALS)}"),
        ("kills", "[1]", "expected a list of names of mutants, or of all, found 1 in it"),
        ("kills", '["x"]', f"no mutant `x` of zab; expected all, or some of: {', '.join(OF_ZAB)}"),
        ("time-limit", "0", "expected a number of seconds above 0, found 0"),
        ("time-limit", "nan", "expected a number of seconds above 0, found nan"),
        ("time-limit", '"1 h"', 'expected a number of seconds above 0, found "1 h"'),
        ("out", "1", "expected the name of a folder, found 1"),
        ("out", '""', 'expected the name of a folder, found ""'),
        ("out", '"\\u0000"', 'expected the name of a folder, found "\\x00"'),
        ("out", '"pyproject.toml"', ": pyproject.toml: expected a directory, pyproject.toml is a file"),
    ],
)
def test_what_is_wrong_with_a_key(key: str, value: str, expected: str, gate: Gate) -> None:
    said = complaint(gate(f'protocols = ["zab"]\n{key} = {value}\n'))
    assert said.startswith(f"pyproject.toml, [tool.zabcheck], key `{key}`: {expected.removeprefix(': ')}")


def test_every_key_is_tried_with_a_value_that_is_wrong(gate: Gate) -> None:
    """So that each has a message of its own."""
    for field in KEYS.split(", "):
        protocols = "" if field == "protocols" else 'protocols = ["zab"]\n'
        said = complaint(gate(f"{protocols}{field} = 1979-05-27\n"))
        assert said.startswith(f"pyproject.toml, [tool.zabcheck], key `{field}`: expected ")
        assert said.endswith(", found 1979-05-27")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("", f", key `protocols`: expected {A_PROTOCOL}, found no such key"),
        ("protocols = []", f", key `protocols`: expected {A_PROTOCOL}, found an empty list"),
        ('protocols = "zab"', f', key `protocols`: expected {A_PROTOCOL}, found "zab"'),
        ('protocols = ["raft"]', f", key `protocols`: no protocol `raft`; expected one of: {KNOWN}; or `module:Class`"),
        ('protocols = ["mine_here:X"]', ", key `protocols`: protocol `mine_here:X`: no `X` in module `mine_here`"),
        (
            'protocols = ["mine_here:Mine"]\nkills = ["no-truncation"]',
            ", key `kills`: no mutant `no-truncation` of mine_here:Mine; there are none",
        ),
        ('protocols = ["zab"]\nrun = 1', ": no key `run`; did you mean `runs`?"),
        ('protocols = ["zab"]\ntime_limit = 1', ": no key `time_limit`; did you mean `time-limit`?"),
        (
            'protocols = ["zab"]\ngoals = ["three epoch"]',
            ", key `goals`: no goal `three epoch`; did you mean `three epochs`?",
        ),
        ('protocols = ["zab"]\n"a\\nb" = 1', f": no key `a\\nb`; expected one of: {KEYS}"),
    ],
)
def test_what_is_wrong_with_the_table(table: str, expected: str, gate: Gate) -> None:
    assert complaint(gate(table)) == f"pyproject.toml, [tool.zabcheck]{expected}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "expected a table [tool.zabcheck]"),
        (b"[tool.other]", "expected a table [tool.zabcheck]"),
        (b"tool = 1", "expected a table [tool.zabcheck]"),
        (b"[tool]\nzabcheck = 1", "expected a table [tool.zabcheck]"),
        (b"[tool.zabcheck]\nruns =\n", "expected TOML, Invalid value (at line 2, column 7)"),
        (b"\xff", "expected UTF-8"),
        (b"x = " + b"1" * 5000, "expected TOML, found a number with too many digits"),
        (b"x = " + b"[" * 5000, "expected TOML, nested too deeply"),
    ],
)
def test_what_is_wrong_with_the_file(content: bytes, expected: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    assert complaint(zabcheck("gate")) == f"pyproject.toml: {expected}"


def test_a_file_that_cannot_be_read(zabcheck: Command) -> None:
    assert complaint(zabcheck("gate")) == "pyproject.toml: No such file or directory"
    assert complaint(zabcheck("gate", "--config", ".")) == ".: expected a file, found a directory"


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_report_that_cannot_be_written_is_noticed_before_the_search(option: str, gate: Gate) -> None:
    for path in ("nowhere/file", "."):
        expected = f"{option} {path}: expected the name of a file in a folder that there is"
        assert complaint(gate(PASSES, option, path)) == expected


def test_a_folder_that_cannot_be_written_is_noticed_before_the_search(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: not mode & os.W_OK)  # root may write anywhere
    where = "pyproject.toml, [tool.zabcheck], key `out`:"
    assert complaint(gate(PASSES + 'out = "a/b"')) == f"{where} a/b: {tmp_path} may not be written"
    assert complaint(gate(PASSES, "--out", "c")) == f"--out c: {tmp_path} may not be written"


def test_the_keys_are_those_of_the_configuration() -> None:
    assert KEYS.replace("-", "_").split(", ") == list(Configuration.__struct_fields__)
