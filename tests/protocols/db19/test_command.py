"""`zabcheck db19`: the digest, the files, what it tells of properties, bad input, Ctrl-C."""

import signal
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from invariants import Header, Judge, select, trace
from invariants.quorums import Quorums
from tests.cli.conftest import Command
from tests.protocols.db19.configurations import dump_of, run, setting
from tests.protocols.db19.reference import reference
from tests.tiers import sweep
from zabcheck.protocols.db19 import DB19
from zabcheck.protocols.db19.cluster import Cluster, Setting

QUIET = ("--seed", "1", "--nodes", "3", "--rounds", "1", "--proposals", "0")
BROKEN = ("--seed", "19", "--nodes", "2", "--rounds", "15", "--proposals", "2")

GOLDEN = dict(line.split(": ") for line in Path(__file__).with_name("digests.txt").read_text().splitlines())
"""Command lines with their digests, each computed twice: by the command, and by `tests.protocols.db19.reference`."""
LONGEST = max(GOLDEN, key=lambda line: int(line.split()[line.split().index("--rounds") + 1]))


@pytest.mark.parametrize("line", sweep(GOLDEN, normal=[line for line in GOLDEN if line != LONGEST]))
def test_the_digest_is_printed_without_a_newline(line: str, zabcheck: Command) -> None:
    result = zabcheck("db19", *line.split())
    assert result.out == GOLDEN[line] + "\n"
    assert result.code in (0, 1)


@pytest.mark.parametrize("line", GOLDEN)
def test_the_reference_comes_to_the_same_digests(line: str) -> None:
    words = dict(zip(line.split()[::2], line.split()[1::2], strict=True))
    ids = [int(each) for each in words.get("--partition", "").split(",") if each]
    numbers = [int(words[option]) for option in ("--seed", "--nodes", "--rounds", "--proposals")]
    dump = reference(*numbers, list(zip(ids[::2], ids[1::2], strict=True)))
    assert sha256(dump).hexdigest() == GOLDEN[line]


