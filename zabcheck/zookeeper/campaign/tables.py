"""The tables of a campaign on simulated servers: versions, bugs, and the faults with which they show."""

from math import isinf
from typing import TYPE_CHECKING

import msgspec

from zabcheck.campaign import tables as campaign_tables
from zabcheck.campaign.findings import FINDINGS
from zabcheck.campaign.spark_errors import one_line
from zabcheck.campaign.store import Store, StoreError
from zabcheck.campaign.tables.engines import Ask, Row, in_process, on_spark, stored_runs
from zabcheck.campaign.tables.ratios import of_rates
from zabcheck.zookeeper.campaign.plan import EnsemblePlan
from zabcheck.zookeeper.campaign.results import BugRow, EnsembleTables, FaultRow, FindingRow, VersionRow
from zabcheck.zookeeper.campaign.schema import ENSEMBLE_RUNS
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.verdict.judge import SEVEREST

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MILLION = 1_000_000

_VIEW = """
CREATE TEMPORARY VIEW runs AS
SELECT *, cast(round(seconds * 1000000) AS bigint) AS micros, array_join(wrong, ', ') AS what,
    array_join(known, ', ') AS looks_like
FROM stored
"""
_SHOWN = """
(SELECT run, zookeeper, explode(wrong) AS bug, false AS is_known FROM runs
UNION ALL SELECT run, zookeeper, explode(known) AS bug, true AS is_known FROM runs)
"""
_FAULTS = """
(SELECT run, zookeeper, explode(faults) AS fault FROM runs
UNION ALL SELECT run, zookeeper, concat('order ', order_of_threads) AS fault FROM runs)
"""


def check(store: Store) -> None:
    """Raise StoreError, with the name of the file, if no part is finished, or one is corrupt or has other columns."""
    campaign_tables.check(store, ENSEMBLE_RUNS)


def make(spark: "SparkSession | None", store: Store, plan: EnsemblePlan) -> EnsembleTables:
    """Compute all tables over the parts that are finished: by `spark`, or in this process if None.

    StoreError if a file cannot be read; call `check` first, which finds that out without Spark.
    """
    if spark is None:
        return _made(in_process(stored_runs(store, ENSEMBLE_RUNS), _VIEW), store, plan)
    from pyspark.errors import PySparkException

    try:
        return _made(on_spark(spark, store, _VIEW), store, plan)
    except PySparkException as error:
        raise StoreError(f"{store.place}: {one_line(error)}") from None


def _made(ask: Ask, store: Store, plan: EnsemblePlan) -> EnsembleTables:
    versions = _versions(ask, plan)
    bugs = _bugs(ask, plan)
    return EnsembleTables(versions, bugs, _faults(ask, versions, bugs), _findings(ask, store, plan))


def _versions(ask: Ask, plan: EnsemblePlan) -> tuple[VersionRow, ...]:
    sums = ("asked", "acknowledged", "epochs", "packets", "logged", "delivered", "micros")
    rows = ask(f"""
        SELECT zookeeper, count(*), count(*) FILTER (WHERE size(wrong) > 0), count(error),
            count(*) FILTER (WHERE partial), {", ".join(f"sum({name})" for name in sums)}
        FROM runs GROUP BY zookeeper
    """)
    found = {version: [*map(int, counts)] for version, *counts in rows}
    names = [build.zookeeper for build in plan.builds if build.zookeeper in found]
    reached = {name: _reached(ask, name) for name in names}
    return tuple(VersionRow(name, *found[name][:-1], found[name][-1] / MILLION, *reached[name]) for name in names)  # type: ignore[call-arg]  # all of them


def _reached(ask: Ask, version: str) -> tuple[int, int, int]:
    """Count the abstract states and packet orders of a version, and the runs since the last new one."""
    counts: list[int] = []
    newest = -1
    for column in ("states", "orders"):
        runs = f"SELECT run, explode({column}) AS each FROM runs WHERE zookeeper = '{version}'"
        [(count, last)] = ask(
            f"SELECT count(*), max(first) FROM (SELECT min(run) AS first FROM ({runs}) GROUP BY each)"
        )
        counts.append(int(count))
        newest = max(newest, -1 if last is None else int(last))
    [(since_new,)] = ask(f"SELECT count(*) FROM runs WHERE zookeeper = '{version}' AND run > {newest}")
    return counts[0], counts[1], int(since_new)


