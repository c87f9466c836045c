"""`zabcheck check --merge`: the logs of several processes, one a file, judged as the one trace that they are.

And where a witness stands: in which file, in which line.
"""

import os
import re
import threading
from collections.abc import Mapping, Sequence
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import pytest

from invariants import Event
from tests.cli.command import A, B, trace_of
from tests.cli.conftest import Command
from tests.invariants.builders import broadcasts, deliveries, restore, split
from tests.invariants.recorded import PROCESSES, RECORDED
from tests.invariants.traces import random_trace
from tests.tiers import sweep

GOOD = {1: [*broadcasts(1, 1, A, B), *deliveries(1, A, B)], 2: deliveries(2, A, B), 3: deliveries(3, A)}
BAD: dict[int, list[Event]] = {1: [*broadcasts(1, 1, A, B), *deliveries(1, A, B)], 2: deliveries(2, B, A)}


def write(folder: Path, logs: Mapping[int, Sequence[Event]], processes: int = 9) -> list[str]:
    """A file for each process; their names."""
    for number, events in logs.items():
        (folder / f"p{number}").write_bytes(trace_of(events, "per-process", processes))
    return [f"p{number}" for number in logs]


def judged(zabcheck: Command, *arguments: str) -> tuple[int, dict[str, Any]]:
    result = zabcheck("check", *arguments, "--format", "json")
    assert result.err == ""
    [trace] = result.json["traces"]
    return result.code, trace


