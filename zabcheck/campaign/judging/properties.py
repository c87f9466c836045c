"""The six properties of DSN 2011, III-A over stored runs, as Spark DataFrame code.

It judges many runs in one table, or one run of any length. It is an implementation of its own, which does not ask the
incremental judge (`invariants.Judge`) whether a run is broken, so the two check each other. Each run is judged in one
of three ways:

    on a path   all delivered sequences are prefixes of one path, with or without restored prefixes. These are all runs
                of a correct protocol, and most runs of a broken one (`zabcheck.campaign.judging.on_a_path`)
    forked      any other run in which nothing is restored (`zabcheck.campaign.judging.forked`)
    streamed    the rest: a prefix was restored, and the sequences do not lie on one path, or the prefix is not on it.
                Chain hashes are sequential, and here each way through the tree has one. The events of these runs go
                through the incremental judge in the executors, one run after the other
                (`zabcheck.campaign.judging.streamed`); only for these runs is the verdict not independent

The verdicts are those of `invariants.check`. Witnesses are found separately, by `explain`.
"""

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import TraceError, Verdict
from zabcheck.campaign.judging.forked import judge_forked
from zabcheck.campaign.judging.narrow_rows import narrow_rows
from zabcheck.campaign.judging.on_a_path import judge_on_a_path, without_false_prefixes
from zabcheck.campaign.judging.streamed import judge_streamed, verdicts_of
from zabcheck.campaign.judging.verdicts import NOT_EXERCISED, SIX, VERDICTS, VIOLATED, columns_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHUNK = 2_000_000
"""How many places of a run are sorted together at most. Shorter runs are not divided."""

ROWS_A_TASK = 1_500_000
"""About how many events a task of a shuffle gets."""

FEW_RUNS = 1_000_000
"""The most run numbers that are broadcast to every executor."""

ON_A_PATH, FORKED, STREAMED = "on a path", "forked", "streamed"


def judge(events: "DataFrame", facts: "DataFrame", chunk: int = CHUNK) -> "DataFrame":
    """Make a row for each run: its verdicts (see `zabcheck.campaign.judging.verdicts`), and `how` it was judged.

    `events` has the columns of `invariants.columns`, its rows in any order. `facts` is `facts_of(events)`; persist it,
    as it is used several times, and by the result. Nothing is collected but counts.

    TraceError for a run whose order is broken, so that it cannot be judged; `facts` shows that beforehand.
    """
    [size] = facts.agg(
        F.sum("relevant").alias("relevant"), F.max("last").alias("longest"), F.sum("restores").alias("restores")
    ).collect()
    if not size["relevant"]:
        return _unexercised(facts).withColumn("how", F.lit(ON_A_PATH))
    restored = size["restores"] > 0
    narrow = narrow_rows(events)
    found = judge_on_a_path(*_partitioned_by_run(narrow, size["relevant"], size["longest"], restored, chunk))
    found = _completed(facts.join(found, "run", "left")).persist()
    counted = found.groupBy("how").agg(
        F.count(F.lit(1)).alias("runs"), F.sum("relevant").alias("relevant"), F.max("last").alias("longest")
    )
    counts = {row["how"]: row for row in counted.collect()}
    on_path = found.filter(F.col("how") == ON_A_PATH)
    streamed = found.filter(F.col("how") == STREAMED).select("run")
    uncertain = counts.get(_UNCERTAIN)
    if uncertain is not None:
        asked = found.filter(F.col("how") == _UNCERTAIN)
        with_values = _only(narrow_rows(events, value=True), asked, uncertain["runs"])
        right = without_false_prefixes(with_values).withColumn("right", F.lit(True)).persist()
        on_path = on_path.union(asked.join(right, "run", "leftsemi"))
        streamed = streamed.union(asked.join(right, "run", "leftanti").select("run"))
    results = [on_path.select(*VERDICTS).withColumn("how", F.lit(ON_A_PATH))]
    forked = counts.get(FORKED)
    if forked is not None:
        odd = _only(narrow, found.filter(F.col("how") == FORKED), forked["runs"])
        odd, *_ = _partitioned_by_run(odd, forked["relevant"], forked["longest"], restored, chunk)
        results.append(_settled(judge_forked(odd, restored)).withColumn("how", F.lit(FORKED)))
    if uncertain is not None or STREAMED in counts:
        results.append(_streamed(_only(events, streamed, FEW_RUNS)).withColumn("how", F.lit(STREAMED)))
    return reduce(lambda one, other: one.unionByName(other), results)


