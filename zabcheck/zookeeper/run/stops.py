"""Threads of the servers that a schedule stops at named points, by the debug agent of each server's JVM.

The agent is started only for a schedule that has stops, or reads fields. While a JVM waits for zabcheck at its start,
what is to be stopped in it is set, so that nothing happens before. When a server ends, its stops end with it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Literal

from zabcheck.zookeeper.debugger.agent import OPTION, AgentError, AgentGone, port_told
from zabcheck.zookeeper.debugger.class_path import SERVER
from zabcheck.zookeeper.debugger.debugger import Debugger, Held, Trap
from zabcheck.zookeeper.debugger.fields import PEER, read_fields, set_zxid
from zabcheck.zookeeper.debugger.jvm import Blocked
from zabcheck.zookeeper.debugger.points import Place
from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import FieldsRead, PowerLost, Reached, Record, ZxidSet
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.forces import WATCHED, Forces, Kept
from zabcheck.zookeeper.run.undone import LessKept, NotApplicable, NothingCame

AGENT_UP = 60.0
"""Seconds that a JVM gets to say where its agent listens; it takes a tenth of one."""
_NO_AGENT = "agent library jdwp"
"""The complaint of a Java that comes without the agent."""
_POLL = 0.01
FAILURE = ("java/io/IOException", "No space left on device")
"""The exception of a call that is to fail."""

Act = Literal["held", "killed", "failed"] | Kept
"""The fate of a thread that comes to a point, of its server, of the call there, or of the server's power."""


def with_agent(distribution: Distribution) -> Distribution:
    """Return the same build, whose servers wait for a debugger."""
    return distribution._replace(options=(*distribution.options, OPTION))


