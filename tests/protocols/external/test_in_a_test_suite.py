"""`machine_for(exec=…)` and `assert_schedule(…, exec=…)`: nodes in somebody's tests."""

import unittest

import pytest

from tests.protocols.external.commands import KIT
from zabcheck.search.run import schedule_of
from zabcheck.simulation.choices import Lead, Request, Sync
from zabcheck.simulation.schedule import dump
from zabcheck.testing import Broken, assert_schedule, machine_for

BUG = f"{KIT} --bug ack-before-disk"
UNSAFE = dump(schedule_of("zab", None, 1, (Lead(1, ()), Sync(1), Sync(1), Request(1, "a"), Sync(1)), "chosen"))


def test_the_machine_searches_nodes() -> None:
    case = machine_for(exec=KIT, processes=1, runs=3, steps=30, properties="prefix", switches={"sync": "atomic"})
    result = unittest.TestResult()
    case.TestCase("runTest").run(result)
    assert (result.testsRun, result.errors) == (1, [])


def test_a_schedule_is_done_to_nodes() -> None:
    assert_schedule(UNSAFE, exec=KIT)
    with pytest.raises(Broken, match="chosen is violated"):
        assert_schedule(UNSAFE, exec=BUG)


def test_either_a_protocol_or_exec_is_given() -> None:
    for arguments in ({}, {"protocol": "zab", "exec": KIT}):
        with pytest.raises(ValueError, match="either a protocol or `exec`"):
            machine_for(**arguments)  # type: ignore[arg-type]  # both are wrong on purpose
