"""docs/output.md and docs/traces.md say what is so."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Struct

from docs.generators.zookeeper_logs import servers
from invariants import Txn, Zxid, chain_hash
from invariants.columns import SCHEMA
from invariants.events import EVENTS, End, Header
from invariants.trace import loads
from tests.cli.command import BROKEN_SCHEDULE, DELIVERED, ROOT, trace_of
from tests.cli.conftest import Command, Found
from tests.invariants.columns import parquet_of, table_of
from tests.zookeeper import fake_zookeeper, real
from zabcheck.simulation.choices import AnyChoice
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import judge

OUTPUT = (ROOT / "docs/output.md").read_text(encoding="utf-8")
LOST_WRITE = ROOT / "tests/zookeeper/lost-write-3.8.0"
TRACES = (ROOT / "docs/traces.md").read_text(encoding="utf-8")
EXAMPLES: dict[str, Any] = {
    example["command"]
    + (" of an ensemble" if "finds" in example else "")
    + (" on servers" if "comparisons" in example else ""): example
    for example in map(msgspec.json.decode, re.findall(r"```json\n(.*?)```", OUTPUT, re.S))
}
ELSEWHERE = ("witness", "choices", "switches", "first", "sizes", "faults")
"""Described by a table, or by their names: what is in them is of many kinds."""
ABOUT_FILES = ("version", "command", "files", "wrote")
"""What a story has not that was not asked for by a file's name."""


