"""One server: a JVM with its configuration, its data directory and its log.

Nothing about the server is changed but its log: whatever binding of slf4j is on the class path, it prints every line
as `2026-01-31T12:00:00.123+0000 [thread] LEVEL class - message`.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from zabcheck.zookeeper.recording.folder import log_file, now
from zabcheck.zookeeper.recording.records import Exited, Killed, Paused, Record, Resumed, Started, Stopped, Wiped
from zabcheck.zookeeper.run.distribution import Distribution

TICK = 500
"""Milliseconds."""
LIMITS = (10, 3)
"""Ticks: a synchronisation lasts 10 at most, and a leader gives a follower up after 3 of silence."""
PATIENT_LIMITS = (240, 120)
"""The same where threads are held: 2 minutes, and 1."""

COMMITTED_LOG = 100_000
"""Transactions that a server keeps in memory for synchronising others (commitLogCount)."""

CONFIGURATION = "zoo.cfg"
"""The file in the data directory with a server's configuration, which ZooKeeper changes if its servers may change."""
DYNAMIC = "zoo.cfg.dynamic"
"""The file beside it with the list of servers that such a server begins with."""

FURTHER = 5
"""Added to a server's port, that gives another one."""
ENABLED = "reconfigEnabled=true"
"""The line of a configuration without which a server takes no other list of servers."""

IN_STEP = (
    "localSessionsEnabled=true",
    "localSessionsUpgradingEnabled=true",
    "maxSessionTimeout=600000",
    "snapshotSizeFactor=1000000",
)
"""Settings of servers that are kept in step with the model, which has no sessions, and no sizes of files: clients come
and go without a transaction, and a leader takes its log for short enough to synchronise others from it."""

_DEBUG = ("FinalRequestProcessor", "quorum.Leader")
"""The classes, below org.apache.zookeeper.server, that say what is broadcast and delivered."""

_PATTERN = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSZ} [%t] %p %c - %m%n"

_LOG4J2 = """status = off
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = {pattern}
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
{debug}
"""
_LOG4J = """log4j.rootLogger = INFO, out
log4j.appender.out = org.apache.log4j.ConsoleAppender
log4j.appender.out.layout = org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern = {pattern}
{debug}
"""
_LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>{pattern}</pattern></encoder>
  </appender>
  {debug}
  <root level="info"><appender-ref ref="out"/></root>
</configuration>
"""


def write_log_settings(folder: Path, deliveries: bool = True) -> list[str]:
    """Write files into `folder` that make Java log in our form, with any binding; return the options that name them.

    Servers run in `folder`, so the names need no path: what Java makes of a path depends on the locale. Without
    `deliveries` servers log what they always do, of which no trace can be made.
    """
    names = [f"org.apache.zookeeper.server.{name}" for name in _DEBUG] if deliveries else []
    log4j2 = "\n".join(f"logger.l{i}.name = {name}\nlogger.l{i}.level = debug" for i, name in enumerate(names))
    log4j = "\n".join(f"log4j.logger.{name} = DEBUG" for name in names)
    logback = "\n  ".join(f'<logger name="{name}" level="debug"/>' for name in names)
    files = {
        "log4j2.properties": _LOG4J2.format(pattern=_PATTERN, debug=log4j2),
        "log4j.properties": _LOG4J.format(pattern=_PATTERN, debug=log4j),
        "logback.xml": _LOGBACK.format(pattern=_PATTERN, debug=logback),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    simple = "-Dorg.slf4j.simpleLogger."
    return [
        "-Dlog4j2.configurationFile=log4j2.properties",
        "-Dlog4j.configuration=file:log4j.properties",
        "-Dlogback.configurationFile=logback.xml",
        f"{simple}logFile=System.out",
        f"{simple}showDateTime=true",
        f"{simple}dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
        *(f"{simple}log.{name}=debug" for name in names),
    ]


class Members(NamedTuple):
    """A list of servers, by number: those that vote, and those that observe."""

    voters: tuple[int, ...] = ()
    observers: tuple[int, ...] = ()


AS_BEFORE = Members()
"""Stands for the list of servers that a configuration has already."""


class Server:
    """Server `number`: starts, ends, pauses, all of which are recorded. Any thread may call it.

    It has to be configured before its first start.
    """

    def __init__(
        self,
        number: int,
        client_port: int,
        distribution: Distribution,
        options: list[str],
        folder: Path,
        record: Callable[[Record], None],
    ) -> None:
        self.number = number
        self.client_port = client_port
        self.folder = folder
        self.data = folder / f"server-{number}"
        self.incarnation = -1
        self.paused = False
        self._record = record
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = RLock()
        self._command = command(distribution, options, f"./{self.data.name}/{CONFIGURATION}")
        self.data.mkdir()
        (self.data / "myid").write_text(f"{number}\n")

    def configure(self, text: str, dynamic: str | None = None) -> None:
        """Write its configuration, and the list of servers beside it if that may change. It must not be up."""
        if dynamic is not None:
            write_list(self.data, dynamic)
        (self.data / CONFIGURATION).write_text(text)

    @property
    def up(self) -> bool:
        """Return True if the server was started, and has not ended since. If it ended by itself, record that."""
        with self._lock:
            if self._process is None:
                return False
            code = self._process.poll()
            if code is None:
                return True
            self._ended(Exited(now(), self.number, code))
            return False

    def start(self, group: int, members: Members = AS_BEFORE) -> None:
        """Start the next incarnation, as a member of this process group. The server must not be up.

        `members` is recorded: another list of servers than the run began with. The locale is set, because it decides
        how Java writes dates and looks for files.
        """
        assert not self.up
        self.incarnation += 1
        self._record(Started(now(), self.number, self.incarnation, *members))
        with log_file(self.folder, self.number, self.incarnation).open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                process_group=group,
            )

    def wipe(self) -> None:
        """Remove what the server has stored, so that it starts as a fresh one. It must not be up."""
        assert not self.up
        shutil.rmtree(self.data / "version-2", ignore_errors=True)
        self._record(Wiped(now(), self.number))

    def kill(self, over: bool = False) -> None:
        """kill -9, and wait for the end. Does nothing if the server is not up. `over`: the run is over, so no fault."""
        with self._lock:
            if self.up:
                assert self._process is not None
                self._process.kill()
                killed = now()  # what is seen of it after this moment was under way before
                self._process.wait()
                self._ended(Stopped(killed, self.number) if over else Killed(killed, self.number))

    def ask_to_end(self) -> None:
        """SIGTERM: Java ends in good order. Does nothing if the server is not up."""
        with self._lock:
            if self.up:
                self._signal(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP: the server stands still, its connections stay open."""
        with self._lock:
            if self.up and not self.paused:
                self._signal(signal.SIGSTOP)
                self.paused = True
                self._record(Paused(now(), self.number))

    def resume(self) -> None:
        """SIGCONT: the server goes on."""
        with self._lock:
            if self.up and self.paused:
                self._record(Resumed(now(), self.number))
                self._signal(signal.SIGCONT)
                self.paused = False

    def log(self) -> str:
        """Return what the present incarnation has printed so far."""
        return log_file(self.folder, self.number, self.incarnation).read_text(encoding="utf-8", errors="replace")

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _ended(self, record: Record) -> None:
        self._process = None
        self.paused = False
        self._record(record)


