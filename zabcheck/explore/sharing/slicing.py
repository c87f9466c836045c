"""Several processes expand the states of a large level that are not in arrays, and the outcome is as if it was one.

The level is cut into slices, in order. The process of the search takes the first one; a worker (`workers`) each other.
A worker only looks up. Where something is not in a table, it says so, and the search expands that state itself. The
search takes the answers in order, while the workers go on. So the more of its time a search fills tables, the less it
gains.
"""

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from time import process_time
from typing import TypeVar

from msgspec import Struct

from zabcheck.explore.sharing.workers import Worker, forked
from zabcheck.explore.tables.successors import Row

LARGE = 2000
"""A level of fewer states is not shared: a fork would cost more than it saves."""

PORTION = 512
"""The number of states in an answer."""

AGAIN = 0xFFFF
"""Instead of a number of transitions: the search itself has to expand this state."""

_LEAST, _MOST = 0.02, 0.9
"""The limits of the share of a level that the search itself takes."""


A = TypeVar("A")
B = TypeVar("B")


class Answer(Struct):
    """What a worker found from a portion of its states. They are arrays, as bytes.

    By state: how many `transitions` there are, or AGAIN, and how many `new` states were found. By new state, in order:
    the choice that led there (`by`), the number of the renaming (`names`), and the numbers of the row (`rows`).
    `seconds` of CPU time were needed so far.
    """

    transitions: bytes
    new: bytes
    by: bytes
    names: bytes
    rows: bytes
    seconds: float

    def counts(self) -> Iterator[tuple[int, int]]:
        """Return, by state: how many transitions, or AGAIN, and how many new states."""
        return zip(array("H", self.transitions), array("H", self.new), strict=True)

    def found(self, width: int) -> Iterator[tuple[int, int, Row]]:
        """Return, by new state: choice, renaming, and row, which has `width` numbers."""
        rows = zip(*[iter(array("I", self.rows))] * width, strict=True)
        return zip(array("H", self.by), array("B", self.names), rows, strict=True)


class Answering:
    """An answer that a worker gathers, state by state."""

    def __init__(self) -> None:
        self._transitions, self._new = array("H"), array("H")
        self._by, self._names, self._rows = array("H"), array("B"), array("I")

    def add(self, transitions: int, by: Sequence[int], names: Sequence[int], rows: Sequence[Row]) -> None:
        """Add what was found from the next state."""
        self._transitions.append(transitions)
        self._new.append(len(rows))
        self._by.extend(by)
        self._names.extend(names)
        for row in rows:
            self._rows.extend(row)

    def again(self) -> None:
        """Say that the search has to expand the next state itself."""
        self.add(AGAIN, (), (), ())

    def answer(self, seconds: float) -> Answer:
        """Return the answer as it is sent."""
        transitions, new, by, names, rows = (
            each.tobytes() for each in (self._transitions, self._new, self._by, self._names, self._rows)
        )
        return Answer(transitions, new, by, names, rows, seconds)


class Sharing:
    """How a level is cut, so that the search and its workers are busy all the time.

    That depends on how long the search, and a worker, need for a state, and on how long it takes to take over an
    answer; these are measured at each level. The outcome does not depend on them.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        """How many processes there are, with the search itself."""
        self.share = 1 / workers
        """The share of a level that the search itself takes, from 0 to 1."""

    def slices(self, level: Sequence[A]) -> list[Sequence[A]]:
        """Return the level in slices, that of the search itself first; one slice if it is small."""
        if self.workers == 1 or len(level) < LARGE:
            return [level]
        first = max(1, int(self.share * len(level)))
        size = -(-(len(level) - first) // (self.workers - 1))
        return [level[:first], *(level[start : start + size] for start in range(first, len(level), size))]

    def learn(self, own: float, worker: float, taking: float) -> None:
        """Cut the next levels by the seconds of CPU time that each state of this one took."""
        ahead = worker / (self.workers - 1) - taking
        self.share = min(_MOST, max(_LEAST, ahead / (own + ahead))) if ahead > 0 else _LEAST


def shared(
    sharing: Sharing,
    slices: Sequence[Sequence[A]],
    portion: int,
    *,
    expand: Callable[[Sequence[A]], Iterator[B]],
    answers: Callable[[Sequence[A]], Iterator[Struct]],
    take: Callable[[Sequence[A], Worker], tuple[B, float]],
) -> Generator[B]:
    """Expand the first of the slices of a level here, and yield what comes of it, step by step; and then of the others.

    These are expanded by a worker each, which yields `answers` of `portion` states each. `take` takes over the next
    answer, of these states; it returns what comes of that, and how many seconds of CPU time the worker needed so far.
    To close the generator ends the workers.
    """
    own, *others = slices
    with forked([partial(answers, part) for part in others]) as workers:
        exploring = taking = needed = 0.0
        begun = process_time()
        for found in expand(own):
            exploring += process_time() - begun
            yield found
            for worker in workers:
                worker.drain()
            begun = process_time()
        for part, worker in zip(others, workers, strict=True):
            seconds = 0.0
            for start in range(0, len(part), portion):
                begun = process_time()
                found, seconds = take(part[start : start + portion], worker)
                taking += process_time() - begun
                yield found
                for other in workers:
                    other.drain()
            needed += seconds
    answered = sum(map(len, others))
    sharing.learn(exploring / len(own), needed / answered, taking / answered)
