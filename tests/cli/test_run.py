"""`zabcheck run`: searches, explains what it finds, and says with its exit code how it went."""

from collections.abc import Callable
from pathlib import Path

import pytest

from invariants import select
from tests.cli.command import MUTANT_RUN, Result, process
from tests.cli.conftest import Command, Found
from tests.tiers import sweep
from zabcheck.cli import run as cli_run
from zabcheck.counterexample.making import counterexample
from zabcheck.protocols.base import WITHOUT_CLIENTS
from zabcheck.search.goals import GOALS

SOUND_RUN = ("run", "--seed", "1", "--runs", "120")
"""Long enough to exercise every property, and to reach every goal."""
OF_THE_BROADCAST = [kind.name for kind in select(WITHOUT_CLIENTS)]


def without_seconds(result: Result) -> dict[str, object]:
    return {key: value for key, value in result.json.items() if key != "seconds"}


def test_a_protocol_without_a_bug_is_left_whole_and_what_the_runs_covered_is_told(
    zabcheck: Command, tmp_path: Path
) -> None:
    """A pass speaks of nothing else: how many runs had each size, weights, and each kind of fault."""
    result = zabcheck(*SOUND_RUN)
    assert (result.code, result.err) == (0, "")
    for name in (*OF_THE_BROADCAST, *GOALS):
        assert f"\n{name} " in result.out
    assert "zab, 2 to 7 processes, engine swarm, seed 1: 120 runs" in result.out
    assert list(tmp_path.iterdir()) == []
    as_json = zabcheck(*SOUND_RUN, "--format", "json")
    document = as_json.json
    assert as_json.code == 0
    assert document["counterexample"] is None
    assert [each["property"] for each in document["properties"]] == OF_THE_BROADCAST
    assert {each["status"] for each in document["properties"]} == {"holds"}
    assert list(document["goals"]) == list(GOALS)
    assert document["runs"] >= 120
    assert not document["interrupted"]
    assert list(document["sizes"]) == ["2", "3", "4", "5", "7"]
    assert sum(document["sizes"].values()) == 120
    assert 0 < document["weighted"] < 40
    assert {"crashes", "time-outs", "cut links", "resets"} <= set(document["faults"])
    told = " ".join(result.out.split())
    for size, runs in document["sizes"].items():
        assert f"{size} processes in {runs} (" in told
    for fault, runs in document["faults"].items():
        assert f"{fault} in {runs} (" in told


