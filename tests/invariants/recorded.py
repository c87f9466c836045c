"""Events of simulator runs: the saved counterexamples of all mutants.

Without the events of the environment, some of which belong to no process, so that the rest can be merged in any order.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from invariants import End, Event, Header
from invariants.events import ENVIRONMENT_EVENTS
from invariants.quorums import MAJORITY
from zabcheck.search.run import replay
from zabcheck.simulation.schedule import Schedule, load

SCHEDULES = Path(__file__).parents[1] / "schedules"


def _recorder(schedule: Schedule) -> Callable[[], list[Event]]:
    @cache
    def record() -> list[Event]:
        return [event for event in replay(schedule).events if not isinstance(event, (*ENVIRONMENT_EVENTS, Header, End))]

    return record


_BY_MAJORITY = {
    file.stem: schedule
    for file in sorted(SCHEDULES.glob("*.json"))
    if (schedule := load(file.read_bytes(), file.name)).quorums == MAJORITY
}
"""The header of a trace that a test writes names no other quorum system."""

RECORDED = {name: _recorder(schedule) for name, schedule in _BY_MAJORITY.items()}
"""Makers of the events of each schedule by its name, in the order of time."""

PROCESSES = {name: schedule.processes for name, schedule in _BY_MAJORITY.items()}
"""The number of processes of each schedule, by its name."""
