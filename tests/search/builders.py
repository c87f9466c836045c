"""Schedules that break something: recorded ones, which a search found and `minimise` reduced."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from zabcheck.protocols import PROTOCOLS
from zabcheck.search.minimise import SECONDS, Failure, breaks, minimise
from zabcheck.search.moves import MOVES, weights_for
from zabcheck.search.run import named_by, replay, simulate
from zabcheck.simulation.choices import FINE, Hear
from zabcheck.simulation.schedule import Schedule, load
from zabcheck.simulation.simulator import Simulator

RECORDED: dict[str, Schedule] = {
    path.stem: load(path.read_bytes(), path.name)
    for path in sorted((Path(__file__).parents[1] / "schedules").glob("*.json"))
}
"""The recorded schedules, by mutant and property."""


_ZABS = weights_for(PROTOCOLS["zab"])
FINE_OF_ZAB = [
    kind
    for kind in FINE
    for tag in [str(kind.__struct_config__.tag)]
    if kind is not Hear and _ZABS.get(tag, tag not in MOVES)
]
"""The kinds of fine choices that a search of Zab can make: it has no threads, and elections by an oracle."""


def broken(schedule: Schedule, properties: Sequence[str] | None = None) -> list[str]:
    """The properties that this schedule breaks."""
    return [verdict.property for verdict in replay(schedule, properties).verdicts if verdict.status == "violated"]


def simulator_of(schedule: Schedule) -> Simulator:
    """A simulator with none of the choices executed, which shows nothing."""
    return simulate(named_by(schedule), schedule, lambda _: None)


def minimised(schedule: Schedule, property_: str, seconds: float = SECONDS) -> Schedule:
    """Minimise this schedule, on the protocol that it names."""
    return minimise(named_by(schedule), schedule, property_, seconds).schedule


def failure_of(schedule: Schedule, property_: str) -> Failure | None:
    """Return the failure of this schedule to keep the property; None if it keeps it."""
    return breaks(named_by(schedule), schedule, property_)


def breaks_alone(schedule: Schedule) -> bool:
    """Return True if the property that the schedule names is broken, judged by nothing else."""
    assert schedule.violates is not None
    return broken(schedule, [schedule.violates]) == [schedule.violates]


def on(schedule: Schedule, mutant: str | None) -> Schedule:
    """The same choices on another mutant, or on none."""
    return structs.replace(schedule, mutant=mutant)
