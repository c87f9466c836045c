"""`zabcheck mutants`: which known bug is found, by which property, how soon, and how short."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from invariants import PROPERTIES
from tests.cli.conftest import Command
from zabcheck.mutants.catalogue import CATALOGUE

SOON = ("mutants", "--mutant", "commit-on-own-ack", "--mutant", "promise-not-durable", "--seeds", "2")
SOONER = ("mutants", "--mutant", "promise-not-durable")
SURVIVES = ("mutants", "--mutant", "counter-wraps", "--property", "convergence", "--runs", "3", "--seeds", "2")


def without_seconds(document: dict[str, Any]) -> dict[str, Any]:
    rows = [{**row, "seconds": None, "minimising": None} for row in document["mutants"]]
    return {**document, "mutants": rows}


def lines_with(name: str, text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(name)]


@pytest.mark.slow
def test_every_search_finds_its_bug_and_the_shortest_counterexamples_are_written(
    zabcheck: Command, tmp_path: Path
) -> None:
    result = zabcheck(*SOON, "--out", "a/b")
    assert (result.code, result.err) == (0, "")
    matrix, figures = lines_with("commit-on-own-ack", result.out)
    assert matrix == ["commit-on-own-ack", "2", "of", "2", "2"]
    assert len(figures) > len(matrix)
    assert "cho chosen" in result.out
    assert "not found" not in result.out
    files = ["mutants.md", "promise-not-durable.schedule.json", "commit-on-own-ack.schedule.json"]
    assert [line for line in result.out.splitlines() if "wrote" in line] == [f"wrote a/b/{file}" for file in files]
    assert sorted(file.name for file in (tmp_path / "a/b").iterdir()) == sorted(files)
    assert_is_a_table(
        (tmp_path / "a/b/mutants.md").read_text(encoding="utf-8"), "promise-not-durable", "commit-on-own-ack"
    )


@pytest.mark.slow
def test_the_same_as_json(zabcheck: Command, tmp_path: Path) -> None:
    zabcheck(*SOON, "--out", "a/b")
    as_json = zabcheck(*SOON, "--format", "json")
    document = as_json.json
    assert (as_json.code, as_json.err) == (0, "")
    assert (document["engine"], document["seed"], document["seeds"]) == ("swarm", 1, 2)
    assert document["budget"] == {"runs": 20_000, "steps": 200, "seconds": 60.0}
    assert (document["survived"], document["interrupted"]) == ([], False)
    assert {row["mutant"]: (row["hunts"], row["found"]) for row in document["mutants"]} == {
        "promise-not-durable": (2, 2),
        "commit-on-own-ack": (2, 2),
    }
    for row in document["mutants"]:
        assert sum(row["first"].values()) == 2
        for figure in ("runs", "steps", "minimised"):
            spread = row[figure]
            assert 1 <= spread["least"] <= spread["median"] <= spread["most"]
        again = zabcheck("replay", f"a/b/{row['mutant']}.schedule.json", "--format", "json")
        assert again.code == 1
        assert (again.json["steps"], again.json["skipped"]) == (row["minimised"]["least"], 0)


def assert_is_a_table(markdown: str, *mutants: str) -> None:
    lines = markdown.splitlines()
    assert lines[0].startswith("| mutant | found | ")
    assert {line.count("|") for line in lines} == {lines[0].count("|")}
    assert [line.split("|")[1].strip() for line in lines[2:]] == list(mutants)
    assert (" | chosen | " in lines[0]) == ("commit-on-own-ack" in mutants)


def test_the_same_table_in_markdown(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck(*SOONER, "--seeds", "1", "--format", "markdown")
    assert (result.code, result.err) == (0, "")
    assert_is_a_table(result.out, "promise-not-durable")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_seeds_follow_the_first(zabcheck: Command) -> None:
    both = zabcheck(*SOONER, "--seed", "5", "--seeds", "2", "--format", "json").json["mutants"]
    alone = [zabcheck(*SOONER, "--seed", seed, "--seeds", "1", "--format", "json").json["mutants"] for seed in "56"]
    for together, fifth, sixth in zip(both, *alone, strict=True):
        least, most = sorted([fifth["steps"]["median"], sixth["steps"]["median"]])
        assert (together["steps"]["least"], together["steps"]["most"]) == (least, most)


@pytest.mark.slow
def test_hypothesis_can_search_too(zabcheck: Command) -> None:
    options = ("--engine", "hypothesis", "--seeds", "1", "--runs", "50", "--format", "json")
    document = zabcheck("mutants", "--mutant", "commit-on-own-ack", *options).json
    assert document["engine"] == "hypothesis"
    assert [row["found"] for row in document["mutants"]] == [1]


@pytest.mark.parametrize("format", ["text", "json", "markdown"])
def test_a_bug_that_is_not_found_is_named_and_no_pass(format: str, zabcheck: Command) -> None:
    result = zabcheck(*SURVIVES, "--format", format)
    assert (result.code, result.err) == (1, "")
    assert "counter-wraps" in result.out
    assert "0 of 2" in result.out or result.json["survived"] == ["counter-wraps"]
    if format == "text":
        assert "\nnot found: counter-wraps\n" in result.out


@pytest.mark.slow
def test_a_bug_that_is_found_now_and_then_is_found(zabcheck: Command) -> None:
    """A search of few runs finds it with one of these seeds and not with another."""
    options = ("--mutant", "counter-wraps", "--runs", "45", "--seeds", "4")
    result = zabcheck("mutants", *options)
    assert result.code == 0
    [found] = {" ".join(line[1:4]) for line in lines_with("counter-wraps", result.out) if "of" in line}
    assert found in ("1 of 4", "2 of 4", "3 of 4")


@pytest.mark.parametrize("budget", [("--runs", "1"), ("--seconds", "0")])
def test_a_search_ends_with_its_budget(budget: tuple[str, str], zabcheck: Command) -> None:
    """Both mean one run here, which does not show this bug: a run has to end before the time is looked at."""
    result = zabcheck("mutants", "--mutant", "counter-wraps", "--seeds", "2", *budget, "--format", "json")
    assert result.code == 1
    assert result.json["survived"] == ["counter-wraps"]


def test_a_bug_that_is_not_found_leaves_no_schedule(zabcheck: Command, tmp_path: Path) -> None:
    zabcheck(*SURVIVES, "--out", "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["mutants.md"]


def test_ctrl_c_ends_it_with_what_is_known_so_far(
    zabcheck: Command, ctrl_c_in_run: Callable[[int], None], tmp_path: Path
) -> None:
    """In the third run: each of the first two found the bug that it was for."""
    ctrl_c_in_run(3)
    result = zabcheck(*SOON, "--out", "out")
    assert (result.code, result.err) == (3, "")
    assert "\nINCONCLUSIVE: interrupted after 2 searches; " in result.out
    assert lines_with("promise-not-durable", result.out)[0][1:4] == ["2", "of", "2"]
    assert lines_with("commit-on-own-ack", result.out) == []
    assert (tmp_path / "out/promise-not-durable.schedule.json").is_file()


def test_a_bug_that_ctrl_c_left_searches_for_has_not_survived(
    zabcheck: Command, ctrl_c_in_run: Callable[[int], None]
) -> None:
    ctrl_c_in_run(5)
    result = zabcheck(*SURVIVES, "--format", "json")
    assert (result.code, result.json["survived"]) == (3, [])
    assert [(row["hunts"], row["found"]) for row in result.json["mutants"]] == [(1, 0)]


def test_ctrl_c_at_once_leaves_an_empty_matrix(zabcheck: Command, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(1)
    result = zabcheck(*SOON, "--format", "json")
    assert (result.code, result.json["mutants"], result.json["interrupted"]) == (3, [], True)


def test_a_bug_is_named_in_the_order_of_the_catalogue_and_once(zabcheck: Command) -> None:
    again = [part for name in ("commit-on-own-ack", "promise-not-durable") * 2 for part in ("--mutant", name)]
    result = zabcheck("mutants", *again, "--seeds", "1", "--runs", "1", "--steps", "1", "--format", "json")
    names = [row["mutant"] for row in result.json["mutants"]]
    assert names == [name for name in CATALOGUE if name in names]
    assert len(names) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--mutant x", f"no mutant `x`; expected one of: {', '.join(CATALOGUE)}"),
        ("--mutant commit-on-own-ack --mutant x", "no mutant `x`; expected one of: "),
        ("--property x", f"no property `x`; expected one of: {', '.join(PROPERTIES)}"),
        ("--engine x", "Invalid value for '--engine'"),
        ("--seeds 0", "Invalid value for '--seeds'"),
        ("--seeds 10001", "Invalid value for '--seeds'"),
        ("--seed -1", "Invalid value for '--seed'"),
        ("--runs 0", "Invalid value for '--runs'"),
        ("--steps 5001", "Invalid value for '--steps'"),
        ("--seconds -1", "Invalid value for '--seconds'"),
        ("--seconds nan", "Invalid value for '--seconds'"),
        ("--format xml", "Invalid value for '--format'"),
        ("--out file/x", "--out file/x: expected a directory, "),
    ],
)
def test_bad_usage_is_one_line(arguments: str, expected: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = zabcheck("mutants", *arguments.split())
    assert (result.code, result.out) == (2, "")
    assert re.fullmatch(r"zabcheck: .*\n", result.err)
    assert result.err.removeprefix("zabcheck: ").startswith(expected)
