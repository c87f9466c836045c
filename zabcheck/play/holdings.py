"""The state of each process beside its variables: its deliveries, and the variables that a crash now would change."""

from collections.abc import Iterable, Mapping

from zabcheck.counterexample.traced import first_deliveries
from zabcheck.invariants import Event, Txn
from zabcheck.play.session import Position, Session
from zabcheck.protocols.base import StepRaised, Variables
from zabcheck.search.recording import variables_of
from zabcheck.simulation.choices import Crash, Recover
from zabcheck.simulation.simulator import Simulator


def delivered(events: Iterable[Event], simulator: Simulator) -> dict[int, tuple[Txn, ...]]:
    """Return the first deliveries of the incarnation that each process is in, from all events of its run. O(events)."""
    found = {(process, number): txns for process, number, txns in first_deliveries([*events])}
    return {process: found.get((process, simulator.incarnations[process]), ()) for process in simulator.ids}


def delivered_at(session: Session, position: Position) -> dict[int, tuple[str, ...]]:
    """Return what `delivered` returns for the run up to a position, in words."""
    events = (event for each in position.path for event in each.events)
    found = delivered(events, session.simulator_at(position))
    return {process: tuple(map(str, txns)) for process, txns in found.items()}


def on_disk(simulator: Simulator) -> dict[int, dict[str, str | tuple[str, ...]]]:
    """Return the variables of each process that differ from what its disk has, with the values on the disk.

    They are those in which a process that crashed now, and recovered, would differ from one that had synced first. A
    process that cannot do that has none. Cost: two such crashes, on a copy, for each process with an unsynced write.
    """
    found = {}
    for process in simulator.ids:
        unsynced = len(simulator.disks[process].unsynced)
        if unsynced and simulator.is_up(process):
            without, synced = (_after_crash(simulator, process, keep) for keep in (0, unsynced))
            if without is not None and synced is not None:
                found[process] = {
                    variable: value for variable, value in without.items() if value != synced.get(variable, value)
                }
    return found


def _after_crash(simulator: Simulator, process: int, keep: int) -> Variables | None:
    twin = simulator.fork(lambda _: None)
    try:
        if not (twin.execute(Crash(process, keep)) and twin.execute(Recover(process))):
            return None
    except StepRaised:
        return None
    variables: Mapping[int, Variables | None] = variables_of(twin)
    return variables[process]
