"""The questions of the tables, answered by Spark, for campaigns of any size.

Only DataFrame operations are used, so any session will do, Spark Connect's too. What is collected has the size of the
table: never one row a run. The heavy column is `states`: it costs one shuffle of 16 bytes for each state of each part.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as f

from invariants.quorums import MAJORITY
from zabcheck.campaign.store import Store
from zabcheck.campaign.tables.questions import BINS, FIGURES, MOST_RAISED, PERCENTILES, SUMS, Key
from zabcheck.campaign.tables.saturation import block_width
from zabcheck.campaign.tables.things import FAULTS, LETTERS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def read(spark: "SparkSession", store: Store) -> "DataFrame":
    """Read the rows of all finished parts. Each file is named: more parts may be finished while Spark counts."""
    return spark.read.parquet(*(store.uri(name) for name in store.finished().values()))


class OnSpark:
    """Answers to `Questions` about `runs`. PySparkException if a file cannot be read."""

    def __init__(self, runs: "DataFrame") -> None:
        self.runs = runs

    def overview(self) -> Mapping[str, Any]:
        as_it_is = f.col("mutant").isNull()
        [row] = self.runs.agg(
            f.count("*").alias("runs"),
            f.count_distinct("part").alias("parts"),
            *(f.sum(name).alias(name) for name in SUMS),
            f.max("longest").alias("longest"),
            f.count("broken").alias("violating"),
            f.count_if(f.col("raised").isNotNull() & f.col("broken").isNull()).alias("raised"),
            f.count_if(as_it_is).alias("as_it_is"),
            f.count_if(as_it_is & f.col("broken").isNotNull()).alias("broken_as_it_is"),
            _seconds("seconds"),
        ).collect()
        return dict(row.asDict())

    def judged(self) -> Mapping[Key, Key]:
        return _by_key(
            self.runs.select(f.explode("judged").alias("property", "times"))
            .groupBy("property")
            .agg(f.count_if(f.col("times") > 0).alias("exercised"), f.sum("times").alias("judged"))
        )

    def goals(self) -> Mapping[Key, Key]:
        return _by_key(
            self.runs.select("run", f.explode("goals").alias("goal")).groupBy("goal").agg(f.count("*"), f.min("run"))
        )

    def mutants(self) -> Mapping[Key, Key]:
        return _by_key(
            self.runs.groupBy("mutant").agg(f.count("*"), f.sum("steps"), _seconds("seconds"), f.count("broken"))
        )

    def waits(self) -> Mapping[Key, Key]:
        """Runs of the same detection are those with the same number of detections before them (column `before`)."""
        before = Window.partitionBy("mutant").orderBy("run").rowsBetween(Window.unboundedPreceding, -1)
        waits = (
            self.runs.select("mutant", "run", "seconds", "broken")
            .withColumn("before", f.count("broken").over(before))
            .groupBy("mutant", "before")
            .agg(f.round(f.sum("seconds"), 6).alias("wait"), f.count("broken").alias("detections"))
            .where("detections = 1")
        )
        return _by_key(waits.groupBy("mutant").agg(f.percentile("wait", 0.5), f.max("wait")))

    def broken_first(self) -> Mapping[Key, Key]:
        return _by_key(self.runs.where("broken is not null").groupBy("mutant", "broken").count(), 2)

    def violated(self) -> Mapping[Key, Key]:
        return _by_key(self.runs.select("mutant", f.explode("violated")).groupBy("mutant", "col").count(), 2)

    def raised(self) -> Sequence[Key]:
        grouped = self.runs.where("raised is not null").groupBy("mutant", "raised")
        found = grouped.agg(f.count("*").alias("runs"), f.min("run").alias("first"))
        return [tuple(row) for row in found.orderBy(f.desc("runs"), "first").limit(MOST_RAISED).collect()]

    def percentiles(self) -> Mapping[str, Sequence[float]]:
        at = f.array(*map(f.lit, PERCENTILES))
        [row] = self.runs.agg(*(f.percentile(_figure(name), at).alias(name) for name in FIGURES)).collect()
        return dict(row.asDict())

    def bins(self, least: Mapping[str, float], width: Mapping[str, float]) -> Mapping[Key, Key]:
        bins = []
        for name in FIGURES:
            place = f.floor((_figure(name) - least[name]) / (width[name] or 1.0))
            bins.append(f.struct(f.lit(name).alias("figure"), f.least(place, f.lit(BINS)).alias("bin")))
        return _by_key(self.runs.select(f.inline(f.array(*bins))).groupBy("figure", "bin").count(), 2)

    def blocks(self) -> tuple[int, Mapping[Key, Key]]:
        [(last,)] = self.runs.agg(f.max("run")).collect()
        width = block_width(last)
        return width, _by_key(self.runs.groupBy(_block(width)).agg(f.count("*"), f.count("broken")))

    def new_states(self, width: int) -> Mapping[Key, Key]:
        return _by_key(self._firsts.groupBy(_block(width)).agg(f.count("*"), f.count_distinct("run")))

    def states(self) -> Key:
        counts = [f.count("*"), f.count_if(f.col("parts") == 1), f.count_if(f.col("parts") == 2)]
        [row] = self._firsts.agg(*counts).collect()
        return tuple(row)

    def drawn(self) -> Mapping[Key, Key]:
        exploded = self._counted.select("mutant", "steps", "violating", "new", f.inline(_drawn()))
        return _by_key(exploded.groupBy("mutant", "kind", "value").agg(*_sums()), 3)

    def all_of(self) -> Mapping[Key, Key]:
        return _by_key(self._counted.groupBy("mutant").agg(*_sums()))

    @cached_property
    def _firsts(self) -> "DataFrame":
        """A row for each abstract state: the first run that was in it, and how many parts reached it."""
        exploded = self.runs.select("run", f.explode("states").alias("state"))
        found = exploded.groupBy("state").agg(f.min("run").alias("run"), f.count("*").alias("parts"))
        return found.select("run", "parts").cache()

    @property
    def _counted(self) -> "DataFrame":
        return self.runs.select(
            "*",
            f.col("broken").isNotNull().cast("long").alias("violating"),
            f.size("states").cast("long").alias("new"),
        )

    def done(self) -> None:
        """Give back the memory that the answers took."""
        self._firsts.unpersist()


def _by_key(table: "DataFrame", keys: int = 1) -> dict[Key, Key]:
    """Collect a small table as a dictionary: the first `keys` columns give the key, the others the value."""
    return {tuple(row[:keys]): tuple(row[keys:]) for row in table.collect()}


def _block(width: int) -> "Column":
    return f.floor(f.col("run") / width).alias("block")


def _sums() -> "tuple[Column, ...]":
    """Return what `configurations.Sums` has."""
    new = f.col("new")
    return f.count("*"), f.sum("steps"), f.sum("violating"), f.sum("new"), f.sum(new * new)


def _figure(name: str) -> "Column":
    return f.round(name, 6) if name == "seconds" else f.col(name)


def _seconds(name: str) -> "Column":
    return f.round(f.sum(name), 6).alias(name)


def _drawn() -> "Column":
    """Return an array of what a run drew, each item a kind and a value; switches set as in the paper are left out."""

    def thing(kind: str, value: "Column") -> "Column":
        return f.struct(f.lit(kind).alias("kind"), value.alias("value"))

    def if_(condition: "Column", *things: "Column") -> "Column":
        return f.when(condition, f.array(*things)).otherwise(f.array().cast("array<struct<kind:string,value:string>>"))

    def said(setting: "Column") -> "Column":
        return f.concat_ws(" ", setting["key"], setting["value"])

    priorities = f.col("order") == "priorities"
    return f.concat(
        f.transform(f.filter(f.map_keys("weights"), lambda name: name.isin(*FAULTS)), lambda name: thing("move", name)),
        f.transform(
            f.filter(f.map_entries("switches"), lambda setting: ~said(setting).isin(*LETTERS)),
            lambda setting: thing("switch", said(setting)),
        ),
        f.array(thing("cycle", f.col("cycle").cast("string")), thing("processes", f.col("processes").cast("string"))),
        if_(priorities, thing("order", f.col("order")), thing("demoted", f.col("demoted").cast("string"))),
        if_(f.col("quorums") != MAJORITY, thing("quorums", f.lit("weighted"))),
    )
