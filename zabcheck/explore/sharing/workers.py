"""Processes that expand states of a large level beside the search.

A *worker* is forked when the level begins. So it has the tables and the visited states as they are then, and shares
that memory until it writes to it. It expands its states as the search does, and answers which states it found, a
portion at a time. Who expands which states, and how the search takes the answers, is told by `dealing` where states are
in arrays, and by `slicing` where they are not.

Costs a fork for each worker and level: milliseconds for each GiB in use, and copies of the pages that either writes to.
"""

import gc
import os
import signal
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from time import process_time
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Struct

_LENGTH = 4
_PIPE = 1 << 16


def cpu_seconds() -> float:
    """Return the seconds of CPU time that this process has needed, and those that it started and that have ended."""
    times = os.times()
    return process_time() + times.children_user + times.children_system


class WorkerDied(RuntimeError):
    """A worker ended before it had answered; the message says how."""


A = TypeVar("A")


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
            pass  # the pipe is empty

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
        pass  # the pipe is full
