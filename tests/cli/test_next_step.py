"""The command that a verdict names as the next step: it asks the same question, and can be called as it stands."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from fnmatch import fnmatchcase
from itertools import count
from pathlib import Path
from shlex import split
from shutil import copytree

import pytest
from msgspec import structs

from docs.generators.zookeeper_logs import servers
from invariants import trace as traces
from tests.cli.command import BROKEN_SCHEDULE, DELIVERED, MUTANT_RUN, ROOT, SENT, Result, trace_of
from tests.cli.conftest import Command
from tests.invariants.columns import parquet_of, table_of
from tests.tiers import sweep
from zabcheck.cli import explore as command
from zabcheck.cli import next_step
from zabcheck.counterexample.explain import explain
from zabcheck.explore import space
from zabcheck.simulation import schedule as schedules

RECORDING = str(ROOT / "tests/zookeeper/lost-write-3.8.0")
ALONE = "tests.protocols.own.alone:Alone"
SMALL = ("--processes", "2", "--property", "integrity")

STEPS: dict[str, tuple[tuple[str, ...], str, int]] = {
    "run, nothing found": (
        ("run", "--protocol", "paxos", *SMALL, "--runs", "9", "--seed", "1", "--switch", "closing=abrupt"),
        "zabcheck explore --switch closing=graceful --protocol paxos --processes 2 --property integrity",
        0,
    ),
    "run, nothing found in a protocol of one's own": (
        ("run", "--protocol", ALONE, *SMALL, "--runs", "9", "--seed", "1"),
        f"zabcheck explore --protocol {ALONE} --processes 2 --property integrity",
        0,
    ),
    "run, nothing found in a known bug": (
        ("run", "--mutant", "commit-on-own-ack", *SMALL, "--runs", "9", "--seed", "1"),
        "zabcheck explore --mutant commit-on-own-ack --processes 2 --property integrity",
        0,
    ),
    "run, a bug": (
        (*MUTANT_RUN, "--out", "r", "--property", "chosen"),
        "zabcheck play r/*.schedule.json --property chosen",
        3,
    ),
    "run, followers that deliver nothing": (
        ("run", "--protocol", ALONE, "--runs", "30", "--seed", "1"),
        f"zabcheck run --protocol {ALONE} --runs 30 --seed 1 --property liveness",
        1,
    ),
    "run, nothing to judge": (
        ("run", "--runs", "1", "--seed", "1", "--steps", "1", "--property", "global primary order"),
        "zabcheck run --runs 10 --seed 1 --steps 1 --property 'global primary order'",
        3,
    ),
    "replay": (("replay", "broken"), "zabcheck play broken", 3),
    "explain": (
        ("explain", "broken", "--property", "total order", "--step"),
        "zabcheck explain broken --property 'total order' --write run.html",
        1,
    ),
    "check": (("check", "bad.jsonl", "--property", "core"), "zabcheck explain bad.jsonl --property core", 1),
    "check, merged": (
        ("check", "--merge", "one.jsonl", "two.jsonl", "--property", "core"),
        "zabcheck explain one.jsonl two.jsonl --merge --property core",
        1,
    ),
    "check, one process of several": (
        ("check", "one.jsonl", "--property", "integrity"),
        "zabcheck check one.jsonl FILE... --merge --property integrity # with the files of the other processes",
        1,
    ),
    "check, many runs": (("check", "runs.parquet"), "zabcheck explain runs.parquet --run 1", 1),
    "explore, a bug": (
        ("explore", *SMALL, "--property", "chosen", "--epochs", "1", "--mutant", "commit-on-own-ack"),
        "zabcheck play reports/*.schedule.json --property integrity --property chosen",
        3,
    ),
    "explore, nothing to judge": (
        ("explore", *SMALL, "--epochs", "1", "--txns", "0", "--crashes", "0"),
        "zabcheck explore --processes 2 --property integrity --epochs 2 --txns 2 --crashes 1",
        0,
    ),
    "explore, a proof": (
        ("explore", *SMALL, "--epochs", "1", "--txns", "1", "--crashes", "0"),
        "zabcheck explore --processes 2 --property integrity --epochs 1 --txns 1 --crashes 0 --timeouts 1 # *",
        0,
    ),
    "prove": (
        ("prove", "--step", "f.3.2", "--conjunct", "not-choosable", "--certificate", "proof"),
        "zabcheck verify proof",
        3,
    ),
    "mutants, one not found": (
        ("mutants", "--mutant", "counter-wraps", "--seeds", "1", "--runs", "1", "--steps", "1"),
        "zabcheck mutants --mutant counter-wraps --seeds 1 --runs 10 --steps 1 --seconds 600.0",
        1,
    ),
    "gate": (("gate", "--config", "gate.toml"), f"zabcheck play reports/*.schedule.json --protocol {ALONE}", 3),
    "db19": (
        ("db19", "--seed", "19", "--nodes", "2", "--rounds", "15", "--proposals", "2"),
        "zabcheck db19 --seed 19 --nodes 2 --rounds 15 --proposals 2 --trace db19.jsonl",
        1,
    ),
    "db19, traced": (
        ("db19", "--seed", "19", "--nodes", "2", "--rounds", "15", "--proposals", "2", "--trace", "t.jsonl"),
        "zabcheck explain t.jsonl",
        1,
    ),
    "zookeeper judge": (
        ("zookeeper", "judge", "recording", "--property", "core"),
        "zabcheck zookeeper judge recording --property core --write",
        1,
    ),
    "zookeeper conform": (
        ("zookeeper", "conform", "recording"),
        "zabcheck zookeeper conform recording --minimise 10",
        0,
    ),
    "zookeeper conform, written": (
        ("zookeeper", "conform", "recording", "--write"),
        "zabcheck replay recording/model.schedule.json",
        1,
    ),
    "zookeeper logs": (
        ("zookeeper", "logs", "servers", "--no-digests"),
        "zabcheck zookeeper logs servers --no-digests --txns",
        1,
    ),
}
"""Command lines, each with the next step that its verdict names (`*` for what differs) and how that ends.

