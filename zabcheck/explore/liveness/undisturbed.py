"""Liveness within bounds (DSN 2011, VI-D, claim 7): an undisturbed leader makes progress, from every state.

From each state of a search, for each leader and each least quorum with it, the choice `Stabilise` is followed to its
end, in the order in which the simulator executes it: that is a *continuation*. If it breaks a property of
the group "liveness", the state is a *trap*, and the run to it with that choice is a schedule like any other: the
simulator shows the same.

A continuation is look-ups, not a simulation. It is of the quorum alone: nothing comes from the others, and no step
depends on the arrival of messages to them. The quorum's variables of earlier iterations are gone as soon as
all have chosen the leader, so the continuations from very many states are few from then on, and each of these is
computed once. The bounds of the search do not apply to a continuation; its requests have values that no run within the
bounds has.

Earlier deliveries belong to the monitor of a state. The verdicts depend on that and on the continuation, and are
computed once for each pair of these.

With reduction the states are those that the search kept. A follower that has stopped reading (`reduction`) ends up
like one that has not read yet: all choose the leader before any process reads anything, and to choose closes the
connection, with its unread messages. A mutant may keep it open, and the simulator would read messages that are lost
here: such a continuation is not followed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.explore.judges import MonitorJudge
from zabcheck.explore.liveness.quorum_run import Ending, OutcomeTable, Places, QuorumRun
from zabcheck.explore.runs import run_to
from zabcheck.explore.space import Space
from zabcheck.explore.states.checkpoint import FollowUpPosition
from zabcheck.explore.tables.components import NO_CONNECTION
from zabcheck.explore.tables.successors import Row
from zabcheck.invariants import Judge, Local, Recover, Stabilised
from zabcheck.invariants.convergence import Convergence
from zabcheck.invariants.reliable_delivery import ReliableDelivery
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice, Choice, calm, choose, is_done, is_least, leave, winner

LIVENESS = (Convergence, ReliableDelivery)

LOOK = 4096
"""The number of states after which progress is reported."""

_NONE = -1
"""Stands for the number of a continuation that does not exist."""

Kind = Literal["trap", "lasso", "rest", "raised"]


class Trap(Struct, frozen=True):
    """A state from which an undisturbed ensemble makes no progress.

    `choices` lead there and end with a Stabilise. `kind` is "trap" if nothing is left to be done then, and "lasso" if
    the same comes again for ever. Or they end with a Quiesce, and `kind` is "rest" (see `rests`).
    `broken` is the property that the run violates. If the protocol's code raised, that
    is the kind, and no property is judged.
    """

    choices: tuple[AnyChoice, ...]
    kind: Kind
    broken: str | None


class UndisturbedResult(Struct, frozen=True):
    """The result of all continuations.

    `checked` counts the pairs of a state and a Stabilise; `unfinished` of these had no end after `choices.MOST_ROUNDS`
    rounds, and decide nothing. `continuations` counts those that differ, and were followed by this process. `trap` is
    the first one in the order of the search.
    """

    checked: int
    continuations: int
    trap: Trap | None
    unfinished: int = 0


class Continuation(NamedTuple):
    """The events of a Stabilise, by number: those before the environment's promise not to disturb, and those after it.

    `promised` is False if it cannot promise that, as a member of the quorum does not come up, or takes the promise
    back, as there was no end after `choices.MOST_ROUNDS` rounds (not `ended`). `raised`: the protocol's code did.
    """

    stabilise: choices.Stabilise
    before: tuple[int, ...]
    promised: bool
    after: tuple[int, ...]
    raised: bool
    ended: bool = True


class StableQuorum:
    """A leader and a quorum that a Stabilise leaves undisturbed, and the continuations that were followed with it."""

    def __init__(self, leader: int, quorum: tuple[int, ...]) -> None:
        self.stabilise = choices.Stabilise(leader, quorum)
        self.places = tuple(process - 1 for process in quorum)
        """The places of the quorum in a row."""
        self.continuations: dict[tuple[int, ...], int] = {}
        """By the local states of the quorum: the number of the continuation."""
        self.undisturbed: dict[Places, tuple[tuple[int, ...], bool, bool]] = {}
        """By the places once all have chosen the leader: the events from there on, and whether a step raised, and
        whether there was an end to what they did.
        """


def find_trap(space: Space, on_progress: Callable[[FollowUpPosition], None] | None = None) -> UndisturbedResult:
    """Follow every Stabilise from every state of a search that broke nothing, until one is a trap.

    States come in the order of the search, so without reduction no run to a trap is shorter. It goes on from where
    `space.followed` is. `on_progress` is called with how far it is. ValueError if no property of the search reads
    delivered sequences.
    O(1) look-ups a state and Stabilise; O(1) simulated steps a continuation that joins no other.
    """
    continuations, at = Continuations(space), space.followed
    checked, unfinished = at.checked, at.unfinished
    for state, row in space.to_follow(at.led):
        for stable in continuations.stable_quorums:
            ending = continuations.ending(row, stable)
            if ending is None:
                continue
            if state >= at.led:
                checked += 1
                unfinished += not ending.ended
            if ending.is_trap:
                return UndisturbedResult(checked, len(continuations), continuations.trap(state, row, stable))
        if on_progress is not None and not (state + 1) % LOOK:
            on_progress(replace(at, led=max(at.led, state + 1), checked=checked, unfinished=unfinished))
    return UndisturbedResult(checked, len(continuations), None, unfinished)


class Continuations:
    """The continuations from the states of one search."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._steps = OutcomeTable(space.components)
        components = space.components
        self._vote = components.protocol.vote
        if space.monitors.sequences(0) is None:
            raise ValueError("no property of the search reads delivered sequences, so what was delivered is not known")
        sizes = range(1, len(components.ids) + 1)
        subsets = [members for size in sizes for members in combinations(components.ids, size)]
        self.stable_quorums = [
            StableQuorum(leader, quorum)
            for leader in components.ids
            for quorum in subsets
            if is_least(components.quorums, leader, quorum, alone=components.protocol.vote is not None)
        ]
        self._fresh = Judge(LIVENESS, quorums=components.quorums)
        self._continuations: list[Continuation] = []
        self._ids: dict[Continuation, int] = {}
        self._endings: dict[tuple[int, int], Ending] = {}
        self._by_monitor: dict[tuple[int, int], Ending] = {}

    def __len__(self) -> int:
        return len(self._continuations)

    def ending(self, row: Row, stable: StableQuorum) -> Ending | None:
        """Return the ending of this Stabilise from this state; None if it does nothing there, or is not followed.

        O(1) if it was computed before with the same local states of the quorum and the same monitor.
        """
        members = tuple([row[place] for place in stable.places])
        number = stable.continuations.get(members)
        if number is None:
            number = stable.continuations[members] = self._number(self._continue(row, stable))
        if number == _NONE:
            return None
        found = self._by_monitor.get((row[-1], number))
        if found is None:
            found = self._by_monitor[row[-1], number] = self._ending(row[-1], number)
        return found

    def trap(self, state: int, row: Row, stable: StableQuorum) -> Trap:
        """Return the run to this state, which has this row, and this Stabilise. Its `ending` has to be a trap."""
        ending = self.ending(row, stable)
        assert ending is not None
        assert ending.is_trap
        steps, names = run_to(self._space, state)
        leader, quorum = stable.stabilise.leader, stable.stabilise.quorum
        stabilise = choices.Stabilise(names[leader], tuple(sorted(names[member] for member in quorum)))
        return Trap((*steps, stabilise), self._kind(row, stable, ending.raised), ending.broken)

    # Following.

    def _continue(self, row: Row, stable: StableQuorum) -> Continuation | None:
        """Look up the execution of this Stabilise; None if it does nothing, or that is not known.

        None, too, if the members elect another one of them: that is the execution of another Stabilise.
        """
        stabilise = stable.stabilise
        run = self._quorum_run(row, stable)
        if any(run.process(member).halted for member in stabilise.quorum):
            return None
        run.take(self._calm(stabilise))
        before, run.events = tuple(run.events), []
        if run.raised or not all(run.process(member).is_up for member in stabilise.quorum):
            return Continuation(stabilise, before, False, (), run.raised)
        if self._elected(run, stabilise) != stabilise.leader:
            return None
        run.take(choose(stabilise.leader, stabilise.quorum, together=False))
        if run.has_unread_links():
            return None
        chosen = tuple(run.events)
        if run.raised:
            return Continuation(stabilise, before, True, chosen, raised=True)
        known = stable.undisturbed.get(run.places)
        if known is None:
            start, run.events = run.places, []
            ended = run.take_undisturbed(stabilise, self._space.components.switches)
            known = stable.undisturbed[start] = tuple(run.events), run.raised, ended
        after, raised, ended = known
        return Continuation(stabilise, before, ended, chosen + after, raised, ended)

    def _calm(self, stabilise: choices.Stabilise) -> Iterator[Choice]:
        yield from calm(stabilise.quorum)
        if self._vote is not None:
            yield from leave(stabilise.quorum)

    def _elected(self, run: "QuorumRun", stabilise: choices.Stabilise) -> int:
        """Return the member that the quorum elects."""
        if self._vote is None:
            return stabilise.leader
        votes = {member: self._vote(run.process(member).state) for member in stabilise.quorum}
        return winner(votes, self._space.components.quorums, stabilise.leader)

    def _quorum_run(self, row: Row, stable: StableQuorum) -> "QuorumRun":
        made_of = self._space.local_states.made_of
        quorum = stable.stabilise.quorum
        nothing = (NO_CONNECTION,) * (len(self._space.components.ids) + 1)
        places = [nothing] * len(self._space.components.ids)
        for member in quorum:
            component, *links = made_of[row[member - 1]]
            inside = (link if p in quorum else NO_CONNECTION for p, link in enumerate(links, 1))
            places[member - 1] = (component, *inside)
        return QuorumRun(self._steps, quorum, tuple(places), self._space.bounds.txns)

    def _number(self, continuation: Continuation | None) -> int:
        if continuation is None:
            return _NONE
        number = self._ids.get(continuation)
        if number is None:
            number = self._ids[continuation] = len(self._continuations)
            self._continuations.append(continuation)
        return number

    def _kind(self, row: Row, stable: StableQuorum, raised: bool) -> Kind:
        """Return the kind of a trap: what is left to be done at the end of its continuation."""
        stabilise = stable.stabilise
        run = self._quorum_run(row, stable)
        run.take(self._calm(stabilise))
        run.take(choose(stabilise.leader, stabilise.quorum, together=False))
        run.take_undisturbed(stabilise, self._space.components.switches)
        if raised:
            return "raised"
        return "trap" if is_done(stabilise.quorum, run) else "lasso"

    # Judging.

    def _ending(self, monitor: int, number: int) -> Ending:
        known, _, _ = self._sequences(monitor)
        found = self._endings.get((known, number))
        if found is None:
            found = self._endings[known, number] = self._judged(monitor, self._continuations[number])
        return found

    def _judged(self, monitor: int, continuation: Continuation) -> Ending:
        """Show the judges of liveness the events of the continuation; earlier deliveries are on record."""
        if continuation.raised:
            return Ending(None, raised=True)
        _, before, incarnations = self._sequences(monitor)
        judge = before.of_what_comes(self._fresh)
        leader, quorum = continuation.stabilise.leader, continuation.stabilise.quorum
        for member in quorum:
            judge.observe(Recover(member, incarnations[member]))  # so that its present incarnation is known
        self._show(judge, continuation.before, incarnations)
        if continuation.promised:
            judge.observe(Stabilised(leader, incarnations[leader], quorum))
        self._show(judge, continuation.after, incarnations)
        violated = (verdict.property for verdict in judge.finish() if verdict.status == "violated")
        return Ending(next(violated, None), raised=False, ended=continuation.ended)

    def _show(self, judge: Judge, events: Iterable[int], incarnations: Sequence[int]) -> None:
        for number in events:
            for event in self._space.components.events[number]:
                if type(event) in judge.looks_at and isinstance(event, Local):
                    judge.observe(replace(event, incarnation=incarnations[event.process]))

    def _sequences(self, monitor: int) -> tuple[int, MonitorJudge, Sequence[int]]:
        found = self._space.monitors.sequences(monitor)
        assert found is not None, "it was looked at first"
        return found
