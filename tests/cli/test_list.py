"""`zabcheck list`, `--version` and `--help`: what there is."""

import re
from collections.abc import Iterable
from importlib.metadata import version

import pytest

import zabcheck.proof.monitors  # noqa: F401  # adds properties
from invariants import FURTHER, GROUPS, PROPERTIES
from tests.cli.conftest import Command
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.search.goals import GOALS
from zabcheck.search.settings import Settings
from zabcheck.zookeeper.model.reconfiguration.switches import ReconfigurationSwitches
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES

LISTED: dict[str, Iterable[str]] = {
    "protocols": PROTOCOLS,
    "mutants": CATALOGUE,
    "properties": [*PROPERTIES, *FURTHER],
    "groups": GROUPS,
    "goals": GOALS,
    "scenarios": SCENARIOS,
    "switches": dict.fromkeys((*ZabSwitches.__struct_fields__, *ReconfigurationSwitches.__struct_fields__)),
    "clients": CLIENT_PROPERTIES,
    "search": Settings.__struct_fields__,
}


def test_everything_is_listed(zabcheck: Command) -> None:
    result = zabcheck("list")
    assert (result.code, result.err) == (0, "")
    for kind, names in LISTED.items():
        for name in (kind, *names):
            assert re.search(rf"^{name} ", result.out, re.MULTILINE)


def test_everything_is_listed_as_json_with_a_line_and_a_source(zabcheck: Command) -> None:
    document = zabcheck("list", "--format", "json").json
    for kind, names in LISTED.items():
        assert [each["name"] for each in document[kind]] == list(names)
        assert all(each["summary"] and each["source"] for each in document[kind])


@pytest.mark.parametrize("kind", LISTED)
def test_one_kind_is_listed_alone(kind: str, zabcheck: Command) -> None:
    document = zabcheck("list", kind, "--format", "json").json
    assert list(document) == ["version", "command", kind]
    assert [each["name"] for each in document[kind]] == list(LISTED[kind])


def test_a_kind_that_there_is_not_is_bad_input(zabcheck: Command) -> None:
    result = zabcheck("list", "x")
    assert (result.code, result.out) == (2, "")


def test_a_mutant_is_listed_with_the_processes_that_it_takes_if_that_is_not_the_default(zabcheck: Command) -> None:
    summaries = {each["name"]: each["summary"] for each in zabcheck("list", "--format", "json").json["mutants"]}
    for name, mutant in CATALOGUE.items():
        assert summaries[name].endswith(f"; takes {mutant.processes} processes") == (mutant.processes != 3)


def test_a_group_is_listed_with_its_properties(zabcheck: Command) -> None:
    entries = zabcheck("list", "--format", "json").json["groups"]
    assert {each["name"]: tuple(each["summary"].split(", ")) for each in entries} == GROUPS
    assert {each["source"] for each in entries} == {"zabcheck"}
    assert "or group of them" in " ".join(re.sub(r"[│|]", " ", zabcheck("run", "--help").out).split())


def test_the_version(zabcheck: Command) -> None:
    assert zabcheck("--version") == (0, f"zabcheck {version('zabcheck')}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_the_commands(arguments: list[str], zabcheck: Command) -> None:
    result = zabcheck(*arguments)
    assert result.code == 0
    for name in ("run", "replay", "check", "list"):
        assert re.search(rf"^\W*{name} ", result.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run", "--protocol --mutant --processes --seed --runs --steps --property --out --format"),
        ("replay", "FILE --format"),
        ("check", "TRACE --property --format"),
        ("list", "KIND --format"),
        ("scenario", "NAME --out --format"),
        ("zookeeper logs", "DIR --log-dir --txns --no-digests --format"),
        ("zookeeper serverlog", "FILE --out --format"),
        ("zookeeper scale", "PLAN --write --format"),
        ("zookeeper points", "POINT --zookeeper-home --classpath --format"),
    ],
)
def test_each_command_explains_its_options(name: str, words: str, zabcheck: Command) -> None:
    result = zabcheck(*name.split(), "--help")
    assert (result.code, result.err) == (0, "")
    assert [word for word in words.split() if word not in result.out] == []
