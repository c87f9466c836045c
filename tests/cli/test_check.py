"""`zabcheck check`: judges traces, whoever wrote them."""

from pathlib import Path

import pytest

from invariants import Deliver, Txn, trace
from tests.cli.command import DELIVERED, SENT, process, statuses, trace_of, violation_in
from tests.cli.conftest import Command, Found

GOOD = trace_of([*SENT, *DELIVERED])
BAD = trace_of(DELIVERED)
INCOMPLETE = b"".join(GOOD.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(("data", "code"), [(GOOD, 0), (BAD, 1), (INCOMPLETE, 3), (trace_of([]), 3)])
def test_the_exit_code_is_the_verdict(data: bytes, code: int, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(data)
    result = zabcheck("check", "t.jsonl")
    assert (result.code, result.err) == (code, "")
    assert result.out.startswith("t.jsonl\n")


def test_a_violation_is_explained(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(BAD)
    out = zabcheck("check", "t.jsonl").out
    for part in (
        "integrity is violated",
        "p1 delivered a⟨1,1⟩, which nobody broadcast",
        "(DSN 2011, III-A)",
        "Witness",
    ):
        assert part in out


def test_the_violation_that_explains_the_others_comes_first(zabcheck: Command, tmp_path: Path) -> None:
    wrong = Txn(DELIVERED[0].txn.zxid, "wrong")  # type: ignore[attr-defined]  # it is a Deliver
    (tmp_path / "t.jsonl").write_bytes(trace_of([*SENT, *DELIVERED[2:], Deliver(2, 0, wrong), DELIVERED[1]]))
    lines = zabcheck("check", "t.jsonl").out.splitlines()
    assert lines[1] == "7 properties are violated; read zxid uniqueness first, the table has the others"
    assert [line for line in lines if line.endswith(" is violated")] == ["zxid uniqueness is violated"]
    assert lines[-1].startswith("FAIL: zxid uniqueness, agreement, ")
    told = zabcheck("explain", "t.jsonl", "--write", "t.html").out
    assert told.startswith("zxid uniqueness is violated\n")
    others = told.partition("also broken")[2].partition("\nrun ")[0].splitlines()
    assert len([line for line in others if ": p" in line]) == 6
    assert others[0].lstrip().startswith("agreement: p")
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert page.partition("<dt>also broken</dt><dd>agreement: p")[2].partition("</dd>")[0].count("<br/>") == 5


def test_a_trace_that_is_not_finished_is_inconclusive(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(INCOMPLETE)
    [judged] = zabcheck("check", "t.jsonl", "--format", "json").json["traces"]
    assert set(statuses(judged["verdicts"]).values()) == {"inconclusive"}


def test_the_worst_of_several_traces_counts(zabcheck: Command, tmp_path: Path) -> None:
    for name, data in (("good", GOOD), ("bad", BAD), ("incomplete", INCOMPLETE)):
        (tmp_path / name).write_bytes(data)
    assert zabcheck("check", "good", "good").code == 0
    assert zabcheck("check", "good", "incomplete").code == 3
    result = zabcheck("check", "incomplete", "bad", "good", "--format", "json")
    assert result.code == 1
    assert [each["trace"] for each in result.json["traces"]] == ["incomplete", "bad", "good"]


def test_a_trace_can_come_from_standard_input(zabcheck: Command, tmp_path: Path) -> None:
    assert process("check", "-", stdin=GOOD, cwd=tmp_path).code == 0
    result = zabcheck("check", "-", "--format", "json", stdin=BAD)
    assert (result.code, result.json["traces"][0]["trace"]) == (1, "-")
    result = zabcheck("check", "-", stdin=b"{")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert result.err.startswith("zabcheck: standard input, line 1: ")


@pytest.mark.slow
def test_the_trace_that_a_search_saved_breaks_the_same_property(zabcheck: Command, found: Found) -> None:
    said = found.result.json["counterexample"]["violation"]
    result = zabcheck("check", found.file(".trace.jsonl"), "--format", "json")
    assert result.code == 1
    assert violation_in(result.json["traces"][0]["verdicts"], said["property"]) == said


def test_one_property_can_be_judged_alone(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(BAD)
    result = zabcheck("check", "t.jsonl", "--property", "total-order", "--format", "json")
    assert result.code == 0
    assert statuses(result.json["traces"][0]["verdicts"]) == {"total order": "holds"}


def test_merged_logs_have_no_order_between_processes(zabcheck: Command, tmp_path: Path) -> None:
    """Deliveries of one process may come before the broadcasts of another, unless the file says that it has a clock."""
    (tmp_path / "merged").write_bytes(trace_of([*DELIVERED[:2], *SENT, *DELIVERED[2:]], order="per-process"))
    (tmp_path / "clocked").write_bytes(trace_of([*DELIVERED[:2], *SENT, *DELIVERED[2:]]))
    assert zabcheck("check", "merged").code == 0
    result = zabcheck("check", "clocked", "--format", "json")
    assert result.code == 1
    broken = [name for name, status in statuses(result.json["traces"][0]["verdicts"]).items() if status == "violated"]
    assert broken == ["clock"]


def test_an_interrupt_ends_it_in_one_line(zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "t.jsonl").write_bytes(GOOD)
    monkeypatch.setattr(trace, "load", interrupted)
    assert zabcheck("check", "t.jsonl") == (3, "", "INCONCLUSIVE: interrupted, before there was anything to tell\n")