def command(distribution: Distribution, options: list[str], configuration_file: str) -> list[str]:
    """Return the command of a server that is small, starts quickly, and remembers all that it committed.

    With ZooKeeper's own limit of 500 remembered transactions a server that rejoins under load gets a snapshot, and the
    interesting ways of catching up are never taken. A log file begins with 4 MB of zeros, not 64, as it is read each
    time the server has ended. Servers that were apart vote again every 0.4 s at least, not every minute.
    """
    return [
        str(distribution.java),
        "-Xmx160m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Dzookeeper.jmx.log4j.disable=true",
        f"-Dzookeeper.commitLogCount={COMMITTED_LOG}",
        "-Dzookeeper.preAllocSize=4096",
        "-Dzookeeper.fastleader.maxNotificationInterval=400",
        *options,
        *distribution.options,
        "-cp",
        distribution.classpath,
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        configuration_file,
    ]


def configuration(
    number: int,
    data: str,
    client_port: int,
    members: Members,
    ports: Mapping[int, tuple[int, int]],
    patient: bool = False,
    settings: Sequence[str] = (),
) -> str:
    """Return the text of the zoo.cfg of server `number`, with `settings` as further lines.

    `ports` are those of all servers as this one is to see them. A `patient` server waits long, so that threads of
    others can be held.
    """
    lines = [
        *_settings(data, patient),
        f"clientPort={client_port}",
        "clientPortAddress=127.0.0.1",
        *(
            f"server.{each}=127.0.0.1:{ports[each][0]}:{ports[each][1]}{':observer' * (each in members.observers)}"
            for each in sorted((*members.voters, *members.observers))
        ),
        *(["peerType=observer"] if number in members.observers else []),
        *settings,
    ]
    return "\n".join(lines) + "\n"


def write_list(data: Path, dynamic: str) -> None:
    """Write the list of servers that may change; one that was proposed before is forgotten."""
    (data / DYNAMIC).write_text(dynamic)
    (data / f"{DYNAMIC}.next").unlink(missing_ok=True)


def reconfigurable(data: str, patient: bool = False) -> str:
    """Return the text of the zoo.cfg of a server whose list of servers is in `DYNAMIC`, and may change."""
    lines = [*_settings(data, patient), ENABLED, f"dynamicConfigFile={data}/{DYNAMIC}"]
    return "\n".join(lines) + "\n"


def _settings(data: str, patient: bool) -> list[str]:
    """Return the lines of a zoo.cfg that do not depend on other servers."""
    init_limit, sync_limit = PATIENT_LIMITS if patient else LIMITS
    return [
        f"tickTime={TICK}",
        f"initLimit={init_limit}",
        f"syncLimit={sync_limit}",
        f"dataDir={data}",
        "admin.enableServer=false",
        "4lw.commands.whitelist=srvr",
        "standaloneEnabled=false",
    ]


def member(number: int, host: str, ports: tuple[int, int], part: str, client: tuple[str, int]) -> str:
    """Return the line of a list of servers: the host and ports of a server, its part, and where clients connect."""
    quorum, election = ports
    return f"server.{number}={host}:{quorum}:{election}:{part};{client[0]}:{client[1]}"


def reason(log: str) -> str:
    """Return the line of a server's log that says best why the server does not work."""
    lines = log.splitlines()
    exceptions = [line for line in lines if re.match(r"(Caused by: )?[\w.$]+(Exception|Error)\b", line)]
    errors = [line for line in lines if " ERROR " in line]
    return (exceptions or errors or lines or ["it printed nothing"])[-1][:300]
