"""A Spark of several processes on this machine: a master with workers, or a server of Spark Connect.

Its Python has what zabcheck depends on and not zabcheck itself, so what tasks know of zabcheck was sent to them.
"""

import os
import re
import signal
import subprocess
import sysconfig
import venv
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from zabcheck.campaign.tasks import PATIENCE

SPARK = Path(sysconfig.get_path("purelib")) / "pyspark"
START = 600
"""The time that a process may take to come up, in seconds."""
WAITING = f"zabcheck: no task has been running for {PATIENCE:.0f} s; still waiting for Spark to have a free core\n"
"""May be on standard error if the machine is busy."""
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""To start takes half the CPU time, with a compiler and a garbage collector that have less to do."""


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> None:
    """AssertionError if it does not come true in time."""
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, f"not within {seconds} s: {what}"
        sleep(0.05)


def bare_python(folder: Path) -> Path:
    """An interpreter that can import what the tests' own can, but zabcheck: that is installed from a checkout."""
    venv.create(folder, symlinks=True)
    version = f"python{sysconfig.get_python_version()}"
    (folder / "lib" / version / "site-packages" / "rest.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    for name, code in (("msgspec", 0), ("pyarrow", 0), ("zabcheck", 1)):
        done = subprocess.run([python, "-c", f"import {name}"], cwd=folder, env=_environment(), stderr=subprocess.PIPE)
        assert done.returncode == code, f"{name}: {done.stderr.decode()}"
    return python


class Cluster:
    """Processes that are all gone after `stop`. `home` is the JAVA_HOME to start them with."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.python = bare_python(folder / "python")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def start_master(self) -> None:
        self._start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0")
        self.url = self._said("master", r"Starting Spark master at (spark://\S+)")

    def start_worker(self) -> subprocess.Popen[bytes]:
        """One with one core; it leads a group of its own, to which what it starts belongs, too."""
        name = f"worker{len(self.processes)}"
        where = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(self.folder / name))
        size = ("--cores", "1", "--memory", "1g")
        worker = self._start(name, "org.apache.spark.deploy.worker.Worker", *where, *size, self.url)
        self._said(name, "(Successfully registered with master)")
        return worker

    def start_connect(self) -> subprocess.Popen[bytes]:
        """A server of Spark Connect that does the work itself, on two cores."""
        settings = {
            "spark.master": "local[2]",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.ui.enabled": "false",
        }
        server = self._start(
            "connect",
            "org.apache.spark.deploy.SparkSubmit",
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
        )
        self.url = "sc://" + self._said("connect", r"Spark Connect server started at: (\S+)")
        return server

    def stop(self) -> None:
        for process in self.processes:
            kill(process)

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(SPARK / "bin" / "spark-class"), *arguments]
        variables = {
            "JAVA_HOME": str(self.home),
            "PYSPARK_PYTHON": str(self.python),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "512m",
            "JDK_JAVA_OPTIONS": QUICK,
        }
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=_environment() | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _said(self, name: str, pattern: str) -> str:
        """Wait for a line in a log; its group."""
        log, process = self.folder / f"{name}.log", self.processes[-1]
        found: list[str] = []

        def look() -> bool:
            text = log.read_text(errors="replace")
            assert process.poll() is None, text
            found.extend(re.findall(pattern, text))
            return bool(found)

        wait_until(look, START, f"{pattern} in {name}.log")
        return found[0]


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process at once, with all that it started and that did not leave its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(START)


def _environment() -> dict[str, str]:
    """This process's, without what would let others find zabcheck."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
