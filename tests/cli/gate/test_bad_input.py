"""`zabcheck gate`: what is wrong with a configuration, a file or an option, in one line."""

import os
from pathlib import Path

import pytest

from invariants import FURTHER, PROPERTIES
from tests.cli.command import Result
from tests.cli.conftest import Command
from tests.cli.gate.configurations import OF_ZAB, PASSES, Gate
from zabcheck.gate.configuration import MAX_PROCESSES, MAX_RUNS, SAMPLE, Configuration
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.goals import GOALS
from zabcheck.search.run import MAX_STEPS


def complaint(result: Result) -> str:
    """Return the one line that says what is wrong."""
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
        (
            "properties",
            '["x"]',
            f"no property `x`; expected one of: {', '.join((*PROPERTIES, *FURTHER))}; or a group: core, ",
        ),
        ("goals", '"all"', 'expected a list of names of goals, or of all, found "all"'),
        ("goals", '["x"]', f"no goal `x`; expected all, or some of: {', '.join(GOALS)}"),
        ("kills", "[1]", "expected a list of names of mutants, of all, or of `module:Class`, found 1 in it"),
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
    """Each key has a message of its own."""
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
    (tmp_path / "given.toml").write_bytes(content)
    assert complaint(zabcheck("gate", "--config", "given.toml")) == f"given.toml: {expected}"


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file or directory"), ("[tool.ruff]\n", "expected a table [tool.zabcheck]")]
)
def test_where_there_is_no_configuration_one_to_begin_with_is_printed(
    content: str | None, said: str, zabcheck: Command, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "pyproject.toml").write_text(content)
    result = zabcheck("gate")
    assert (result.code, result.err) == (2, f"zabcheck: pyproject.toml: {said}\n")
    first, _, sample = result.out.partition("\n\n")
    assert first == "a configuration to begin with, for pyproject.toml:"
    assert sample == f"{SAMPLE}\n"
    assert complaint(zabcheck("gate", "--format", "json")) == f"pyproject.toml: {said}"


@pytest.mark.slow
def test_the_printed_sample_is_a_valid_configuration(gate: Gate) -> None:
    assert gate(SAMPLE.replace("[tool.zabcheck]\n", "").replace("runs = 2000", "runs = 60")).code == 0


def test_a_file_that_cannot_be_read(zabcheck: Command) -> None:
    assert complaint(zabcheck("gate", "--config", "no.toml")) == "no.toml: No such file or directory"
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
