"""Twelve lessons: each way leads where it is said to lead, and the bug of a lesson is to blame for it."""

import pytest

from zabcheck.mutants.catalogue import mutated
from zabcheck.papers.lessons import LESSONS
from zabcheck.papers.lessons.base import Lesson, Way
from zabcheck.play.session import Session
from zabcheck.search.run import named_by

WAYS = [(lesson, way) for lesson in LESSONS.values() for way in lesson.ways]


def ended(lesson: Lesson, way: Way) -> tuple[Session, bool]:
    """Go a way of a lesson; return the session, and whether the task is done."""
    session = Session.of(named_by(lesson.given), lesson.given)
    assert session.follow(way.choices) == 0
    assert len(session.here.path) == 1 + len(lesson.given.choices) + len(way.choices)
    events = (event for position in session.here.path for event in position.events)
    return session, lesson.task.is_done(events, session.here.broken)


def test_there_are_twelve() -> None:
    assert len(LESSONS) == 12
    assert all(lesson.name == name and lesson.solution.does_it for name, lesson in LESSONS.items())


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=LESSONS)
def test_a_lesson_begins_with_nothing_broken_and_its_task_undone(lesson: Lesson) -> None:
    session, done = ended(lesson, Way("", (), ""))
    assert session.here.broken == ()
    assert not done


@pytest.mark.parametrize(("lesson", "way"), WAYS, ids=[f"{lesson.name}: {way.label}" for lesson, way in WAYS])
def test_a_way_does_the_task_or_not_and_zab_withstands_it(lesson: Lesson, way: Way) -> None:
    session, done = ended(lesson, way)
    assert done == way.does_it
    if session.protocol.mutant is not None:
        assert session.with_protocol(mutated(session.protocol.name)).here.broken == ()


def test_invariant_4_breaks_before_anything_wrong_is_delivered() -> None:
    lesson = LESSONS["invariant-4"]
    session, _ = ended(lesson, lesson.solution)
    assert session.here.broken == ("invariant 4",)
