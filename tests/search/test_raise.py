"""A protocol whose code raises is reported as such, with the schedule that led there; no property is judged."""

import unittest
from pathlib import Path

import pytest
from msgspec import structs

import zabcheck
from invariants import select
from invariants.quorums import Quorums
from tests.protocols.own.raising import Fickle, Moody, Raising, RaisingAfterAll, RaisingAtOnce
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.making import counterexample
from zabcheck.protocols.adapter import imported
from zabcheck.protocols.switches import LETTER
from zabcheck.search.machine import ProtocolRaised, Search, find
from zabcheck.search.minimise import minimise_raise, raises
from zabcheck.search.run import PropertyBroken, Run, replay, schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice, Elect, Lead, Receive, Request, Settle, Stabilise
from zabcheck.simulation.schedule import Schedule

RAISING, AT_ONCE, AFTER_ALL = (
    f"tests.protocols.own.raising:{each.__name__}" for each in (Raising, RaisingAtOnce, RaisingAfterAll)
)


def found(name: str) -> ProtocolRaised:
    """Return the exception at which a search stops."""
    with pytest.raises(ProtocolRaised) as stopped:
        find(Search(imported(name), properties=("core",), rng=1, runs=300))
    return stopped.value


def raised_in(name: str, *choices: AnyChoice) -> ProtocolRaised:
    """Return the exception at which a search that made these choices would stop."""
    replayed = replay(schedule_of(imported(name).name, None, 3, choices))
    assert replayed.raised is not None
    return ProtocolRaised(replayed.raised, replayed.protocol, choices, LETTER, Quorums(3))


def reduced(error: ProtocolRaised) -> Schedule:
    return minimise_raise(error.protocol, error.schedule, error.raised.place).schedule


@pytest.mark.parametrize("name", [RAISING, AT_ONCE, AFTER_ALL])
def test_a_search_stops_and_its_schedule_raises_again(name: str) -> None:
    error = found(name)
    assert raises(error.protocol, error.schedule, error.raised.place) is not None
    again = replay(error.schedule)
    assert again.raised is not None
    assert again.raised.place == error.raised.place
    assert {verdict.status for verdict in again.verdicts} <= {"inconclusive", "violated"}


def test_the_schedule_becomes_minimal_and_raises_in_the_same_line() -> None:
    error = found(RAISING)
    protocol, place = error.protocol, error.raised.place
    least = reduced(error)
    assert raises(protocol, least, place) == (least.choices, len(least.choices))
    for index in range(len(least.choices)):
        shorter = structs.replace(least, choices=least.choices[:index] + least.choices[index + 1 :])
        assert raises(protocol, shorter, place) is None
    assert least.processes == 2
    assert sum(isinstance(choice, Request) for choice in least.choices) == 3
    assert schedules.load(schedules.dump(least), "it") == least


def test_what_does_not_raise_cannot_be_minimised() -> None:
    error = found(RAISING)
    with pytest.raises(ValueError, match="the schedule does not raise KeyError at"):
        minimise_raise(error.protocol, schedule_of(RAISING, None, 3, [Elect(1, 1)]), error.raised.place)


def test_a_choice_that_stands_for_several_is_taken_apart() -> None:
    assert reduced(raised_in(AFTER_ALL, Lead(1, (2, 3)), Settle(2))).choices == (Lead(1, (2,)), Receive(1, 2))


def test_a_step_that_raises_in_the_calm_at_the_end_counts_too() -> None:
    least = reduced(raised_in(AFTER_ALL, Stabilise(1, (1, 2))))
    assert not any(isinstance(choice, Stabilise) for choice in least.choices)


def test_the_report_names_the_exception_the_line_and_the_steps() -> None:
    replayed, story = counterexample(found(RAISING))
    text = to_text(story, 100)
    assert text.startswith("the protocol's own code raised an exception; no property was judged\nKeyError: 3\n")
    assert "violated" not in text
    assert "handling  p1, Copy(" in text or "handling  p2, Copy(" in text
    [_, traceback, *_] = text.split("Traceback of the protocol's code\n")
    lines = traceback.split("\n\n")[0].splitlines()
    assert [line.strip() for line in lines if "File" not in line] == [
        'self.look_up({0: "a", 1: "b", 2: "c"}, m.txn.zxid.epoch)',
        "return table[key]",
    ]
    assert all("raising.py" in line for line in lines if "File" in line)
    assert f"{len(story.moments)} steps, trace SHA-256 {replayed.sha256[:16]}" in text


