"""The operating-system processes of one command: started ahead, used again, and never too many at a time.

A node is what the lines that it was sent have made of it (`Node` in `node` keeps them). So it needs its process only
while it takes a step: when there are too many, the node that has not moved for longest loses its process. Should it
move again, or a copy of it, another process is sent the same lines. So the end of a run need not be told, and a run can
be forked at any step.

Whenever a process is sent lines again its answers have to be the same, else the node is not deterministic. To look for
that, the first nodes of a pool, and every 97th, have a twin: a process just started that is sent the same lines. Once
two answers have differed every node has one.

A pool belongs to one thread. A forked process begins with an empty one.
"""

import atexit
import os
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Protocol
from weakref import WeakSet, ref

from zabcheck.protocols.base import Outside
from zabcheck.protocols.external.running import NotUnderstood, Running
from zabcheck.protocols.external.wire import ZABCHECK, Reset, ResetOk, answer_of, dump

FIRST = range(2, 5)
"""The nodes of a pool, counted from 1, that have a twin besides; the first is only asked what it understands."""
TWIN_EVERY = 97
RESTORED_TWIN_EVERY = 7
"""The number of restored nodes of which one has a twin; a search of every state restores a node for each choice."""
LEAST = 8
"""The number of processes that there may be at least; more for a run of many nodes."""


class NotStarted(Outside):
    """The command cannot be started."""


class Owner(Protocol):
    """A user of a process, which has to manage without it as soon as it is taken away."""

    running: Running | None


class Pool:
    """The processes of `command`, none of them started; `resets` tells whether they understand `reset`."""

    def __init__(self, command: Sequence[str], kind: type[Running] = Running) -> None:
        self.command = tuple(command)
        self._kind = kind
        self.resets = False
        self.differed = False
        self._started = self._restored = 0
        self._most = LEAST
        self._idle: deque[Running] = deque()
        self._used: OrderedDict[Running, ref[Owner]] = OrderedDict()  # who has moved last comes last
        _pools.add(self)

    def wants_twin(self) -> bool:
        """Return True if the node that is started now is to have a twin."""
        self._started += 1
        return self.differed or self._started in FIRST or self._started % TWIN_EVERY == 0

    def wants_restored_twin(self) -> bool:
        """Return True if the node that is restored now is to have a twin, which is sent all that the node was sent."""
        self._restored += 1
        return self.differed or self._restored % RESTORED_TWIN_EVERY == 0

    def take(
        self, owner: Owner, most: int, seconds: float, *, fresh: bool = False, to_restore: bool = False
    ) -> Running:
        """Give `owner` a process that waits for `init`; there are at most `most` in use afterwards.

        With `fresh` the process has just been started. With `to_restore` it waits for `restore`, whatever it remembers.

        `Outside` if it cannot be started, or has not done as `reset` says after `seconds`.
        """
        self._most = max(self._most, most)
        while len(self._used) >= max(most, LEAST):
            running, used_by = self._used.popitem(last=False)
            if (found := used_by()) is not None:
                found.running = None
            self._put_by(running)
        running = self._idle.popleft() if self._idle and not fresh else self._start()
        self._used[running] = ref(owner)
        owner.running = running
        if not self.resets and len(self._idle) < most:
            self._idle.append(self._start())  # it has time to start while the others take steps
        if running.used and not to_restore:
            self._reset(running, seconds)
        running.used = True
        return running

    def moved(self, running: Running) -> None:
        """Mark this process as used last, so that it is not taken away soon."""
        self._used.move_to_end(running)

    def give_back(self, running: Running) -> None:
        """Take back a process that nobody needs any more."""
        if self._used.pop(running, None) is not None:
            self._put_by(running)

    def drop(self, running: Running) -> None:
        """End a process that has failed."""
        self._used.pop(running, None)
        running.kill()

    def close(self) -> None:
        """End all processes."""
        for running in (*self._idle, *self._used):
            running.kill()
        self.forget()

    def forget(self) -> None:
        """Leave all processes to whoever has forked this one."""
        for owner in self._used.values():
            if (found := owner()) is not None:
                found.running = None
        self._idle.clear()
        self._used.clear()

    def leave(self) -> None:
        """Close this end of all pipes, in a process that was forked, and forget."""
        for running in (*self._idle, *self._used):
            running.forget()
        self.forget()

    def _start(self) -> Running:
        try:
            return self._kind(self.command)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise NotStarted(f"`{self.command[0]}` cannot be started: {why}") from None

    def _put_by(self, running: Running) -> None:
        """Keep a used process for another node; end it if it cannot be used again, or if enough wait already.

        Each twin is another process that was just started, so without an end there would be more and more.
        """
        if self.resets and len(self._idle) < self._most:
            self._idle.append(running)
        else:
            running.kill()

    def _reset(self, running: Running, seconds: float) -> None:
        answer = running.ask(RESET, seconds)
        if len(answer) > 1 or not isinstance(answer_of(answer[0][1].body), ResetOk):
            told = running.told(RESET, answer[0][0])
            raise NotUnderstood("answered `reset` with something else than `reset_ok`", told)
        running.empty_log()


RESET = dump(ZABCHECK, "node", 0, Reset())
_pools: WeakSet[Pool] = WeakSet()


def close_all() -> None:
    """End the processes of all pools; whoever goes on starts others."""
    for pool in list(_pools):
        pool.close()


def _leave_all() -> None:
    for pool in list(_pools):
        pool.leave()


atexit.register(close_all)
os.register_at_fork(after_in_child=_leave_all)