def shape(value: Any, path: str = "") -> Iterator[str]:
    """Each field, with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from () if key in ELSEWHERE else shape(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from shape(inner, f"{path}[]")


def test_the_form_of_run_is_the_documented_one(found: Found, zabcheck: Command) -> None:
    assert list(dict.fromkeys(shape(found.result.json))) == list(dict.fromkeys(shape(EXAMPLES["run"])))
    sound = zabcheck("run", "--seed", "1", "--runs", "5", "--format", "json").json
    assert list(sound) == list(EXAMPLES["run"])


@pytest.mark.parametrize("command", ["replay", "check"])
def test_the_form_of_verdicts_is_the_documented_one(command: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "replay").write_bytes(BROKEN_SCHEDULE)
    (tmp_path / "check").write_bytes(trace_of(DELIVERED))
    violation = set(shape(EXAMPLES["run"]["counterexample"]["violation"]))
    prefix = ".verdicts[].violation" if command == "replay" else ".traces[].verdicts[].violation"
    documented = {*shape(EXAMPLES[command]), *(f"{prefix}{each}" for each in violation)}
    files = [command]
    if command == "check":
        documented |= {f".traces[].verdicts[].found_at[].{field}" for field in ("trace", "line")}
        run = list(loads(trace_of(DELIVERED)))
        (tmp_path / "runs").write_bytes(parquet_of(table_of([run, run])).getvalue())
        files.append("runs")
    assert set(shape(zabcheck(command, *files, "--format", "json").json)) == documented


def test_the_form_of_explain_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    """Lists with an entry are compared by their entries; a violation has the form that it has everywhere."""
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    told, example = zabcheck("explain", "broken", "--format", "json").json, EXAMPLES["explain"]
    assert list(told) == list(example)
    for field in ("steps", "messages", "delivered", "witness"):
        assert {*told[field][0]} == {*example[field][0]}, field
    assert {*told["decisive"]} == {*example["decisive"]}
    [change] = example["steps"][0]["changes"]
    assert all({*each} == {*change} for step in told["steps"] for each in step["changes"])


def test_the_form_of_explore_is_the_documented_one(zabcheck: Command) -> None:
    options = ("--processes", "1", "--txns", "2", "--crashes", "2")
    assert list(shape(zabcheck("explore", *options, "--format", "json").json)) == list(shape(EXAMPLES["explore"]))


def test_the_form_of_evaluate_is_the_documented_one(zabcheck: Command) -> None:
    options = ("--servers", "3", "--disk", "cache", "--operations", "9", "--outstanding", "3", "--history", "9")
    told = zabcheck("evaluate", *options, "--format", "json").json
    assert list(dict.fromkeys(shape(told))) == list(dict.fromkeys(shape(EXAMPLES["evaluate"])))


def test_the_form_of_list_is_the_documented_one(zabcheck: Command) -> None:
    assert set(shape(zabcheck("list", "--format", "json").json)) == set(shape(EXAMPLES["list"]))


def test_the_form_of_db19_is_the_documented_one(zabcheck: Command) -> None:
    options = ("--seed", "1", "--nodes", "1", "--rounds", "9", "--proposals", "1", "--partition", "0,0")
    result = zabcheck("db19", *options, "--format", "json")
    assert result.code == 0
    assert list(dict.fromkeys(shape(result.json))) == list(dict.fromkeys(shape(EXAMPLES["db19"])))


def test_the_form_of_zookeeper_logs_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    servers(tmp_path)
    told = zabcheck("zookeeper", "logs", "ensemble/s3", "ensemble/s2", "--txns", "--format", "json").json
    assert list(dict.fromkeys(shape(told))) == list(dict.fromkeys(shape(EXAMPLES["zookeeper logs"])))
    assert told["comparison"] == EXAMPLES["zookeeper logs"]["comparison"]
    [example] = EXAMPLES["zookeeper logs"]["servers"]
    server = told["servers"][0]
    assert {**server, "snapshots": server["snapshots"][1:], "txns": server["txns"][:1]} == example


def test_the_form_of_zookeeper_conform_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    recording = shutil.copytree(LOST_WRITE, tmp_path / "recording")
    told = zabcheck("zookeeper", "conform", recording, "--release", "3.9.2", "--format", "json").json
    example = EXAMPLES["zookeeper conform"]
    assert list(told) == list(example)
    [recorded], [shown] = told["recordings"], example["recordings"]
    assert list(recorded) == list(shown)
    [difference] = recorded["differences"]
    [documented] = shown["differences"]
    assert list(difference) == list(documented)
    assert list(difference["state"]) == list(documented["state"])


def test_the_form_of_zookeeper_points_is_the_documented_one(zabcheck: Command) -> None:
    told = zabcheck("zookeeper", "points", "learner-epoch-written", "--classpath", "pyspark", "--format", "json").json
    assert told == EXAMPLES["zookeeper points"]


def lost_write(
    schedule: EnsembleSchedule, distribution: Distribution, folder: Path, *names: object, **options: object
) -> Attempt:
    """What a run came to in which ZooKeeper lost a write."""
    shutil.copytree(LOST_WRITE, folder, dirs_exist_ok=True)
    return Attempt(schedule, judge(folder), 4.5)


def test_the_forms_of_what_a_real_ensemble_did_are_the_documented_ones(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of lists and choices one entry is documented."""
    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", lost_write)
    options = ("--java", fake_zookeeper.java(tmp_path, "serves"), "--classpath", tmp_path, "--format", "json")
    told = zabcheck("zookeeper", "--seed", "1", "--runs", "1", "--minimise", "0", *options)
    assert (told.code, told.err) == (1, "")
    assert list(dict.fromkeys(shape(told.json))) == list(dict.fromkeys(shape(EXAMPLES["zookeeper"])))
    assert told.json["wrong"][:1] == EXAMPLES["zookeeper"]["wrong"]
    [schedule] = [file for file in told.json["counterexample"]["files"] if file.endswith("schedule.json")]
    judged = zabcheck("zookeeper", "judge", Path(schedule).parent, "--write", "--format", "json").json
    assert list(dict.fromkeys(shape(judged))) == list(dict.fromkeys(shape(EXAMPLES["zookeeper judge"])))
    replayed = zabcheck("replay", schedule, "--times", "2", *options).json
    assert list(dict.fromkeys(shape(replayed))) == list(dict.fromkeys(shape(EXAMPLES["replay of an ensemble"])))


