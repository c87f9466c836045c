"""The tables of docs/output.md and docs/traces.md have the fields that there are."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from docs.generators.zookeeper_logs import servers
from invariants import Txn, Zxid, chain_hash
from invariants.columns import SCHEMA
from invariants.events import ENVIRONMENT_EVENTS, PROPERTY_EVENTS, PROTOCOL_EVENTS, End, Header
from invariants.trace import loads
from tests.cli.command import BROKEN_SCHEDULE, DELIVERED, ROOT, trace_of
from tests.cli.conftest import Command, Found
from tests.cli.documented import SECTIONS, assert_documented
from tests.invariants.columns import parquet_of, table_of
from tests.zookeeper import fake_zookeeper, real
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import judge

LOST_WRITE = ROOT / "tests/zookeeper/lost-write-3.8.0"
TRACES = (ROOT / "docs/traces.md").read_text(encoding="utf-8")


def test_the_form_of_run_is_the_documented_one(found: Found, zabcheck: Command) -> None:
    assert_documented(found.result.json)
    assert_documented(zabcheck("run", "--seed", "1", "--runs", "5", "--format", "json").json)


def test_the_example_of_run_has_every_field(found: Found) -> None:
    [example] = re.findall(r"```json\n(.*?)```", SECTIONS["run"], re.DOTALL)
    shown = msgspec.json.decode(example)
    assert list(shown) == list(found.result.json)
    assert list(shown["counterexample"]) == list(found.result.json["counterexample"])


def test_the_form_of_replay_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    assert_documented(zabcheck("replay", "broken", "--format", "json").json)


def test_the_form_of_check_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(trace_of(DELIVERED))
    run = list(loads(trace_of(DELIVERED)))
    (tmp_path / "runs").write_bytes(parquet_of(table_of([run, run])).getvalue())
    assert_documented(zabcheck("check", "one", "runs", "--format", "json").json)


def test_the_form_of_explain_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    assert_documented(zabcheck("explain", "broken", "--format", "json").json)


def test_the_form_of_explore_is_the_documented_one(zabcheck: Command) -> None:
    options = ("--processes", "1", "--txns", "2", "--crashes", "2")
    assert_documented(zabcheck("explore", *options, "--format", "json").json)


def test_the_form_of_evaluate_is_the_documented_one(zabcheck: Command) -> None:
    options = ("--servers", "3", "--disk", "cache", "--operations", "9", "--outstanding", "3", "--history", "9")
    assert_documented(zabcheck("evaluate", *options, "--format", "json").json)


def test_the_form_of_list_is_the_documented_one(zabcheck: Command) -> None:
    assert_documented(zabcheck("list", "--format", "json").json)


def test_the_form_of_db19_is_the_documented_one(zabcheck: Command) -> None:
    options = ("--seed", "1", "--nodes", "1", "--rounds", "9", "--proposals", "1", "--partition", "0,0")
    result = zabcheck("db19", *options, "--format", "json")
    assert result.code == 0
    assert_documented(result.json)


def test_the_form_of_zookeeper_logs_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    servers(tmp_path)
    assert_documented(zabcheck("zookeeper", "logs", "ensemble/s3", "ensemble/s2", "--txns", "--format", "json").json)


def test_the_form_of_zookeeper_conform_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    recording = shutil.copytree(LOST_WRITE, tmp_path / "recording")
    assert_documented(zabcheck("zookeeper", "conform", recording, "--release", "3.9.2", "--format", "json").json)


def test_the_form_of_zookeeper_points_is_the_documented_one(zabcheck: Command) -> None:
    options = ("learner-epoch-written", "--classpath", "pyspark", "--format", "json")
    assert_documented(zabcheck("zookeeper", "points", *options).json)


def lost_write(
    schedule: EnsembleSchedule, distribution: Distribution, folder: Path, *names: object, **options: object
) -> Attempt:
    """Return the result of a run in which ZooKeeper lost a write."""
    shutil.copytree(LOST_WRITE, folder, dirs_exist_ok=True)
    return Attempt(schedule, judge(folder), 4.5)


@pytest.mark.slow
def test_the_forms_of_what_a_real_ensemble_did_are_the_documented_ones(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", lost_write)
    options = ("--java", fake_zookeeper.java(tmp_path, "serves"), "--classpath", tmp_path, "--format", "json")
    told = zabcheck("zookeeper", "--seed", "1", "--runs", "1", "--minimise", "0", *options)
    assert (told.code, told.err) == (1, "")
    assert_documented(told.json)
    [schedule] = [file for file in told.json["counterexample"]["files"] if file.endswith("schedule.json")]
    judged = zabcheck("zookeeper", "judge", Path(schedule).parent, "--write", "--format", "json").json
    assert_documented(judged)
    replayed = zabcheck("replay", schedule, "--times", "2", *options).json
    assert_documented(replayed, "replay of an ensemble")


@pytest.mark.slow
def test_the_form_of_zookeeper_gate_is_the_documented_one(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", lost_write)
    monkeypatch.setattr("zabcheck.cli.zookeeper.gate.monotonic", iter(range(0, 9999, 10)).__next__)
    options = ("--java", fake_zookeeper.java(tmp_path, "serves"), "--classpath", real.classpath(), "--format", "json")
    told = zabcheck("zookeeper", "gate", "--bug", "4712", "--repairs", "4712", "--budget", "45s", *options)
    assert (told.code, told.err) == (1, "")
    assert_documented(told.json)


def test_the_form_of_scenario_is_the_documented_one(zabcheck: Command) -> None:
    told = zabcheck("scenario", "dsn-figure-3", "--format", "json").json
    story = told.pop("story")
    assert_documented(told, absent=("story",))
    assert_documented(story, "explain", absent=("files", "wrote", "tried"))


@pytest.mark.slow
def test_the_form_of_mutants_is_the_documented_one(zabcheck: Command) -> None:
    assert_documented(zabcheck("mutants", "--mutant", "commit-on-own-ack", "--seeds", "1", "--format", "json").json)


def test_the_form_of_gate_is_the_documented_one(zabcheck: Command, tmp_path: Path) -> None:
    table = 'protocols = ["zab"]\nruns = 9\nproperties = ["chosen"]\nkills = ["commit-on-own-ack"]'
    (tmp_path / "pyproject.toml").write_text(f"[tool.zabcheck]\n{table}\n")
    result = zabcheck("gate", "--format", "json")
    assert result.code == 0
    assert_documented(result.json)


def documented_kinds(text: str, title: str) -> dict[str, tuple[str, ...]]:
    """Return each kind with its fields, from the tables that begin with `title`."""
    kinds = {}
    for table in re.findall(rf"^\| `{title}` \| fields .*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        for row in table.splitlines():
            _, kind, fields, *_ = row.split("|")
            kinds[kind.strip(" `")] = tuple(re.findall(r"`(\w+)`", fields))
    return kinds


def kinds_of(structs: tuple[type[Struct], ...]) -> dict[str, tuple[str, ...]]:
    return {str(struct.__struct_config__.tag): struct.__struct_fields__ for struct in structs}


def test_every_event_is_documented_with_its_fields() -> None:
    """The environment's events, which are only drawn, are named; the schema and the site have the rest."""
    assert documented_kinds(TRACES, "event") == kinds_of((Header, End, *PROPERTY_EVENTS, *PROTOCOL_EVENTS))
    drawn = TRACES.partition("### Events of the environment")[2].partition("\n## ")[0]
    assert [name for name in kinds_of(ENVIRONMENT_EVENTS) if f"`{name}`" not in drawn] == []


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
