"""`zabcheck check` on Parquet files, and on JSON Lines that are long."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from invariants import Broadcast, Deliver, Event, Txn, Zxid, trace
from tests.cli.command import DELIVERED, SENT, argv, environment, statuses, trace_of, violation_in
from tests.cli.conftest import Command
from tests.invariants.builders import whole
from tests.invariants.columns import parquet_of, table_of
from zabcheck.cli import check
from zabcheck.extras import pip_install

GOOD = whole([*SENT, *DELIVERED], "global", processes=3)
BAD = whole(DELIVERED, "global", processes=3)
INCOMPLETE = GOOD[:-1]
NOTHING = whole([], "global", processes=3)


def stored(name: str, *traces: Sequence[Event]) -> None:
    Path(name).write_bytes(parquet_of(table_of(traces)).getvalue())


@pytest.mark.parametrize(
    ("traces", "code"),
    [
        ([GOOD], 0),
        ([BAD], 1),
        ([INCOMPLETE], 3),
        ([NOTHING], 3),
        ([GOOD, GOOD], 0),
        ([GOOD, NOTHING], 0),
        ([NOTHING, NOTHING], 3),
        ([GOOD, INCOMPLETE], 3),
        ([GOOD, INCOMPLETE, BAD, GOOD], 1),
    ],
)
def test_the_exit_code_is_that_of_all_runs(traces: list[list[Event]], code: int, zabcheck: Command) -> None:
    stored("t", *traces)
    result = zabcheck("check", "t")
    assert (result.code, result.err) == (code, "")
    assert result.out.startswith("t\n")


@pytest.mark.parametrize("lines", [GOOD, BAD, INCOMPLETE], ids=["good", "bad", "incomplete"])
def test_one_run_is_printed_as_json_lines_are(lines: list[Event], zabcheck: Command) -> None:
    stored("t", lines)
    for format_ in ("text", "json"):
        found = zabcheck("check", "t", "--format", format_)
        Path("u").write_bytes(b"".join(trace.dump(lines)))
        other = zabcheck("check", "u", "--format", format_).out.removeprefix("u\n")
        assert found.out.replace('"t"', '"u"').replace("explain t", "explain u").removeprefix("t\n") == other


def test_one_of_many_runs_can_be_judged_in_full(zabcheck: Command) -> None:
    stored("t", GOOD, BAD, GOOD)
    stored("u", BAD)
    found = zabcheck("check", "t", "--run", "1")
    assert found.code == 1
    assert found.out.startswith("t, run 1\n")
    other = zabcheck("check", "u").out.removeprefix("u\n")
    assert found.out.removeprefix("t, run 1\n").replace("explain t --run 1", "explain u") == other
    assert zabcheck("check", "t", "--run", "2").code == 0
    [judged] = zabcheck("check", "t", "--run", "1", "--format", "json").json["traces"]
    assert (judged["trace"], judged["files"]) == ("t, run 1", ["t"])
    assert judged["verdicts"][0]["found_at"] == [{"trace": "t", "line": 4}]
    assert violation_in(judged["verdicts"], "integrity")["summary"] == "p1 delivered a⟨1,1⟩, which nobody broadcast"


def test_many_runs_are_a_table(zabcheck: Command) -> None:
    stored("t", GOOD, *[BAD] * 12, INCOMPLETE, NOTHING)
    result = zabcheck("check", "t", "--property", "integrity", "--property", "total-order")
    assert result.code == 1
    assert re.split(" {2,}|\n", result.out.replace(" \n", "\n"))[:16] == [
        *("t", "15 runs"),
        *("property", "holds", "violated", "not exercised", "inconclusive", "judged"),
        *("integrity", "1", "12", "1", "1", "28"),
        *("total order", "13"),
    ]
    broken = [line.split()[0] for line in result.out.splitlines() if "which nobody broadcast" in line]
    assert broken == [str(run) for run in range(1, 11)]
    assert "and 2 more" in result.out
    assert "some runs do not end" in result.out
    [judged] = zabcheck("check", "t", "--property", "integrity", "--format", "json").json["traces"]
    assert judged["properties"] == [
        {"property": "integrity", "holds": 1, "violated": 12, "not_exercised": 1, "inconclusive": 1, "judged": 28}
    ]
    assert [each["run"] for each in judged["violated_runs"]] == [*range(1, 13)]


def test_files_of_both_kinds_can_be_judged_together(zabcheck: Command) -> None:
    stored("t", GOOD, GOOD)
    Path("u").write_bytes(trace_of(DELIVERED))
    result = zabcheck("check", "t", "u", "--format", "json")
    assert result.code == 1
    assert [("runs" in each, each["trace"]) for each in result.json["traces"]] == [(True, "t"), (False, "u")]


def test_what_cannot_be_done_is_one_line(zabcheck: Command) -> None:
    stored("t", GOOD, GOOD)
    Path("u").write_bytes(trace_of(DELIVERED, order="per-process"))
    assert zabcheck("check", "--merge", "u", "t").err == (
        "zabcheck: t: expected JSON Lines, as --merge reads no others, found a Parquet file\n"
    )
    assert zabcheck("check", "u", "--run", "0").err == (
        "zabcheck: u: expected a Parquet file, as --run 0 names one of its runs\n"
    )
    assert zabcheck("check", "t", "--run", "2").err == "zabcheck: t: no run 2 in this file\n"
    Path("t").write_bytes(Path("t").read_bytes()[:-20])
    result = zabcheck("check", "t")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("zabcheck: t: expected a Parquet file, ")


def test_a_parquet_file_cannot_come_through_a_pipe(zabcheck: Command) -> None:
    data = parquet_of(table_of([GOOD])).getvalue()
    assert zabcheck("check", "-", stdin=data) == (
        2,
        "",
        "zabcheck: standard input: expected a Parquet file that can be read from its end, found a pipe\n",
    )


def long_trace(count: int = 50) -> list[Event]:
    txns = [Txn(Zxid(1, number), f"v{number}") for number in range(1, count + 1)]
    events = [event for txn in txns for event in (Broadcast(1, 0, 1, txn), Deliver(1, 0, txn), Deliver(2, 0, txn))]
    return whole(events, "global", processes=3)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every file count as a large one."""
    monkeypatch.setattr(check, "LARGE", 0)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("damage", [lambda lines: lines, lambda lines: lines[:7] + lines[8:], lambda lines: lines[:-1]])
