"""Measure how short the schedules become that show the bugs of the catalogue on simulated servers.

    python -m benchmarks.sizes_of_finds --classpath pyspark ZOOKEEPER-3598=7000000 ack-before-trunc=7000010 …

A bug begins with the drawn schedule of the seed behind it, or with the one of the catalogue, and is made short in as
many executions as `--minimise 120` takes. Prints a line for each: choices and decisions before and after, executions,
and CPU seconds. Without names it takes all bugs of the catalogue that the version has.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from zabcheck.cli.zookeeper.shorten import PER_SECOND
from zabcheck.zookeeper.bugs.catalogue import BUGS
from zabcheck.zookeeper.run.distribution import Distribution, find
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.minimise import idle_in
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder
from zabcheck.zookeeper.run.search import attempt
from zabcheck.zookeeper.simulated.minimise import minimise
from zabcheck.zookeeper.simulated.pool import simulated
from zabcheck.zookeeper.verdict.known_issues import issue_named

SECONDS = 120
SERVERS = 3


class Shortest:
    """Executes schedules in `folder`, and looks for the signature of a bug; `executions` counts."""

    def __init__(self, name: str, distribution: Distribution, folder: Path) -> None:
        self.executions = 0
        self._issue = next((bug.known for bug in BUGS if bug.name == name), None) or issue_named(name)
        self._distribution = distribution
        self._folder = folder

    def shows(self, schedule: EnsembleSchedule) -> EnsembleSchedule | None:
        self.executions += 1
        tried = attempt(schedule, self._distribution, self._folder)
        return tried.schedule if self._issue.signature(tried.judged.evidence) else None

    def of(self, schedule: EnsembleSchedule) -> EnsembleSchedule:
        """Make a schedule short that shows the bug."""
        return minimise(schedule, self.shows, PER_SECOND * SECONDS, lambda: idle_in(self._folder), lambda: None)


def sizes(schedule: EnsembleSchedule) -> str:
    """Return the numbers of choices and decisions."""
    assert schedule.simulated is not None
    decisions = schedule.simulated.decisions
    return f"{len(schedule.choices):3} choices {len(decisions.split(',')) if decisions else 0:4} decisions"


def measure(name: str, seed: int | None, distribution: Distribution, folder: Path) -> str:
    """Make the schedule of a bug short, and describe the sizes before and after."""
    if seed is None:
        [bug] = [each for each in BUGS if each.name == name]
        begin = replace(bug.schedule(), simulated=ThreadOrder(decisions=""))
    else:
        begin = draw(seed, SERVERS)
    shortest = Shortest(name, distribution, folder)
    before = time.process_time()
    shown = shortest.shows(begin)
    if shown is None:
        return f"{name:24} not shown by {'its schedule' if seed is None else seed}"
    result = shortest.of(shown)
    assert distribution.simulation is not None
    cpu = time.process_time() - before
    return f"{name:24} {sizes(shown)} -> {sizes(result)}, {shortest.executions} executions, {cpu:.0f} s of Python"


def main() -> None:
    """Measure the bugs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*", help="NAME, or NAME=SEED of a drawn schedule")
    parser.add_argument("--classpath", default="pyspark")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder, simulated(find(classpath=asked.classpath)) as distribution:
        version = distribution.version
        every = [bug.name for bug in BUGS if bug.known.affects(version)]
        for each in asked.bugs or every:
            name, _, seed = each.partition("=")
            print(measure(name, int(seed) if seed else None, distribution, Path(folder, "run")), flush=True)


if __name__ == "__main__":
    main()
