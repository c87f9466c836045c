"""A trace on the page: it is moved through, a violation shows once its witness does, and nothing can be chosen."""

from io import BytesIO
from typing import Any

import msgspec
import pytest

from tests.play.sessions import led
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.story import states_after
from zabcheck.counterexample.traced import story_of_trace
from zabcheck.invariants import Deliver, End, Header, check
from zabcheck.invariants import trace as trace_format
from zabcheck.play.desk import ActRefused
from zabcheck.play.reading import READ_ONLY, Reading
from zabcheck.simulation import choices


def reading(*more: choices.Choice, as_trace: bool = True) -> Reading:
    """A run of commit-on-own-ack with these choices after p1's sync, as a trace, or as it was executed."""
    session = led()
    assert session.follow([choices.Sync(1), *more]) == 0
    replayed = session.replay()
    if not as_trace:
        return Reading(explain_replay(replayed), "zabcheck play run.jsonl")
    lines = b"".join(trace_format.dump(replayed.events))
    events = list(trace_format.Reader(BytesIO(lines), "run.jsonl"))
    placed = [(line, each) for line, each in enumerate(events, 1) if not isinstance(each, Header | End)]
    header = events[0]
    assert isinstance(header, Header)
    story = story_of_trace(header, placed, check(events), unit="line", sha256="0" * 64, folded=False)
    return Reading(story, "zabcheck play run.jsonl")


def act(one: Reading, **fields: Any) -> dict[str, str]:
    one.act(msgspec.json.encode(fields))
    return one.regions()


@pytest.mark.parametrize("as_trace", [True, False])
def test_a_violation_is_told_from_the_end_of_its_witness_on(as_trace: bool) -> None:
    one = reading(choices.Crash(3), choices.Recover(3), as_trace=as_trace)
    shown = one.regions()
    assert "chosen is violated: p1 delivered" in shown["verdict"]
    assert "chosen: violated" in shown["properties"]
    *_, last = one.seen().moments
    assert any(isinstance(event, Deliver) for event in last.shown), "it begins there"
    assert 'id="s' + str(last.step) in shown["picture"]
    before = act(one, act="undo")
    assert "no property is violated up to here" in before["verdict"]
    assert "chosen" not in before["properties"]
    after = act(one, act="go")
    assert "chosen is violated" in after["verdict"]
    assert "total order: not exercised" in after["properties"]
    assert "not listed" not in after["properties"]


def test_what_has_not_arrived_yet_is_under_way() -> None:
    one = reading()
    sent = next(each for each in one.story.flights if each.received is not None)
    row = one._steps.index(sent.sent) + 1
    act(one, act="go", number=row)
    [flight] = [each for each in one.seen().flights if each.number == sent.number]
    assert (flight.sent, flight.received) == (sent.sent, None)
    assert act(one, act="go", number=0)["bar"].endswith('<span id="where">the beginning</span>')


def test_the_last_rows_lead_on_from_the_state_before_them() -> None:
    one = reading(*[choices.Crash(3), choices.Recover(3)] * 30)
    shown = act(one, act="go")
    assert len(one.story.moments) > len(one.seen().moments) == 40
    assert states_after(one.seen(), 39) == states_after(one.story, len(one.story.moments) - 1)
    assert act(one, act="redo")["bar"] == shown["bar"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"act": "do", "choice": {"choice": "crash", "process": 1}}, READ_ONLY),
        ({"act": "ask", "question": "decided"}, READ_ONLY),
        ({"act": "go", "number": 999}, "expected a position from 0 to "),
        ({"act": "walk"}, "no such act: "),
    ],
)
def test_nothing_can_be_chosen(fields: dict[str, Any], why: str) -> None:
    one = reading()
    with pytest.raises(ActRefused, match=why):
        act(one, **fields)
    assert one.version == 0


def test_the_page_that_stands_alone_can_be_taken() -> None:
    assert reading().file("run.html").startswith(b"<!DOCTYPE html>")
    with pytest.raises(ActRefused, match=r"there is no file run\.schedule\.json"):
        reading().file("run.schedule.json")
