"""The table of moves: what each process can do, looked up by the parts that it depends on.

A *member* is a process together with the connections that it has opened, as one number, so a state of n processes has
n members. There are few distinct members and very many states. What a process can do depends on its member and on the
connections to it, which belong to the members of others; the first time that this is asked, the simulator executes
every choice (`parts`), with the protocol's own step functions. There is no second model.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from zabcheck.protocols.switches import Switches
from zabcheck.search.explore.bounds import CRASH, CUT, FREE, REQUEST, TIMEOUT, UNLIMITED, Bounds, requests_in
from zabcheck.search.explore.components import NO_CONNECTION, NOTHING, Names, Outcome, Parts, Process, of_disk
from zabcheck.search.explore.journal import Journal
from zabcheck.search.explore.reduction import ALL, Stance, stance
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice

GOES_DEAF = 0
"""The number of the move by which a follower decides to read no more. It is no choice, and no step."""

_COUNT = 40
"""Of requests: where it is in a mask."""
_NO_REQUESTS = (1 << _COUNT) - 1 - REQUEST

_MOST_WRITES = 8
"""A crash keeps at most so many writes, if so many are not synced."""


class Move(NamedTuple):
    """Something that a process can do, and what becomes of its member and of links to it.

    `cost` is added to what was used. `links` has the index of a member and the number of its link to this process, for
    each that changes.
    """

    choice: int
    cost: int
    member: int
    links: tuple[tuple[int, int], ...]
    events: int
    raised: bool


class Expansion(NamedTuple):
    """What a process can do within the bounds; `eager`: there is no need to try what others do first.

    `at_once`: nor is there any need to keep the state before these moves.
    """

    eager: bool
    at_once: bool
    moves: tuple[Move, ...]


class Members:
    """The members and moves of one search, reduced if `reduced`."""

    def __init__(self, parts: Parts, switches: Switches, bounds: Bounds, journal: Journal, *, reduced: bool) -> None:
        self.parts = parts
        self.journal = journal
        self.bounds = bounds
        self.reduced = reduced
        self.is_lazy = reduced and switches.closing == "abrupt" and not any(map(self._leads_on_alone, parts.ids))
        """Whether elections are put off (`reduction`)."""
        self.choices: list[AnyChoice | None] = [None]
        self._choices = {p: list(self._choices_of(p, switches)) for p in parts.ids}
        self.members: list[tuple[int, ...]] = []
        """By number: the process, and its link to each process (none to itself)."""
        self.leads: list[bool] = []
        """By number."""
        self.may_join: list[bool] = []
        """By number: whether it is up, and in no iteration."""
        self.flags: list[int] = []
        """By number: what makes it worth a look whether a process has an eager move, see `to_look_at`."""
        self.switched_off: dict[str, int] = {}
        """How many different moves each bound forbade."""
        self._matters: list[int] = []
        """By number: the bits of a mask that its moves depend on; only a leader takes requests."""
        self._ids: dict[tuple[int, ...], int] = {}
        self._expansions: dict[tuple[int, ...], Expansion] = {}
        self._singles: dict[tuple[int, ...], Move | None] = {}
        self._outcomes: dict[tuple[int, ...], Outcome | None] = {}
        self._with_link: dict[tuple[int, int, int], int] = {}
        self._renamed: dict[tuple[int, Names], int] = {}
        self._masks: dict[int, int] = {}
        no_links = (NO_CONNECTION,) * len(parts.ids)
        self.start = tuple(self._intern((process, *no_links)) for process in parts.start)

    def _leads_on_alone(self, process: int) -> bool:
        """Whether it does something as soon as it is told to lead, and not only when it hears of a follower."""
        part, no_links = self.parts.start[process - 1], [NO_CONNECTION] * len(self.parts.ids)
        outcome = self.parts.execute(part, no_links, no_links, choices.Elect(process, process), 0)
        return outcome is None or outcome.raised or not self._only_waits(part, outcome)

    def _only_waits(self, part: int, outcome: Outcome) -> bool:
        """Whether nothing was shown, and nothing written."""
        before, after = (of_disk(self.parts.processes[number].disk) for number in (part, outcome.process))
        return outcome.events == NOTHING and before == after

    def _choices_of(self, process: int, switches: Switches) -> Iterator[tuple[int, int]]:
        """The number and the cost of each choice that moves `process`."""
        others = [p for p in self.parts.ids if p != process]
        yield from ((self._number(choices.Receive(process, other)), FREE) for other in others)
        yield from ((self._number(choices.Notice(process, other)), FREE) for other in others)
        if switches.sync == "separate":
            yield self._number(choices.Sync(process)), FREE
        yield self._number(choices.Recover(process)), FREE
        yield self._number(choices.Request(process)), REQUEST
        yield from ((self._number(choices.Elect(process, leader)), TIMEOUT) for leader in self.parts.ids)
        yield self._number(choices.Timeout(process)), TIMEOUT
        keeps = range(_MOST_WRITES + 1) if switches.sync == "separate" else range(1)
        yield from ((self._number(choices.Crash(process, keep)), CRASH) for keep in keeps)
        yield from ((self._number(choices.Reset(process, leader)), CUT) for leader in others)

    def _number(self, choice: AnyChoice) -> int:
        self.choices.append(choice)
        return len(self.choices) - 1

    def _intern(self, member: tuple[int, ...]) -> int:
        number = self._ids.get(member)
        if number is None:
            number = self._ids[member] = len(self.members)
            self.members.append(member)
            part = self.parts.processes[member[0]]
            self.leads.append(part.leads)
            self._matters.append(~0 if part.leads or not self.reduced else _NO_REQUESTS)
            self.may_join.append(part.is_up and not part.halted and part.following == NOBODY)
            self.flags.append(self._flags(member) if self.reduced else 0)
        return number

    def _flags(self, member: tuple[int, ...]) -> int:
        """Bits by process: to whom something is under way, or closed; whether it leads; whether its stance is eager."""
        part = self.parts.processes[member[0]]
        touched = 0
        for leader, link_number in enumerate(member[1:], 1):
            link = self.parts.links[link_number]
            if link is not None and (link.connection.to_leader or link.is_closed):
                touched |= 1 << leader
        eager = not part.leads and self._stance(member).eager
        return touched | part.leads << part.id + 8 | eager << part.id + 16

    def to_look_at(self, row: Sequence[int]) -> int:
        """A bit for each process that may have an eager move: a leader has one only if a message or a closing came.

        O(1), and much faster than to look.
        """
        flags = 0
        for member in row[: len(self.parts.ids)]:
            flags |= self.flags[member]
        return (flags & flags >> 8 & 0xFF) | flags >> 16

    def mask(self, used: int) -> int:
        """What of `used` decides what can be done next: what is affordable, and how many requests there were."""
        found = self._masks.get(used)
        if found is None:
            affordable = self.bounds.affordable(used)
            requests = requests_in(used) if affordable & REQUEST else 0
            found = self._masks[used] = affordable | requests << _COUNT
        return found

    def expansion(self, mask: int, row: Sequence[int], process: int) -> Expansion:
        """What `process` can do in the state that begins with the members `row`. O(1) if it was asked before."""
        members = self.members
        links_to = [members[other][process] for other in row[: len(self.parts.ids)]]
        member = row[process - 1]
        key = (mask & self._matters[member], member, *links_to)
        found = self._expansions.get(key)
        return found if found is not None else self.expand(*key)

    def single(self, choice: int, row: Sequence[int], process: int) -> Move | None:
        """What this choice, which costs nothing, makes of `process`, whatever its stance; None if nothing.

        O(1) if it was asked before.
        """
        members = self.members
        key = (choice, row[process - 1], *[members[other][process] for other in row[: len(self.parts.ids)]])
        try:
            return self._singles[key]
        except KeyError:
            return self.try_single(*key)

    def try_single(self, number: int, member: int, *links_to: int) -> Move | None:
        """That of these numbers, with these links to it; a few simulated steps."""
        key = (number, member, *links_to)
        self.journal.append(("singles", key))
        outcome = self._outcome(number, member, links_to, 0)
        found = None
        if outcome is not None and outcome.epoch > self.bounds.epochs:
            self.switched_off["epochs"] = self.switched_off.get("epochs", 0) + 1
        elif outcome is not None:
            waits = outcome.raised or self._only_waits(self.members[member][0], outcome)
            assert waits or not isinstance(self.choices[number], choices.Elect), "who is told a leader only waits"
            found = self._move(number, FREE, outcome, links_to)
        self._singles[key] = found
        return found

    def with_link(self, member: int, leader: int, link: int) -> int:
        """The same member with another link to `leader`. O(1) if it was asked before."""
        key = (member, leader, link)
        found = self._with_link.get(key)
        if found is None:
            self.journal.append(("links", key))
            changed = list(self.members[member])
            changed[leader] = link
            found = self._with_link[key] = self._intern(tuple(changed))
        return found

    def renamed(self, member: int, names: Names) -> int:
        """The same member when each process has its new name. O(1) if it was asked before."""
        found = self._renamed.get((member, names))
        if found is None:
            self.journal.append(("members renamed", (member, names)))
            process, *links = self.members[member]
            renamed = [NO_CONNECTION] * len(links)
            for leader, link in enumerate(links, 1):
                renamed[names[leader] - 1] = self.parts.renamed_link(link, names)
            found = self._intern((self.parts.renamed_process(process, names), *renamed))
            self._renamed[member, names] = found
        return found

    # Filling the table.

    def expand(self, mask: int, member: int, *links_to: int) -> Expansion:
        """What the process of `member` can do, with these links to it; some simulated steps for each choice."""
        key = (mask, member, *links_to)
        self.journal.append(("expansions", key))
        process = self.parts.processes[self.members[member][0]].id
        found = self._expansions[key] = self._expanded(mask, process, member, list(links_to))
        return found

    def _expanded(self, mask: int, process: int, member: int, links_to: list[int]) -> Expansion:
        part_number, *opened = self.members[member]
        part = self.parts.processes[part_number]
        if not part.is_up and part.halted:
            return Expansion(False, False, ())
        chosen = self._stance(self.members[member])
        moves = []
        for number, cost in self._choices[process]:
            choice = self.choices[number]
            if isinstance(choice, choices.Elect) and part.following == NOBODY:
                cost = FREE
            if not self._may_be_enabled(choice, part, opened, links_to):
                continue
            if not isinstance(choice, chosen.kinds):
                continue
            if cost != FREE and not mask & cost:
                continue
            requests = mask >> _COUNT if cost == REQUEST else 0
            outcome = self._outcome(number, member, links_to, requests)
            if outcome is None:
                continue
            if outcome.epoch > self.bounds.epochs:
                self.switched_off["epochs"] = self.switched_off.get("epochs", 0) + 1
                continue
            move = self._move(number, self.bounds.counted(cost), outcome, links_to)
            moves.append(move)
        if chosen.may_go_deaf:
            link = opened[part.following - 1]
            deaf = self.with_link(member, part.following, self.parts.deafened(link))
            moves.append(Move(GOES_DEAF, FREE, deaf, (), NOTHING, raised=False))
        if self.reduced and part.leads:
            for move in moves:
                if self._changes_nothing(move, member, links_to) or self._goes_on(move, member):
                    return Expansion(True, True, (move,))
        eager = chosen.eager and bool(moves)
        return Expansion(eager, eager and (chosen.at_once or len(moves) == 1), tuple(moves))

    def _stance(self, member: tuple[int, ...]) -> Stance:
        part, *opened = member
        links = [None, *(self.parts.links[number] for number in opened)]
        return (
            stance(self.parts.processes[part], links, self.bounds.timeouts == UNLIMITED, self.is_lazy)
            if self.reduced
            else ALL
        )

    def _may_be_enabled(self, choice: Any, part: Process, opened: list[int], links_to: list[int]) -> bool:
        """False only if it is certainly not, or does what another does; to ask that is much cheaper than to try."""
        kind = type(choice)
        if kind is choices.Receive or kind is choices.Notice:
            other = choice.sender if kind is choices.Receive else choice.peer
            to, from_ = self.parts.links[opened[other - 1]], self.parts.links[links_to[other - 1]]
            if kind is choices.Notice:
                return (to is not None and to.is_closed) or (from_ is not None and from_.is_closed)
            return (to is not None and bool(to.connection.to_follower)) or (
                from_ is not None and bool(from_.connection.to_leader)
            )
        if kind is choices.Recover:
            return not part.is_up
        if not part.is_up:
            return False
        if kind is choices.Request:
            return bool(self.parts.protocol.can_broadcast(part.state))
        if kind is choices.Sync:
            return bool(part.disk.unsynced)
        if kind is choices.Crash:
            return bool(choice.keep <= len(part.disk.unsynced))
        if kind is choices.Reset:
            link = self.parts.links[opened[choice.peer - 1]]
            return link is not None and not link.connection.broken
        return True

    def _outcome(self, number: int, member: int, links_to: Sequence[int], requests: int) -> Outcome | None:
        key = (number, member, requests, *links_to)
        if key not in self._outcomes:
            part, *opened = self.members[member]
            choice = self.choices[number]
            assert choice is not None
            self._outcomes[key] = self.parts.execute(part, opened, links_to, choice, requests)
        return self._outcomes[key]

    def _move(self, choice: int, cost: int, outcome: Outcome, links_to: Sequence[int]) -> Move:
        return Move(
            choice,
            cost,
            self._intern((outcome.process, *outcome.opened)),
            tuple((index, link) for index, link in enumerate(outcome.links_to) if link != links_to[index]),
            outcome.events,
            outcome.raised,
        )

    def _changes_nothing(self, move: Move, member: int, links_to: list[int]) -> bool:
        """Whether a leader only takes a message out of a queue."""
        choice = self.choices[move.choice]
        if not isinstance(choice, choices.Receive) or (move.member, move.events, move.raised) != (
            member,
            NOTHING,
            False,
        ):
            return False
        before = links_to[choice.sender - 1]
        return move.links == ((choice.sender - 1, self.parts.popped(before)),)

    def _goes_on(self, move: Move, member: int) -> bool:
        """Whether a leader notices that a follower has left, and leads on: with its own links, and nothing to show."""
        if not isinstance(self.choices[move.choice], choices.Notice) or (move.events, move.raised) != (NOTHING, False):
            return False
        return self.leads[move.member] and self.members[move.member][1:] == self.members[member][1:]
