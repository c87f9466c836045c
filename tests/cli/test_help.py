"""Help before anything is run: the order of the commands, an example of each, and the completion of a shell."""

import re
import shlex
from typing import Any

import pytest
import typer
from msgspec import structs

from docs.generators.commands import commands
from docs.generators.site import ON_THE_SITE
from tests.cli.command import ROOT
from tests.cli.conftest import Command
from zabcheck.cli import all_commands
from zabcheck.cli.commands import EXAMPLES
from zabcheck.gate.configuration import Configuration


def parsed(line: str) -> dict[str, Any]:
    """Return the options that a command line gives, all that are above included. typer's error if it is wrong."""
    _, *words = shlex.split(line)
    command: Any = typer.main.get_group(all_commands())
    above = None
    given: dict[str, Any] = {}
    while True:
        with command.make_context(command.name, list(words), parent=above) as context:
            given |= context.params
            words = [*context._protected_args, *context.args]
            if not isinstance(command, typer.core.TyperGroup) or not words:
                return given
            command, above = command.commands[words[0]], context
            words = words[1:]


def test_the_commands_come_in_the_order_in_which_one_meets_them(zabcheck: Command) -> None:
    shown = re.findall(r"^  (\w+)  ", zabcheck("--help").out, re.MULTILINE)
    assert [name for name in shown if name in EXAMPLES] == [name for name in EXAMPLES if " " not in name]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_the_help_of_each_command_ends_with_an_example_that_can_be_called(
    words: tuple[str, ...], zabcheck: Command
) -> None:
    *_, last = zabcheck(*words, "--help").out.rstrip().splitlines()
    line = last.strip().removeprefix("Example: ")
    assert line.startswith(" ".join(["zabcheck", *words]))
    parsed(line)


@pytest.mark.parametrize("words", [(), *commands()], ids=" ".join)
def test_the_help_can_be_read_in_a_narrow_terminal(
    words: tuple[str, ...], zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of an option has 25 columns at least; a flag takes no value; no line is cut or ends with blanks."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = zabcheck(*words, "--help").out.splitlines()
    options = lines[lines.index("Options:") + 1 :]
    columns = [match.end() for match in map(re.compile(r"  --?\S.*?  +(?=\S)").match, options) if match]
    assert max(columns) <= 35
    assert [line for line in options if line != line.rstrip() or line.endswith("...")] == []
    assert [line for line in lines if re.search(r"<[a-z\[\] ]+>", line)] == []
    assert lines[0].count("...") <= 1


def test_the_help_of_gate_shows_every_key_of_the_table(zabcheck: Command) -> None:
    lines = [line.strip() for line in zabcheck("gate", "--help").out.splitlines()]
    assert "[tool.zabcheck]" in lines
    for field in structs.fields(Configuration):
        assert any(line.startswith(f"{field.encode_name} = ") for line in lines), field.encode_name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("zabcheck run --mutant commit-on-own-", {"commit-on-own-ack"}),
        ("zabcheck mutants --mutant no-trunc", {"no-truncation"}),
        ("zabcheck campaign --protocol lad", {"ladis", "ladis-2008"}),
        ("zabcheck check --property total", {"total-order"}),
        ("zabcheck explore --mutant no-trunc", {"no-truncation"}),
        ("zabcheck explore --protocol lad", {"ladis", "ladis-2008"}),
        ("zabcheck run --switch histories", {"histories=full", "histories=missing"}),
        ("zabcheck explore --switch sync=a", {"sync=atomic"}),
        ("zabcheck campaign --switch clos", {"closing=graceful", "closing=abrupt"}),
        (
            "zabcheck scenario dsn-figure-",
            {"dsn-figure-3", "dsn-figure-3-causal", "dsn-figure-3-zab", "dsn-figure-4"},
        ),
        ("zabcheck zoo", {"zookeeper"}),
    ],
)
def test_names_are_completed_in_bash(
    line: str, expected: set[str], zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_ZABCHECK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    completed = zabcheck()
    assert (completed.code, completed.err) == (0, "")
    assert set(completed.out.split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_names_are_completed_in_other_shells(shell: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ZABCHECK_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "zabcheck run --mutant commit-on-own")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    completed = zabcheck()
    assert completed.code == 0
    assert "commit-on-own-ack" in completed.out


def test_make_run_says_what_it_installs_and_how_much() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^\.venv/installed:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert "1.3 GB" in recipe.splitlines()[0]


def test_the_files_that_the_documentation_names_are_there() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = ON_THE_SITE.sub("", page.read_text(encoding="utf-8"))
        for name in re.findall(r"`((?:docs|tests|benchmarks|zabcheck|invariants)/[\w./-]+)`", text):
            assert (ROOT / name).exists(), f"{page.name}: {name}"
        for name in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / name).exists(), f"{page.name}: {name}"


def test_the_command_of_the_campaign_that_is_shown_is_the_one_that_made_it() -> None:
    from docs.generators.campaigns import PAGE, PLAN
    from zabcheck.cli.campaign.plan import new_plan

    [line] = re.findall(r"^    (zabcheck campaign --runs 300 .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    given = {name: value for name, value in parsed(line).items() if value is not None}
    plan = structs.replace(new_plan(given), runs_a_part=PLAN.runs_a_part, keep=PLAN.keep)
    assert (plan, given["keep"], given["out"]) == (PLAN, PLAN.keep, "reports/nightly")