def test_the_form_of_zookeeper_gate_is_the_documented_one(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", lost_write)
    monkeypatch.setattr("zabcheck.cli.zookeeper.gate.monotonic", iter(range(0, 9999, 10)).__next__)
    options = ("--java", fake_zookeeper.java(tmp_path, "serves"), "--classpath", real.classpath(), "--format", "json")
    told = zabcheck("zookeeper", "gate", "--bug", "4712", "--repairs", "4712", "--budget", "45s", *options)
    assert (told.code, told.err) == (1, "")
    assert list(dict.fromkeys(shape(told.json))) == list(dict.fromkeys(shape(EXAMPLES["zookeeper gate"])))


def test_the_form_of_scenario_is_the_documented_one(zabcheck: Command) -> None:
    told, example = zabcheck("scenario", "dsn-figure-3", "--format", "json").json, EXAMPLES["scenario"]
    assert list(told) == list(example)
    assert list(told["outcome"]) == list(example["outcome"])
    assert list(told["story"]) == [field for field in EXAMPLES["explain"] if field not in ABOUT_FILES]


def test_the_form_of_mutants_is_the_documented_one(zabcheck: Command) -> None:
    result = zabcheck("mutants", "--mutant", "commit-on-own-ack", "--seeds", "1", "--format", "json")
    assert list(shape(result.json)) == list(shape(EXAMPLES["mutants"]))


def test_the_form_of_gate_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    """The failure of the example has files; that its list is one of texts is seen there."""
    table = 'protocols = ["zab"]\nruns = 9\nproperties = ["chosen"]\nkills = ["commit-on-own-ack"]'
    (tmp_path / "pyproject.toml").write_text(f"[tool.zabcheck]\n{table}\n")
    result = zabcheck("gate", "--format", "json")
    assert result.code == 0
    assert list(dict.fromkeys(shape(result.json))) == list(dict.fromkeys(shape(EXAMPLES["gate"])))


def test_every_field_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", OUTPUT))
    named_elsewhere = (
        ".goals.",
        ".witness[].event.",
        ".steps[].events[].",
        ".initial[].variables.",
        ".delivered[].txns[].",
        ".outcome.delivered.",
        ".recordings[].differences[].state.",
    )
    for command, example in EXAMPLES.items():
        fields = {way.rpartition(".")[2] for way in shape(example) if not way.startswith(named_elsewhere)}
        assert fields - explained == set(), command


def documented_kinds(text: str, title: str) -> dict[str, tuple[str, ...]]:
    """Of the tables that begin with `title`: each kind with its fields."""
    kinds = {}
    for table in re.findall(rf"^\| `{title}` \| fields .*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        for row in table.splitlines():
            _, kind, fields, *_ = row.split("|")
            kinds[kind.strip(" `")] = tuple(re.findall(r"`(\w+)`", fields))
    return kinds


def kinds_of(structs: tuple[type[Struct], ...]) -> dict[str, tuple[str, ...]]:
    return {str(struct.__struct_config__.tag): struct.__struct_fields__ for struct in structs}


def test_every_event_is_documented_with_its_fields() -> None:
    assert documented_kinds(TRACES, "event") == kinds_of((Header, End, *EVENTS))


def test_every_choice_is_documented_with_its_fields() -> None:
    assert documented_kinds(OUTPUT, "choice") == kinds_of(get_args(AnyChoice))


def test_the_example_of_a_trace_is_judged_as_the_text_says(zabcheck: Command, tmp_path: Path) -> None:
    [example] = re.findall(r"```jsonl\n(.*?)```", TRACES, re.S)
    (tmp_path / "example.jsonl").write_text(example, encoding="utf-8")
    result = zabcheck("check", "example.jsonl")
    assert (result.code, result.err) == (0, "")
    assert "not exercised" in result.out
    assert "holds" in result.out
    lines = example.splitlines(keepends=True)
    restored = [line.replace("7015883147504543856", "7") for line in lines]
    (tmp_path / "example.jsonl").write_text("".join(restored), encoding="utf-8")
    assert "integrity is violated" in zabcheck("check", "example.jsonl").out
    (tmp_path / "example.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    assert zabcheck("check", "example.jsonl").code == 3


def test_the_hashes_in_the_text_are_right() -> None:
    first = chain_hash(0, Txn(Zxid(1, 1), "a"))
    second = chain_hash(first, Txn(Zxid(1, 2), "b"))
    for hash_ in (first, second):
        assert str(hash_) in TRACES


@pytest.mark.parametrize(
    ("library", "file", "count"), [("pyarrow", "runs.parquet", 100_000), ("pandas", "run.parquet", 100)]
)
def test_the_examples_of_parquet_are_judged_as_sound(library: str, file: str, count: int, zabcheck: Command) -> None:
    [example] = re.findall(rf"```python {library}\n(.*?)```", TRACES, re.S)
    exec(compile(example, "docs/traces.md", "exec"), {})
    result = zabcheck("check", file, "--property", "zxid uniqueness", "--property", "integrity", "--format", "json")
    assert (result.code, result.err) == (0, "")
    [judged] = result.json["traces"]
    each = judged["properties"] if library == "pyarrow" else judged["verdicts"]
    assert sum(entry["judged"] for entry in each) == count


def test_every_column_is_documented_with_its_type() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+) \| (int64|int32|string) \|", TRACES, re.MULTILINE)
    documented = {name: type_ for names, type_ in rows for name in re.findall(r"`(\w+)`", names)}
    assert documented == {field.name: str(field.type) for field in SCHEMA}
