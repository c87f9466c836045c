"""`zabcheck gate`: what a change has to pass; never a pass where something was not looked at."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from invariants import select
from tests.cli.command import raising_mutant
from tests.cli.conftest import Command
from tests.cli.gate.configurations import NOT_EXERCISED, OF_ZAB, PASSES, SURVIVES, Gate, names_of, outcomes
from zabcheck.gate import checks
from zabcheck.gate.configuration import Configuration
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols.base import WITHOUT_CLIENTS
from zabcheck.search.goals import GOALS

OF_THE_BROADCAST = [kind.name for kind in select(WITHOUT_CLIENTS)]


# What passes, and what does not.


def test_a_protocol_without_a_bug_passes(gate: Gate, tmp_path: Path) -> None:
    result = gate(PASSES)
    assert (result.code, result.err) == (0, "")
    of_zab = len(["the search", *OF_THE_BROADCAST, "the goal"])
    lines = result.out.splitlines()
    assert lines[:2] == [f"zab: {of_zab} of {of_zab} passed", "known bugs: 1 of 1 passed"]
    assert lines[-1].startswith(f"PASS: gate passed: {of_zab + 1} of {of_zab + 1} passed, ")
    assert names_of(tmp_path) == []


def test_everything_that_is_demanded_is_an_outcome(gate: Gate) -> None:
    document = gate(PASSES + "seeds = [1, 2]\n", "--format", "json").json
    searched = ["zab: seed 1", "zab: seed 2"]
    assert outcomes(document, "passed") == [
        *searched,
        *(f"zab: {name} is exercised" for name in OF_THE_BROADCAST),
        "zab: goal three epochs",
        "known bugs: commit-on-own-ack",
    ]
    assert [row["mutant"] for row in document["kills"]] == ["commit-on-own-ack"]
    assert document["runs"] == 2 * 20 + document["kills"][0]["runs"]["median"]


def test_all_stands_for_all_goals_and_mutants(gate: Gate) -> None:
    document = gate(NOT_EXERCISED.replace('"truncation"', '"all"') + 'kills = ["all"]', "--format", "json").json
    named = [each["name"] for each in document["outcomes"]]
    assert [name for name in named if name.startswith("goal ")] == [f"goal {name}" for name in GOALS]
    assert [name for name in named if name in OF_ZAB] == OF_ZAB


@pytest.mark.slow
def test_a_goal_that_cannot_be_seen_and_followers_that_deliver_nothing_are_no_pass(gate: Gate) -> None:
    alone = 'protocols = ["tests.protocols.own.alone:Alone"]\nruns = 40\ngoals = ["late joiner", "three epochs"]'
    result = gate(alone)
    assert result.code == 3
    assert (
        "inconclusive  followers deliver: no follower delivered what its leader broadcast, in any of 8 runs "
        in result.out
    )
    assert "inconclusive  goal late joiner: cannot be seen: no run shows `adopt`" in result.out
    assert "goal three epochs" not in result.out
    result = gate(alone + '\nproperties = ["core"]')
    assert "followers deliver" not in result.out
    assert result.out.splitlines()[-1].endswith(
        "goal late joiner: cannot be seen: no run shows `adopt`; next: show these events "
        "(docs/your-own-protocol.md#goals), or take the goal out of `goals`"
    )


def test_a_protocol_of_ones_own_that_is_broken_fails(gate: Gate, tmp_path: Path) -> None:
    result = gate('protocols = ["mine_here:Mine"]\nout = "found/here"\n')
    assert (result.code, result.err) == (1, "")
    assert "zxid uniqueness is violated" in result.out
    assert "◀W1" in result.out
    assert "\n  failed        seed 1: zxid uniqueness is violated: " in result.out
    files = sorted(str(file.relative_to(tmp_path)) for file in (tmp_path / "found/here").iterdir())
    assert [file.split(".", 1)[1] for file in files] == ["html", "schedule.json", "trace.jsonl", "txt"]
    for file in files:
        assert f"\nwrote {file}\n" in result.out
    assert f"replay: zabcheck replay {files[1]}" in result.out


def test_the_counterexample_is_replayed(gate: Gate, zabcheck: Command, tmp_path: Path) -> None:
    gate('protocols = ["mine_here:Mine"]')
    [schedule] = (tmp_path / "reports").glob("*.schedule.json")
    again = zabcheck("replay", schedule, "--protocol", "mine_here:Mine")
    assert again.code == 1
    assert "zxid uniqueness is violated" in again.out


def test_a_protocol_of_ones_own_is_judged_by_what_holds_for_it(gate: Gate) -> None:
    document = gate('protocols = ["mine_here:Mine"]\nruns = 1', "--format", "json").json
    named = {each["name"] for each in document["outcomes"]}
    assert "agreement is exercised" in named
    assert not {"convergence is exercised", "invariant 1 is exercised"} & named


def test_properties_are_names_or_groups(gate: Gate) -> None:
    document = gate('protocols = ["zab"]\nproperties = ["causality", "Total-Order"]\nruns = 9', "--format", "json").json
    assert [each["name"] for each in document["outcomes"]] == [
        "seed 1",
        "total order is exercised",
        "po causal order is exercised",
        "strict causality is exercised",
    ]


def test_code_that_raises_is_an_error_and_no_violation(gate: Gate, tmp_path: Path) -> None:
    result = gate('protocols = ["mine_here:Raising"]', "--junit", "j.xml")
    assert (result.code, result.err) == (2, "")
    assert "\n  error         seed 1: the protocol's own code raised KeyError: " in result.out
    assert "is violated" not in result.out
    last = result.out.splitlines()[-1]
    assert last.startswith("ERROR: gate error: ")
    assert "; mine_here:Raising, seed 1: the protocol's own code raised KeyError: " in last
    assert "; next: zabcheck play reports/mine_here-Raising-raised-" in last
    assert "in changed\n    return {}[value]\n" in result.out
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert root.attrib["failures"] == "0"
    [error] = [case[0] for case in root.iter("testcase") if case.attrib["name"] == "seed 1"]
    assert (error.tag, error.attrib["type"]) == ("error", "error")
    [schedule] = (tmp_path / "reports").glob("mine_here-Raising-raised-*.schedule.json")
    assert schedule.name in str(error.text)


@pytest.mark.slow
def test_a_step_that_never_returns_is_an_error_and_does_not_use_up_the_time(gate: Gate) -> None:
    result = gate('protocols = ["mine_here:Stuck"]\ntime-limit = 0.3\nseeds = [1]')
    assert (result.code, result.err) == (2, "")
    assert "TimeoutError: the step has not returned after 0.03 s of CPU time\n" in result.out
    assert "Request(value='v1')" in result.out
    assert "in changed\n    while True:\n" in result.out or "in changed\n    pass\n" in result.out


def test_a_known_bug_whose_code_raises_is_an_error(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "commit-on-own-ack", raising_mutant())
    result = gate('protocols = ["zab"]\nruns = 1\nseeds = [1]\nkills = ["commit-on-own-ack"]')
    assert (result.code, result.err) == (2, "")
    said = "known bugs, commit-on-own-ack: the code of the known bug raised KeyError: 3; next: zabcheck play "
    assert f"; {said}" in result.out.splitlines()[-1]


def test_code_that_raises_only_once_is_an_error_too(gate: Gate) -> None:
    result = gate('protocols = ["mine_here:Moody"]')
    assert (result.code, result.err) == (2, "")
    said = " ".join(result.out.split())
    assert "the protocol's own code raised KeyError: 'once', but not again: " in said
    assert "the protocol is not deterministic" in said


def test_what_was_not_exercised_or_reached_is_inconclusive(gate: Gate) -> None:
    result = gate(NOT_EXERCISED, "--format", "json")
    document = result.json
    assert (result.code, document["verdict"]) == (3, "inconclusive")
    assert "zab: seed 1" in outcomes(document, "passed")
    assert {"zab: global primary order is exercised", "zab: goal truncation"} <= {*outcomes(document, "inconclusive")}
    said = {each["name"]: each["message"] for each in document["outcomes"]}
    assert said["global primary order is exercised"] == "exercised by none of 1 run"
    assert said["goal truncation"] == f"reached by none of 1 run: {GOALS['truncation']}"


@pytest.mark.slow
def test_a_class_of_ones_own_that_has_a_bug_has_to_be_found(gate: Gate) -> None:
    kills = 'protocols = ["zab"]\nruns = 60\nkills = ["mine_here:Mine", "tests.protocols.own.alone:Alone"]'
    result = gate(kills, "--format", "json")
    said = {each["name"]: (each["status"], each["message"]) for each in result.json["outcomes"]}
    status, message = said["mine_here:Mine"]
    assert status == "passed"
    assert message.startswith("zxid uniqueness broke in ")
    status, message = said["tests.protocols.own.alone:Alone"]
    assert (status, message[:19]) == ("failed", "survived 60 runs: F")
    assert result.code == 1
    assert [row["found"] for row in result.json["kills"]] == [1, 0]
    result = gate('protocols = ["zab"]\nkills = ["mine_here:Nobody"]')
    assert (result.code, result.out) == (2, "")
    assert "key `kills`: protocol `mine_here:Nobody`: no `Nobody` in module `mine_here`" in result.err


def test_a_mutant_that_survives_fails(gate: Gate) -> None:
    result = gate(SURVIVES)
    assert (result.code, result.err) == (1, "")
    assert "\n  failed  counter-wraps: survived 3 runs: a counter that overflows" in result.out


@pytest.mark.parametrize("engine", ["swarm", "hypothesis"])
def test_without_time_nothing_passes_and_all_that_was_not_done_is_named(
    engine: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = itertools.chain([0.0, 0.0], itertools.repeat(1.0))  # it is up as soon as the first search has begun
    monkeypatch.setattr(checks, "monotonic", lambda: next(times))
    table = f'protocols = ["zab", "mine_here:Mine"]\nseeds = [1, 2]\nkills = ["all"]\nengine = "{engine}"\n'
    result = gate(f"{table}time-limit = 0.5\n", "--format", "json")
    document = result.json
    assert (result.code, document["verdict"], document["interrupted"]) == (3, "inconclusive", False)
    assert {
        "zab: seed 1",
        "zab: seed 2",
        "mine_here:Mine: seed 1",
        "mine_here:Mine: seed 2",
        *(f"known bugs: {name}" for name in OF_ZAB),
    } <= {*outcomes(document, "inconclusive")}
    said = {f"{each['suite']} {each['name']}": each["message"] for each in document["outcomes"]}
    assert said["zab seed 1"] == "1 of 2,000 runs: the time limit was reached"
    assert said["zab seed 2"] == "not searched: the time limit was reached"
    assert said["known bugs counter-wraps"] == "not searched for: the time limit was reached"
    assert document["kills"] == []


def test_the_time_limit_is_one_by_the_clock(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes in the second hunt, and hardly any CPU time with it."""
    now = 0.0

    def later() -> float:
        nonlocal now
        now += 1
        return now

    monkeypatch.setattr(checks, "monotonic", later)
    table = 'protocols = ["zab"]\nruns = 40\nkills = ["commit-on-own-ack", "counter-wraps"]\ntime-limit = 50\n'
    document = gate(table, "--format", "json").json
    assert outcomes(document, "inconclusive") == ["known bugs: counter-wraps"]
    assert document["outcomes"][-1]["message"] == "not found yet: the time limit was reached"


