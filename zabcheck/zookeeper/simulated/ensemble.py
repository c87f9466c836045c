"""A simulated ensemble, as schedules see it: the servers, links and clients of one run."""

import re
import shutil
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

from zabcheck.zookeeper.debugger.agent import AgentError, AgentGone
from zabcheck.zookeeper.debugger.fields import FIELDS, LAST_ZXID, rolled
from zabcheck.zookeeper.debugger.jvm import BlockedThread
from zabcheck.zookeeper.recording import records
from zabcheck.zookeeper.recording.folder import log_file
from zabcheck.zookeeper.recording.records import Record
from zabcheck.zookeeper.run.distribution import NotSimulated
from zabcheck.zookeeper.run.ensemble import AnyServer, Ensemble, EnsembleError, ServerStatus
from zabcheck.zookeeper.run.forces import WATCHED, Forces
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.server import (
    AS_BEFORE,
    CONFIGURATION,
    FURTHER,
    IN_STEP,
    Members,
    configuration,
    member,
    reconfigurable,
    write_list,
)
from zabcheck.zookeeper.run.stops import AnyTrap, What
from zabcheck.zookeeper.simulated import simulator as told
from zabcheck.zookeeper.simulated.clients import SimulatedClient, SimulatedSession
from zabcheck.zookeeper.simulated.simulator import Simulator, ThreadAtPoint, encoded
from zabcheck.zookeeper.wire.jute import JuteError, quorum_packet

HOST = "127.0.0.1"
FIRST_PORT = 20_000
"""Ports are only names here: server 2 listens at 20021, 20022 and, for clients, at 20023."""
MOST_CONNECTIONS = 300
"""The connections of a run, at most; drawn runs make some 40. A refused one is made again within a millisecond."""
LOOK = 0.05
"""Seconds of virtual time, at most, between two looks at what is waited for."""

SETTLES = 0.02
"""Seconds of virtual time in which servers do what they can do at once: real ones get as much between two choices."""
PACES = (0.0, 0.001, SETTLES)
"""Seconds that they get in a drawn run, which is to find what depends on that."""


class SimulatedServer:
    """A server of the simulation. See `run.ensemble.Server`."""

    def __init__(self, ensemble: "SimulatedEnsemble", number: int, folder: Path) -> None:
        self._ensemble = ensemble
        self.number = number
        self.folder = folder
        self.incarnation = -1
        self.paused = False
        self._ends = 0
        self._up = False
        self.data.mkdir()
        (self.data / "myid").write_text(f"{number}\n")

    @property
    def data(self) -> Path:
        """The folder as it was when the last incarnation ended, or that of the present one."""
        return self.folder / (f"server-{self.number}" + (f"~{self._ends}" if self._ends else ""))

    @property
    def up(self) -> bool:
        return self._up

    def configure(self, text: str, dynamic: str | None = None) -> None:
        """Write its configuration, and the list of servers beside it if that may change. It must not be up.

        What may change is in its folder, and ZooKeeper goes on with what it has made of it there.
        """
        self._settings = self.folder / f"zoo-{self.number}.cfg"
        if dynamic is not None:
            self._settings = self.data / CONFIGURATION
            write_list(self.data, dynamic)
        self._settings.write_text(text)

    def start(self, members: Members) -> None:
        """Start the next incarnation; `members` is recorded, another list of servers than the run began with.

        The folder that it goes on with has another name than before.
        """
        assert not self._up
        self.incarnation += 1
        self._ensemble.record(records.Started(self._ensemble.now(), self.number, self.incarnation, *members))
        settings = self.data / self._settings.name if self._settings.name == CONFIGURATION else self._settings
        before = settings.read_text()
        settings.write_text(re.sub(rf"=.*/server-{self.number}(~\d+)?(?=/|$)", f"={self.data}", before, flags=re.M))
        log = log_file(self.folder, self.number, self.incarnation)
        log.touch()
        self._up = True
        self._ensemble.do("start", self.number, encoded(settings), encoded(self.data), encoded(log))

    def begin_anew(self) -> None:
        """Note that its folder has its first name again."""
        self._ends = 0

    def ended(self, record: Record) -> None:
        """Note that it has ended."""
        self._up = self.paused = False
        self._ends += 1
        self._ensemble.record(record)

    def kill(self, over: bool = False) -> None:
        if self._up:
            self._ensemble.do("kill", self.number, "stopped" if over else "killed")

    def pause(self) -> None:
        if self._up and not self.paused:
            self.paused = True
            self._ensemble.record(records.Paused(self._ensemble.now(), self.number))
            self._ensemble.do("pause", self.number)

    def resume(self) -> None:
        if self._up and self.paused:
            self.paused = False
            self._ensemble.record(records.Resumed(self._ensemble.now(), self.number))
            self._ensemble.do("resume", self.number)

    def wipe(self) -> None:
        assert not self._up
        shutil.rmtree(self.data / "version-2", ignore_errors=True)
        self._ensemble.record(records.Wiped(self._ensemble.now(), self.number))

    def log(self) -> str:
        return log_file(self.folder, self.number, self.incarnation).read_text(encoding="utf-8", errors="replace")


