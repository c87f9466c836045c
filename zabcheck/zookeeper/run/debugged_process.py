"""A server's process whose threads are stopped by the debug agent of its JVM.

The agent is started only for a schedule that has stops, or reads fields. While a JVM waits for zabcheck at its start,
what is to be stopped in it is set, so that nothing happens before.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import sleep
from typing import NamedTuple

from zabcheck.zookeeper.debugger.agent import OPTION, AgentError, port_told
from zabcheck.zookeeper.debugger.class_path import SERVER
from zabcheck.zookeeper.debugger.debugger import Debugger, Held
from zabcheck.zookeeper.debugger.debugger import Trap as AgentTrap
from zabcheck.zookeeper.debugger.fields import PEER, read_fields, set_zxid
from zabcheck.zookeeper.debugger.jvm import BlockedThread
from zabcheck.zookeeper.debugger.points import Place
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError
from zabcheck.zookeeper.run.forces import WATCHED, Forces
from zabcheck.zookeeper.run.stops import AnyTrap, What

AGENT_UP = 60.0
"""Seconds that a JVM gets to say where its agent listens; it takes a tenth of one."""
_NO_AGENT = "agent library jdwp"
"""The complaint of a Java that comes without the agent."""
_POLL = 0.01
FAILURE = ("java/io/IOException", "No space left on device")
"""The exception of a call that is to fail."""


def with_agent(distribution: Distribution) -> Distribution:
    """Return the same build, whose servers wait for a debugger."""
    return distribution._replace(options=(*distribution.options, OPTION))


def opened(
    ensemble: Ensemble, places: Mapping[str, Sequence[Place]], number: int, forces: Forces | None
) -> "DebuggedProcess | None":
    """Connect to the agent of a server that was just started; None if it ended by itself, as servers may.

    EnsembleError if there is no agent; AgentGone, AgentError.
    """
    server = ensemble.servers[number]
    until = ensemble.clock() + AGENT_UP * ensemble.slowness()
    while (port := port_told(server.log())) is None:
        ensemble.check()
        up = server.up
        if not up and _NO_AGENT in server.log():
            raise EnsembleError("a schedule with stops needs the JDK's debug agent, and this Java comes without it")
        if not up:
            return None
        if ensemble.clock() > until:
            raise EnsembleError(f"the debug agent of server {number} was not there in {AGENT_UP:g} s")
        sleep(_POLL)
    return DebuggedProcess(Debugger(port), places, forces)


class _ProcessTrap(NamedTuple):
    """A stop in a process."""

    of: AgentTrap

    @property
    def done(self) -> bool:
        return self.of.done

    @property
    def over(self) -> bool:
        return self.of.over

    @property
    def name(self) -> str | None:
        return None if self.of.held is None else self.of.held.name


class DebuggedProcess:
    """The debugger of one incarnation. See `run.stops.Debugged`."""

    def __init__(self, debugger: Debugger, places: Mapping[str, Sequence[Place]], forces: Forces | None) -> None:
        self._debugger = debugger
        self._places = places
        if forces is not None:
            forces.begin_incarnation()
            for point in WATCHED:
                debugger.watch(places[point], partial(_come, forces, point))

    @property
    def error(self) -> AgentError | None:
        return self._debugger.error

    def stop(self, point: str, nth: int, what: What, come: Callable[[str], None]) -> AnyTrap:
        def then(held: Held) -> None:
            come(held.name)
            if what == "failed":
                self._debugger.jvm.throw(held.thread, *FAILURE)

        return _ProcessTrap(self._debugger.stop(self._places[point], nth, then, hold=what == "held"))

    def step(self, trap: AnyTrap) -> None:
        assert isinstance(trap, _ProcessTrap)
        self._debugger.step(trap.of)

    def go(self, trap: AnyTrap) -> None:
        assert isinstance(trap, _ProcessTrap)
        self._debugger.go(trap.of)

    def begin(self) -> None:
        self._debugger.begin()

    def close(self) -> None:
        self._debugger.close()

    def fields(self, names: Sequence[str]) -> dict[str, int | None]:
        return read_fields(self._debugger.jvm, names)

    def set_zxid(self, left: int) -> tuple[int, int] | None:
        return set_zxid(self._debugger.jvm, left)

    def interrupt(self) -> None:
        main = self._debugger.jvm.thread_of(PEER)
        if main is not None:
            self._debugger.jvm.interrupt(main)

    def blocked(self) -> Sequence[BlockedThread]:
        return self._debugger.jvm.blocked()

    def main_place(self) -> str | None:
        main = self._debugger.jvm.thread_of(PEER)
        return None if main is None else self._debugger.jvm.where(main, SERVER)


def _come(forces: Forces, point: str, held: Held) -> None:
    forces.come(point, held.thread)