def test_the_dump_is_what_the_digest_is_of(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("db19", *BROKEN, "--dump", "d")
    dump = (tmp_path / "d").read_bytes()
    assert dump == dump_of(Setting(19, 2, 15, 2))
    assert result.out == sha256(dump).hexdigest() + "\n"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_what_is_broken_is_told_on_standard_error_a_line_each(zabcheck: Command) -> None:
    result = zabcheck("db19", *BROKEN)
    *told, last = result.err.splitlines()
    assert result.code == 1
    assert last.startswith("FAIL: chosen, local primary order, total order, po causal order and 1 more are violated; ")
    assert [line.partition(" is violated: ")[0].removeprefix("zabcheck: ") for line in told] == [
        "total order",
        "local primary order",
        "po causal order",
        "prefix",
        "chosen",
    ]
    assert told[0].endswith(
        "p2 (incarnation 1) delivered zab-0⟨1,1⟩ before zab-1⟨1,2⟩, but p1 (incarnation 1) delivered zab-1⟨1,2⟩ and "
        "never zab-0⟨1,1⟩"
    )


def test_a_run_that_breaks_nothing_gives_0_and_one_with_nothing_to_judge_3(zabcheck: Command) -> None:
    result = zabcheck("db19", *QUIET)
    assert (result.code, len(result.out)) == (3, len(f"{0:064}\n"))
    assert result.err.startswith("INCONCLUSIVE: nothing in it exercised integrity, ")
    result = zabcheck("db19", "--seed", "1", "--nodes", "1", "--rounds", "100", "--proposals", "3")
    assert result.code == 0
    assert result.err.startswith("PASS: nothing is violated")
    assert len(result.err.splitlines()) == 1


def test_only_the_properties_that_are_asked_for_are_judged(zabcheck: Command) -> None:
    assert zabcheck("db19", *BROKEN, "--property", "integrity").code == 0
    assert zabcheck("db19", *BROKEN, "--property", "prefix").err.startswith("zabcheck: prefix is violated: ")


@pytest.mark.parametrize("messages", [[], ["--messages"]])
def test_the_trace_is_judged_alike_by_check(messages: list[str], zabcheck: Command, tmp_path: Path) -> None:
    code = zabcheck("db19", *BROKEN, "--trace", "t.jsonl", *messages).code
    _, events = run(Setting(19, 2, 15, 2), network=bool(messages))
    header, *written, _ = trace.loads((tmp_path / "t.jsonl").read_bytes())
    assert (header, written) == (Header(1, 2, "db19"), events)
    checked = zabcheck("check", "t.jsonl", "--format", "json")
    violated = [each["property"] for each in checked.json["traces"][0]["verdicts"] if each["status"] == "violated"]
    assert (checked.code, code) == (1, 1)
    assert violated == ["total order", "local primary order", "po causal order", "prefix", "chosen"]


@pytest.mark.slow
def test_the_trace_of_any_run_is_one_that_check_can_read() -> None:
    for case in range(30):
        which = setting(case)
        _, events = run(which, network=True)
        judge = Judge(select(None), quorums=Quorums(which.nodes))
        for event in trace.loads(b"".join(trace.dump([Header(1, which.nodes, "db19"), *events])), f"case {case}")[1:]:
            judge.observe(event)
        assert len(judge.finish()) > 0


def test_the_result_as_json(zabcheck: Command) -> None:
    result = zabcheck("db19", *BROKEN, "--partition", "1,1", "--dump", "d", "--format", "json")
    document = result.json
    assert (result.code, result.err) == (1, "")
    assert document["sha256"] == zabcheck("db19", *BROKEN).out.removesuffix("\n")
    assert [document[each] for each in ("seed", "nodes", "rounds", "proposals")] == [19, 2, 15, 2]
    assert (document["partition"], document["dump"], document["trace"]) == ([[1, 1]], "d", None)
    assert [each["property"] for each in document["verdicts"]] == [kind.name for kind in select(DB19.properties)]


def test_the_last_of_two_equal_options_counts_and_leading_zeros_do_not(zabcheck: Command) -> None:
    expected = zabcheck("db19", *BROKEN).out
    assert zabcheck("db19", "--seed", "5", *BROKEN).out == expected
    assert zabcheck("db19", *BROKEN, "--nodes", "0" * 5000 + "2").out == expected


# Bad input.


@pytest.mark.parametrize("option", ["--seed", "--nodes", "--rounds", "--proposals"])
@pytest.mark.parametrize("value", ["", "x", "-1", "+1", "1.0", "1e3", " 1", "1_0", "٣", "0x1", str(2**64), "9" * 5000])
def test_a_number_is_made_of_digits_and_not_too_large(option: str, value: str, zabcheck: Command) -> None:
    result = zabcheck("db19", *QUIET, f"{option}={value}")
    assert (result.code, result.out) == (2, "")
    [line] = result.err.splitlines()
    assert line.startswith(f"zabcheck: {option} {value[:100]}")
    if len(value) < 100:
        assert ": expected a number from " in line


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--nodes 0", "--nodes 0: expected a number from 1 to 4294967295"),
        ("--nodes 4294967296", "--nodes 4294967296: expected a number from 1 to 4294967295"),
        ("--rounds 0", "--rounds 0: expected a number from 1 to 18446744073709551615"),
        ("--proposals 4294967296", "--proposals 4294967296: expected a number from 0 to 4294967295"),
        ("--partition=", "--partition : expected a number from 0 to 2"),
        ("--partition 0", "--partition 0: expected pairs of ids, from and to, found 1 ids"),
        ("--partition 0,1,2", "--partition 0,1,2: expected pairs of ids, from and to, found 3 ids"),
        ("--partition 0,3", "--partition 3: expected a number from 0 to 2"),
        ("--partition 0,1,", "--partition : expected a number from 0 to 2"),
        ("--partition 0;1", "--partition 0;1: expected a number from 0 to 2"),
        ("--dump nowhere/d", "--dump nowhere/d: expected a file in a folder that is there"),
        ("--dump .", "--dump .: expected the name of a file"),
        ("--trace -", "--trace -: expected the name of a file"),
        ("--dump d --trace ./d", "--trace d: expected another file than the dump"),
        ("--messages", "--messages: expected --trace FILE, too"),
        ("--property x", "no property `x`; expected one of: integrity, "),
        ("--format xml", "Invalid value for '--format'"),
        ("--round 3", "No such option: --round"),
        ("more", "Got unexpected extra argument"),
    ],
)
def test_what_is_wrong_with_an_option_is_told_in_a_line(options: str, expected: str, zabcheck: Command) -> None:
    result = zabcheck("db19", *QUIET, *options.split(" "))
    assert (result.code, result.out) == (2, "")
    [line] = result.err.splitlines()
    assert line.startswith(f"zabcheck: {expected}")


@pytest.mark.parametrize("missing", ["--seed", "--nodes", "--rounds", "--proposals"])
def test_no_number_may_be_missing(missing: str, zabcheck: Command) -> None:
    given = dict(zip(QUIET[::2], QUIET[1::2], strict=True))
    result = zabcheck(
        "db19", *(word for option, value in given.items() if option != missing for word in (option, value))
    )
    assert result == (2, "", f"zabcheck: Missing option '{missing}'.\n")


# Ctrl-C, and the bar.


def test_ctrl_c_ends_it_in_one_line_and_leaves_nothing_half_written(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = Cluster.tick

    def interrupted(cluster: Cluster, t: int) -> None:
        tick(cluster, t)
        if t > 400:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Cluster, "tick", interrupted)
    (tmp_path / "d").write_bytes(b"old")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = zabcheck("db19", *QUIET, "--rounds", "1000000000", "--proposals", "9", "--dump", "d", "--trace", "t")
    finally:
        signal.signal(signal.SIGINT, before)
    assert result == (3, "", "INCONCLUSIVE: interrupted, before there was anything to tell\n")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("d", b"old")]


def test_a_bar_is_shown_on_a_terminal_only(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("db19", "--seed", "1", "--nodes", "1", "--rounds", "100000", "--proposals", "1")
    quiet = zabcheck(*line)
    assert (quiet.code, len(quiet.err.splitlines())) == (0, 1)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = zabcheck(*line)
    assert (shown.code, shown.out) == (0, quiet.out)
    assert "of 100,000 ticks" in shown.err
