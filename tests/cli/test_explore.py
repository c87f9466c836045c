"""`zabcheck explore`: what it says it proved, what it found, and what it does not take."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from shlex import join

import pytest

from tests.cli.command import ROOT, Result
from tests.cli.conftest import Command
from tests.tiers import sweep
from zabcheck.cli import explore as command
from zabcheck.explore import space
from zabcheck.explore.liveness import undisturbed
from zabcheck.explore.states import spilled

PROVED = ("explore", "--processes", "1", "--epochs", "2", "--txns", "2", "--timeouts", "1", "--crashes", "2")


def words(text: str) -> str:
    return " ".join(text.split())


def verdict(result: Result) -> str:
    return result.out.splitlines()[-1]


def test_what_is_proved_is_said_with_the_bounds(zabcheck: Command) -> None:
    result = zabcheck(*PROVED)
    assert result.code == 3  # there is nobody else whom a process could promise an epoch to
    said = words(result.out)
    assert said.startswith(
        "searched zab, within 1 process, 2 epochs, 2 transactions, 1 time-out, 2 crashes, sync atomic, "
    )
    assert "bounds left out more epochs, transactions, time-outs, crashes, snapshots by choice; a" in said
    assert "not seen in any run: three epochs, " in said
    assert "two states are taken for one only if two histories of them have one hash of 63 bits" in said
    assert verdict(result).startswith(
        "INCONCLUSIVE: proved for 23 of 24 properties, which zab violates in no state within the bounds; "
        "not exercised, and so not proved: epoch uniqueness; next: "
    )


@pytest.mark.slow
def test_a_proof_says_what_its_bounds_leave_out(zabcheck: Command) -> None:
    """The bug needs a crash that loses a write; without it the line is true, and says why."""
    few = ("explore", "--mutant", "ack-before-sync", "--processes", "2", "--property", "core", "--property", "chosen")
    found = zabcheck(*few)
    assert (found.code, found.out.splitlines()[-1]) == (
        0,
        "PASS: proved: zab with mutant ack-before-sync violates none of 8 properties in any state within the bounds; "
        "left out: time-outs, connections that break, snapshots by choice, crashes that lose a write (sync=atomic), "
        "messages that outlive their connection (closing=abrupt), weighted quorums, altered records; "
        f"next: zabcheck {join(few)} --switch sync=separate # or, one at a time: --timeouts 1, --cuts 1, --crashes 2",
    )
    assert "; a greater --epochs alone adds no state" in words(found.out)
    assert (
        "--switch sync=separate by 7 to 32, --timeouts 1 by 9 to 13, --cuts 1 by 8 to 12, --crashes 2 by 5 to 9 "
    ) in words(found.out)
    assert zabcheck(*few, "--switch", "sync=separate").code == 1
    told = zabcheck(*few, "--crashes", "0", "--format", "json").json
    assert told["limits"].keys() == {"txns", "timeouts", "crashes", "cuts", "snapshots"}
    assert told["left_out"] == ["messages that outlive their connection (closing=abrupt)", "weighted quorums"]
    assert told["wider"][0] == {"option": "timeouts", "value": 1, "least": 9, "most": 13}
    beyond = zabcheck(*few, "--crashes", "0", "--timeouts", "1", "--format", "json").json
    assert beyond["wider"][0] == {"option": "timeouts", "value": 2, "least": 3, "most": 5}


@pytest.mark.slow
def test_wider_searches_cost_what_is_said(zabcheck: Command) -> None:
    options = ("explore", "--property", "core", "--format", "json")
    narrow = zabcheck(*options).json
    assert len(narrow["wider"]) == 4
    for each in narrow["wider"]:
        wide = zabcheck(*options, f"--{each['option']}", str(each["value"])).json
        assert each["least"] - 0.5 <= wide["states"] / narrow["states"] <= each["most"] + 0.5


def test_a_space_in_which_nothing_happens_proves_nothing(zabcheck: Command) -> None:
    result = zabcheck("explore", "--processes", "2", "--epochs", "1", "--txns", "0")
    assert result.code == 3
    assert verdict(result).startswith(
        "INCONCLUSIVE: proved for 5 of 24 properties, which zab violates in no state within the bounds; "
        "not exercised, and so not proved: integrity, total order"
    )


def test_the_shortest_run_is_explained_and_saved(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("explore", "--mutant", "commit-on-own-ack", "--processes", "2", "--out", "found")
    assert result.code == 1
    said = "chosen is violated, and no shorter run within the bounds violates any property that was judged"
    assert verdict(result).startswith(f"FAIL: {said}; next: ")
    assert "\nchosen is violated\np1 delivered" in result.out
    [schedule] = (tmp_path / "found").glob("*.schedule.json")
    assert f"wrote {schedule.relative_to(tmp_path)}\n" in result.out
    assert zabcheck("replay", schedule).code == 1


def test_as_json(zabcheck: Command) -> None:
    told = zabcheck("explore", "--mutant", "quorum-off-by-one", "--format", "json").json
    assert (told["command"], told["broken"], told["whole"]) == ("explore", "epoch uniqueness", False)
    assert told["counterexample"]["steps"] == len(told["counterexample"]["schedule"]["choices"]) == 2
    assert len(told["files"]) == 4
    proved = zabcheck(*PROVED, "--format", "json").json
    assert (proved["broken"], proved["whole"], proved["unexercised"], proved["counterexample"]) == (
        None,
        True,
        ["epoch uniqueness"],
        None,
    )
    assert proved["states"] > 50
    assert proved["reduction"] is proved["symmetry"] is True
    assert {*proved["goals"]} >= {"repeated delivery", "power loss"}
    assert not {*proved["goals"]} & {*proved["unreached"]}


def test_a_goal_that_needs_events_which_a_protocol_does_not_show_cannot_be_seen(zabcheck: Command) -> None:
    own = ("explore", "--protocol", "tests.protocols.own.alone:Alone", "--processes", "2")
    told = " ".join(zabcheck(*own).out.split())
    assert "not seen in any run: three epochs, several outstanding, tail lost, power loss, two leaders, altered" in told
    assert "goals that cannot be seen, as no run shows `accept`, `adopt`, `establish`, `truncate`, `promise` or" in told
    unseen = zabcheck(*own, "--format", "json").json["unseen"]
    assert unseen["truncation"] == ["truncate"]
    assert unseen["partial replication"] == ["accept", "adopt", "establish"]
    assert zabcheck(*PROVED, "--format", "json").json["unseen"] == {}


@pytest.mark.slow
def test_where_memory_ends_nothing_is_proved(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "_LOOK", 500)
    result = zabcheck("explore", "--processes", "3", "--txns", "2", "--memory", "0.05")
    assert result.code == 3
    assert verdict(result).startswith(
        "INCONCLUSIVE: not finished: nothing was found in what was explored, and nothing is proved"
    )


def test_a_disk_that_is_full_is_told(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(space, "_LOOK", 50)
    monkeypatch.setattr(space, "used", lambda: command.GIB + 1)
    monkeypatch.setattr(spilled, "TemporaryFile", full)
    result = zabcheck("explore", "--processes", "2", "--memory", "1", "--out", "files")
    assert (result.code, result.out) == (2, "")
    assert "--out files: No space left on device" in result.err


def test_a_protocol_of_ones_own_can_be_explored(zabcheck: Command, own_module: Callable[[str, str], None]) -> None:
    code = (
        "import zabcheck\n\n\nclass Mine(zabcheck.Process):\n"
        "    def on_elected(self, leader):\n        if self.leads:\n            self.ready(1)\n\n"
        "    def on_request(self, value):\n        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), value)\n"
        "        self.broadcast(txn)\n        self.deliver(txn)\n"
    )
    own_module("mine", code)
    result = zabcheck("explore", "--protocol", "mine:Mine", "--processes", "2", "--txns", "2")
    assert result.code == 1
    assert verdict(result).startswith(
        ("FAIL: agreement is violated, and no", "FAIL: zxid uniqueness is violated, and no")
    )
    own_module("bad", code.replace("self.ready(1)", "raise KeyError(7)"))
    result = zabcheck("explore", "--protocol", "bad:Mine", "--processes", "2")
    assert (result.code, result.out) == (2, "")
    assert "KeyError: 7" in result.err


def test_a_protocol_of_ones_own_has_its_own_switches(zabcheck: Command, own_module: Callable[[str, str], None]) -> None:
    copy = "from msgspec.structs import replace\n\nfrom zabcheck.zookeeper.model import ZOOKEEPER\n\n"
    own_module("patched", f'{copy}PATCHED = replace(ZOOKEEPER, name="patched:PATCHED")\n')
    small = ("--processes", "1", "--epochs", "1", "--txns", "1", "--switch", "elections=oracle")
    result = zabcheck("explore", "--protocol", "patched:PATCHED", *small, "--switch", "version=3.8.0")
    assert result.err == ""
    assert "patched:PATCHED" in result.out


NAIVE = re.findall(r"```python\n(.*?)```", (ROOT / "docs/your-own-protocol.md").read_text(encoding="utf-8"), re.DOTALL)[
    0
]
"""The first attempt of docs/your-own-protocol.md."""


def test_what_is_wrong_with_a_first_attempt_is_found_without_an_option(
    zabcheck: Command, own_module: Callable[[str, str], None]
) -> None:
    own_module("naive", NAIVE)
    result = zabcheck("explore", "--protocol", "naive:Naive")
    assert result.code == 1
    assert "\nFAIL: total order is violated, and no shorter run within the bounds violates any " in result.out


def test_nothing_is_called_proved_that_nothing_exercised(
    zabcheck: Command, own_module: Callable[[str, str], None]
) -> None:
    own_module("naive", NAIVE)
    few = ("--processes", "2", "--txns", "1", "--crashes", "0")
    result = zabcheck("explore", "--protocol", "naive:Naive", *few)
    assert result.code == 3
    last = verdict(result)
    first, _, rest = last.partition("; ")
    said = "naive:Naive has no `highest_epoch`, so --epochs bounds only the epochs of ready, broadcast and show, "
    assert result.err.startswith(f"zabcheck: {said}")
    assert f"epochs {said}" in words(result.out)
    assert re.fullmatch(
        r"INCONCLUSIVE: proved for \d of 10 properties, which naive:Naive violates in no state within the bounds", first
    )
    assert rest.startswith("not exercised, and so not proved: total order, local primary order, ")
    assert last.endswith("; next: zabcheck explore --protocol naive:Naive --processes 2 --txns 2 --crashes 1")
    own_module("bounded", f"{NAIVE}\n    def highest_epoch(self):\n        return self.epoch\n")
    bounded = zabcheck("explore", "--protocol", "bounded:Naive", *few, "--format", "json")
    assert (bounded.err, bounded.json["epochs_of_events_only"]) == ("", False)


@pytest.mark.slow
def test_the_default_bounds_exercise_all_that_can_be_exercised(zabcheck: Command) -> None:
    """In less than 10 CPU seconds, which is 40,000 states here: what can be counted does not depend on the machine."""
    told = zabcheck("explore", "--format", "json")
    assert told.code == 0
    assert (told.json["unexercised"], told.json["whole"], told.json["broken"]) == ([], True, None)
    assert told.json["states"] < 40_000


@pytest.mark.parametrize(("switch", "shown"), [((), "elections oracle"), (("--switch", "elections=apart"), "")])
def test_where_processes_vote_elections_are_by_vote(zabcheck: Command, switch: tuple[str, ...], shown: str) -> None:
    bounds = ("--processes", "2", "--epochs", "1", "--txns", "0", "--crashes", "0", "--property", "core")
    result = zabcheck("explore", "--protocol", "zookeeper", *bounds, *switch)
    assert shown in words(result.out)
    assert ("elections oracle" in words(result.out)) is bool(shown)


def test_the_help_says_whose_transactions_are_counted(zabcheck: Command) -> None:
    assert "by all primaries together" in words(zabcheck("explore", "--help").out.replace("│", " "))


def test_any_number_of_faults_can_be_proved_harmless(zabcheck: Command) -> None:
    faults = ("--timeouts", "unlimited", "--crashes", "unlimited", "--cuts", "1")
    result = zabcheck("explore", "--processes", "2", "--epochs", "1", "--txns", "2", *faults)
    assert "2 processes, 1 epoch, 2 transactions, any number of time-outs, any number of crashes, 1 cut" in words(
        result.out
    )
    assert result.code == 3  # there is one primary only
    assert "not exercised, and so not proved: global primary order, primary integrity" in words(result.out)
    assert words(result.out).endswith("; next: zabcheck explore --processes 2 --epochs 2 --txns 2 " + " ".join(faults))


def test_without_reductions_the_same_is_proved(zabcheck: Command) -> None:
    told = [zabcheck(*PROVED, *extra, "--format", "json").json for extra in ((), ("--no-por", "--no-symmetry"))]
    assert [each["exercised"] for each in told] == [told[0]["exercised"]] * 2
    assert (told[1]["reduction"], told[1]["symmetry"]) == (False, False)
    assert told[0]["states"] < told[1]["states"]


@pytest.mark.slow
def test_a_search_that_ran_out_of_memory_goes_on(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_LOOK", 500)
    few = ("--processes", "2", "--txns", "1", "--epochs", "2", "--timeouts", "1", "--crashes", "1", "--no-por")
    bounds = ("explore", *few, "--property", "total order", "--property", "convergence", "--format", "json")
    ended = zabcheck(*bounds, "--checkpoint", "at", "--memory", "0.05")
    assert (ended.code, ended.json["whole"]) == (3, False)
    assert (tmp_path / "at").is_file()
    resumed, whole = (zabcheck(*bounds, *more).json for more in (("--checkpoint", "at", "--resume"), ()))
    assert resumed["whole"]
    for field in ("states", "transitions", "depth", "parts", "exercised", "switched_off", "goals", "followed"):
        assert resumed[field] == whole[field], field


@pytest.mark.parametrize("look", sweep((2, 60), normal=(60,)))
def test_ctrl_c_writes_the_checkpoint_and_says_how_to_go_on(
    look: int, zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While states are visited, and while it is followed what leaders come to."""
    looks = count(1)

    def came() -> None:
        if next(looks) >= look:
            raise KeyboardInterrupt

    monkeypatch.setattr(undisturbed, "LOOK", 1)
    monkeypatch.setattr(command, "interrupts", lambda: nullcontext(came))
    few = ("--processes", "2", "--txns", "1", "--epochs", "1", "--property", "integrity", "--property", "convergence")
    ended = zabcheck("explore", *few, "--checkpoint", "at")
    assert (ended.code, ended.err) == (3, "")
    assert verdict(ended).startswith(
        "INCONCLUSIVE: interrupted: nothing was found in what was done so far, and nothing is"
    )
    assert ("the undisturbed leaders were not followed to their end" in words(ended.out)) == (look == 60)
    assert "wrote at\n" in ended.out
    assert ended.out.endswith(f"next: zabcheck explore {join(few)} --checkpoint at --resume\n")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    resumed, whole = (
        zabcheck("explore", *few, *more, "--format", "json").json for more in (("--checkpoint", "at", "--resume"), ())
    )
    assert {**resumed, "seconds": 0} == {**whole, "seconds": 0}
    assert not whole["interrupted"]


