"""The points that a schedule names, looked for in the jars of a version of ZooKeeper."""

from functools import cache

import msgspec

from zabcheck.zookeeper.debugger.class_path import ClassPath, ClassPathError
from zabcheck.zookeeper.debugger.points import Place, PointError, located
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.forces import WATCHED
from zabcheck.zookeeper.run.schedule import EnsembleSchedule


def places_of(schedule: EnsembleSchedule, distribution: Distribution) -> dict[str, tuple[Place, ...]]:
    """Find the points that a schedule needs in the jars. PointError, or ClassPathError, if one is not there."""
    classes = ClassPath(distribution.classpath)
    watched = WATCHED if schedule.cuts_power else ()
    return {name: located(name, classes).places for name in dict.fromkeys((*schedule.points, *watched))}


def found_places(schedule: EnsembleSchedule, distribution: Distribution) -> dict[str, tuple[Place, ...]]:
    """Find them as `places_of` does. EnsembleError if one is not there, or if the version cannot do a choice."""
    for choice in schedule.choices:
        refusal = choice.refusal(distribution.version)
        if refusal:
            raise EnsembleError(refusal)
    try:
        return places_of(schedule, distribution)
    except (PointError, ClassPathError) as error:
        raise EnsembleError(str(error)) from None


def executable(schedule: EnsembleSchedule, distribution: Distribution) -> tuple[EnsembleSchedule, tuple[str, ...]]:
    """Leave out the choices at points that this build lacks, as patched code may; return these points, too."""
    lacking = tuple(point for point in schedule.points if not _has(point, distribution.classpath))
    choices = (each for each in schedule.choices if not {point for _, point in each.at_points} & {*lacking})
    return msgspec.structs.replace(schedule, choices=tuple(choices)), lacking


@cache
def _has(point: str, classpath: str) -> bool:
    try:
        located(point, ClassPath(classpath))
    except (PointError, ClassPathError):
        return False
    return True
