"""What a campaign answers: small tables over its rows of `runs`, made by Spark.

Each module makes some of the tables: `counts` says what happened, `saturation` whether more runs would find more, and
`configurations` which faults matter, all with the statistics of `ratios`. The rows of the tables are defined in
`zabcheck.campaign.results`.

Only DataFrame operations are used, so any session will do, Spark Connect's too. What is collected has the size of the
table, or one row a part: never one row a run.
"""

from types import NoneType
from typing import TYPE_CHECKING, get_args, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import Struct
from pyspark.errors import PySparkException

from zabcheck.campaign.plan import Plan
from zabcheck.campaign.results import Tables
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.spark_errors import one_line
from zabcheck.campaign.store import Store, StoreError
from zabcheck.campaign.tables.configurations import configurations_table
from zabcheck.campaign.tables.counts import (
    broken_table,
    distributions_table,
    goals_table,
    histograms_table,
    mutants_table,
    overview_table,
    properties_table,
    raised_table,
)
from zabcheck.campaign.tables.saturation import first_runs, growth_table, saturation_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = "tables"
"""The folder of the tables, in the campaign's folder."""


def make(spark: "SparkSession", store: Store, plan: Plan) -> Tables:
    """Compute all tables of the campaign, over the parts that are finished.

    StoreError if a file cannot be read; call `check` first, which finds that out without Spark. The time is linear in
    the number of runs: a million runs in 500 parts took a minute on two cores, and no table took more than a sixth.
    """
    try:
        runs = read(spark, store)
        total = overview_table(runs, plan)
        goals = goals_table(runs)
        firsts = first_runs(runs).cache()
        grown = growth_table(runs, firsts, goals)
        end = saturation_table(firsts, grown, total.parts, plan.runs_a_part)
        firsts.unpersist()
        return Tables(
            overview=(msgspec.structs.replace(total, states=end.states),),
            properties=properties_table(runs, plan.properties, broken := broken_table(runs)),
            goals=goals,
            growth=grown,
            saturation=(end,),
            mutants=mutants_table(runs, plan.mutants),
            broken=broken,
            raised=raised_table(runs) if total.raised else (),
            configurations=configurations_table(runs, plan.mutants),
            distributions=(distributions := distributions_table(runs)),
            histograms=histograms_table(runs, distributions),
        )
    except PySparkException as error:
        raise StoreError(f"{store.place}: {one_line(error)}") from None


def check(store: Store) -> None:
    """Raise StoreError, with the name of the file, if no part is finished, or one is corrupt or has other columns.

    This needs no Spark, so a damaged file is reported before Java is started, and in one line: Spark would log a page
    for each one. Every file is read once, which takes a few milliseconds each.
    """
    names = store.finished().values()
    if not names:
        raise StoreError(f"{store.place}: no part of this campaign is finished yet")
    for name in names:
        store.table(name, RUNS)


def read(spark: "SparkSession", store: Store) -> "DataFrame":
    """Read the rows of all finished parts. Each file is named: more parts may be finished while Spark counts."""
    return spark.read.parquet(*(store.uri(name) for name in store.finished().values()))


def write(store: Store, tables: Tables) -> list[str]:
    """Write each table to `tables/NAME.parquet` and return the file names. StoreError if a file cannot be written."""
    written = []
    for field in msgspec.structs.fields(Tables):
        kind = get_args(field.type)[0]
        schema = schema_of(kind)
        rows = [msgspec.structs.asdict(row) for row in getattr(tables, field.name)]
        name = f"{FOLDER}/{field.name}.parquet"
        store.write_table(name, [pa.RecordBatch.from_pylist(rows, schema)], schema, compression="zstd")
        written.append(name)
    return written


def schema_of(kind: type[Struct]) -> pa.Schema:
    """Return the Parquet columns of a table whose rows are of type `kind`."""
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    fields = []
    for name, hint in get_type_hints(kind).items():
        options = get_args(hint) or (hint,)
        [plain] = [option for option in options if option is not NoneType]
        fields.append(pa.field(name, types[plain], nullable=NoneType in options))
    return pa.schema(fields)
