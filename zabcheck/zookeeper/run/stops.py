"""Threads of the servers that a schedule stops at named points.

In a process that is done by the debug agent of its JVM (`run.debugged_process`), and by the scheduler of simulated
servers. When a server ends, its stops end with it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Literal, Protocol

from zabcheck.zookeeper.debugger.agent import AgentError, AgentGone
from zabcheck.zookeeper.debugger.jvm import BlockedThread
from zabcheck.zookeeper.recording.records import FieldsRead, PowerLost, Reached, Record, ZxidSet
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.forces import Forces, KeptData
from zabcheck.zookeeper.run.undone import LessKept, NotApplicable, NothingCame

What = Literal["held", "killed", "failed", "lost"]
"""The fate of a thread that comes to a point, of its server, of the call there, or of the server's power."""
Act = Literal["held", "killed", "failed"] | KeptData


class AnyTrap(Protocol):
    """A stop that was set in a server."""

    @property
    def done(self) -> bool:
        """True if the thread has come: it is held, or its action is done."""

    @property
    def over(self) -> bool:
        """True if the thread that was held goes on, or none can be held any more."""

    @property
    def name(self) -> str | None:
        """The name of the thread that is held; None if none is."""


class Debugged(Protocol):
    """One incarnation of a server, whose threads can be stopped and whose memory can be read.

    Its methods raise AgentGone once the server has ended, and AgentError if they cannot do it.
    """

    @property
    def error(self) -> AgentError | None:
        """The reason why a thread that came could not be handled."""

    def stop(self, point: str, nth: int, what: What, come: Callable[[str], None]) -> AnyTrap:
        """Stop the nth thread from now on that comes to a point; `come` is called then, with its name."""

    def step(self, trap: AnyTrap) -> None:
        """Let a held thread go on by a line."""

    def go(self, trap: AnyTrap) -> None:
        """Let a held thread go on."""

    def begin(self) -> None:
        """Let a server begin whose stops are set."""

    def close(self) -> None:
        """Handle what was under way in a server that has ended, and take all stops away."""

    def fields(self, names: Sequence[str]) -> dict[str, int | None]:
        """Read fields of memory by name (docs/zookeeper-points.md#fields); None for one that is not there."""

    def set_zxid(self, left: int) -> tuple[int, int] | None:
        """Leave a leader `left` transactions until its counter rolls over; None if it does not lead.

        Returns the zxids of the last transaction before and after that.
        """

    def interrupt(self) -> None:
        """Interrupt the main thread."""

    def blocked(self) -> Sequence[BlockedThread]:
        """Return which threads wait for monitors that others have."""

    def main_place(self) -> str | None:
        """Return the method in which the main thread is, if known."""


