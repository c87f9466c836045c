"""The plan of a campaign on simulated servers of ZooKeeper, in `campaign.json` like that of other campaigns."""

from typing import Final, Literal

import msgspec
from msgspec import Struct

from zabcheck.campaign.plan import LEAST_PARTS, Keep
from zabcheck.campaign.store import PLAN, Store, StoreError
from zabcheck.invariants.diagnosis import NOT_DECODED, malformed
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import EnsembleSchedule

VERSION: Final = 1
RUNS_A_PART = 50
"""The most runs in a part: half a minute of work, which is lost if a worker is."""


class Build(Struct, frozen=True, forbid_unknown_fields=True):
    """A build of ZooKeeper: its version, and its class path and Java, which each worker finds at the same place.

    Without `java` a worker uses its own. That has to be of `java_version`, by its first number (None: not known):
    Java's own streams take part in a run, and read an integer in one step, or in four.
    """

    zookeeper: str
    classpath: str
    java: str | None = None
    java_version: int | None = None


class EnsemblePlan(Struct, frozen=True, forbid_unknown_fields=True):
    """The plan of `runs` runs on each of the `builds`, numbered from 0, a build after the other.

    A run's seed is that of `zabcheck zookeeper --seed`, the same for each build. `keep` says whose
    recordings are stored: those of all runs ("events"), of the runs in which something is wrong, or of none.
    `properties` of None are all.
    """

    version: Literal[1]
    builds: tuple[Build, ...]
    seed: int
    runs: int
    runs_a_part: int
    keep: Keep
    servers: Literal[3, 5]
    threads: bool
    sessions: bool
    observers: int
    properties: tuple[str, ...] | None = None
    disks: bool = False

    @property
    def total(self) -> int:
        """The number of runs on all builds."""
        return self.runs * len(self.builds)

    @property
    def parts(self) -> int:
        """The number of parts; parts are numbered from 0, and each is of one build."""
        return self._parts_a_build * len(self.builds)

    @property
    def _parts_a_build(self) -> int:
        return -(-self.runs // self.runs_a_part)

    def runs_of(self, part: int) -> range:
        """Return the numbers of the runs of a part."""
        build, number = divmod(part, self._parts_a_build)
        first = number * self.runs_a_part
        return range(build * self.runs + first, build * self.runs + min(first + self.runs_a_part, self.runs))

    def seed_of(self, run: int) -> int:
        """Return the seed of a run."""
        return self.seed + run % self.runs

    def build_of(self, run: int) -> Build:
        """Return the build of a run."""
        return self.builds[run // self.runs]

    def schedule_of(self, run: int) -> EnsembleSchedule:
        """Return the schedule of a run."""
        return draw(self.seed_of(run), self.servers, self.threads, self.sessions, self.observers, self.disks)


def runs_a_part(runs: int) -> int:
    """Return how many runs on a build make a part."""
    return max(1, min(RUNS_A_PART, -(-runs // LEAST_PARTS)))


def plan_of(store: Store) -> EnsemblePlan | None:
    """Return the plan of the folder, None if it holds no campaign on ZooKeeper. StoreError if it cannot be read."""
    content = store.read(PLAN)
    if content is None or not _is_of_ensembles(content):
        return None
    try:
        return msgspec.json.decode(content, type=EnsemblePlan)
    except NOT_DECODED as error:
        said = malformed(content, error, EnsemblePlan, "plan of a campaign on ZooKeeper", 1)
        raise StoreError(f"{store.path(PLAN)}{said}") from None


class _PlanHead(Struct):
    builds: object = None


def _is_of_ensembles(content: bytes) -> bool:
    try:
        return msgspec.json.decode(content, type=_PlanHead).builds is not None
    except NOT_DECODED:  # whoever reads a plan of the swarm says what is wrong
        return False
