"""From a schedule that breaks a property to a 1-minimal one: no single choice can be left out.

Because a choice that is not enabled is skipped, any sub-sequence can be tried. The passes drop processes, then runs of
choices from long to short (delta debugging, Zeller and Hildebrandt 2002), and then simplify what is left, until none
of it helps any more. The property that breaks stays the same.
"""

from collections.abc import Iterator, Sequence
from time import process_time

from msgspec import structs

from invariants import Judge, select
from zabcheck.search.run import dispatch, simulate
from zabcheck.simulation.schedule import Choice, Crash, Schedule


def breaks(schedule: Schedule, property_: str) -> tuple[Choice, ...] | None:
    """The fine choices that `schedule` executes until `property_` is broken; None if it stays whole."""
    [kind] = select([property_])
    judge = Judge([kind])
    simulator = simulate(schedule, dispatch(judge.observers))
    for choice in schedule.choices:
        simulator.execute(choice)
        if judge.broken and judge.violated():
            break
    [verdict] = judge.finish()
    return tuple(simulator.executed) if verdict.status == "violated" else None


def minimise(schedule: Schedule, property_: str, seconds: float = 60.0) -> Schedule:
    """A 1-minimal schedule that breaks `property_`, as `schedule` does; it consists of fine choices.

    After `seconds` of CPU time the best one so far is returned, 1-minimal or not. ValueError if `schedule` does not
    break the property. Cost: O(n log n) runs as a rule, O(n^2) at worst, for n choices.
    """
    deadline = process_time() + seconds
    choices = breaks(schedule, property_)
    if choices is None:
        raise ValueError(f"the schedule does not break {property_}")
    best = structs.replace(schedule, choices=choices, violates=property_)
    for candidate in _with_fewer_processes(best):
        found = breaks(candidate, property_)
        if found is not None:
            best = structs.replace(candidate, choices=found)
            break
    while True:
        before = best
        best = _drop_choices(best, property_, deadline)
        best = _simplify(best, property_, deadline)
        if best == before or process_time() > deadline:
            return best


def _with_fewer_processes(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule on 1, 2, … processes, without what the others did."""
    for processes in range(1, schedule.processes):
        kept = [choice for choice in schedule.choices if _highest(choice) <= processes]
        yield structs.replace(schedule, processes=processes, choices=tuple(kept))


def _highest(choice: Choice) -> int:
    """The highest process that a fine choice names."""
    names = ("process", "leader", "sender", "peer", "receiver")
    return max((getattr(choice, name, 0) for name in names), default=0)


def _drop_choices(schedule: Schedule, property_: str, deadline: float) -> Schedule:
    """Leave out runs of choices, ever shorter ones, until not a single choice can be left out."""
    size = max(1, len(schedule.choices) // 2)
    while True:
        before = len(schedule.choices)
        # From the end: what comes last depends on what comes first, and seldom the other way round.
        start = before - size
        while start > -size:
            at = max(start, 0)
            candidate = _without(schedule, at, at + size)
            found = breaks(candidate, property_)
            if found is not None and len(found) < len(schedule.choices):
                schedule = structs.replace(schedule, choices=found)
                start = min(start, len(found) - size)
            else:
                start -= size
            if process_time() > deadline:
                return schedule
        if size > 1:
            size = max(1, size // 2)
        elif len(schedule.choices) == before:
            return schedule


def _without(schedule: Schedule, start: int, stop: int) -> Schedule:
    return structs.replace(schedule, choices=schedule.choices[:start] + schedule.choices[stop:])


def _simplify(schedule: Schedule, property_: str, deadline: float) -> Schedule:
    """Replace a choice by a plainer one where the property still breaks in no more steps."""
    for index, choice in enumerate(schedule.choices):
        for plainer in _plainer(choice):
            if index >= len(schedule.choices) or process_time() > deadline:
                return schedule
            choices = (*schedule.choices[:index], plainer, *schedule.choices[index + 1 :])
            found = breaks(structs.replace(schedule, choices=choices), property_)
            if found is not None and len(found) <= len(schedule.choices) and plainer in found:
                schedule = structs.replace(schedule, choices=found)
                break
    return schedule


def _plainer(choice: Choice) -> Sequence[Choice]:
    """A crash is plainer if it loses everything that was not synced."""
    if isinstance(choice, Crash) and choice.keep:
        return [Crash(choice.process)]
    return []
