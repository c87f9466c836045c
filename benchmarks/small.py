"""Measures the cost of small work on Spark, beside a bare session that runs one small Python job, start to stop.

Each is a process of its own: what counts is the CPU time of that process and of all that it starts (Java, Python
workers), until the last of them has ended. On an idle machine the seconds that pass compare, too. The bare session has
Spark's own settings, but no web page. No more than 1.3 times what it takes is the aim.
"""

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from tests.invariants.builders import A, B, broadcasts, deliveries, whole
from zabcheck.campaign.java import java_home
from zabcheck.invariants import trace

RUNS = 300
REPEATS = 2
BARE = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id long").count() == 2
spark.stop()
"""
_SUBREAPER = 36


def main() -> None:
    """Print the table."""
    adopt_what_is_left()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.jsonl").write_bytes(
            b"".join(trace.dump(whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), *deliveries(2, A, B)])))
        )
        zabcheck = (sys.executable, "-m", "zabcheck")
        ways = {
            "a bare session, one Python job": (sys.executable, "-c", BARE),
            f"campaign --runs {RUNS}": (*zabcheck, "campaign", "--runs", str(RUNS), "--seed", "1", "--out"),
            "campaign report": (*zabcheck, "campaign", "report", "c0"),
            "check --engine spark": (*zabcheck, "check", "--engine", "spark", "t.jsonl"),
        }
        least: dict[str, tuple[float, float]] = {}
        for repeat in range(REPEATS):
            for name, command in ways.items():
                place = [f"c{repeat}"] if command[-1] == "--out" else []
                found = measured([*command, *place], folder)
                least[name] = min(least.get(name, found), found)
        bare, _ = next(iter(least.values()))
        print(f"the best of {REPEATS}, on {os.cpu_count()} cores\n\n{'':32}CPU s   ratio  seconds")
        for name, (cpu, seconds) in least.items():
            print(f"{name:32}{cpu:5.1f}{cpu / bare:8.2f}{seconds:9.1f}", flush=True)


def adopt_what_is_left() -> None:
    """Make processes that a command leaves behind children of this one, so that `measured` counts them."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def measured(command: Sequence[str], folder: str) -> tuple[float, float]:
    """Run a command, and return the CPU seconds of all its processes, and the seconds until the last one ended."""
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(["", *sys.path])}
    before, start = _cpu_seconds(), monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: something was not exercised
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return _cpu_seconds() - before, monotonic() - start


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
