"""The Spark session: one that is active already, the one that `--master` names, or one on this machine."""

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
from zabcheck.campaign.shipped_code import is_connect, ship
from zabcheck.campaign.spark_errors import one_line
from zabcheck.extras import pip_install
from zabcheck.java import NoJava

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*,4]"
"""The default master: every core of this machine. A task whose Python worker is killed is retried up to 3 times."""

TIMEOUT = 60.0
"""The time to wait for a master's port, in seconds."""

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
"""The configuration of Log4j: print next to nothing. A failed task is an exception in Python, and reported as one."""

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
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # no `csv.py` of the current folder in place of Python's own
}


_SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java with little to do: the quick compiler, and a single collector thread. They halve what it costs."""

_MASTER = re.compile(
    r"local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[[\d, ]+\]|spark://[^/\s]+|sc://[^/\s]+(/\S*)?|k8s://\S+|yarn"
)


class NoSpark(Exception):
    """Spark cannot be used. The message is one line."""


def session(master: str | None = None, short: bool = False) -> "SparkSession":
    """Return the session to use. Its tasks can import zabcheck and the modules imported from the current directory.

    An active session is used as it is: under spark-submit, in a notebook, on Databricks. `master` is as for
    spark-submit (`local[2]`, `spark://host:7077`, `yarn`, `k8s://…`), or `sc://host:15002` for Spark Connect; None
    means the environment (MASTER, SPARK_REMOTE), or else this machine. A new session starts a Java here, unless it is
    one of Spark Connect. That takes some seconds, and less CPU time if Java has a `short` life, or little to do in it:
    it then compiles only in haste.

    NoSpark if pyspark is not installed, `master` is malformed, or nothing answers there; NoJava if there is no Java.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(f"this needs Spark: {pip_install('spark')} ({error})") from None
    named, master = _named(master)
    try:
        spark = SparkSession.getActiveSession()
        if spark is None and master is None and _is_submitted():
            spark = SparkSession.builder.getOrCreate()
        elif spark is None:
            spark = _started(named, master or LOCAL, short)
        ship(spark)
    except (NoSpark, NoJava):
        raise
    except Exception as error:
        raise NoSpark(f"{named}: no session, {one_line(error)}") from error
    return spark


def check_master(spark: "SparkSession") -> None:
    """Raise NoSpark if the session's master has gone away: Spark would wait for ever. (Spark Connect does not.)"""
    if not is_connect(spark):
        _check_reachable(spark.sparkContext.master, spark.sparkContext.master)


def _named(master: str | None) -> tuple[str, str | None]:
    """Return the master's name for messages, and the master itself. NoSpark if it is malformed."""
    said = {"--master": master, **{name: os.environ.get(name) for name in ("SPARK_REMOTE", "MASTER")}}
    where, found = next(((name, value) for name, value in said.items() if value is not None), ("", None))
    if where != "--master" and _is_submitted():
        return "Spark", None
    if found is not None and not _MASTER.fullmatch(found):
        raise NoSpark(f"{where} {found}: expected local[N], spark://HOST:PORT, sc://HOST, k8s://URL or yarn")
    return (f"{where} {found}", found) if found is not None else ("Spark", None)


def _started(named: str, master: str, short: bool) -> "SparkSession":
    """Start a new session at `master`."""
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
        # Give up on a dead server after a quarter of a minute; the default is ten minutes.
        spark.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=4000)])
        warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # it is raised as an error, too
        return spark
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    settings = {**_EVERYWHERE, **_QUIETLY, "spark.driver.extraJavaOptions": _java_options(short)}
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _SHORT)  # of the Java that works out how to start the other
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {**_ON_THIS_MACHINE, **_of_a_checkout(), "spark.driver.memory": _memory()}
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
            why = one_line(NoSpark(java) if "JAVA_GATEWAY" in str(error) else error)
            if "stopped SparkContext" in why:
                why = "what answers there is no master of this version of Spark"
            raise NoSpark(f"{named}: no session, {why}") from error
    return SparkSession.builder.getOrCreate()


def _is_submitted() -> bool:
    """Return True if this program was started by something that decides where its tasks run."""
    return any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "DATABRICKS_RUNTIME_VERSION"))


def _check_reachable(named: str, master: str) -> str:
    """Return this machine's address as the master sees it; "" if `master` is not a URL with an address.

    NoSpark if the master has an address and does not answer there: Spark itself would keep trying for minutes.
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
    """Raise NoSpark if the server does not speak gRPC: Spark Connect itself would keep trying for minutes."""
    try:
        import grpc
        from pyspark.sql.connect.client.core import DefaultChannelBuilder
    except ImportError as error:
        missing = str(error).strip().splitlines()[0]
        raise NoSpark(f"{named}: this needs Spark Connect: {pip_install('connect')} ({missing})") from None
    with DefaultChannelBuilder(master).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(TIMEOUT)
        except grpc.FutureTimeoutError:
            raise NoSpark(f"{named}: what answers there is no Spark Connect") from None


def _java_options(short: bool) -> str:
    handle, name = tempfile.mkstemp(prefix="zabcheck-log4j2-", suffix=".properties")
    with os.fdopen(handle, "w") as file:
        file.write(_QUIET)
    _to_delete.append(Path(name))
    given = os.environ.get("ZABCHECK_JAVA_OPTIONS", _SHORT if short else "")
    return f"-Dlog4j2.configurationFile=file:{name} {given}".strip()


def _of_a_checkout() -> dict[str, str]:
    """Return the setting that has tasks import this zabcheck, if it is not among the installed packages."""
    folder = Path(__file__).parents[2]
    return {} if folder.name in ("site-packages", "dist-packages") else {"spark.executorEnv.PYTHONPATH": str(folder)}


def _memory() -> str:
    """Return the memory of the driver, which is the only executor, too: half of the machine's, 4 GiB at most."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return os.environ.get("SPARK_DRIVER_MEMORY", f"{min(4096, pages // 2)}m")


class _ToDelete(list[Path]):
    """Files that are deleted when the interpreter ends."""

    def __del__(self) -> None:
        for path in self:
            with suppress(OSError):
                path.unlink()


_to_delete = _ToDelete()
