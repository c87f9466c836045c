"""Every command ends with one line that is the verdict: a word that fits the exit code, why, and what to do next."""

from errno import ENOSPC
from os import strerror
from pathlib import Path
from shutil import copytree

import pytest
from rich.console import Console

from docs.generators.zookeeper_logs import servers
from invariants import trace as traces
from tests.cli.command import (
    BROKEN_SCHEDULE,
    CALM_SCHEDULE,
    DELIVERED,
    MUTANT_RUN,
    ROOT,
    SENT,
    raising_mutant,
    trace_of,
)
from tests.cli.conftest import Command
from tests.invariants.columns import parquet_of, table_of
from tests.tiers import sweep
from tests.zookeeper.scaling.plans import PLANS
from zabcheck.cli.commands import EXAMPLES
from zabcheck.cli.verdict import WORDS, conclude, named
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.proof import certificate
from zabcheck.proof.obligations import Theory, obligations
from zabcheck.proof.subject import Subject
from zabcheck.search.run import schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Lead, Request, Settle
from zabcheck.zookeeper.scaling.plan import encode

LOST_WRITE = str(ROOT / "tests/zookeeper/lost-write-3.8.0")
EVALUATE = ("evaluate", "--servers", "3", "--disk", "none", "--operations", "9", "--outstanding", "5", "--history", "9")
GATE = '[tool.zabcheck]\nprotocols = ["zab"]\nruns = {}\nsteps = 200\nkills = ["{}"]\n'
TWO = ("explore", "--processes", "2", "--epochs", "1")

ALONE = "tests.protocols.own.alone:Alone"