@pytest.mark.slow
def test_a_leader_that_does_not_get_on_is_shown(zabcheck: Command) -> None:
    """Each of the two leads on alone; the other one never delivers."""
    properties = ("--property", "integrity", "--property", "convergence", "--property", "reliable delivery")
    result = zabcheck("explore", "--mutant", "commit-only-named", "--processes", "2", "--txns", "2", *properties)
    assert result.code == 1
    assert "from some state a leader that nobody disturbs " in words(result.out)
    assert "wrote reports" in result.out
    proved = zabcheck("explore", "--processes", "2", "--format", "json").json
    assert (proved["trap"], "convergence" in proved["exercised"]) == (None, True)
    assert proved["followed"] == 2 * proved["states"]


def test_what_the_search_did_is_told(zabcheck: Command) -> None:
    """With this mutant, messages of a follower's old leader do not commute, so nothing is reduced."""
    few = ("--processes", "2", "--epochs", "1", "--timeouts", "0", "--format", "json")
    told = zabcheck("explore", "--mutant", "stale-proposal-accepted", *few).json
    assert (told["reduction"], told["symmetry"]) == (False, True)


def test_what_is_found_is_real(zabcheck: Command) -> None:
    """The property is judged more strictly first, and a run that breaks it as it is follows."""
    told = zabcheck(
        *("explore", "--mutant", "reuse-highest-epoch", "--property", "epoch uniqueness", "--processes", "2"),
        *("--timeouts", "1", "--crashes", "0", "--format", "json"),
    ).json
    assert (told["broken"], told["steps"], told["tried"]) == ("epoch uniqueness", 15, 14)
    assert zabcheck("replay", told["files"][0]).code == 1


