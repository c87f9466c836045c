"""A step that never returns is stopped by the CPU time that it takes, and told with its stimulus."""

import os
from collections.abc import Callable
from threading import Thread

import pytest

from invariants.quorums import Quorums
from tests.protocols.own.raising import EverSlower, Stuck, StuckWhenAsked, Waiting
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.making import counterexample
from zabcheck.protocols.adapter import protocol_of, register
from zabcheck.protocols.base import Request as Asked
from zabcheck.protocols.own import Process
from zabcheck.protocols.switches import LETTER
from zabcheck.search.run import ProtocolRaised, Replay, Search, replay_on, schedule_of
from zabcheck.search.swarm import find
from zabcheck.simulation.choices import Choice, Lead, Request

CHOICES = (Lead(1, ()), Request(1), Request(1))


def replayed(own: type[Process], *choices: Choice) -> Replay:
    protocol = register(own)
    return replay_on(protocol, schedule_of(protocol.name, None, 1, choices or CHOICES), ("core",))


def here() -> Replay:
    return replayed(Stuck)


def in_a_thread() -> Replay:
    found: list[Replay] = []
    thread = Thread(target=lambda: found.append(replayed(Stuck)))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("execute", [here, in_a_thread])
def test_it_is_told_as_a_step_that_raised(execute: Callable[[], Replay]) -> None:
    raised = execute().raised
    assert raised is not None
    assert (raised.process, raised.stimulus, raised.stopped) == (1, Asked("v2"), True)
    assert raised.said == "TimeoutError: the step has not returned after 0.02 s of CPU time"
    code = Stuck.on_request.__code__
    assert raised.place == (TimeoutError, code.co_filename, code.co_firstlineno)
    assert raised.traceback


def test_it_is_stopped_in_a_process_that_was_forked() -> None:
    here()  # so that this process has a thread that watches
    child = os.fork()
    if not child:
        raised = here().raised
        os._exit(7 if raised is not None and raised.stopped else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert here().raised is not None, "this one is watched again"


def test_it_is_stopped_where_a_process_is_asked_whether_it_takes_a_request() -> None:
    raised = replayed(StuckWhenAsked).raised
    assert raised is not None
    assert (raised.stimulus, raised.stopped) == (Asked("v1"), True)


def test_a_step_that_waits_is_not_stopped() -> None:
    assert replayed(Waiting).raised is None


@pytest.mark.slow
def test_what_a_search_finds_is_made_short() -> None:
    with pytest.raises(ProtocolRaised) as stopped:
        find(Search(register(Stuck), 3, ("core",), 100, 100, 1))
    replayed, story = counterexample(stopped.value)
    assert replayed.steps == 3
    assert replayed.raised is not None
    said = to_text(story).splitlines()
    assert "TimeoutError: the step has not returned after 0.02 s of CPU time" in said
    assert "handling  p1, Request(value='v2')" in said


@pytest.mark.slow
def test_what_is_told_has_taken_the_whole_limit() -> None:
    """While a run is made shorter, a step has less time; what was only slow then is not told."""
    error = replayed(EverSlower, Request(1), Request(1), Request(1)).raised
    assert error is not None
    found = ProtocolRaised(error, protocol_of(EverSlower), [Request(1)] * 3, LETTER, Quorums(1))
    again, _ = counterexample(found)
    assert again.raised is not None
    assert again.steps == 3


def test_the_limit_has_to_be_a_time() -> None:
    with pytest.raises(ValueError, match=r"Mine\.step_seconds: expected a number of seconds above 0, found 0"):
        protocol_of(type("Mine", (Stuck,), {"step_seconds": 0}))
