"""A node that is single-stepped does as the same protocol in Python, and what is wrong with one is told."""

import json
import select
import sys
from collections.abc import Sequence
from typing import Literal

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from invariants import Deliver, Event
from tests.protocols.external.commands import KIT, replayed, shown, wrong
from zabcheck.counterexample.explain import explain_replay
from zabcheck.protocols import step_limit
from zabcheck.protocols.base import Outside, OutsideSilent, Protocol
from zabcheck.protocols.external import pool, running
from zabcheck.protocols.external.pool import LEAST, TWIN_EVERY
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab import ZAB
from zabcheck.schema import schema
from zabcheck.search.minimise import minimise_raise
from zabcheck.search.run import Replay, schedule_of
from zabcheck.simulation.choices import Crash, Elect, Lead, Recover, Request, Settle, Sync, Timeout
from zabcheck.simulation.simulator import Simulator

CALM = (Lead(1, (1, 2, 3)), Settle(6), Request(1, "a"), Request(1, "b"), Settle(6))
AGAIN = (*CALM, Crash(1), Lead(2, (2, 3)), Settle(6), Request(2, "c"), Settle(4), Recover(1), Elect(1, 2), Settle(9))
ELECTED = (Lead(1, (2, 3)), Settle(2), Request(1), Request(1))
SENT = '{"src":"p1","dest":"p2","body":{"type":"x"}}'


@pytest.mark.parametrize("sync", ["separate", "atomic"])
def test_the_kit_in_python_does_as_the_protocol_zab(sync: Literal["separate", "atomic"]) -> None:
    """After a crash a node finds what is on the disk again, and nothing else."""
    switches = Switches(sync=sync)
    ours, kit = (replayed(protocol, *AGAIN, switches=switches) for protocol in (ZAB, KIT))
    assert len(shown(ours)) > 30
    assert shown(ours) == shown(kit)
    assert ours.steps == kit.steps


def test_what_is_not_synced_is_lost() -> None:
    """The choice of a crash decides how much of it is kept."""
    begun = (Lead(1, ()), Sync(1), Sync(1))
    asked = (*begun, Request(1, "a"), Request(1, "b"))
    lengths = []
    for keep in (0, 1, 2):
        run = replayed(KIT, *asked, Crash(1, keep), Recover(1), Lead(1, ()), Sync(1), Sync(1), processes=1)
        lengths.append(delivered(run))
    assert lengths == [0, 1, 2]


def delivered(run: Replay) -> int:
    return sum(isinstance(event, Deliver) for event in shown(run))


def test_what_a_node_breaks_is_explained_and_the_decisive_step_found() -> None:
    """The run goes on from each of its steps for that: in other processes, which are sent the same lines."""
    begun = (Lead(1, ()), Sync(1), Sync(1), Request(1, "a"), Sync(1))
    run = replayed(f"{KIT} --bug ack-before-disk", *begun, processes=1, property="chosen")
    story = explain_replay(run, decisive=True)
    assert story.violation is not None
    assert story.decisive is not None
    assert story.moments[0].changes[1]