def recorded(folder: Path, *choices: dict[str, object], **more: object) -> Path:
    schedule = {"version": 1, "protocol": "zab", "processes": 2, "choices": choices, **more}
    (folder / "run.json").write_text(json.dumps(schedule))
    return folder / "run.json"


FIRST = ({"choice": "elect", "process": 1, "leader": 1}, {"choice": "elect", "process": 2, "leader": 1})


def test_every_run_begins_with_a_given_one(zabcheck: Command, tmp_path: Path) -> None:
    begun = recorded(tmp_path, *FIRST, {"choice": "receive", "process": 1, "sender": 2})
    bug = ("--processes", "2", "--mutant", "commit-on-own-ack", "--property", "chosen", "--format", "json")
    found, after = (zabcheck("explore", *bug, *more).json for more in ((), ("--after", begun)))
    assert "after a run of 3 steps" in after["bounds"]
    assert after["states"] < found["states"]
    assert (found["steps"], after["steps"], after["tried"]) == (8, 8, 7)
    assert [each["choice"] for each in after["counterexample"]["schedule"]["choices"][:3]] == [
        "elect",
        "elect",
        "receive",
    ]


@pytest.mark.parametrize(
    ("choices", "more", "said"),
    [
        (FIRST, (), "--after: expected a run of `zab` with 3 processes, found one of `zab` with 2 processes"),
        (
            ({"choice": "receive", "process": 1, "sender": 2},),
            ("--processes", "2"),
            "--after step 1: expected a step that is possible",
        ),
        (
            (*FIRST, {"choice": "timeout", "process": 1}),
            ("--processes", "2"),
            "--after step 3: expected a step that is possible within",
        ),
        (
            ({"choice": "settle", "rounds": 1},),
            ("--processes", "2"),
            "--after step 1: expected a choice that moves one process",
        ),
    ],
)
def test_a_run_that_none_can_begin_with_is_refused(
    choices: tuple[dict[str, object], ...], more: tuple[str, ...], said: str, zabcheck: Command, tmp_path: Path
) -> None:
    result = zabcheck("explore", "--after", recorded(tmp_path, *choices), *more)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


