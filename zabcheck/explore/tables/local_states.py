"""The local states of processes, as numbers, and the table of the moves that lead from them.

A *local state* is a process together with the connections that it has opened: a state of n processes has n of them.
There are few distinct ones and very many states. The moves of a process depend on its local state and on the
connections to it, which belong to the local states of others. But each choice depends on the links between the process
and one other, which it names, and not on the rest. So the moves are put together from *parts*, one for each
other process, and one of the choices that name no process. The first time that a search asks for a part, its choices
are executed (`components`), with the protocol's own step functions; from then on they are looked up. There is no second
model of the protocol.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from zabcheck.explore.bounds import (
    CHANGE,
    COSTS,
    CRASH,
    CUT,
    FREE,
    REQUEST,
    SNAPSHOT,
    TIMEOUT,
    UNLIMITED,
    Bounds,
    changes_in,
    requests_in,
)
from zabcheck.explore.tables.alternatives import Alternatives
from zabcheck.explore.tables.components import (
    ACCEPTED,
    NO_CONNECTION,
    NOTHING,
    Components,
    Link,
    Outcome,
    Pair,
    PairOutcome,
    between,
    named_by,
)
from zabcheck.explore.tables.reduction import ALL, DoesNotCommute, Stance, may_read_at_once, stance, stance_of_voter
from zabcheck.explore.tables.renaming import Names
from zabcheck.invariants.quorums import configuration_of
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.content import of_disk
from zabcheck.simulation.network import End
from zabcheck.simulation.next_state import LocalProcess

STOPS_READING = 0
"""The number of the move by which a follower stops reading from its connection. It is no choice, and no step."""

_COUNT = 40
"""The lowest bit of the number of requests in a mask."""
_CHANGES = 48
"""The lowest bit of the number of configuration changes in a mask; above that there is nothing."""
_NO_REQUESTS = (1 << _COUNT) - 1 - REQUEST - CHANGE
HELD = 1 << _COUNT - 1
"""The bit of a mask that is set if a follower is held (`LocalStates.is_held`)."""

OF_LINKS = CUT | HELD
"""The bits of a mask that moves depend on if they name another process."""

DOWN = -1
"""The leader of a process that is not up."""

_LAST = 1 << 16
"""The place of the move by which a follower stops reading."""

ORDINARY, POPS, NOTICES = range(3)
"""Reasons that may make a leader's move the only one to try: it takes a message out of a queue and does nothing else,
or it notices that a follower has left.
"""


class Part(NamedTuple):
    """A move as far as it depends on the process and the links between it and the one other that the choice names.

    `place` is its place among the moves of the process. `kind`: ORDINARY, POPS or NOTICES.
    """

    place: int
    choice: int
    cost: int
    kind: int
    executed: PairOutcome


class Move(NamedTuple):
    """A possible move of a process: the number of the choice, and its local state and the links to it afterwards.

    `cost` is added to the used part of the bounds. `links` has, for each link to this process that changes, the index
    of the local state that it belongs to, and its new number.
    """

    choice: int
    cost: int
    local_state: int
    links: tuple[tuple[int, int], ...]
    events: int
    raised: bool


class Expansion(NamedTuple):
    """The moves of a process within the bounds.

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
    changes = changes_in(used) if affordable & CHANGE else 0
    return affordable | requests << _COUNT | changes << _CHANGES