def test_a_process_that_cannot_start_is_reported_without_steps() -> None:
    replayed, story = counterexample(found(AT_ONCE))
    assert replayed.schedule.choices == story.moments == ()
    assert r"RuntimeError: not [today], not ever \x1b[31m" in to_text(story)


def test_a_process_that_writes_to_itself_without_end_is_stopped() -> None:
    raised = replay(schedule_of(imported("tests.protocols.own.raising:Endless").name, None, 1, [Elect(1, 1)])).raised
    assert raised is not None
    assert raised.said == "RuntimeError: sends itself messages without end, 2000 of them so far"
    assert raised.place == (RuntimeError, "", 0)


def test_a_protocol_that_is_not_deterministic_is_told_so() -> None:
    error = raised_in("tests.protocols.own.raising:Moody", Request(1))
    with pytest.raises(ValueError, match="if it did before, the protocol is not deterministic"):
        reduced(error)


def test_what_is_raised_only_in_the_search_is_told_with_its_step() -> None:
    Moody.moods = 0
    error = raised_in("tests.protocols.own.raising:Moody", Request(1))
    said = r"choice 1, Request\(process=1, value=None\), raised KeyError: 'v1' in the search, and nothing afterwards"
    with pytest.raises(ValueError, match=said):
        counterexample(error)


def test_what_is_broken_only_in_the_search_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fickle, "left", 1)
    run = Run(imported("tests.protocols.own.raising:Fickle"), 1, select(["integrity"]))
    run.execute(Request(1))
    said = "after 1 choice integrity was violated in the search, and not again in 5 executions, which were all alike: "
    with pytest.raises(ValueError, match=said):
        counterexample(PropertyBroken("integrity", run))


@pytest.mark.parametrize("often", range(6))
def test_whenever_a_protocol_stops_to_do_the_same_it_is_told_so(often: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fickle, "left", often + 1)
    run = Run(imported("tests.protocols.own.raising:Fickle"), 1, select(["integrity"]))
    run.execute(Request(1))
    with pytest.raises(ValueError, match="the protocol is not deterministic"):
        counterexample(PropertyBroken("integrity", run))


def test_what_does_not_happen_again_is_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fickle, "left", 1)
    replayed = replay(schedule_of(imported("tests.protocols.own.raising:Fickle").name, None, 1, [Request(1)]))
    with pytest.raises(ValueError, match="the protocol is not deterministic"):
        explain_replay(replayed)


def test_switches_that_are_kept_are_kept() -> None:
    error = raised_in(AFTER_ALL, Lead(1, (2, 3)), Settle(2))
    for keep in ((), ("elections",)):
        replayed, _ = counterexample(error, keep=keep)
        assert replayed.schedule.switches.elections == ("apart" if keep else "together")


def test_a_bug_of_zabcheck_is_none_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    from zabcheck.simulation.channels import Channels

    def fail(*_: object) -> int:
        raise AssertionError("ours")

    monkeypatch.setattr(Channels, "send", fail)
    with pytest.raises(AssertionError, match="ours"):
        replay(schedule_of(RAISING, None, 3, [Elect(1, 2)]))


def test_a_test_of_such_a_protocol_is_an_error_and_no_failure(tmp_path: Path) -> None:
    result = unittest.TestResult()
    zabcheck.machine_for(Raising, runs=100, out=tmp_path).TestCase("runTest").run(result)
    assert result.failures == []
    [(_, message)] = result.errors
    assert "KeyError: 3" in message
    assert "violated" not in message
    saved = sorted(path.name for path in tmp_path.iterdir())
    assert all(name.startswith("tests.protocols.own.raising-Raising-raised-") for name in saved)
    assert len(saved) == 4


def test_two_classes_of_one_name_are_not_confused(tmp_path: Path) -> None:
    machines = []
    for number in (1, 2):

        class Same(zabcheck.Process):
            which = number

            def on_started(self) -> None:
                raise RuntimeError(f"number {self.which}")

        machines.append(zabcheck.machine_for(Same, runs=5, out=tmp_path))
    for number, machine in enumerate(machines, 1):
        result = unittest.TestResult()
        machine.TestCase("runTest").run(result)
        [(_, message)] = result.errors
        assert f"RuntimeError: number {number}" in message