def test_a_bug_that_a_node_names_is_planted_in_it() -> None:
    protocol = external(KIT)
    assert protocol.plant is not None
    with_bug = protocol.plant("ack-before-disk")
    begun = (Lead(1, ()), Sync(1), Sync(1), Request(1, "a"))
    runs = [replayed(each, *begun, processes=1) for each in (protocol, with_bug)]
    assert [delivered(run) for run in runs] == [0, 1]
    with pytest.raises(ValueError, match=r"no mutant `ack-before-disc` .*; did you mean `ack-before-disk`"):
        protocol.plant("ack-before-disc")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("dies", "Ended: ended with exit code 3"),
        ("kills itself", "Ended: was ended by SIGABRT"),
        ("no JSON", "NotUnderstood: wrote what is no line: JSON is malformed: invalid character (byte 0)"),
        ("no body", "NotUnderstood: wrote a line that means nothing: Object missing required field `type`"),
        (
            "nobody",
            "NotUnderstood: wrote a line that means nothing: its `dest` is 'p9', expected p1 to p3, zabcheck or disk",
        ),
        ("an epoch", "NotUnderstood: wrote a line that means nothing: Expected `int`, got `str` - at `$.epoch`"),
        ("an event", "NotUnderstood: wrote a line that means nothing: Invalid value 'heat_death' - at `$.event`"),
        ("another line", "NotUnderstood: wrote a line that means nothing: `in_reply_to` is 1, expected 2"),
        ("too much", "OutOfTurn: wrote a line after the one that ends its answer"),
        ("fails", "Failed: out of memory"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_the_line_and_the_log(what: str, said: str) -> None:
    run = replayed(wrong(what), *ELECTED)
    assert run.raised is not None
    assert run.raised.said == said
    told = "\n".join(run.raised.traceback)
    assert '"type":"elected","leader":"p1"' in told
    assert "standard error elected me" in told
    story = explain_replay(run)
    assert story.raised is not None
    assert story.raised.traceback == run.raised.traceback


def test_a_node_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = replace(external(wrong("hangs")), step_seconds=0.01)
    monkeypatch.setattr(running, "STARTS", 20.0)
    raised = replayed(protocol, *ELECTED).raised
    assert raised is not None
    assert (raised.said, raised.stopped) == ("OutsideSilent: has not answered in time", True)


def asked(written: str) -> Outside:
    """Return the report on a node that writes this, and then nothing more."""
    node = running.Running(["sh", "-c", 'read line; printf %s "$0"; read line', written])
    try:
        with pytest.raises(Outside) as raised:
            node.ask(b"{}\n", 1)
    finally:
        node.kill()
    return raised.value


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "has not answered in time"),
        ('{"src":"p1"', "has not ended a line with a line break in time"),
        (f"{SENT}\n", "has not ended its answer in time"),
    ],
)
def test_what_was_written_is_told_of_an_answer_without_an_end(
    written: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever forgets a line break, or `done`, sees it there."""
    left = [20_000] if written else []

    def comes(self: running.Running, until: float) -> bool:
        return bool(left and self._ready.poll(left.pop()))

    monkeypatch.setattr(running.Running, "_comes", comes)
    told = asked(written)
    assert str(told) == said
    assert told.lines[1:] == ((f"it wrote       {written.strip()}",) if written else ())


@pytest.mark.parametrize("written", ["x" * 3000, f"{SENT}\n" * 100], ids=["a line", "lines"])
def test_an_answer_may_not_be_as_long_as_it_likes(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST_BYTES", 2500)
    assert str(asked(written)) == "wrote an answer of more than 2,500 bytes"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("./not-there", "the node `./not-there` cannot be started: No such file or directory"),
        ("'", "`'`: No closing quotation"),
        ("", "expected a command, found nothing"),
        (wrong("at once"), "the node ended with exit code 1; standard error no such table"),
    ],
)
def test_what_does_not_start_is_told_in_a_line(command: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"^") as raised:
        external(command)
    assert str(raised.value) == said


@pytest.mark.parametrize("what", ["random", "counts"])
def test_a_node_that_does_something_else_each_time_is_told(what: str) -> None:
    """Its twin shows it, or the node has forgotten less than it should at a reset."""
    run = None
    for _ in range(TWIN_EVERY):
        run = replayed(wrong(what), *ELECTED)
        if run.raised is not None:
            break
    assert run is not None
    assert run.raised is not None
    assert run.raised.said.startswith("NotDeterministic: does something else each time")
    assert len([line for line in run.raised.traceback if '"ready"' in line]) == 2
    again = replayed(wrong(what), *ELECTED).raised  # from now on each node has a twin
    assert again is not None
    assert again.place == run.raised.place


@pytest.mark.slow
def test_twins_leave_no_more_and_more_processes_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "TWIN_EVERY", 1)
    started = []
    start = running.Running.__init__

    def noted(self: running.Running, command: Sequence[str]) -> None:
        start(self, command)
        started.append(self)

    monkeypatch.setattr(running.Running, "__init__", noted)
    protocol = external(wrong("twins"))
    for _ in range(12):
        replayed(protocol, *ELECTED)
    assert len(started) > 2 * LEAST
    assert sum(each._process.returncode is None for each in started) <= 2 * LEAST


def test_a_node_that_cannot_be_reset_is_started_anew() -> None:
    protocol = external(wrong("new"))
    first, second = (replayed(protocol, *ELECTED) for _ in range(2))
    assert first.raised is None
    assert first.events == second.events


def test_many_nodes_share_the_processes_that_there_may_be() -> None:
    """The node that has not moved for longest gives its process up, and goes on in another one."""
    protocol = external(KIT)
    runs = [simulated(protocol) for _ in range(LEAST // 3 + 1)]
    for choice in CALM:
        for simulator, _ in runs:
            simulator.execute(choice)
    traces = [events for _, events in runs]
    assert len(traces[0]) > 20
    assert all(events == traces[0] for events in traces)


def simulated(protocol: Protocol) -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    return Simulator(protocol, 3, events.append), events


def test_a_run_goes_on_from_any_step_in_two_ways() -> None:
    """The search for the decisive step needs that: the copy goes on in processes of its own."""
    simulator, events = simulated(external(KIT))
    for choice in CALM[:3]:
        simulator.execute(choice)
    before = list(events)
    twins = [list(before) for _ in range(2)]
    for twin in twins:
        fork = simulator.fork(twin.append)
        for choice in CALM[3:]:
            fork.execute(choice)
    for choice in CALM[3:]:
        simulator.execute(choice)
    assert twins == [events, events]
    assert len(events) > len(before)


def test_a_line_that_nobody_asked_for_is_told() -> None:
    speaks = running.Running([sys.executable, "-I", "-S", "-c", "print('hello', flush=True); input()"])
    select.select([speaks._from], [], [])
    with pytest.raises(running.OutOfTurn, match="before it was asked"):
        speaks.ask(b"{}\n", 1)
    speaks.kill()


def test_every_line_of_a_run_fits_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[bytes] = []
    ask = running.Running.ask

    def noted(self: running.Running, line: bytes, seconds: float) -> list[tuple[bytes, running.Line]]:
        answer = ask(self, line, seconds)
        lines.extend((line, *(written for written, _ in answer)))
        return answer

    monkeypatch.setattr(running.Running, "ask", noted)
    replayed(KIT, *AGAIN, Timeout(2))
    fits = Draft202012Validator(schema("node"))
    told = [(line, line["body"]) for line in map(json.loads, lines)]
    by_kind = {(line["src"], body["type"], body.get("event")): line for line, body in told}
    assert len(by_kind) > 40
    for line in by_kind.values():
        fits.validate(line)
    end = next(line for line in lines if b'"done"' in line)  # the last one may be of a node that is made anew
    assert not fits.is_valid(json.loads(end.replace(b"done", b"dome")))


def test_the_time_that_a_silent_node_takes_counts_when_a_run_is_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting takes no CPU time, so the limit of that would never come. Answers that do come may take long."""
    lines: list[bytes] = []
    send, comes = running.Running._send, running.Running._comes

    def sent(self: running.Running, line: bytes, until: float) -> bytes:
        lines.append(line)
        return send(self, line, until)

    def come(self: running.Running, until: float) -> bool:
        return comes(self, until if b'"elected"' in lines[-1] else until + 600)

    monkeypatch.setattr(running.Running, "_send", sent)
    monkeypatch.setattr(running.Running, "_comes", come)
    protocol = replace(external(wrong("hangs")), step_seconds=0.2)
    schedule = schedule_of(protocol.name, None, 1, [Timeout(1)] * 20 + [Elect(1, 1)])
    waited = step_limit.calls.waited
    shorter = minimise_raise(protocol, schedule, (OutsideSilent, "", 0), seconds=0.1)
    assert not shorter.is_minimal
    assert len(shorter.schedule.choices) == 21, "there was no time for a second try"
    assert step_limit.calls.waited - waited == pytest.approx(0.2)


def test_after_ctrl_c_in_the_middle_of_an_answer_the_nodes_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupted node is not used again: its answer would be taken for that to the next line."""
    protocol = external(KIT)
    before = replayed(protocol, *CALM)
    read = running.Running._read

    def interrupted(self: running.Running, line: bytes) -> bytes:
        if b'"request"' in line:
            raise KeyboardInterrupt
        return read(self, line)

    with monkeypatch.context() as patched:
        patched.setattr(running.Running, "_read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            replayed(protocol, *CALM)
    for _ in range(LEAST):
        assert replayed(protocol, *CALM).events == before.events
