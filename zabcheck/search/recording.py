"""A run recorded: a schedule executed once more, with all that a report needs of it.

A search keeps nothing of its runs, and `replay` only the events. A report also needs each step with the
variables of the processes after it, which are kept here and nowhere else. The second execution has another use: events
that do not happen again are not reported.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct

from zabcheck.invariants import Event, Local
from zabcheck.protocols.base import StepRaised, Variables
from zabcheck.search.run import Replay, simulate
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator
from zabcheck.text.words import name, name_of, phrase

NOT_DETERMINISTIC = "the same schedule does something else each time: the protocol is not deterministic"


class RecordedStep(Struct, frozen=True):
    """One step of a run, with the state after it."""

    choice: Choice
    events: tuple[Event, ...]
    """The events of the step, messages included."""
    variables: Mapping[int, Variables | None]
    """The variables of each process; None: the process is down."""
    unsynced: Mapping[int, int]
    """The number of unsynced writes of each process."""


class Prefix(NamedTuple):
    """The run after the first `choices` of those that it executed, which showed the first `events` of its events.

    `simulator` may be forked to go on from there in another way.
    """

    choices: int
    events: int
    simulator: Simulator


class Recording(Struct, frozen=True):
    """A run with its steps. `initial` has the variables of each process before the first of them."""

    replay: Replay
    started: tuple[Event, ...]
    """The events of the processes' start."""
    initial: Mapping[int, Variables | None]
    steps: tuple[RecordedStep, ...]
    prefixes: tuple[Prefix, ...]
    """The last ones, as many as were asked for; the shortest first."""


def record(replayed: Replay, prefixes: int = 0) -> Recording:
    """Execute the schedule of `replayed` once more, on the same protocol, and record it.

    The last `prefixes` prefixes of the run are kept, the whole run among them.
    ValueError if the events are others than those of `replayed`: the protocol is not deterministic. The message names
    the step that differs, and the difference.
    Cost: one execution, and for each step O(processes + length of the histories).
    """
    schedule = replayed.schedule
    shown: list[Event] = []
    started: tuple[Event, ...] | None = None
    initial: dict[int, Variables | None] = {}
    steps: list[RecordedStep] = []
    kept: deque[Prefix] = deque(maxlen=prefixes)

    def keep() -> None:
        """Keep the prefix that ends here, if a choice was executed since the last one. (`Stabilise` has many steps.)"""
        executed = len(simulator.executed)
        if prefixes and (not kept or kept[-1].choices < executed):
            kept.append(Prefix(executed, len(shown), _fork(simulator)))

    with suppress(StepRaised):  # `replayed` has it
        simulator = simulate(replayed.protocol, schedule, shown.append, network=True)
        started = tuple(shown)
        initial = variables_of(simulator)
        keep()
        note = recorder(simulator, shown, steps)

        def on_step(choice: Choice) -> None:
            note(choice)
            keep()

        simulator.on_step = on_step
        try:
            for choice in schedule.choices:
                simulator.execute(choice)
                keep()
        finally:
            simulator.on_step = None  # it refers to the simulator, which only the garbage collector could free then
    if shown != replayed.events[1:-1]:
        recorded = (started if started is not None else (), *(step.events for step in steps))
        raise ValueError(f"{NOT_DETERMINISTIC}; {_difference(replayed, recorded, steps, shown)}")
    return Recording(replayed, tuple(shown) if started is None else started, initial, tuple(steps), tuple(kept))


def recorder(simulator: Simulator, shown: Sequence[Event], steps: list[RecordedStep]) -> Callable[[Choice], None]:
    """Return an `on_step` that adds each step of `simulator` to `steps`; its events are appended to `shown`."""
    told = len(shown)  # the events that belong to a step before

    def on_step(choice: Choice) -> None:
        nonlocal told
        unsynced = {process: len(simulator.disks[process].unsynced) for process in simulator.ids}
        steps.append(RecordedStep(choice, tuple(shown[told:]), variables_of(simulator), unsynced))
        told = len(shown)

    return on_step


def _difference(
    replayed: Replay, recorded: Sequence[Sequence[Event]], steps: Sequence[RecordedStep], shown: Sequence[Event]
) -> str:
    """Return as text the step in which a second execution, of these steps, differed from `replayed`, and how.

    `recorded` has the events of the start and of each step; the events of the step that raised are only in `shown`.
    """
    first = replayed.events[1:-1]
    same = next((i for i, (a, b) in enumerate(zip(first, shown, strict=False)) if a != b), min(len(first), len(shown)))
    ends = list(accumulate(map(len, recorded)))
    place = next((number for number, end in enumerate(ends) if same < end), len(recorded))
    choice = steps[place - 1].choice if 0 < place <= len(steps) else None
    if choice is None and place == len(recorded) and len(ends) > 1:  # the second execution shows fewer events
        place, choice = len(steps), steps[-1].choice
    where = "when the processes start" if choice is None else f"in step {place}, {choice!r},"
    one, other = (_told(events[same]) if same < len(events) else "shows nothing more" for events in (first, shown))
    return f"{where} {one} the first time, and {other} the second time"


def _told(event: Event) -> str:
    """Return an event in words, with its process."""
    said = phrase(event)
    if said == name_of(event):  # there are no words for it
        said = f"shows {said}({', '.join(str(getattr(event, field)) for field in event.__struct_fields__[2:])})"
    return f"{name(event.process)} {said}" if isinstance(event, Local) else said


def variables_of(simulator: Simulator) -> dict[int, Variables | None]:
    """Return the variables of each process as they are; None: the process is down."""
    describe, states = simulator.protocol.describe, simulator.states
    return {process: None if states[process] is None else describe(states[process]) for process in simulator.ids}


def _fork(simulator: Simulator) -> Simulator:
    """Return a copy that remembers no choices, and does not show messages: nothing after a prefix is drawn."""
    fork = simulator.fork(lambda _: None)
    fork.remember, fork.executed, fork.on_step = False, [], None
    fork.draw_nothing()
    return fork
