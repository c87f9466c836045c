"""Measure how often drawn runs of releases of ZooKeeper show each fault, for the gate for a patch.

    python -m benchmarks.rates_of_releases --runs 1000 pyspark …

A release is named by its class path, as with --classpath. What was measured of other versions stays in the file.
"""

import argparse
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from zabcheck.zookeeper.conformance.rates import FILE, Rates, drawn, marks_of
from zabcheck.zookeeper.run.distribution import find
from zabcheck.zookeeper.run.search import attempts
from zabcheck.zookeeper.simulated.pool import simulated

FIRST = 1_000_000
"""The first seed: a gate has others, unless one is asked for."""
AT_ONCE = 20


def measure(classpath: str, runs: int, jobs: int) -> tuple[str, Rates]:
    """Execute drawn runs of a release, and count their marks."""
    marks: Counter[str] = Counter()
    with TemporaryDirectory() as folder, simulated(find(classpath=classpath)) as distribution:
        for first in range(FIRST, FIRST + runs, AT_ONCE):
            seeds = range(first, min(first + AT_ONCE, FIRST + runs))
            tasks = [(drawn(seed), Path(folder, str(seed))) for seed in seeds]
            for tried in attempts(tasks, distribution, jobs=jobs):
                marks.update(dict.fromkeys(marks_of(tried.judged), 1))
    return distribution.version, Rates(runs, dict(sorted(marks.items())))


def main() -> None:
    """Measure the releases that are named, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classpath", nargs="+")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    rates = msgspec.json.decode(FILE.read_bytes(), type=dict[str, Rates]) if FILE.exists() else {}
    for classpath in asked.classpath:
        version, found = measure(classpath, asked.runs, asked.jobs)
        rates[version] = found
        FILE.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(rates.items())))) + b"\n")


if __name__ == "__main__":
    main()
