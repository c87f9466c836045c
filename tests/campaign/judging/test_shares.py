"""The shares into which stored traces are divided, and the messages about files that are no traces."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from invariants import Deliver, TraceError
from tests.campaign.judging.stored import GOOD, judged, lines, parquet
from tests.invariants.builders import A, whole
from tests.tiers import sweep
from zabcheck.campaign import files
from zabcheck.campaign.judging import shares
from zabcheck.campaign.judging.shares import LineFiles, RunRange, shares_of


def ranges(place: Path) -> list[tuple[int, int, int]]:
    """The shares: each as its first run, the run before which it ends, and how many row groups it reads."""
    found = []
    for share in shares_of([str(place)]):
        assert isinstance(share, RunRange)
        found.append((share.least, share.end, len(share.groups)))
    return found


def test_a_run_is_in_one_share_whose_row_groups_have_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "ROWS", 20)
    parquet(tmp_path / "x.parquet", *[GOOD] * 10, row_group=10)  # 8 rows a run: 80 rows
    begin, end = -(2**63), 2**63
    assert ranges(tmp_path / "x.parquet") == [(begin, 2, 2), (2, 5, 3), (5, 7, 2), (7, end, 3)]
    monkeypatch.setattr(shares, "ROWS", 1000)
    assert ranges(tmp_path / "x.parquet") == [(begin, end, 8)]


def test_without_statistics_all_is_one_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "ROWS", 20)
    parquet(tmp_path / "x.parquet", *[GOOD] * 10)
    pq.write_table(
        pq.read_table(tmp_path / "x.parquet"), tmp_path / "y.parquet", row_group_size=10, write_statistics=False
    )
    assert ranges(tmp_path / "y.parquet") == [(-(2**63), 2**63, 8)]
    assert judged(tmp_path / "y.parquet").runs == 10


def test_files_of_lines_are_put_together_until_they_are_long_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "BYTES", 10)
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(5)]
    for number, path in enumerate(paths):
        Path(path).write_bytes(b"x" * (4 + number))
    assert shares_of([*paths, paths[0]]) == [LineFiles(tuple(paths[:3])), LineFiles(tuple(paths[3:]))]


def test_a_path_is_a_file_a_folder_or_a_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/1.jsonl", "a/[2].jsonl", "a/deep/3.jsonl", "a/_SUCCESS", "a/.4.crc", "b/1.jsonl", "b/1.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    for place, found in (
        ("a", ["a/1.jsonl", "a/[2].jsonl", "a/deep/3.jsonl"]),
        ("*/1.jsonl", ["a/1.jsonl", "b/1.jsonl"]),
        ("?", ["a/1.jsonl", "a/[2].jsonl", "a/deep/3.jsonl", "b/1.jsonl", "b/1.txt"]),
        ("a/[2].jsonl", ["a/[2].jsonl"]),
        ("a/[12].jsonl", ["a/1.jsonl"]),
        (f"file://{tmp_path}/b/1.jsonl", ["b/1.jsonl"]),
        ("c", []),
    ):
        assert files.files_at(place) == [f"{tmp_path}/{name}" for name in found], place


def test_files_elsewhere_keep_their_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1.jsonl").write_bytes(b"")
    bucket = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    monkeypatch.setattr(files, "file_system", lambda place: (bucket, place.partition("?")[0].partition("bucket/")[2]))
    uri = "s3://key:secret@bucket/a/1.jsonl?region=eu"
    assert files.files_at("s3://key:secret@bucket/a?region=eu") == files.files_at(uri) == [uri]


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
    "no header": (lambda data: data.partition(b"\n")[2], "line 1, field `event`: expected `header`, found `"),
    "second header": (
        lambda data: data.partition(b"\n")[0] + b"\n" + data,
        "line 2, field `event`: a second header",
    ),
    "after the end": (lambda data: data + data.splitlines(True)[2], "line 9: expected nothing after `end`"),
    "wrong count": (lambda data: data.replace(b'"count":6', b'"count":7'), "line 8, field `count`: expected 6"),
    "above processes": (
        lambda data: data.replace(b'"processes":9', b'"processes":1'),
        "field `process`: expected 1 to 1",
    ),
}


@pytest.mark.parametrize("case", WRONG_LINES)
def test_json_lines_that_are_no_trace_are_refused(tmp_path: Path, case: str) -> None:
    change, message = WRONG_LINES[case]
    (tmp_path / "x.jsonl").write_bytes(change(lines(GOOD)))
    refused([tmp_path / "x.jsonl"], message)


def refused(paths: Sequence[Path], message: str) -> None:
    with pytest.raises(TraceError) as raised:
        judged(*paths)
    said = str(raised.value)
    assert message in said
    assert str(paths[-1]) in said
    assert "\n" not in said


def test_parquet_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet(path, GOOD)
    table = pq.read_table(path)
    data = path.read_bytes()
    for wrong, message in (
        (table.drop_columns(["value"]), "column `value`: expected one of string, found none"),
        (
            table.set_column(3, "process", table["process"].cast("int64")),
            "column `process`: expected int32, found int64",
        ),
        (
            table.set_column(3, "process", pa.array([None, 0] + [1] * 6, pa.int32())),
            "run 0, line 2: expected a `broadcast`",
        ),
        (table.slice(0, 5).set_column(1, "seq", pa.array([1, 2, 3, 5, 6])), "column `seq`: expected 4"),
        (pa.concat_tables([table, table]), "run 0, line 2, column `seq`: expected 2"),
        (table.slice(0, 0), "expected a header, the file has no rows"),
    ):
        pq.write_table(wrong, path)
        refused([path], message)
    path.write_bytes(data[: len(data) // 2])
    refused([path], "x.parquet: expected a Parquet file")
    refused([tmp_path / "nothing.parquet"], "expected a trace, found no file")
    (tmp_path / "empty").mkdir()
    refused([tmp_path / "empty"], "expected a trace, found no file")
    parquet(path, whole([Deliver(1, 1, A), Deliver(1, 0, A)]))
    refused([path], "line 3, field `incarnation`")
    refused([tmp_path / "x.parquet" / "in a file"], "expected a trace, found no file")
    (tmp_path / "x.jsonl.gz").write_bytes(b"no gzip")
    refused([tmp_path / "x.jsonl.gz"], "x.jsonl.gz: ")


@pytest.mark.parametrize("place", sweep(["s4://bucket/x.jsonl", "s3://"], ["s4://bucket/x.jsonl"]))
def test_a_file_system_that_nobody_knows_is_told(place: str) -> None:
    with pytest.raises(TraceError, match=f"^{place}: "):
        shares_of([place])
