"""Stored traces on Spark: JSON Lines in blocks, Parquet, and what is said of files that are no traces."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import to_builtins

from invariants import Deliver, Event, TraceError, check, trace
from invariants.columns import PARQUET, Rows
from tests.invariants.builders import A, B, broadcasts, deliveries, restore, whole
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.campaign.judging import short
from zabcheck.campaign.judging.checking import CheckedRuns, check_stored
from zabcheck.campaign.judging.verdicts import SIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")
GOOD = whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), restore(2, A), *deliveries(2, B)])


def lines(events: Sequence[Event]) -> bytes:
    return b"".join(trace.dump(events))


def parquet(path: Path, *runs: Sequence[Event]) -> None:
    rows = Rows()
    for number, events in enumerate(runs):
        rows.add(number, events)
    pq.write_table(pa.Table.from_batches([rows.take()]), path, **PARQUET)


@pytest.fixture
def by_dataframes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is short enough to be judged in a single job."""
    monkeypatch.setattr(short, "SHORT", -1)


@pytest.mark.slow
def test_short_files_are_judged_as_by_the_incremental_judge(spark: "SparkSession", tmp_path: Path) -> None:
    """Some runs are broken, one is incomplete; each file is named once."""
    runs = {f"{seed} %20ü.jsonl": whole(random_trace(seed).events) for seed in range(5, 9)}
    runs["incomplete.jsonl"] = runs["5 %20ü.jsonl"][:-1]
    for name, events in runs.items():
        (tmp_path / name).write_bytes(lines(events))
    paths = [str(tmp_path / name) for name in runs]
    assert short.are_short(paths)
    checked = check_stored([*paths, paths[0]], ("integrity", "agreement", "total order"))
    verdicts = {name: check(events, ("integrity", "total order", "agreement")) for name, events in runs.items()}
    violations = {name: [each for each in found if each.violation] for name, found in verdicts.items()}
    assert {each.trace: to_builtins(each.verdicts) for each in checked.broken} == {
        f"{tmp_path}/{name}": to_builtins(found) for name, found in violations.items() if found
    }
    for name, counts in checked.counts.items():
        assert counts == Counter(each.status for found in verdicts.values() for each in found if each.property == name)
    assert (checked.runs, checked.events) == (5, sum(map(len, runs.values())))
    assert checked.violated == len(checked.broken) > 0


def test_what_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "a.jsonl", tmp_path / "b[1].jsonl"
    one.write_bytes(b"12345")
    other.write_bytes(b"")
    assert short.are_short([str(one)])
    for path in (other, tmp_path, tmp_path / "*", tmp_path / "none", "s3a://bucket/a.jsonl", tmp_path / "a.parquet"):
        assert not short.are_short([str(one), str(path)]), path
    monkeypatch.setattr(short, "SHORT", 9)
    assert not short.are_short([str(one)] * 2)


@pytest.mark.slow
@pytest.mark.usefixtures("by_dataframes")
def test_json_lines_in_small_blocks_and_parquet_are_judged_alike(spark: "SparkSession", tmp_path: Path) -> None:
    runs = [whole(random_trace(seed).events) for seed in (5, 6, 8)]
    parquet(tmp_path / "x.parquet", *runs)
    for number, events in enumerate(runs):
        (tmp_path / f"{number:02}.jsonl").write_bytes(lines(events))
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    assert before is not None
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1500")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    try:
        from_lines = check_stored([str(tmp_path / "*.jsonl")])
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
        spark.conf.unset("spark.sql.files.openCostInBytes")
    from_columns = check_stored([str(tmp_path / "x.parquet")])
    assert from_lines.counts == from_columns.counts
    assert found(from_lines) == found(from_columns)
    assert from_lines.events == from_columns.events == sum(map(len, runs))
    wanted = {number: [v.property for v in check(events, SIX) if v.violation] for number, events in enumerate(runs)}
    assert {each.run: each.violated for each in from_columns.broken} == {k: v for k, v in wanted.items() if v}


def found(checked: CheckedRuns) -> list[object]:
    return [[verdict.violation for verdict in each.verdicts] for each in checked.broken]


