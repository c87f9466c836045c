"""The tables of a campaign over its rows of `runs`, made by Spark, or in this process if they are few.

Each module makes some of the tables: `counts` the totals, `saturation` estimates of how much more runs would find, and
`settings` the influence of faults, all with the statistics of `ratios`. They ask in SQL, which both of the
`engines` understand. The rows of the tables are defined in `zabcheck.campaign.results`.
"""

from types import NoneType
from typing import TYPE_CHECKING, get_args, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import Struct

from zabcheck.campaign.plan import Plan
from zabcheck.campaign.results import Tables
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.spark_errors import one_line
from zabcheck.campaign.store import EVENTS_FOLDER, RUNS_FOLDER, Store, StoreError, name_of
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
from zabcheck.campaign.tables.engines import Ask, in_process, on_spark, stored_runs
from zabcheck.campaign.tables.saturation import growth_table, saturation_table
from zabcheck.campaign.tables.settings import settings_table
from zabcheck.invariants import Crash, Halt, Restore
from zabcheck.invariants.columns import SCHEMA as EVENTS
from zabcheck.invariants.events import EVENTS as KINDS
from zabcheck.search.goals import EXPECTED
from zabcheck.search.goals import unseen as goals_unseen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "tables"
"""The folder of the tables, in the campaign's folder."""

SMALL = 64 * 2**20
"""The most bytes of rows for which the tables are made without Spark."""


def is_small(store: Store) -> bool:
    """Return True if making the tables in this process costs less than starting Spark, in time and in memory."""
    return store.size(RUNS_FOLDER) <= SMALL


def make(spark: "SparkSession | None", store: Store, plan: Plan) -> Tables:
    """Compute all tables of the campaign, over the parts that are finished: by `spark`, or in this process if None.

    StoreError if a file cannot be read; call `check` first, which finds that out without Spark. The time is linear in
    the number of runs: a million runs in 500 parts took Spark a minute on two cores, and no table more than a sixth.
    """
    if spark is None:
        return _made(in_process(stored_runs(store)), plan)
    from pyspark.errors import PySparkException

    try:
        return _made(on_spark(spark, store), plan)
    except PySparkException as error:
        raise StoreError(f"{store.place}: {one_line(error)}") from None


def _made(ask: Ask, plan: Plan) -> Tables:
    total = overview_table(ask, plan)
    goals = goals_table(ask)
    grown, reached = growth_table(ask, goals)
    end = saturation_table(grown, reached, total.parts, plan.runs_a_part)
    return Tables(
        overview=(msgspec.structs.replace(total, states=end.states),),
        properties=properties_table(ask, plan.properties, broken := broken_table(ask)),
        goals=goals,
        growth=grown,
        saturation=(end,),
        mutants=mutants_table(ask, plan.mutants),
        broken=broken,
        raised=raised_table(ask),
        settings=settings_table(ask, plan.mutants),
        distributions=(distributions := distributions_table(ask)),
        histograms=histograms_table(ask, distributions),
    )


def check(store: Store, schema: pa.Schema = RUNS) -> None:
    """Raise StoreError, with the name of the file, if no part is finished, or one is corrupt or has other columns.

    This needs no Spark, so a damaged file is reported before Java is started, and in one line: Spark would log a page
    for each one. Every file is read once, which takes a few milliseconds each.
    """
    names = store.finished().values()
    if not names:
        raise StoreError(f"{store.place}: no part of this campaign is finished yet")
    for name in names:
        store.table(name, schema)


def unseen(store: Store, plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the goals that the runs could not be seen to reach, as `search.goals.unseen`; {} unless events are kept.

    The kinds of event are those of the first part. A crash, and what comes of one, may always come.
    """
    if plan.keep != "events":
        return {}
    part = min(store.finished())
    names = set(store.table(name_of(EVENTS_FOLDER, part), EVENTS, ["event"])["event"].unique().to_pylist())
    shown = {kind for kind in KINDS if kind.__struct_config__.tag in names}
    return goals_unseen(shown | {EXPECTED[kind] for kind in shown if kind in EXPECTED} | {Crash, Halt, Restore})


def write(store: Store, tables: Struct) -> list[str]:
    """Write each table, a field of `tables`, to `tables/NAME.parquet`, and return the file names.

    StoreError if a file cannot be written.
    """
    written = []
    for field in msgspec.structs.fields(tables):
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
