"""The ZooKeeper that runs, and the Java that it runs on: found on the machine, or as the user says.

Any unmodified build from 3.5 on will do: Debian's packages `zookeeper` and `libzookeeper-java`, Apache's tarball, or
the jars that come with PySpark. To put a patched class before those of the release, name it first:
`--classpath patched/:/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar`.
"""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zabcheck.extras import pip_install
from zabcheck.java import NoJava, find_java, program_of, version_of

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.schedule import EnsembleSchedule

OLDEST_JAVA = 8
PATIENCE = 300
"""Seconds that Java gets to say which version of ZooKeeper it finds."""
OLDEST = (3, 5)
NEWEST = (3, 9)
"""The oldest and the newest version whose log lines are known, by their first two numbers."""

_VERSION_MAINS = {
    "version.VersionInfoMain": r"version (\d+\.\d+(?:\.\w+(?:[.-]\w+)*)?)",
    "Version": r"^(\d+\.\d+(?:\.\d+)?)",
}
"""The classes that print the version, and where it is in what they print; 3.5 lacks the first."""

DEBIAN = (Path("/usr/share/java/zookeeper.jar"), Path("/usr/share/java/slf4j-simple.jar"))
"""The server of Debian's packages, whose jar names the others, and a binding for its log."""

PYSPARK = "pyspark"
"""The jars that PySpark brings, as a class path."""
_NEEDED_OF_PYSPARK = (
    "zookeeper-*.jar",
    "slf4j-api-*.jar",
    "log4j-*.jar",
    "netty-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "commons-cli-*.jar",
)


class NoZooKeeper(Exception):
    """No ZooKeeper can be run here as asked. The message is one line."""


class NotSimulated(Exception):
    """A build does something that the simulation does not know. The message names the class and the call in it."""


class Simulation(Protocol):
    """Executes schedules on simulated servers; see `zookeeper.simulated`."""

    def execute(
        self, schedule: "EnsembleSchedule", folder: Path, stop: Event | None, exact: bool
    ) -> "EnsembleSchedule":
        """Execute a schedule, leave its recording in a folder, and return it with the order of threads it had."""


class Distribution(NamedTuple):
    """A build of ZooKeeper: its version ("3.8.0"), and how Java starts it, with which options of its own.

    With `simulation` its servers are simulated, else they are processes.
    """

    version: str
    java: Path
    classpath: str
    options: tuple[str, ...] = ()
    simulation: Simulation | None = None


def with_properties(distribution: Distribution, schedule: "EnsembleSchedule") -> Distribution:
    """Return the same build, whose servers have the properties of the JVM that a schedule wants, or needs."""
    options = tuple(f"-D{each.name}={each.value}" for each in schedule.properties)
    if schedule.reconfigures:
        options += ("-Dzookeeper.skipACL=yes",)  # else only a superuser may
    return distribution._replace(options=(*distribution.options, *options))


def find(java: Path | None = None, home: Path | None = None, classpath: str | None = None) -> Distribution:
    """Find the build that `classpath` or `home` names, else Debian's, else PySpark's. Starts Java for its version.

    `classpath` may be PYSPARK.

    NoZooKeeper if there is no Java 8 or newer, no such build, or a version that is not known here.
    """
    try:
        program = program_of(java) if java is not None else find_java(OLDEST_JAVA, "ZooKeeper")
    except NoJava as error:
        raise NoZooKeeper(str(error)) from None
    classpath = classpath_of(home, classpath)
    return Distribution(version(program, classpath), program.absolute(), classpath)


