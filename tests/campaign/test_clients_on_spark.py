"""`zabcheck clients check --engine spark`: the verdicts of one process."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Command
from tests.zookeeper.clients.service import World
from tests.zookeeper.clients.test_lists import WRONG
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from zabcheck.zookeeper.clients import parquet
from zabcheck.zookeeper.clients.history import HistoryEnd, HistoryLine, dump

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow
def test_spark_says_what_one_process_says(spark: "SparkSession", zabcheck: Command, tmp_path: Path) -> None:
    """Compare histories of all forms, among them one with each violation, and random ones."""
    written = {name: write() for name, (_, write) in VIOLATIONS.items()} | {
        name: write() for name, write in RIGHT.items()
    }
    histories: dict[str, list[HistoryLine]] = {
        name: [*each.lines, HistoryEnd(len(each.lines) - 1)] for name, each in written.items()
    }
    histories |= {f"{seed}": World(seed).history(60) for seed in range(20)}
    for name, lines in histories.items():
        Path(tmp_path, f"{name}.jsonl").write_bytes(b"".join(dump(lines)))
    with Path(tmp_path, "x.parquet").open("wb") as file:
        parquet.dump(histories["half_of_a_multi_is_seen"], file)
    Path(tmp_path, "x.edn").write_text("\n".join(line for each in WRONG["one is lost"][0] for line in each))
    files = sorted(tmp_path.iterdir())
    arguments = "clients", "check", *files, "--out", tmp_path / "pages", "--format", "json"
    here, there = zabcheck(*arguments), zabcheck(*arguments, "--engine", "spark")
    assert (there.code, there.err) == (1, "")
    assert json.loads(there.out) == json.loads(here.out)
    assert len(json.loads(there.out)["histories"]) == len(files) > 70


@pytest.mark.slow
def test_a_file_that_is_no_history_is_told(spark: "SparkSession", zabcheck: Command, tmp_path: Path) -> None:
    Path(tmp_path, "x.jsonl").write_text("{}\n")
    result = zabcheck("clients", "check", "--engine", "spark", tmp_path)
    assert result.code == 2
    assert f"{tmp_path}/x.jsonl, line 1: Object missing required field `record`" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "--engine", "spark"], "-: expected files, as Spark reads no standard input"),
        (["nothing/*.jsonl", "--engine", "spark"], "nothing/*.jsonl: expected a history, found no file"),
        (["x.jsonl", "--master", "local"], "--master: only with --engine spark"),
    ],
)
def test_options_that_exclude_each_other_are_refused(zabcheck: Command, arguments: list[str], message: str) -> None:
    result = zabcheck("clients", "check", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
