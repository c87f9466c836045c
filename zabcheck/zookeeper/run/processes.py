"""An ensemble of processes on 127.0.0.1, with a proxy on every link between two of them.

Whatever happens to zabcheck itself, kill -9 included, no server outlives it: all JVMs are in the process group of a
*reaper*, a small process that waits for the end of its standard input and then kills its group.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from threading import Event
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from zabcheck.zookeeper.recording.folder import now
from zabcheck.zookeeper.recording.records import Record
from zabcheck.zookeeper.run.clients import Client
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import Ensemble, EnsembleError, ServerStatus
from zabcheck.zookeeper.run.proxy import Proxy, host_for, host_of
from zabcheck.zookeeper.run.server import (
    AS_BEFORE,
    FURTHER,
    Members,
    Server,
    configuration,
    member,
    reconfigurable,
    write_log_settings,
)
from zabcheck.zookeeper.run.session_client import SessionClient

HOST = "127.0.0.1"
LOWEST_PORT, HIGHEST_PORT = 10_000, 32_000
"""Ports are below those that systems hand out for outgoing connections: a port must still be free after a restart."""

_REAPER = "import os, signal, sys; sys.stdin.read(); os.killpg(0, signal.SIGKILL)"
_POLL = 0.02
"""Seconds between two checks of a condition that is waited for."""
_ANSWER = 2.0
"""Seconds that a server gets to say whether it leads, if the machine does nothing else."""
_SHARE = 3.0
"""Times as long as its share of the processors would have a server take: it may have to wait for its turn, too."""
_SLOWEST = 10.0
"""The most that a busy machine prolongs a wait: what does not come at all has to end, too."""


class ProcessEnsemble(Ensemble):
    """`size` servers that vote, numbered from 1, then `observers` that do not, and `joiners` that do not run at first.

    To be used in a `with` block, at whose end everything is stopped.

    Everything that happens to servers and links is handed to `record`; logs and data directories are in `folder`.
    Without `proxied` the servers connect directly, and no link can be touched; without `deliveries` their logs do not
    say what they deliver: both are for measuring costs. `patient` servers wait long for each other (see
    `configuration`), and `settings` are further lines of it. `reconfigurable` servers have one list for all, in which
    each has a name, s1, s2, …, that leads each of them to its own proxy. Once `stop` is set, all that waits here is
    interrupted as by Ctrl-C, which reaches the main thread only.
    """

    def __init__(
        self,
        size: int,
        distribution: Distribution,
        folder: Path,
        record: Callable[[Record], None],
        proxied: bool = True,
        deliveries: bool = True,
        stop: Event | None = None,
        patient: bool = False,
        observers: int = 0,
        settings: Sequence[str] = (),
        reconfigurable: bool = False,
        joiners: int = 0,
    ) -> None:
        """EnsembleError if the system has no ports, processes or files left for it."""
        numbers = range(1, size + observers + joiners + 1)
        self.observers, self.joiners = numbers[size : size + observers], numbers[size + observers :]
        self.record = record
        self._stop = stop
        options = write_log_settings(folder, deliveries)
        self._ports = ReservedPorts(3 * len(numbers))
        ports = iter(self._ports.numbers)
        real = {number: (next(ports), next(ports)) for number in numbers}
        self._real = real
        self._proxy = Proxy(real, record, by_host=reconfigurable)
        self._proxied = proxied
        self._reconfigurable = reconfigurable
        self._patient, self._settings = patient, settings
        self._reaper: subprocess.Popen[bytes] | None = None
        try:
            self._start_proxy()
            self._client_ports = {number: next(ports) for number in numbers}
            self._servers = {
                number: Server(
                    number,
                    self._client_ports[number],
                    distribution,
                    [*options, *(_hosts(folder, number, numbers) if reconfigurable else ())],
                    folder,
                    record,
                )
                for number in numbers
            }
            for number in numbers:
                self._configure(number, self.at_first)
            self._reaper = subprocess.Popen([sys.executable, "-c", _REAPER], stdin=subprocess.PIPE, process_group=0)
        except OSError as error:
            self.close()
            raise EnsembleError(f"cannot start an ensemble: {error}") from None
        except BaseException:
            self.close()
            raise

    def _start_proxy(self) -> None:
        try:
            self.proxy.start()
        except Exception as error:
            raise EnsembleError(f"the proxy failed: {error!r}") from error

    def _configure(self, number: int, members: Members) -> None:
        """Write the configuration of a server with this list of servers."""
        server = self._servers[number]
        data = f"./{server.data.name}"
        if self._reconfigurable:
            server.configure(reconfigurable(data, self._patient), self.listed(members))
            return
        ports, client = self._ports_for(number), self._client_ports[number]
        server.configure(configuration(number, data, client, members, ports, self._patient, self._settings))

    def _ports_for(self, number: int) -> dict[int, tuple[int, int]]:
        """Return the ports of all servers as server `number` is to see them."""
        if not self._proxied:
            return self._real
        through = self.proxy.port
        return {
            other: ports if other == number else (through(number, other, "quorum"), through(number, other, "election"))
            for other, ports in self._real.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start_with(self, number: int, members: Members) -> None:
        assert self._reaper is not None
        try:
            if members != AS_BEFORE:
                self._configure(number, members)
            self.servers[number].start(self._reaper.pid, members)
        except OSError as error:
            raise EnsembleError(f"cannot start server {number}: {error}") from None

    def close(self) -> None:
        """Kill every server, and close every connection, even if that cannot be recorded."""
        try:
            if self._reaper is not None:
                for server in self.servers.values():
                    server.kill()
        finally:
            if self._reaper is not None:
                os.killpg(self._reaper.pid, signal.SIGKILL)
                self._reaper.communicate()
                self._reaper = None
            self.proxy.close()
            self._ports.release()

    def check(self) -> None:
        """EnsembleError if the proxy has failed, KeyboardInterrupt if the run is to stop."""
        if self._stop is not None and self._stop.is_set():
            raise KeyboardInterrupt
        if self.proxy.error is not None:
            raise EnsembleError(f"the proxy failed: {self.proxy.error!r}")

    def served(self, number: int) -> "ServerStatus | None":
        """Ask a server whether it serves clients, and as what; None if it does not. Takes seconds at most."""
        server = self.servers[number]
        if not server.up or server.paused:
            return None
        try:
            seconds = _ANSWER * self.slowness()
            until = monotonic() + seconds
            with socket.create_connection((HOST, server.client_port), timeout=seconds) as connection:
                connection.sendall(b"srvr")
                answer = b""
                while monotonic() < until and (part := connection.recv(4096)):
                    answer += part
        except OSError:
            return None
        found = re.search(rb"Zxid: 0x([0-9a-f]+)\nMode: (leader|follower|observer)", answer)
        return None if found is None else ServerStatus(found[2] == b"leader", int(found[1], 16) >> 32)

    @property
    def servers(self) -> Mapping[int, Server]:
        return self._servers

    @property
    def proxy(self) -> Proxy:
        return self._proxy

    def client_port(self, number: int) -> int:
        return self._servers[number].client_port

    def member(self, number: int, part: str, elsewhere: bool = False) -> str:
        quorum, election = self._real[number]
        ports = quorum + elsewhere * FURTHER, election
        return member(number, f"s{number}", ports, part, (HOST, self._client_ports[number]))

    def clock(self) -> float:
        return monotonic()

    def slowness(self) -> float:
        return min(max(1.0, _SHARE * os.getloadavg()[0] / (os.cpu_count() or 1)), _SLOWEST)

    def now(self) -> int:
        return now()

    def settle(self) -> None:
        """Servers have clocks of their own, and do it before anybody can look."""

    def pass_time(self) -> None:
        sleep(_POLL)

    def client(self, number: int, session: float) -> Client:
        return Client(number, self.client_port(number), self.record, session)

    def session_client(self, number: int, server: int) -> SessionClient:
        return SessionClient(number, server, self.client_port(server), self.record)


def _hosts(folder: Path, number: int, numbers: Collection[int]) -> list[str]:
    """Write the addresses of servers as server `number` is to find them; return the option that names the file."""
    names = {f"s{other}": host_of(number) if other == number else host_for(number, other) for other in numbers}
    names |= dict.fromkeys(("localhost", socket.gethostname()), HOST)
    file = folder / f"hosts-{number}"
    file.write_text("".join(f"{address} {name}\n" for name, address in names.items()))
    return [f"-Djdk.net.hosts.file={file.name}"]


class ReservedPorts:
    """Ports of 127.0.0.1 that are free, and that no other ensemble gets, of this process or another.

    While a server is down nobody listens on its ports, so they look free. A reserved port is therefore bound for UDP,
    which no server uses, until it is released or this process ends.
    """

    def __init__(self, count: int) -> None:
        """Reserve `count` ports. EnsembleError if there are not enough."""
        self.numbers: list[int] = []
        self._bound: list[socket.socket] = []
        candidates = range(LOWEST_PORT, HIGHEST_PORT)
        for port in SystemRandom().sample(candidates, min(100 * count, len(candidates))):
            if len(self.numbers) == count:
                return
            self._reserve(port)
        if len(self.numbers) < count:
            self.release()
            found = f"{LOWEST_PORT} and {HIGHEST_PORT}, found {len(self.numbers)}"
            raise EnsembleError(f"expected {count} free ports between {found}")

    def _reserve(self, port: int) -> None:
        """Reserve the port, if it is free."""
        reservation = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            reservation.bind((HOST, port))
            with socket.socket() as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((HOST, port))
        except OSError:
            reservation.close()
        else:
            self.numbers.append(port)
            self._bound.append(reservation)

    def release(self) -> None:
        """Let others have the ports."""
        for reservation in self._bound:
            reservation.close()