PLANTED: dict[str, object] = {"mutant": "quorum-off-by-one", "switches": {"sync": "atomic"}}
TWO_LEADERS = (
    {"choice": "elect", "process": 1, "leader": 1},
    {"choice": "elect", "process": 2, "leader": 2},
)


def test_a_shortest_run_is_certified(zabcheck: Command, tmp_path: Path) -> None:
    file = recorded(tmp_path, *TWO_LEADERS, **PLANTED, violates="epoch uniqueness")
    result = zabcheck("explore", "--certify", file)
    assert result.code == 0
    assert (
        verdict(result)
        == "PASS: certified: no run of fewer than 2 steps violates it; every run of up to 1 step was tried"
    )
    assert zabcheck("explore", "--certify", file, "--format", "json").json["certified"] == 2


def test_a_shorter_run_is_shown(zabcheck: Command, tmp_path: Path) -> None:
    longer = (TWO_LEADERS[0], {"choice": "timeout", "process": 1}, TWO_LEADERS[0], TWO_LEADERS[1])
    file = recorded(tmp_path, *longer, **PLANTED)
    result = zabcheck("explore", "--certify", file)
    assert result.code == 1
    assert verdict(result).startswith("FAIL: epoch uniqueness is violated in 2 steps instead of 4, and no shorter run")
    assert "wrote reports" in result.out