A run that is played without a word of the user is at its beginning, where nothing is exercised.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read, of which each test gets a copy."""
    tmp_path = tmp_path_factory.mktemp("made")
    (tmp_path / "broken").write_bytes(BROKEN_SCHEDULE)
    (tmp_path / "bad.jsonl").write_bytes(trace_of(DELIVERED))
    for process, name in ((1, "one"), (2, "two")):
        events = [each for each in DELIVERED if each.process == process]
        (tmp_path / f"{name}.jsonl").write_bytes(trace_of(events, "per-process"))
    runs = table_of([[*traces.loads(trace_of(events))] for events in ([*SENT, *DELIVERED], DELIVERED)])
    (tmp_path / "runs.parquet").write_bytes(parquet_of(runs).getvalue())
    gate = f'[tool.zabcheck]\nprotocols = ["{ALONE}"]\nruns = 30\nproperties = ["liveness"]\n'
    (tmp_path / "gate.toml").write_text(gate)
    servers(tmp_path / "servers")
    copytree(RECORDING, tmp_path / "recording")
    return tmp_path


@pytest.fixture(autouse=True)
def files(made: Path, tmp_path: Path) -> None:
    copytree(made, tmp_path, dirs_exist_ok=True)


def then(result: Result) -> str:
    """The next step that the verdict names, which has to be a command."""
    said = [line for line in (result.out + result.err).splitlines() if line.startswith(("PASS", "FAIL", "INC"))]
    step = said[-1].partition("; next: ")[2]
    assert step.startswith("zabcheck "), said
    return step


def call(zabcheck: Command, step: str) -> Result:
    """Do as a shell does with the line; the user puts the names of files in for `FILE...`."""
    _, *words = split(step.replace("FILE...", "two.jsonl"), comments=True)
    result = zabcheck(*words)
    assert result.code in (0, 1, 3), result.err
    return result


@pytest.mark.parametrize("case", sweep(STEPS, normal=STEPS.keys() - {"zookeeper conform, written"}))
def test_the_next_step_asks_the_same_question_and_can_be_called(case: str, zabcheck: Command) -> None:
    arguments, expected, code = STEPS[case]
    step = then(zabcheck(*arguments))
    assert fnmatchcase(step, expected.replace("[", "[[]"))
    assert call(zabcheck, step).code == code


FIND_A_BUG: dict[str, tuple[str, ...]] = {
    "run": MUTANT_RUN,
    "explore": ("explore", "--processes", "2", "--epochs", "1", "--mutant", "commit-on-own-ack"),
}


@pytest.mark.parametrize("command", sweep(FIND_A_BUG, normal=["run"]))
def test_an_invariant_that_breaks_names_what_shows_a_users_loss(command: str, zabcheck: Command) -> None:
    said = zabcheck(*FIND_A_BUG[command], "--property", "chosen").out
    [named] = re.findall(r"^what a user loses: (.*)$", said, re.MULTILINE)
    assert re.fullmatch(r"zabcheck explain reports/\S+\.schedule\.json --loss", named)


def test_a_property_that_a_user_notices_names_no_other_loss() -> None:
    story = explain(schedules.load(BROKEN_SCHEDULE, "broken"), ["primary integrity"])
    assert next_step.to_loss(["broken"], story) == ""
    assert story.violation is not None
    invariant = structs.replace(story, violation=structs.replace(story.violation, property="chosen"), protocol="a:B")
    assert next_step.to_loss(["broken"], invariant) == "zabcheck explain broken --loss --protocol a:B"
    assert next_step.to_loss([], invariant) == ""


def test_after_ctrl_c_a_search_is_to_be_made_again(zabcheck: Command, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(3)
    step = then(zabcheck("run", *SMALL, "--runs", "9", "--mutant", "commit-on-own-ack"))
    assert re.fullmatch(
        r"zabcheck run --processes 2 --property integrity --runs 9 --mutant commit-on-own-ack --seed \d+", step
    )
    assert call(zabcheck, step).code == 0


@pytest.mark.slow
def test_after_ctrl_c_the_hunts_are_to_be_fewer(zabcheck: Command, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(3)
    step = then(zabcheck("mutants", "--mutant", "commit-on-own-ack", "--seeds", "3", "--runs", "40"))
    assert step == "zabcheck mutants --mutant commit-on-own-ack --seeds 1 --runs 40"
    assert call(zabcheck, step).code == 0


@pytest.mark.parametrize(
    ("given", "more"),
    [((), "--checkpoint explore.checkpoint"), (("--checkpoint", "at"), "--checkpoint at --resume")],
)
def test_after_ctrl_c_a_search_of_every_state_can_go_on(
    given: tuple[str, ...], more: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count(1)

    def came() -> None:
        if next(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "interrupts", lambda: nullcontext(came))
    question = ("explore", *SMALL, "--epochs", "1", "--crashes", "0")
    step = then(zabcheck(*question, *given))
    assert step == f"zabcheck {' '.join(question)} {more}"
    assert call(zabcheck, step).code == 0
    looks = count(2)
    assert then(zabcheck("explore", *given)) == f"zabcheck explore {more}" + (
        "" if given else " # or, with fewer states: --processes 2"
    )


def test_a_wider_search_leaves_the_checkpoint_of_this_one(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count(1)

    def came() -> None:
        if next(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "interrupts", lambda: nullcontext(came))
    resumed = then(zabcheck("explore", *SMALL, "--epochs", "1", "--crashes", "0", "--checkpoint", "at"))
    assert resumed.endswith("--resume")
    step = then(call(zabcheck, resumed))
    assert "--timeouts 1" in step
    assert "--checkpoint" not in step
    assert "--resume" not in step


def test_a_search_that_had_too_little_memory_is_to_have_more(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_LOOK", 5)
    step = then(zabcheck("explore", *SMALL, "--epochs", "1", "--memory", "0.06"))
    assert step == "zabcheck explore --processes 2 --property integrity --epochs 1 --memory 0.12"
    call(zabcheck, step)


def test_a_command_line_is_kept_as_a_shell_reads_it() -> None:
    options = {"exec": "a b", "switch": ["x=1", "y=2"], "por": False, "seed": None}
    line = next_step.CommandLine(("zabcheck", "run"), ("it's",), options)
    assert line.text() == """zabcheck run 'it'"'"'s' --exec 'a b' --switch x=1 --switch y=2 --no-por"""
