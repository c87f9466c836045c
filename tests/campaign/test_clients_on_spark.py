"""`zabcheck clients check --engine spark`: the verdicts of one process."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Command
from tests.zookeeper.clients.service import World
from tests.zookeeper.clients.test_division import Altered
from tests.zookeeper.clients.test_lists import WRONG
from tests.zookeeper.clients.test_violations import RIGHT, VIOLATIONS
from zabcheck.zookeeper.campaign import histories as stored
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
    arguments = "clients", "check", *files, "--bound", "0.0001", "--out", tmp_path / "pages", "--format", "json"
    here, there = zabcheck(*arguments), zabcheck(*arguments, "--engine", "spark")
    assert (there.code, there.err) == (1, "")
    assert json.loads(there.out) == json.loads(here.out)
    assert len(json.loads(there.out)["histories"]) == len(files) > 70


@pytest.mark.slow
def test_one_history_is_divided_and_spark_says_what_one_process_says(
    spark: "SparkSession", zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of some lines; what is small, or of Jepsen, or no history, is judged by one task."""
    monkeypatch.setattr(stored, "BYTES_OF_A_PART", 5_000)
    monkeypatch.setattr(stored, "GROUPS_OF_A_PART", 1)
    monkeypatch.setattr(parquet, "BATCH", 40)
    lines, through = Altered(21).lines, tmp_path / "through"
    written = VIOLATIONS["half_of_a_multi_is_seen"][1]().lines
    Path(tmp_path, "a.jsonl").write_bytes(b"".join(dump(lines)))
    Path(tmp_path, "b.jsonl").write_bytes(b"".join(dump([*written, HistoryEnd(len(written) - 1)])))
    with Path(tmp_path, "c.parquet").open("wb") as file:
        parquet.dump(lines, file)
    Path(tmp_path, "d.edn").write_text("\n".join(line for each in WRONG["one is lost"][0] for line in each))
    files = sorted(tmp_path.iterdir())
    through.mkdir()
    assert files[0].stat().st_size > 2 * stored.BYTES_OF_A_PART
    arguments = "clients", "check", *files, "--bound", "0.0001", "--out", tmp_path / "pages", "--format", "json"
    here, there = zabcheck(*arguments), zabcheck(*arguments, "--engine", "spark", "--divide", through)
    assert (there.code, there.err) == (1, "")
    assert json.loads(there.out) == json.loads(here.out)
    assert [*through.iterdir()] == []
    Path(tmp_path, "a.jsonl").write_bytes(b"".join(dump([*lines, lines[0]])))
    wrong = zabcheck("clients", "check", files[0], "--engine", "spark", "--divide", through)
    assert (wrong.code, wrong.err) == (2, zabcheck("clients", "check", files[0]).err)


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
        (["x.jsonl", "--divide", "."], "--divide: only with --engine spark"),
        (["x.jsonl", "--engine", "spark", "--divide", "nowhere"], "--divide: expected a folder, found none: nowhere"),
    ],
)
def test_options_that_exclude_each_other_are_refused(zabcheck: Command, arguments: list[str], message: str) -> None:
    result = zabcheck("clients", "check", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
