"""A JVM that simulates ensembles, one run after another; it stays warm between them.

It is told what to do line by line, and answers each line with what happened meanwhile and a reply, as JSON.
"""

import os
import subprocess
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import msgspec

from zabcheck.zookeeper.debugger.catalogue import CATALOGUE
from zabcheck.zookeeper.debugger.class_path import ClassPath, ClassPathError
from zabcheck.zookeeper.debugger.points import find
from zabcheck.zookeeper.recording import records
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.server import COMMITTED_LOG

JARS = tuple(files("zabcheck.zookeeper.simulated") / "java" / name for name in ("simulation.jar", "asm.jar"))
"""The classes of the simulation; workers of Spark may have them in a zip."""
MEMORY = "600m"
_MAIN = "zabcheck.simulated.control.Main"
_LOG_FILE = 64
"""Kilobytes of zeros with which a log file begins; real servers take 64 MB."""


PATIENCE = 600
"""Seconds of real time after which a thread that waits in earnest, or never ends, counts as stuck."""
STUCK = 4
"""The exit code of a JVM in which a thread waited in earnest; it has written the thread and its stack."""
FRAMES = 12
"""The most calls of that stack that are told."""


class SimulatorDied(EnsembleError):
    """The JVM has ended, which was no fault of the run, as far as is known."""


class SimulatorEvent(records.Timed, frozen=True):
    """Base of what the simulation tells, besides records. Its time is virtual, as in those."""


class CommandDone(SimulatorEvent, frozen=True, tag="reply"):
    """The end of an answer: the result, the state of each server (None if it is down), and the clients connected.

    A server that serves is "leader 1" or the like, with its epoch; "" if it is up and does not. `fault` is what went
    wrong in the simulation itself, `unsupported` a class and a call in it that cannot be simulated.
    """

    result: Any = None
    fault: str = ""
    unsupported: str = ""
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
    """The events since the last command, in their order, and the reply."""

    events: list[AnyEvent]
    reply: CommandDone


class Simulator:
    """A JVM that simulates ensembles of one build. To be used in a `with` block, or closed."""

    def __init__(self, distribution: Distribution) -> None:
        """EnsembleError if Java cannot be started, or the jars cannot be read."""
        self.distribution = distribution
        self._errors = TemporaryFile()  # noqa: SIM115  # it has no name: nothing is left, whatever is killed
        self._cpu = 0.0
        self._interrupted = False
        self._unpacked = ExitStack()
        try:
            jars = [str(self._unpacked.enter_context(as_file(jar))) for jar in JARS]
            with TemporaryFile() as places:
                places.write("".join(_places(distribution)).encode())
                places.seek(0)
                self._process = subprocess.Popen(
                    [
                        *_command(distribution, jars),
                        distribution.classpath,
                        f"/dev/fd/{places.fileno()}",
                        str(PATIENCE),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env={**os.environ, "LC_ALL": "C.UTF-8"},
                    pass_fds=[places.fileno()],
                    process_group=0,  # signals for the command are not for it
                )
        except (OSError, ClassPathError) as error:
            self._errors.close()
            self._unpacked.close()
            raise EnsembleError(f"cannot start a simulation: {error}") from None

    @property
    def alive(self) -> bool:
        """True if it can execute another run."""
        return self._process.poll() is None

    def ask(self, words: Sequence[object], watch: Callable[[ThreadAtPoint], None] | None = None) -> Answer:
        """Execute a command. EnsembleError if the JVM has ended, or the simulation itself has failed.

        `watch` is called while a thread stands at a watched point. KeyboardInterrupt after Ctrl-C, and from then on:
        what ends the run does not find a JVM that has died.
        """
        assert self._process.stdout is not None
        if self._interrupted:
            raise KeyboardInterrupt
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
        except KeyboardInterrupt:
            self._interrupted = True
            self._end()  # the rest of its answer would be taken for that to the next command
            raise
        raise self._failed("it has ended")

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _failed(self, why: str) -> EnsembleError:
        """Return the error that says why the JVM has ended: it was stuck, or it died."""
        code = self._end()
        said = [] if self._errors.closed else self._said()
        if code == STUCK:
            return EnsembleError(f"the simulation failed: {'; at '.join(said[: 1 + FRAMES])}")
        return SimulatorDied(f"the simulation failed: {said[0] if said else why}")

    def _said(self) -> list[str]:
        self._errors.seek(0)
        return [line.strip() for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]

    def cpu(self) -> float:
        """Return the CPU seconds of the JVM so far; 0 where the system has no /proc."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        if self._process.returncode is None and stat.exists():
            user, system = stat.read_text().rpartition(")")[2].split()[11:13]
            self._cpu = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        return self._cpu

    def _end(self) -> int:
        self.cpu()
        self._process.kill()
        return self._process.wait()

    def close(self) -> None:
        """End the JVM."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._end()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):  # what was not written to a JVM that has ended
                stream.close()
        self._unpacked.close()


def _command(distribution: Distribution, jars: Sequence[str]) -> list[str]:
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
        *distribution.options,
        "-cp",
        os.pathsep.join(jars),
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