def test_a_large_file_is_judged_as_a_small_one(
    damage: object, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(damage)
    lines = b"".join(trace.dump(damage(long_trace()))).splitlines(keepends=True)
    lines[-1] = re.sub(rb'"count":\d+', b'"count":%d' % (len(lines) - 2), lines[-1])
    Path("t").write_bytes(b"".join(lines))
    found = zabcheck("check", "t")
    monkeypatch.setattr(check, "LARGE", 1 << 40)
    assert found == zabcheck("check", "t")
    assert found.out


@pytest.mark.usefixtures("large")
def test_a_large_file_in_order_is_never_judged_line_by_line(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(check, "judge_lines", refuse)
    Path("t").write_bytes(b"".join(trace.dump(long_trace())))
    result = zabcheck("check", "t", "--format", "json")
    assert result.code == 0
    assert statuses(result.json["traces"][0]["verdicts"])["integrity"] == "holds"


@pytest.mark.usefixtures("large")
def test_what_is_wrong_in_a_large_file_is_told_by_line(zabcheck: Command) -> None:
    data = b"".join(trace.dump(long_trace())).replace(b'"process":2', b'"process":7', 1)
    Path("t").write_bytes(data)
    assert zabcheck("check", "t").err == "zabcheck: t, line 4, field `process`: expected 1 to 3, found 7\n"


@pytest.mark.slow
def test_without_the_libraries_json_lines_are_read_and_parquet_is_refused(tmp_path: Path) -> None:
    """An installation without the extra is like this."""
    (tmp_path / "t.jsonl").write_bytes(b"".join(trace.dump(long_trace())))
    (tmp_path / "t.parquet").write_bytes(parquet_of(table_of([GOOD])).getvalue())
    program = (
        "import sys; sys.modules['numpy'] = sys.modules['pyarrow'] = None; "
        "from zabcheck import cli; from zabcheck.cli import check; check.LARGE = 0; "
        "sys.argv[0] = 'zabcheck'; cli.main()"
    )
    for name, expected in (("t.jsonl", (0, "")), ("t.parquet", (2, pip_install("parquet")))):
        command = [sys.executable, "-c", program, *argv("check", name)[3:]]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == expected[0]
        assert expected[1] in done.stderr
        assert done.stderr.count("\n") == (1 if expected[1] else 0)
