"""The shortest run that breaks a property, in fine steps; and how much a known one uses.

The reduced search finds out whether anything breaks, and where it does it is fast; but it does not keep lengths: it may
take two steps for one, and makes some moves before they are needed. So the unreduced search follows. It need not go
further than the run that is known, and knows of each run of fewer steps.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from invariants import Event
from zabcheck.protocols.base import Protocol
from zabcheck.search.explore.bounds import Bounds
from zabcheck.search.explore.components import highest_epoch
from zabcheck.search.explore.space import Explored, Progress, Space
from zabcheck.search.run import simulate
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.schedule import Schedule

TRIED = (
    choices.Crash,
    choices.Elect,
    choices.Notice,
    choices.Receive,
    choices.Recover,
    choices.Request,
    choices.Reset,
    choices.Sync,
    choices.Timeout,
)
"""The kinds of choices that an exhaustive search makes."""

Show = Callable[[Progress], None] | None


class Shortest(Struct, frozen=True):
    """What a search came to: `found` may have a run that breaks something. No run of up to `tried` steps does.

    `space` has the states that were seen last.
    """

    found: Explored
    tried: int
    space: Space


def search(
    space: Callable[[bool], Space],
    reduction: bool,
    memory: float = float("inf"),
    show: Show = None,
    *,
    workers: int = 1,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Shortest:
    """Search; where something breaks, search for the shortest run that does. `space(reduction)` makes a search.

    The `checkpoint` is of the first of the two.
    """
    first = space(reduction)
    found = first.explore(memory, show, workers=workers, checkpoint=checkpoint, resume=resume)
    if not found.choices or not first.reduced:
        return Shortest(found, found.tried, first)
    second = shorter(space, found.choices, memory, show, workers=workers)
    return second if second.found.choices else Shortest(found, second.tried, first)


def shorter(
    space: Callable[[bool], Space],
    known: Sequence[AnyChoice],
    memory: float = float("inf"),
    show: Show = None,
    *,
    workers: int = 1,
) -> Shortest:
    """Look for a run that breaks something in fewer steps than the `known` one."""
    levels = len(known) - 1
    unreduced = space(False)
    found = unreduced.explore(memory, show, levels=levels, workers=workers)
    return Shortest(found, levels if found.whole else found.tried, unreduced)


class NotTried(ValueError):
    """A run has a choice of a kind that an exhaustive search does not make. The message is its name."""


def used_by(protocol: Protocol, schedule: Schedule) -> tuple[tuple[AnyChoice, ...], Bounds]:
    """The steps of a run, and the least bounds that it is within. NotTried if it is within none."""
    whole = simulate(protocol, schedule, lambda _: None)
    for each in schedule.choices:
        whole.execute(each)
    epoch, used, shown = 0, Counter[type[Choice]](), list[Event]()
    again = simulate(protocol, schedule, shown.append)
    for choice in whole.executed:
        if not isinstance(choice, TRIED) or (isinstance(choice, choices.Request) and choice.value is not None):
            raise NotTried(type(choice).__name__.lower())
        mid_iteration = isinstance(choice, choices.Elect) and again.following[choice.process] != NOBODY
        used[choices.Timeout if mid_iteration else type(choice)] += 1
        again.execute(choice)
        epoch = max(epoch, *(highest_epoch(state, shown) for state in again.states))
        shown.clear()
    bounds = Bounds(
        schedule.processes,
        epoch,
        used[choices.Request],
        used[choices.Timeout],
        used[choices.Crash],
        used[choices.Reset],
    )
    return tuple(whole.executed), bounds  # type: ignore[arg-type]  # all are AnyChoice: each is one of TRIED
