"""Threads of a process, and what it writes without waiting for the disk: `Run`, `Buffer`, `Flush`."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Struct

from invariants import Event, Promise
from invariants.quorums import Quorums
from zabcheck.protocols.base import Buffer, Effect, Flush, Protocol, Request, Run, Threads, TimedOut, Write
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator


class Counting(Struct):
    """Writes each number that comes next, and shows that it is durable; its thread waits for the disk."""

    id: int
    number: int = 0


def start(process: int, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches) -> Counting:
    return Counting(process, durable.get("number", 0))


def on_request(process: Counting, sender: int, m: Request) -> list[Effect]:
    process.number += 1
    return [Buffer((Promise(process.id, 0, process.number, 1),), number=process.number)]


def on_timed_out(process: Counting, sender: int, m: TimedOut) -> list[Effect]:
    return [Write(number=0)]


def on_run(process: Counting, sender: int, m: Run) -> list[Effect]:
    return [Flush()]


def threads(switches: Switches) -> Threads:
    return {"disk": lambda process: process.number % 2 == 0}


COUNTING = Protocol(
    name="counting",
    summary="",
    source="",
    steps={Request: on_request, Run: on_run, TimedOut: on_timed_out},
    start=start,
    abandon=lambda _: None,
    can_broadcast=lambda _: True,
    describe=lambda _: {},
    show=lambda _: ("", ""),
    threads=threads,
)


def counted(*chosen: choices.Choice, switches: Switches = LETTER) -> tuple[list[int], Simulator]:
    """The numbers that were shown to be durable, and the run."""
    events: list[Event] = []
    run = Simulator(COUNTING, 1, events.append, switches=switches)
    for choice in chosen:
        run.execute(choice)
    return [event.epoch for event in events if isinstance(event, Promise)], run


TWICE = (choices.Request(1), choices.Request(1))


def test_what_is_buffered_is_durable_once_it_is_flushed() -> None:
    assert counted(*TWICE)[0] == []
    shown, run = counted(*TWICE, choices.Run(1, "disk"))
    assert shown == [1, 2]
    assert run.disks[1].durable == {"number": 2}


@pytest.mark.parametrize(("keep", "kept"), [(0, []), (1, [1]), (2, [1, 2])])
def test_a_crash_keeps_a_prefix_and_shows_what_it_has_kept(keep: int, kept: list[int]) -> None:
    shown, run = counted(*TWICE, choices.Crash(1, keep), choices.Recover(1))
    assert shown == kept
    assert run.states[1].number == keep


def test_nothing_waits_where_writing_and_syncing_are_one() -> None:
    assert counted(*TWICE, switches=Switches(sync="atomic"))[0] == [1, 2]


def test_a_thread_takes_a_turn_if_it_has_something_to_do() -> None:
    _, run = counted(choices.Request(1))
    assert run.threads() == []
    assert run.execute(choices.Run(1, "disk")) == 0
    run.execute(choices.Request(1))
    assert run.threads() == [(1, "disk")]
    assert run.execute(choices.Run(1, "nobody")) == 0
    assert run.execute(choices.Run(1, "disk")) == 1
    run.execute(choices.Pause(1))
    assert run.threads() == []
    assert run.execute(choices.Run(1, "disk")) == 0


def test_what_is_buffered_is_flushed_before_it_is_written_at_once() -> None:
    with pytest.raises(AssertionError, match="has to be flushed first"):
        counted(choices.Request(1), choices.Timeout(1))
