"""The six properties of DSN 2011, III-A over stored runs, as Spark DataFrame code.

For many runs in one table, or one run of any length. It is an implementation of its own: that a run is broken is not
asked of the incremental judge (`invariants.Judge`), and so the two check each other. A run goes where it can be judged:

    on a path   every delivered sequence is a prefix of one, restored or not: all runs of a correct protocol, and most
                of a broken one that are cheap to decide (`zabcheck.campaign.judging.on_a_path`)
    forked      any other run in which nothing is restored (`zabcheck.campaign.judging.forked`)
    streamed    the rest: a prefix was restored, and the sequences do not lie on one path, or the prefix is none of it.
                Chain hashes are sequential, and here there is one for each way through the tree. The events of these
                runs, and only these, go through the incremental judge in the executors, one run after the other
                (`zabcheck.campaign.judging.streamed`); there the verdict is not independent

Each run's verdicts are as `invariants.check` gives them. Witnesses are a matter of their own: `explain`.
"""

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import TraceError, Verdict
from zabcheck.campaign.judging.forked import judge_forked
from zabcheck.campaign.judging.narrow_rows import steps_of
from zabcheck.campaign.judging.on_a_path import judge_on_a_path, without_false_prefixes
from zabcheck.campaign.judging.streamed import judge_streamed, verdicts_of
from zabcheck.campaign.judging.verdicts import HOLDS, NOT_EXERCISED, SIX, VERDICTS, VIOLATED, columns_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHUNK = 2_000_000
"""How many places of a run are sorted together at most. Runs that are not longer are not divided at all."""

ROWS_A_TASK = 1_500_000
"""About how many events a task of a shuffle gets."""

FEW_RUNS = 1_000_000
"""So many run numbers may be sent to every executor."""

ON_A_PATH, FORKED, STREAMED = "on a path", "forked", "streamed"


def judge(events: "DataFrame", facts: "DataFrame", chunk: int = CHUNK) -> "DataFrame":
    """A row for each run: its findings (see `zabcheck.campaign.judging.verdicts`), and `how` it was judged.

    `events` has the columns of `invariants.columns`, its rows in any order; `facts` is `facts_of(events)`, best kept:
    it is used several times, and the result is a part of it. Of the data nothing is collected but counts.

    TraceError for a run that could not be judged because its own order is broken; `facts` tell it beforehand.
    """
    [size] = facts.agg(
        F.sum("steps").alias("steps"), F.max("last").alias("longest"), F.sum("restores").alias("restores")
    ).collect()
    if not size["steps"]:
        return _unexercised(facts).withColumn("how", F.lit(ON_A_PATH))
    restored = size["restores"] > 0
    steps = steps_of(events)
    found = judge_on_a_path(*_spread(steps, size["steps"], size["longest"], restored, chunk))
    found = _completed(facts.join(found, "run", "left")).persist()
    counted = found.groupBy("how").agg(
        F.count(F.lit(1)).alias("runs"), F.sum("steps").alias("steps"), F.max("last").alias("longest")
    )
    counts = {row["how"]: row for row in counted.collect()}
    on_path = found.filter(F.col("how") == ON_A_PATH)
    streamed = found.filter(F.col("how") == STREAMED).select("run")
    uncertain = counts.get(_UNCERTAIN)
    if uncertain is not None:
        asked = found.filter(F.col("how") == _UNCERTAIN)
        with_values = _only(steps_of(events, value=True), asked, uncertain["runs"])
        right = without_false_prefixes(with_values).withColumn("right", F.lit(True)).persist()
        on_path = on_path.union(asked.join(right, "run", "leftsemi"))
        streamed = streamed.union(asked.join(right, "run", "leftanti").select("run"))
    results = [on_path.select(*VERDICTS).withColumn("how", F.lit(ON_A_PATH))]
    forked = counts.get(FORKED)
    if forked is not None:
        odd = _only(steps, found.filter(F.col("how") == FORKED), forked["runs"])
        odd, *_ = _spread(odd, forked["steps"], forked["longest"], restored, chunk)
        results.append(_settled(judge_forked(odd, restored)).withColumn("how", F.lit(FORKED)))
    if uncertain is not None or STREAMED in counts:
        results.append(_streamed(_only(events, streamed, FEW_RUNS)).withColumn("how", F.lit(STREAMED)))
    return reduce(lambda one, other: one.unionByName(other), results)


