"""A service that keeps its promises breaks none, whatever is asked, lost, and ended."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.zookeeper.clients.histories import History
from tests.zookeeper.clients.service import World
from zabcheck.zookeeper.clients.exchange import Exchange, read
from zabcheck.zookeeper.clients.judge import PROMISES, judge

NOT_HERE = {"containers and TTL", "ephemeral nodes stay", "multi read", "one order", "persistent watches", "removal"}
NOT_HERE |= {"timeliness"}
"""Promises that the service in memory has no requests for, or no session long enough, or that need a bound."""


@pytest.mark.parametrize("seed", range(8))
def test_a_history_of_a_sound_service_breaks_no_promise(seed: int) -> None:
    judged = judge(read(World(seed).history(300), "history"))
    assert [each for each in judged if each.breach is not None] == []


def test_the_histories_exercise_the_promises() -> None:
    exercised = {
        each.promise.name for seed in range(8) for each in judge(read(World(seed).history(300), "h")) if each.judged
    }
    assert exercised >= {*PROMISES} - NOT_HERE


@pytest.mark.parametrize("name", ["ephemeral nodes end", "ephemeral nodes stay"])
def test_many_sessions_with_one_path_cost_no_more_each_than_few(name: str) -> None:
    few, many = (_steps(_sessions_with_one_path(sessions).exchange(), name) for sessions in (20, 160))
    assert many < 10 * few


def _sessions_with_one_path(sessions: int) -> History:
    history = History()
    reader = history.client(sessions + 1)
    for number in range(1, sessions + 1):
        owner = history.client(number)
        owner.create("/e", 3 * number, "ephemeral")
        owner.answer(owner.ask("closeSession"), 3 * number + 1)
        reader.exists("/e", 3 * number + 2)
    return history


def _steps(exchange: Exchange, name: str) -> int:
    """The steps of Python that a verdict takes: the lines, and the turns of loops."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        judge(exchange, [name])
    finally:
        sys.settrace(before)
    return steps
