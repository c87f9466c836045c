"""Liveness within bounds (DSN 2011, VI-D, claim 7): whether a leader that nobody disturbs gets on, from every state.

From each state of a search, for each leader and each least quorum with it, the choice `Stabilise` is followed to its
end, in the order in which the simulator takes it. If it ends in what breaks a property of the group "liveness", the
state is a *trap*, and the run to it with that choice is a schedule like any other: the simulator shows the same.

A walk is look-ups, not a simulation. It is of the quorum alone: nothing comes from the others, and no step asks whether
what was sent to them arrives. All that its members knew of iterations before is gone as soon as all have chosen the
leader, so the walks from very many states are few walks from then on, and each of these is made once. The bounds of the
search do not apply to a walk; its requests have values that no run within the bounds has.

What was delivered before the walk belongs to the ghost of a state. What the properties say depends on that and on the
walk, and is asked once for each pair of these.

With reduction the states are those that the search kept. A follower that has gone deaf (`reduction`) comes to the same
as one that has not read yet: all choose the leader before anybody reads anything, and to choose closes the connection,
with what is unread. A mutant may keep it open, and the simulator would read what is lost here: such a walk is not made.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from invariants import Judge, Local, Recover, Stabilised
from invariants.convergence import Convergence
from invariants.reliable_delivery import ReliableDelivery
from zabcheck.search.explore.components import NO_CONNECTION, NOTHING, Link, Outcome, Parts, Process
from zabcheck.search.explore.space import Space
from zabcheck.search.explore.successors import Row
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.network import End
from zabcheck.simulation.stabilise import Waiting, a_round, ask, calm, choose, is_least, undisturbed

LIVENESS = (Convergence, ReliableDelivery)

_LOOK = 4096
"""After so many states progress is told."""

_MORE_ROUNDS = 100
"""Of a walk that is not quiet after so many rounds more it is taken that it never is."""

_NO_WALK = -1

Kind = Literal["trap", "lasso", "late", "raised"]

Places = tuple[tuple[int, ...], ...]
"""By process: the number of its part, and that of its link to each process. Nothing of one outside the quorum."""


class Trap(Struct, frozen=True):
    """A state from which a leader that nobody disturbs does not get on. `choices` lead there and end with a Stabilise.

    `kind` is "trap" if nothing is left to be done then, "lasso" if the rounds would go on for ever, and "late" if more
    of them, and requests, would do. `broken` is the property that the run violates. If the protocol's code raised, that
    is the kind, and no property is judged.
    """

    choices: tuple[AnyChoice, ...]
    kind: Kind
    broken: str | None


class Followed(Struct, frozen=True):
    """What came of the walks. `checked`: from how many pairs of a state and a Stabilise; `walks`: how many differ.

    `trap` is the first one in the order of the search.
    """

    checked: int
    walks: int
    trap: Trap | None


class Walk(NamedTuple):
    """What a Stabilise shows: the numbers of events before the environment promises not to disturb, and after it.

    `promised` is False if it cannot, as a member of the quorum does not come up. `raised` if the protocol's code did.
    """

    stabilise: choices.Stabilise
    before: tuple[int, ...]
    promised: bool
    after: tuple[int, ...]
    raised: bool


class Verdict(NamedTuple):
    """What comes of one walk from one state."""

    broken: str | None
    raised: bool

    @property
    def is_trap(self) -> bool:
        return self.raised or self.broken is not None


class Environment:
    """A Stabilise, and the walks that were made with it."""

    def __init__(self, leader: int, quorum: tuple[int, ...]) -> None:
        self.stabilise = choices.Stabilise(leader, quorum)
        self.places = tuple(process - 1 for process in quorum)
        """Of the quorum in a row."""
        self.walks: dict[tuple[int, ...], int] = {}
        """By the members of the quorum in the row: the number of the walk."""
        self.undisturbed: dict[Places, tuple[tuple[int, ...], bool]] = {}
        """By the places once all have chosen the leader: the events from there on, and whether a step raised."""


def find_trap(space: Space, on_progress: Callable[[int], None] | None = None) -> Followed:
    """Follow every Stabilise from every state of a search that broke nothing, until one is a trap.

    States come in the order of the search, so without reduction no run to a trap is shorter. `on_progress` is told how
    many are done. ValueError if no property of the search reads delivered sequences.
    O(1) look-ups a state and Stabilise; O(1) simulated steps a walk that leads into no other.
    """
    walks = Walks(space)
    checked = 0
    for state, row in enumerate(space.rows()):
        for environment in walks.environments:
            verdict = walks.verdict(row, environment)
            if verdict is None:
                continue
            checked += 1
            if verdict.is_trap:
                return Followed(checked, len(walks), walks.trap(state, row, environment))
        if on_progress is not None and not (state + 1) % _LOOK:
            on_progress(state + 1)
    return Followed(checked, len(walks), None)


class Walks:
    """All walks from the states of one space."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._steps = _Steps(space.parts)
        parts = space.parts
        if space.ghosts.sequences(0) is None:
            raise ValueError("no property of the search reads delivered sequences, so what was delivered is not known")
        sizes = range(1, len(parts.ids) + 1)
        subsets = [members for size in sizes for members in combinations(parts.ids, size)]
        self.environments = [
            Environment(leader, quorum)
            for leader in parts.ids
            for quorum in subsets
            if is_least(parts.quorums, leader, quorum)
        ]
        self._walks: list[Walk] = []
        self._ids: dict[Walk, int] = {}
        self._verdicts: dict[tuple[int, int], Verdict] = {}
        self._by_ghost: dict[tuple[int, int], Verdict] = {}

    def __len__(self) -> int:
        return len(self._walks)

    def verdict(self, row: Row, environment: Environment) -> Verdict | None:
        """What comes of this walk from this state; None if there is none from there.

        O(1) if it was asked before of the same members of the quorum and the same ghost.
        """
        members = tuple([row[place] for place in environment.places])
        number = environment.walks.get(members)
        if number is None:
            number = environment.walks[members] = self._number(self._walk(row, environment))
        if number == _NO_WALK:
            return None
        found = self._by_ghost.get((row[-1], number))
        if found is None:
            found = self._by_ghost[row[-1], number] = self._verdict(row[-1], number)
        return found

    def trap(self, state: int, row: Row, environment: Environment) -> Trap:
        """The run to this state, whose row this is, and this Stabilise; for a walk whose verdict is a trap."""
        verdict = self.verdict(row, environment)
        assert verdict is not None
        assert verdict.is_trap
        steps, names = self._space.run_to(state)
        leader, quorum = environment.stabilise.leader, environment.stabilise.quorum
        stabilise = choices.Stabilise(names[leader], tuple(sorted(names[member] for member in quorum)))
        return Trap((*steps, stabilise), self._kind(row, environment), verdict.broken)

    # Walking.

    def _walk(self, row: Row, environment: Environment) -> Walk | None:
        """What `Simulator.execute` does with this Stabilise, by look-ups; None if it does nothing, or is not known."""
        stabilise = environment.stabilise
        walker = self._walker(row, environment)
        if any(walker.process(member).halted for member in stabilise.quorum):
            return None
        walker.take(calm(stabilise.quorum))
        before, walker.events = tuple(walker.events), []
        if walker.raised or not all(walker.process(member).is_up for member in stabilise.quorum):
            return Walk(stabilise, before, False, (), walker.raised)
        walker.take(choose(stabilise.leader, stabilise.quorum, together=False))
        if walker.has_deaf_links():
            return None
        chosen = tuple(walker.events)
        if walker.raised:
            return Walk(stabilise, before, True, chosen, raised=True)
        known = environment.undisturbed.get(walker.places)
        if known is None:
            start, walker.events = walker.places, []
            walker.take(self._undisturbed(walker, stabilise))
            known = environment.undisturbed[start] = tuple(walker.events), walker.raised
        after, raised = known
        return Walk(stabilise, before, True, chosen + after, raised)

    def _undisturbed(self, walker: "_Walker", stabilise: choices.Stabilise) -> Iterator[Choice]:
        limit = self._space.parts.switches.counter_limit
        return undisturbed(stabilise.leader, stabilise.quorum, limit, walker.waiting)

    def _walker(self, row: Row, environment: Environment) -> "_Walker":
        members = self._space.members.members
        quorum = environment.stabilise.quorum
        nothing = (NO_CONNECTION,) * (len(self._space.parts.ids) + 1)
        places = [nothing] * len(self._space.parts.ids)
        for member in quorum:
            part, *links = members[row[member - 1]]
            inside = (link if p in quorum else NO_CONNECTION for p, link in enumerate(links, 1))
            places[member - 1] = (part, *inside)
        return _Walker(self._steps, quorum, tuple(places), self._space.bounds.txns)

    def _number(self, walk: Walk | None) -> int:
        if walk is None:
            return _NO_WALK
        number = self._ids.get(walk)
        if number is None:
            number = self._ids[walk] = len(self._walks)
            self._walks.append(walk)
        return number

    def _kind(self, row: Row, environment: Environment) -> Kind:
        """What it leads to if rounds go on until nothing is left to be done, and clients ask once more then."""
        stabilise = environment.stabilise
        walker = self._walker(row, environment)
        walker.take(calm(stabilise.quorum))
        before, walker.events = tuple(walker.events), []
        walker.take(choose(stabilise.leader, stabilise.quorum, together=False))
        walker.take(self._undisturbed(walker, stabilise))
        if not walker.settle():
            return "lasso"
        walker.take(ask(stabilise.leader, self._space.parts.switches.counter_limit))
        if not walker.settle():
            return "lasso"
        walk = Walk(stabilise, before, True, tuple(walker.events), walker.raised)
        verdict = self._judged(row[-1], walk)
        if verdict.raised:
            return "raised"
        return "trap" if verdict.is_trap else "late"

    # Judging.

    def _verdict(self, ghost: int, number: int) -> Verdict:
        known, _, _ = self._sequences(ghost)
        found = self._verdicts.get((known, number))
        if found is None:
            found = self._verdicts[known, number] = self._judged(ghost, self._walks[number])
        return found

    def _judged(self, ghost: int, walk: Walk) -> Verdict:
        """By the judges of the properties, which are shown the events of the walk; what was before is on record."""
        if walk.raised:
            return Verdict(None, raised=True)
        _, before, incarnations = self._sequences(ghost)
        judge = before.of_what_comes(LIVENESS)
        leader, quorum = walk.stabilise.leader, walk.stabilise.quorum
        for member in quorum:
            judge.observe(Recover(member, incarnations[member]))  # so that it is known which incarnation it is in
        self._show(judge, walk.before, incarnations)
        if walk.promised:
            judge.observe(Stabilised(leader, incarnations[leader], quorum))
        self._show(judge, walk.after, incarnations)
        violated = (verdict.property for verdict in judge.finish() if verdict.status == "violated")
        return Verdict(next(violated, None), raised=False)

    def _show(self, judge: Judge, events: Iterable[int], incarnations: Sequence[int]) -> None:
        for number in events:
            for event in self._space.parts.events[number]:
                if type(event) in judge.observers and isinstance(event, Local):
                    judge.observe(replace(event, incarnation=incarnations[event.process]))

    def _sequences(self, ghost: int) -> tuple[int, Judge, Sequence[int]]:
        found = self._space.ghosts.sequences(ghost)
        assert found is not None, "it was looked at first"
        return found


