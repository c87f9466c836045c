"""A JVM that simulates ensembles, one run after another; it stays warm between them.

It is told what to do line by line, and answers each line with what happened meanwhile and a reply, as JSON.
"""

import os
import subprocess
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from zabcheck.zookeeper.debugger.catalogue import CATALOGUE
from zabcheck.zookeeper.debugger.class_path import ClassPath, ClassPathError
from zabcheck.zookeeper.debugger.points import find
from zabcheck.zookeeper.recording import records
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.server import COMMITTED_LOG

JARS = tuple(Path(__file__).parent / "java" / name for name in ("simulation.jar", "asm.jar"))
MEMORY = "600m"
_MAIN = "zabcheck.simulated.control.Main"
_LOG_FILE = 64
"""Kilobytes of zeros with which a log file begins; real servers take 64 MB."""


class SimulatorEvent(records.Timed, frozen=True):
    """Base of what the simulation tells, besides records. Its time is virtual, as in those."""


class CommandDone(SimulatorEvent, frozen=True, tag="reply"):
    """The end of an answer: the result, the state of each server (None if it is down), and the clients connected.

    A server that serves is "leader 1" or the like, with its epoch; "" if it is up and does not. `fault` is what went
    wrong in the simulation itself.
    """

    result: Any = None
    fault: str = ""
    servers: dict[int, str | None] = msgspec.field(default_factory=dict)
    open: list[int] = msgspec.field(default_factory=list)


class ThreadAtPoint(SimulatorEvent, frozen=True, tag="watch"):
    """A thread stands at a watched point until this is answered."""

    server: int
    number: int
    point: str


class PacketWritten(SimulatorEvent, frozen=True, tag="packet"):
    """A packet was sent. `data` is in Base64, without the snapshot of a SNAP, with which it has `size` bytes."""

    packet: int
    connection: int
    sender: int
    receiver: int
    size: int
    data: str


class ClientConnected(SimulatorEvent, frozen=True, tag="connected"):
    """Client `client` has this session now."""

    client: int
    session: int


class ClientDisconnected(SimulatorEvent, frozen=True, tag="disconnected"):
    """The connection of a client has ended, or could not be made."""

    client: int


class SessionExpired(SimulatorEvent, frozen=True, tag="expired"):
    """A client was told that its session has ended."""

    client: int


class AnswerCame(SimulatorEvent, frozen=True, tag="answered"):
    """A client has got an answer: `data` is the message, in Base64."""

    client: int
    data: str


AnyEvent = (
    records.Opened
    | records.Closed
    | records.Passed
    | records.Lost
    | records.Killed
    | records.Stopped
    | records.Exited
    | records.Reached
    | PacketWritten
    | ClientConnected
    | ClientDisconnected
    | SessionExpired
    | AnswerCame
)
_decoder = msgspec.json.Decoder(AnyEvent | CommandDone | ThreadAtPoint)


class Answer(NamedTuple):
    """What happened since the last command, in its order, and the reply."""

    events: list[AnyEvent]
    reply: CommandDone


class Simulator:
    """A JVM that simulates ensembles of one build. To be used in a `with` block, or closed."""

    def __init__(self, distribution: Distribution) -> None:
        """EnsembleError if Java cannot be started, or the jars cannot be read."""
        self.distribution = distribution
        self._folder = TemporaryDirectory(prefix="zabcheck-", ignore_cleanup_errors=True)
        places = Path(self._folder.name, "points")
        self._errors = Path(self._folder.name, "errors")
        try:
            places.write_text("".join(_places(distribution)))
            with self._errors.open("wb") as errors:
                self._process = subprocess.Popen(
                    [*_command(distribution), distribution.classpath, str(places)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env={**os.environ, "LC_ALL": "C.UTF-8"},
                )
        except (OSError, ClassPathError) as error:
            self._folder.cleanup()
            raise EnsembleError(f"cannot start a simulation: {error}") from None

    @property
    def alive(self) -> bool:
        """True if it can execute another run."""
        return self._process.poll() is None

    def ask(self, words: Sequence[object], watch: Callable[[ThreadAtPoint], None] | None = None) -> Answer:
        """Execute a command. EnsembleError if the JVM has ended, or the simulation itself has failed.

        `watch` is called while a thread stands at a watched point.
        """
        assert self._process.stdout is not None
        if not self.alive:
            raise self._failed("it has ended")
        events: list[AnyEvent] = []
        try:
            self._write(" ".join(map(str, words)))
            while line := self._process.stdout.readline():
                event = _decoder.decode(line)
                if isinstance(event, ThreadAtPoint):
                    assert watch is not None
                    watch(event)
                    self._write("")
                elif isinstance(event, CommandDone):
                    return Answer(events, event)
                else:
                    events.append(event)
        except (BrokenPipeError, msgspec.DecodeError) as error:
            raise self._failed(str(error)) from None
        raise self._failed("it has ended")

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _failed(self, why: str) -> EnsembleError:
        self._process.kill()
        self._process.wait()
        if not self._errors.exists():
            return EnsembleError(f"the simulation failed: {why}")
        said = [line for line in self._errors.read_text(errors="replace").splitlines() if line.strip()]
        return EnsembleError(f"the simulation failed: {said[0] if said else why}")

    def close(self) -> None:
        """End the JVM."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._folder.cleanup()


def _command(distribution: Distribution) -> list[str]:
    """Return the command of the JVM. Settings of servers are those of `run.server`, but for the sizes of files."""
    return [
        str(distribution.java),
        f"-Xmx{MEMORY}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Dslf4j.internal.verbosity=ERROR",
        "-Dzookeeper.jmx.log4j.disable=true",
        f"-Dzookeeper.commitLogCount={COMMITTED_LOG}",
        f"-Dzookeeper.preAllocSize={_LOG_FILE}",
        "-Dzookeeper.fastleader.maxNotificationInterval=400",
        "-Dzookeeper.nio.numSelectorThreads=1",
        "-Dzookeeper.nio.numWorkerThreads=0",
        "-cp",
        os.pathsep.join(map(str, JARS)),
        _MAIN,
    ]


def _places(distribution: Distribution) -> list[str]:
    """Return the places of all points that this build has, a line each. ClassPathError."""
    classes = ClassPath(distribution.classpath)
    return [
        f"{point.name} {place.class_name} {place.method} {place.descriptor} {place.at}\n"
        for point in CATALOGUE.values()
        for place in find(point, classes).places
    ]


def encoded(text: object) -> str:
    """Return a text that may hold spaces as one word of a command."""
    return b64encode(str(text).encode()).decode()