_UNCERTAIN = "on a path, if the restored prefixes are on it"


def _partitioned_by_run(
    narrow: "DataFrame", rows: int, longest: int, restored: bool, chunk: int
) -> "tuple[DataFrame, bool, int | None]":
    """Return the arguments of `judge_on_a_path`: rows partitioned by run if no run is long, which saves a shuffle."""
    if longest > chunk:
        return narrow, restored, chunk
    return narrow.repartition(max(2, -(-rows // ROWS_A_TASK)), "run"), restored, None


def _only(rows: "DataFrame", runs: "DataFrame", count: int) -> "DataFrame":
    """Select the rows of the given runs."""
    runs = runs.select("run")
    return rows.join(F.broadcast(runs) if count <= FEW_RUNS else runs, "run", "leftsemi")


def _completed(found: "DataFrame") -> "DataFrame":
    """Add how each run has to be judged; an empty run exercises nothing."""
    only_restored = F.col("odd").isNull() & (F.col("restores") > 0)
    how = (
        F.when(F.col("strange") | (only_restored & (F.col("prefixes") > 0)), STREAMED)
        .when(F.col("odd") & (F.col("prefixes") > 0), STREAMED)
        .when(F.col("odd"), FORKED)
        .when(F.col("prefixes") > 0, _UNCERTAIN)
        .otherwise(ON_A_PATH)
    )
    return _settled(found).select(*VERDICTS, how.alias("how"), "relevant", "last")


def _settled(found: "DataFrame") -> "DataFrame":
    """Fill in "not exercised" where there is no verdict."""
    codes = {columns_of(name)[0]: NOT_EXERCISED for name in SIX}
    return found.fillna(codes)


def _unexercised(facts: "DataFrame") -> "DataFrame":
    nothing: list[Column] = []
    for name in SIX:
        code, at = columns_of(name)
        nothing += [F.lit(NOT_EXERCISED).alias(code), F.lit(None).cast("long").alias(at)]
    return facts.select("run", *nothing)


def _streamed(events: "DataFrame") -> "DataFrame":
    """Return the verdicts of the incremental judge; the place of the evidence is left null, as a witness shows it."""
    said = judge_streamed(events)
    columns: list[Column] = []
    for number, name in enumerate(SIX):
        code, at = columns_of(name)
        columns += [F.get("codes", F.lit(number)).alias(code), F.lit(None).cast("long").alias(at)]
    return said.select("run", *columns)


def explain(events: "DataFrame", runs: Iterable[int]) -> dict[int, list[Verdict]]:
    """Return the incremental judge's verdicts on the given runs, with witnesses, as if each run had come to its end.

    Meant for as many runs as a person reads. An executor needs memory for the distinct transactions of a run.
    TraceError for a run that the incremental judge cannot read.
    """
    rows = judge_streamed(events.filter(F.col("run").isin(list(runs)))).collect()
    wrong = [row for row in rows if row["error"] is not None]
    if wrong:
        raise TraceError(f"run {wrong[0]['run']}, {wrong[0]['error']}")
    return {row["run"]: verdicts_of(row["verdicts"]) for row in rows}


__all__ = ["CHUNK", "FORKED", "ON_A_PATH", "STREAMED", "VIOLATED", "explain", "judge"]