_UNCERTAIN = "on a path, if the restored prefixes are on it"


def _spread(
    steps: "DataFrame", rows: int, longest: int, restored: bool, chunk: int
) -> "tuple[DataFrame, bool, int | None]":
    """Each run in one task, if none is long; then there is no other shuffle of the steps."""
    if longest > chunk:
        return steps, restored, chunk
    return steps.repartition(max(2, -(-rows // ROWS_A_TASK)), "run"), restored, None


def _only(rows: "DataFrame", runs: "DataFrame", count: int) -> "DataFrame":
    """The rows of these runs."""
    runs = runs.select("run")
    return rows.join(F.broadcast(runs) if count <= FEW_RUNS else runs, "run", "leftsemi")


def _completed(found: "DataFrame") -> "DataFrame":
    """With what restored prefixes exercise, and how each run is to be judged; a run without steps exercises nothing."""
    only_restored = F.col("odd").isNull() & (F.col("restores") > 0)
    how = (
        F.when(F.col("strange") | (only_restored & (F.col("prefixes") > 0)), STREAMED)
        .when(F.col("odd") & (F.col("prefixes") > 0), STREAMED)
        .when(F.col("odd"), FORKED)
        .when(F.col("prefixes") > 0, _UNCERTAIN)
        .otherwise(ON_A_PATH)
    )
    total, agreement = F.col("total_order"), F.col("agreement")
    several = F.col("starts") + F.col("prefixes") > 1
    return _settled(found).select(
        *(name for name in VERDICTS if name not in ("total_order", "agreement")),
        F.when(F.col("long_prefixes") > 0, HOLDS).otherwise(total).alias("total_order"),
        F.when(several, HOLDS).otherwise(agreement).alias("agreement"),
        how.alias("how"),
        "steps",
        "last",
    )


def _settled(found: "DataFrame") -> "DataFrame":
    """What nothing was found about was not exercised."""
    codes = {columns_of(name)[0]: NOT_EXERCISED for name in SIX}
    return found.fillna(codes)


def _unexercised(facts: "DataFrame") -> "DataFrame":
    nothing: list[Column] = []
    for name in SIX:
        code, at = columns_of(name)
        nothing += [F.lit(NOT_EXERCISED).alias(code), F.lit(None).cast("long").alias(at)]
    return facts.select("run", *nothing)


def _streamed(events: "DataFrame") -> "DataFrame":
    """The findings of the incremental judge; where the evidence is, is told by its witness."""
    said = judge_streamed(events)
    columns: list[Column] = []
    for number, name in enumerate(SIX):
        code, at = columns_of(name)
        columns += [F.get("codes", F.lit(number)).alias(code), F.lit(None).cast("long").alias(at)]
    return said.select("run", *columns)


def explain(events: "DataFrame", runs: Iterable[int]) -> dict[int, list[Verdict]]:
    """The verdicts of the incremental judge on these runs, with witnesses, as if each were recorded to its end.

    For as many runs as a person reads; each needs memory for its distinct transactions in an executor.
    """
    rows = judge_streamed(events.filter(F.col("run").isin(list(runs)))).collect()
    wrong = [row for row in rows if row["error"] is not None]
    if wrong:
        raise TraceError(f"run {wrong[0]['run']}, {wrong[0]['error']}")
    return {row["run"]: verdicts_of(row["verdicts"]) for row in rows}


__all__ = ["CHUNK", "FORKED", "ON_A_PATH", "STREAMED", "VIOLATED", "explain", "judge"]
