"""`--exec` of `run`, `replay` and `explain`: nodes in any language."""

import re
from json import dumps
from pathlib import Path
from shlex import quote
from types import SimpleNamespace
from typing import Any

import pytest

from invariants import PROPERTIES
from tests.cli.command import CALM_SCHEDULE
from tests.cli.conftest import Command
from tests.protocols.external.commands import KIT, PYTHON, ROOT, wrong
from zabcheck.cli import next_step
from zabcheck.cli.campaign.plan import new_plan
from zabcheck.cli.run import to_explore
from zabcheck.gate.configuration import Configuration, kills_of, protocols_of
from zabcheck.protocols.external.protocol import external
from zabcheck.search.run import schedule_of
from zabcheck.simulation.choices import Lead, Request, Sync
from zabcheck.simulation.schedule import dump

BUG = f"{KIT} --bug ack-before-disk"
UNSAFE = (Lead(1, ()), Sync(1), Sync(1), Request(1, "a"), Sync(1))


def test_a_schedule_is_replayed_and_explained_by_the_command_of_its_nodes(zabcheck: Command, tmp_path: Path) -> None:
    schedule, trace = tmp_path / "x.json", tmp_path / "x.jsonl"
    schedule.write_bytes(dump(schedule_of(f"exec:{BUG}", None, 1, UNSAFE, "chosen")))
    again = zabcheck("replay", schedule, "--exec", BUG, "--trace", trace)
    assert (again.code, again.err) == (1, "")
    assert "chosen is violated" in again.out
    assert f"zabcheck replay {schedule} --exec '{BUG}'" in again.out
    mended = zabcheck("replay", schedule, "--exec", KIT)
    assert (mended.code, mended.err) == (0, "")
    told = zabcheck("explain", trace, "--exec", BUG, "--property", "chosen", "--write", "x.py", "--write", "x.html")
    assert (told.code, told.err) == (1, "")
    assert "decisive" in told.out
    assert "exec=" in (tmp_path / "x.py").read_text(encoding="utf-8")


def test_a_search_names_the_command(zabcheck: Command) -> None:
    result = zabcheck(
        "run", "--exec", KIT, "--processes", "1", "--seed", "1", "--runs", "2", "--steps", "30", "--property", "chosen"
    )
    assert (result.code, result.err) == (0, "")
    assert f"PASS: exec:{KIT}"[:40] in result.out


