"""A service that keeps its promises breaks none, whatever is asked, lost, and ended."""

import pytest

from tests.zookeeper.clients.service import World
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.judge import PROMISES, judge

NOT_HERE = {"containers and TTL", "ephemeral nodes stay", "multi read", "one order", "persistent watches", "removal"}
"""Promises that the service in memory has no requests for, or no session long enough."""


@pytest.mark.parametrize("seed", range(12))
def test_a_history_of_a_sound_service_breaks_no_promise(seed: int) -> None:
    judged = judge(read(World(seed).history(300), "history"))
    assert [each for each in judged if each.breach is not None] == []


def test_the_histories_exercise_the_promises() -> None:
    exercised = {
        each.promise.name for seed in range(8) for each in judge(read(World(seed).history(300), "h")) if each.judged
    }
    assert exercised >= {*PROMISES} - NOT_HERE
