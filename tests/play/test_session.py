"""A session: a run that goes on by hand, back, and another way; whatever was tried stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.cli.command import ROOT
from tests.play.sessions import LED, led
from zabcheck.invariants import Activate
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.possible import candidates
from zabcheck.play.session import NotPossible, Session
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Elected
from zabcheck.search.run import replay
from zabcheck.simulation import choices, schedule
from zabcheck.simulation.choices import Choice

BUG = mutated("zab", "commit-on-own-ack")


def test_a_property_breaks_at_a_step_and_is_whole_again_before_it() -> None:
    session = led()
    assert session.here.broken == ()
    assert session.do(choices.Sync(1)).broken == ("chosen",)
    assert session.do(choices.Crash(2)).broken == ("chosen",)
    assert session.undo().broken == ("chosen",)
    assert session.undo().broken == ()
    assert session.do(choices.Receive(2, 1)).broken == ()


def test_what_the_end_of_a_run_breaks_is_broken_where_the_run_may_end() -> None:
    """An unfounded snapshot is pending as long as the run goes on: somebody might still show what it holds."""
    saved = schedule.load((ROOT / "reports/gallery/keep-own-history.loss.schedule.json").read_bytes(), "saved")
    session = Session.of(mutated("zab", saved.mutant), saved)
    assert session.here.breaks == ("integrity",) == (session.schedule().violates,)
    assert session.undo().broken == ()


def test_what_a_run_has_shown_is_what_it_shows_when_it_is_executed_again() -> None:
    session = led()
    for choice in (choices.Sync(1), choices.Crash(2), choices.Quiesce()):
        session.do(choice)
        shown, again = session.shown(), session.replay()
        assert (shown.sha256, shown.verdicts, shown.goals) == (again.sha256, again.verdicts, again.goals)
        assert shown == again


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=12))
def test_a_position_whose_state_is_not_kept_is_as_it_was(picks: list[tuple[int, int]]) -> None:
    kept = led()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zabcheck.play.session.LATEST", 1)
        thrifty = led()
        for back, pick in picks:
            sides = []
            for session, latest, every in ((kept, 999, 999), (thrifty, 1, 3)):
                patch.setattr("zabcheck.play.session.LATEST", latest)
                patch.setattr("zabcheck.play.session.EVERY", every)
                session.go(back % len(session.positions))
                possible = session.options()
                session.do(possible[pick % len(possible)].choice)
                sides.append((possible, session.here.events, session.here.broken, session.verdicts()))
            assert sides[0] == sides[1]
    assert len(thrifty._latest) <= 1


def test_a_long_run_keeps_fewer_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 choices with 50 branches stay below 200 MB: `python -m benchmarks play` measures it."""
    monkeypatch.setattr("zabcheck.play.session.LONG", 2)
    monkeypatch.setattr("zabcheck.play.session.LATEST", 40)
    monkeypatch.setattr("zabcheck.play.session.FEWEST_LATEST", 10)
    session = led()
    kept = []
    for _ in range(20):
        session.do(choices.Request(1))
        kept.append(len(session._latest))
    assert (max(kept), kept[-1]) == (10, 10)
    assert session.go(3).choice == choices.Request(1)


def test_a_notebook_shows_the_run_up_to_where_the_session_is() -> None:
    session = led()
    before = session._repr_html_()
    assert before.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    session.do(choices.Sync(1))
    assert "chosen is violated" in session._repr_html_()
    session.undo()
    assert session._repr_html_() == before


def test_what_was_tried_stays_as_a_tree() -> None:
    session = led()
    parting = session.here
    first, second = session.do(choices.Sync(1)), session.go(parting.number) and session.do(choices.Crash(2))
    assert [each.number for each in session.branches()] == [first.number, second.number]
    assert second.path[:-1] == first.path[:-1] == parting.path
    assert parting.after == [first, second]
    session.undo()
    assert session.redo() is second
    session.go(first.number)
    session.go(0)
    assert [session.redo() for _ in range(9)][-1] is first


def test_a_choice_that_was_made_before_leads_where_it_led() -> None:
    session = led()
    first = session.do(choices.Sync(1))
    session.undo()
    assert session.do(choices.Sync(1)) is first
    assert len(session.positions) == first.number + 1


