"""The successors of a state: one for each move that has to be tried.

With reduction a transition of the search is more than a move. Moves that have to be made anyway are made at once, and
no state in between is kept; nor where a follower has something to read, or may stop reading. And a process is told a
leader only when that leader hears of it: that is then one transition, a *join*. `reduction` has the reasons.

An election by vote (the switch `elections`) moves several processes, and depends on all their votes. It is made here
from the moves of each, as `Simulator` makes it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from zabcheck.explore.bounds import TIMEOUT
from zabcheck.explore.tables.local_states import DOWN, LocalStates, Move
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice

ONE_BY_ONE = 512
"""The number of states that a search expands one by one before it looks at the time, its memory, and Ctrl-C."""

Row = tuple[int, ...]
"""A state: a local state for each process, the used part of the bounds, and a monitor, all by number."""

Path = tuple["Path", int] | None
"""Choices by number: the path of those before the last one, and the last one."""


End = tuple[str | None, bool]
"""The end of a search: the property that is violated, and True if a step raised."""


class Successor(NamedTuple):
    """A successor of a state, with all choices that lead there as a `path`.

    `first` is the number of the first of them, or of a join: with it a search remembers how it came there. If the
    protocol's code `raised`, the run ends there.
    """

    first: int
    row: list[int]
    raised: bool
    path: Path

    def choices(self) -> list[int]:
        """Return the path, in order."""
        found, path = [], self.path
        while path is not None:
            path, choice = path
            found.append(choice)
        return found[::-1]


class Join(NamedTuple):
    """The join of `follower`: it is told its leader, which hears of it.

    `told` and `heard` are the numbers of these two choices, `number` that of both together.
    """

    number: int
    follower: int
    told: int
    heard: int


class Joins(NamedTuple):
    """The joins of one leader. By the choice `told` it begins to lead; None if it leads already."""

    leader: int
    told: int | None
    joins: tuple[Join, ...]


class Successors:
    """The successors of the states of one search. With `ties`, no id decides between two votes (`symmetry`)."""

    def __init__(self, local_states: LocalStates, monitors: Monitors, *, ties: bool = False) -> None:
        self.ties = ties
        self._local_states = local_states
        self._monitors = monitors
        self._ids = local_states.components.ids
        self.quorums = local_states.components.quorums
        numbers = {choice: number for number, choice in enumerate(local_states.choices) if choice is not None}
        self.numbers = numbers
        """By choice: its number."""
        self.elections = local_states.alternatives.elections
        self.joins = list(self._all_joins(numbers)) if local_states.is_lazy else []
        self._among: dict[tuple[bool, ...], list[choices.Lead]] = {}
        """By whether each process may take part: the elections by vote that there may be."""
        self._votes: dict[int, Any] = {}
        """By the number of a process in `Components`."""

    def _all_joins(self, numbers: dict[AnyChoice, int]) -> Iterator[Joins]:
        number = len(self._local_states.choices)
        for leader in self._ids:
            for told in (None, numbers[choices.Elect(leader, leader)]):
                joins = []
                for follower in self._ids:
                    if follower != leader:
                        elect, hear = (
                            numbers[choices.Elect(follower, leader)],
                            numbers[choices.Receive(leader, follower)],
                        )
                        joins.append(Join(number, follower, elect, hear))
                        number += 1
                yield Joins(leader, told, tuple(joins))

    def of(self, row: Row) -> list[Successor]:
        """Return the successors that have to be tried. Some microseconds each, once the tables are filled."""
        local_states, with_link, after_events = self._local_states, self._local_states.with_link, self._monitors.after
        affordable = local_states.mask(row[-2])
        possible = []
        for process in self._ids:
            found = local_states.expansion(affordable, row, process)
            if found.eager:
                possible = [(process, found.moves)]
                break
            possible.append((process, found.moves))
        successors = list(self._joined(list(row))) if self.joins and len(possible) == len(self._ids) else []
        for process, moves in possible:
            for choice, cost, local_state, links, events, raised in moves:
                changed = list(row)  # as in `_after`, which would be slower to call
                changed[process - 1] = local_state
                for other, link in links:
                    changed[other] = with_link(changed[other], process, link)
                changed[-2] += cost
                if events:
                    changed[-1] = after_events(changed[-1], events)
                successors.append(Successor(choice, changed, raised, (None, choice)))
        if self.elections and len(possible) == len(self._ids):
            successors.extend(self._elected(row))
        if not local_states.reduced:
            return successors
        settled: list[Successor] = []
        for each in successors:
            eager = 0 if each.raised else local_states.may_be_eager(each.row)
            if eager:
                self._settle(each, eager, settled)
            else:
                settled.append(each)
        return settled

    def _settle(self, found: Successor, eager: int, settled: list[Successor]) -> None:
        """Add the states in which no more move is to be made at once. `eager`: the processes that may have such a move.

        That ends, as each such move takes something out of a queue, or ends an iteration.
        """
        local_states, broken = self._local_states, self._monitors.broken
        first, row, raised, path = found
        while eager and not raised and broken[row[-1]] is None:
            affordable = local_states.mask(row[-2])
            for process in self._ids:
                if eager >> process & 1:
                    expansion = local_states.expansion(affordable, row, process)
                    if expansion.at_once:
                        break
            else:
                break
            move, *others = expansion.moves
            for other in others:
                after = self._after(row, process, other)
                branch = Successor(first, after, other.raised, (path, other.choice))
                self._settle(branch, local_states.may_be_eager(after), settled)
            row, raised, path = self._after(row, process, move), move.raised, (path, move.choice)
            eager = local_states.may_be_eager(row)
        settled.append(Successor(first, row, raised, path))

    def _after(self, row: list[int], process: int, move: Move) -> list[int]:
        """Return the state after a move of `process`."""
        changed = list(row)
        changed[process - 1] = move.local_state
        for other, link in move.links:
            changed[other] = self._local_states.with_link(changed[other], process, link)
        changed[-2] += move.cost
        if move.events:
            changed[-1] = self._monitors.after(changed[-1], move.events)
        return changed

    def after(self, row: Row, choice: Any) -> Row | None:
        """Return the state after a choice that moves one process; None if it is not possible, or its code raises."""
        move = self._local_states.move(choice, row)
        return None if move is None or move.raised else tuple(self._after(list(row), choice.process, move))

    # Joins.

    def _joined(self, row: list[int]) -> Iterator[Successor]:
        """Yield the states after a leader has heard of a follower."""
        may_join, leads = self._local_states.may_join, self._local_states.leads
        if not any(map(may_join.__getitem__, row[: len(self._ids)])):
            return
        before = Successor(0, row, False, None)
        for leader, told, joins in self.joins:
            if told is None:
                ready = before if leads[row[leader - 1]] else None
            else:
                ready = self._by(before, leader, told) if may_join[row[leader - 1]] else None
            if ready is None:
                continue
            for number, follower, elect, hear in joins:
                if may_join[row[follower - 1]]:
                    heard = self._by(self._by(ready, follower, elect), leader, hear)
                    if heard is not None:
                        yield heard._replace(first=number)

    def _by(self, before: Successor | None, process: int, choice: int) -> Successor | None:
        """Return the state after this choice, unless the run has raised before; None if the bounds forbid it."""
        if before is None or before.raised:
            return before
        move = self._local_states.single(choice, before.row, process)
        if move is None:
            return None
        return Successor(0, self._after(before.row, process, move), move.raised, (before.path, choice))

    # Elections by vote.

    def _elected(self, row: Sequence[int]) -> Iterator[Successor]:
        """Yield the states after an election, and after a process has joined the leader that a quorum has."""
        states = self._local_states
        following = [states.following[local_state] for local_state in row[: len(self._ids)]]
        may_leave = states.mask(row[-2]) & TIMEOUT
        able = tuple(whom == NOBODY or (may_leave > 0 and whom != DOWN) for whom in following)
        for election in self._elections_among(able):
            after = self._after_election(row, election)
            if after is not None:
                yield after
        for process in self._ids:
            for leader in self._ids:
                if following[process - 1] == NOBODY and self._leads_a_quorum(following, leader):
                    number = self.numbers[choices.Elect(process, leader)]
                    after = self._by(Successor(number, list(row), False, None), process, number)
                    if after is not None:
                        yield after._replace(first=number)

    def _elections_among(self, able: tuple[bool, ...]) -> list[choices.Lead]:
        """Return the elections whose participants are all `able`. O(1) if they were computed before."""
        found = self._among.get(able)
        if found is None:
            everybody = ((each, (each.leader, *each.followers)) for each in self.elections)
            found = [each for each, members in everybody if all(able[process - 1] for process in members)]
            self._among[able] = found
        return found

    def _after_election(self, row: Sequence[int], election: choices.Lead) -> Successor | None:
        """Return the state after all participants have left their iterations, and have been told the leader.

        None if the leader's vote is not the greatest of those that may lead, or if the bounds forbid it. Leaving an
        iteration uses a time-out of the bounds.
        """
        states, number = self._local_states, self.numbers[election]
        everybody = (election.leader, *election.followers)
        after = Successor(number, list(row), False, None)
        for process in everybody:
            if states.following[row[process - 1]] == NOBODY:
                continue
            if not states.mask(after.row[-2]) & TIMEOUT:
                return None
            left = self._by(after, process, self.numbers[choices.Timeout(process)])
            if left is None:
                return None
            left.row[-2] += states.bounds.counted(TIMEOUT)
            after = left
        if after.raised or any(states.following[after.row[process - 1]] == DOWN for process in everybody):
            return None
        votes = [self.vote(after.row[process - 1]) for process in everybody if self.quorums.may_lead(process)]
        if votes[0] != max(votes):
            return None
        for process in everybody:
            told = self._by(after, process, self.numbers[choices.Elect(process, election.leader)])
            if told is None:
                return None
            after = told
        return after._replace(first=number, path=(None, number))

    def vote(self, local_state: int) -> Any:
        """Return the vote of a process that is up, without its id if none decides. O(1) if it was computed before."""
        number = self._local_states.made_of[local_state][0]
        if number not in self._votes:
            components = self._local_states.components
            assert components.protocol.vote is not None, "only who votes is elected"
            vote = components.protocol.vote(components.processes[number].state)
            self._votes[number] = vote[:-1] if self.ties else vote
        return self._votes[number]

    def _leads_a_quorum(self, following: Sequence[int], leader: int) -> bool:
        """Return True if a process leads, and a quorum follows it: then others may join (`Simulator._join`)."""
        led = [process for process in self._ids if following[process - 1] == leader]
        return leader in led and self.quorums.contains(led)
