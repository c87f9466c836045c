"""The driver of a campaign: it takes a campaign from its plan to its findings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from msgspec import Struct

from zabcheck.campaign import minimised
from zabcheck.campaign.findings import RAISED, Finding
from zabcheck.campaign.minimised import FailingRun, Minimiser
from zabcheck.campaign.part import Maker
from zabcheck.campaign.plan import AnyPlan, Plan
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.store import Store, StoreError, shared
from zabcheck.campaign.tasks import run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AnyMaker(Protocol):
    """Makes parts of a campaign, in a task."""

    def make(self, part: int) -> None: ...


class Progress(Struct):
    """The progress of a campaign.

    `runs`, `steps`, `events` and `failing` are of finished parts; `under_way` counts the runs of other parts that tasks
    have made, which are lost if the campaign ends now. `resumed` counts the runs of parts that were finished before the
    campaign was resumed. `idle` is the number of seconds for which Spark has been running no task, although there are
    tasks to run.
    """

    parts: int
    finished: int = 0
    runs: int = 0
    under_way: int = 0
    steps: int = 0
    events: int = 0
    resumed: int = 0
    failing: int = 0
    to_minimise: int = 0
    minimised: int = 0
    idle: float = 0


def run(
    spark: "SparkSession",
    store: Store,
    plan: Plan,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> tuple[Progress, list[Finding]]:
    """Make the missing parts, minimise the runs that failed, and write the findings.

    It is safe to call this again after whatever stopped it: finished parts are checked and not made again. An exception
    raised by `on_progress` ends the campaign, too. StoreError if a file in the folder is not what it should be, or
    cannot be written; TaskFailed if a task failed for another reason.
    """
    progress, failing = Progress(plan.parts), list[FailingRun]()

    def take(name: str) -> None:
        failing.extend(_take(store, name, progress))

    make_parts(spark, store, plan, Maker, RUNS, progress, take, on_progress)
    findings = _findings(spark, store, plan, failing, progress, on_progress)
    store.sweep()
    return progress, findings


def make_parts(
    spark: "SparkSession",
    store: Store,
    plan: AnyPlan,
    kind: Callable[[Any, Store], AnyMaker],
    schema: pa.Schema,
    progress: Progress,
    take: Callable[[str], None],
    on_progress: Callable[[Progress], None],
) -> None:
    """Check the finished parts, whose rows have this schema, and have makers of this kind make the missing ones.

    `take` is called with the name of each part's file of runs, once; it adds the part to the progress. Raises as `run`.
    """
    store.sweep()
    for part in store.finished():
        store.check_part(plan, part, schema)
    seen: set[int] = set()

    def look(idle: float) -> None:
        progress.idle = idle
        for part, name in store.finished().items():
            if part not in seen:
                seen.add(part)
                take(name)
        progress.under_way = sum(made for part, made in store.under_way().items() if part not in seen)
        on_progress(progress)

    look(0)
    progress.resumed = progress.runs
    missing = [part for part in range(plan.parts) if part not in seen]
    run_tasks(spark, missing, _maker(plan, kind, store.everywhere), look)
    if len(seen) < plan.parts:
        raise StoreError(f"{store.place}: expected {plan.parts} finished parts, found {len(seen)}")


def _take(store: Store, name: str, progress: Progress) -> list[FailingRun]:
    """Add a finished part to the progress, and return its runs that failed."""
    rows = store.table(name, RUNS, ["run", "mutant", "broken", "raised", "steps", "events"]).to_pylist()
    failing = [
        FailingRun(row["mutant"], row["broken"] or RAISED, row["run"])
        for row in rows
        if row["broken"] is not None or row["raised"] is not None
    ]
    progress.finished += 1
    progress.runs += len(rows)
    progress.steps += sum(row["steps"] for row in rows)
    progress.events += sum(row["events"] for row in rows)
    progress.failing += len(failing)
    return failing


def _maker(plan: AnyPlan, kind: Callable[[Any, Store], AnyMaker], place: str) -> Callable[[], Callable[[int], None]]:
    """Return a function that a worker calls once, to get the function that makes parts.

    Spark pickles the function and sends it to the workers, so it holds plain data only.
    """

    def worker() -> Callable[[int], None]:
        store = shared(place)
        maker = kind(plan, store)

        def make(part: int) -> None:
            if part not in store.finished():  # a task whose worker was lost may have finished the part
                maker.make(part)

        return make

    return worker


def _findings(
    spark: "SparkSession",
    store: Store,
    plan: Plan,
    failing: list[FailingRun],
    progress: Progress,
    on_progress: Callable[[Progress], None],
) -> list[Finding]:
    pieces = minimised.pieces_of(minimised.select_runs(failing, plan.minimise))
    progress.to_minimise = sum(map(len, pieces))

    def done() -> dict[int, int]:
        there = {f"{minimised.FOLDER}/{name}" for name in store.names(minimised.FOLDER)}
        return {number: len(piece) for number, piece in enumerate(pieces) if minimised.name_of(piece) in there}

    def look(idle: float) -> None:
        progress.idle = idle
        progress.minimised = sum(done().values())
        on_progress(progress)

    before = done()
    missing = [number for number in range(len(pieces)) if number not in before]
    place = store.everywhere

    def worker() -> Callable[[int], None]:
        minimiser = Minimiser(plan, shared(place))
        return lambda number: minimiser.work(pieces[number])

    run_tasks(spark, missing, worker, look)
    return minimised.write_findings(plan, store, minimised.group_alike(minimised.read(store, pieces)))
