"""Each kit does as the protocol zab in every run, and its planted bug is found, minimised and explained."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shlex import split

import pytest
from msgspec.structs import replace

from invariants.events import ENVIRONMENT_EVENTS, Deliver, Event
from tests.cli.command import process
from tests.kits.kits import KITS, OTHERS, ROOT, SAVES
from zabcheck.counterexample.making import counterexample
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.exploration import COARSE, explore
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab import ZAB
from zabcheck.search.run import Search, replay_on, schedule_of
from zabcheck.search.swarm import drive, find, run_seed
from zabcheck.simulation.choices import AnyChoice, Corrupt, Crash, Lead, Quiesce, Recover, Request, Settle, Snapshot
from zabcheck.simulation.schedule import Schedule

EACH = ["python", *(pytest.param(name, marks=pytest.mark.kits) for name in OTHERS)]
LATER = [pytest.param(name, marks=pytest.mark.kits) for name in KITS]

JUDGED = ("core", "causality", "protocol")

ODD = '"\\/\n\t\x01\x7f é\u2028語😀</script>&'
"""Characters that JSON writes with escapes, or can write so, and characters of one to four bytes."""


def drawn(seed: int, steps: int) -> Schedule:
    """A run of the swarm, but for what kits do not do: no snapshots, no `quiesce`; their log is a single record."""
    search = Search(ZAB, 3, ("core",), 1, steps, fixed={"histories": "full", "application": "none"})
    simulator = drive(search, (), run_seed(seed, 0)).simulator
    choices: Sequence[AnyChoice] = [c for c in simulator.executed if not isinstance(c, Snapshot | Corrupt | Quiesce)]  # type: ignore[misc]  # what was executed is an AnyChoice
    return schedule_of("zab", None, 3, choices, quorums=simulator.quorums.name, switches=simulator.switches)


def shown(protocol: Protocol, schedule: Schedule) -> list[Event]:
    """Return what the processes show when a protocol goes through a schedule."""
    named = schedule_of(protocol.name, None, 3, schedule.choices, quorums=schedule.quorums, switches=schedule.switches)
    run = replay_on(protocol, named, ("core",))
    assert run.raised is None, run.raised.traceback
    return [event for event in run.events[1:] if not isinstance(event, ENVIRONMENT_EVENTS)]


def agrees(name: str, seeds: range, steps: int) -> int:
    """Compare a kit with the protocol in Python; return how many events both have shown."""
    kit, events = external(KITS[name].command), 0
    for seed in seeds:
        schedule = drawn(seed, steps)
        ours = shown(ZAB, schedule)
        assert shown(kit, schedule) == ours, seed
        events += len(ours)
    return events


@pytest.mark.parametrize("name", EACH)
def test_it_does_as_the_protocol_in_python(name: str) -> None:
    assert agrees(name, range(3), 100) > 50


@pytest.mark.parametrize("name", EACH)
def test_a_value_is_what_the_client_sent_whatever_characters_it_has(name: str) -> None:
    begun = (Lead(1, (2, 3)), Settle(6), Request(1, ODD), Settle(6), Crash(1), Recover(1), Lead(2, (1, 3)), Settle(6))
    schedule = schedule_of("zab", None, 3, begun)
    ours = shown(ZAB, schedule)
    assert [e.txn.value for e in ours if isinstance(e, Deliver)].count(ODD) > 3
    assert shown(external(KITS[name].command), schedule) == ours


@pytest.mark.parametrize("name", EACH)
def test_json_may_be_written_with_escapes_and_spaces(name: str) -> None:
    txn = {"zxid": [1, 1], "value": ODD}
    told = {"node_id": "p1", "node_ids": ["p1"], "weights": {"p1": 1}, "seed": 1, "counter_limit": 1 << 32}
    body = {"type": "init", "msg_id": 1, "incarnation": 0, "mutant": None, "disk": {"history": [txn]}, "intact": True}
    line = {"id": 1, "src": "zabcheck", "dest": "p1", "body": {**body, **told}}
    text = json.dumps(line, ensure_ascii=True, separators=(" , ", " : ")) + "\n"
    done = subprocess.run(split(KITS[name].command), input=text, capture_output=True, encoding="utf-8", check=True)
    state, init_ok = [json.loads(each)["body"] for each in done.stdout.split("\n")[:-1]]
    assert state["variables"]["h_f"] == [txn]
    assert init_ok["type"] == "init_ok"


@pytest.mark.parametrize("name", LATER)
def test_it_does_so_at_length(name: str) -> None:
    assert agrees(name, range(100, 150), 200) > 2000


@pytest.mark.kits
@pytest.mark.parametrize("switches", [COARSE, replace(COARSE, sync="separate")], ids=["atomic", "separate"])
@pytest.mark.parametrize("name", SAVES)
def test_a_search_of_every_state_finds_the_same(name: str, switches: Switches) -> None:
    """Only time-outs that change nothing differ: nodes are told of them."""
    bounds = Bounds(processes=2, epochs=2, txns=2, timeouts=0, crashes=1)
    ours, kit = (
        explore(each, bounds=bounds, switches=switches, properties=JUDGED, symmetry=False, reduction=False)
        for each in ("zab", external(KITS[name].command).name)
    )
    assert ours.states > 1000
    assert (kit.states, kit.depth, kit.components) == (ours.states, ours.depth, ours.components)
    assert (kit.whole, kit.exercised, kit.goals) == (True, ours.exercised, ours.goals)


@pytest.mark.parametrize("name", LATER)
def test_its_bug_is_found_minimised_and_explained(name: str) -> None:
    kit = KITS[name]
    plant = external(kit.command).plant
    assert plant is not None
    found = find(Search(plant(kit.bug), 3, (kit.breaks,), 500, 200, 1))
    assert found is not None
    run, story = counterexample(found, seconds=2)
    assert story.violation is not None
    assert run.steps < len(found.choices) + 1
    assert story.mutant == kit.bug


@pytest.mark.parametrize("name", LATER)
def test_nothing_is_found_in_it_without(name: str) -> None:
    assert find(Search(external(KITS[name].command), 3, JUDGED, 50, 200, 1)) is None


@pytest.mark.kits
def test_a_gate_and_the_hunt_for_known_bugs_work_with_nodes(tmp_path: Path) -> None:
    kit = KITS["go"]
    (tmp_path / "pyproject.toml").write_text(
        f"""
[tool.zabcheck]
protocols = ["exec:{kit.command}"]
runs = 15
processes = 3
properties = ["core"]
kills = ["all"]
""",
        encoding="utf-8",
    )
    gate = process("gate", cwd=tmp_path)
    assert (gate.code, gate.err) == (0, "")
    assert "known bugs: 1 of 1 passed" in gate.out
    hunted = process("mutants", "--exec", kit.command, "--seeds", "1", cwd=tmp_path)
    assert (hunted.code, hunted.err) == (0, "")
    assert f"{kit.bug}  1 of 1" in hunted.out


def test_the_list_of_the_kits_is_the_one_in_the_readme() -> None:
    text = (ROOT / "kits/README.md").read_text(encoding="utf-8")
    assert [kit.bug for kit in KITS.values() if f"`{kit.bug}`" not in text] == []
    others = ("__pycache__", "adapters")
    folders = [path.name for path in (ROOT / "kits").iterdir() if path.is_dir() and path.name not in others]
    assert sorted(folders) == sorted(KITS)
    assert [name for name in folders if f"`{name}/" not in text] == []
