"""Threads of the servers that a schedule stops at named points, by the debug agent of each server's JVM.

The agent is started only for a schedule that has stops, or reads fields. While a JVM waits for zabcheck at its start,
what is to be stopped in it is set, so that nothing happens before. When a server ends, its stops end with it.
"""

from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Literal

from zabcheck.zookeeper.debugger.agent import OPTION, AgentError, AgentGone, port_told
from zabcheck.zookeeper.debugger.class_path import SERVER, ClassPath, ClassPathError
from zabcheck.zookeeper.debugger.debugger import Blocked, Debugger, Held, Trap
from zabcheck.zookeeper.debugger.fields import PEER, read_fields, set_zxid
from zabcheck.zookeeper.debugger.points import Place, PointError, located
from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import FieldsRead, PowerLost, Reached, Record, ZxidSet
from zabcheck.zookeeper.run.choices.points import PowerLoss, RollOver
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.forces import WATCHED, Forces
from zabcheck.zookeeper.run.schedule import EnsembleSchedule

_REFUSES_GAPS = ("3.9.4", "3.9.5")
"""The versions in which a follower ends with `Committed proposal cached out of order` where zxids have a gap."""
AGENT_UP = 60.0
"""Seconds that a JVM gets to say where its agent listens; it takes a tenth of one."""
_NO_AGENT = "agent library jdwp"
"""What a Java says that comes without the agent."""
_POLL = 0.01
SHORT = "the power failure"
"""How the sentence begins that says what was to be kept, and was not there."""
FAILURE = ("java/io/IOException", "No space left on device")
"""What a call throws that fails."""

Act = Literal["held", "killed", "failed"] | PowerLoss
"""What becomes of a thread that comes to a point, of its server, of the call there, or of the server's power."""


def places_of(schedule: EnsembleSchedule, distribution: Distribution) -> dict[str, tuple[Place, ...]]:
    """Find the points that a schedule names in the jars. PointError, or ClassPathError, if one is not there."""
    classes = ClassPath(distribution.classpath)
    watched = WATCHED if schedule.cuts_power else ()
    return {name: located(name, classes).places for name in dict.fromkeys((*schedule.points, *watched))}


def with_agent(distribution: Distribution) -> Distribution:
    """Return the same build, whose servers wait for a debugger."""
    return distribution._replace(options=(*distribution.options, OPTION))


def found_places(schedule: EnsembleSchedule, distribution: Distribution) -> dict[str, tuple[Place, ...]]:
    """Find them as `places_of` does. EnsembleError if one is not there, or if the version cannot do a choice."""
    if distribution.version.startswith(_REFUSES_GAPS) and any(isinstance(each, RollOver) for each in schedule.choices):
        raise EnsembleError(f"`rollover` leaves a gap in the zxids, and ZooKeeper {distribution.version} refuses gaps")
    try:
        return places_of(schedule, distribution)
    except (PointError, ClassPathError) as error:
        raise EnsembleError(str(error)) from None


