"""A part of a campaign on simulated servers: the work of one task, wherever it runs. Nothing here depends on Spark.

The JVM with the servers stays warm in a worker from one part to the next, as long as the build is the same.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import pyarrow as pa

from zabcheck.campaign.schema import RUNS_PARQUET
from zabcheck.campaign.store import EVENTS_FOLDER, RUNS_FOLDER, Store, name_of
from zabcheck.invariants import Verdict
from zabcheck.java import version_of
from zabcheck.search import coverage
from zabcheck.zookeeper.campaign.plan import Build, EnsemblePlan
from zabcheck.zookeeper.campaign.schema import ENSEMBLE_RUNS, RECORDINGS
from zabcheck.zookeeper.recording.folder import RECORDING
from zabcheck.zookeeper.run.choices.links import Await, Heal, Mend, Release
from zabcheck.zookeeper.run.choices.points import AwaitStop, Go, ReadFields, Step
from zabcheck.zookeeper.run.choices.servers import Elected, Resume, Start, StartAll
from zabcheck.zookeeper.run.choices.sessions import Delete, Ephemeral, Get, Multi, SetData
from zabcheck.zookeeper.run.choices.writes import Settle, Wait, Write
from zabcheck.zookeeper.run.distribution import Distribution, NoZooKeeper, find
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder, encode
from zabcheck.zookeeper.run.search import Attempt, attempt
from zabcheck.zookeeper.simulated.pool import Simulators
from zabcheck.zookeeper.verdict.clients import ClientVerdict

Files = list[dict[str, Any]]


class EnsembleMaker:
    """Makes parts of a campaign, one after the other. Their folders are made in `scratch`, or where such belong."""

    def __init__(self, plan: EnsemblePlan, store: Store, scratch: str | None = None) -> None:
        self.plan = plan
        self.store = store
        self._scratch = scratch

    def make(self, part: int) -> None:
        """Make the runs of a part and write them. StoreError if they cannot be written; then the part has no runs."""
        rows: list[dict[str, Any]] = []
        recordings: Files = []
        with self.store.telling(part) as tell, TemporaryDirectory(prefix="zabcheck-", dir=self._scratch) as folder:
            for number in self.plan.runs_of(part):
                row, files = self.record(number, Path(folder, "run"))
                rows.append({**row, "part": part})
                if self.plan.keep == "events" or (self.plan.keep == "violations" and row["wrong"]):
                    recordings += files
                tell(len(rows))
        if self.plan.keep != "none":
            self._write(EVENTS_FOLDER, part, recordings, RECORDINGS)
        self._write(RUNS_FOLDER, part, rows, ENSEMBLE_RUNS)

    def _write(self, folder: str, part: int, rows: Files, schema: pa.Schema) -> None:
        self.store.write_table(
            name_of(folder, part), [pa.RecordBatch.from_pylist(rows, schema)], schema, **RUNS_PARQUET
        )

    def record(self, number: int, folder: Path) -> tuple[dict[str, Any], Files]:
        """Make one run of the plan in `folder`; return its row, and the files of its recording.

        KeyboardInterrupt after Ctrl-C.
        """
        simulators = _warm_for(self.plan.build_of(number))
        simulators.draw_anew()
        start = process_time() + simulators.cpu()
        tried = attempt(self.plan.schedule_of(number), simulators.distribution, folder, self.plan.properties)
        if tried.interrupted:
            raise KeyboardInterrupt
        row = {
            "run": number,
            "seed": str(self.plan.seed_of(number)),
            "zookeeper": simulators.distribution.version,
            **_outcome(tried),
            "seconds": round(process_time() + simulators.cpu() - start, 6),
        }
        paths = [folder / RECORDING, *sorted(folder.glob("*.log"))]
        return row, [{"run": number, "file": path.name, "content": path.read_bytes()} for path in paths]


def _outcome(tried: Attempt) -> dict[str, Any]:
    """Return the columns of a run's verdict, schedule and size."""
    judged, schedule = tried.judged, tried.schedule
    verdicts: list[Verdict | ClientVerdict] = [*judged.verdicts, *judged.clients]
    states = coverage.states_of(judged.observation.events, judged.observation.header.processes)
    return {
        "wrong": judged.wrong,
        "known": list(dict.fromkeys(each.issue.name for each in judged.known)),
        "noticed": judged.noticed,
        "faults": list(dict.fromkeys(_faults(schedule))),
        "order_of_threads": "" if schedule.simulated is None else strategy_of(schedule.simulated),
        "exercised": [each.property for each in verdicts if each.status in ("holds", "violated")],
        "partial": bool(judged.observation.partial),
        "error": tried.error or None,
        "schedule": encode(schedule).decode() if judged.wrong or tried.error else None,
        "asked": judged.counts.asked,
        "acknowledged": judged.counts.acknowledged,
        "epochs": judged.counts.epochs,
        "packets": judged.steps.packets,
        "logged": sum(each.logged for each in judged.coverage),
        "delivered": sum(each.delivered for each in judged.coverage),
        "states": sorted(map(coverage.fingerprint, states)),
        "orders": sorted(coverage.fingerprint_of(repr(order).encode()) for order in judged.orders),
    }


_PROGRESS = frozenset(
    kind.__struct_config__.tag
    for kind in (
        *(Await, AwaitStop, Elected, Go, Heal, Mend, ReadFields, Release, Resume, Settle, Start, StartAll, Step, Wait),
        *(Delete, Ephemeral, Get, Multi, SetData, Write),
    )
)
"""The kinds of choices that are no faults: they ask, wait, or end a fault."""


def _faults(schedule: EnsembleSchedule) -> Iterator[str]:
    for choice in schedule.choices:
        kind = choice.__struct_config__.tag
        if kind not in _PROGRESS:
            yield str(kind)


def strategy_of(order: ThreadOrder) -> str:
    """Return the strategy of an order of threads in words: "uniform 100, stalls 300"."""
    return f"{order.strategy} {order.first}" + (f", stalls {order.second}" if order.second else "")


_warm = ExitStack()
_of_build: dict[Build, Simulators] = {}
"""The simulators of the build whose parts this process makes at present."""


def _warm_for(build: Build) -> Simulators:
    """Return the simulators of a build; those of another one end. NoZooKeeper if the worker has another version."""
    if build not in _of_build:
        cool()
        simulators = Simulators(_found(build))
        _warm.callback(simulators.close)
        _of_build[build] = simulators
    return _of_build[build]


def cool() -> None:
    """End the simulators that are warm in this process."""
    _of_build.clear()
    _warm.close()


def _found(build: Build) -> Distribution:
    found = find(None if build.java is None else Path(build.java), None, build.classpath)
    if found.version != build.zookeeper:
        raise NoZooKeeper(f"{build.classpath}: expected ZooKeeper {build.zookeeper}, found {found.version} on a worker")
    version = version_of(found.java)
    if version != build.java_version:
        expected = f"{found.java}: expected Java {build.java_version}, found {version} on a worker"
        raise NoZooKeeper(f"{expected}: a seed would give another run there; name a Java with --java")
    return found
