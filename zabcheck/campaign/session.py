"""The Spark session: one that is there already, the one that `--master` names, or one on this machine."""

import os
import re
import socket
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from zabcheck.campaign.java import java_home
from zabcheck.campaign.shipped_code import is_connect, send
from zabcheck.campaign.spark_errors import reason
from zabcheck.java import NoJava

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
_QUIETLY = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
}


_MASTER = re.compile(
    r"local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[[\d, ]+\]|spark://[^/\s]+|sc://[^/\s]+(/\S*)?|k8s://\S+|yarn"
)


class NoSpark(Exception):
    """There is no Spark to be had. The message is one line."""


def session(master: str | None = None) -> "SparkSession":
    """The session to use, whose tasks can import zabcheck, and what has been imported from the current directory.

    One that is active is taken as it is: so under spark-submit, in a notebook, on Databricks. `master` is what
    spark-submit takes (`local[2]`, `spark://host:7077`, `yarn`, `k8s://…`), or `sc://host:15002` for Spark Connect;
    None means what the environment says (MASTER, SPARK_REMOTE), or else this machine. Java is started for it, unless
    Spark Connect has it. It takes seconds.

    NoSpark if pyspark is not installed, `master` is none, or nothing answers there; NoJava if there is no Java.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(f"this needs Spark: pip install 'zabcheck[spark]' ({error})") from None
    named, master = _named(master)
    try:
        spark = SparkSession.getActiveSession()
        if spark is None and master is None and _is_submitted():
            spark = SparkSession.builder.getOrCreate()
        elif spark is None:
            spark = _started(named, master or LOCAL)
        send(spark)
    except (NoSpark, NoJava):
        raise
    except Exception as error:
        raise NoSpark(f"{named}: no session, {reason(error)}") from error
    return spark


def check_master(spark: "SparkSession") -> None:
    """NoSpark if the session's master has gone away: Spark would wait for ever. (Spark Connect does not.)"""
    if not is_connect(spark):
        _check_reachable(spark.sparkContext.master, spark.sparkContext.master)


def _named(master: str | None) -> tuple[str, str | None]:
    """What a message calls the master, and the master. NoSpark if it is not written as one."""
    said = {"--master": master, **{name: os.environ.get(name) for name in ("SPARK_REMOTE", "MASTER")}}
    where, found = next(((name, value) for name, value in said.items() if value is not None), ("", None))
    if where != "--master" and _is_submitted():
        return "Spark", None
    if found is not None and not _MASTER.fullmatch(found):
        raise NoSpark(f"{where} {found}: expected local[N], spark://HOST:PORT, sc://HOST, k8s://URL or yarn")
    return (f"{where} {found}", found) if found is not None else ("Spark", None)


def _started(named: str, master: str) -> "SparkSession":
    """A new session at `master`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    address = _check_reachable(named, master)
    if master.startswith("sc://"):
        _check_connect(named, master)
        from pyspark.sql.connect.client.retries import DefaultPolicy

        builder = SparkSession.builder.remote(master)
        for name, value in _EVERYWHERE.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        # A server that dies is given up after a quarter of a minute, by default it would be after ten.
        spark.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=4000)])
        warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # it is an error, too
        return spark
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    settings = {**_EVERYWHERE, **_QUIETLY, "spark.driver.extraJavaOptions": _java_options()}
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {**_ON_THIS_MACHINE, "spark.driver.memory": _memory()}
    elif address and "SPARK_LOCAL_IP" not in os.environ:
        settings["spark.driver.host"] = address
    conf = SparkConf().setAppName("zabcheck").setMaster(master).setAll(list(settings.items()))
    with tempfile.TemporaryFile() as said:
        try:
            gateway = launch_gateway(conf, {"stdout": said, "stderr": said})
            SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            said.seek(0)
            java = said.read().decode(errors="replace")
            why = reason(NoSpark(java) if "JAVA_GATEWAY" in str(error) else error)
            if "stopped SparkContext" in why:
                why = "what answers there is no master of this version of Spark"
            raise NoSpark(f"{named}: no session, {why}") from error
    return SparkSession.builder.getOrCreate()


def _is_submitted() -> bool:
    """Whether something has started this program that decides where it runs."""
    return any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "DATABRICKS_RUNTIME_VERSION"))


def _check_reachable(named: str, master: str) -> str:
    """This machine's address as the master sees it, empty if `master` is none that has an address.

    NoSpark if it has one and does not answer: Spark itself would try for minutes.
    """
    if not master.startswith(("spark://", "sc://")):
        return ""
    for each in master.partition("://")[2].split(","):
        try:
            place = urlsplit(f"//{each.partition('/')[0]}")
            host, port = place.hostname or "", place.port or (15002 if master.startswith("sc:") else 7077)
            with socket.create_connection((host, port), TIMEOUT) as connection:
                return str(connection.getsockname()[0])
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    raise NoSpark(f"{named}: cannot be reached, {why}")


def _check_connect(named: str, master: str) -> None:
    """NoSpark if what answers does not speak gRPC: Spark Connect itself would try for minutes."""
    try:
        import grpc
        from pyspark.sql.connect.client.core import DefaultChannelBuilder
    except ImportError as error:
        missing = str(error).strip().splitlines()[0]
        raise NoSpark(f"{named}: this needs Spark Connect: pip install 'zabcheck[connect]' ({missing})") from None
    with DefaultChannelBuilder(master).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(TIMEOUT)
        except grpc.FutureTimeoutError:
            raise NoSpark(f"{named}: what answers there is no Spark Connect") from None


def _java_options() -> str:
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