class SimulatedNetwork:
    """The links of the simulation. See `run.proxy.Proxy`."""

    def __init__(self, ensemble: "SimulatedEnsemble") -> None:
        self._ensemble = ensemble

    def _fault(self, what: str, sender: int = 0, receiver: int = 0, kind: str = "") -> None:
        self._ensemble.record(records.Fault(self._ensemble.now(), what, sender, receiver, kind))

    def cut(self, sender: int, receiver: int) -> None:
        self._fault("cut", sender, receiver)
        self._ensemble.do("cut", sender, receiver)

    def mend(self, sender: int, receiver: int) -> None:
        self._fault("mend", sender, receiver)
        self._ensemble.do("mend", sender, receiver)

    def hold(self, sender: int, receiver: int, kind: str) -> None:
        self._fault("hold", sender, receiver, kind)
        self._ensemble.do("hold", sender, receiver, kind)

    def release(self, sender: int, receiver: int) -> None:
        self._fault("release", sender, receiver)
        self._ensemble.do("release", sender, receiver)

    def trap(self, sender: int, receiver: int, kind: str, victim: AnyServer) -> None:
        self._fault("trap", sender, receiver, kind)
        self._ensemble.do("trap", sender, receiver, kind, victim.number)

    def delay(self, sender: int, receiver: int, milliseconds: int) -> None:
        self._fault("delay", sender, receiver, str(milliseconds))
        self._ensemble.do("delay", sender, receiver, milliseconds)

    def reset(self, one: int, other: int) -> None:
        self._fault("reset", one, other)
        self._ensemble.do("reset", one, other)

    def heal(self) -> None:
        self._fault("heal")
        self._ensemble.do("heal")

    def gate(self) -> None:
        self._fault("gate")
        self._ensemble.do("gate")

    def meet(self, servers: Collection[int], around: int | None = None) -> None:
        self._ensemble.do("meet", around or 0, *servers)

    def under_way(self, sender: int, receiver: int, client: int) -> list[tuple[str, int | None]]:
        return [(kind, zxid) for kind, zxid in self._ensemble.do("under_way", sender, receiver, client)]

    def let_through(self, sender: int, receiver: int, client: int) -> bool:
        return bool(self._ensemble.do("let_through", sender, receiver, client))

    def close_ends(self, server: int, peer: int, ended: bool) -> bool:
        return bool(self._ensemble.do("close_ends", server, peer, "ended" if ended else "any"))

    def lose(self, one: int, other: int) -> None:
        self._ensemble.do("lose", one, other)

    def wait_held(self, sender: int, receiver: int, seconds: float) -> bool:
        return self._ensemble.await_all(seconds, lambda: (sender, receiver) in self._links("held"))

    def blocked(self) -> set[tuple[int, int]]:
        return self._links("any")

    def _links(self, which: str) -> set[tuple[int, int]]:
        return {(sender, receiver) for sender, receiver in self._ensemble.do("blocked", which)}


class SimulatedTrap:
    """A stop in a simulated server."""

    def __init__(self, point: str, what: What, come: Callable[[str], None]) -> None:
        self.point = point
        self.name: str | None = None
        self.done = False
        self.over = False
        self._what = what
        self._come = come

    def reached(self, thread: str) -> None:
        """Note that a thread has come."""
        self.done = True
        self.over = self._what != "held"
        self.name = thread if self._what == "held" else None
        self._come(thread)


