"""The places at which servers' threads are held, so that each takes its turns as in a run of the model.

A thread that is separate in the run (`zabcheck.zookeeper.model.threads`) is held at a named point
(docs/zookeeper-points.md) until its next turn: the main thread of a follower before each piece of its work on
NEWLEADER, that of a leader before it writes its epoch, the logging thread before and after it appends a record, the
delivering thread before it applies. A leader starts to serve as soon as it may: it is not held before that.
"""

from collections.abc import Callable

from zabcheck.zookeeper.model import leader, learner
from zabcheck.zookeeper.model.server import Server, Todo
from zabcheck.zookeeper.model.switches import Grain
from zabcheck.zookeeper.model.threads import SEPARATE
from zabcheck.zookeeper.run.choices.choice import Choice, Role
from zabcheck.zookeeper.run.choices.points import AwaitStop, Go, Stop

_APPEND, _APPENDED = "sync-append", "sync-appended"
_APPLY, _APPLIED = "commit-apply", "commit-applied"


class HeldThreads:
    """The threads of all servers. The choices for them are handed to `emit`."""

    def __init__(self, grain: Grain, emit: Callable[[Choice], None], role: Callable[[int], Role]) -> None:
        self._separate = SEPARATE[grain]
        self._emit = emit
        self._role = role
        self._main: dict[int, str] = {}
        """The point at which the main thread of a server is held."""
        self._appended: set[int] = set()
        """The servers whose logging thread is held behind a record; that of any other is stopped before the next."""
        self._free: list[tuple[int, str]] = []
        """The points of servers at which threads go on until all that is left over from an iteration is done."""

    def started(self, process: int) -> None:
        """Stop the threads of a server that is started before they do anything."""
        self.ended(process)
        if "sync" in self._separate:
            self._stop(process, _APPEND)
        if "commit" in self._separate:
            self._stop(process, _APPLY)

    def ended(self, process: int) -> None:
        """Drop the stops of a server that has ended."""
        self._main.pop(process, None)
        self._appended.discard(process)
        self._free = [each for each in self._free if each[0] != process]

    def begins(self, process: int, before: Server, after: Server | None) -> None:
        """Stop the main thread of a server at the first piece of the work that it is about to get."""
        if "main" in self._separate and after is not None and after.todo and not before.todo:
            point = _first_point(after.todo, after)
            if point:
                self._stop(process, point)
                self._main[process] = point

    def moved(self, process: int, before: Server | None, after: Server | None) -> None:
        """Take in that a choice was executed: a main thread that was to stop has done so."""
        point = self._main.get(process)
        if point is not None and before is not None and after is not None and after.todo and not before.todo:
            self._await(process, point)

    def turn(self, process: int, thread: str, state: Server) -> str:
        """Have a thread take its next turn; return why it cannot, or ""."""
        match thread:
            case "main":
                self._main_turn(process, state)
            case "sync" if state.to_log:
                self._append(process)
            case "sync":
                self._stop(process, _APPEND)
                self._go(process, _APPENDED)
                self._appended.discard(process)
            case "commit":
                self._apply(process)
            case "late sync" if len(state.left_to_log) == 1 and not state.to_log:
                self._go(process, _APPEND)
                self._stop(process, _APPEND)
            case "late commit" if not state.to_apply:
                self._apply(process)
            case _:
                return f"the thread `{thread}` cannot be held beside the one of the present iteration"
        return ""

    def leaves(self, process: int, state: Server | None) -> None:
        """Let the logging thread of a leaving server go on, as the main thread waits for it, unless it is leaked."""
        if state is not None and not self._leaks(state):
            self._let_logging_go(process, state)

    def has_left(self, process: int, state: Server | None) -> None:
        """Finish the threads' remaining work at a server that has left, unless that is a turn of its own."""
        if state is None:
            return
        if self._leaks(state) and "late sync" not in self._separate:
            self._let_logging_go(process, state)
        if "commit" in self._separate and state.to_apply and "late commit" not in self._separate:
            self._let_go(process, _APPLY)

    def settled(self, process: int) -> None:
        """Stop the threads of a server again after a comparison: nothing is left over."""
        for each, point in [*self._free]:
            if each == process:
                self._stop(process, point)
                self._free.remove((each, point))

    def _leaks(self, state: Server) -> bool:
        return not state.leads and state.version.leave in ("leaks", "halted")

    def _let_logging_go(self, process: int, state: Server) -> None:
        if "sync" not in self._separate:
            return
        if process in self._appended:
            self._go(process, _APPENDED)
            self._appended.discard(process)
            self._free.append((process, _APPEND))
        elif state.to_log:
            self._let_go(process, _APPEND)

    def _let_go(self, process: int, point: str) -> None:
        self._go(process, point)
        self._free.append((process, point))

    def _append(self, process: int) -> None:
        """Have the logging thread append a record, and hold it behind that."""
        if process in self._appended:
            self._stop(process, _APPEND)
            self._go(process, _APPENDED)
        self._await(process, _APPEND)
        self._stop(process, _APPENDED)
        self._go(process, _APPEND)
        self._await(process, _APPENDED)
        self._appended.add(process)

    def _apply(self, process: int) -> None:
        """Have the delivering thread apply a transaction, and stop it before the next."""
        self._await(process, _APPLY)
        self._stop(process, _APPLIED)
        self._go(process, _APPLY)
        self._await(process, _APPLIED)
        self._stop(process, _APPLY)
        self._go(process, _APPLIED)

    def _main_turn(self, process: int, state: Server) -> None:
        """Have the main thread do its first piece of work, and hold it before the next one that can be held."""
        here = _point(state.todo[0], state)
        following = _first_point(state.todo[1:], state)
        if not here:
            return
        if following:
            self._stop(process, following)
        self._go(process, here)
        self._main.pop(process, None)
        if following:
            self._await(process, following)
            self._main[process] = following

    def let_main_go(self, process: int) -> bool:
        """Let the main thread do all that it has begun. Return True if it was held."""
        point = self._main.pop(process, None)
        if point:
            self._go(process, point)
        return point is not None

    def _stop(self, process: int, point: str) -> None:
        self._emit(Stop(self._role(process), point))

    def _await(self, process: int, point: str) -> None:
        self._emit(AwaitStop(self._role(process), point))

    def _go(self, process: int, point: str) -> None:
        self._emit(Go(self._role(process), point))


def _first_point(todo: tuple[Todo, ...], state: Server) -> str:
    return next((point for each in todo if (point := _point(each, state))), "")


def _point(todo: Todo, state: Server) -> str:
    """Return the point right before the main thread's next piece of work; "" if that cannot be seen."""
    match todo.step:
        case leader.adopt_own_epoch:
            return "current-epoch"
        case learner.snapshot_of_leader:
            return "learner-snapshot"
        case learner.adopt_epoch:
            return "learner-epoch"
        case learner.acknowledge:
            return "learner-ack-newleader"
        case learner.log_kept if state.version.logs == "all" and not state.version.awaits_log:
            return "learner-start-threads"
        case learner.log_kept if state.version.logs == "committed" and state.committed:
            return "learner-append"
    return ""