def test_an_election_that_was_one_choice_is_taken_apart(zabcheck: Command, tmp_path: Path) -> None:
    lead = ({"choice": "lead", "leader": each, "followers": []} for each in (1, 2))
    switches = {"sync": "atomic", "elections": "together", "application": "key-value"}
    file = recorded(tmp_path, *lead, mutant="quorum-off-by-one", switches=switches)
    assert verdict(zabcheck("explore", "--certify", file)).startswith("PASS: certified: no run of fewer than 2 steps")


@pytest.mark.parametrize(
    ("more", "arguments", "said"),
    [
        ({}, (), "expected a run that violates a property; it does not"),
        ({"violates": "integrity"}, (), "expected a run that violates integrity; it does not"),
        ({"processes": 6}, (), "field `processes`: expected at most 5, found 6"),
        ({"choices": [{"choice": "pause", "process": 1}]}, (), "field `choices`: expected no `pause`, a run with"),
        ({}, ("--mutant", "commit-on-own-ack"), "--mutant: with --certify that comes from the schedule"),
        ({}, ("--processes", "3"), "--processes: with --certify that comes from the schedule"),
    ],
)
def test_what_cannot_be_certified(
    more: dict[str, object], arguments: tuple[str, ...], said: str, zabcheck: Command, tmp_path: Path
) -> None:
    leading = {"choice": "elect", "process": 1, "leader": 1}
    followed = [{"choice": "elect", "process": 2, "leader": 1}]
    messages = [{"choice": "receive", "process": p, "sender": 3 - p} for p in (1, 2, 1, 2, 1)]
    syncs = [{"choice": "sync", "process": 1}]
    last = more.get("choices", [])
    assert isinstance(last, list)
    choices = [leading, *followed, *messages, *syncs, *last]
    more = {name: value for name, value in more.items() if name != "choices"}
    result = zabcheck("explore", "--certify", recorded(tmp_path, *choices, **more), *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--timeouts", "many"), "--timeouts many: expected a number from 0 to 63, or `unlimited`"),
        (("--crashes", ""), "--crashes : expected a number from 0 to 63, or `unlimited`"),
        (("--quorums", ""), "--quorums: "),
        (("--protocol", ""), "no protocol ``"),
        (("--crashes", "1.5"), "--crashes 1.5: expected a number from 0 to 63, or `unlimited`"),
        (("--cuts", "64"), "--cuts 64: expected a number from 0 to 63, or `unlimited`"),
        (("--certify", "nowhere.json"), "nowhere.json: "),
        (("--after", "nowhere.json"), "nowhere.json: "),
        (("--resume",), "--resume: expected --checkpoint FILE, too"),
        (("--resume", "--checkpoint", "nowhere"), "--checkpoint nowhere: expected a checkpoint: No such file"),
        (("--checkpoint", "nowhere/at"), "--checkpoint nowhere/at: expected the name of a file in a folder that there"),
        (("--checkpoint", "x" * 300), "--checkpoint xxx"),
        (
            ("--property", "convergence", "--property", "invariant 1", "--processes", "1"),
            "--property: no property of the search reads delivered sequences",
        ),
        (("--timeouts", "-1"), "--timeouts -1: expected a number from 0 to 63, or `unlimited`"),
        (
            ("--switch", "elections=together"),
            "--switch elections=together: expected another value, an exhaustive search",
        ),
        (("--property", "convergence"), "--property: expected one that can be judged in every state, so none of the"),
        (("--quorums", "weights 1"), "--quorums: "),
        (("--mutant", "none"), "no mutant `none`"),
        (("--change", "config 1,2"), "--change: expected none, as the configuration of `zab` does not change"),
        (
            ("--protocol", "zab-reconfiguration", "--change", "config 4"),
            "--change config 4: expected one such as `config 1,2`, of processes from 1 to 3 in ascending order",
        ),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], said: str, zabcheck: Command) -> None:
    result = zabcheck("explore", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {said}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("which", [("--mutant", "non-fifo-link"), ("--protocol", "paxos-unordered")])
def test_channels_that_do_not_keep_the_order_are_not_explored(which: tuple[str, str], zabcheck: Command) -> None:
    result = zabcheck("explore", *which)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"zabcheck: {which[0]} {which[1]}: expected channels that keep the order, as nothing overtakes in an "
        "exhaustive search; `zabcheck run` knows others\n"
    )


def test_one_of_a_thing_is_said_in_the_singular(zabcheck: Command) -> None:
    few = ("--processes", "1", "--epochs", "0", "--txns", "0", "--crashes", "0", "--property", "redelivery")
    said = words(zabcheck("explore", *few).out)
    for wrong in ("1 states", "1 levels", "1 components", "1 pairs", "1 properties", "1 transitions"):
        assert f" {wrong}" not in said


def test_each_transition_is_checked_to_be_a_step_of_what_is_proved(zabcheck: Command) -> None:
    refines = ("explore", "--property", "refinement", "--processes", "2")
    result = zabcheck(*refines, "--epochs", "1", "--txns", "1", "--crashes", "0")
    assert result.code == 0
    assert verdict(result).startswith("PASS: proved: zab does not violate refinement in any state within the bounds")
    wrong = zabcheck(*refines, "--mutant", "commit-on-own-ack")
    assert wrong.code == 1
    assert "refinement is violated" in wrong.out
    assert "that is no instance of step l.3.2 (commit)" in words(wrong.out)