def classpath_of(home: Path | None = None, classpath: str | None = None) -> str:
    """Return the class path that is asked for, else Debian's, else PySpark's, with absolute names; starts nothing.

    NoZooKeeper if there is none, or nothing where it points.
    """
    if classpath == PYSPARK:
        classpath = os.pathsep.join(map(str, jars_of_pyspark()))
        if not classpath:
            raise NoZooKeeper(f"PySpark is not installed: {pip_install('spark')}")
    if classpath is None:
        classpath = of_home(home) if home is not None else default_classpath()
    entries = [os.path.abspath(entry) for entry in classpath.split(os.pathsep) if entry]
    if not entries:
        raise NoZooKeeper("expected a class path with the jars of ZooKeeper, found an empty one")
    for entry in entries:
        if not os.path.exists(entry.removesuffix("*")):  # a name that is too long for the system is not there, either
            raise NoZooKeeper(f"{entry}: expected a jar or a folder of the class path, found nothing")
    return os.pathsep.join(entries)


def of_home(home: Path) -> str:
    """Return the class path of an unpacked release: its `lib`, and jars beside it. NoZooKeeper if it has none."""
    there = [folder for folder in (home, home / "lib") if os.path.isdir(folder)]
    folders = [folder for folder in there if any(folder.glob("zookeeper*.jar"))]
    if not folders:
        raise NoZooKeeper(f"{home}: expected a folder with zookeeper-*.jar in it or in its lib, found none")
    return os.pathsep.join(f"{folder}/*" for folder in dict.fromkeys([*folders, home / "lib"]) if folder.is_dir())


def default_classpath() -> str:
    """Return Debian's class path if it is installed, else PySpark's. NoZooKeeper if neither is."""
    if all(jar.exists() for jar in DEBIAN):
        return os.pathsep.join(map(str, DEBIAN))
    jars = jars_of_pyspark()
    if jars:
        return os.pathsep.join(map(str, jars))
    raise NoZooKeeper(
        f"found no ZooKeeper: apt-get install zookeeper libzookeeper-java, or {pip_install('spark')}, whose "
        "PySpark brings one, or name one with --zookeeper-home or --classpath"
    )


def jars_of_pyspark() -> list[Path]:
    """Return the jars of PySpark that ZooKeeper needs; none if PySpark is not installed.

    A worker of Spark imports PySpark from a zip; its jars are in Spark's own folder.
    """
    spark = find_spec("pyspark")
    places = [*(spark.submodule_search_locations or [])] if spark else []
    places += [os.environ["SPARK_HOME"]] if "SPARK_HOME" in os.environ else []
    folders = next(([folder] for place in places if (folder := Path(place, "jars")).is_dir()), [])
    return [jar for folder in folders for pattern in _NEEDED_OF_PYSPARK for jar in sorted(folder.glob(pattern))]


def version(java: Path, classpath: str) -> str:
    """Ask the jars for their version. NoZooKeeper if they are not ZooKeeper's, or of a version not known here."""
    said, found = "", None
    for name, pattern in _VERSION_MAINS.items():
        done = _run(java, classpath, name)
        said = said or next((line for line in (done.stderr or done.stdout).splitlines() if line.strip()), "nothing")
        found = found or re.search(pattern, done.stdout)
        if found is not None:
            break
    if found is None:
        java_version = version_of(java)
        if java_version is None or java_version < OLDEST_JAVA:
            raise NoZooKeeper(f"{java}: expected Java {OLDEST_JAVA} or newer, found {java_version or 'no Java'}")
        raise NoZooKeeper(f"{classpath}: expected the jars of ZooKeeper, found: {said}")
    number = found[1]
    if not OLDEST <= tuple(map(int, number.split(".")[:2])) <= NEWEST:
        between = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))
        raise NoZooKeeper(f"{classpath}: expected ZooKeeper {between}, found {number}")
    return number


def _run(java: Path, classpath: str, name: str) -> "subprocess.CompletedProcess[str]":
    command = [str(java), "-cp", classpath, f"org.apache.zookeeper.{name}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise NoZooKeeper(f"{java}: did not say the version of ZooKeeper in {PATIENCE} s") from None
    except OSError as error:
        raise NoZooKeeper(f"{java}: cannot be run: {error.strerror}") from None
