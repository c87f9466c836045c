"""Two engines that answer the same SQL about a campaign's runs: DuckDB on this machine, and Spark.

The SQL is that which both understand. DuckDB is taught names that Spark has: `explode` makes a row of each item of a
list, `size` counts the items, and `array_join` makes one text of them. The view `runs` has the columns of
`zabcheck.campaign.schema`, and

    micros   bigint   the CPU time in whole microseconds, so that a sum does not depend on the order of its terms
    new      bigint   how many states the run was in that no earlier run of its part was in
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]
Ask = Callable[[str], list[Row]]
"""Answers a query. The rows of an answer have no order, unless the query says one."""

_VIEW = """
CREATE TEMPORARY VIEW runs AS
SELECT *, cast(round(seconds * 1000000) AS bigint) AS micros, cast(size(states) AS bigint) AS new FROM stored
"""


def stored_runs(store: Store, schema: pa.Schema = RUNS) -> pa.Table:
    """Read the rows of all finished parts. StoreError if a file is corrupt or has other columns."""
    return pa.concat_tables(store.table(name, schema) for name in store.finished().values())


def in_process(rows: pa.Table, view: str = _VIEW) -> Ask:
    """Return a function that answers queries about these rows, in this process, without the cost of starting Spark.

    `view` makes the view `runs` of the table `stored`.
    """
    connection = duckdb.connect()
    connection.execute("CREATE MACRO explode(items) AS unnest(items)")
    connection.execute("CREATE MACRO size(items) AS len(items)")
    connection.execute("CREATE MACRO array_join(items, between) AS array_to_string(items, between)")
    connection.register("stored", rows)
    connection.execute(view)
    return lambda query: connection.execute(query).fetchall()


def on_spark(spark: "SparkSession", store: Store, view: str = _VIEW) -> Ask:
    """Return a function that answers queries about all finished parts, on Spark, without bringing runs to this process.

    Each file is named: more parts may be finished while Spark counts. PySparkException if a file cannot be read.
    """
    own = spark.newSession()  # its views have names of their own
    rows = own.read.parquet(*(store.uri(name) for name in store.finished().values()))
    rows.createOrReplaceTempView("stored")
    own.sql(view)
    return lambda query: [tuple(row) for row in own.sql(query).collect()]
