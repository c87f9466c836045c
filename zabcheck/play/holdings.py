"""The state of each process beside its variables: its deliveries, and the variables that a crash now would change."""

from collections.abc import Iterable, Mapping

from zabcheck.counterexample.traced import first_deliveries
from zabcheck.invariants import Event, Txn, events
from zabcheck.play.session import Position, Session
from zabcheck.protocols.base import StepRaised, Variables
from zabcheck.search.recording import variables_of
from zabcheck.simulation.choices import Choice, Crash, Recover
from zabcheck.simulation.simulator import Simulator


def delivered(shown: Iterable[Event], simulator: Simulator) -> dict[int, tuple[Txn, ...]]:
    """Return the first deliveries of the incarnation that each process is in, from all events of its run. O(events)."""
    found = {(process, number): txns for process, number, txns in first_deliveries([*shown])}
    return {process: found.get((process, simulator.incarnations[process]), ()) for process in simulator.ids}


def delivered_at(session: Session, position: Position) -> dict[int, tuple[str, ...]]:
    """Return what `delivered` returns for the run up to a position, in words."""
    shown = (event for each in position.path for event in each.events)
    found = delivered(shown, session.simulator_at(position))
    return {process: tuple(map(str, txns)) for process, txns in found.items()}


def on_disk(session: Session, position: Position) -> dict[int, dict[str, str | tuple[str, ...]]]:
    """Return the variables of each process that differ from what its disk has at a position, with the values there.

    They are those in which a process that crashed now, and recovered, would differ from one that had synced first; of
    one that is down, from one that had synced before it crashed. A process that cannot do that has none. Cost: two
    crashes, on a copy, for each process that has, or had when it crashed, an unsynced write.
    """
    simulator = session.simulator_at(position)
    found = {}
    for process in simulator.ids:
        up = simulator if simulator.is_up(process) else _before_its_crash(session, position, process)
        unsynced = 0 if up is None else len(up.disks[process].unsynced)
        if up is not None and unsynced:
            lost = [Crash(process, 0), Recover(process)] if up is simulator else [Recover(process)]
            without = _after(simulator, process, lost)
            synced = _after(up, process, [Crash(process, unsynced), Recover(process)])
            if without is not None and synced is not None:
                found[process] = {
                    variable: value for variable, value in without.items() if value != synced.get(variable, value)
                }
    return found


def _before_its_crash(session: Session, position: Position, process: int) -> Simulator | None:
    """Return the simulator as it was before a process that is down crashed; None if it is down for another reason."""
    for each in reversed(position.path):
        if any(isinstance(event, events.Crash) and event.process == process for event in each.events):
            return None if each.before is None else session.simulator_at(each.before)
    return None


def _after(simulator: Simulator, process: int, taken: Iterable[Choice]) -> Variables | None:
    """Return the variables of a process after these choices; None if one of them is not possible."""
    twin = simulator.fork(lambda _: None)
    try:
        if not all(twin.execute(each) for each in taken):
            return None
    except StepRaised:
        return None
    variables: Mapping[int, Variables | None] = variables_of(twin)
    return variables[process]
