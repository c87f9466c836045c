"""A full disk: every command that writes files prints its result all the same, and leaves nothing half written."""

import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.campaign.campaigns import made
from tests.cli.command import BROKEN_SCHEDULE, MUTANT_RUN
from tests.cli.conftest import Command
from tests.cli.test_verdict import EVALUATE, GATE, LOST_WRITE, TWO
from tests.tiers import sweep
from zabcheck.cli.files import ending
from zabcheck.cli.verdict import WORDS
from zabcheck.papers.evaluation import plots

LONGEST = 300
"""The longest that a file can get, in bytes: what the system then says is handled like a full disk."""

REFUSED = ("prove", "--mutant", "accept-equal-epoch", "--conjunct", "one-promise", "--step", "f.1.2")
DB19 = ("db19", "--seed", "1", "--nodes", "2", "--rounds", "200", "--proposals", "50")

CASES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "run": ((*MUTANT_RUN, "--out", "full/r"), 1, "--out full/r"),
    "replay": (("replay", "broken", "--trace", "t"), 1, "--trace t"),
    "explain": (("explain", "broken", "--write", "it.html"), 1, "--write it.html"),
    "scenario": (("scenario", "dsn-figure-3", "--out", "full"), 0, "--out full"),
    "explore": ((*TWO, "--mutant", "commit-on-own-ack", "--out", "full"), 1, "--out full"),
    "explore, a checkpoint": ((*TWO, "--checkpoint", "c"), 3, "--checkpoint c"),
    "prove, a proof": (
        ("prove", "--step", "f.3.2", "--conjunct", "not-choosable", "--certificate", "full"),
        0,
        "--certificate full",
    ),
    "prove, a bug": ((*REFUSED, "--out", "full"), 1, "--out full"),
    "evaluate": ((*EVALUATE, "--out", "full"), 0, "--out full"),
    "mutants": (("mutants", "--mutant", "commit-on-own-ack", "--seeds", "1", "--out", "full"), 0, "--out full"),
    "gate": (("gate", "--config", "gate.toml", "--junit", "it.xml"), 1, "--junit it.xml"),
    "campaign report": (("campaign", "report", "made"), 0, "made/tables/overview.parquet"),
    "campaign report, a page": (("campaign", "report", "made", "--html", "it.html"), 0, "--html it.html"),
    "zookeeper judge": (("zookeeper", "judge", "recording", "--write"), 1, "DIR recording"),
    "zookeeper conform": (("zookeeper", "conform", "recording", "--write"), 0, "DIR recording"),
    "db19, a trace": ((*DB19, "--trace", "t"), 0, "--trace t"),
    "db19, a dump": ((*DB19, "--dump", "d"), 0, "--dump d"),
}
"""The arguments of a command, the exit code of its verdict, and what cannot be written, as the error names it."""


@contextmanager
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have no file get longer than LONGEST."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _, most = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("case", sweep(CASES, normal=CASES.keys() - {"evaluate", "campaign report, a page"}))
def test_the_result_is_printed_and_nothing_is_left(
    case: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments, code, what = CASES[case]
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    (tmp_path / "gate.toml").write_text(GATE.format(1, "counter-wraps").replace("200", "1"))
    if "recording" in arguments:
        shutil.copytree(LOST_WRITE, tmp_path / "recording")
    if "made" in arguments:
        made(tmp_path / "made", 100, (None,))
    assert plots.drawn, "it is loaded now: it may write a file of its own"
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with full(monkeypatch):
        result = zabcheck(*arguments)
    lines = [*result.out.splitlines(), *result.err.splitlines()]
    verdict = [line for line in lines if not line.startswith("zabcheck: ")][-1]
    assert result.code == 2
    assert verdict.startswith(f"{WORDS[code][0]}: ")
    assert lines[-1] == f"zabcheck: {what}: File too large"
    assert "wrote " not in result.out
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "full").exists()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["run", "explore", "scenario", "replay"])
def test_a_file_that_is_not_written_is_not_named(
    case: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments, _, what = CASES[case]
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    with full(monkeypatch):
        result = zabcheck(*arguments, "--format", "json")
    assert (result.code, result.err) == (2, f"zabcheck: {what}: File too large\n")
    told = result.json.get("counterexample") or result.json
    assert not told.get("files")
    assert not told.get("trace")


def test_runs_end_where_one_cannot_be_recorded(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def recorded(*_: object) -> None:
        with full(monkeypatch), ending("--out", Path("full")):
            (tmp_path / "recording").write_bytes(bytes(2 * LONGEST))

    monkeypatch.setattr("zabcheck.cli.check.judge_files", recorded)
    result = zabcheck("check", "it")
    *_, verdict, error = result.err.splitlines()
    assert (result.code, error) == (2, "zabcheck: --out full: File too large")
    assert verdict.startswith("INCONCLUSIVE: interrupted, before there was anything to tell")