class Stops:
    """Stops that are wanted, and threads that are held, in each server of an ensemble.

    `opened` gives access to a server that was just started; None if it ended by itself. With `watched` it is known what
    each server has forced to its disk.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        record: Callable[[Record], None],
        opened: Callable[[int, Forces | None], Debugged | None],
        watched: bool,
    ) -> None:
        self._ensemble = ensemble
        self._record = record
        self._opened = opened
        self._debuggers: dict[int, Debugged] = {}
        self._wanted: dict[tuple[int, str], tuple[int, Act]] = {}
        """Stops to be set when a server that is down starts."""
        self._traps: dict[tuple[int, str], AnyTrap] = {}
        self._failing: dict[tuple[int, str], list[int]] = {}
        """The points of calls that are to fail: the counts of the failures behind the present one there, in turn."""
        self._turns = Lock()
        """Held while turns are looked at: threads come in a thread of the debugger's."""
        self._forces = {number: Forces(server) for number, server in ensemble.servers.items()} if watched else {}
        """The data that each server has forced to its disk, if the power of one is to fail."""
        self._unable = ""
        """The reason why a folder could not be cut."""
        self.short: LessKept | None = None
        """The first power failure that found less of a log than was to be kept."""

    def attach(self, number: int) -> None:
        """Set the wanted stops in a server that was just started, and let it begin. EnsembleError if that cannot be."""
        self.forget(number)
        forces = self._forces.get(number)
        try:
            debugger = self._opened(number, forces)
            if debugger is None:
                return
            self._debuggers[number] = debugger
            for (of, point), (nth, act) in [*self._wanted.items()]:
                if of == number:
                    del self._wanted[of, point]
                    self._set(number, point, nth, act)
            debugger.begin()
        except AgentGone:
            return  # it was killed, or ended by itself
        except AgentError as error:
            raise EnsembleError(f"server {number}: {error}") from None

    def stop(self, number: int, point: str, nth: int, act: Act = "held") -> None:
        """Act on the nth thread of a server that comes to a point. NotApplicable if that cannot be.

        A server that is down gets its stop when it starts. A failure where one is to come already waits its turn.
        """
        server = self._ensemble.servers[number]
        trap = self._traps.get((number, point))
        if (number, point) in self._wanted or (trap is not None and not trap.over):
            with self._turns:
                if act != "failed" or (number, point) not in self._failing:
                    raise NotApplicable("something is to be stopped there already")
                self._failing[number, point].append(nth)
            return
        self._failing.pop((number, point), None)
        if act == "failed":
            self._failing[number, point] = []
        if server.up:
            self._ask(number, lambda _: self._set(number, point, nth, act))
        else:
            self._wanted[number, point] = nth, act

    def cut_power(self, number: int, kept: KeptData) -> None:
        """Let the power of a server fail now. NotApplicable if that cannot be, LessKept if less was there to be kept.

        A server that is down loses the data that it has not forced as well. EnsembleError if its folder cannot be cut.
        """
        if self._ensemble.servers[number].incarnation < 0:
            raise NotApplicable("it was never started")
        self._ensemble.servers[number].kill()
        self.forget(number)  # what it has forced is known when all that its agent said is handled
        self._cut(number, kept)
        self.check()
        self.check_kept()

    def check_kept(self) -> None:
        """LessKept if a power failure found less of a log than was to be kept."""
        if self.short is not None:
            raise self.short

    def wait(self, number: int, point: str, seconds: float, explain: bool = False) -> None:
        """Wait until a thread has come to a point. NotApplicable if none is to stop there, NothingCame if none came.

        With `explain` the latter says which threads wait for which.
        """
        trap = self._traps.get((number, point))
        if trap is None:
            raise NotApplicable("nothing is to be stopped there")
        is_over = self._ensemble.await_all(seconds, lambda: self._is_over(trap))
        if not trap.done:
            ended = ": the server has ended" if is_over else ""
            raise NothingCame(f"no thread came{ended}{self.waiting() if explain else ''}")

    def step(self, number: int, point: str) -> None:
        """Let a held thread go on by a line. NotApplicable if none is held there."""
        trap = self._traps.get((number, point))
        if trap is None or trap.name is None:
            raise NotApplicable("no thread is held there")
        self._ask(number, lambda debugger: debugger.step(trap))

    def go(self, number: int, point: str) -> None:
        """Let a held thread go on, and stop none there any more. NotApplicable if none was to be stopped there."""
        trap = self._traps.pop((number, point), None)
        self._failing.pop((number, point), None)
        if trap is None:
            raise NotApplicable("nothing is to be stopped there")
        self._ask(number, lambda debugger: debugger.go(trap))

    def read(self, number: int, fields: tuple[str, ...]) -> None:
        """Record fields of a server's memory. NotApplicable if the server is not there to be asked."""

        def look(debugger: Debugged) -> None:
            self._record(FieldsRead(self._ensemble.now(), number, debugger.fields(fields)))

        self._ask(number, look)

    def fields(self, number: int, names: Sequence[str]) -> dict[str, int | None] | None:
        """Return fields of a server's memory; None if the server has ended."""
        found: list[dict[str, int | None]] = []
        with suppress(NotApplicable):
            self._ask(number, lambda debugger: found.append(debugger.fields(names)))
        return found[0] if found else None

    def interrupt(self, number: int) -> None:
        """Interrupt the main thread of a server, if the server is there."""
        with suppress(NotApplicable):
            self._ask(number, lambda debugger: debugger.interrupt())

    def roll_over(self, number: int, left: int) -> None:
        """Leave a leader `left` transactions until its counter rolls over. NotApplicable if it does not lead."""
        done: list[bool] = []

        def set_it(debugger: Debugged) -> None:
            jump = debugger.set_zxid(left)
            if jump is not None:
                done.append(True)
                self._record(ZxidSet(self._ensemble.now(), number, *jump))

        self._ask(number, set_it)
        if not done:
            raise NotApplicable("it does not lead")

    def not_come(self) -> list[tuple[int, str]]:
        """Return the servers and points of all stops to which no thread has come yet."""
        return [*self._wanted, *(each for each, trap in self._traps.items() if not trap.done and not trap.over)]

    def waiting(self) -> str:
        """Describe who waits for whom, in servers in which a thread is held."""
        found: list[BlockedThread] = []
        for number in dict.fromkeys(number for (number, _), trap in self._traps.items() if trap.name is not None):
            with suppress(NotApplicable):
                self._ask(number, lambda each: found.extend(each.blocked()))
        return "".join(f"; {each.thread} waits for a monitor that {each.owner} has" for each in found)

    def standing(self) -> str:
        """Describe the held threads, who waits for them, and where each server's main thread is."""
        said = [
            f"server {number}: {trap.name} is held at {point}"
            for (number, point), trap in self._traps.items()
            if trap.name is not None
        ]
        for number, server in self._ensemble.servers.items():
            said += self._doing(number) if server.up else [f"server {number} is down"]
        return "".join(f"; {each}" for each in said)

    def _doing(self, number: int) -> list[str]:
        """Describe who waits for whom in a server that is up, and where its main thread is."""
        said: list[str] = []

        def look(debugger: Debugged) -> None:
            said.extend(f"{each.thread} waits for a monitor that {each.owner} has" for each in debugger.blocked())
            where = debugger.main_place()
            if where is not None:
                said.append(f"its main thread is in {where}")

        with suppress(NotApplicable):
            self._ask(number, look)
        return [f"server {number}: {each}" for each in said]

    def main_place(self, number: int) -> str | None:
        """Return the method in which a server's main thread is, if known."""
        found: list[str | None] = []
        with suppress(NotApplicable):
            self._ask(number, lambda debugger: found.append(debugger.main_place()))
        return found[0] if found else None

    def go_all(self) -> None:
        """Let every thread go on, and stop none any more."""
        self._wanted.clear()
        self._failing.clear()
        for number, point in [*self._traps]:
            with suppress(NotApplicable):
                self.go(number, point)

    def check(self) -> None:
        """EnsembleError if a debug agent did not do what it was asked, or a folder could not be cut."""
        if self._unable:
            raise EnsembleError(self._unable)
        for number, each in self._debuggers.items():
            if each.error is not None and self._ensemble.servers[number].up:
                raise EnsembleError(f"server {number}: {each.error}")

    def close(self) -> None:
        """End all connections, once the servers have ended."""
        for number in [*self._debuggers]:
            self.forget(number)

    def _set(self, number: int, point: str, nth: int, act: Act) -> None:
        what: What = "lost" if isinstance(act, KeptData) else act

        def come(thread: str) -> None:
            self._record(Reached(self._ensemble.now(), number, point, thread, what))
            if what in ("killed", "lost"):
                self._ensemble.servers[number].kill()
            if isinstance(act, KeptData):
                self._cut(number, act)
            with self._turns:
                waiting = self._failing.get((number, point))
                following = waiting.pop(0) if waiting else None
                if following is None:
                    self._failing.pop((number, point), None)
            if following is not None:
                self._set(number, point, following, "failed")

        self._traps[number, point] = self._debuggers[number].stop(point, nth, what, come)

    def _cut(self, number: int, kept: KeptData) -> None:
        """Cut the folder of a server that was killed."""
        try:
            plan = self._forces[number].cut(kept)
        except OSError as error:
            self._unable = f"the folder of server {number} cannot be cut: {error}"
            return
        if plan.short and self.short is None:
            self.short = LessKept(number, plan.short)
        files = {cut.file: cut.keep for cut in plan.cuts}
        self._record(PowerLost(self._ensemble.now(), number, plan.lost, files, plan.short, plan.undone))

    def _ask(self, number: int, ask: Callable[[Debugged], object]) -> None:
        """Ask a server's debugger for something. NotApplicable if it cannot be asked, EnsembleError if it refuses."""
        if self._ensemble.servers[number].paused:
            raise NotApplicable("it stands still")
        debugger = self._debuggers.get(number)
        if debugger is None:  # it ended before it could be attached to
            raise NotApplicable("it is down")
        try:
            ask(debugger)
        except AgentGone:
            raise NotApplicable("it is down") from None
        except AgentError as error:
            raise EnsembleError(f"server {number}: {error}") from None

    def _is_over(self, trap: AnyTrap) -> bool:
        """Return True if a thread has come, and all is done that was to be done then; or if the server has ended."""
        self.check()
        return trap.done or trap.over

    def forget(self, number: int) -> None:
        """End the connection to a server that has ended, with all its stops. Work under way there is done then."""
        old = self._debuggers.pop(number, None)
        if old is not None:
            old.close()
        for of, point in [*self._traps]:
            if of == number:
                del self._traps[of, point]
