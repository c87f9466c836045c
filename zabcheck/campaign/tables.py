"""What a campaign answers: small tables over its rows of `runs`, made by Spark.

Each function here makes one table, by DataFrame operations only, so it works on any session, Spark Connect's too. What
is collected is of the size of the table, or of one row a part: never one a run.

The column `states` is the heavy one. For each run it has the fingerprints of those abstract states in which no earlier
run *of its part* was. So a fingerprint occurs at most once a part, and one grouping by fingerprint tells both: the
first run that was in the state, which is the least one, and the number of parts that reached it.
"""

from collections.abc import Iterable, Sequence
from math import ceil, isinf
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import Struct
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as f

from invariants.quorums import MAJORITY
from zabcheck.campaign import ratios
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.results import (
    BrokenRow,
    ConfigurationRow,
    DistributionRow,
    GoalRow,
    GrowthRow,
    HistogramRow,
    Kind,
    MutantRow,
    Overview,
    PropertyRow,
    RaisedRow,
    Saturation,
    Tables,
)
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.spark_errors import reason
from zabcheck.campaign.store import Store, StoreError
from zabcheck.protocols.switches import LETTER
from zabcheck.search.goals import GOALS
from zabcheck.search.moves import OPTIONAL, SELDOM

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FOLDER = "tables"
POINTS = 40
"""Of the growth of a campaign so many points are told, at most."""
BINS = 30
"""So many bins a histogram has, at most, and one for what lies above the 99th percentile."""
MOST_RAISED = 20
"""So many different exceptions are told, the most frequent ones."""
FIGURES = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs", "longest", "seconds")
"""The columns whose distribution is told."""
MILLION = 1_000_000


def make(spark: "SparkSession", store: Store, plan: Plan) -> Tables:
    """All tables of the campaign, over the parts that are finished.

    StoreError if a file cannot be read; see `check` for what should be seen before. The time grows with the number of
    runs: a million in 500 parts took a minute on two cores, with no step of it above a sixth.
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
            distributions=(spread := distributions_table(runs)),
            histograms=histograms_table(runs, spread),
        )
    except PySparkException as error:
        raise StoreError(f"{store.place}: {reason(error)}") from None


def check(store: Store) -> None:
    """StoreError if no part is finished, or one is corrupt or has other columns; it names the file.

    It needs no Spark, so what is wrong is known before Java is started, and in one line: Spark would log a page of its
    own for each damaged file. Every file is read once for that, a few milliseconds each.
    """
    names = store.finished().values()
    if not names:
        raise StoreError(f"{store.place}: no part of this campaign is finished yet")
    for name in names:
        store.table(name, RUNS)


def read(spark: "SparkSession", store: Store) -> "DataFrame":
    """The rows of all parts that are finished. They are named one by one: more may be finished while we count."""
    return spark.read.parquet(*(store.uri(name) for name in store.finished().values()))


def write(store: Store, tables: Tables) -> list[str]:
    """Write each table to `tables/NAME.parquet`; the names. StoreError if that cannot be."""
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
    """The columns of a table whose rows are `kind`."""
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    fields = []
    for name, hint in get_type_hints(kind).items():
        options = get_args(hint) or (hint,)
        [plain] = [option for option in options if option is not NoneType]
        fields.append(pa.field(name, types[plain], nullable=NoneType in options))
    return pa.schema(fields)


# What happened.


def overview_table(runs: "DataFrame", plan: Plan) -> Overview:
    """The campaign in a row. Of the states nothing is known here: 0."""
    as_it_is = f.col("mutant").isNull()
    sums = ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs")
    [row] = runs.agg(
        f.count("*").alias("runs"),
        f.count_distinct("part").alias("parts"),
        *(f.sum(name).alias(name) for name in sums),
        f.max("longest").alias("longest"),
        f.count("broken").alias("violating"),
        f.count("raised").alias("raised"),
        f.count_if(as_it_is).alias("as_it_is"),
        f.count_if(as_it_is & f.col("broken").isNotNull()).alias("broken_as_it_is"),
        _seconds("seconds"),
    ).collect()
    planned = {"planned_runs": plan.runs, "planned_parts": plan.parts, "states": 0}
    return Overview(**row.asDict(), **planned)


def properties_table(
    runs: "DataFrame", properties: Sequence[str], broken: Sequence[BrokenRow]
) -> tuple[PropertyRow, ...]:
    """A row for each of the plan's properties, also for one that nothing exercised."""
    judged = _by(
        runs.select(f.explode("judged").alias("property", "times"))
        .groupBy("property")
        .agg(f.count_if(f.col("times") > 0).alias("exercised"), f.sum("times").alias("judged"))
    )
    rows = []
    for name in properties:
        exercised, times = judged.get((name,), (0, 0))
        mine = [row for row in broken if row.property == name]
        violated, first = sum(row.violated for row in mine), sum(row.first for row in mine)
        rows.append(PropertyRow(name, exercised, times, violated, first))
    return tuple(rows)


