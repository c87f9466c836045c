"""The shortest run that breaks a property, in fine steps; and the bounds of a known one.

The reduced search finds out if anything breaks, and is fast. But it does not keep lengths: a transition of it may
be several steps, and it makes some moves before they are needed. So if something breaks, an unreduced search
follows. It need not go further than the known run, and tries each run of fewer steps.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from zabcheck.explore.bounds import Bounds
from zabcheck.explore.results import Progress, SearchResult
from zabcheck.explore.space import Space
from zabcheck.explore.tables.components import highest_epoch
from zabcheck.explore.tables.reduction import DoesNotCommute
from zabcheck.invariants import Event
from zabcheck.invariants.quorums import configuration_of
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.search.run import simulate
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.schedule import Schedule

TRIED = (
    choices.Crash,
    choices.Elect,
    choices.Hear,
    choices.Lead,
    choices.Notice,
    choices.Receive,
    choices.Recover,
    choices.Request,
    choices.Reset,
    choices.Run,
    choices.Snapshot,
    choices.Sync,
    choices.Timeout,
)
"""The kinds of choices of a run that can be certified; `Lead` only as an election by vote, which is one step."""

OnProgress = Callable[[Progress], None] | None


class ShortestResult(Struct, frozen=True):
    """The result of a search for the shortest run that breaks something."""

    result: SearchResult
    """The result of the last search, perhaps with such a run."""
    tried: int
    """No run of up to this number of steps breaks anything."""
    space: Space
    """The last search."""


def search(
    space: Callable[[bool], Space],
    reduction: bool,
    memory: float = float("inf"),
    on_progress: OnProgress = None,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    folder: Path | None = None,
    look_for_interrupt: Callable[[], None] = lambda: None,
) -> ShortestResult:
    """Search; if something breaks, search again for the shortest run that does.

    `space(reduction)` makes a search that has not begun. The `checkpoint` is of the first of the two. For the other
    arguments, the cost, and errors, see `Space.explore`. An interrupt in the second search leaves the
    run that the first one found. If the reduction does not hold (`reduction.DoesNotCommute`), all is searched without
    it, and without a checkpoint.
    """

    def explored(first: Space, checkpoint: Path | None, resume: bool) -> SearchResult:
        return first.explore(
            memory,
            on_progress,
            checkpoint=checkpoint,
            resume=resume,
            folder=folder,
            look_for_interrupt=look_for_interrupt,
        )

    first = space(reduction)
    try:
        found = explored(first, checkpoint, resume)
    except DoesNotCommute:
        first = space(False)
        found = explored(first, None, resume=False)
    if not found.choices or not first.reduced:
        return ShortestResult(found, found.tried, first)
    del first  # its memory is of no use any more, and the next search needs more
    second = shorter(
        space,
        found.choices,
        memory,
        on_progress,
        folder=folder,
        look_for_interrupt=look_for_interrupt,
    )
    if second.result.choices:
        return second
    return ShortestResult(structs.replace(found, interrupted=second.result.interrupted), second.tried, space(reduction))


def shorter(
    space: Callable[[bool], Space],
    known: Sequence[AnyChoice],
    memory: float = float("inf"),
    on_progress: OnProgress = None,
    *,
    folder: Path | None = None,
    look_for_interrupt: Callable[[], None] = lambda: None,
) -> ShortestResult:
    """Search for a run that breaks something in fewer steps than the `known` one, without partial-order reduction."""
    unreduced = space(False)
    levels = len(known) - 1 - len(unreduced.after)
    found = unreduced.explore(memory, on_progress, levels=levels, folder=folder, look_for_interrupt=look_for_interrupt)
    return ShortestResult(found, len(known) - 1 if found.whole else found.tried, unreduced)


class NotTried(ValueError):
    """A run has a choice of a kind that is not in `TRIED`. The message is the name of the kind."""


def used_by(protocol: Protocol, schedule: Schedule) -> tuple[tuple[AnyChoice, ...], Bounds]:
    """Return the steps of a run of `protocol`, and the least bounds it is within. NotTried if it is within none.

    The steps are those that a search would make: an election by vote that only ends iterations is a time-out for each.
    If a step raises, the run ends.
    """
    whole = simulate(protocol, schedule, lambda _: None)
    with suppress(StepRaised):
        for each in schedule.choices:
            whole.execute(each)
    epoch, steps, used, shown = 0, list[Choice](), Counter[type[Choice]](), list[Event]()
    changes = list[str]()
    again = simulate(protocol, schedule, shown.append)
    for choice in whole.executed:
        if not isinstance(choice, TRIED):
            raise NotTried(type(choice).__name__.lower())
        if isinstance(choice, choices.Request) and choice.value is not None:
            if choice.value in changes or configuration_of(choice.value, schedule.processes) is None:
                raise NotTried(type(choice).__name__.lower())
            changes.append(choice.value)
        told = (choice.leader, *choice.followers) if isinstance(choice, choices.Lead) else ()
        if isinstance(choice, choices.Elect):
            told = (choice.process,)
        leaves = [process for process in again.ids if process in told and again.following[process] != NOBODY]
        with suppress(StepRaised):  # the last one
            again.execute(choice)
        if isinstance(choice, choices.Lead) and again.following[choice.leader] != choice.leader:
            steps += map(choices.Timeout, leaves)
        else:
            steps.append(choice)
        used[type(choice)] += 1
        used[choices.Timeout] += len(leaves)
        epoch = max(epoch, *(highest_epoch(protocol, state, shown) for state in again.states))
        shown.clear()
    bounds = Bounds(
        schedule.processes,
        epoch,
        used[choices.Request] - len(changes),
        used[choices.Timeout],
        used[choices.Crash],
        used[choices.Reset],
        used[choices.Snapshot],
        tuple(changes),
    )
    return tuple(steps), bounds
