"""The emitters of docs/traces.md work without zabcheck, and what is shown of their logs is real."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from invariants import End, Header, Recover, Txn, Zxid, chain_hash, trace
from invariants.trace import Line
from tests.cli.command import ROOT, TIMEOUT
from tests.cli.conftest import Command

DOCUMENT = ROOT / "docs/traces.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
EMITTER, USE = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
LOGS: dict[str, str] = dict(re.findall(r"```jsonl (\S+)\n(.*?)```", TEXT, re.DOTALL))
[(COMMAND, PRINTED)] = re.findall(r"`zabcheck (check --merge [^`]*)`[^`]*```text\n(.*?)\n```", TEXT, re.DOTALL)


def printed(zabcheck: Command) -> str:
    """Return the output of the command in the form in which the text shows it."""
    result = zabcheck(*COMMAND.split())
    assert (result.code, result.err) == (1, "")
    return "\n".join(line.rstrip() for line in result.out.rstrip().splitlines())


def emitter() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(EMITTER, names)
    return names


def test_every_line_that_is_shown_is_a_line_of_a_trace() -> None:
    blocks = re.findall(r"```jsonl.*?\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    for line in "".join(blocks).splitlines():
        msgspec.json.decode(line, type=Line)


def test_the_emitter_needs_nothing_and_writes_the_logs_that_are_shown(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-I", "-S", "-c", EMITTER + USE], cwd=tmp_path, timeout=TIMEOUT, check=False)
    assert done.returncode == 0
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == LOGS


def test_the_verdict_that_is_shown_is_real(zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for name, log in LOGS.items():
        (tmp_path / name).write_text(log, encoding="utf-8")
    assert COMMAND.split()[2:5] == list(LOGS)
    assert printed(zabcheck) == PRINTED


def test_a_delivery_before_the_broadcast_repairs_it(zabcheck: Command, tmp_path: Path) -> None:
    """The violation is then the one that the text tells of."""
    for name, log in LOGS.items():
        lines = log.splitlines(keepends=True)
        if name == "p3.jsonl":
            lines[1:4] = [lines[3], lines[1], lines[2]]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    result = zabcheck(*COMMAND.split())
    assert "violated" not in result.out
    assert result.code == 3  # it is too short for local primary order


def test_the_hash_of_the_emitter_is_ours() -> None:
    ours = theirs = 0
    for epoch, counter, value in [(1, 1, "a"), (1, 2, "b"), (2**32 - 1, 0, "é☃ x"), (3, 3, "")]:
        ours = chain_hash(ours, Txn(Zxid(epoch, counter), value))
        theirs = emitter()["chain_hash"](theirs, epoch, counter, value)
        assert theirs == ours


def test_a_process_that_comes_back_goes_on_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "p"
    tracer = emitter()["Tracer"]
    for _ in range(3):
        tracer(path, 1, 3).log("deliver", txn={"zxid": [1, 1], "value": "é"})
        assert trace.loads(path.read_bytes())[0] == Header(1, 3, "mine", order="per-process")
        path.write_bytes(path.read_bytes() + b'{"event":"deli')  # what a crash cut off
    tracer(path, 1, 3).end()
    events = trace.loads(path.read_bytes())
    assert [event for event in events if isinstance(event, Recover)] == [Recover(1, life) for life in (1, 2, 3)]
    assert events[-1] == End(6)