def findings(trace: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The verdicts, without the number of the event with which a violation was found, and without places."""
    verdicts = [{**verdict, "found_at": None} for verdict in trace["verdicts"]]
    return [
        {**verdict, "violation": verdict["violation"] and {**verdict["violation"], "detected": None}}
        for verdict in verdicts
    ]


def line_of(folder: Path, place: Mapping[str, Any] | None) -> str | None:
    return place and (folder / place["trace"]).read_text(encoding="utf-8").splitlines()[place["line"] - 1]


def agrees(zabcheck: Command, folder: Path, events: Sequence[Event], orders: int, processes: int = 9) -> None:
    """In one file and in a file a process, in several orders, the same is said; and each place is right."""
    (folder / "one").write_bytes(trace_of(events, "per-process", processes))
    expected = judged(zabcheck, "one")
    names = write(folder, split(events), processes)
    for order in islice(permutations(names), orders):
        code, trace = judged(zabcheck, "--merge", *order)
        assert trace["files"] == list(order)
        assert (code, findings(trace)) == (expected[0], findings(expected[1]))
        for found in (trace, expected[1]):
            for verdict in found["verdicts"]:
                if verdict["violation"] is None:
                    assert verdict["found_at"] is None
                    continue
                witness = trace_of(verdict["violation"]["witness"]).decode().splitlines()[1:-1]
                lines = [line_of(folder, place) for place in verdict["found_at"]]
                assert all(line in (None, event) for line, event in zip(lines, witness, strict=True))


@pytest.mark.parametrize("seeds", sweep((range(8), range(8, 40)), normal=(range(8),)), ids=str)
def test_the_verdicts_are_those_of_the_one_file(seeds: range, zabcheck: Command, tmp_path: Path) -> None:
    for seed in seeds:
        agrees(zabcheck, tmp_path, random_trace(seed).events, 2)


@pytest.mark.parametrize("name", list(RECORDED)[::120])
def test_the_verdicts_of_what_was_recorded_are_those_of_the_one_file(
    name: str, zabcheck: Command, tmp_path: Path
) -> None:
    agrees(zabcheck, tmp_path, RECORDED[name](), 6, PROCESSES[name])


@pytest.mark.parametrize(("logs", "code"), [(GOOD, 0), (BAD, 1)])
def test_all_files_are_named(logs: dict[int, list[Event]], code: int, zabcheck: Command, tmp_path: Path) -> None:
    names = write(tmp_path, logs)
    result = zabcheck("check", "--merge", *names)
    assert (result.code, result.err) == (code, "")
    assert result.out.startswith("\n+ ".join(names) + "\n")
    assert judged(zabcheck, "--merge", *names)[1]["trace"] == " + ".join(names)


def test_without_merge_each_file_is_a_trace(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("check", *write(tmp_path, GOOD), "--format", "json")
    assert [each["files"] for each in result.json["traces"]] == [["p1"], ["p2"], ["p3"]]
    assert result.code == 1


HINT = "judge them together: zabcheck check --merge FILE..."


def test_without_merge_a_file_of_one_process_that_delivers_what_nobody_broadcast_says_so(
    zabcheck: Command, tmp_path: Path
) -> None:
    write(tmp_path, GOOD)
    assert HINT in " ".join(zabcheck("check", "p2").out.split())
    assert HINT not in " ".join(zabcheck("check", "p1").out.split()), "it broadcast itself"
    assert HINT not in " ".join(zabcheck("check", "--merge", "p2", "p3").out.split()), "they are together already"
    (tmp_path / "both").write_bytes(trace_of([*GOOD[2], *GOOD[3]], "per-process"))
    assert HINT not in " ".join(zabcheck("check", "both").out.split()), "several processes are in it"
    (tmp_path / "alone").write_bytes(trace_of(deliveries(1, A), "per-process", 1))
    assert HINT not in " ".join(zabcheck("check", "alone").out.split()), "there are no others"


def test_explain_names_file_and_line_of_the_witness(zabcheck: Command, tmp_path: Path) -> None:
    names = write(tmp_path, BAD)
    told = zabcheck("explain", "--merge", *names, "--format", "json").json
    _, trace = judged(zabcheck, "--merge", *names)
    [verdict] = [each for each in trace["verdicts"] if each["property"] == told["violation"]["property"]]
    expected = [f"{place['trace']}, line {place['line']}" for place in verdict["found_at"]]
    assert [each["text"] for each in told["noticed"]] == expected
    out = zabcheck("explain", "--merge", *names).out
    for number, place in enumerate(expected, 1):
        assert re.search(rf"^W{number} +{place} *$", out, re.M)


def test_a_file_that_is_not_finished_makes_it_inconclusive(zabcheck: Command, tmp_path: Path) -> None:
    names = write(tmp_path, GOOD)
    data = (tmp_path / "p2").read_bytes()
    (tmp_path / "p2").write_bytes(b"".join(data.splitlines(keepends=True)[:-1]))
    result = zabcheck("check", "--merge", *names)
    assert result.code == 3
    assert "one of the files does not end with a complete `end`: what could yet change is left open" in result.out


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["p1", "p1"], "p1: named more than once, expected at most once"),
        (["-", "-"], "-: named more than once, expected at most once"),
        (["p1", "nowhere"], "nowhere: No such file or directory"),
        (["p1", "global"], "global, line 1, field `order`: expected `per-process` in a file that is merged with "),
        (["p1", "small"], "small, line 1, field `processes`: expected `9` as in p1, line 1, found `3`"),
        (["p1", "again"], "again, line 2, field `process`: expected all events of process 1 in one file, found some "),
        (["p2", "back"], "back, line 3, field `incarnation`: expected 1 or more at process 1, found 0: a process's "),
    ],
)
def test_what_cannot_be_merged(names: list[str], expected: str, zabcheck: Command, tmp_path: Path) -> None:
    write(tmp_path, BAD)
    (tmp_path / "global").write_bytes(trace_of(deliveries(3, A), "global", 9))
    (tmp_path / "small").write_bytes(trace_of(deliveries(3, A), "per-process", 3))
    (tmp_path / "again").write_bytes(trace_of(deliveries(1, A), "per-process", 9))
    back = [*deliveries(1, A, incarnation=1), *deliveries(1, A)]
    (tmp_path / "back").write_bytes(trace_of(back, "per-process", 9))
    for format_ in ("text", "json"):
        result = zabcheck("check", "--merge", *names, "--format", format_)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert result.err.startswith(f"zabcheck: {expected}")


# Where a witness stands.


def places(trace: Mapping[str, Any], name: str) -> Any:
    [found] = [verdict["found_at"] for verdict in trace["verdicts"] if verdict["property"] == name]
    return found


def test_the_line_of_each_event_of_a_witness_is_told(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(trace_of([*BAD[1], *BAD[2], *BAD[2]]))
    out = zabcheck("check", "t", "--property", "total order").out
    assert "◀W1  line 6  p2 delivers b⟨1,2⟩\n◀W2  line 7  p2 delivers a⟨1,1⟩\n◀W3  line 4  p1 " in out
    _, trace = judged(zabcheck, "t")
    assert places(trace, "total order") == [{"trace": "t", "line": line} for line in (6, 7, 4, 5)]
    assert places(trace, "integrity") is None


def test_the_file_is_told_where_there_are_several(zabcheck: Command, tmp_path: Path) -> None:
    names = write(tmp_path, BAD)
    out = zabcheck("check", "--merge", *names, "--property", "total order").out
    assert "◀W1  p2, line 2  p2 delivers b⟨1,2⟩\n" in out
    assert "◀W3  p1, line 4  p1 delivers a⟨1,1⟩\n" in out
    _, trace = judged(zabcheck, "--merge", *names)
    assert [place["trace"] for place in places(trace, "total order")] == ["p2", "p2", "p1", "p1"]


def test_a_delivery_that_a_snapshot_brought_stands_nowhere(zabcheck: Command, tmp_path: Path) -> None:
    events = [*broadcasts(2, 1, A, B), *deliveries(3, B), *deliveries(2, A, B), restore(1, A, B)]
    (tmp_path / "t").write_bytes(trace_of(events))
    result = zabcheck("check", "t", "--property", "total order")
    assert "◀W1  in a snapshot  p1 delivers a⟨1,1⟩\n" in result.out
    assert "◀W3  line 4         p3 delivers b⟨1,2⟩\n" in result.out
    assert places(judged(zabcheck, "t")[1], "total order") == [None, None, {"trace": "t", "line": 4}]


def test_standard_input_has_no_lines_to_tell(zabcheck: Command, tmp_path: Path) -> None:
    names = write(tmp_path, BAD)
    alone = zabcheck("check", "-", stdin=(tmp_path / "p2").read_bytes())
    assert "◀W1  p2 delivers a⟨1,1⟩\n" in alone.out
    both = ("check", "--merge", names[0], "-", "--property", "total order", "--format", "json")
    [trace] = zabcheck(*both, stdin=(tmp_path / "p2").read_bytes()).json["traces"]
    assert [place and place["trace"] for place in places(trace, "total order")] == [None, None, "p1", "p1"]


def test_a_pipe_can_be_read_once_only(zabcheck: Command, tmp_path: Path) -> None:
    write(tmp_path, BAD)
    os.mkfifo(tmp_path / "pipe")
    data = (tmp_path / "p2").read_bytes()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(data))
    writer.start()
    code, trace = judged(zabcheck, "pipe")
    writer.join()
    assert code == 1
    assert places(trace, "integrity") == [None]