def test_only_nodes_that_save_their_state_are_to_be_explored_next(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = [SimpleNamespace(property="integrity")]
    for nodes, then in ((KIT, f"zabcheck explore --exec '{KIT}'"), (wrong("new"), "")):
        monkeypatch.setattr(next_step, "_ran", next_step.CommandLine(options={"exec": nodes}))
        summary: Any = SimpleNamespace(protocol=external(nodes).name, properties=judged)
        assert to_explore(summary) == then


def test_every_state_of_nodes_that_save_theirs_is_visited(zabcheck: Command) -> None:
    bounds = ("--processes", "1", "--epochs", "1", "--txns", "1", "--switch", "sync=separate")
    proved = zabcheck("explore", "--exec", KIT, *bounds, "--property", "chosen")
    assert (proved.code, proved.err) == (0, "")
    assert "does not violate " in proved.out
    found = zabcheck("explore", "--exec", BUG, *bounds, "--property", "chosen")
    assert (found.code, found.err) == (1, "")
    assert re.search(rf"; next: zabcheck play reports/\S+ --exec '{re.escape(BUG)}' --property chosen", found.out)
    certified = zabcheck("explore", "--certify", next(Path("reports").glob("*.schedule.json")), "--exec", BUG)
    assert (certified.code, certified.err) == (0, "")
    assert "certified: no run of fewer than" in certified.out
    without = zabcheck("explore", "--exec", wrong("counts"), *bounds)
    assert (without.code, without.out) == (2, "")
    assert without.err.endswith("expected nodes that save and restore their state: `snapshot` of their `init_ok`\n")
    assert without.err.startswith("zabcheck: --exec ")


def test_it_is_said_what_nobody_checks_of_nodes_of_maelstrom(zabcheck: Command) -> None:
    of = f"{PYTHON} {ROOT / 'tests/protocols/external/log_of_maelstrom.py'} one"
    few = ("--runs", "1", "--steps", "5", "--processes", "2", "--seed", "1")
    result = zabcheck("run", "--exec", f"maelstrom:{of}", *few)
    assert result.err.startswith("nodes of Maelstrom keep their own time: nobody checks")


def test_no_file_starts_a_command(zabcheck: Command, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    (tmp_path / "x.json").write_bytes(CALM_SCHEDULE.replace(b'"zab"', f'"exec:touch {mark}"'.encode()))
    for command in ("replay", "explain"):
        result = zabcheck(command, "x.json")
        assert (result.code, result.out) == (2, "")
        assert result.err == f"zabcheck: x.json: its nodes are started by a command, so add --exec 'touch {mark}'\n"
    assert zabcheck("run", "--protocol", f"exec:touch {mark}").code == 2
    assert not mark.exists()


def test_the_schedule_of_another_protocol_is_done_to_the_nodes(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(CALM_SCHEDULE)
    traces = []
    for options in ((), ("--exec", KIT)):
        result = zabcheck("replay", "x.json", *options, "--format", "json")
        assert result.code == 0
        traces.append(result.json["steps"])
    assert traces[0] == traces[1]


def test_a_node_that_fails_ends_the_search_with_a_report(zabcheck: Command) -> None:
    result = zabcheck("run", "--exec", wrong("dies"), "--processes", "1", "--seed", "1")
    assert (result.code, result.out) == (2, "")
    for line in ("Ended: ended with exit code 3", "What the node was sent, and said", "standard error elected me"):
        assert line in result.err
    assert result.err.splitlines()[-1].startswith("ERROR: the protocol's own code raised Ended")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--exec", "./not-there"), "--exec: the node `./not-there` cannot be started: No such file or directory"),
        (
            ("--exec", KIT, "--protocol", "zab"),
            "--exec: expected no --protocol, the nodes of the command are the protocol",
        ),
        (("--exec", KIT, "--mutant", "x"), f"no mutant `x` of `{KIT}`; expected one of: ack-before-disk"),
        (("--exec", "a", "--exec", "b"), "--exec: named more than once, expected at most once"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_option_is_told(arguments: tuple[str, ...], said: str, zabcheck: Command) -> None:
    result = zabcheck("run", *arguments)
    assert (result.code, result.out, result.err) == (2, "", f"zabcheck: {said}\n")


def test_a_gate_starts_the_commands_that_its_configuration_names() -> None:
    wanted = Configuration((f"exec:{KIT}", "zab"), kills=("ack-before-disk", "ack-before-sync"))
    assert [each.name for each in protocols_of(wanted)] == [f"exec:{KIT}", "zab"]
    assert [each.protocol for each in kills_of(wanted)] == ["zab", f"exec:{KIT}"]
    with pytest.raises(ValueError, match="cannot be started"):
        protocols_of(Configuration(("exec:./not-there",)))


def test_a_gate_says_how_the_schedule_of_a_node_is_explained(zabcheck: Command, tmp_path: Path) -> None:
    node = wrong("no JSON")
    listed = dumps([f"exec:{node}"])
    (tmp_path / "pyproject.toml").write_text(f"[tool.zabcheck]\nprotocols = {listed}\nruns = 1\nkills = []\n")
    result = zabcheck("gate")
    assert result.code == 2
    assert (result.out + result.err).splitlines()[-1].endswith(f".schedule.json --exec {quote(node)}")


def test_a_campaign_plants_the_bugs_that_the_nodes_name() -> None:
    plan = new_plan({"exec": KIT, "mutant": ["none", "all"]})
    assert (plan.protocol, plan.mutants) == (f"exec:{KIT}", (None, "ack-before-disk"))
    assert plan.search("ack-before-disk").protocol.mutant == "ack-before-disk"
    assert set(plan.properties) < set(PROPERTIES)


def test_nodes_that_do_something_else_each_time_are_refused_by_play(zabcheck: Command) -> None:
    result = zabcheck("play", "--exec", wrong("random and counts"), "--processes", "1", stdin=b"1\n")
    assert result.code == 2
    assert result.err.startswith("zabcheck: the same schedule does something else each time")
