"""docs/db19.md says what is so."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.protocols.db19.test_findings import LAB, RECORDED
from zabcheck.cli.verdict import OK, VIOLATED
from zabcheck.protocols.db19.cluster import Setting

PAGE = (Path(__file__).parents[3] / "docs/db19.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```text\n\$ zabcheck (.*)\n((?:.*\n)*?)```", PAGE)
ROWS = re.findall(r"^\| ([a-z0-9 ]+) \| (\d+)(?: steps)? \| (\d+) \|", PAGE, re.MULTILINE)
RUNS = re.findall(r"`(--seed \d+ --nodes [^`]*)`", PAGE)

TRIED = re.findall(r"\| `zabcheck (db19 [^`]*)` \| (.*) \|$", PAGE, re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 1
    assert len(TRIED) == 6
    assert len(ROWS) == 15
    assert len(set(RUNS)) == 8


@pytest.mark.parametrize(("line", "expected"), EXAMPLES)
def test_what_a_command_is_said_to_print_it_prints(line: str, expected: str, zabcheck: Command) -> None:
    result = zabcheck(*line.split())
    assert result.err + result.out == expected


@pytest.mark.parametrize(("line", "expected"), TRIED)
def test_what_is_said_to_come_of_a_command_comes_of_it(line: str, expected: str, zabcheck: Command) -> None:
    result = zabcheck(*shlex.split(line))
    broken = expected.removesuffix(" breaks")
    assert result.code == (OK if broken == "nothing" else VIOLATED)
    assert [said.split(" is violated")[0] for said in result.err.splitlines()[:-1]] == (
        [] if broken == "nothing" else [f"zabcheck: {broken}"]
    )


@pytest.mark.parametrize(("property_", "reordering", "in_order"), ROWS)
def test_the_steps_of_a_counterexample_are_those_of_the_schedule(
    property_: str, reordering: str, in_order: str
) -> None:
    for protocol, steps in (("db19", reordering), ("db19-fifo", in_order)):
        assert len(RECORDED[f"{protocol}.{property_.replace(' ', '-')}"].choices) == int(steps)


def line_of(setting: Setting) -> str:
    line = f"--seed {setting.seed} --nodes {setting.nodes} --rounds {setting.rounds} --proposals {setting.proposals}"
    ids = [str(each) for link in setting.partition for each in link]
    return line + (f" --partition {','.join(ids)}" if ids else "")


def test_the_plain_runs_are_those_that_are_tested() -> None:
    """Two of them break no property; tests of their own look at the nodes."""
    others = [Setting(37, 5, 1000, 1, ((3, 4), (4, 3))), Setting(13, 5, 2000, 3, ((4, 3),))]
    tested = [line_of(setting) for setting, _ in LAB] + [line_of(setting) for setting in others]
    assert sorted(set(RUNS)) == sorted(tested)