class SimulatedDebugged:
    """The stops and the memory of one incarnation. See `run.stops.Debugged`."""

    error: AgentError | None = None

    def __init__(self, ensemble: "SimulatedEnsemble", number: int) -> None:
        self._ensemble = ensemble
        self._number = number
        self._incarnation = ensemble.servers[number].incarnation
        self._traps: dict[str, SimulatedTrap] = {}

    def _up(self) -> None:
        server = self._ensemble.servers[self._number]
        if not server.up or server.incarnation != self._incarnation:
            raise AgentGone(f"server {self._number} has ended")

    def stop(self, point: str, nth: int, what: What, come: Callable[[str], None]) -> AnyTrap:
        self._up()
        trap = self._traps[point] = SimulatedTrap(point, what, come)
        self._ensemble.do("stop", self._number, point, nth, what)
        return trap

    def reached(self, point: str, thread: str) -> None:
        """Note that a thread has come to a point."""
        self._traps[point].reached(thread)

    def step(self, trap: AnyTrap) -> None:
        assert isinstance(trap, SimulatedTrap)
        self._up()
        self._ensemble.do("step", self._number, trap.point)
        self._ensemble.await_all(STEPPED, lambda: bool(self._ensemble.do("held", self._number, trap.point)))

    def go(self, trap: AnyTrap) -> None:
        assert isinstance(trap, SimulatedTrap)
        trap.over, trap.name = True, None
        self._traps.pop(trap.point, None)
        self._up()
        self._ensemble.do("go", self._number, trap.point)

    def begin(self) -> None:
        """Do nothing: the servers begin when time passes."""

    def close(self) -> None:
        for trap in self._traps.values():
            trap.over, trap.name = True, None

    def fields(self, names: Sequence[str]) -> dict[str, int | None]:
        self._up()
        return {name: self._ensemble.do("field", self._number, *FIELDS[name].ways) for name in names}

    def set_zxid(self, left: int) -> tuple[int, int] | None:
        self._up()
        way = ".".join(LAST_ZXID)
        before = self._ensemble.do("field", self._number, way)
        if before is None:
            return None
        after = rolled(before, left)
        self._ensemble.do("replace", self._number, way, after)
        return before, after

    def interrupt(self) -> None:
        self._up()
        self._ensemble.do("interrupt", self._number)

    def blocked(self) -> Sequence[BlockedThread]:
        return ()

    def main_place(self) -> str | None:
        return None


STEPPED = 1.0
"""Seconds of virtual time that a thread gets to come to its next line."""


