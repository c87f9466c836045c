"""The choices of an ensemble's schedule: one class a choice, a module a family of choices.

A class has the fields of its JSON form, `words` for readers, and `apply`, which does it. To add a choice, write the
class in the module of its family: the schedule's JSON form takes it from there. Then draw it (`run/draw.py`), unless it
is only for schedules that are written by hand.
"""

from typing import TYPE_CHECKING, Union

from zabcheck.zookeeper.run.choices import (  # noqa: F401  # the classes
    in_step,
    links,
    points,
    reconfigure,
    servers,
    sessions,
    writes,
)
from zabcheck.zookeeper.run.choices.choice import Choice


def _kinds(base: type[Choice]) -> tuple[type[Choice], ...]:
    below = base.__subclasses__()
    return tuple(kind for each in below for kind in _kinds(each)) if below else (base,)


KINDS = _kinds(Choice)
"""The classes of all choices, without the bases that some share."""

if TYPE_CHECKING:
    AnyChoice = Choice
else:
    AnyChoice = Union[KINDS]  # noqa: UP007  # made from a tuple
