"""The pages that are made of what the program says of itself, and those for each kind of reader, are up to date."""

import re
from collections.abc import Iterable
from typing import get_args

import pytest
from msgspec import Struct

from docs.generators import commands, reference
from docs.generators.__main__ import QUICK, SLOW, main
from docs.generators.output import DOCS, read
from invariants.events import EVENTS, End, Header
from tests.cli.test_help import parsed
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.simulation.choices import AnyChoice
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

HELP, SCHEDULES, EVENTS_OF_TRACES = (f"reference/{name}.md" for name in ("commands", "schedules", "events"))


def test_every_command_has_a_section_with_an_example() -> None:
    text = read(commands.PAGE)
    sections = dict(re.findall(r"^### zabcheck ([\w ]+)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE))
    names = [" ".join(words) for words in commands.commands()]
    assert sorted(sections) == sorted(names)
    for name, section in sections.items():
        examples = re.findall(r"^(?:    |\$ )(zabcheck [^|\n]*)", section, re.MULTILINE)
        assert [each for each in examples if each.startswith(f"zabcheck {name}")], name
        for each in examples:
            parsed(each)


def fields_in(table: str) -> dict[str, tuple[str, ...]]:
    """The fields of each kind that a table of the reference describes."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| \S", table, re.MULTILINE)
    return {name: tuple(re.findall(r"`(\w+)`", fields)) for name, fields in rows}


def fields_of(kinds: Iterable[type[Struct]]) -> dict[str, tuple[str, ...]]:
    return {str(kind.__struct_config__.tag): kind.__struct_fields__ for kind in kinds}


@pytest.mark.slow
def test_the_reference_on_the_site_has_every_command_choice_switch_and_event() -> None:
    pages = reference.pages()
    assert [words for words in commands.commands() if f"\n## zabcheck {' '.join(words)}\n" not in pages[HELP]] == []
    choices, _, switches = pages[SCHEDULES].partition("## Switches")
    assert fields_in(choices) == fields_of(get_args(AnyChoice))
    assert fields_in(pages[EVENTS_OF_TRACES]) == fields_of((Header, End, *EVENTS))
    assert [name for name in ZooKeeperSwitches.__struct_fields__ if f"\n| `{name}` | " not in switches] == []


def test_the_page_on_detection_knows_every_bug() -> None:
    """Its figures take many minutes to make; what can be told at once is how many bugs there are, and which."""
    page = read(DOCS / "notes/detection.md")
    zab, ladis = (sum(bug.protocol == protocol for bug in CATALOGUE.values()) for protocol in ("zab", "ladis"))
    assert f"has {zab} known bugs of Zab and {ladis} of LADIS 2008" in page
    table = page.partition("## Each bug")[2].partition("\n## ")[0]
    later = (DOCS / "reconfiguration.md").read_text(encoding="utf-8")
    for name, bug in CATALOGUE.items():
        assert f"\n| {name} | " in (later if bug.protocol == "zab-reconfiguration" else table), name


def test_every_generator_is_named_once_and_others_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    helpers = {"__init__", "__main__", "output", "recorded", "reference", "site"}
    modules = {path.stem for path in (DOCS / "generators").glob("*.py")} - helpers
    assert sorted([*QUICK, *SLOW]) == sorted(module.replace("_", "-") for module in modules)
    assert main(["nothing"]) == 2
    assert "no page nothing" in capsys.readouterr().err