class SimulatedEnsemble(Ensemble):
    """The servers of one run in a simulator. To be used in a `with` block, at whose end everything is stopped."""

    def __init__(
        self,
        simulator: Simulator,
        schedule: EnsembleSchedule,
        folder: Path,
        record: Callable[[Record], None],
        begin: Sequence[object],
        seed: int,
        stop: Event | None = None,
    ) -> None:
        """`begin` is the command with which the run begins; `seed` decides how soon a drawn choice follows another."""
        self.record = record
        self._simulator = simulator
        self._schedule = schedule
        self._stop = stop
        voters, observers = schedule.servers, schedule.observers
        numbers = range(1, voters + observers + schedule.joiners + 1)
        self.observers, self.joiners = numbers[voters : voters + observers], numbers[voters + observers :]
        self._ports = {number: FIRST_PORT + 10 * number for number in numbers}
        self._events: deque[told.AnyEvent] = deque()
        self._time = 0
        self._reply = told.CommandDone(0)
        self._clients: dict[int, SimulatedClient | SimulatedSession] = {}
        self._debugged: dict[int, SimulatedDebugged] = {}
        self._forces: dict[int, Forces] = {}
        self._over = False
        self._connections = 0
        drawn = schedule.seed is not None and not schedule.needs_agent
        self._pace = Random(seed) if drawn else None
        self.end: dict[str, Any] = {}
        """The result of the run: its decisions that are not the default, and its size."""
        self.do(*begin)
        for number, port in self._ports.items():
            self.do("declare", number, port + 1, port + 2, port + 3)
        self._network = SimulatedNetwork(self)
        self._servers = {number: SimulatedServer(self, number, folder) for number in numbers}
        for number in numbers:
            self._configure(number, self.at_first)

    def __enter__(self) -> "SimulatedEnsemble":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything, and remove the folders that earlier incarnations have left."""
        if not self._over and self._simulator.alive:
            self._over = True
            self.end = self.do("end")
        for server in self._servers.values():
            last = server.data
            plain = server.folder / f"server-{server.number}"
            for old in sorted(server.folder.glob(f"server-{server.number}*")):
                if old.is_dir() and old != last:
                    shutil.rmtree(old)
            if last != plain:
                last.rename(plain)
                server.begin_anew()

    @property
    def servers(self) -> Mapping[int, SimulatedServer]:
        return self._servers

    @property
    def proxy(self) -> SimulatedNetwork:
        return self._network

    # Commands, and what happens meanwhile.

    def do(self, *words: object) -> Any:
        """Execute a command, take in what happened, and return the result.

        EnsembleError if the simulation fails; NotSimulated if these servers do what it does not know.
        """
        answer = self._simulator.ask(words, self._watch)
        self._events += answer.events
        self._reply = answer.reply
        while self._events:
            event = self._events.popleft()
            self._time = max(self._time, event.time)
            self._take(event)
        self._time = max(self._time, answer.reply.time)
        if answer.reply.unsupported:
            version = self._simulator.distribution.version
            raise NotSimulated(f"ZooKeeper {version} cannot be simulated: {answer.reply.unsupported}")
        if answer.reply.fault:
            raise EnsembleError(f"the simulation failed: {answer.reply.fault}")
        return answer.reply.result

    def _watch(self, event: ThreadAtPoint) -> None:
        self._forces[event.server].come(event.point, event.number)

    def _take(self, event: told.AnyEvent) -> None:
        match event:
            case told.PacketWritten():
                self._sent(event)
            case records.Killed() | records.Stopped() | records.Exited():
                self._servers[event.server].ended(event)
            case records.Reached():
                self._debugged[event.server].reached(event.point, event.thread)
            case told.ClientConnected():
                self._clients[event.client].opened(event.session)
            case told.ClientDisconnected():
                self._clients[event.client].lost()
            case told.SessionExpired():
                self._clients[event.client].expired()
            case told.AnswerCame():
                self._clients[event.client].answered(b64decode(event.data))
            case records.Opened():
                self.record(event)
                self._count_connection()
            case _:
                self.record(event)

    def _count_connection(self) -> None:
        """Count a connection. EnsembleError when there are too many, once: then the run only ends."""
        self._connections += 1
        if self._connections == MOST_CONNECTIONS:
            raise EnsembleError(
                f"servers have made {MOST_CONNECTIONS:,} connections, and try again without end, as one does whose "
                "leader has an earlier epoch than it has promised"
            )

    def _sent(self, event: told.PacketWritten) -> None:
        packet, _ = quorum_packet(b64decode(event.data), 0)
        connection, sender, receiver = event.connection, event.sender, event.receiver
        txn = None
        try:
            txn = packet.txn()
        except JuteError as error:
            reason = f"packet {event.packet}, {packet.kind}: {error}"
            self.record(records.Undecoded(event.time, connection, sender, receiver, reason))
        of, epoch = (packet.kind, packet.zxid), packet.epoch()
        self.record(records.Sent(event.time, event.packet, connection, sender, receiver, *of, epoch, txn, event.size))

    # Servers.

    def _configure(self, number: int, members: Members) -> None:
        """Write the configuration of a server with this list of servers."""
        server, patient = self._servers[number], self._schedule.waits_long
        data, client = str(server.data), self.client_port(number)
        if self._schedule.reconfigures:
            server.configure(reconfigurable(data, patient), self.listed(members))
            return
        ports = {each: (port + 1, port + 2) for each, port in self._ports.items()}
        settings = IN_STEP if self._schedule.in_step else ()
        server.configure(configuration(number, data, client, members, ports, patient, settings))

    def start_with(self, number: int, members: Members) -> None:
        if members != AS_BEFORE:
            self._configure(number, members)
        self._servers[number].start(members)

    def member(self, number: int, part: str, elsewhere: bool = False) -> str:
        port = self._ports[number]
        return member(number, HOST, (port + 1 + elsewhere * FURTHER, port + 2), part, (HOST, self.client_port(number)))

    def opened(self, number: int, forces: Forces | None) -> SimulatedDebugged:
        """Give access to a server that was just started."""
        if forces is not None:
            if not self._forces:
                self.do("watch", *WATCHED)
            self._forces[number] = forces
            forces.begin_incarnation()
        debugged = self._debugged[number] = SimulatedDebugged(self, number)
        return debugged

    def served(self, number: int) -> ServerStatus | None:
        if not self._servers[number].up:
            return None
        said = self._reply.servers.get(number)
        if not said:
            return None
        mode, epoch = said.split()
        return ServerStatus(mode == "leader", int(epoch))

    def check(self) -> None:
        if self._stop is not None and self._stop.is_set():
            raise KeyboardInterrupt

    # Clients.

    def client_port(self, number: int) -> int:
        return self._ports[number] + 3

    def client(self, number: int, session: float) -> SimulatedClient:
        client = self._clients[number] = SimulatedClient(self, number, session)
        return client

    def session_client(self, number: int, server: int) -> SimulatedSession:
        client = self._clients[number] = SimulatedSession(self, number, server)
        return client

    def is_open(self, client: int) -> bool:
        """Return True if a client is connected, and knows it: the reply may be ahead of events still to take in."""
        return client in self._reply.open and not any(
            isinstance(event, told.ClientConnected | told.ClientDisconnected) and event.client == client
            for event in self._events
        )

    def send(self, client: int, *messages: bytes) -> None:
        """Have a client send messages, one after the other."""
        self.do("send", client, *(b64encode(message).decode() for message in messages))

    # Time.

    def clock(self) -> float:
        return self._time / 1_000_000

    def now(self) -> int:
        return self._time

    def settle(self) -> None:
        pause = SETTLES if self._pace is None else self._pace.choice(PACES)
        until = self._time + int(pause * 1_000_000)
        while self._time < until:
            self.do("run", until)

    def pass_time(self) -> None:
        self.do("run", self._time + int(LOOK * 1_000_000))
