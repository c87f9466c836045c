"""Faults of db-19 that break no property by themselves: told by the state of the nodes after a schedule."""

from collections.abc import Callable, Iterator

from msgspec import structs

from tests.search.builders import simulator_of
from zabcheck.protocols.db19.node import Node, Role
from zabcheck.search.minimise import Failure, Minimiser
from zabcheck.search.run import Search
from zabcheck.search.swarm import drive, run_seed
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator

Told = Callable[[Simulator], bool]


def nodes(simulator: Simulator) -> list[Node]:
    return [simulator.states[process] for process in simulator.ids]


def began_without_promises(simulator: Simulator) -> bool:
    """Return True if a leader began an epoch that no quorum promised: it counted acknowledgements of another one."""
    everyone = nodes(simulator)
    return any(
        n.role is Role.LEADING
        and n.quorums.contains(n.epoch_acks)
        and not n.quorums.contains([each.id for each in everyone if each.accepted_epoch >= n.pending_new_epoch])
        for n in everyone
    )


def fails(schedule: Schedule, told: Told) -> Failure | None:
    """Return how `schedule` comes to a state of which that is so."""
    simulator = simulator_of(schedule)
    for choice in schedule.choices:
        simulator.execute(choice)
        if told(simulator):
            return Failure(tuple(simulator.executed), simulator.steps)
    return None


def shortest(search: Search, told: Told, runs: int, seconds: float) -> Schedule | None:
    """The shortest of the schedules that come there in so many runs, each minimised; None if none does."""
    found = [
        Minimiser(search.protocol, schedule, failure, lambda each: fails(each, told), seconds, ()).minimal().schedule
        for schedule in _runs(search, runs)
        if (failure := fails(schedule, told)) is not None
    ]
    return min(found, key=lambda each: len(each.choices), default=None)


def _runs(search: Search, runs: int) -> Iterator[Schedule]:
    for index in range(runs):
        simulator = drive(search, (), run_seed(search.rng or 0, index)).simulator
        yield structs.replace(
            Schedule(1, search.protocol.name, len(simulator.ids), tuple(simulator.executed)),  # type: ignore[arg-type]  # choices
            quorums=simulator.quorums.name,
        )
