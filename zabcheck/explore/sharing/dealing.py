"""Several processes expand the portions of a level, whichever is free.

What comes of the portions is taken in their order, so the outcome does not depend on who expanded which.
"""

import select
from collections.abc import Callable, Generator, Iterator, Sequence
from fcntl import LOCK_EX, LOCK_UN, lockf
from functools import partial
from mmap import mmap
from tempfile import TemporaryFile
from typing import IO, TypeVar

from msgspec import Struct

from zabcheck.explore.sharing.workers import Worker, forked

_PATIENCE = 0.2
"""Seconds after which somebody looks whether Ctrl-C has come."""

A = TypeVar("A", bound=Struct)
B = TypeVar("B")


class Deck:
    """The numbers of portions, from 0 on, in as many parts as there are processes. Each number is drawn once.

    A process draws those of its own part in order, as states that were found one after the other need much the same of
    the tables. When none is left there it draws the last one of the part in which most are left.
    """

    def __init__(self, size: int, parts: int, lock: IO[bytes]) -> None:
        self._lock = lock
        """A file that is locked while a process draws. If that is killed, it is not locked any more."""
        self._left = memoryview(mmap(-1, 2 * 8 * parts)).cast("q")
        """By part: the first number that is left, and the one behind the last. All processes share this memory."""
        for part in range(parts):
            self._left[2 * part], self._left[2 * part + 1] = size * part // parts, size * (part + 1) // parts

    def draws(self, part: int) -> Iterator[int]:
        """Yield the numbers that the process of this part draws, as long as there are some."""
        while True:
            lockf(self._lock, LOCK_EX)
            try:
                number = self._next(part)
            finally:
                lockf(self._lock, LOCK_UN)
            if number is None:
                return
            yield number

    def _next(self, part: int) -> int | None:
        left, count = self._left, self._count
        if count(part):
            left[2 * part] += 1
            return left[2 * part] - 1
        most = max(range(len(left) // 2), key=count)
        if not count(most):
            return None
        left[2 * most + 1] -= 1
        return left[2 * most + 1]

    def _count(self, part: int) -> int:
        """Return how many numbers are left in this part."""
        return self._left[2 * part + 1] - self._left[2 * part]


def dealt(
    size: int,
    workers: int,
    *,
    expand: Callable[[int], B],
    answers: Callable[[Iterator[int]], Iterator[A]],
    kind: type[A],
    taking: Callable[[], Callable[[A], tuple[int, B]]],
) -> Generator[B | None]:
    """Yield what comes of each of `size` portions, in order; `workers` processes expand them, this one among them.

    This one calls `expand` with the number of a portion. Each other one is forked, and yields `answers` of this `kind`,
    one for each number that it draws. `taking` is called once for each, before anything is expanded here; it returns
    what is called with the answers of one, in order, and returns the number of the portion, and what comes of that.

    Now and then None comes in between, so that the caller can look around. WorkerDied if a process ends before it has
    answered. To close the generator ends them all.
    """
    ready: dict[int, B] = {}
    with TemporaryFile() as lock:
        own, *draws = map(Deck(size, workers, lock).draws, range(workers))
        with forked([partial(answers, each) for each in draws]) as others:
            takes = [taking() for _ in others]
            for number in range(size):
                while number not in ready:
                    mine = next(own, None)
                    if mine is None:
                        _wait(others)
                    else:
                        ready[mine] = expand(mine)
                    for worker, take in zip(others, takes, strict=True):
                        ready.update(map(take, worker.answers(kind)))
                    if number not in ready:
                        yield None
                yield ready.pop(number)


def _wait(workers: Sequence[Worker]) -> None:
    """Wait until one of these has written something, or has ended; but not for long."""
    going_on = [worker for worker in workers if not worker.has_ended]
    assert going_on, "each portion that is drawn is answered"
    select.select(going_on, (), (), _PATIENCE)
