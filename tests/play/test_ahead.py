"""The choices of a page, where they are, and why others are not; and the end of a run, told as in the whole run."""

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.play.sessions import LED, led
from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import mutated
from zabcheck.play.ahead import MANY, MOST_WAITING, OVER, Offer, look, waiting
from zabcheck.play.desk import Desk
from zabcheck.play.naming import LEAVE_ALONE
from zabcheck.play.regions import regions
from zabcheck.play.session import Session
from zabcheck.protocols.base import Effect, Request
from zabcheck.search.recording import recorder
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator


def offers(session: Session) -> list[Offer]:
    ahead = look(session).ahead
    grouped = (*ahead.at.values(), *ahead.between.values(), ahead.whole)
    return [*(offer for _, offer in ahead.nexts), *(offer for group in grouped for offer in group)]


def test_every_choice_that_is_possible_has_a_place_and_no_other_is_offered_as_one() -> None:
    session = led()
    session.do(choices.Cut(1, 2))
    session.do(choices.Crash(3))
    possible = [option.choice for option in session.options()]
    found = [offer.choice for offer in offers(session) if not offer.why_not]
    by_name = [*map(str, (choices.Elect(1, 2), choices.Elect(2, 1), choices.Settle(1)))]
    assert {*map(str, found)} == {*map(str, possible), *by_name}
    for offer in offers(session):
        if isinstance(offer.choice, choices.Lead) and offer.why_not:
            assert (offer.choice.leader, offer.why_not) == (3, "p3 is down")  # its followers could be told so
        elif offer.why_not:
            assert session.why_not(offer.choice), offer


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (choices.Recover(1), "p1 is up"),
        (choices.Timeout(3), "p3 is down"),
        (choices.Request(2), "p2 takes no requests: it is not an established leader"),
        (choices.Receive(2, 1), "the link from p1 to p2 is obstructed"),
    ],
)
def test_what_is_not_possible_says_why(choice: Choice, why: str) -> None:
    session = led()
    session.do(choices.Cut(1, 2))
    session.do(choices.Crash(3))
    assert why in [offer.why_not for offer in offers(session) if offer.choice == choice]


def test_a_protocol_that_need_not_come_to_rest_is_left_alone_for_many_rounds() -> None:
    """Where nobody looks for another leader, no quiet end is promised."""
    session = Session(mutated("paxos"), 3)
    last = look(session).ahead.whole[-1]
    assert (last.choice, last.why_not) == (choices.Settle(MANY), "it would change nothing")
    session.do(choices.Lead(1, (2, 3)))
    last = look(session).ahead.whole[-1]
    assert (last.words, last.why_not) == (LEAVE_ALONE, "")
    session.do(last.choice)
    assert session.why_not(choices.Settle(1)) == "it would change nothing"


def test_a_look_leaves_nothing_that_only_the_garbage_collector_frees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has the collector run seldom: 10,000 steps took 450 MB with what was left, and 180 without."""
    left: list[weakref.ref[Simulator]] = []

    def noted(simulator: Simulator, *more: Any) -> Any:
        left.append(weakref.ref(simulator))
        return recorder(simulator, *more)

    monkeypatch.setattr("zabcheck.play.ahead.recorder", noted)
    gc.disable()
    try:
        look(led())
        assert [each() for each in left] == [None]
    finally:
        gc.enable()


def test_a_message_that_waits_behind_another_is_told_with_its_own_name() -> None:
    session = led()
    session.do(choices.Sync(1))
    waiting = [(each.message, offer) for each, offer in look(session).ahead.nexts if not each.is_possible]
    assert [offer.words for _, offer in waiting] == ["p2 ← p1 COMMIT(⟨1,1⟩)", "p3 ← p1 COMMIT(⟨1,1⟩)"]
    assert {offer.why_not for _, offer in waiting} == {"what was sent before it comes first"}


def test_of_many_messages_that_wait_the_further_ones_are_counted_and_listed() -> None:
    session = led()
    session.follow([choices.Request(1)] * 8)
    here = look(session)
    rows = [offer for each, offer in here.ahead.nexts if not each.is_possible]
    assert (len(rows), len(here.ahead.waiting)) == (MOST_WAITING, 4)
    assert waiting(session, session.options(), session.story().flights) == [*rows, *here.ahead.waiting]
    picture = regions(Desk(session))["picture"]
    _, further, listed = picture.partition("<summary>4 further messages under way, not to be handled yet</summary>")
    assert further
    for offer in here.ahead.waiting:
        assert f"<li>{offer.words} <small>what was sent before it comes first</small></li>" in listed
    assert "further message" not in regions(Desk(led()))["picture"]


def test_rows_and_choices_that_are_not_drawn_are_counted() -> None:
    session = led()
    session.follow([choices.Request(1)] * 50)
    session.go(4)
    session.do(choices.Crash(1))
    desk = Desk(session)
    desk.act(b'{"act":"compare","number":53}')
    shown = regions(desk)
    assert "<tr><td></td><td></td><td>… 9 more</td></tr>" in shown["compared"]
    session.go(53)
    assert "Not drawn: 32 earlier rows" in regions(Desk(session))["picture"]


def last(story: Story, count: int) -> tuple[object, ...]:
    """The story of the last steps."""
    return tuple((m.step, m.process, m.action, m.shown, m.sent, m.lost, m.changes) for m in story.moments[-count:])


@given(st.lists(st.integers(0, 99), max_size=12), st.integers(1, 30))
def test_the_end_of_a_run_is_told_as_the_whole_run_tells_it(picks: list[int], rows: int) -> None:
    session = led()
    for pick in picks:
        possible = session.options()
        session.do(possible[pick % len(possible)].choice)
    here, whole = look(session, rows), session.story()
    told = here.story
    assert last(told, len(told.moments)) == last(whole, len(told.moments))
    assert (told.sha256, told.violation, told.explanation) == (whole.sha256, whole.violation, whole.explanation)
    assert [*here.positions] == [moment.step for moment in told.moments]
    assert here.positions == {} or here.positions[told.moments[-1].step] is session.here


def test_a_message_under_way_ends_in_the_row_of_the_step_that_would_handle_it() -> None:
    session = led()
    session.do(choices.Sync(1))
    here = look(session)
    nexts = [each for each, _ in here.ahead.nexts]
    placed = diagram.layout(here.story, labels_by_step(here.story), nexts)
    ways = {way.flight.number: way for way in placed.ways if way.row is not None}
    assert {*ways} == {each.message for each in nexts if each.message is not None}
    for row, each in enumerate(nexts):
        if each.message is not None:
            assert ways[each.message].end == (placed.lanes.x(each.process), placed.lanes.next(row))
            assert placed.lanes.next(row) < placed.lanes.height


def test_a_step_that_raises_is_the_last_one_and_is_not_taken_again() -> None:
    taken = []

    def raises(*_: object) -> list[Effect]:
        taken.append(1)
        raise KeyError("mine")

    protocol = mutated("zab")
    session = Session(structs.replace(protocol, steps={**protocol.steps, Request: raises}), 3)
    session.follow(LED)
    here = look(session)
    assert len(taken) == 1
    assert here.story.raised is not None
    assert here.story.moments[-1].action == "client: request"
    assert here.ahead.nexts == ()
    assert {offer.why_not for offer in offers(session)} == {OVER}
    session.undo()
    assert choices.Request(1) in [offer.choice for _, offer in look(session).ahead.nexts]
