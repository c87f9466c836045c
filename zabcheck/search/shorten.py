"""Tries other runs that break the same property: a 1-minimal schedule may be far from the shortest.

A long run, minimised, keeps the shape of its story: its epochs, its detours. A short run has none to keep.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress

from invariants import select
from invariants.quorums import MAJORITY, Quorums, quorums_of
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.step_limit import time_spent
from zabcheck.search import swarm
from zabcheck.search.minimise import SECONDS, broken_by, minimise
from zabcheck.search.run import DEFAULT_PROCESSES, PropertyBroken, ProtocolRaised, Search
from zabcheck.simulation.schedule import Schedule

RUNS = 300
"""The number of other runs that are made at a time, each of up to three times the steps of the best one so far."""
TRIES = 4
"""The number of runs that break the property and are minimised, the shortest first."""


def shortest(
    protocol: Protocol, schedule: Schedule, property_: str, seconds: float = SECONDS, keep: Collection[str] = ()
) -> Schedule:
    """Minimise `schedule`, and other runs that break `property_`; return the shortest of the results, 1-minimal.

    The result has no more processes than the minimised schedule, and the same quorum system; but the majority is
    preferred, unless "quorums" are kept. It takes `seconds` of CPU time at most, and is the same every time if that is
    enough. ValueError if `schedule` does not break the property.
    """
    deadline = time_spent() + seconds
    best = minimise(protocol, schedule, property_, seconds, keep)
    if time_spent() >= deadline:
        return best
    least = broken_by(protocol, best, property_).steps
    before, first = least + 1, 0
    while least < before and time_spent() < deadline:
        before = least
        for other in _others(protocol, best, property_, range(first, first + RUNS), 3 * least, keep, deadline):
            if time_spent() >= deadline:
                return best
            candidate = minimise(protocol, other, property_, deadline - time_spent(), keep)
            steps = broken_by(protocol, candidate, property_).steps
            # The majority is the usual quorum system: it is worth some steps.
            if steps < least or (candidate.quorums == MAJORITY != best.quorums):
                best, least = candidate, steps
        first += RUNS
    return best


def _others(
    protocol: Protocol,
    best: Schedule,
    property_: str,
    seeds: range,
    steps: int,
    keep: Collection[str],
    deadline: float,
) -> Iterator[Schedule]:
    """Yield other schedules that break the property, the shortest first, with majority quorums if those may change.

    Nothing is yielded if there is no time for all of the seeds.
    """
    if best.quorums == MAJORITY or "quorums" in keep:
        quorums = quorums_of(best.quorums, best.processes)
    else:
        quorums = Quorums(max(best.processes, DEFAULT_PROCESSES))
    search = Search(
        protocol,
        quorums.size,
        (property_,),
        steps=steps,
        quorums=quorums,
        fixed={name: getattr(best.switches, name) for name in keep if name != "quorums"},
    )
    kinds = select([property_])
    found: list[tuple[int, int, PropertyBroken]] = []
    for seed in seeds:
        if time_spent() >= deadline:
            return
        with suppress(ProtocolRaised):  # another failure than the one looked for
            run = swarm.drive(search, kinds, seed)
            if run.broken is not None:
                found.append((run.simulator.steps, seed, PropertyBroken(property_, run)))
    for _, _, broken in sorted(found, key=lambda each: each[:2])[:TRIES]:
        yield broken.schedule
