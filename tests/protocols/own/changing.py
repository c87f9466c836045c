"""A protocol of one's own with a variable of every kind of value; for the tests."""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

import zabcheck


@dataclass
class Vote:
    epoch: int
    voters: set[int]


class Ballot(NamedTuple):
    round: int
    by: int


class Entry(msgspec.Struct):
    key: str
    value: int


class Changing(zabcheck.Process):
    """Each request changes each of its variables a little."""

    votes: frozenset[int] = frozenset({2, 9})
    acks: dict[int, set[int]] = {}  # noqa: RUF012  # a variable of the protocol
    heard: dict[int, Vote] = {}  # noqa: RUF012  # likewise
    vote = Vote(1, {3})
    ballot = Ballot(1, 1)
    entry = Entry("x", 1)
    log = (Entry("x", 1),)
    best: tuple[str, ...] | None = None
    text = "a" * 100 + "b" + "c" * 100

    def can_broadcast(self) -> bool:
        return True

    def on_request(self, value: str) -> None:
        self.votes |= {1}
        self.acks[7] = self.acks.get(7, {5}) | {4}
        self.vote.voters.add(1)
        if self.heard and self.heard[5].epoch == 3:
            self.heard = {}
        elif self.heard:
            self.heard[5].epoch = 3
        else:
            self.heard = {5: Vote(2, {6, 7})}
        self.ballot = Ballot(2, 1)
        self.entry.value = 2
        self.log += (Entry("y", 2),)
        self.best = None if self.best else ("p", "q")
        self.text = self.text.replace("b", "d")