def test_a_planted_bug_is_found_and_its_files_are_named(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck(*MUTANT_RUN, "--out", "a/b")
    assert result.code == 1
    files = sorted(str(file.relative_to(tmp_path)) for file in (tmp_path / "a/b").iterdir())
    assert [file.split(".", 1)[1] for file in files] == ["html", "schedule.json", "trace.jsonl", "txt"]
    for file in files:
        assert f"wrote {file}\n" in result.out
    assert f"replay: zabcheck replay {files[1]}" in " ".join(result.out.split())
    assert "violated" in result.out


def test_the_files_are_what_their_names_say(found: Found) -> None:
    assert found.result.code == 1
    broken = found.result.json["counterexample"]["violation"]["property"]
    schedule = found.file(".schedule.json")
    assert schedule.name.startswith(f"zab-commit-on-own-ack-{broken.replace(' ', '-')}-")
    assert b'"violates":"' + broken.encode() in schedule.read_bytes()
    assert found.file(".trace.jsonl").read_bytes().startswith(b'{"event":"header"')
    text = found.file(".txt").read_text(encoding="utf-8")
    assert text.lstrip().startswith(f"{broken} is violated")
    assert f"zabcheck replay {schedule.name}" in " ".join(text.split())
    assert "\x1b" not in text
    assert {file.stat().st_mode & 0o777 for file in schedule.parent.iterdir()} == {0o644}


def test_a_seed_that_was_not_given_is_told(zabcheck: Command) -> None:
    document = zabcheck("run", "--runs", "9", "--format", "json").json
    again = zabcheck("run", "--runs", "9", "--seed", str(document["seed"]), "--format", "json").json
    assert again["steps"] == document["steps"]


@pytest.mark.slow
def test_a_property_can_be_judged_alone(zabcheck: Command) -> None:
    result = zabcheck(
        *MUTANT_RUN, "--property", "total-order", "--property", "clock", "--format", "json", "--engine", "hypothesis"
    )
    document = result.json
    assert result.code == 1
    assert [each["property"] for each in document["properties"]] == ["total order", "clock"]
    assert document["counterexample"]["violation"]["property"] == "total order"


def test_what_was_not_exercised_is_no_pass(zabcheck: Command) -> None:
    result = zabcheck("run", "--seed", "1", "--runs", "1", "--steps", "1", "--engine", "hypothesis")
    assert result.code == 3
    assert "not exercised" in result.out
    assert f"goals that no run reached: {', '.join(GOALS)}" in " ".join(result.out.split())


def test_one_process_is_an_ensemble_too(zabcheck: Command) -> None:
    result = zabcheck("run", "--seed", "1", "--runs", "10", "--processes", "1", "--property", "integrity")
    assert result.code == 0


def test_an_interrupt_while_the_run_is_made_shorter_costs_only_that(
    zabcheck: Command, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(found: object, seconds: float, keep: object = ()) -> object:
        if seconds:
            raise KeyboardInterrupt
        return counterexample(found, seconds)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(cli_run, "counterexample", interrupted)
    result = zabcheck(*MUTANT_RUN, "--format", "json")
    document = result.json
    assert result.code == 1
    assert document["interrupted"]
    assert not document["counterexample"]["is_minimal"]
    assert (
        document["counterexample"]["violation"]["property"]
        == found.result.json["counterexample"]["violation"]["property"]
    )
    assert all(Path(file).is_file() for file in document["counterexample"]["files"])


def test_an_interrupt_in_the_run_that_breaks_a_property_does_not_lose_it(
    zabcheck: Command, found: Found, ctrl_c_in_run: Callable[[int], None]
) -> None:
    ctrl_c_in_run(found.result.json["runs"])
    again = zabcheck(*MUTANT_RUN, "--out", "found", "--format", "json")
    assert again.code == 1
    assert without_seconds(again) == without_seconds(found.result)


# The swarm.

SWARM = ("run", "--engine", "swarm", "--mutant", "ack-before-sync", "--format", "json")


def test_the_swarm_finds_a_bug_and_names_the_run_that_shows_it(zabcheck: Command) -> None:
    first = zabcheck(*SWARM, "--seed", "1")
    document = first.json
    assert (first.code, first.err, document["engine"]) == (1, "", "swarm")
    assert document["runs"] > 1
    assert zabcheck("replay", document["counterexample"]["files"][0]).code == 1
    again = zabcheck(*SWARM, "--seed", document["found_by"], "--runs", "1")
    assert (again.code, again.json["runs"]) == (1, 1)
    for key in ("violation", "sha256", "schedule"):
        assert again.json["counterexample"][key] == document["counterexample"][key]


def test_a_run_that_there_was_no_time_to_shorten_says_so_and_how_to_go_on(zabcheck: Command) -> None:
    lines = zabcheck("run", "--mutant", "ack-before-sync", "--seed", "1", "--minimise", "0").out.splitlines()
    assert any(each.startswith("shortened  in part: time ran out, and some of the ") for each in lines)
    [then] = [each for each in lines if each.startswith("to shorten it further: ")]
    assert then.endswith(" --minimise 30 --runs 1")
    longer = zabcheck(*then.removeprefix("to shorten it further: zabcheck ").split(), "--format", "json").json
    assert longer["counterexample"]["is_minimal"]


def test_the_swarm_draws_processes_and_quorums_unless_they_are_given(zabcheck: Command) -> None:
    sound = ("run", "--engine", "swarm", "--seed", "1", "--runs", "30", "--property", "integrity")
    drawn = zabcheck(*sound, "--format", "json").json
    assert (drawn["processes"], drawn["quorums"]) == (None, None)
    assert "zab, 2 to 7 processes, engine swarm, seed 1: 30 runs" in zabcheck(*sound).out
    given = zabcheck(*sound, "--quorums", "weights 2,1,1", "--format", "json").json
    assert (given["processes"], given["quorums"]) == (3, "weights 2,1,1")
    assert given["steps"] != drawn["steps"]


def test_the_swarm_makes_as_many_runs_as_it_is_told_to(zabcheck: Command) -> None:
    result = zabcheck("run", "--engine", "swarm", "--seed", "1", "--runs", "7", "--format", "json")
    assert result.json["runs"] == 7


def test_a_number_of_processes_that_is_given_is_the_only_one(zabcheck: Command) -> None:
    sized = zabcheck("run", "--seed", "1", "--runs", "9", "--processes", "3", "--format", "json").json
    assert sized["sizes"] == {"3": 9}
    by_hypothesis = zabcheck("run", "--seed", "1", "--runs", "2", "--engine", "hypothesis", "--format", "json").json
    assert (list(by_hypothesis["sizes"]), by_hypothesis["weighted"]) == (["3"], 0)


# Quorum systems and switches.


@pytest.mark.slow
@pytest.mark.parametrize(
    "quorums",
    sweep(("sets 1+2,2+3,1+3", "weights 2,1,1", "weights 1,0,0"), normal=("sets 1+2,2+3,1+3",)),
)
def test_another_quorum_system_is_searched_and_saved(quorums: str, zabcheck: Command, tmp_path: Path) -> None:
    assert zabcheck("run", "--seed", "1", "--runs", "5", "--quorums", quorums, "--property", "integrity").code == 0
    result = zabcheck(*MUTANT_RUN, "--quorums", quorums, "--out", "found", "--format", "json")
    if result.code == 1:
        saved = result.json["counterexample"]["schedule"]
        assert saved["quorums"] == quorums
        [file] = (tmp_path / "found").glob("*.schedule.json")
        assert zabcheck("replay", str(file)).code == 1


@pytest.mark.parametrize(
    ("quorums", "message"),
    [
        ("sets 1,2+3", "--quorums: the quorums {p1} and {p2, p3} do not intersect"),
        ("weights 1,1", "--quorums: expected 3 weights, one for each process, found 2"),
        ("most", "--quorums: expected `majority`, `weights 3,1,1`, `sets 1+2,2+3,1+3` or `config 1,2,3`, found `most`"),
    ],
)
def test_a_family_that_is_no_quorum_system_is_refused(quorums: str, message: str, zabcheck: Command) -> None:
    result = zabcheck(*SOUND_RUN, "--quorums", quorums)
    assert (result.code, result.out, result.err) == (2, "", f"zabcheck: {message}\n")


@pytest.mark.slow
def test_disks_are_replaced_only_if_that_is_asked_for(zabcheck: Command) -> None:
    search = "run", "--seed", "1", "--runs", "60", "--property", "agreement", "--processes", "3"
    assert zabcheck(*search).code == 0
    asked = zabcheck(*search, "--disks")
    assert asked.code == 1
    assert "disk: wiped" in asked.out or "disk: an older copy" in asked.out
    refused = zabcheck(*search, "--disks", "--protocol", "db19")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("zabcheck: --disks: expected a protocol whose processes come back from their disks")


def test_a_switch_can_be_fixed(zabcheck: Command) -> None:
    """With one counter an epoch nothing can be outstanding behind something else."""
    for limit, several in ((1, False), (3, True)):
        result = zabcheck(
            "run", "--seed", "1", "--runs", "20", "--switch", f"counter_limit={limit}", "--format", "json"
        )
        assert (result.json["goals"]["several outstanding"] > 0) == several


@pytest.mark.parametrize(
    ("switch", "message"),
    [
        ("histories=some", "--switch: histories: expected full or missing, found `some`"),
        ("sync=", "--switch: sync: expected separate or atomic, found ``"),
        ("counter_limit", "--switch: expected NAME=VALUE, found `counter_limit`"),
        ("counter_limit=0", "--switch: counter_limit: expected a number from 1 to 4294967295, found `0`"),
        ("counter_limit=x", "--switch: counter_limit: expected a number from 1 to 4294967295, found `x`"),
        (
            "x=1",
            "--switch: no switch `x`; expected one of: histories, sync, elections, application, counter_limit, "
            "closing, outstanding, commits, dissemination, links",
        ),
        ("version=3.8.0", "--switch: version: no switch of `zab`, only of `zookeeper`, `zookeeper-reconfiguration`"),
        (
            "elections=oracle",
            "--switch: elections=oracle: expected `apart` or `together`, the processes of `zab` do not vote",
        ),
    ],
)
def test_a_switch_that_there_is_not_is_refused(switch: str, message: str, zabcheck: Command) -> None:
    result = zabcheck(*SOUND_RUN, "--switch", switch)
    assert (result.code, result.out, result.err) == (2, "", f"zabcheck: {message}\n")


@pytest.mark.slow
def test_a_search_says_what_a_fixed_switch_keeps_out(zabcheck: Command) -> None:
    few = ("run", "--seed", "1", "--runs", "60", "--property", "integrity")
    assert "left out" not in zabcheck(*few).out
    last = zabcheck(*few, "--switch", "sync=atomic", "--switch", "histories=full").out.splitlines()[-1]
    assert last.startswith("PASS: ")
    assert "; left out: crashes that lose a write (sync=atomic); next: " in last


@pytest.mark.parametrize(
    ("command", "switches", "said"),
    [
        ("run", ("defects=335",), "defects=335: version 3.9.5 does not have it, expected version=3.3.1"),
        ("run", ("defects=4882", "grain=G1"), "4882: it does not show in grain G1, expected grain=G2 or a finer one"),
        ("explore", ("defects=4882",), "4882: it does not show in grain G0, expected grain=G2 or a finer one"),
        ("campaign", ("defects=4925",), "4925: version 3.9.5 does not have it, expected version="),
    ],
)
def test_a_defect_that_cannot_show_is_refused(
    command: str, switches: tuple[str, ...], said: str, zabcheck: Command
) -> None:
    result = zabcheck(command, "--protocol", "zookeeper", *(part for each in switches for part in ("--switch", each)))
    assert (result.code, result.out) == (2, "")
    assert said in result.err


@pytest.mark.parametrize("again", ["separate", "atomic"])
def test_a_switch_is_named_once(again: str, zabcheck: Command) -> None:
    result = zabcheck(*SOUND_RUN, "--switch", "sync=atomic", "--switch", f"sync={again}")
    assert (result.code, result.out, result.err) == (2, "", "zabcheck: --switch: sync: named more than once\n")


def test_the_number_of_runs_is_the_least(zabcheck: Command) -> None:
    assert "The least number of runs." in zabcheck("run", "--help").out
    few = ("run", "--runs", "3", "--seed", "1", "--steps", "5", "--engine", "hypothesis", "--format", "json")
    assert zabcheck(*few).json["runs"] >= 3


@pytest.mark.slow
def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    """Hypothesis keeps what it finds in source files, when it is loaded first; so this is a process of its own."""
    assert process(
        "run", "--engine", "hypothesis", "--runs", "3", "--seed", "1", "--property", "integrity", cwd=tmp_path
    ).code in (0, 3)
    assert list(tmp_path.iterdir()) == []
