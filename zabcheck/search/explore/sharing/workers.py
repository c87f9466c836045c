"""Several processes expand the states of a large level, and the outcome is as if it was one.

A *worker* is forked when the level begins. So it has the tables and the visited states as they are then, and shares
that memory until it writes to it. It expands its states as the search does, and answers which states it found, a
portion at a time. The search takes the answers in order.

Where states are in arrays, whoever is free expands the next portion, and fills in tables (`dealing`, `portions`). Where
they are not, the level is cut into slices, and the search takes the first one, a worker each other (`shared`). There a
worker only looks up. Where something is not in a table, it says so, and the search expands that state itself: the more
of its time a search fills tables, the less it gains.

Costs a fork for each worker and level: milliseconds for each GiB in use, and copies of the pages that either writes to.
"""

import gc
import os
import signal
import traceback
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import process_time
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Struct

from zabcheck.search.explore.tables.successors import Row

LARGE = 2000
"""A level of fewer states is not shared: a fork would cost more than it saves."""

PORTION = 512
"""The number of states in an answer."""

AGAIN = 0xFFFF
"""Instead of a number of transitions: the search itself has to expand this state."""

_LENGTH = 4
_PIPE = 1 << 16
_LEAST, _MOST = 0.02, 0.9
"""The limits of the share of a level that the search itself takes."""


def cpu_seconds() -> float:
    """Return the seconds of CPU time that this process has needed, and those that it started and that have ended."""
    times = os.times()
    return process_time() + times.children_user + times.children_system


class WorkerDied(RuntimeError):
    """A worker ended before it had answered; the message says how."""


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


A = TypeVar("A")
B = TypeVar("B")


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


class Worker:
    """A process that was forked to answer; `others` were forked before it."""

    def __init__(self, work: Callable[[], Iterator[Struct]], others: Sequence["Worker"]) -> None:
        self._reading, writing = os.pipe()
        self._read = bytearray()
        self._code = 0
        self.has_ended = False
        """Whether all that it wrote was read."""
        self._pid = os.fork()
        if not self._pid:
            for each in (self, *others):
                os.close(each._reading)  # so that a write fails once the search is gone
            _work(work, writing)
        os.close(writing)
        os.set_blocking(self._reading, False)

    def drain(self) -> None:
        """Read what the worker has written so far, so that it need not wait; do not wait for more."""
        try:
            while content := os.read(self._reading, _PIPE):
                self._read += content
            self.has_ended = True
        except BlockingIOError:
            pass

    def answer(self, kind: type[A]) -> A:
        """Wait for the next answer, which is of this kind, and return it. WorkerDied if the worker ends before."""
        self.drain()
        while not self._has_answered():
            if self.has_ended:
                raise WorkerDied(self._death())
            os.set_blocking(self._reading, True)
            self._read += os.read(self._reading, _PIPE)
            os.set_blocking(self._reading, False)
            self.drain()
        return self._next_answer(kind)

    def answers(self, kind: type[A]) -> Iterator[A]:
        """Yield the answers, which are of this kind, that have come so far. WorkerDied if the worker failed."""
        self.drain()
        while self._has_answered():
            yield self._next_answer(kind)
        if self.has_ended and self._exit_code():
            raise WorkerDied(self._death())

    def fileno(self) -> int:
        """Return what can be waited for until the worker has written something, or has ended."""
        return self._reading

    def _has_answered(self) -> bool:
        return len(self._read) >= _LENGTH + int.from_bytes(self._read[:_LENGTH])

    def _next_answer(self, kind: type[A]) -> A:
        end = _LENGTH + int.from_bytes(self._read[:_LENGTH])
        content = bytes(self._read[_LENGTH:end])
        del self._read[:end]
        return msgspec.msgpack.decode(content, type=kind)

    def _exit_code(self) -> int:
        if self._pid:
            _, status = os.waitpid(self._pid, 0)
            self._pid, self._code = 0, os.waitstatus_to_exitcode(status)
        return self._code

    def _death(self) -> str:
        code = self._exit_code()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
        return f"a worker process {how}, so the search cannot go on"

    def end(self) -> None:
        """End the worker process, whether it has answered or not, and leave nothing of it."""
        os.close(self._reading)
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


@contextmanager
def forked(works: Sequence[Callable[[], Iterator[Struct]]]) -> Generator[list[Worker]]:
    """Fork a worker for each of `works`. None of them outlives the block, also not after Ctrl-C."""
    workers: list[Worker] = []
    if works:
        gc.freeze()  # else a collection in a worker writes to each object that it shares
    try:
        for work in works:
            # Ctrl-C waits until the search knows of the worker, and until the worker cares for none.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                workers.append(Worker(work, workers))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        yield workers
    finally:
        for worker in workers:
            worker.end()
        if works:
            gc.unfreeze()


def _work(work: Callable[[], Iterator[Struct]], writing: int) -> NoReturn:
    """Answer, then end this process at once, without what a search does when it ends."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search ends it
        waiting = bytearray()
        os.set_blocking(writing, False)
        for answer in work():
            content = msgspec.msgpack.encode(answer)
            waiting += len(content).to_bytes(_LENGTH) + content
            _write(writing, waiting)
        os.set_blocking(writing, True)
        _write(writing, waiting)
        code = 0
    except BrokenPipeError:
        pass  # the search is gone
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _write(pipe: int, waiting: bytearray) -> None:
    """Write what is waiting, and remove it from there; no more than there is room for if the pipe does not block."""
    try:
        while waiting:
            del waiting[: os.write(pipe, waiting[:_PIPE])]
    except BlockingIOError:
        pass


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