def goals_table(rows: "DataFrame") -> tuple[GoalRow, ...]:
    """A row for each goal that there is, also for one that nothing reached."""
    reached = _by(rows.select("run", f.explode("goals").alias("goal")).groupBy("goal").agg(f.count("*"), f.min("run")))
    found = {goal: reached.get((goal,), (0, None)) for goal in GOALS}
    return tuple(GoalRow(goal, runs, first, GOALS[goal]) for goal, (runs, first) in found.items())


def mutants_table(runs: "DataFrame", mutants: Sequence[str | None]) -> tuple[MutantRow, ...]:
    """A detection's time is that of the runs since the one before: they are numbered by the detections before them."""
    totals = _by(runs.groupBy("mutant").agg(f.count("*"), f.sum("steps"), _seconds("seconds"), f.count("broken")))
    before = Window.partitionBy("mutant").orderBy("run").rowsBetween(Window.unboundedPreceding, -1)
    waits = (
        runs.select("mutant", "run", "seconds", "broken")
        .withColumn("before", f.count("broken").over(before))
        .groupBy("mutant", "before")
        .agg(f.sum("seconds").alias("wait"), f.count("broken").alias("detections"))
        .where("detections = 1")
    )
    spent = _by(waits.groupBy("mutant").agg(f.round(f.percentile("wait", 0.5), 6), f.round(f.max("wait"), 6)))
    rows = []
    for mutant in dict.fromkeys(mutants):
        count, steps, seconds, violating = totals.get((mutant,), (0, 0, 0.0, 0))
        rate = violating * MILLION / steps if steps else 0.0
        rows.append(MutantRow(mutant, count, steps, seconds, violating, rate, *spent.get((mutant,), (None, None))))
    return tuple(rows)


def broken_table(runs: "DataFrame") -> tuple[BrokenRow, ...]:
    """The protocol as it is comes first, then the mutants by name."""
    first = _by(runs.where("broken is not null").groupBy("mutant", "broken").count(), 2)
    violated = _by(runs.select("mutant", f.explode("violated")).groupBy("mutant", "col").count(), 2)
    keys = sorted({**first, **violated}, key=lambda key: (key[0] is not None, key))
    return tuple(BrokenRow(*key, *first.get(key, (0,)), *violated.get(key, (0,))) for key in keys)


def raised_table(runs: "DataFrame") -> tuple[RaisedRow, ...]:
    """The most frequent exceptions first, of equally frequent ones the one that came first."""
    grouped = runs.where("raised is not null").groupBy("mutant", "raised")
    found = grouped.agg(f.count("*").alias("runs"), f.min("run").alias("first"))
    return tuple(RaisedRow(*row) for row in found.orderBy(f.desc("runs"), "first").limit(MOST_RAISED).collect())


# Is it saturated?


def first_runs(runs: "DataFrame") -> "DataFrame":
    """A row for each abstract state: the first run that was in it, and how many parts reached it.

    One shuffle of 16 bytes for each state of each part.
    """
    exploded = runs.select("run", f.explode("states").alias("state"))
    return exploded.groupBy("state").agg(f.min("run").alias("run"), f.count("*").alias("parts")).select("run", "parts")