CASES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "run, nothing found": (("run", "--runs", "120", "--seed", "1"), 0, "broke none of"),
    "run, one property": (
        ("run", "--runs", "2", "--seed", "1", "--property", "integrity"),
        0,
        "zab did not break integrity in 2 runs",
    ),
    "run, followers that deliver nothing": (
        ("run", "--protocol", ALONE, "--runs", "30", "--seed", "1"),
        3,
        "no follower delivered what its leader broadcast, in any of 7 runs that ended undisturbed; next: zabcheck run "
        f"--protocol {ALONE} --runs 30 --seed 1 --property liveness",
    ),
    "run, judged by the properties asked for alone": (
        ("run", "--protocol", ALONE, "--runs", "5", "--seed", "1", "--property", "integrity"),
        0,
        "did not break integrity",
    ),
    "run, a bug": ((*MUTANT_RUN, "--out", "r"), 1, "chosen is violated by zab with mutant commit-on-own-ack"),
    "run, nothing to judge": (
        ("run", "--runs", "3", "--seed", "1", "--property", "durability"),
        3,
        "no run of 3 runs exercised durability; next: judge a trace with `client_ack` and `final_read`",
    ),
    "replay": (("replay", "calm"), 0, "nothing is violated"),
    "replay, a violation": (("replay", "broken"), 1, "total order"),
    "play, no line read": (("play", "calm"), 3, "nothing in it exercised integrity"),
    "explain": (("explain", "calm"), 0, "nothing is violated"),
    "explain, a violation": (("explain", "broken", "--property", "total order"), 1, "total order is violated"),
    "check": (("check", "good.jsonl"), 0, "nothing is violated"),
    "check, a violation": (("check", "bad.jsonl"), 1, "integrity"),
    "check, no end": (("check", "cut.jsonl"), 3, "no complete `end`"),
    "check, nothing in it": (
        ("check", "empty.jsonl", "--property", "integrity"),
        3,
        "nothing in it exercised integrity",
    ),
    "check, one process only": (
        ("check", "alone.jsonl"),
        3,
        "nothing in it exercised total order, agreement; next: ",
    ),
    "check, what one process exercises": (
        ("check", "alone.jsonl", "--property", "integrity"),
        0,
        "nothing is violated, integrity holds",
    ),
    "check, a group": (
        ("check", "good.jsonl", "--property", "core"),
        3,
        "nothing in it exercised global primary order, primary integrity; next: ",
    ),
    "check, runs of one process only": (
        ("check", "alone.parquet"),
        3,
        "nothing in 2 runs exercised total order, agreement; next: ",
    ),
    "explain, not exercised": (
        ("explain", "good.jsonl", "--property", "integrity", "--property", "primary integrity"),
        3,
        "nothing in it exercised primary integrity",
    ),
    "check, several": (("check", "good.jsonl", "bad.jsonl"), 1, "1 of 2 traces, the first of them bad.jsonl: "),
    "check, one process of several": (("check", "one.jsonl"), 1, "; next: zabcheck check one.jsonl FILE... --merge"),
    "check, many runs": (("check", "runs.parquet"), 1, "1 of 2 runs violate"),
    "scenario": (("scenario", "dsn-figure-3"), 0, "dsn-figure-3 has the expected outcome"),
    "explore, a proof": ((*TWO, "--txns", "1", "--property", "integrity"), 0, "proved"),
    "explore, a bug": ((*TWO, "--mutant", "commit-on-own-ack"), 1, "is violated"),
    "explore, nothing to judge": (
        (*TWO, "--txns", "0", "--property", "integrity"),
        3,
        "nothing is proved: no state of zab within the bounds exercised integrity; next: zabcheck explore ",
    ),
    "prove": (
        ("prove", "--step", "f.3.2", "--conjunct", "not-choosable"),
        0,
        "Zab: 1 of 262 obligations proved, a part and no proof",
    ),
    "prove, a bug": (
        ("prove", "--mutant", "accept-equal-epoch", "--conjunct", "one-promise", "--step", "f.1.2"),
        1,
        "1 obligation of 1 refused",
    ),
    "verify": (
        ("verify", "proof"),
        3,
        "Zab: 1 of 262 obligations proved, 0 of them without a solver and 1 by both solvers: a part, no proof",
    ),
    "mutants": (("mutants", "--mutant", "commit-on-own-ack", "--seeds", "1"), 0, "1 known bug is found"),
    "mutants, one not found": (
        ("mutants", "--mutant", "counter-wraps", "--seeds", "1", "--runs", "1", "--steps", "1"),
        1,
        "counter-wraps not found",
    ),
    "gate": (("gate", "--config", "gate.toml"), 0, "gate passed: "),
    "gate, a bug not found": (("gate", "--config", "short.toml"), 1, "gate failed: "),
    "evaluate": (EVALUATE, 0, "measured, and "),
    "zookeeper judge": (("zookeeper", "judge", LOST_WRITE), 1, "durability in 1"),
    "zookeeper conform": (
        ("zookeeper", "conform", LOST_WRITE),
        0,
        "1 recording: a run of the model, which breaks agreement, and 3 other properties; next: zabcheck",
    ),
    "clients check": (("clients", "check", "asked.jsonl"), 3, "the history exercises no promise"),
    "clients proxy": (
        ("clients", "proxy", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--seconds", "0.1"),
        3,
        "the history exercises no promise",
    ),
    "zookeeper serverlog": (
        ("zookeeper", "serverlog", str(ROOT / "tests/zookeeper/serverlogs/logs/4394-3.8.0")),
        1,
        "server 1: fatal error; next: zabcheck zookeeper catalogue --bug ZOOKEEPER-4394 --list",
    ),
    "zookeeper scale": (("zookeeper", "scale", "plan.json"), 1, "step 3: {2,3} acknowledge a write, {1,4,5} elect"),
    "zookeeper logs": (("zookeeper", "logs", "servers"), 1, "something is wrong on the disk of"),
    "zookeeper logs, nothing wrong": (
        ("zookeeper", "logs", "servers/ensemble/s1"),
        0,
        "nothing is wrong on the disks of",
    ),
}
"""The arguments of a command, the exit code, and what the verdict says."""