class LocalStates:
    """The local states and moves of one search; with `reduced`, partial-order reduction leaves moves out.

    With `moments`, a follower that is held (`is_held`) may stop reading all the same.
    """

    def __init__(
        self,
        components: Components,
        switches: Switches,
        bounds: Bounds,
        *,
        reduced: bool,
        moments: bool,
    ) -> None:
        self.components = components
        self.bounds = bounds
        self.reduced = reduced
        self._is_abrupt = switches.closing == "abrupt"
        self._votes = components.protocol.vote is not None
        lazy = reduced and self._is_abrupt and not self._votes
        changes = (configuration_of(each, components.quorums.size) for each in bounds.changes)
        lazy = lazy and not any(each is not None and each.contains(each.members[:1]) for each in changes)
        self.is_lazy = lazy and not any(map(self._leads_on_alone, components.ids))
        """True if elections are put off (`reduction`)."""
        self.by_messages = switches.elections == "fle"
        """True if processes elect by messages, and nobody names a leader."""
        assert not (reduced and (switches.sends_outside or switches.lossy)), "the reduction knows only FIFO channels"
        self.alternatives = Alternatives(components, switches, bounds)
        self.choices = self.alternatives.choices
        overflows = REQUEST if bounds.txns > switches.counter_limit else FREE
        self.holds = reduced and not moments and not self._votes
        self.faults = TIMEOUT | CRASH | CUT | overflows
        """The costs of all moves by which an iteration may end that is not about to end."""
        self.reads_at_once = reduced and not moments and self._votes and overflows == FREE
        self._size = len(components.ids)
        self._make_tables()
        no_links = (NO_CONNECTION,) * self._size
        self.start = tuple(self.numbered(process, *no_links) for process in components.start)

    def _make_tables(self) -> None:
        """Make empty tables."""
        self.made_of: list[tuple[int, ...]] = []
        """By number: the process, then its link to each process (none to itself), all by number as in `components`."""
        links_to: list[list[int]] = [[] for _ in range(self._size + 1)]
        self._links_to = links_to
        """By process, then by the number of a local state: the link that this has opened to the process."""
        self._link_to = [links.__getitem__ for links in links_to]
        self.ids: list[int] = []
        """By number: the id of the process."""
        self.stances: list[Stance] = []
        """By number: which of its moves have to be tried."""
        self.may_read: list[bool] = []
        """By number: whether it reads at once if no fault can come any more, and it goes on following."""
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
        self.limiting: dict[str, None] = {}
        """The bounds that kept a process from a move that it could have made: all but that on epochs."""
        self._forbidden: set[tuple[int, int, Pair]] = set()
        """The choices that the bound on epochs forbids, each with the process and the links that it depends on."""
        self.matters: list[int] = []
        """By number: the bits of a mask that its moves depend on; only a leader takes requests."""
        self._ids: dict[tuple[int, ...], int] = {}
        self.known_parts: dict[tuple[int, int, int, int], tuple[Part, ...]] = {}
        self.expansions: dict[tuple[int, ...], Expansion] = {}
        self.singles: dict[tuple[int, ...], Move | None] = {}
        self.linked: dict[tuple[int, int, int], int] = {}
        self._renamed: dict[Names, dict[int, int]] = {}
        self.all_renamed: list[tuple[Names, int, int]] = []
        """The names, a local state, and what it is under these: all that was asked, in order."""
        self._masks: dict[int, int] = {}

    def _leads_on_alone(self, process: int) -> bool:
        """Return True if a process acts as soon as it is told to lead, and not only when it hears of a follower."""
        start, no_links = self.components.start[process - 1], [NO_CONNECTION] * len(self.components.ids)
        outcome = self.components.execute(start, no_links, no_links, choices.Elect(process, process), 0)
        return outcome is not None and (outcome.raised or not self._only_waits(start, outcome))

    def _only_waits(self, process: int, outcome: Outcome | PairOutcome) -> bool:
        """Return True if the process with this number showed nothing and wrote nothing."""
        before, after = (of_disk(self.components.processes[number].disk) for number in (process, outcome.process))
        return outcome.events == NOTHING and before == after

    def numbered(self, *local_state: int) -> int:
        """Return the number of a local state, which is made of these (`made_of`). O(1) if it was computed before."""
        number = self._ids.get(local_state)
        if number is None:
            self.components.journal.append(("local states", local_state))
            number = self._ids[local_state] = len(self.made_of)
            self.made_of.append(local_state)
            for links_to, link in zip(self._links_to[1:], local_state[1:], strict=True):
                links_to.append(link)
            component = self.components.processes[local_state[0]]
            opened = [None, *(self.components.links[link] for link in local_state[1:])]
            stance_ = self._stance(local_state[0], component, opened, local_state[1:])
            self.ids.append(component.id)
            self.stances.append(stance_)
            self.may_read.append(self.reads_at_once and may_read_at_once(component, opened))
            self.leads.append(component.leads)
            self.matters.append(~0 if component.leads or not self.reduced else _NO_REQUESTS)
            self.may_join.append(component.is_up and not component.halted and component.following == NOBODY)
            self.following.append(component.following if component.is_up else DOWN)
            self.flags.append(self._flags(component, opened, stance_) if self.reduced else 0)
            settled_with = self._settled_with(component, local_state) if self.holds else NOBODY
            self.settled_with.append(settled_with)
            self.may_be_held.append(settled_with != NOBODY and stance_.may_stop_reading)
        return number

    def _stance(self, number: int, component: LocalProcess, opened: list[Link | None], links: Sequence[int]) -> Stance:
        if not self.reduced:
            return ALL
        if self._votes:
            return stance_of_voter(component)
        found = stance(component, opened, self.bounds.timeouts == UNLIMITED, self._is_abrupt, self.is_lazy)
        hands_over = self.components.protocol.hands_over
        if hands_over is None or component.following == NOBODY:
            return found
        if found.may_stop_reading and self._leaves_by_reading(number, component, links):
            return ALL
        return ALL if hands_over(component.state) else found

    def _leaves_by_reading(self, number: int, component: LocalProcess, links: Sequence[int]) -> bool:
        """Return True if the next message of its leader makes a follower leave its iteration."""
        leader = component.following
        before = links[leader - 1], NO_CONNECTION
        read = self.components.executed(number, choices.Receive(component.id, leader), 0, before)
        if read is None:
            return False
        stays = self.components.link_bits[read.links[0]] & ACCEPTED  # a new connection to the same leader is not, yet
        return self.components.processes[read.process].following != leader or not stays

    def _settled_with(self, component: LocalProcess, local_state: tuple[int, ...]) -> int:
        settled = self.components.protocol.settled
        if settled is None or component.following == NOBODY or not settled(component.state):
            return NOBODY
        link = self.components.links[local_state[component.following]]
        if link is not None and (link.is_closed or link.connection.leader_end is not End.OPEN):
            return NOBODY
        return component.following

    def _flags(self, component: LocalProcess, opened: list[Link | None], stance_: Stance) -> int:
        """Return a bit for each process that this one has sent something, or closed a connection to.

        From bit 8 on its own bit means that it leads; from bit 16 on, that its stance is eager.
        """
        touched = 0
        for leader, link in enumerate(opened):
            if link is not None and (link.connection.to_leader or link.is_closed):
                touched |= 1 << leader
        may_read = self.reads_at_once and component.following != NOBODY
        eager = not component.leads and (may_read or stance_.eager)
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
        """Return the part of `used` that decides the next moves: the affordable costs, and the number of requests."""
        found = self._masks.get(used)
        if found is None:
            found = self._masks[used] = mask_of(used, self.bounds)
        return found

    def expansion(self, mask: int, row: Sequence[int], process: int) -> Expansion:
        """Return the moves of `process` in the state with this row. O(1) if they were computed before."""
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
        """Return True if a process and a quorum are settled with a leader: only faults make it leave. O(processes)."""
        settled_with = self.settled_with
        leader = settled_with[row[process - 1]]
        if leader == NOBODY or settled_with[row[leader - 1]] != leader:
            return False
        components = self.components
        return components.quorums.contains([p for p in components.ids if settled_with[row[p - 1]] == leader])

    def single(self, choice: int, row: Sequence[int], process: int) -> Move | None:
        """Return the move of `process` by this choice, which costs nothing, whatever its stance; None if there is none.

        O(1) if it was computed before.
        """
        key = (choice, row[process - 1], *map(self._link_to[process], row[: self._size]))
        try:
            return self.singles[key]
        except KeyError:
            return self.try_single(*key)

    def try_single(self, number: int, local_state: int, *links_to: int) -> Move | None:
        """Fill in an entry of `single`: a choice and a local state, by number, and the links to it. O(1) steps."""
        key = (number, local_state, *links_to)
        self.components.journal.append(("singles", key))
        component, *opened = self.made_of[local_state]
        choice = self.choices[number]
        assert choice is not None
        named = named_by(choice)
        before = between(named, opened, links_to)
        executed = self.components.executed(component, choice, 0, before)
        found = None
        if executed is not None and executed.epoch > self.bounds.epochs:
            self._forbid(number, component, before)
        elif executed is not None:
            waits = executed.raised or self._only_waits(component, executed)
            if self.is_lazy and isinstance(choice, choices.Elect) and not waits:
                raise DoesNotCommute("a process that is told a leader does more than to wait")
            found = self._move(Part(0, number, FREE, ORDINARY, executed), named, opened, links_to)
        self.singles[key] = found
        return found

    def move(self, choice: Any, row: Sequence[int]) -> Move | None:
        """Return a move that may not have to be tried; None if it is not enabled, or the bounds forbid it."""
        mask, process = self.mask(row[-2]), choice.process
        component, *opened = self.made_of[row[process - 1]]
        links_to = [self.made_of[each][process] for each in row[: self._size]]
        named, in_iteration = named_by(choice), self.following[row[process - 1]] > NOBODY
        moving = self.alternatives.of(process, (Choice,), in_iteration).get(named or process, ())
        for place, cost, number, _ in (each for each in moving if each[-1] == choice):
            if (cost != FREE and not mask & cost) or (cost == CHANGE and not self._is_next(mask, choice)):
                return None
            requests = requests_in(row[-2]) if cost == REQUEST else 0
            executed = self.components.executed(component, choice, requests, between(named, opened, links_to))
            if executed is None or executed.epoch > self.bounds.epochs:
                return None
            part = Part(place, number, self.bounds.counted(cost), ORDINARY, executed)
            return self._move(part, named, opened, links_to)
        return None

    def _forbid(self, choice: int, process: int, before: Pair) -> None:
        """Record that the bound on epochs forbids this choice of this process, by number, with these links."""
        self._forbidden.add((choice, process, before))
        self.switched_off["epochs"] = len(self._forbidden)

    def with_link(self, local_state: int, leader: int, link: int) -> int:
        """Return the same local state with another link to `leader`. O(1) if it was computed before."""
        key = (local_state, leader, link)
        found = self.linked.get(key)
        if found is None:
            changed = list(self.made_of[local_state])
            changed[leader] = link
            found = self.linked[key] = self.numbered(*changed)
        return found

    def renamings(self, names: Names) -> dict[int, int]:
        """Return the known local states in which each process has its new name. O(1)."""
        return self._renamed.setdefault(names, {})

    def renamed(self, local_state: int, names: Names) -> int:
        """Return the same local state when each process has its new name. O(1) if it was computed before."""
        known = self.renamings(names)
        found = known.get(local_state)
        if found is None:
            self.components.journal.append(("local states renamed", (local_state, names)))
            process, *links = self.made_of[local_state]
            renamed = [NO_CONNECTION] * len(links)
            for leader, link in enumerate(links, 1):
                renamed[names[leader] - 1] = self.components.renamed_link(link, names)
            twin = self.components.renamed_process(process, names), *renamed
            found = known[local_state] = self.numbered(*twin)
            self.all_renamed.append((names, local_state, found))
        return found

    # Filling the tables of parts and expansions.

    def parts(self, mask: int, local_state: int, other: int, link: int) -> tuple[Part, ...]:
        """Return the moves of a process that name this other one, which has opened this link to it.

        If the other one is the process itself, then those that name none. O(1) simulated steps for each kind of
        choice, and O(1) if it was computed before.
        """
        key = (mask, local_state, other, link)
        found = self.known_parts.get(key)
        if found is None:
            self.components.journal.append(("parts", key))
            found = self.known_parts[key] = tuple(self._parts(mask, local_state, other, link))
        return found

    def _parts(self, mask: int, local_state: int, other: int, link: int) -> Iterator[Part]:
        (number, *opened), chosen = self.made_of[local_state], self.stances[local_state]
        component, components = self.components.processes[number], self.components
        if not component.is_up and component.halted:
            return
        may_be_enabled, before = self.alternatives.may_be_enabled, (opened[other - 1], link)
        some = self.alternatives.of(component.id, chosen.kinds, component.following != NOBODY)
        for place, cost, choice_number, choice in some.get(other, ()):
            if cost == CHANGE and not self._is_next(mask, choice):
                continue
            if cost != FREE and not mask & cost:
                self._note_limit(COSTS[cost], number, choice, before)
                continue
            if not may_be_enabled(choice, component, *before):
                continue
            requests = (mask >> _COUNT) & (1 << _CHANGES - _COUNT) - 1 if cost == REQUEST else 0
            executed = components.executed(number, choice, requests, before)
            if executed is not None and executed.epoch > self.bounds.epochs:
                self._forbid(choice_number, number, before)
            elif executed is not None:
                kind = self._kind(choice, number, before, executed)
                yield Part(place, choice_number, self.bounds.counted(cost), kind, executed)
        if chosen.may_stop_reading and other == component.following and not mask & HELD:
            unread = PairOutcome(number, (components.unread(before[0]), link), (), NOTHING, 0, raised=False)
            yield Part(_LAST, STOPS_READING, FREE, ORDINARY, unread)

    def _is_next(self, mask: int, change: Any) -> bool:
        """Return True if clients ask for this configuration next: each comes once, in the order of the bounds."""
        return bool(mask & CHANGE) and self.bounds.changes[mask >> _CHANGES] == change.value

    def _note_limit(self, bound: str, number: int, choice: AnyChoice, before: Pair) -> None:
        """Note that a bound limits the search, if without it a process with these links could make this choice."""
        if bound not in self.limiting and self.alternatives.may_be_enabled(
            choice, self.components.processes[number], *before
        ):
            epoch = self.components.epoch_after(number, choice, before)
            if epoch is not None and epoch <= self.bounds.epochs:
                self.limiting[bound] = None

    def _kind(self, choice: Any, number: int, before: Pair, executed: PairOutcome) -> int:
        """Return the reason that may make a move the only one to try."""
        component = self.components.processes[number]
        if not self.reduced or not component.leads or executed.events != NOTHING or executed.raised:
            return ORDINARY
        if isinstance(choice, choices.Receive) and (executed.process, executed.links[0]) == (number, before[0]):
            return POPS if executed.links[1] == self.components.popped(before[1]) else ORDINARY
        is_at_once = isinstance(choice, choices.Notice) and (self._is_abrupt or not self._votes)
        if is_at_once and self.components.protocol.notices_at_once(component.state):
            return NOTICES
        return ORDINARY

    def expand(self, mask: int, local_state: int, *links_to: int) -> Expansion:
        """Fill in an entry of `expansion`. O(processes), with all parts."""
        process, found = self.ids[local_state], list[tuple[Part, int]]()
        for other, link in enumerate(links_to, 1):
            bits = mask & ~HELD if other == process else mask & OF_LINKS
            found += [(part, other) for part in self.parts(bits, local_state, other, link)]
        opened = self.made_of[local_state][1:]
        found.sort()
        moves = [self._move(part, other, opened, links_to) for part, other in found]
        kinds = [part.kind for part, _ in found]
        expansion = self._expansion(mask, local_state, links_to, kinds, moves)
        self.expansions[mask, local_state, *links_to] = expansion
        return expansion

    def _expansion(
        self, mask: int, local_state: int, links_to: Sequence[int], kinds: Sequence[int], moves: Sequence[Move]
    ) -> Expansion:
        for kind, move in zip(kinds, moves, strict=True):
            if self._is_only_one(kind, move, local_state):
                return Expansion(True, True, (move,))
        chosen = self.stances[local_state]
        may_read = self.reads_at_once and not mask & self.faults and self._reads(local_state, links_to, moves)
        eager = (chosen.eager or may_read) and any(move.cost != SNAPSHOT for move in moves)
        return Expansion(eager, eager and (chosen.at_once or len(moves) == 1), tuple(moves))

    def _is_only_one(self, kind: int, move: Move, local_state: int) -> bool:
        """Return True if this is the only move to try.

        The leader takes a message that changes nothing but the queue; or it notices that a follower has left, and leads
        on, with its own links, and nothing to show.
        """
        if kind == POPS:
            return move.local_state == local_state and len(move.links) == 1
        before, after = self.made_of[local_state], self.made_of[move.local_state]
        return kind == NOTICES and self.leads[move.local_state] and before[1:] == after[1:]

    def _reads(self, local_state: int, links_to: Sequence[int], moves: Sequence[Move]) -> bool:
        """Return True if a follower reads at once, when no fault can come.

        DoesNotCommute if a leader leaves followers.
        """
        after = [move.local_state for move in moves if not move.raised]
        leaves = self.leads[local_state] and not all(self.leads[each] for each in after)
        if leaves and any(self.components.link_bits[link] & ACCEPTED for link in links_to):
            raise DoesNotCommute("a leader that has accepted a follower leaves without a fault")
        following = self.following[local_state]
        return self.may_read[local_state] and bool(after) and all(self.following[each] == following for each in after)

    def _move(self, part: Part, named: int, opened: Sequence[int], links_to: Sequence[int]) -> Move:
        """Return the move of a part for a process with these links; the choice names the process `named`, if any."""
        outcome = self.components.outcome(part.executed, named, opened, links_to)
        after = self.numbered(outcome.process, *outcome.opened)
        return Move(part.choice, part.cost, after, outcome.links_to, outcome.events, outcome.raised)
