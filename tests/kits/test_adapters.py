"""Adapters make nodes of software written elsewhere, whose sources are not here, and come with what was found in it."""

import re
import subprocess
from pathlib import Path

import pytest

from invariants import Broadcast, Deliver, Ready
from tests.kits.kits import ROOT
from zabcheck.protocols.external.protocol import external
from zabcheck.search.run import replay_on, schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Lead, Request

ADAPTERS = ROOT / "kits/adapters"
PAGE = (ROOT / "docs/notes/found-elsewhere.md").read_text(encoding="utf-8")
FOUND = sorted(ADAPTERS.glob("*/*.schedule.json"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name.partition('.')[0]}")
def test_the_page_tells_what_each_schedule_violates_and_how_long_it_is(path: Path) -> None:
    schedule = schedules.load(path.read_bytes(), path.name)
    row = re.search(rf"\| `{path.name}`, (\d+) steps \|.*\| (.*) \|\n", PAGE)
    if schedule.violates is None:
        assert row is None
        assert f"`{path.name}`" in PAGE
    else:
        assert row is not None
        assert int(row[1]) == len(schedule.choices)
        assert schedule.violates in row[2].split(", ")


def test_there_are_schedules() -> None:
    assert len(FOUND) == PAGE.count(".schedule.json`, ") + 2  # and two that violate nothing


@pytest.mark.kits
def test_the_adapter_steps_goroutines_that_sleep(tmp_path: Path) -> None:
    program = tmp_path / "node"
    subprocess.run([ADAPTERS / "zookeeper-go/build.sh", Path(__file__).parent / "stand_in", program], check=True)
    protocol = external(str(program))
    run = replay_on(protocol, schedule_of(protocol.name, None, 3, (Lead(1, ()), Request(1, "a"), Request(1, "b"))))
    shown = [event for event in run.events if isinstance(event, Ready | Broadcast | Deliver)]
    assert [type(event) for event in shown] == [Ready, Broadcast, Deliver, Broadcast, Deliver]
    assert [event.txn.value for event in shown if isinstance(event, Deliver)] == ["a", "b"]


@pytest.mark.kits
def test_threads_of_jzab_take_turns_and_switch_only_where_they_wait(tmp_path: Path) -> None:
    stepped = [ADAPTERS / "jzab" / f"{name}.java" for name in ("Turns", "Executors", "LinkedBlockingQueue")]
    subprocess.run(["javac", "-d", tmp_path, *stepped, Path(__file__).parent / "turns/Try.java"], check=True)
    run = subprocess.run(
        ["java", "-cp", tmp_path, "com.github.zk1931.jzab.Try"], check=True, capture_output=True, text=True
    )
    assert run.stdout.splitlines() == [
        "nobody runs before it is asked to",
        "asked one",
        "asked two",
        "answered one",
        "answered two",
        "everybody waits",
        "asked again",
        "answered again",
        "everybody waits",
        "timed out",
        "the other threw it",
        "stopped while it waited",
        "all are over",
    ]
