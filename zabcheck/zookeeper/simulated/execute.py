"""The execution of a schedule on simulated servers, which leaves a recording as real processes do."""

from pathlib import Path
from threading import Event
from typing import NamedTuple

from zabcheck.zookeeper.run.execute import execute_on, recorded
from zabcheck.zookeeper.run.places import found_places
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder
from zabcheck.zookeeper.run.stops import Stops
from zabcheck.zookeeper.simulated.ensemble import SimulatedEnsemble
from zabcheck.zookeeper.simulated.simulator import Simulator

DRAWN = "-"
"""Stands for decisions that are drawn."""


class SimulatedRun(NamedTuple):
    """The result of a run: its decisions and their places, as in `ThreadOrder`, its version of Java, and its size."""

    decisions: str
    places: list[str]
    java: int
    taken: int
    steps: int
    switches: int
    leaked: int


def execute(
    schedule: EnsembleSchedule,
    simulator: Simulator,
    folder: Path,
    order: ThreadOrder,
    stop: Event | None = None,
    exact: bool = False,
) -> SimulatedRun:
    """Execute `schedule`, and write the recording into `folder`, which has to be empty.

    Raises as `run.execute.execute` does.
    """
    debugged = schedule.needs_agent
    if debugged:
        found_places(schedule, simulator.distribution)
    decisions = DRAWN if order.decisions is None else order.decisions or ","
    begin = ("begin", order.seed, order.strategy, order.first, order.second, decisions)
    ensemble: SimulatedEnsemble | None = None

    def clock() -> int:
        return 0 if ensemble is None else ensemble.now()

    with recorded(schedule, simulator.distribution.version, folder, clock, simulated=True) as record:
        with SimulatedEnsemble(simulator, schedule, folder, record, begin, order.seed, stop) as ensemble:
            stops = Stops(ensemble, record, ensemble.opened, schedule.cuts_power) if debugged else None
            execute_on(ensemble, schedule, stops, record, exact)
        return SimulatedRun(**ensemble.end)