def _bugs(ask: Ask, plan: EnsemblePlan) -> tuple[BugRow, ...]:
    """Make a row for each version and bug; the most frequent bug of a version first."""
    rows = ask(f"SELECT zookeeper, bug, is_known, count(*), min(run) FROM {_SHOWN} GROUP BY zookeeper, bug, is_known")
    versions = [build.zookeeper for build in plan.builds]

    def order(row: Row) -> tuple[object, ...]:
        version, bug, is_known, runs, first = row
        rank = SEVEREST.index(bug) if bug in SEVEREST else len(SEVEREST)
        return versions.index(version), is_known, -runs, first, rank, bug

    bugs = []
    for version, bug, is_known, runs, first in sorted(rows, key=order):
        [[micros]] = ask(f"SELECT sum(micros) FROM runs WHERE zookeeper = '{version}' AND run <= {first}")
        bugs.append(BugRow(version, bug, is_known, runs, str(plan.seed_of(first)), int(micros) / MILLION))
    return tuple(bugs)


def _faults(ask: Ask, versions: tuple[VersionRow, ...], bugs: tuple[BugRow, ...]) -> tuple[FaultRow, ...]:
    """Make a row for each version, bug and fault, of faults that some runs have and others have not."""
    having = {
        (version, fault): runs
        for version, fault, runs in ask(f"SELECT zookeeper, fault, count(*) FROM {_FAULTS} GROUP BY zookeeper, fault")
    }
    both = {
        (version, bug, fault): runs
        for version, bug, fault, runs in ask(f"""
            SELECT shown.zookeeper, bug, fault, count(*)
            FROM {_SHOWN} AS shown JOIN {_FAULTS} AS had ON shown.run = had.run
            GROUP BY shown.zookeeper, bug, fault
        """)
    }
    total = {row.zookeeper: row.runs for row in versions}
    rows = []
    for bug in bugs:
        for (version, fault), runs in sorted(having.items()):
            without = total[version] - runs
            if version == bug.zookeeper and without:
                found = both.get((version, bug.bug, fault), 0)
                ratio, low, high = of_rates(found, runs, bug.runs - found, without)
                bounds = None if isinf(ratio) else ratio, low, None if isinf(high) else high
                rows.append(FaultRow(version, bug.bug, fault, runs, found, without, bug.runs - found, *bounds))
    return tuple(rows)


def _findings(ask: Ask, store: Store, plan: EnsemblePlan) -> tuple[FindingRow, ...]:
    """Make a row for each version and way in which runs were wrong, and write the schedule of the first such run."""
    groups = ask("""
        SELECT zookeeper, what, looks_like, count(*), min(run) AS first
        FROM runs WHERE size(wrong) > 0 GROUP BY zookeeper, what, looks_like ORDER BY first
    """)
    rows = []
    for version, what, known, runs, first in groups:
        [[text, wrong]] = ask(f"SELECT schedule, wrong FROM runs WHERE run = {first}")
        seed = plan.seed_of(first)
        schedule = schedules.decode(text.encode(), f"the schedule of run {first}")
        schedule = schedules.replaced(schedule, zookeeper=version, finds=wrong[0])
        name = f"{version}-seed-{seed}.schedule.json"
        store.write(f"{FINDINGS}/{name}", schedules.encode(schedule))
        rows.append(FindingRow(version, what, known, runs, str(seed), len(schedule.choices), name))
    return tuple(rows)


def write(store: Store, tables: EnsembleTables) -> list[str]:
    """Write each table to `tables/NAME.parquet` and return the file names. StoreError if a file cannot be written."""
    return campaign_tables.write(store, tables)


def fields(report_plan: EnsemblePlan, tables: EnsembleTables) -> dict[str, object]:
    """Return plan and tables as plain data."""
    plan: dict[str, object] = msgspec.to_builtins(report_plan)
    built: dict[str, object] = msgspec.to_builtins(tables)
    return {"plan": plan, **built}