def test_what_only_the_end_of_a_run_shows_counts_even_if_time_is_up_then(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that is delivered here could still be broadcast, up to the end."""
    times = itertools.chain([0.0, 0.0], itertools.repeat(1.0))  # it is up as soon as the search has begun
    monkeypatch.setattr(checks, "monotonic", lambda: next(times))
    result = gate('protocols = ["mine_here:Inventive"]\nproperties = ["integrity"]\ntime-limit = 0.5\n')
    assert (result.code, result.err) == (1, "")
    assert "integrity is violated" in result.out
    assert ", 1 run, " in result.out


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ('protocols = ["zab", "mine_here:Mine"]\nruns = 1\nsteps = 9\nseeds = [1, 2]', 1),
        ('protocols = ["zab", "mine_here:Mine", "mine_here:Raising"]\nruns = 9', 2),
        ('protocols = ["zab"]\nruns = 1\nsteps = 1\nkills = ["counter-wraps"]', 1),
    ],
)
def test_the_worst_decides(table: str, code: int, gate: Gate) -> None:
    """Each has something inconclusive, too."""
    result = gate(table, "--format", "json")
    assert outcomes(result.json, "inconclusive") != []
    assert result.code == code


def test_its_progress_passes_over_what_a_search_had_no_need_of(tmp_path: Path) -> None:
    """The mutant is found long before the runs for it are used up."""
    seen: list[tuple[str, int]] = []
    configuration = Configuration(("zab",), seeds=(1, 2), runs=20, kills=("commit-on-own-ack", "counter-wraps"))
    gate = checks.Gate(configuration, lambda _: seen.append((gate.doing, gate.place)))
    gate.check()
    assert [place for doing, place in seen if doing.startswith("zab, seed ")] == [*range(1, 41)]
    assert [place for doing, place in seen if doing == "commit-on-own-ack"] == [41]
    assert [place for doing, place in seen if doing == "counter-wraps"] == [*range(61, 81)]


# Ctrl-C.


def test_ctrl_c_ends_it_with_what_is_known_so_far(gate: Gate, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(7)
    result = gate(PASSES + "seeds = [1, 2]", "--format", "json")
    document = result.json
    assert (result.code, result.err, document["interrupted"], document["runs"]) == (3, "", True, 7)
    said = {each["name"]: each["message"] for each in document["outcomes"]}
    assert said["seed 1"] == "7 of 20 runs: interrupted"
    assert said["seed 2"] == "not searched: interrupted"
    assert said["commit-on-own-ack"] == "not searched for: interrupted"


def test_ctrl_c_in_the_last_run_of_a_search_comes_too_late_for_it(
    gate: Gate, ctrl_c_in_run: Callable[[int], None]
) -> None:
    ctrl_c_in_run(20)
    document = gate(PASSES + "seeds = [1, 2]", "--format", "json").json
    said = {each["name"]: (each["status"], each["message"]) for each in document["outcomes"]}
    assert said["seed 1"] == ("passed", "20 runs, nothing broken")
    assert said["seed 2"] == ("inconclusive", "not searched: interrupted")


def test_ctrl_c_in_a_hunt_ends_it_too(gate: Gate, ctrl_c_in_run: Callable[[int], None]) -> None:
    ctrl_c_in_run(22)
    document = gate(PASSES.replace("commit-on-own-ack", "counter-wraps"), "--format", "json").json
    assert document["outcomes"][-1]["message"] == "not found yet: interrupted"


def test_ctrl_c_while_a_counterexample_is_made_shorter_costs_only_that(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain = checks.counterexample

    def interrupted(found: Any, seconds: float) -> object:
        if seconds:
            raise KeyboardInterrupt
        return explain(found, seconds)

    monkeypatch.setattr(checks, "counterexample", interrupted)
    result = gate('protocols = ["mine_here:Mine"]\nseeds = [1, 2]\n', "--format", "json")
    document = result.json
    assert (result.code, document["interrupted"]) == (1, True)
    assert outcomes(document, "failed") == ["mine_here:Mine: seed 1"]
    assert all(Path(file).is_file() for file in document["outcomes"][0]["files"])
    assert document["outcomes"][1]["message"] == "not searched: interrupted"
