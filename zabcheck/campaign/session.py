"""The Spark session: one that is there already, the one that `--master` names, or one on this machine."""

import os
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from zabcheck.campaign.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*,4]"
"""Every core of this machine; a task whose Python worker is killed is tried again, three times at most."""

TIMEOUT = 10.0
"""How long to wait for a master's port, in seconds."""

_QUIET = """
rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""
"""What Log4j prints: next to nothing, from the start. A task that fails is an exception, and told as one."""

_EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
}
_ON_THIS_MACHINE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
}


class NoSpark(Exception):
    """There is no Spark to be had. The message is one line."""


def session(master: str | None = None) -> "SparkSession":
    """The session to use.

    One that is active is taken as it is: so under spark-submit, in a notebook, on Databricks. `master` is what
    spark-submit takes (`local[2]`, `spark://host:7077`, `yarn`, `k8s://…`), or `sc://host:15002` for Spark Connect;
    None means what the environment says (MASTER, SPARK_REMOTE), or else this machine. Java is started for it, unless
    Spark Connect has it. It takes seconds.

    NoSpark if pyspark is not installed, or nothing answers at `master`; NoJava if there is no Java.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(f"this needs Spark: pip install 'zabcheck[spark]' ({error})") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if master is None and _is_submitted():
        return SparkSession.builder.getOrCreate()
    master = master or os.environ.get("SPARK_REMOTE") or os.environ.get("MASTER") or LOCAL
    _check_reachable(master)
    builder = SparkSession.builder.appName("zabcheck")
    for name, value in _EVERYWHERE.items():
        builder = builder.config(name, value)
    if master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    builder = builder.master(master).config("spark.driver.extraJavaOptions", _java_options(master))
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        for name, value in {**_ON_THIS_MACHINE, "spark.driver.memory": _memory()}.items():
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise NoSpark(f"--master {master}: no session, {str(error).strip().splitlines()[0]}") from error


def _is_submitted() -> bool:
    """Whether something has started this program that decides where it runs."""
    return any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "DATABRICKS_RUNTIME_VERSION"))


def _check_reachable(master: str) -> None:
    """NoSpark if a master that has an address does not answer: Spark itself would try for minutes."""
    if not master.startswith(("spark://", "sc://")):
        return
    for each in master.partition("://")[2].split(","):
        try:
            place = urlsplit(f"//{each.partition(';')[0]}")
            host, port = place.hostname or "", place.port or (15002 if master.startswith("sc:") else 7077)
            with socket.create_connection((host, port), TIMEOUT):
                return
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    raise NoSpark(f"--master {master}: cannot be reached, {reason}")


def _java_options(master: str) -> str:
    handle, name = tempfile.mkstemp(prefix="zabcheck-log4j2-", suffix=".properties")
    with os.fdopen(handle, "w") as file:
        file.write(_QUIET)
    _to_delete.append(Path(name))
    return f"-Dlog4j2.configurationFile=file:{name} {os.environ.get('ZABCHECK_JAVA_OPTIONS', '')}".strip()


def _memory() -> str:
    """For driver and executors, which are one here: half of what the machine has, 4 GiB at most."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return os.environ.get("SPARK_DRIVER_MEMORY", f"{min(4096, pages // 2)}m")


class _ToDelete(list[Path]):
    """Files that are gone when the interpreter ends."""

    def __del__(self) -> None:
        for path in self:
            with suppress(OSError):
                path.unlink()


_to_delete = _ToDelete()
