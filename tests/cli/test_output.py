"""Output to narrow and wide terminals, pipes, files, and those that take no more of it."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import BinaryIO

import pytest
from rich.cells import cell_len

from invariants import Deliver, Txn, Zxid
from tests.cli.command import (
    BROKEN_SCHEDULE,
    DELIVERED,
    MUTANT_RUN,
    TIMEOUT,
    Result,
    argv,
    environment,
    process,
    trace_of,
)
from tests.cli.conftest import Command
from tests.protocols.external.commands import wrong
from tests.tiers import sweep
from zabcheck.cli.verdict import WORDS
from zabcheck.search.run import schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Lead, Request

ALL = [
    [*MUTANT_RUN, "--out", "r"],
    ["replay", "s.json"],
    ["check", "t.jsonl"],
    ["mutants", "--mutant", "commit-on-own-ack", "--seeds", "2"],
    ["gate", "--config", "gate.toml"],
    ["evaluate", "--servers", "3", "--operations", "9", "--outstanding", "5", "--history", "9"],
    ["list"],
    ["scenario", "ladis-causal-violation"],
    ["--help"],
    ["run", "--help"],
    ["--version"],
]
each_command = pytest.mark.parametrize("arguments", sweep(ALL, normal=[["check", "t.jsonl"]]), ids=" ".join)
WIDTHS = [(arguments, columns) for columns in (80, 160) for arguments in ALL]
SEARCHES = ("run", "mutants")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(BROKEN_SCHEDULE)
    (tmp_path / "t.jsonl").write_bytes(trace_of(DELIVERED))
    gate = 'protocols = ["zab"]\nruns = 1\nsteps = 9\ngoals = ["all"]\nkills = ["counter-wraps"]\n'
    (tmp_path / "gate.toml").write_text(f"[tool.zabcheck]\n{gate}")


OBEYED = "a\x9b31mRED\u202eEVIL\x85##[error]::error::"


def test_no_value_reaches_the_terminal_as_it_is(zabcheck: Command, tmp_path: Path) -> None:
    """Neither as text nor as JSON; a program that reads the JSON gets the value all the same."""
    txn = Txn(Zxid(1, 1), OBEYED)
    (tmp_path / "evil.jsonl").write_bytes(trace_of([Deliver(1, 0, txn), Deliver(2, 0, txn)]))
    for command in ("check", "explain"):
        for form in ("text", "json"):
            result = zabcheck(command, "evil.jsonl", "--format", form)
            assert result.code == 1
            assert all(line.isprintable() and "##[" not in line for line in result.out.splitlines())
    assert (
        OBEYED
        in zabcheck("check", "evil.jsonl", "--format", "json").json["traces"][0]["verdicts"][0]["violation"]["summary"]
    )


@pytest.mark.parametrize(
    "arguments", [["list", "mutants"], ["list"], ["check", "t.jsonl"], [*MUTANT_RUN, "--out", "r"]]
)
def test_no_line_ends_with_a_blank(arguments: list[str], zabcheck: Command) -> None:
    assert [line for line in zabcheck(*arguments).out.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("arguments", "columns"),
    sweep(WIDTHS, normal=[(each, 80) for each in ALL if each[0] not in SEARCHES]),
    ids=lambda value: str(value) if isinstance(value, int) else " ".join(value),
)
def test_no_line_is_wider_than_the_terminal(
    arguments: list[str], columns: int, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict and a command to be copied are one line each, which the terminal breaks."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = zabcheck(*arguments).out.splitlines()
    whole = ("what a user loses: ", *(f"{word}: " for word, _ in WORDS.values()))
    assert max(cell_len(line) for line in lines if not line.startswith(whole)) <= columns


def test_a_width_of_zero_is_none(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = zabcheck("list").out
    monkeypatch.setenv("COLUMNS", "0")
    assert zabcheck("list").out == wide


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ALL, ids=" ".join)
def test_a_pipe_gets_no_escapes(arguments: list[str], tmp_path: Path) -> None:
    result = process(*arguments, cwd=tmp_path, variables={"TERM": "xterm-256color"})
    assert "\x1b" not in result.out + result.err


def in_a_terminal(arguments: list[str], cwd: Path, **variables: str) -> bytes:
    """Return the output of a command to a terminal."""
    terminal, end = pty.openpty()
    child = subprocess.Popen(
        argv(*arguments), cwd=cwd, env=environment(TERM="xterm-256color", COLUMNS="100", **variables), stdout=end
    )
    os.close(end)
    written = b""
    try:
        while part := os.read(terminal, 65536):
            written += part
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(terminal)
    child.wait(TIMEOUT)
    return written


def test_a_terminal_gets_colour(tmp_path: Path) -> None:
    assert b"\x1b[" in in_a_terminal(["check", "t.jsonl"], tmp_path)


@pytest.mark.slow
def test_a_terminal_gets_no_colour_if_it_is_not_wanted(tmp_path: Path) -> None:
    assert b"\x1b" not in in_a_terminal(["replay", "s.json"], tmp_path, NO_COLOR="1")


C = {"PYTHONIOENCODING": "", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "TERM": "xterm-256color"}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ALL, ids=" ".join)
def test_a_pipe_without_unicode_gets_ascii(arguments: list[str], tmp_path: Path) -> None:
    """A pipe gets no escapes either."""
    assert_ascii(process(*arguments, cwd=tmp_path, variables={"PYTHONIOENCODING": "ascii", "TERM": "xterm-256color"}))


@each_command
def test_where_the_locale_is_c_there_is_only_ascii(arguments: list[str], tmp_path: Path) -> None:
    assert_ascii(process(*arguments, cwd=tmp_path, variables=C))


def assert_ascii(result: Result) -> None:
    assert result.out.isascii()
    assert "\x1b" not in result.out
    assert result.err == ""
    assert result.code in (0, 1)


@pytest.mark.slow
def test_json_is_utf8_whatever_the_terminal_is(tmp_path: Path) -> None:
    results = [
        process("replay", "s.json", "--format", "json", cwd=tmp_path, variables={"PYTHONIOENCODING": encoding})
        for encoding in ("ascii", "utf-16")
    ]
    assert results[0] == results[1]
    assert "⟨" in results[0].out


def written_to(stdout: BinaryIO, arguments: list[str], cwd: Path) -> tuple[int, bytes]:
    """The exit code and the standard error of a command whose output goes to `stdout`."""
    command, env, error = argv(*arguments), environment(), subprocess.PIPE
    done = subprocess.run(command, cwd=cwd, env=env, stdout=stdout, stderr=error, timeout=TIMEOUT, check=False)
    return done.returncode, done.stderr


PRINTING = pytest.mark.parametrize(
    "arguments",
    sweep([["list"], ["list", "--format", "json"], ["--help"], ["--version"]], normal=[["--version"]]),
    ids=" ".join,
)


@pytest.mark.slow
@PRINTING
def test_what_nobody_reads_is_no_verdict_and_no_traceback(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        assert written_to(pipe, arguments, tmp_path) == (3, b"")


@PRINTING
def test_a_device_that_is_full_is_said_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        error = b"zabcheck: standard output: No space left on device\n"
        assert written_to(full, arguments, tmp_path) == (2, error)


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    sweep(
        [("--version", ">&-", 0), ("check nope", "2>&-", 2), ("check -", "<&-", 2)], normal=[("--version", ">&-", 0)]
    ),
)
def test_what_is_closed_is_no_crash(arguments: str, closed: str, code: int, tmp_path: Path) -> None:
    command = f'exec "$0" -m zabcheck {arguments} {closed}'
    done = subprocess.run(
        ["sh", "-c", command, argv()[0]],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


def interrupted_when(
    progress: bytes, arguments: list[str], folder: Path, number: int = signal.SIGINT
) -> tuple[int, str]:
    """Exit code and output of the command, to which Ctrl-C comes when it shows this on a terminal, standard error.

    Another signal comes twice, as `timeout` sends it, to a command that ignores Ctrl-C, as one in the background does.
    """
    terminal, end = pty.openpty()
    child = subprocess.Popen(
        argv(*arguments),
        cwd=folder,
        env=environment(TERM="xterm", COLUMNS="160"),
        stdout=subprocess.PIPE,
        stderr=end,
        # Whoever runs the tests in the background, or with nohup, may have them ignore it.
        preexec_fn=lambda: (signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(number, signal.SIG_DFL)),
    )
    os.close(end)
    shown = b""
    interrupted = False
    try:
        while part := os.read(terminal, 65536):
            shown += part
            if not interrupted and re.search(progress, shown):
                interrupted = True
                child.send_signal(number)
                if number != signal.SIGINT:
                    child.send_signal(number)
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(terminal)
    out = child.communicate(timeout=TIMEOUT)[0].decode()
    assert interrupted
    assert b"Traceback" not in shown
    return child.returncode, out


@pytest.mark.parametrize("number", sweep([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], normal=[signal.SIGTERM]))
def test_a_signal_ends_a_search_which_says_what_was_done_so_far(number: int, tmp_path: Path) -> None:
    """The progress tells when the search is under way."""
    arguments = ["run", "--seed", "1", "--runs", "1000000"]
    code, out = interrupted_when(rb"[1-9]\d+ of 1,000,000 runs, [\d,]+ steps", arguments, tmp_path, number)
    assert code == 3
    runs = re.search(r"seed 1: ([\d,]+) runs, [\d,]+ steps", out)
    assert runs is not None
    assert 10 <= int(runs[1].replace(",", "")) < 1_000_000
    assert "INCONCLUSIVE: interrupted after " in out
    assert list(tmp_path.glob("reports")) == []


@pytest.mark.slow
def test_ctrl_c_ends_the_gate_and_says_what_was_done_so_far(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.zabcheck]\nprotocols = ["zab"]\nruns = 1000000\nkills = ["all"]\n')
    code, out = interrupted_when(rb"[1-9]\d+ of [\d,]+ runs, zab, seed 1", ["gate"], tmp_path)
    assert code == 3
    assert re.search(r"  inconclusive  seed 1: [\d,]+ of 1,000,000 runs: interrupted *\n", out)
    assert "  inconclusive  no-truncation: not searched for: interrupted\n" in out


@pytest.mark.slow
def test_the_matrix_grows_on_a_terminal_and_ctrl_c_leaves_what_it_is_by_then(tmp_path: Path) -> None:
    only = ["--mutant", "promise-not-durable", "--mutant", "counter-wraps"]
    arguments = ["mutants", *only, "--seeds", "1000"]
    code, out = interrupted_when(rb"promise-not-durable +2 of 2", arguments, tmp_path)
    assert code == 3
    assert re.search(r"promise-not-durable +(\d+) of \1 ", out)
    assert "INCONCLUSIVE: interrupted after " in out


HANGING = "tests.protocols.own.raising:Hanging"
HANGS = {
    "run": ("run", "--protocol", HANGING, "--seed", "1"),
    "run with Hypothesis": ("run", "--protocol", HANGING, "--seed", "1", "--engine", "hypothesis"),
    "gate": ("gate", "--config", "hanging.toml"),
    "explore": ("explore", "--protocol", HANGING),
    "replay": ("replay", "hanging", "--protocol", HANGING),
    "a node": ("run", "--exec", wrong("hangs until Ctrl-C"), "--seed", "1"),
}


@pytest.mark.parametrize("case", HANGS)
def test_ctrl_c_ends_a_step_that_never_returns(
    case: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("zabcheck.cli.output.PATIENCE", 0.02)
    (tmp_path / "hanging.toml").write_text(f'[tool.zabcheck]\nprotocols = ["{HANGING}"]\nkills = []\n')
    (tmp_path / "hanging").write_bytes(schedules.dump(schedule_of(HANGING, None, 1, (Lead(1, ()), Request(1)))))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # xdist has its workers ignore it
    try:
        result = zabcheck(*HANGS[case])
    finally:
        signal.signal(signal.SIGINT, before)
    last = (result.out + result.err).splitlines()[-1]
    assert result.code == 3
    assert last.startswith("INCONCLUSIVE: ")
    assert "interrupted" in last
    assert "the step of p" in last
    assert (" for Elected(leader=" if case == "a node" else " for Request(value=") in last
    assert " had not returned" in last


@pytest.mark.slow
def test_ctrl_c_ends_an_evaluation_and_writes_nothing(tmp_path: Path) -> None:
    arguments = ["evaluate", "--operations", "1000000", "--out", "out"]
    assert interrupted_when(rb"1 of \d+ runs", arguments, tmp_path) == (3, "")
    assert not (tmp_path / "out").exists()