ELSEWHERE = {
    "db19",
    "clients record",
    "zookeeper",
    "zookeeper catalogue",
    "zookeeper gate",
    "campaign",
    "campaign report",
}
"""Tested below, or where a service or Spark is at hand: `tests/cli/zookeeper`, `tests/campaign`, `test_clients.py`."""
NONE_TO_GIVE = {"list", "schema", "zookeeper points"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read, of which each test gets a copy."""
    tmp_path = tmp_path_factory.mktemp("made")
    good = trace_of([*SENT, *DELIVERED])
    (tmp_path / "calm").write_bytes(CALM_SCHEDULE)
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    (tmp_path / "good.jsonl").write_bytes(good)
    (tmp_path / "bad.jsonl").write_bytes(trace_of(DELIVERED))
    (tmp_path / "cut.jsonl").write_bytes(good.rpartition(b'{"event":"end"')[0])
    (tmp_path / "empty.jsonl").write_bytes(trace_of([]))
    (tmp_path / "one.jsonl").write_bytes(trace_of([each for each in DELIVERED if each.process == 2]))
    alone = trace_of([*SENT, *[each for each in DELIVERED if each.process == 2]])
    (tmp_path / "alone.jsonl").write_bytes(alone)
    (tmp_path / "alone.parquet").write_bytes(parquet_of(table_of([list(traces.loads(alone))] * 2)).getvalue())
    runs = table_of([list(traces.loads(good)), list(traces.loads(trace_of(DELIVERED)))])
    (tmp_path / "runs.parquet").write_bytes(parquet_of(runs).getvalue())
    held = certificate.Entry(next(each for each in obligations(Theory()) if each.kind == "start"), ["the start"])
    certificate.write(tmp_path / "proof", certificate.contents([held], Subject()))
    (tmp_path / "asked.jsonl").write_text('{"record":"header","version":1}\n{"record":"end","count":0}\n')
    (tmp_path / "plan.json").write_bytes(encode(PLANS["three to five at once"][0]))
    (tmp_path / "gate.toml").write_text(GATE.format(200, "commit-on-own-ack"))
    (tmp_path / "short.toml").write_text(GATE.format(1, "counter-wraps").replace("200", "1"))
    servers(tmp_path / "servers")
    return tmp_path


@pytest.fixture(autouse=True)
def files(made: Path, tmp_path: Path) -> None:
    copytree(made, tmp_path, dirs_exist_ok=True)


SEARCHES = ("run, nothing found", "mutants", "gate")


@pytest.mark.parametrize("case", sweep(CASES, normal=[each for each in CASES if each not in SEARCHES]))
def test_the_last_line_is_the_verdict_and_fits_the_exit_code(case: str, zabcheck: Command, tmp_path: Path) -> None:
    arguments, code, said = CASES[case]
    result = zabcheck(*arguments)
    last = result.out.splitlines()[-1]
    assert result.code == code, result
    assert last.startswith(f"{WORDS[code][0]}: ")
    assert said in last
    assert (
        sum(line.startswith(tuple(f"{word}: " for word, _ in WORDS.values())) for line in result.out.splitlines()) == 1
    )


RAISING = "tests.protocols.own.raising:Raising"
STUCK = "tests.protocols.own.raising:Stuck"
EARLY, LATE = "tests.protocols.own.raising:RaisingAtOnce", "tests.protocols.own.raising:RaisingAfterAll"
RAISES = {"stuck": "TimeoutError: the step has not returned", EARLY: "RuntimeError", LATE: "AssertionError"}
RAISED: dict[str, tuple[str, ...]] = {
    "run": ("run", "--protocol", RAISING, "--seed", "1"),
    "run, JSON": ("run", "--protocol", RAISING, "--seed", "1", "--format", "json"),
    "run, no place for it": ("run", "--protocol", RAISING, "--seed", "1", "--out", "full/r"),
    "replay": ("replay", "raising", "--protocol", RAISING),
    "replay, a step without end": ("replay", "stuck", "--protocol", STUCK),
    "explain": ("explain", "raising", "--protocol", RAISING, "--write", "it.txt"),
    "explore": ("explore", "--protocol", LATE),
    "explore, at the start": ("explore", "--protocol", EARLY, "--processes", "2"),
    "mutants": ("mutants", "--mutant", "commit-on-own-ack", "--seeds", "1"),
}


@pytest.mark.parametrize("case", RAISED)
def test_a_step_that_raises_ends_in_a_verdict_under_its_report(
    case: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    choices: tuple[AnyChoice, ...] = (Lead(1, (1, 2)), Settle(6), *[Request(1)] * 3, Settle(6))
    (tmp_path / "raising").write_bytes(schedules.dump(schedule_of(RAISING, None, 2, choices)))
    alone = (Lead(1, ()), Request(1), Request(1))
    (tmp_path / "stuck").write_bytes(schedules.dump(schedule_of(STUCK, None, 1, alone)))
    if case == "mutants":
        monkeypatch.setitem(CATALOGUE, "commit-on-own-ack", raising_mutant())
    if "full/r" in RAISED[case]:
        monkeypatch.setattr("zabcheck.cli.run.save", full)
    result = zabcheck(*RAISED[case])
    *report, last = result.err.splitlines()
    assert (result.code, result.out) == (2, "")
    if case.startswith("explore"):
        assert " has no `highest_epoch`" in report.pop(0)
    assert report[0] == "the protocol's own code raised an exception; no property was judged"
    what = next((said for name, said in RAISES.items() if name in RAISED[case]), "KeyError: 3")
    assert last.startswith(f"ERROR: the protocol's own code raised {what}")
    assert " handled " in last
    if "full/r" in RAISED[case]:
        assert report[-1] == "zabcheck: --out full/r: No space left on device"
        assert last.endswith("; no property was judged")
    else:
        saved = RAISED[case][1] if RAISED[case][0] in ("replay", "explain") else "reports/"
        assert f"; next: mend it, then zabcheck replay {saved}" in last
    assert sum(line.startswith("ERROR: ") for line in report) == 0


def full(*_: object) -> None:
    raise OSError(ENOSPC, strerror(ENOSPC))


def test_no_command_is_left_out() -> None:
    given = [" ".join(arguments) + " " for arguments, _, _ in CASES.values()]
    tried = {name for name in EXAMPLES if any(each.startswith(f"{name} ") for each in given)}
    assert tried | ELSEWHERE | NONE_TO_GIVE == set(EXAMPLES)


def test_a_walk_ends_with_the_verdict_too(zabcheck: Command) -> None:
    result = zabcheck("explain", "broken", "--property", "total order", "--step", stdin=b"q\n")
    assert result.out.splitlines()[-1].startswith("FAIL: total order is violated")


def test_db19_has_the_verdict_on_standard_error(zabcheck: Command) -> None:
    """Standard output is the digest and nothing else, as the lab has it."""
    for seed, nodes, word in (("19", "2", "FAIL"), ("1", "1", "PASS")):
        result = zabcheck("db19", "--seed", seed, "--nodes", nodes, "--rounds", "15", "--proposals", "2")
        assert WORDS[result.code][0] == word
        assert result.err.splitlines()[-1].startswith(f"{word}: ")
        assert len(result.out.splitlines()) == 1


def test_the_verdict_is_one_line_however_narrow_the_terminal_is(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert zabcheck("check", "bad.jsonl").out.splitlines()[-1].startswith("FAIL: ")


def test_the_word_has_a_colour_of_its_own_and_the_rest_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(force_terminal=True, color_system="standard", width=80)
    for code, colour in ((0, "32"), (1, "31"), (2, "31"), (3, "33")):
        assert conclude(console, code, "a\x1b[2J", "b") == code
        assert capsys.readouterr().out == f"\n\x1b[1;{colour}m{WORDS[code][0]}\x1b[0m: a\\x1b[2J; next: b\n"


def test_the_first_few_of_many_names_are_told() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named([*"abcdefg"]) == "a, b, c, d and 3 more"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            AssertionError("\x1b[31m"),
            r"zabcheck itself has an error, nothing was judged: AssertionError: \x1b[31m; next: ",
        ),
        (
            RecursionError("too deep"),
            "zabcheck itself has an error, nothing was judged: RecursionError: too deep; next: ",
        ),
        (MemoryError(), "out of memory; nothing was judged; next: "),
    ],
)
def test_an_error_that_nobody_foresaw_is_no_violation(
    error: Exception, said: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("zabcheck.cli.check.judge_files", broken)
    result = zabcheck("check", "good")
    assert (result.code, result.out) == (2, "")
    first, *_, last = result.err.splitlines()
    assert first == "Traceback (most recent call last):"
    assert last.startswith(f"ERROR: {said}")
    assert "\x1b" not in result.err


def test_an_error_of_a_file_that_nobody_foresaw_names_it(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabcheck.cli.check.judge_files", lambda *_: Path("of/nobody").read_bytes())
    assert zabcheck("check", "good") == (2, "", "zabcheck: of/nobody: No such file or directory\n")