class _Steps:
    """The table of what the choices of walks make of a process and its links."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._outcomes: dict[Hashable, Outcome | None] = {}

    def outcome(self, places: Places, process: int, choice: AnyChoice, requests: int) -> Outcome | None:
        """None if the choice is not enabled. O(1) if it was asked before."""
        part, *opened = places[process - 1]
        links_to = [each[process] for each in places]
        key = (choice, part, requests, *opened, *links_to)
        if key not in self._outcomes:
            self._outcomes[key] = self.parts.execute(part, opened, links_to, choice, requests)
        return self._outcomes[key]


class _Walker:
    """A walk of a quorum from `places` on, when `requests` were made. `events` has the numbers of what it shows."""

    def __init__(self, steps: _Steps, quorum: tuple[int, ...], places: Places, requests: int) -> None:
        self._steps = steps
        self._quorum = quorum
        self._requests = requests
        self.places = places
        self.events: list[int] = []
        self.raised = False

    def take(self, wanted: Iterable[Choice]) -> None:
        """Take these choices, as far as they are enabled, until one raises. Each is asked for when the last is done."""
        for choice in wanted:
            if self.raised:
                break
            if not isinstance(choice, choices.Heal | choices.Wake):  # nothing stands in the way of anything in a search
                self._take(choice)

    def _take(self, choice: Any) -> None:
        process: int = choice.process
        outcome = self._steps.outcome(self.places, process, choice, self._requests)
        self._requests += isinstance(choice, choices.Request)
        if outcome is None:
            return
        places = list(self.places)
        for index, link in enumerate(outcome.links_to):
            part, *links = places[index]
            links[process - 1] = link
            places[index] = (part, *links)
        places[process - 1] = (outcome.process, *outcome.opened)
        self.places = tuple(places)
        if outcome.events != NOTHING:
            self.events.append(outcome.events)
        self.raised = outcome.raised

    def process(self, process: int) -> Process:
        """It, as it is now."""
        return self._steps.parts.processes[self.places[process - 1][0]]

    def waiting(self) -> Waiting:
        """What `Simulator.waiting` tells, of the quorum."""
        found = []
        for follower, leader, link in self._links():
            if link.connection.to_follower:
                found.append((follower, leader, len(link.connection.to_follower)))
            to_leader = len(link.connection.to_leader)
            if to_leader and self.process(leader).leads and link.connection.leader_end is not End.CLOSED:
                found.append((leader, follower, to_leader))
        return found

    def settle(self) -> bool:
        """Take rounds until one would do nothing; False if that is never."""
        seen: set[Places] = set()
        while not self.raised and not self._is_quiet():
            if self.places in seen or len(seen) == _MORE_ROUNDS:
                return False
            seen.add(self.places)
            self.take(a_round(self._quorum, self.waiting()))
        return True

    def _is_quiet(self) -> bool:
        return not self.waiting() and not any(self.process(member).disk.unsynced for member in self._quorum)

    def has_deaf_links(self) -> bool:
        return any(link.deaf for _, _, link in self._links())

    def _links(self) -> Iterator[tuple[int, int, Link]]:
        for follower in self._quorum:
            for leader in self._quorum:
                link = self._steps.parts.links[self.places[follower - 1][leader]]
                if link is not None:
                    yield follower, leader, link
