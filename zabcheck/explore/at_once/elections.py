"""Elections by vote in many states at once: possible participants and winners, as in `Successors` one by one.

Processes are counted from 0.
"""

from typing import Any

import numpy as np

from zabcheck.explore.at_once.arrays import Arrays
from zabcheck.explore.at_once.index import Bools, Ints, extended
from zabcheck.explore.bounds import TIMEOUT
from zabcheck.explore.tables.local_states import DOWN
from zabcheck.explore.tables.successors import Successors
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import Elect, Timeout

NO_MEMBER = NO_VOTE = -1


class Elections:
    """The elections of one search."""

    def __init__(self, arrays: Arrays, successors: Successors) -> None:
        self._arrays = arrays
        self._size = size = arrays.size
        self._vote = successors.vote
        elections, numbers = successors.elections, successors.numbers
        self.numbers: Ints = np.array([numbers[each] for each in elections], np.int64)
        """By election: its number as a choice."""
        self.members = np.full((len(elections), size), NO_MEMBER)
        """By election: who takes part, first the leader, with NO_MEMBER behind them."""
        for place, each in enumerate(elections):
            self.members[place, : 1 + len(each.followers)] = [each.leader - 1, *(p - 1 for p in each.followers)]
        quorums = successors.quorums
        self._may_lead: Bools = np.array([quorums.may_lead(process) for process in range(1, size + 1)])
        self._takes_part = (self.members[:, :, None] == np.arange(size)).any(axis=1)
        ids = range(1, size + 1)
        self.timeout: Ints = np.array([numbers[Timeout(process)] for process in ids], np.int64)
        """By process: the choice of a time-out."""
        self.elect: Ints = np.array([[numbers[Elect(process, leader)] for leader in ids] for process in ids], np.int64)
        """By process, then by the leader that it is told: the choice."""
        self._vote_of: Ints = np.empty(0, np.int64)
        """By local state: the number of its vote; NO_VOTE if the process is down."""
        self._vote_numbers: dict[Any, int] = {}
        """By vote: its number."""
        self._rank: Ints = np.empty(0, np.int64)
        """By the number of a vote: how many votes are less."""

    def refresh(self) -> None:
        """Copy the votes of new local states that are up, even if they take part in no election.

        O(new local states), and a sort of all votes if one is new.
        """
        known, following = len(self._vote_of), self._arrays.following
        votes = [
            None if whom == DOWN else self._vote(known + place) for place, whom in enumerate(following[known:].tolist())
        ]
        numbers = self._vote_numbers
        before = len(numbers)
        new = [NO_VOTE if vote is None else numbers.setdefault(vote, len(numbers)) for vote in votes]
        self._vote_of = extended(self._vote_of, np.array(new, np.int64))
        if len(numbers) > before:
            self._rank = np.empty(len(numbers), np.int64)
            self._rank[[numbers[vote] for vote in sorted(numbers)]] = np.arange(len(numbers))

    def possible(self, rows: Ints, masks: Ints) -> tuple[Ints, Ints]:
        """Return the elections whose participants may all take part: the state, and the place of the election."""
        following = self._arrays.following[rows[:, : self._size]]
        may_leave = (masks & TIMEOUT != 0)[:, None] & (following != DOWN)
        able = (following == NOBODY) | may_leave
        states, elections = np.nonzero(~(self._takes_part & ~able[:, None, :]).any(axis=2))
        return states, elections

    def joins(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the processes that may join the leader of a quorum: the state, the process, and the leader."""
        following = self._arrays.following[rows[:, : self._size]]
        led = following[:, :, None] == np.arange(1, self._size + 1)  # by state, process, and leader
        leads = self._arrays.are_quorums(led.transpose(0, 2, 1)) & led[:, range(self._size), range(self._size)]
        states, processes, leaders = np.nonzero((following == NOBODY)[:, :, None] & leads[:, None, :])
        return states, processes, leaders

    def are_won(self, rows: Ints, elections: Ints) -> Bools:
        """Return for each election True if the leader wins: no participant is down, or may lead by a greater vote."""
        self.refresh()
        members = self.members[elections]
        local_states = rows[np.arange(len(rows))[:, None], members]  # NO_MEMBER has that of another column
        takes_part = members != NO_MEMBER
        is_down = takes_part & (self._arrays.following[np.where(takes_part, local_states, 0)] == DOWN)
        votes = self._vote_of[np.where(takes_part & ~is_down, local_states, local_states[:, :1])]
        ranks = np.where(self._may_lead[members] | ~takes_part, self._rank[votes], -1)
        won: Bools = ~is_down.any(axis=1) & (ranks[:, 0] == ranks.max(axis=1))
        return won