def test_a_run_is_saved_as_fine_choices_that_show_the_same_events_again() -> None:
    session = led()
    session.do(choices.Sync(1))
    replayed = replay(session.schedule())
    assert session.schedule().violates == "chosen"
    assert replayed.skipped == 0
    assert replayed.events[1:-1] == [event for each in session.here.path for event in each.events]
    again = Session.of(BUG, session.schedule())
    assert again.here.broken == ("chosen",)
    assert again.schedule() == session.schedule()


def test_a_session_at_the_end_of_a_schedule_has_a_position_for_each_choice() -> None:
    schedule = led().schedule()
    session = Session.of(BUG, schedule)
    assert [each.choice for each in session.here.path[1:]] == list(schedule.choices)


def test_without_the_bug_the_same_choices_break_nothing() -> None:
    session = led()
    session.do(choices.Sync(1))
    assert session.with_protocol(mutated("zab")).here.broken == ()
    assert led(None).with_protocol(BUG).do(choices.Sync(1)).broken == ("chosen",)


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (choices.Receive(2, 3), "no message from p3 to p2 is under way"),
        (choices.Receive(3, 1), "the link from p1 to p3 is obstructed"),
        (choices.Request(2), "p2 takes no requests: it is not an established leader"),
        (choices.Recover(1), "p1 is up"),
        (choices.Sync(3), "p3 has nothing to do for it"),
        (choices.Mend(2, 3), "it would change nothing"),
        (choices.Timeout(7), "there is no p7"),
        (choices.Run(1, "log"), "p1 has nothing to do for it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_choice_that_is_not_possible_is_refused_and_changes_nothing(choice: Choice, why: str) -> None:
    session = led()
    session.do(choices.Cut(1, 3))
    here, known = session.here, len(session.positions)
    assert session.why_not(choice) == why
    with pytest.raises(NotPossible, match=f"^{why}$"):
        session.do(choice)
    assert (session.here, len(session.positions)) == (here, known)


def test_a_process_that_is_down_or_paused_does_nothing() -> None:
    session = led()
    session.do(choices.Pause(2))
    assert session.why_not(choices.Receive(2, 1)) == "p2 is paused"
    session.do(choices.Crash(3))
    assert session.why_not(choices.Receive(3, 1)) == "p3 is down"
    assert session.why_not(choices.Crash(3)) == "p3 is down"
    assert session.why_not(choices.Recover(3)) == ""


def test_a_choice_that_the_protocol_does_not_know_is_refused() -> None:
    assert Session(mutated("db19"), 3).why_not(choices.Crash(1)) == "db19 has no choice `crash`"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_session_begins_with_every_protocol(protocol: str) -> None:
    session = Session(mutated(protocol), 3)
    assert session.options()
    assert session.story().processes == 3


def test_a_configuration_that_changes_begins_with_all_processes() -> None:
    session = Session(mutated("zab-reconfiguration"), 3)
    assert session.follow([*LED[:2], choices.Request(1, "config 1,2"), choices.Settle(9)]) == 0
    assert session.schedule().quorums == "config 1,2,3"
    assert {"activation", "one chain"} <= set(session.properties)
    assert "config 1,2" in [event.txn.value for event in session.replay().events if isinstance(event, Activate)]


def test_a_protocol_whose_code_raises_ends_the_run_there(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def raises(process: object, sender: int, message: object) -> list[object]:
        calls.append(message)
        raise RuntimeError("it cannot")

    protocol = mutated("zab")
    broken = replace(protocol, steps={**protocol.steps, Elected: raises})
    session = Session(broken, 3)
    assert session.options()[0].choice == choices.Lead(1, (2, 3))
    tried = len(calls)
    assert session.options()[0].choice == choices.Lead(1, (2, 3))
    assert len(calls) == tried, "a step that does not return is not waited for again"
    raised = session.do(choices.Lead(1, (2, 3))).raised
    assert raised is not None
    assert raised.said == "RuntimeError: it cannot"
    assert session.options() == []
    with pytest.raises(NotPossible, match="the run is over"):
        session.do(choices.Crash(2))
    assert session.undo().raised is None
    assert session.do(choices.Crash(2)).raised is None


@given(picks=st.lists(st.integers(0, 10**6), max_size=25))
def test_every_option_is_possible_and_every_other_candidate_is_not(picks: list[int]) -> None:
    session = Session(mutated("zab", "no-truncation"), 3)
    for pick in picks:
        options = session.options()
        some = [option.choice for option in options]
        assert len(set(some)) == len(some)
        for candidate in candidates(session.simulator):
            assert (session.why_not(candidate) == "") == (candidate in some)
        option = options[pick % len(options)]
        assert session.do(option.choice).events == option.events
