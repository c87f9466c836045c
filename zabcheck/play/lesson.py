"""A lesson of one's own: a run with a text for each of its choices, as a file that `zabcheck play --lesson` takes.

The file is JSON: the fields of a schedule, with `steps` in place of `choices`, and texts. A reader goes through the run
step by step, or another way; with a `task` they go on from its end until the property that it `breaks` is violated.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from zabcheck.invariants import select
from zabcheck.invariants.diagnosis import NOT_DECODED, line_of, malformed, place_of
from zabcheck.invariants.quorums import MAJORITY, quorums_of
from zabcheck.play.naming import named_at
from zabcheck.play.session import NotPossible, Session
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule, ScheduleError

LESSON_VERSION = 1
SUFFIX = ".lesson.json"
"""The end of the name of such a file, as `play` writes it."""
CHOICES = "steps[{}].choice"
"""The place of a choice in such a file, with braces for its index."""

_Text = Annotated[str, Meta(max_length=4000)]


class LessonError(ValueError):
    """A lesson that cannot be taken. The message is one line, with line and field."""


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice, and the text to read once it is made."""

    choice: AnyChoice
    text: _Text = ""


class OwnLesson(Struct, frozen=True, forbid_unknown_fields=True):
    """A lesson as it stands in its file."""

    lesson: Literal[1]
    title: _Text
    protocol: str
    processes: Annotated[int, Meta(ge=1, le=1000)]
    steps: tuple[Step, ...]
    introduction: _Text = ""
    question: _Text = ""
    task: _Text = ""
    breaks: str | None = None
    mutant: str | None = None
    quorums: str = MAJORITY
    switches: Switches = LETTER

    @property
    def schedule(self) -> Schedule:
        """Return the run, without its texts."""
        choices = tuple(step.choice for step in self.steps)
        return Schedule(1, self.protocol, self.processes, choices, self.mutant, self.quorums, None, self.switches)


def load(data: bytes, name: str) -> OwnLesson:
    """Read the lesson in `data`; `name` names the file in messages. LessonError with line and field."""
    if len(data) > schedules.MAX_BYTES:
        raise LessonError(f"{name}: expected a lesson of at most {schedules.MAX_BYTES} bytes")
    switches = schedules.switches_in(data)
    kind: Any = msgspec.defstruct("Lesson", [("switches", switches, switches())], bases=(OwnLesson,), frozen=True)
    try:
        lesson: OwnLesson = msgspec.json.decode(data, type=kind)
    except NOT_DECODED as error:
        raise LessonError(f"{name}{malformed(data, error, kind, 'lesson', LESSON_VERSION)}") from None
    try:
        quorums_of(lesson.quorums, lesson.processes)
        schedules.check_processes(lesson.schedule, data, name, CHOICES)
    except ScheduleError as error:
        raise LessonError(str(error)) from None
    except ValueError as error:
        raise LessonError(f"{name}{place_of(data, 'quorums')}: {error}") from None
    if lesson.breaks is not None:
        try:
            select([lesson.breaks])
        except ValueError as error:
            raise LessonError(f"{name}{place_of(data, 'breaks')}: {error}") from None
    if bool(lesson.task) != (lesson.breaks is not None):
        missing, other = ("breaks", "task") if lesson.task else ("task", "breaks")
        line = line_of(data, missing) or line_of(data, other)
        raise LessonError(f"{name}{line}, field `{missing}`: expected one beside `{other}`, found none")
    return lesson


def begun(
    lesson: OwnLesson, protocol: Protocol, data: bytes, name: str, properties: Sequence[str] | None = None
) -> Session:
    """Return a session at the beginning of the lesson's run. The position after step n has number n.

    If only some `properties` are judged, that of the task is, too.

    LessonError if a step is not possible when its turn comes, or if the run does the task itself; errors as in
    `Session()`.
    """
    if properties is not None and lesson.breaks is not None:
        properties = [*properties, lesson.breaks]
    session = Session.of(protocol, structs.replace(lesson.schedule, choices=()), properties)
    for index, step in enumerate(lesson.steps):
        path = CHOICES.format(index)
        where = f"{name}{place_of(data, path)}"
        try:
            reached = session.do(step.choice)
        except NotPossible as error:
            raise LessonError(f"{where}: not possible when its turn comes: {error}") from None
        if lesson.breaks in reached.broken:
            raise LessonError(f"{where}: expected a run that leaves the task to the reader, it breaks {lesson.breaks}")
    session.go(0)
    return session


def dump(session: Session) -> bytes:
    """Return the run up to where a session is as a lesson to be edited: each text says what the choice is."""
    schedule = session.schedule()
    path = session.here.path[1:]
    head = {
        "lesson": LESSON_VERSION,
        "title": f"A run of {schedule.protocol}",
        "introduction": "",
        "question": "",
        "task": "",
        "breaks": None,
        "protocol": schedule.protocol,
        "mutant": schedule.mutant,
        "processes": schedule.processes,
        "quorums": schedule.quorums,
        "switches": schedule.switches,
    }
    steps = b",\n  ".join(
        msgspec.json.encode({"choice": position.choice, "text": named_at(position)}) for position in path
    )
    return msgspec.json.encode(head)[:-1] + b',"steps":[\n  ' + steps + b"\n]}\n"
