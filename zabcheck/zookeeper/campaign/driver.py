"""The driver of a campaign on simulated servers: it has the missing parts made, as tasks on Spark."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from zabcheck.campaign.driver import AnyMaker, Progress, make_parts
from zabcheck.campaign.store import Store
from zabcheck.zookeeper.campaign.part import EnsembleMaker
from zabcheck.zookeeper.campaign.plan import EnsemblePlan
from zabcheck.zookeeper.campaign.schema import ENSEMBLE_RUNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: "SparkSession", store: Store, plan: EnsemblePlan, on_progress: Callable[[Progress], None]) -> None:
    """Make the missing parts; again, after whatever stopped it. Raises as `campaign.driver.run`."""
    progress = Progress(plan.parts)

    def take(name: str) -> None:
        rows = store.table(name, ENSEMBLE_RUNS, ["run", "wrong"])
        progress.finished += 1
        progress.runs += rows.num_rows
        progress.failing += sum(bool(wrong) for wrong in rows["wrong"].to_pylist())

    make_parts(spark, store, plan, _maker, ENSEMBLE_RUNS, progress, take, on_progress)


def _maker(plan: EnsemblePlan, store: Store) -> AnyMaker:
    """Return a maker whose folders are in one that Spark removes, even if it has to kill the worker."""
    from pyspark import SparkFiles

    return EnsembleMaker(plan, store, SparkFiles.getRootDirectory())
