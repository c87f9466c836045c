"""The local states of processes, as numbers, and the table of the moves that lead from them.

A *local state* is a process together with the connections that it has opened: a state of n processes has n of them.
There are few distinct ones and very many states. What a process can do depends on its local state and on the
connections to it, which belong to the local states of others. The first time that a search asks for such a combination,
every choice is executed (`components`), with the protocol's own step functions; from then on it is looked up. There is
no second model of the protocol.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zabcheck.protocols.switches import Switches
from zabcheck.search.explore.alternatives import Alternatives, PlacedChoice
from zabcheck.search.explore.bounds import (
    CRASH,
    CUT,
    FREE,
    REQUEST,
    SNAPSHOT,
    TIMEOUT,
    UNLIMITED,
    Bounds,
    requests_in,
)
from zabcheck.search.explore.components import NO_CONNECTION, NOTHING, Components, Names, Outcome
from zabcheck.search.explore.content import of_disk
from zabcheck.search.explore.journal import Journal
from zabcheck.search.explore.reduction import ALL, MayLeave, Stance, may_read_at_once, stance, stance_of_voter
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.network import End
from zabcheck.simulation.next_state import LocalProcess

STOPS_READING = 0
"""The number of the move by which a follower stops reading from its connection. It is no choice, and no step."""

_COUNT = 40
"""The bit of a mask from which on it has the number of requests."""
_NO_REQUESTS = (1 << _COUNT) - 1 - REQUEST
HELD = 1 << _COUNT - 1
"""The bit of a mask that tells that a follower is held (`LocalStates.is_held`)."""

DOWN = -1
"""Whom a process follows that is not up."""


class Move(NamedTuple):
    """What a process can do, by the number of the choice, and what becomes of its local state and of links to it.

    `cost` is added to what was used of the bounds. `links` has, for each link to this process that changes, the index
    of the local state that it belongs to, and its new number.
    """

    choice: int
    cost: int
    local_state: int
    links: tuple[tuple[int, int], ...]
    events: int
    raised: bool


class Expansion(NamedTuple):
    """What a process can do within the bounds.

    `eager`: no move of another process has to be tried before these (`reduction`). `at_once`: nor does the state before
    these moves have to be kept.
    """

    eager: bool
    at_once: bool
    moves: tuple[Move, ...]


def mask_of(used: int, bounds: Bounds) -> int:
    """Return `LocalStates.mask`."""
    affordable = bounds.affordable(used)
    requests = requests_in(used) if affordable & REQUEST else 0
    return affordable | requests << _COUNT


class LocalStates:
    """The local states and moves of one search; with `reduced`, partial-order reduction leaves moves out.

    With `moments`, a follower that is held (`is_held`) may stop reading all the same.
    """

    def __init__(
        self,
        components: Components,
        switches: Switches,
        bounds: Bounds,
        journal: Journal,
        *,
        reduced: bool,
        moments: bool,
    ) -> None:
        self.components = components
        self.journal = journal
        self.bounds = bounds
        self.reduced = reduced
        self._is_abrupt = switches.closing == "abrupt"
        self._votes = components.protocol.vote is not None
        lazy = reduced and self._is_abrupt and not self._votes
        self.is_lazy = lazy and not any(map(self._leads_on_alone, components.ids))
        """Whether elections are put off (`reduction`)."""
        self.by_messages = switches.elections == "fle"
        """Whether processes elect by messages, and nobody names a leader."""
        assert not (reduced and self.by_messages), "the reduction knows nothing of elections by messages"
        self.alternatives = Alternatives(components, switches, bounds)
        self.choices = self.alternatives.choices
        overflows = REQUEST if bounds.txns > switches.counter_limit else FREE
        self.holds = reduced and not moments and not self._votes
        self.faults = TIMEOUT | CRASH | CUT | overflows
        """The costs of all moves by which an iteration may end that is not about to end."""
        self._reads_at_once = reduced and not moments and self._votes and overflows == FREE
        self.made_of: list[tuple[int, ...]] = []
        """By number: the process, then its link to each process (none to itself), all by number as in `components`."""
        self._size = len(components.ids)
        links_to: list[list[int]] = [[] for _ in range(self._size + 1)]
        self._links_to = links_to
        """By process, then by the number of a local state: the link that this has opened to the process."""
        self._link_to = [links.__getitem__ for links in links_to]
        self.leads: list[bool] = []
        """By number: whether the process leads, or wants to."""
        self.may_join: list[bool] = []
        """By number: whether it is up, and in no iteration."""
        self.following: list[int] = []
        """By number: whom the process follows, itself if it leads, or NOBODY; DOWN if it is not up."""
        self.flags: list[int] = []
        """By number: the bits from which `may_be_eager` tells which processes may have an eager move."""
        self.settled_with: list[int] = []
        """By number: the leader with which the process is settled (`Protocol.settled`), or NOBODY; a leader: itself."""
        self.may_be_held: list[bool] = []
        """By number: whether it is settled, and would stop reading if it were not held."""
        self.switched_off: dict[str, int] = {}
        """By the name of a bound: how many different moves it forbade."""
        self._forbidden: set[tuple[int, ...]] = set()
        """The choices that the bound on epochs forbids, each with a local state and the links to it."""
        self.matters: list[int] = []
        """By number: the bits of a mask that its moves depend on; only a leader takes requests."""
        self._ids: dict[tuple[int, ...], int] = {}
        self.expansions: dict[tuple[int, ...], Expansion] = {}
        self._tried: dict[tuple[int, ...], dict[int, list[tuple[int, Move]]]] = {}
        """By a local state and the links to it, and then by cost: the moves, each with the place of its choice."""
        counted = bounds.timeouts, bounds.crashes, bounds.cuts, bounds.snapshots
        self._counts_faults = any(bound > 0 for bound in counted)
        self.singles: dict[tuple[int, ...], Move | None] = {}
        self.linked: dict[tuple[int, int, int], int] = {}
        self._renamed: dict[Names, dict[int, int]] = {}
        self._masks: dict[int, int] = {}
        no_links = (NO_CONNECTION,) * len(components.ids)
        self.start = tuple(self._intern((process, *no_links)) for process in components.start)

    def _leads_on_alone(self, process: int) -> bool:
        """Whether a process does something as soon as it is told to lead, and not only when it hears of a follower."""
        start, no_links = self.components.start[process - 1], [NO_CONNECTION] * len(self.components.ids)
        outcome = self.components.execute(start, no_links, no_links, choices.Elect(process, process), 0)
        return outcome is None or outcome.raised or not self._only_waits(start, outcome)

    def _only_waits(self, process: int, outcome: Outcome) -> bool:
        """Whether the process with this number showed nothing and wrote nothing."""
        before, after = (of_disk(self.components.processes[number].disk) for number in (process, outcome.process))
        return outcome.events == NOTHING and before == after

    def _intern(self, local_state: tuple[int, ...]) -> int:
        number = self._ids.get(local_state)
        if number is None:
            number = self._ids[local_state] = len(self.made_of)
            self.made_of.append(local_state)
            for links_to, link in zip(self._links_to[1:], local_state[1:], strict=True):
                links_to.append(link)
            component = self.components.processes[local_state[0]]
            self.leads.append(component.leads)
            self.matters.append(~0 if component.leads or not self.reduced else _NO_REQUESTS)
            self.may_join.append(component.is_up and not component.halted and component.following == NOBODY)
            self.following.append(component.following if component.is_up else DOWN)
            self.flags.append(self._flags(local_state) if self.reduced else 0)
            settled_with = self._settled_with(component, local_state) if self.holds else NOBODY
            self.settled_with.append(settled_with)
            self.may_be_held.append(settled_with != NOBODY and self._stance(local_state).may_stop_reading)
        return number

    def _settled_with(self, component: LocalProcess, local_state: tuple[int, ...]) -> int:
        settled = self.components.protocol.settled
        if settled is None or component.following == NOBODY or not settled(component.state):
            return NOBODY
        link = self.components.links[local_state[component.following]]
        if link is not None and (link.is_closed or link.connection.leader_end is not End.OPEN):
            return NOBODY
        return component.following

    def _flags(self, local_state: tuple[int, ...]) -> int:
        """Return a bit for each process that this one has sent something, or closed a connection to.

        Of the bits from 8 on its own one says that it leads; of those from 16 on, that its stance is eager.
        """
        component = self.components.processes[local_state[0]]
        touched = 0
        for leader, link_number in enumerate(local_state[1:], 1):
            link = self.components.links[link_number]
            if link is not None and (link.connection.to_leader or link.is_closed):
                touched |= 1 << leader
        may_read = self._reads_at_once and component.following != NOBODY
        eager = not component.leads and (may_read or self._stance(local_state).eager)
        return touched | component.leads << component.id + 8 | eager << component.id + 16

    def may_be_eager(self, row: Sequence[int]) -> int:
        """Return a bit for each process that may have an eager move: a leader only if a message or a closing came.

        O(1), and much faster than to look the moves up.
        """
        flags = 0
        for local_state in row[: self._size]:
            flags |= self.flags[local_state]
        return (flags & flags >> 8 & 0xFF) | flags >> 16

    def mask(self, used: int) -> int:
        """Return what of `used` decides what can be done next: the affordable costs, and the number of requests."""
        found = self._masks.get(used)
        if found is None:
            found = self._masks[used] = mask_of(used, self.bounds)
        return found

    def expansion(self, mask: int, row: Sequence[int], process: int) -> Expansion:
        """Return what `process` can do in the state with this row. O(1) if it was asked before."""
        local_state = row[process - 1]
        if not mask & self.faults and self.may_be_held[local_state] and self.is_held(row, process):
            mask |= HELD
        links_to = map(self._link_to[process], row[: self._size])
        key = (mask & self.matters[local_state], local_state, *links_to)
        try:
            return self.expansions[key]
        except KeyError:
            return self.expand(*key)

    def is_held(self, row: Sequence[int], process: int) -> bool:
        """Whether a process and a quorum are settled with a leader: without a fault it never leaves. O(processes)."""
        settled_with = self.settled_with
        leader = settled_with[row[process - 1]]
        if leader == NOBODY or settled_with[row[leader - 1]] != leader:
            return False
        components = self.components
        return components.quorums.contains([p for p in components.ids if settled_with[row[p - 1]] == leader])

    def single(self, choice: int, row: Sequence[int], process: int) -> Move | None:
        """Return what this choice, which costs nothing, makes of `process`, whatever its stance; None if nothing.

        O(1) if it was asked before.
        """
        key = (choice, row[process - 1], *map(self._link_to[process], row[: self._size]))
        try:
            return self.singles[key]
        except KeyError:
            return self.try_single(*key)

    def try_single(self, number: int, local_state: int, *links_to: int) -> Move | None:
        """Fill in what `single` looks up: a choice and a local state, by number, and the links to it. O(1) steps."""
        key = (number, local_state, *links_to)
        self.journal.append(("singles", key))
        outcome = self._outcome(number, local_state, links_to, 0)
        found = None
        if outcome is not None and outcome.epoch > self.bounds.epochs:
            self._forbid(number, local_state, links_to)
        elif outcome is not None:
            waits = outcome.raised or self._only_waits(self.made_of[local_state][0], outcome)
            told = self.is_lazy and isinstance(self.choices[number], choices.Elect)
            assert waits or not told, "who is told a leader only waits"
            found = self._move(number, FREE, outcome)
        self.singles[key] = found
        return found

    def _forbid(self, choice: int, local_state: int, links_to: Sequence[int]) -> None:
        """Note that the bound on epochs forbids this choice in this local state, with these links to the process."""
        self._forbidden.add((choice, local_state, *links_to))
        self.switched_off["epochs"] = len(self._forbidden)

    def with_link(self, local_state: int, leader: int, link: int) -> int:
        """Return the same local state with another link to `leader`. O(1) if it was asked before."""
        key = (local_state, leader, link)
        found = self.linked.get(key)
        if found is None:
            self.journal.append(("links", key))
            changed = list(self.made_of[local_state])
            changed[leader] = link
            found = self.linked[key] = self._intern(tuple(changed))
        return found

    def renamings(self, names: Names) -> dict[int, int]:
        """Return what local states are when each process has its new name, as far as that was asked before. O(1)."""
        return self._renamed.setdefault(names, {})

    def renamed(self, local_state: int, names: Names) -> int:
        """Return the same local state when each process has its new name. O(1) if it was asked before."""
        known = self.renamings(names)
        found = known.get(local_state)
        if found is None:
            self.journal.append(("local states renamed", (local_state, names)))
            process, *links = self.made_of[local_state]
            renamed = [NO_CONNECTION] * len(links)
            for leader, link in enumerate(links, 1):
                renamed[names[leader] - 1] = self.components.renamed_link(link, names)
            found = self._intern((self.components.renamed_process(process, names), *renamed))
            known[local_state] = found
        return found

    # Filling the table of expansions.

    def expand(self, mask: int, local_state: int, *links_to: int) -> Expansion:
        """Fill in what `expansion` looks up. O(1) simulated steps for each kind of choice and process."""
        key = (mask, local_state, *links_to)
        self.journal.append(("expansions", key))
        process = self.components.processes[self.made_of[local_state][0]].id
        found = self.expansions[key] = self._expanded(mask, process, local_state, list(links_to))
        return found

    def _expanded(self, mask: int, process: int, local_state: int, links_to: list[int]) -> Expansion:
        number, *opened = self.made_of[local_state]
        component = self.components.processes[number]
        if not component.is_up and component.halted:
            return Expansion(False, False, ())
        chosen = self._stance(self.made_of[local_state])
        moves = self._moves(mask, process, chosen.kinds, local_state, links_to)
        if chosen.may_stop_reading and not mask & HELD:
            link = opened[component.following - 1]
            unread = self.with_link(local_state, component.following, self.components.unread(link))
            moves.append(Move(STOPS_READING, FREE, unread, (), NOTHING, raised=False))
        if self.reduced and component.leads:
            for move in moves:
                if self._changes_nothing(move, local_state, links_to) or self._leads_on(move, local_state):
                    return Expansion(True, True, (move,))
        may_read = self._reads_at_once and not mask & self.faults and self._reads(component, opened, links_to, moves)
        eager = (chosen.eager or may_read) and any(move.cost != SNAPSHOT for move in moves)
        return Expansion(eager, eager and (chosen.at_once or len(moves) == 1), tuple(moves))

    def _reads(self, component: LocalProcess, opened: list[int], links_to: list[int], moves: list[Move]) -> bool:
        """Return `may_read_at_once`, where no fault can come. MayLeave if a leader leaves followers all the same."""
        processes, links = self.components.processes, self.components.links
        after = [processes[self.made_of[move.local_state][0]] for move in moves if not move.raised]
        accepted = (
            link for link in map(links.__getitem__, links_to) if link and link.connection.leader_end is End.OPEN
        )
        if component.leads and not all(each.leads for each in after) and any(accepted):
            raise MayLeave
        return may_read_at_once(component, [None, *map(links.__getitem__, opened)], after)

    def _moves(
        self, mask: int, process: int, kinds: tuple[type[Choice], ...], local_state: int, links_to: list[int]
    ) -> list[Move]:
        """Return the moves that `mask` can pay for, in the order of their choices.

        Where faults are counted, a state with others left asks for the same moves again, so those of one cost are tried
        once for all.
        """
        following = self.components.processes[self.made_of[local_state][0]].following
        tried = self._tried.setdefault((local_state, *links_to), {}) if self._counts_faults else {}
        found: list[tuple[int, Move]] = []
        for cost, some in self.alternatives.of(process, kinds, following != NOBODY).items():
            if cost != FREE and not mask & cost:
                continue
            requests = mask >> _COUNT if cost == REQUEST else 0
            key = cost | requests << _COUNT
            if key not in tried:
                tried[key] = self._try(some, cost, requests, local_state, links_to)
            found += tried[key]
        return [move for _, move in sorted(found)]

    def _try(
        self, some: Sequence[PlacedChoice], cost: int, requests: int, local_state: int, links_to: list[int]
    ) -> list[tuple[int, Move]]:
        """Return the moves by these choices, all of which cost the same, each with the place of its choice."""
        number, *opened = self.made_of[local_state]
        component, counted = self.components.processes[number], self.bounds.counted(cost)
        may_be_enabled, execute, epochs = self.alternatives.may_be_enabled, self.components.execute, self.bounds.epochs
        found = []
        for place, choice_number, choice in some:
            if not may_be_enabled(choice, component, opened, links_to):
                continue
            outcome = execute(number, opened, links_to, choice, requests)  # type: ignore[arg-type]  # any kind of it
            if outcome is not None and outcome.epoch > epochs:
                self._forbid(choice_number, local_state, links_to)
            elif outcome is not None:
                found.append((place, self._move(choice_number, counted, outcome)))
        return found

    def _stance(self, local_state: tuple[int, ...]) -> Stance:
        process, *opened = local_state
        links = [None, *(self.components.links[number] for number in opened)]
        unlimited = self.bounds.timeouts == UNLIMITED
        if not self.reduced:
            return ALL
        if self._votes:
            return stance_of_voter(self.components.processes[process])
        return stance(self.components.processes[process], links, unlimited, self._is_abrupt, self.is_lazy)

    def _outcome(self, number: int, local_state: int, links_to: Sequence[int], requests: int) -> Outcome | None:
        component, *opened = self.made_of[local_state]
        choice = self.choices[number]
        assert choice is not None
        return self.components.execute(component, opened, links_to, choice, requests)

    def _move(self, choice: int, cost: int, outcome: Outcome) -> Move:
        return Move(
            choice,
            cost,
            self._intern((outcome.process, *outcome.opened)),
            outcome.links_to,
            outcome.events,
            outcome.raised,
        )

    def _changes_nothing(self, move: Move, local_state: int, links_to: list[int]) -> bool:
        """Whether a leader only takes a message out of a queue."""
        choice = self.choices[move.choice]
        if not isinstance(choice, choices.Receive) or (move.local_state, move.events, move.raised) != (
            local_state,
            NOTHING,
            False,
        ):
            return False
        before = links_to[choice.sender - 1]
        return move.links == ((choice.sender - 1, self.components.popped(before)),)

    def _leads_on(self, move: Move, local_state: int) -> bool:
        """Whether a leader notices that a follower has left, and leads on: with its own links, and nothing to show."""
        if not isinstance(self.choices[move.choice], choices.Notice) or (move.events, move.raised) != (NOTHING, False):
            return False
        if self._votes and not self._is_abrupt:
            return False
        before = self.components.processes[self.made_of[local_state][0]]
        if not self.components.protocol.notices_at_once(before.state):
            return False
        return self.leads[move.local_state] and self.made_of[move.local_state][1:] == self.made_of[local_state][1:]
