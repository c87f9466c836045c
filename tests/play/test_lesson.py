"""A lesson of one's own: what is taken away is what comes back, and what is wrong in a file is told with its place."""

import re

import msgspec
import pytest

from tests.cli.command import ROOT
from tests.play.sessions import led
from zabcheck.mutants.catalogue import mutated
from zabcheck.play import lesson as lessons
from zabcheck.play.desk import Desk, Exercise
from zabcheck.play.lesson import LessonError
from zabcheck.play.regions import regions
from zabcheck.simulation import choices

SAVED = lessons.dump(led())
"""Three steps: lead, settle, request."""
PROTOCOL = mutated("zab", "commit-on-own-ack")


def test_what_is_taken_away_is_the_run_with_a_text_for_each_choice() -> None:
    lesson = lessons.load(Desk(led()).file("run.lesson.json"), "x")
    assert [step.text for step in lesson.steps] == ["lead 1 2 3", "settle 9", "request 1"]
    session = lessons.begun(lesson, PROTOCOL, SAVED, "x")
    assert session.here.number == 0
    session.go(3)
    assert session.shown().sha256 == led().shown().sha256
    assert lessons.dump(session) == SAVED


def test_the_text_of_a_step_is_shown_where_it_leads_and_nowhere_else() -> None:
    session = lessons.begun(lessons.load(SAVED, "x"), PROTOCOL, SAVED, "x")
    texts = ("Elect.", "", "Ask <p1>.")
    desk = Desk(session, Exercise("A title", "", "", "", "", lambda _: (), "", "", steps=texts))
    for number, said in enumerate(("", "Step 1 of 3: Elect.", "", "Step 3 of 3: Ask &lt;p1&gt;.")):
        session.go(number)
        shown = regions(desk)["exercise"]
        assert re.findall(r"<p>(Step .*?)</p>", shown) == ([said] if said else [])
        assert "Predict" not in shown
    session.do(choices.Sync(1))
    assert "Step" not in regions(desk)["exercise"].replace('aria-label="The step"', "")


EXAMPLE = ROOT / "docs/examples/too-early.lesson.json"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            '"process":1',
            '"process":2',
            "x, line 5, field `steps[2].choice`: not possible when its turn comes: p2 takes",
        ),
        ('"rounds":9', '"rounds":"9"', "x, line 4, field `steps[1].choice.rounds`: Expected `int`"),
        ('"quorums":"majority"', '"quorums":"grid"', "x, line 2, field `quorums`: "),
        ('"breaks":"chosen"', '"breaks":"chosem"', "x, line 1, field `breaks`: "),
    ],
)
def test_the_line_is_told_however_the_file_is_laid_out(old: str, new: str, why: str) -> None:
    data = EXAMPLE.read_text(encoding="utf-8").replace(old, new).encode()
    with pytest.raises(LessonError) as refused:
        lessons.begun(lessons.load(data, "x"), PROTOCOL, data, "x")
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('{"lesson":1', '{"lesson":2', "x, line 1, field `lesson`: expected 1"),
        ('{"lesson":1', '{"event":1', "x: expected a lesson, this looks like a trace"),
        ('"title"', '"tittle"', "x, line 1, field `tittle`: no such field; did you mean `title`?"),
        ("\n]}", "\n", "x, line 4: expected a lesson as one JSON object, Input data was truncated"),
        ('"process":1', '"process":9', "x, line 4, field `steps[2].choice.process`: expected a process from 1 to 3"),
        ('"choice":"settle"', '"choice":"setle"', "x, line 3, field `steps[1].choice.choice`: "),
        ('"text":"settle 9"', '"text":9', "x, line 3, field `steps[1].text`: "),
        (
            '"breaks":null',
            '"breaks":"agrement"',
            "x, line 1, field `breaks`: no property `agrement`; did you",
        ),
        ('"breaks":null', '"breaks":"agreement"', "x, line 1, field `task`: expected one beside `breaks`, found none"),
        ('"task":""', '"task":"Lose it."', "x, line 1, field `breaks`: expected one beside `task`, found none"),
        ('"quorums":"majority"', '"quorums":"weights 1,2"', "x, line 1, field `quorums`: "),
        (
            '"process":1',
            '"process":2',
            "x, line 4, field `steps[2].choice`: not possible when its turn",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, why: str) -> None:
    data = SAVED.decode().replace(old, new)
    assert data != SAVED.decode()
    with pytest.raises(LessonError) as refused:
        lessons.begun(lessons.load(data.encode(), "x"), PROTOCOL, data.encode(), "x")
    assert str(refused.value).startswith(why)


def test_a_task_that_the_run_does_itself_is_refused() -> None:
    session = led()
    session.do(choices.Sync(1))
    fields = msgspec.json.decode(lessons.dump(session)) | {"task": "Break it.", "breaks": "chosen"}
    data = msgspec.json.encode(fields)
    with pytest.raises(LessonError, match=r"field `steps\[3\].choice`: expected a run that leaves the task"):
        lessons.begun(lessons.load(data, "x"), PROTOCOL, data, "x")