class Stops:
    """Stops that are wanted, and threads that are held, in each server of an ensemble. Points are those of `places`."""

    def __init__(
        self, ensemble: Ensemble, places: dict[str, tuple[Place, ...]], record: Callable[[Record], None]
    ) -> None:
        self._ensemble = ensemble
        self._places = places
        self._record = record
        self._debuggers: dict[int, Debugger] = {}
        self._wanted: dict[tuple[int, str], tuple[int, Act]] = {}
        """Stops to be set when a server that is down starts."""
        self._traps: dict[tuple[int, str], Trap] = {}
        watched = all(point in places for point in WATCHED)
        self._forces = {number: Forces(server.data) for number, server in ensemble.servers.items()} if watched else {}
        """The data that each server has forced to its disk, if the power of one is to fail."""
        self._unable = ""
        """The reason why a folder could not be cut."""
        self.short: LessKept | None = None
        """The first power failure that found less of a log than was to be kept."""

    def attach(self, number: int) -> None:
        """Set the wanted stops in a server that was just started, and let it begin. EnsembleError without an agent."""
        server = self._ensemble.servers[number]
        self.forget(number)
        until = monotonic() + AGENT_UP
        while (port := port_told(server.log())) is None:
            self._ensemble.check()
            up = server.up
            if not up and _NO_AGENT in server.log():
                raise EnsembleError("a schedule with stops needs the JDK's debug agent, and this Java comes without it")
            if not up:
                return  # it ended by itself, as servers may
            if monotonic() > until:
                raise EnsembleError(f"the debug agent of server {number} was not there in {AGENT_UP:g} s")
            sleep(_POLL)
        try:
            self._debuggers[number] = Debugger(port)
            if self._forces:
                self._forces[number].watch(self._debuggers[number], self._places)
            for (of, point), (nth, act) in [*self._wanted.items()]:
                if of == number:
                    del self._wanted[of, point]
                    self._set(number, point, nth, act)
            self._debuggers[number].begin()
        except AgentGone:
            return  # it was killed, or ended by itself
        except AgentError as error:
            raise EnsembleError(f"server {number}: {error}") from None

    def stop(self, number: int, point: str, nth: int, act: Act = "held") -> None:
        """Act on the nth thread of a server that comes to a point. NotApplicable if that cannot be.

        A server that is down gets its stop when it starts.
        """
        server = self._ensemble.servers[number]
        trap = self._traps.get((number, point))
        if (number, point) in self._wanted or (trap is not None and not trap.over):
            raise NotApplicable("something is to be stopped there already")
        if server.up:
            self._ask(number, lambda _: self._set(number, point, nth, act))
        else:
            self._wanted[number, point] = nth, act

    def cut_power(self, number: int, kept: Kept) -> None:
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
        if trap is None or trap.held is None:
            raise NotApplicable("no thread is held there")
        self._ask(number, lambda debugger: debugger.step(trap))

    def go(self, number: int, point: str) -> None:
        """Let a held thread go on, and stop none there any more. NotApplicable if none was to be stopped there."""
        trap = self._traps.pop((number, point), None)
        if trap is None:
            raise NotApplicable("nothing is to be stopped there")
        self._ask(number, lambda debugger: debugger.go(trap))

    def read(self, number: int, fields: tuple[str, ...]) -> None:
        """Record fields of a server's memory. NotApplicable if the server is not there to be asked."""
        self._ask(number, lambda debugger: self._record(FieldsRead(now(), number, read_fields(debugger.jvm, fields))))

    def fields(self, number: int, names: Sequence[str]) -> dict[str, int | None] | None:
        """Return fields of a server's memory; None if the server has ended."""
        found: list[dict[str, int | None]] = []
        with suppress(NotApplicable):
            self._ask(number, lambda debugger: found.append(read_fields(debugger.jvm, names)))
        return found[0] if found else None

    def interrupt(self, number: int) -> None:
        """Interrupt the main thread of a server, if the server is there."""

        def interrupt(debugger: Debugger) -> None:
            main = debugger.jvm.thread_of(PEER)
            if main is not None:
                debugger.jvm.interrupt(main)

        with suppress(NotApplicable):
            self._ask(number, interrupt)

    def roll_over(self, number: int, left: int) -> None:
        """Leave a leader `left` transactions until its counter rolls over. NotApplicable if it does not lead."""
        done: list[bool] = []

        def set_it(debugger: Debugger) -> None:
            jump = set_zxid(debugger.jvm, left)
            if jump is not None:
                done.append(True)
                self._record(ZxidSet(now(), number, *jump))

        self._ask(number, set_it)
        if not done:
            raise NotApplicable("it does not lead")

    def not_come(self) -> list[tuple[int, str]]:
        """Return the servers and points of all stops to which no thread has come yet."""
        return [*self._wanted, *(each for each, trap in self._traps.items() if not trap.done and not trap.over)]

    def waiting(self) -> str:
        """Describe who waits for whom, in servers in which a thread is held."""
        found: list[Blocked] = []
        for number in dict.fromkeys(number for (number, _), trap in self._traps.items() if trap.held is not None):
            with suppress(NotApplicable):
                self._ask(number, lambda each: found.extend(each.jvm.blocked()))
        return "".join(f"; {each.thread} waits for a monitor that {each.owner} has" for each in found)

    def standing(self) -> str:
        """Describe the held threads, who waits for them, and where each server's main thread is."""
        said = [
            f"server {number}: {trap.held.name} is held at {point}"
            for (number, point), trap in self._traps.items()
            if trap.held is not None
        ]
        for number, server in self._ensemble.servers.items():
            said += self._doing(number) if server.up else [f"server {number} is down"]
        return "".join(f"; {each}" for each in said)

    def _doing(self, number: int) -> list[str]:
        """Describe who waits for whom in a server that is up, and where its main thread is."""
        said: list[str] = []

        def look(debugger: Debugger) -> None:
            said.extend(f"{each.thread} waits for a monitor that {each.owner} has" for each in debugger.jvm.blocked())
            main = debugger.jvm.thread_of(PEER)
            where = None if main is None else debugger.jvm.where(main, SERVER)
            if where is not None:
                said.append(f"its main thread is in {where}")

        with suppress(NotApplicable):
            self._ask(number, look)
        return [f"server {number}: {each}" for each in said]

    def go_all(self) -> None:
        """Let every thread go on, and stop none any more."""
        self._wanted.clear()
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
        debugger = self._debuggers[number]

        def come(held: Held) -> None:
            what = "lost" if isinstance(act, Kept) else act
            self._record(Reached(now(), number, point, held.name, what))
            if isinstance(act, Kept):
                self._ensemble.servers[number].kill()
                self._cut(number, act)
            elif act == "killed":
                self._ensemble.servers[number].kill()
            elif act == "failed":
                debugger.jvm.throw(held.thread, *FAILURE)

        self._traps[number, point] = debugger.stop(self._places[point], nth, come, hold=act == "held")

    def _cut(self, number: int, kept: Kept) -> None:
        """Cut the folder of a server that was killed."""
        try:
            plan = self._forces[number].cut(kept)
        except OSError as error:
            self._unable = f"the folder of server {number} cannot be cut: {error}"
            return
        if plan.short and self.short is None:
            self.short = LessKept(number, plan.short)
        files = {cut.file: cut.keep for cut in plan.cuts}
        self._record(PowerLost(now(), number, plan.lost, files, plan.short))

    def _ask(self, number: int, ask: Callable[[Debugger], object]) -> None:
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

    def _is_over(self, trap: Trap) -> bool:
        """Return True if a thread has come, and all is done that was to be done then; or if the server has ended."""
        self.check()
        return trap.done or trap.over

    def forget(self, number: int) -> None:
        """End the connection to a server that has ended, with all its stops. What was under way there is done then."""
        old = self._debuggers.pop(number, None)
        if old is not None:
            old.close()
        for of, point in [*self._traps]:
            if of == number:
                del self._traps[of, point]
