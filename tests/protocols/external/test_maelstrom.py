"""Nodes that were written for Maelstrom are stepped as they are, and what breaks the order of their log is found."""

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import join

import msgspec
import pytest

from invariants import Broadcast, Deliver, Zxid
from tests.protocols.external.commands import PYTHON
from zabcheck.explore.exploration import CannotExplore, explore
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.external.rest import Resting
from zabcheck.search.run import Replay, Search, replay_on, schedule_of
from zabcheck.search.swarm import find
from zabcheck.simulation.choices import AnyChoice, Crash, Drain, Overtake, Receive, Recover, Request, Reset, Settle
from zabcheck.simulation.simulator import Simulator

LOG = str(Path(__file__).parent / "log_of_maelstrom.py")
TOGETHER = (Request(2), Request(3), Settle(9), Request(1), Settle(9))


def command(how: str) -> str:
    return f"maelstrom:{PYTHON} {join([LOG, how])}"


def run(how: str, choices: Sequence[AnyChoice], processes: int = 3, **switches: object) -> Replay:
    protocol = external(command(how))
    at = msgspec.convert(switches, protocol.switches)
    schedule = schedule_of(protocol.name, None, processes, choices, switches=at)
    return replay_on(protocol, schedule, protocol.properties)


def violated(replay: Replay) -> list[str]:
    assert replay.raised is None, replay.raised.traceback
    return [verdict.property for verdict in replay.verdicts if verdict.status == "violated"]


def delivered(replay: Replay, process: int) -> list[tuple[Zxid, str]]:
    events = [event for event in replay.events if isinstance(event, Deliver) and event.process == process]
    return [(event.txn.zxid, event.txn.value) for event in events]


@pytest.mark.parametrize("how", ["one", "cas"])
def test_what_a_client_polls_is_delivered(how: str) -> None:
    replay = run(how, TOGETHER)
    assert violated(replay) == []
    found = [delivered(replay, process) for process in (1, 2, 3)]
    assert [zxid for zxid, _ in found[0]] == [Zxid(1, 1), Zxid(1, 2), Zxid(1, 3)]
    assert all(each == found[0][: len(each)] for each in found)
    assert sum(isinstance(event, Broadcast) for event in replay.events) == 3


@pytest.mark.parametrize("how", ["each", "write"])
def test_two_messages_at_one_offset_are_found(how: str) -> None:
    assert "zxid uniqueness" in violated(run(how, TOGETHER))


def test_a_client_that_skips_what_another_one_sees_is_found() -> None:
    """A poll stops where a message is missing, unless the node does not know that one is."""
    lost = (Request(1), Reset(1, 2), Request(1), Settle(9))
    assert delivered(run("one", lost), 2) == []
    assert violated(run("skip", lost)) == ["total order"]


KILLED = (Request(1), Settle(9), Crash(1), Recover(1), Request(1), Settle(9))


@pytest.mark.parametrize(("how", "broken"), [("one", ["zxid uniqueness"]), ("cas", [])])
def test_a_node_that_is_killed_starts_again_without_its_memory_and_services_go_on(how: str, broken: list[str]) -> None:
    replay = run(how, KILLED, 2, restarts="yes")
    assert violated(replay)[-1:] == broken
    assert [event.incarnation for event in replay.events if isinstance(event, Deliver) and event.process == 1][-1] == 1


@pytest.mark.slow
def test_nodes_are_killed_only_where_that_is_asked_for() -> None:
    replay = run("one", KILLED, 2)
    assert violated(replay) == []
    assert replay.skipped == 2
    drawn = find(Search(external(command("one")), 1, ("zxid uniqueness",), 20, 20, 1, fixed={"restarts": "yes"}))
    assert drawn is not None
    assert any(isinstance(choice, Crash) for choice in drawn.choices)


def test_messages_overtake_each_other() -> None:
    replay = run("one", (Request(1), Request(1), Overtake(2, 1), Receive(2, 1), Drain(2, 1)), 2)
    assert [value for _, value in delivered(replay, 2)] == ["v1", "v2"]


def test_a_run_goes_on_from_any_step_in_another_process() -> None:
    protocol: Protocol = external(command("one"))
    events: list[object] = []
    simulator = Simulator(protocol, 2, events.append)
    simulator.execute(Request(1, "a"))
    before = list(events)
    fork = simulator.fork(before.append)
    for each in (simulator, fork):
        each.execute(Settle(4))
        each.execute(Request(2, "b"))
        each.execute(Settle(4))
    assert before == events
    assert len(events) > 5


def test_a_program_is_at_rest_when_none_of_its_threads_runs() -> None:
    """Whichever of them answers, and after whatever it has computed before."""
    threads = """
import queue, sys, threading
asked = queue.Queue()
def answer():
    while True:
        line = asked.get()
        sum(range(20000))
        print(line.strip()[::-1], flush=True)
for _ in range(3):
    threading.Thread(target=answer, daemon=True).start()
for line in sys.stdin:
    asked.put(line)
"""
    running = Resting([sys.executable, "-I", "-S", "-c", threads])
    for number in range(50):
        assert running.tell(b"%03d\n" % number, 10) == [(b"%03d" % number)[::-1]]
    running.kill()


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (f"{PYTHON} -c 1", "the node ended with exit code 0"),
        (f"{PYTHON} -c 'input(print(1))\ninput()'", "the node wrote a line that means nothing: Expected `object`"),
        (f"{PYTHON} -c 'input()\ninput()'", "the node is at rest, and has not answered `init`"),
    ],
)  # fmt: skip
def test_what_does_not_start_is_told_in_a_line(of: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}[^\n]*$"):
        external(f"maelstrom:{of}")


def test_not_every_state_is_visited() -> None:
    with pytest.raises(CannotExplore, match="expected one whose processes follow whom an oracle names"):
        explore(external(command("one")).name)


@pytest.mark.kits
@pytest.mark.parametrize(("how", "is_broken"), [("one", False), ("cas", False), ("each", True), ("write", True)])
def test_a_search_finds_what_is_broken_and_nothing_else(how: str, is_broken: bool) -> None:
    protocol = external(command(how))
    assert protocol.properties is not None
    assert (find(Search(protocol, 3, protocol.properties, 15, 40, 1)) is not None) == is_broken
