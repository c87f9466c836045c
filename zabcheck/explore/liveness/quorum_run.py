"""A run of some undisturbed processes, as look-ups: each step is executed once, by the protocol's own code."""

from collections.abc import Collection, Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from zabcheck.explore.tables.components import NOTHING, Components, Link, Outcome
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import MOST_ROUNDS, AnyChoice, Choice, Rounds, Waiting, next_round
from zabcheck.simulation.network import End
from zabcheck.simulation.next_state import LocalProcess
from zabcheck.simulation.processes import takes_requests

_NO_STEPS = (choices.Heal, choices.Wake, choices.Lead)
"""Choices of nobody's step: a search has no obstacles, and an election is one step for each of its participants."""

Places = tuple[tuple[int, ...], ...]
"""By process: its number and that of its link to each process, as in `Components`; nothing outside the quorum."""


Round = tuple[Places, tuple[int, ...], bool]
"""The places after a round, its events by number, and True if a step raised in it."""


class Ending(NamedTuple):
    """The end of one continuation from one state: a property that is violated, code that raised, or neither.

    It may have had no end (not `ended`), and decides nothing then.
    """

    broken: str | None
    raised: bool
    ended: bool = True

    @property
    def is_trap(self) -> bool:
        return self.raised or self.broken is not None


class OutcomeTable:
    """The outcomes of the choices of continuations, for a process and its links."""

    def __init__(self, components: Components) -> None:
        self.components = components
        self._outcomes: dict[Hashable, Outcome | None] = {}
        self.rounds: dict[tuple[tuple[int, ...], Places], Round | None] = {}
        """By quorum and places: the next round; None if there is nothing to do."""

    def outcome(self, places: Places, process: int, choice: AnyChoice, requests: int) -> Outcome | None:
        """Return the outcome of the choice for the process; None if it is not enabled. O(1) if computed before."""
        component, *opened = places[process - 1]
        links_to = [each[process] for each in places]
        key = (choice, component, requests, *opened, *links_to)
        if key not in self._outcomes:
            self._outcomes[key] = self.components.execute(component, opened, links_to, choice, requests)
        return self._outcomes[key]


