"""What simulator runs showed: the saved counterexamples of all mutants.

Without the events of the environment, some of which belong to no process, so that the rest can be merged in any order.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from invariants import End, Event, Header
from invariants.events import ENVIRONMENT_EVENTS
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules

SCHEDULES = Path(__file__).parents[1] / "schedules"


def _recorder(file: Path) -> Callable[[], list[Event]]:
    @cache
    def record() -> list[Event]:
        events = replay(schedules.load(file.read_bytes(), file.name)).events
        return [event for event in events if not isinstance(event, (*ENVIRONMENT_EVENTS, Header, End))]

    return record


def _processes(file: Path) -> int:
    return schedules.load(file.read_bytes(), file.name).processes


RECORDED = {file.stem: _recorder(file) for file in sorted(SCHEDULES.glob("*.json"))}
"""By the name of the schedule: what gives the events, in the order of time."""

PROCESSES = {file.stem: _processes(file) for file in sorted(SCHEDULES.glob("*.json"))}
"""By the name of the schedule: how many processes there are."""
