"""The build of ZooKeeper that a command runs: the options that name it, and how it is made quick to start."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated

import typer

from zabcheck.cli.commands import BadInput
from zabcheck.cli.files import bad_input_for, bad_path
from zabcheck.extras import pip_install
from zabcheck.java import NoJava, find_java, program_of, version_of
from zabcheck.zookeeper.run.distribution import OLDEST_JAVA, Distribution, NotSimulated, NoZooKeeper, find

WORTH_AN_ARCHIVE = 3
"""The number of runs from which on it pays to make an archive of the servers' classes first."""

Java = Annotated[Path | None, typer.Option(metavar="PROGRAM", help="The Java to use instead of the machine's.")]
Home = Annotated[
    Path | None, typer.Option("--zookeeper-home", metavar="DIR", help="An unpacked release of ZooKeeper to run.")
]
Classpath = Annotated[
    str | None,
    typer.Option(
        metavar="PATHS",
        help="The class path with the jars of ZooKeeper, as for Java; `pyspark` for those of PySpark, not Debian's.",
    ),
]

Homes = Annotated[
    list[Path] | None,
    typer.Option(
        "--zookeeper-home", metavar="DIR", help="An unpacked release of ZooKeeper to run; repeat it for several."
    ),
]
Classpaths = Annotated[
    list[str] | None,
    typer.Option(
        "--classpath",
        metavar="PATHS",
        help="The class path with the jars of ZooKeeper, as for Java, or `pyspark`; repeat it for several.",
    ),
]


def check_one(home: Path | None, classpath: str | None) -> None:
    """BadInput if both --zookeeper-home and --classpath name the jars."""
    if home is not None and classpath is not None:
        raise BadInput("--zookeeper-home and --classpath: expected one of them")


def found_distribution(java: Path | None, home: Path | None, classpath: str | None) -> Distribution:
    """Find the ZooKeeper to run. BadInput if there is none, or no client for it."""
    check_one(home, classpath)
    try:
        import kazoo  # noqa: F401  # it is an extra: said here, before anything is started
    except ImportError:
        raise BadInput(f"kazoo is not installed: {pip_install('zookeeper')}") from None
    with bad_input_for(NoZooKeeper):
        return find(java, home, classpath)


def found_distributions(java: Path | None, homes: Sequence[Path], classpaths: Sequence[str]) -> list[Distribution]:
    """Find all builds that are named, or the default one. BadInput if two are of one version."""
    asked: list[tuple[Path | None, str | None]] = [(each, None) for each in homes]
    asked += [(None, each) for each in classpaths]
    distributions = [found_distribution(java, *each) for each in asked or [(None, None)]]
    versions = [each.version for each in distributions]
    if len({*versions}) < len(versions):
        raise BadInput(f"expected builds of different versions, found {', '.join(versions)}")
    return distributions


Simulated = Annotated[
    bool | None,
    typer.Option(
        "--simulated/--processes",
        help="Simulate the servers in one JVM, in virtual time (same seed, same bytes), or start processes; simulated "
        "by default if Java is 11 or newer.",
    ),
]


OLDEST_JAVA_SIMULATED = 11


def simulates(asked: bool | None, java: Path | None) -> bool:
    """Return True if servers are to be simulated: as asked, else if the Java that is named, or found, can."""
    if asked is not None:
        return asked
    try:
        version = version_of(find_java(OLDEST_JAVA, "ZooKeeper") if java is None else program_of(java))
    except NoJava:
        return False
    return version is not None and version >= OLDEST_JAVA_SIMULATED


@contextmanager
def quick_to_start(distribution: Distribution, runs: int, simulated: bool = False) -> Iterator[Distribution]:
    """Yield the same build, made quicker to start if there are enough runs for that to pay; or simulated.

    BadInput, once it is executed, if it cannot be simulated.
    """
    from zabcheck.zookeeper.run.class_archive import class_archive
    from zabcheck.zookeeper.simulated import pool

    with ExitStack() as stack:
        if simulated:
            stack.enter_context(bad_input_for(NotSimulated))
            distribution = stack.enter_context(pool.simulated(distribution))
        elif runs >= WORTH_AN_ARCHIVE:
            with bad_path("a folder for classes", Path(gettempdir())):
                distribution = stack.enter_context(class_archive(distribution))
        yield distribution