class QuorumRun:
    """A run of a quorum from `places` on, after `requests` requests. `events` has its events, by number."""

    def __init__(self, steps: OutcomeTable, quorum: tuple[int, ...], places: Places, requests: int) -> None:
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
            if isinstance(choice, Rounds):
                self._pass_rounds()
            elif not isinstance(choice, _NO_STEPS):
                self._take(choice)

    def _pass_rounds(self) -> None:
        """Take the choices of a `Rounds` of the quorum. O(1) look-ups for each round that was taken before."""
        for _ in range(MOST_ROUNDS):
            key = self._quorum, self.places
            if key not in self._steps.rounds:
                self._steps.rounds[key] = self._next_round()
            found = self._steps.rounds[key]
            if found is None:
                return
            self.places, events, self.raised = found
            self.events += events
            if self.raised:
                return

    def _next_round(self) -> Round | None:
        """Return what the next round leads to from here, and stay here; None if there is nothing to do."""
        places, events = self.places, self.events
        self.events = []
        choices_of_it = next_round(self, self._quorum)
        first = next(choices_of_it, None)
        if first is not None:
            self.take(chain((first,), choices_of_it))
        after = self.places, tuple(self.events), self.raised
        self.places, self.events, self.raised = places, events, False
        return None if first is None else after

    def take_undisturbed(self, stabilise: choices.Stabilise, switches: Switches) -> bool:
        """Take what an undisturbed leader does. Return False if there was no end to it, as `choices.undisturbed`."""
        ended = True

        def wanted() -> Iterator[Choice]:
            nonlocal ended
            votes = self._steps.components.protocol.vote is not None
            rest = choices.undisturbed_by_vote if votes else choices.undisturbed
            ended = yield from rest(stabilise.leader, stabilise.quorum, switches, self)

        self.take(wanted())
        return ended

    def _take(self, choice: Any) -> None:
        process: int = choice.process
        outcome = self._steps.outcome(self.places, process, choice, self._requests)
        self._requests += isinstance(choice, choices.Request)
        if outcome is None:
            return
        places = list(self.places)
        for index, link in outcome.links_to:
            component, *links = places[index]
            links[process - 1] = link
            places[index] = (component, *links)
        places[process - 1] = (outcome.process, *outcome.opened)
        self.places = tuple(places)
        if outcome.events != NOTHING:
            self.events.append(outcome.events)
        self.raised = outcome.raised

    def process(self, process: int) -> LocalProcess:
        """Return a process as it is now."""
        return self._steps.components.processes[self.places[process - 1][0]]

    def waiting(self) -> Waiting:
        """Return `Simulator.waiting` for the quorum."""
        found = []
        for follower, leader, link in self._links():
            if link.connection.to_follower:
                found.append((follower, leader, len(link.connection.to_follower)))
            to_leader = len(link.connection.to_leader)
            if to_leader and self.process(leader).leads and link.connection.leader_end is not End.CLOSED:
                found.append((leader, follower, to_leader))
        return found

    def hearing_but_votes(self) -> Waiting:
        """Return `Simulator.hearing_but_votes` for the quorum, in the same order."""
        if self._steps.components.switches.elections == "fle":
            return []
        return sorted(
            (receiver, sender, len(link.cast))
            for sender, receiver, link in self._links()
            if link.cast and self.process(receiver).is_up
        )

    def may_broadcast(self, process: int) -> bool:
        """Return `Simulator.may_broadcast`."""
        found = self.process(process)
        return takes_requests(self._steps.components.protocol, found.state, found.disk)

    def highest_epoch(self, process: int) -> int:
        """Return `Simulator.highest_epoch`."""
        state, highest_epoch = self.process(process).state, self._steps.components.protocol.highest_epoch
        return 0 if state is None or highest_epoch is None else highest_epoch(state)

    def follows(self, process: int) -> int:
        """Return `Simulator.follows`."""
        return self.process(process).following

    def is_overdue(self, process: int) -> bool:
        """Return `Simulator.is_overdue`."""
        state, overdue = self.process(process).state, self._steps.components.protocol.overdue
        return state is not None and overdue is not None and overdue(state)

    def situation(self, members: Collection[int]) -> Hashable:
        """Return `Simulator.situation`."""
        return self.places

    @property
    def ids(self) -> range:
        return self._steps.components.ids

    def unsynced(self) -> list[int]:
        """Return `Simulator.unsynced` for the quorum."""
        return [member for member in self._quorum if self.process(member).disk.unsynced]

    def to_sync(self) -> list[int]:
        """Return `Simulator.to_sync` for the quorum."""
        return [] if "sync" in self._steps.components.protocol.environment.never else self.unsynced()

    def to_run(self) -> list[tuple[int, str]]:
        """Return `Simulator.to_run` for the quorum."""
        components = self._steps.components
        whims = components.protocol.environment.whims
        threads = [(name, busy) for name, busy in components.threads.items() if name not in whims]
        up = [(member, state) for member in self._quorum if (state := self.process(member).state) is not None]
        return [(member, name) for member, state in up for name, busy in threads if busy(state)]

    def closed(self) -> list[tuple[int, int]]:
        """Return `Simulator.closed` for the quorum."""
        return [each for _, _, link in self._links() for each in link.connection.unnoticed()]

    def link(self, follower: int, leader: int) -> Link | None:
        """Return the link that a process has opened to another; None if there is none."""
        return self._steps.components.links[self.places[follower - 1][leader]]

    def has_unread_links(self) -> bool:
        return any(link.is_unread for _, _, link in self._links())

    def _links(self) -> Iterator[tuple[int, int, Link]]:
        for follower in self._quorum:
            for leader in self._quorum:
                link = self.link(follower, leader)
                if link is not None:
                    yield follower, leader, link
