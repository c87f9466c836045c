"""`zabcheck check --engine spark`: what it prints, its exit codes, and what it refuses."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from invariants import Event
from tests.campaign.judging.stored import GOOD, judged, lines, parquet
from tests.cli.command import process
from tests.cli.conftest import Command
from tests.invariants.builders import A, deliveries, whole
from tests.invariants.traces import random_trace
from zabcheck.campaign.judging import checking, shares
from zabcheck.campaign.judging.checking import SIX, check_stored
from zabcheck.campaign.judging.task import CheckedRuns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")
BAD = whole(deliveries(1, A))


@pytest.mark.slow
def test_spark_says_what_its_tasks_say_here(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare runs with all defects, in a table and in files of lines, dealt out to many tasks."""
    monkeypatch.setattr(shares, "ROWS", 5000)
    monkeypatch.setattr(shares, "BYTES", 20_000)
    runs: list[list[Event]] = [whole(random_trace(seed).events) for seed in range(2000)]
    parquet(tmp_path / "x.parquet", *runs, row_group=1000)
    for number, events in enumerate(runs[:50]):
        (tmp_path / f"{number:02}.jsonl").write_bytes(lines(events))
    paths = [tmp_path / "x.parquet", *tmp_path.glob("*.jsonl")]
    assert len(shares.shares_of(map(str, paths))) > 12
    assert check_stored([*map(str, paths)]) == judged(*paths)


@pytest.mark.slow
def test_many_runs_are_counted_and_the_broken_ones_are_told(
    spark: "SparkSession",
    zabcheck: Command,
    tmp_path: Path,
) -> None:
    parquet(tmp_path / "x.parquet", GOOD, BAD, GOOD[:-1])
    result = zabcheck("check", "--engine", "spark", tmp_path / "x.parquet")
    assert (result.code, result.err) == (1, "")
    assert (
        f"{tmp_path}/x.parquet, run 1\n  integrity is violated: p1 delivered a⟨1,1⟩, which nobody broadcast"
        in result.out
    )
    [row] = [line.split() for line in result.out.splitlines() if line.startswith("integrity  ")]
    assert row == ["integrity", "1", "1", "0", "1"]
    assert "some runs do not end with a complete `end`" in result.out


@pytest.mark.slow
def test_one_trace_and_json(
    spark: "SparkSession", zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace is judged once, and told twice."""
    checked: list[CheckedRuns] = []

    def once(*arguments: Any) -> CheckedRuns:
        if not checked:
            checked.append(check_stored(*arguments))
        return checked[0]

    monkeypatch.setattr(checking, "check_stored", once)
    (tmp_path / "x.jsonl").write_bytes(lines(BAD))
    text = zabcheck("check", "--engine", "spark", tmp_path / "x.jsonl")
    assert (text.code, text.err) == (1, "")
    assert "integrity is violated\np1 delivered a⟨1,1⟩, which nobody broadcast" in text.out
    result = zabcheck("check", "--engine", "spark", "--format", "json", tmp_path / "x.jsonl").json
    fields = ["version", "command", "engine", "runs", "lines", "properties", "ways", "violated_runs", "broken"]
    assert list(result) == fields
    assert [each["property"] for each in result["properties"]] == list(SIX)
    [broken] = result["broken"]
    assert (broken["trace"], broken["run"], broken["violated"]) == (str(tmp_path / "x.jsonl"), 0, ["integrity"])
    assert broken["violations"][0]["witness"] == [msgspec.to_builtins(BAD[1])]
    assert result["ways"] == {"in_arrays": 0, "event_by_event": 1}
    documented = (Path(__file__).parents[2] / "docs/spark.md").read_text(encoding="utf-8")
    assert all(f"`{field}`" in documented or f'"{field}"' in documented for field in [*result, *broken])


@pytest.mark.slow
def test_what_is_refused(spark: "SparkSession", zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"{}\n")
    for arguments, message in (
        ([tmp_path / "x.jsonl", "--engine", "spark"], "x.jsonl, line 1"),
        (["none.jsonl", "--engine", "spark"], "none.jsonl: expected a trace, found no file"),
        (["x.jsonl", "--engine", "spark", "--merge"], "--merge"),
        (["-", "--engine", "spark"], "standard input"),
        (["x.jsonl", "--master", "local"], "only with --engine spark"),
    ):
        result = zabcheck("check", *arguments)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert message in result.err


@pytest.mark.slow
def test_what_lies_beside_a_trace_is_not_imported_in_tasks(tmp_path: Path) -> None:
    """Spark starts its workers with `python -m`, in the current folder."""
    (tmp_path / "x.jsonl").write_bytes(lines(BAD))
    for name in ("csv", "numbers", "typing", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    result = process("check", "--engine", "spark", "--master", "local[1]", "x.jsonl", cwd=tmp_path)
    assert result.code in (0, 1, 3)
    assert not (tmp_path / "executed").exists()
