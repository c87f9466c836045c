"""From a schedule that breaks a property to a 1-minimal one: no single choice can be left out.

Because a choice that is not enabled is skipped, any sub-sequence can be tried. The passes drop processes, then runs of
choices from long to short (delta debugging, Zeller and Hildebrandt 2002), and then simplify what is left, and set the
switches back to the letter of the paper, until none of it helps any more. The property that breaks stays the same.
"""

from collections.abc import Iterator, Sequence
from time import process_time

from msgspec import structs

from invariants import Judge, select
from zabcheck.protocols.quorums import MAJORITY, Quorums
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.search.run import dispatch, simulate
from zabcheck.simulation.schedule import Choice, Crash, Lead, Schedule, Snapshot, Stabilise, Sync
from zabcheck.simulation.stabilise import least


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
    best = _taken_apart(best, property_)
    for candidate in _with_fewer_processes(best):
        found = breaks(candidate, property_)
        if found is not None:
            best = structs.replace(candidate, choices=found)
            break
    while True:
        before = best
        best = _drop_choices(best, property_, deadline)
        best = _simplify(best, property_, deadline)
        best = _throw_switches(best, property_, deadline)
        if best == before or process_time() > deadline:
            return best


def _taken_apart(schedule: Schedule, property_: str) -> Schedule:
    """The schedule with the steps of `Stabilise` in its place, if the property breaks without its promise, too."""
    steps: list[Choice] = []
    simulator = simulate(schedule, lambda _: None)
    simulator.on_step = steps.append
    for choice in schedule.choices:
        simulator.execute(choice)
    found = breaks(structs.replace(schedule, choices=tuple(steps)), property_)
    return schedule if found is None else structs.replace(schedule, choices=found)


def _with_fewer_processes(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule on 1, 2, … processes, without what the others did.

    Only where the majority is what counts: weights and families are about certain processes.
    """
    if schedule.quorums != MAJORITY:
        return
    for processes in range(1, schedule.processes):
        kept = [_among(choice, processes) for choice in schedule.choices]
        choices = tuple(choice for choice in kept if choice is not None and _highest(choice) <= processes)
        yield structs.replace(schedule, processes=processes, choices=choices)


def _among(choice: Choice, processes: int) -> Choice | None:
    """The choice without the processes that are gone, where it is about several; None if nothing of it is left."""
    if isinstance(choice, Lead):
        return Lead(choice.leader, tuple(each for each in choice.followers if each <= processes))
    if isinstance(choice, Stabilise):
        left = [each for each in choice.quorum if each <= processes]
        quorum = least(Quorums(processes), choice.leader, left)
        return None if quorum is None else Stabilise(choice.leader, quorum)
    return choice


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
    """A crash is plainer if it loses everything that was not synced; an election, if fewer take part in it."""
    match choice:
        case Crash() if choice.keep:
            return [Crash(choice.process)]
        case Snapshot() if choice.cut:
            return [Snapshot(choice.process)]
        case Lead():
            return [
                Lead(choice.leader, tuple(each for each in choice.followers if each != left_out))
                for left_out in choice.followers
            ]
    return []


def _throw_switches(schedule: Schedule, property_: str, deadline: float) -> Schedule:
    """Set each switch back to the letter of the paper if the property still breaks, even in more steps.

    A run to the letter is the easier one to understand.
    """
    for switch in Switches.__struct_fields__:
        if getattr(schedule.switches, switch) == getattr(LETTER, switch) or process_time() > deadline:
            continue
        switches = structs.replace(schedule.switches, **{switch: getattr(LETTER, switch)})
        candidate = structs.replace(schedule, switches=switches)
        if switch == "sync":
            syncs = [Sync(process) for process in range(1, schedule.processes + 1)]
            apart = tuple(each for choice in schedule.choices for each in (choice, *syncs))
            candidate = structs.replace(candidate, choices=apart)
        found = breaks(candidate, property_)
        if found is not None:
            schedule = _drop_choices(structs.replace(candidate, choices=found), property_, deadline)
    return schedule