class Stops:
    """What is to be stopped, and what is held, in each server of an ensemble. Points are those of `places`."""

    def __init__(
        self, ensemble: Ensemble, places: dict[str, tuple[Place, ...]], record: Callable[[Record], None]
    ) -> None:
        self._ensemble = ensemble
        self._places = places
        self._record = record
        self._debuggers: dict[int, Debugger] = {}
        self._wanted: dict[tuple[int, str], tuple[int, Act]] = {}
        """What is to be set when a server that is down starts."""
        self._traps: dict[tuple[int, str], Trap] = {}
        watched = all(point in places for point in WATCHED)
        self._forces = {number: Forces(server.data) for number, server in ensemble.servers.items()} if watched else {}
        """What each server has forced to its disk, if the power of one is to fail."""
        self._unable = ""
        """Why a folder could not be cut."""
        self.short = ""
        """What was to be kept of a log when the power failed, and was not there."""

    def attach(self, number: int) -> None:
        """Set what is wanted in a server that was just started, and let it begin. EnsembleError if it has no agent."""
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

    def stop(self, number: int, point: str, nth: int, act: Act = "held") -> str:
        """Act on the nth thread of a server that comes to a point; return why that cannot be, or "".

        A server that is down gets its stop when it starts.
        """
        server = self._ensemble.servers[number]
        trap = self._traps.get((number, point))
        if (number, point) in self._wanted or (trap is not None and not trap.over):
            return "passed over: something is to be stopped there already"
        if not server.up:
            self._wanted[number, point] = nth, act
            return ""
        return self._asked(number, lambda _: self._set(number, point, nth, act))

    def cut_power(self, number: int, choice: PowerLoss) -> str:
        """Let the power of a server fail, now or at a point; return why that cannot be, or "".

        What a server that is down has not forced is lost as well. EnsembleError if its folder cannot be cut.
        """
        if choice.point:
            return self.stop(number, choice.point, choice.nth, choice)
        if self._ensemble.servers[number].incarnation < 0:
            return "passed over: it was never started"
        self._ensemble.servers[number].kill()
        self.forget(number)  # what it has forced is known when all that its agent said is handled
        self._cut(number, choice)
        self.check()
        return self.short

    def wait(self, number: int, point: str, seconds: float) -> str:
        """Wait until a thread has come to a point; return why none has, or ""."""
        trap = self._traps.get((number, point))
        if trap is None:
            return "passed over: nothing is to be stopped there"
        if self._ensemble.await_all(seconds, lambda: self._is_over(trap)):
            return "" if trap.done else "no thread came: the server has ended"
        return "no thread came"

    def step(self, number: int, point: str) -> str:
        """Let a held thread go on by a line; return why not, or ""."""
        trap = self._traps.get((number, point))
        if trap is None or trap.held is None:
            return "passed over: no thread is held there"
        return self._asked(number, lambda debugger: debugger.step(trap))

    def go(self, number: int, point: str) -> str:
        """Let a held thread go on, and stop none there any more; return why not, or ""."""
        trap = self._traps.pop((number, point), None)
        if trap is None:
            return "passed over: nothing is to be stopped there"
        return self._asked(number, lambda debugger: debugger.go(trap))

    def read(self, number: int, fields: tuple[str, ...]) -> str:
        """Record fields of a server's memory; return why not, or ""."""
        return self._asked(
            number, lambda debugger: self._record(FieldsRead(now(), number, read_fields(debugger, fields)))
        )

    def fields(self, number: int, names: Sequence[str]) -> dict[str, int | None] | None:
        """Return fields of a server's memory; None if the server has ended."""
        found: list[dict[str, int | None]] = []
        self._asked(number, lambda debugger: found.append(read_fields(debugger, names)))
        return found[0] if found else None

    def interrupt(self, number: int) -> str:
        """Interrupt the main thread of a server; return why that cannot be, or ""."""

        def interrupt(debugger: Debugger) -> None:
            main = debugger.thread_of(PEER)
            if main is not None:
                debugger.interrupt(main)

        return self._asked(number, interrupt)

    def roll_over(self, number: int, left: int) -> str:
        """Let a leader have only `left` transactions until its counter rolls over; return why not, or ""."""
        done: list[bool] = []

        def set_it(debugger: Debugger) -> None:
            jump = set_zxid(debugger, left)
            if jump is not None:
                done.append(True)
                self._record(ZxidSet(now(), number, *jump))

        return self._asked(number, set_it) or ("" if done else "passed over: it does not lead")

    def not_come(self) -> list[tuple[int, str]]:
        """Return the servers and points of all stops to which no thread has come yet."""
        return [*self._wanted, *(each for each, trap in self._traps.items() if not trap.done and not trap.over)]

    def waiting(self) -> str:
        """Say who waits for whom, in servers in which a thread is held."""
        found: list[Blocked] = []
        for number in dict.fromkeys(number for (number, _), trap in self._traps.items() if trap.held is not None):
            self._asked(number, lambda each: found.extend(each.blocked()))
        return "".join(f"; {each.thread} waits for a monitor that {each.owner} has" for each in found)

    def standing(self) -> str:
        """Say which threads are held, who waits for them, and where each server's main thread is."""
        said = [
            f"server {number}: {trap.held.name} is held at {point}"
            for (number, point), trap in self._traps.items()
            if trap.held is not None
        ]
        for number, server in self._ensemble.servers.items():
            said += self._doing(number) if server.up else [f"server {number} is down"]
        return "".join(f"; {each}" for each in said)

    def _doing(self, number: int) -> list[str]:
        """Say who waits for whom in a server that is up, and where its main thread is."""
        said: list[str] = []

        def look(debugger: Debugger) -> None:
            said.extend(f"{each.thread} waits for a monitor that {each.owner} has" for each in debugger.blocked())
            main = debugger.thread_of(PEER)
            where = None if main is None else debugger.where(main, SERVER)
            if where is not None:
                said.append(f"its main thread is in {where}")

        self._asked(number, look)
        return [f"server {number}: {each}" for each in said]

    def go_all(self) -> None:
        """Let every thread go on, and stop none any more."""
        self._wanted.clear()
        for number, point in [*self._traps]:
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
            what = "lost" if isinstance(act, PowerLoss) else act
            self._record(Reached(now(), number, point, held.name, what))
            if isinstance(act, PowerLoss):
                self._ensemble.servers[number].kill()
                self._cut(number, act)
            elif act == "killed":
                self._ensemble.servers[number].kill()
            elif act == "failed":
                debugger.throw(held, *FAILURE)

        self._traps[number, point] = debugger.stop(self._places[point], nth, come, hold=act == "held")

    def _cut(self, number: int, choice: PowerLoss) -> None:
        """Cut the folder of a server that was killed."""
        try:
            plan = self._forces[number].cut(choice)
        except OSError as error:
            self._unable = f"the folder of server {number} cannot be cut: {error}"
            return
        self.short = self.short or (plan.short and f"{SHORT} of server {number}: {plan.short}")
        files = {cut.file: cut.keep for cut in plan.cuts}
        self._record(PowerLost(now(), number, plan.lost, files, plan.short))

    def _asked(self, number: int, ask: Callable[[Debugger], object]) -> str:
        """Ask a server's debugger for something; return why that cannot be, or "". EnsembleError if it refuses."""
        if self._ensemble.servers[number].paused:
            return "passed over: it stands still"
        debugger = self._debuggers.get(number)
        if debugger is None:  # it ended before it could be attached to
            return "passed over: it is down"
        try:
            ask(debugger)
        except AgentGone:
            return "passed over: it is down"
        except AgentError as error:
            raise EnsembleError(f"server {number}: {error}") from None
        return ""

    def _is_over(self, trap: Trap) -> bool:
        """Whether a thread has come, with all that was to be done then; or none can come, as the server has ended."""
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