WRONG_LINES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: data[:0], "line 1: expected a header, the file is empty"),
    "no JSON": (lambda data: data.replace(b"{", b"(", 3).replace(b"(", b"{", 2), "line 2: expected a JSON object"),
    "unknown kind": (
        lambda data: data.replace(b'"deliver"', b'"delivery"'),
        "line 4, field `event`: Invalid value 'delivery'",
    ),
    "missing field": (lambda data: data.replace(b'"incarnation":0,', b"", 1), "missing required field `incarnation`"),
    "wrong type": (lambda data: data.replace(b'"process":1', b'"process":"1"', 1), "line 2, field `process`"),
    "out of range": (lambda data: data.replace(b'"zxid":[1,1]', b'"zxid":[1,-1]', 1), "line 2, field `txn.zxid[1]`"),
    "no header": (lambda data: data.partition(b"\n")[2], "field `event`: expected `header`, found none"),
    "second header": (lambda data: data.partition(b"\n")[0] + b"\n" + data, "line 2, field `event`: a header"),
    "after the end": (lambda data: data + data.splitlines(True)[2], "line 9: expected nothing after `end`"),
    "wrong count": (lambda data: data.replace(b'"count":6', b'"count":7'), "line 8, field `count`: expected 6"),
    "above processes": (
        lambda data: data.replace(b'"processes":9', b'"processes":1'),
        "field `process`: expected 1 to 1",
    ),
}


@pytest.mark.parametrize("case", sweep(WRONG_LINES, normal=("wrong count",)))
@pytest.mark.usefixtures("by_dataframes")
@pytest.mark.slow
def test_json_lines_that_are_no_trace_are_refused(spark: "SparkSession", tmp_path: Path, case: str) -> None:
    change, message = WRONG_LINES[case]
    (tmp_path / "x.jsonl").write_bytes(change(lines(GOOD)))
    refused([tmp_path / "x.jsonl"], message)


IN_OTHER_WORDS = {
    "no header": "line 1, field `event`: expected `header`, found `",
    "second header": "line 2, field `event`: a second header",
}
"""What is said of short files, where it is not what is said of others: one reads lines in order, one counts them."""


@pytest.mark.parametrize("case", sweep(WRONG_LINES, normal=("no JSON", "wrong count", "empty", "out of range")))
@pytest.mark.slow
def test_short_files_that_are_no_trace_are_refused(spark: "SparkSession", tmp_path: Path, case: str) -> None:
    change, message = WRONG_LINES[case]
    message = IN_OTHER_WORDS.get(case, message)
    (tmp_path / "x.jsonl").write_bytes(change(lines(GOOD)))
    refused([tmp_path / "x.jsonl"], message)


def refused(paths: Sequence[Path], message: str) -> None:
    with pytest.raises(TraceError) as raised:
        check_stored([str(path) for path in paths])
    said = str(raised.value)
    assert message in said
    assert str(paths[-1]) in said
    assert "\n" not in said


@pytest.mark.slow
def test_parquet_that_is_no_trace_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet(path, GOOD)
    table = pq.read_table(path)
    data = path.read_bytes()
    for wrong, message in (
        (table.drop_columns(["value"]), "column `value`: expected string, found no such column"),
        (
            table.set_column(3, "process", table["process"].cast("int64")),
            "column `process`: expected int, found bigint",
        ),
        (
            table.set_column(3, "process", pa.array([None, 0] + [1] * 6, pa.int32())),
            "run 0, line 2: expected a `broadcast`",
        ),
        (table.slice(0, 5).set_column(1, "seq", pa.array([1, 2, 3, 5, 6])), "field `seq`: expected each line"),
    ):
        pq.write_table(wrong, path)
        refused([path], message)
    path.write_bytes(data[: len(data) // 2])
    refused([path], "x.parquet")
    refused([tmp_path / "nothing.parquet"], "does not exist")
    (tmp_path / "empty").mkdir()
    refused([tmp_path / "empty"], "expected a trace, found no file")
    parquet(path, whole([Deliver(1, 1, A), Deliver(1, 0, A)]))
    refused([path], "line 3, field `incarnation`")