def growth_table(runs: "DataFrame", firsts: "DataFrame", goals: Iterable[GoalRow]) -> tuple[GrowthRow, ...]:
    """Up to `POINTS` rows, each for as many run numbers as the others."""
    [(last,)] = runs.agg(f.max("run")).collect()
    width = ceil((last + 1) / POINTS)
    block = f.floor(f.col("run") / width).alias("block")
    done = _by(runs.groupBy(block).agg(f.count("*"), f.count("broken")))
    new = _by(firsts.groupBy(block).agg(f.count("*"), f.count_distinct("run")))
    reached = [goal.first // width for goal in goals if goal.first is not None]
    rows: list[GrowthRow] = []
    count = states = violating = 0
    for key in sorted(done):
        (number,) = key
        here, broken = done[key]
        found, discovering = new.get(key, (0, 0))
        count, states, violating = count + here, states + found, violating + broken
        goals_so_far = sum(each <= number for each in reached)
        rows.append(GrowthRow(count, states, found, discovering, 1000 * found / here, goals_so_far, violating))
    return tuple(rows)


def saturation_table(firsts: "DataFrame", grown: Sequence[GrowthRow], parts: int, part_runs: int) -> Saturation:
    """How much would more runs find? Three answers, none of which assumes anything of the protocol.

    1. The share of the last tenth of the runs that reached a state in which no run before was. It estimates the chance
       that the next run does, from above, as discoveries get rarer. Its interval is Wilson's.
    2. The number of new states in the next part, after Good and Turing (I. J. Good: "The population frequencies of
       species and the estimation of population parameters", Biometrika 1953): with a part as the sample, that is the
       number of states which only one part reached, by the number of parts. For each part it says how many states
       would be new in it if it came last, so on average over the parts it is not biased. M. Böhme, "STADS: Software
       testing as species discovery" (TOSEM 2018), uses it to decide when a fuzzer may stop; the sample is a test there.
    3. A lower bound of how many states can be reached at all by runs such as these (A. Chao 1987, "Chao2", corrected
       for its bias), from the number of states that only one part reached, and of those that only two did.

    None of this says anything of other configurations, longer runs, or concrete states.
    """
    counts = [f.count("*"), f.count_if(f.col("parts") == 1), f.count_if(f.col("parts") == 2)]
    [(states, once, twice)] = firsts.agg(*counts).collect()
    last = grown[-ceil(len(grown) / 10) :]
    last_runs = grown[-1].runs - (grown[-len(last) - 1].runs if len(last) < len(grown) else 0)
    discovering = sum(row.discovering for row in last)
    several = parts > 1
    return Saturation(
        runs=grown[-1].runs,
        states=states,
        last_runs=last_runs,
        last_new=sum(row.new for row in last),
        last_discovering=discovering,
        chance=discovering / last_runs,
        low=ratios.share(discovering, last_runs)[0],
        high=ratios.share(discovering, last_runs)[1],
        parts=parts,
        part_runs=part_runs,
        only_once=once,
        next_part=once / parts if several else None,
        reachable=states + (parts - 1) / parts * once * (once - 1) / (2 * (twice + 1)) if several else None,
    )


# Which faults matter?


class _Counts(Struct, frozen=True):
    """Of some runs together. `squares` is the sum of the squares of each one's new states."""

    runs: int = 0
    steps: int = 0
    violating: int = 0
    new: int = 0
    squares: int = 0

    def __add__(self, other: "_Counts") -> "_Counts":
        return _Counts(*(a + b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))

    def __sub__(self, other: "_Counts") -> "_Counts":
        return _Counts(*(a - b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))


def configurations_table(runs: "DataFrame", mutants: Sequence[str | None]) -> tuple[ConfigurationRow, ...]:
    """Each run counts for each thing that it drew; those without it are all runs less those with it.

    How often the first in the order falls behind is drawn by every run, but matters only under priorities: the runs
    "without" are there the others under priorities.
    """
    new = f.size("states").cast("long")
    counted = runs.select(
        "mutant",
        f.col("steps").cast("long").alias("steps"),
        f.col("broken").isNotNull().cast("long").alias("violating"),
        new.alias("new"),
        _drawn().alias("drawn"),
    )
    sums = (f.count("*"), f.sum("steps"), f.sum("violating"), f.sum("new"), f.sum(f.col("new") * f.col("new")))
    base = {mutant: _Counts(*row) for (mutant,), row in _by(counted.groupBy("mutant").agg(*sums)).items()}
    exploded = counted.select("mutant", "steps", "violating", "new", f.inline("drawn"))
    drawn = {key: _Counts(*row) for key, row in _by(exploded.groupBy("mutant", "kind", "value").agg(*sums), 3).items()}
    names = sorted({key[1:] for key in drawn}, key=_place)
    groups: list[tuple[bool, list[str | None]]] = [(True, list(base))]
    if len(mutants) > 1:
        groups += [(False, [mutant]) for mutant in dict.fromkeys(mutants) if mutant in base]
    rows = []
    for in_all, members in groups:
        everything = _sum(base[mutant] for mutant in members)
        of = {name: _sum(drawn.get((mutant, *name), _Counts()) for mutant in members) for name in names}
        for (kind, value), with_it in of.items():
            without = (of["order", "priorities"] if kind == "demoted" else everything) - with_it
            if min(with_it.steps, without.steps) > 0:
                detections = everything.violating > 0
                row = _compared(with_it, without, detections)
                rows.append(ConfigurationRow(in_all, None if in_all else members[0], kind, value, *row))
    return tuple(rows)


def _drawn() -> "Column":
    """An array of what a run drew, each thing a kind and a value. A setting that follows the paper is none."""

    def thing(kind: str, value: "Column") -> "Column":
        return f.struct(f.lit(kind).alias("kind"), value.alias("value"))

    def if_(condition: "Column", *things: "Column") -> "Column":
        return f.when(condition, f.array(*things)).otherwise(f.array().cast("array<struct<kind:string,value:string>>"))

    def is_a_fault(name: "Column") -> "Column":
        return name.isin(*OPTIONAL, *SELDOM)

    letter = {name: str(value) for name, value in msgspec.structs.asdict(LETTER).items()}

    def differs(setting: "Column") -> "Column":
        equal = [(setting["key"] == name) & (setting["value"] == value) for name, value in letter.items()]
        return ~f.greatest(*equal)

    priorities = f.col("order") == "priorities"
    return f.concat(
        f.transform(f.filter(f.map_keys("weights"), is_a_fault), lambda name: thing("move", name)),
        f.transform(
            f.filter(f.map_entries("switches"), differs),
            lambda setting: thing("switch", f.concat_ws(" ", setting["key"], setting["value"])),
        ),
        f.array(thing("cycle", f.col("cycle").cast("string")), thing("processes", f.col("processes").cast("string"))),
        if_(priorities, thing("order", f.col("order")), thing("demoted", f.col("demoted").cast("string"))),
        if_(f.col("quorums") != MAJORITY, thing("quorums", f.lit("weighted"))),
    )


def _place(name: tuple[str, str]) -> tuple[int, int, str]:
    """Where a thing stands in the table."""
    kind, value = name
    moves = (*OPTIONAL, *SELDOM)
    return get_args(Kind).index(kind), moves.index(value) if kind == "move" else 0, value


def _sum(counts: Iterable[_Counts]) -> _Counts:
    return sum(counts, _Counts())


def _compared(with_it: _Counts, without: _Counts, detections: bool) -> tuple[Any, ...]:
    """The fields of a row from `measure` on."""
    one, other = with_it, without
    if detections:
        found, found_without = one.violating, other.violating
        rates = found * MILLION / one.steps, found_without * MILLION / other.steps
        compared = ratios.of_rates(found, one.steps, found_without, other.steps)
    else:
        found, found_without = one.new, other.new
        rates = found / one.runs, found_without / other.runs
        compared = ratios.of_means(found, one.squares, one.runs, (found_without, other.squares, other.runs))
    ratio, low, high = compared
    return (
        "detections" if detections else "new states",
        *(one.runs, one.steps, found, rates[0]),
        *(other.runs, other.steps, found_without, rates[1]),
        *(None if isinf(ratio) else ratio, low, None if isinf(high) else high),
    )


# How runs are spread.


def distributions_table(runs: "DataFrame") -> tuple[DistributionRow, ...]:
    """Exact, interpolated between neighbours. CPU time is taken in microseconds, so that few values are different."""
    at = f.array(*map(f.lit, (0.0, 0.5, 0.9, 0.99, 1.0)))
    [row] = runs.agg(*(f.percentile(_figure(name), at).alias(name) for name in FIGURES)).collect()
    return tuple(DistributionRow(name, *row[name]) for name in FIGURES)


def histograms_table(runs: "DataFrame", spread: Iterable[DistributionRow]) -> tuple[HistogramRow, ...]:
    """Bins of equal width up to the 99th percentile, and one for what lies above."""
    widths, bins = {}, []
    for row in spread:
        width = (row.p99 - row.least) / BINS
        widths[row.figure] = width = width if row.figure == "seconds" else max(1, ceil(width))
        place = f.floor((_figure(row.figure) - row.least) / (width or 1.0))
        bins.append(f.struct(f.lit(row.figure).alias("figure"), f.least(place, f.lit(BINS)).alias("bin")))
    counts = _by(runs.select(f.inline(f.array(*bins))).groupBy("figure", "bin").count(), 2)
    rows = []
    for row in spread:
        last = max(place for figure, place in counts if figure == row.figure)
        for place in range(last + 1):
            low = row.least + place * widths[row.figure]
            high = max(low, row.most) if place == BINS else low + widths[row.figure]
            rows.append(HistogramRow(row.figure, low, high, *counts.get((row.figure, place), (0,))))
    return tuple(rows)


def _figure(name: str) -> "Column":
    return f.round(name, 6) if name == "seconds" else f.col(name)


# What they have in common.


def _by(table: "DataFrame", keys: int = 1) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """A small table as a dictionary, by its first columns: those that it was grouped by."""
    return {tuple(row[:keys]): tuple(row[keys:]) for row in table.collect()}


def _seconds(name: str) -> "Column":
    """The sum, without the last digits: they depend on the order in which machines are done."""
    return f.round(f.sum(name), 6).alias(name)
