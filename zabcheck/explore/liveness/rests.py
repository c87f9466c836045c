"""Liveness of the running epoch: what is left undone when the ensemble is left alone in a state of a search.

From each state the choice `Quiesce` is followed to its end, then clients ask each primary to broadcast, then `Quiesce`
once more. If that breaks epoch progress, the state is a trap, and the run to it with these choices is a schedule like
any other: the simulator shows the same.

As with a Stabilise (`liveness`), this is look-ups, not a simulation, and the bounds of the search do not apply to it.
But every process takes part, so each combination of processes and links is followed once.

With reduction a follower may have stopped reading for good: from such a state nothing is followed, as it stands for
states in which that follower reads its waiting messages, and these are followed. Broadcasts before a state are judged
by the clients' requests after it: a leader that commits no old transaction commits no new one.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from zabcheck.explore.judges import MonitorJudge
from zabcheck.explore.liveness.quorum_run import Ending, OutcomeTable, Places, QuorumRun
from zabcheck.explore.liveness.undisturbed import LOOK, Kind, Trap
from zabcheck.explore.runs import run_to
from zabcheck.explore.space import Space
from zabcheck.explore.states.checkpoint import FollowUpPosition
from zabcheck.explore.tables.renaming import renamed_choice
from zabcheck.explore.tables.successors import Row
from zabcheck.invariants import Judge, Local, Quiescent
from zabcheck.invariants.epoch_progress import EpochProgress
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.network import state_of


class Rest(NamedTuple):
    """The events of the ensemble on its way to a rest, by number, and the environment's view of each process there.

    `asked` are the processes that take a request there. `seen` is empty if the ensemble never comes to rest.
    """

    events: tuple[int, ...]
    seen: tuple[Quiescent, ...]
    asked: tuple[int, ...]
    raised: bool


class RestResult(NamedTuple):
    """The result of leaving the ensemble alone in each state of a search: the first trap.

    `exercised`: in one of them something could have been left undone.
    """

    exercised: bool
    trap: Trap | None


def find_undone(space: Space, on_progress: Callable[[FollowUpPosition], None] | None = None) -> RestResult:
    """Leave the ensemble alone in every state of a search that broke nothing, until something is left undone.

    States come in the order of the search. It goes on from where `space.followed` is. `on_progress` is called with how
    far it is. ValueError if no property of the search reads delivered sequences. O(1) look-ups a state, and O(1)
    simulated steps for each combination of processes and links.
    """
    if space.monitors.sequences(0) is None:
        raise ValueError("no property of the search reads delivered sequences, so what was delivered is not known")
    rests, at = Rests(space), space.followed
    for state, row in space.to_follow(at.alone):
        ending = rests.ending(row)
        if ending is not None and ending.is_trap:
            steps, names = run_to(space, state)
            run = tuple(renamed_choice(choice, names) for choice in rests.run_from(row))
            kind: Kind = "raised" if ending.raised else "rest"
            return RestResult(True, Trap((*steps, *run), kind, ending.broken))
        if on_progress is not None and not (state + 1) % LOOK:
            alone, exercised = max(at.alone, state + 1), at.exercised or rests.exercised
            on_progress(replace(at, alone=alone, exercised=exercised))
    return RestResult(at.exercised or rests.exercised, None)


class Rests:
    """The rests of the ensemble from the states of one search. `exercised`: something could have been left undone."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._steps = OutcomeTable(space.components)
        self._fresh = Judge((EpochProgress,), quorums=space.components.quorums)
        self.exercised = False
        self._by_places: dict[Places, tuple[Rest, Rest | None]] = {}
        self._endings: dict[tuple[int, tuple[Rest, Rest | None]], Ending] = {}

    def ending(self, row: Row) -> Ending | None:
        """Return the ending if the ensemble is left alone in this state; None if that is not followed."""
        found = self._followed(row)
        if found is None:
            return None
        sequences = self._space.monitors.sequences(row[-1])
        assert sequences is not None, "it was looked at first"
        known, before, incarnations = sequences
        ending = self._endings.get((known, found))
        if ending is None:
            ending = self._endings[known, found] = self._judged(before, incarnations, *found)
        return ending

    def run_from(self, row: Row) -> tuple[AnyChoice, ...]:
        """Return the choices that were followed from this state."""
        found = self._followed(row)
        assert found is not None
        first, second = found
        if second is None:
            return (choices.Quiesce(),)
        return (choices.Quiesce(), *map(choices.Request, first.asked), choices.Quiesce())

    def _followed(self, row: Row) -> tuple[Rest, Rest | None] | None:
        made_of = self._space.local_states.made_of
        places: Places = tuple(made_of[number] for number in row[: len(self._space.components.ids)])
        found = self._by_places.get(places)
        if found is None:
            run = QuorumRun(self._steps, tuple(self._space.components.ids), places, self._space.bounds.txns)
            if run.has_unread_links():
                return None
            found = self._by_places[places] = self._follow(run)
        return found

    def _follow(self, run: QuorumRun) -> tuple[Rest, Rest | None]:
        first = self._rest(run, 1)
        if first.raised or not first.asked:
            return first, None
        run.events = []
        run.take(choices.Request(process) for process in first.asked)
        return first, self._rest(run, 2)

    def _rest(self, run: QuorumRun, number: int) -> Rest:
        run.take(choices.until_quiet(run))
        if run.raised or not choices.is_at_rest(run):
            return Rest(tuple(run.events), (), (), run.raised)
        seen = tuple(self._seen(run, number))
        return Rest(tuple(run.events), seen, tuple(each.process for each in seen if each.primary), raised=False)

    def _seen(self, run: QuorumRun, number: int) -> Iterator[Quiescent]:
        """Yield the `Quiescent` events of the processes that are up, as `Simulator` shows them."""
        for process in run.ids:
            local = run.process(process)
            if local.is_up:
                leader = None if local.following == NOBODY else local.following
                link = None if leader in (None, process) else run.link(process, local.following)
                connection = "none" if leader in (None, process) else state_of(link and link.connection)
                yield Quiescent(process, 0, number, leader, connection, run.may_broadcast(process))

    def _judged(self, before: MonitorJudge, incarnations: tuple[int, ...], first: Rest, second: Rest | None) -> Ending:
        judge = before.of_what_comes(self._fresh)
        for rest in (first, second):
            if rest is None:
                continue
            if rest.raised:
                return Ending(None, raised=True)
            for number in rest.events:
                for event in self._space.components.events[number]:
                    if type(event) in judge.looks_at and isinstance(event, Local):
                        judge.observe(replace(event, incarnation=incarnations[event.process]))
            for event in rest.seen:
                judge.observe(replace(event, incarnation=incarnations[event.process]))
        [verdict] = judge.finish()
        self.exercised |= verdict.status == "holds"
        return Ending(verdict.property if verdict.status == "violated" else None, raised=False)
