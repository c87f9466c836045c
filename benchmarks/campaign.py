"""A campaign on Spark, compared with the same parts made by a plain pool of processes on this machine.

Both write the same files. A pool is the least that such work can cost; what Spark takes on top is the price of
surviving a kill, and of running on a cluster. The start of Spark and of the processes is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
from multiprocessing import Pool
from pathlib import Path
from time import monotonic

from zabcheck.campaign import driver
from zabcheck.campaign.part import Maker
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.schema import RUNS as ROWS
from zabcheck.campaign.session import session
from zabcheck.campaign.store import EVENTS_FOLDER, RUNS_FOLDER, Store
from zabcheck.campaign.tasks import run_tasks
from zabcheck.invariants import select
from zabcheck.search.run import collect_garbage_less_often

RUNS = 12_000
RUNS_A_PART = 1000
WAYS = ("pool", "spark", "pool", "spark")


def plan() -> Plan:
    """Return a plan for the reference protocol, with all properties, that keeps all events."""
    properties = tuple(kind.name for kind in select(None))
    return Plan(1, "zab", (None,), 1, RUNS, RUNS_A_PART, "events", 200, None, None, properties, {})


def main() -> None:
    """Print the table."""
    print(f"{RUNS:,} runs in {plan().parts} parts, on {os.cpu_count()} cores\n")
    print("way     seconds   runs/s  events/s   CPU s  bytes an event  bytes a run")
    found: dict[str, list[dict[str, float]]] = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.campaign", way, folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, start_new_session=True)
        each = json.loads(done.stdout)
        found.setdefault(way, []).append(each)
        print(
            f"{way:6} {each['seconds']:8.1f} {RUNS / each['seconds']:8.0f} {each['events'] / each['seconds']:9,.0f} "
            f"{each['cpu']:7.1f} {each['event_bytes'] / each['events']:15.2f} {each['run_bytes'] / RUNS:12.0f}"
        )
    seconds = {way: min(each["seconds"] for each in several) for way, several in found.items()}
    cpu = {way: min(each["cpu"] for each in several) for way, several in found.items()}
    print(f"\nthroughput of Spark, that of the pool being 1: {seconds['pool'] / seconds['spark']:.2f}")
    print(f"CPU seconds of Spark on top, a part: {(cpu['spark'] - cpu['pool']) / plan().parts:.2f}")


def measure(way: str, folder: str) -> None:
    """Make the campaign in one way, and print what that took."""
    store = Store(folder)
    store.begin(plan())
    if way == "pool":
        with Pool(os.cpu_count(), _prepare, (folder,)) as pool:
            pool.map(os.getpgid, [0] * 8, 1)
            start, cpu = monotonic(), _cpu_seconds()
            pool.map(_make, range(plan().parts), 1)
            seconds, cpu = monotonic() - start, _cpu_seconds() - cpu
    else:
        spark = session()
        run_tasks(spark, range(8), _nothing, lambda _: None)
        start, cpu = monotonic(), _cpu_seconds()
        driver.run(spark, store, plan())
        seconds, cpu = monotonic() - start, _cpu_seconds() - cpu
    events = sum(sum(store.table(name, ROWS, ["events"])["events"].to_pylist()) for name in store.finished().values())
    sizes = {"event_bytes": store.size(EVENTS_FOLDER), "run_bytes": store.size(RUNS_FOLDER)}
    print(json.dumps({"seconds": seconds, "cpu": cpu, "events": events, **sizes}))


_MAKERS: list[Maker] = []


def _prepare(folder: str) -> None:
    collect_garbage_less_often()
    _MAKERS.append(Maker(plan(), Store(folder)))


def _make(part: int) -> None:
    _MAKERS[0].make(part)


def _nothing() -> object:
    return lambda _: None


def _cpu_seconds() -> float:
    """Return the CPU seconds of all processes of this session: this one and its descendants, Java among them."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[3]) == os.getsid(0):
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    measure(*sys.argv[1:])
