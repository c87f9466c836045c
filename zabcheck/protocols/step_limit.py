"""Stops a step that never returns, such as `while True: pass` in somebody's own class.

Whoever calls a step counts it in `calls` when it begins and when it is over. A thread looks at these counts, fifty
times a second. If a call that has begun is not over, and no other has begun since the last look, it looks at the stacks
of all other threads. If one of them is still in the same call and the process has used up the step's limit of CPU time
meanwhile, `Stopped` is raised there, in the middle of the step. So to watch a step costs next to nothing, and a step is
watched in any thread and any process: in workers, on Spark, under pytest. No signal is used, which could be somebody
else's.

Stacks are looked at so seldom because CPython 3.11 may hand out what is no frame if a stack moves on meanwhile.

CPU time counts, not the clock: a busy machine stops nothing. It is that of the whole process, so where several threads
compute, the limit comes sooner. What is not seen: a step that waits without using the CPU, one that stays within a
single call of C code, such as `10 ** 10 ** 10`, and one that is stuck while another thread takes steps.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from threading import Event, Thread
from time import process_time
from types import CodeType, FrameType
from typing import NamedTuple

EVERY = 0.02
"""The seconds between two looks. A look takes some ten microseconds."""


class Calls:
    """The numbers of calls of steps that have begun here and that are over, and the limit of the last, in seconds.

    `waited` is how many seconds, by the clock, were spent waiting for steps outside of Python that never answered, and
    `idle` how many for all of those that took longer than a tenth of a second.
    """

    __slots__ = ("begun", "idle", "over", "seconds", "waited")

    def __init__(self) -> None:
        self.begun = self.over = 0
        self.seconds = self.waited = self.idle = 0.0


calls = Calls()


def time_spent() -> float:
    """Return the CPU seconds of this process, and the seconds that it has waited in vain for steps outside of it."""
    return process_time() + calls.waited


class Stopped(BaseException):
    """A step has used up its CPU time. It is no Exception, so that the step does not handle it by mistake."""


class _Caller(NamedTuple):
    """The hooks of a function that calls steps, and the CPU seconds that a step may take."""

    besides: tuple[CodeType, ...]
    seconds: Callable[[FrameType], float]


_CALLERS: dict[CodeType, _Caller] = {}


def calls_steps(
    caller: Callable[..., object],
    seconds: Callable[[FrameType], float],
    besides: tuple[Callable[..., object], ...] = (),
) -> None:
    """Have the steps that the function `caller` calls watched: all its calls of Python functions except `besides`.

    `seconds` returns the limit from the frame of that caller.
    """
    _CALLERS[caller.__code__] = _Caller(tuple(each.__code__ for each in besides), seconds)


_Seen = dict[int, tuple[FrameType, float]]
"""By thread: the step that it is in, and the CPU time when the step was seen first."""


class _Watch:
    """The thread that looks at the others. There is none while the process is forked: a lock of its might be held."""

    def __init__(self) -> None:
        self._over = Event()
        self._thread = Thread(target=self._run, name="zabcheck step limit", daemon=True)
        self.start = self._thread.start

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        seen: _Seen = {}
        begun = 0
        while not self._over.wait(EVERY):
            is_stuck = calls.begun == begun != calls.over
            begun = calls.begun
            seen = _look(seen) if is_stuck else {}


_watching: dict[str, _Watch] = {}  # at most one; `setdefault` lets only one of several threads start it


def watch() -> None:
    """Have the steps of this process watched from now on."""
    if not _watching:
        begun = _Watch()
        if _watching.setdefault("", begun) is begun:
            begun.start()


def _before_fork() -> None:
    for each in _watching.values():
        each.end()


def _after_fork_in_parent() -> None:
    if _watching:
        _watching.clear()
        watch()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_watching.clear)


def _look(seen: _Seen) -> _Seen:
    """Return what is seen now; stop a step that is over its limit."""
    found: _Seen = {}
    for thread, frame in sys._current_frames().items():
        step = _step(frame)
        if step is None:
            continue
        now = process_time()
        began = seen[thread][1] if thread in seen and seen[thread][0] is step else now
        caller = step.f_back
        assert caller is not None
        if now - began > _CALLERS[caller.f_code].seconds(caller):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stopped))
            began = now  # once more after the same time, should the step have swallowed it
        found[thread] = step, began
    return found


def _step(frame: FrameType | None) -> FrameType | None:
    """Return the frame of the step that a thread is in, from its innermost frame; None if it is in none."""
    called = None
    while frame is not None:
        caller = _CALLERS.get(frame.f_code)
        if caller is not None:
            return called if called is not None and called.f_code not in caller.besides else None
        called, frame = frame, frame.f_back
    return None
