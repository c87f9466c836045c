"""Executions of a bug's schedule on one build of ZooKeeper, and the number that shows the bug."""

from collections import Counter
from pathlib import Path

from msgspec import Struct, field

from zabcheck.zookeeper.bugs.catalogue import Bug
from zabcheck.zookeeper.debugger.class_path import ClassPathError
from zabcheck.zookeeper.debugger.points import PointError
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Chose
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.places import places_of
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import RecordingVerdict


class Executions(Struct):
    """Executions of a bug's schedule on ZooKeeper `zookeeper`, added up.

    `shown` of `times` showed the finding that the schedule was saved for. `wrong` has other faults, and in how many of
    the rest they were. `partial` were not recorded to their end; `error` is the last reason. `cannot` is the reason why
    the schedule cannot be executed with this version at all, or is empty. `kept` is the folder of one that showed it.
    `undone` are the choices that were not done, or not to their end, in the first execution that did not show the bug
    though it was `expected`.
    """

    bug: Bug
    zookeeper: str
    cannot: str = ""
    times: int = 0
    shown: int = 0
    partial: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    error: str = ""
    kept: Path | None = None
    undone: tuple[Chose, ...] = ()

    @property
    def expected(self) -> bool:
        """True if ZooKeeper's sources say that this version has the bug."""
        return self.bug.known.affects(self.zookeeper)

    @property
    def is_missing(self) -> bool:
        """True if no execution showed the bug, though this version has always shown it."""
        return bool(self.times and not self.shown and not self.partial and self.bug.is_always_shown(self.zookeeper))

    def add(self, shows: bool, judged: RecordingVerdict, error: str) -> None:
        """Add an execution, with `shows` True if it showed the bug; `error` is a failure of the ensemble itself."""
        self.times += 1
        self.shown += shows
        self.partial += not shows and bool(judged.observation.partial)
        self.error = error or self.error
        if not shows:
            self.wrong.update(judged.wrong)
            if self.expected and not self.undone:
                said = (each for each in read(judged.folder) if isinstance(each, Chose))
                self.undone = tuple(each for each in said if each.note)


def not_executable(schedule: EnsembleSchedule, distribution: Distribution) -> str:
    """Return the reason why a version cannot execute a schedule: it lacks a point; or ""."""
    try:
        places_of(schedule, distribution)
    except (PointError, ClassPathError) as error:
        return str(error)
    return ""
