"""The six properties for any run in which no prefix was restored, however broken it is.

Each sentence of DSN 2011, III-A becomes group-bys and joins on equal keys. A segment is an incarnation of a process,
and a `Restore` of nothing begins a new segment. Δ is the sequence of first deliveries of a segment, and β_ρ the
sequence of first broadcasts of a primary ρ (epoch, process, incarnation). A property is violated if:

    integrity               some transaction is delivered and not broadcast
    total order             some transaction follows different transactions in two segments, or is the first in only
                            one of them. (If every transaction follows the same one in all segments, then, by induction,
                            all that comes before it is the same; for the converse see `invariants.total_order`)
    agreement               some transaction is delivered by fewer segments than there are segments at least as large
                            as the smallest that delivers it. (If of any two sets one contains the other, a set of at
                            least that size contains the smallest one, and so the transaction. Conversely, if each
                            transaction is in all sets from some size on, and in no smaller set, the sets form a chain)
    local primary order     a segment delivers b, and not before it a, which a primary broadcast right before b. (What
                            came before a follows by induction)
    global primary order    a segment delivers a transaction of a higher epoch before one of a lower epoch: for some
                            epoch the first delivery comes before the last delivery of a lower epoch
    primary integrity       when a segment broadcast in epoch e, it had not delivered all that any segment delivers of
                            the epochs below e: it has fewer of these transactions, or delivered the last one later.
                            (Of a primary's broadcasts in a segment, the first demands most)

A transaction that several primaries broadcast has a lowest and a highest epoch: the lowest counts where it has to come
early, the highest where it has to come late.

Cost: about ten shuffles of the deliveries. Only local primary order joins deliveries with broadcasts; the join has as
many rows as there are deliveries, times the number of different predecessors that primaries gave the same transaction.
Each segment is sorted by one task, on disk if it does not fit into memory.
"""

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from zabcheck.campaign.judging.narrow_rows import BROADCAST, DELIVER, RESTORE, txn
from zabcheck.campaign.judging.verdicts import VERDICTS, verdict_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TXN = ("run", "z", "d")
_ACTOR = ("run", "process", "incarnation")
_SEGMENT = (*_ACTOR, "segment")
_PRIMARY = ("run", "epoch", "process", "incarnation")
_BEGIN, _NOW = Window.unboundedPreceding, Window.currentRow


def judge_forked(narrow: "DataFrame", restored: bool) -> "DataFrame":
    """Judge each run that has narrow rows. `restored` says whether any of the runs has a `Restore` (of nothing)."""
    narrow = _with_segment(narrow, restored)
    casts = _casts(narrow)
    deliveries = _deliveries(narrow, casts)
    txns = _txns(deliveries)
    parts = [
        _of_sets(deliveries, txns),
        _local_primary_order(deliveries, casts),
        _global_primary_order(deliveries),
        _primary_integrity(deliveries, casts, txns),
    ]
    runs = narrow.select("run").distinct()
    for part in parts:
        runs = runs.join(part, "run", "left")
    return runs.select(*VERDICTS)


def _with_segment(narrow: "DataFrame", restored: bool) -> "DataFrame":
    """Add the column `segment`: the `seq` of the restore that began it, 0 if the incarnation's start began it."""
    segment = F.lit(0)
    if restored:
        so_far = Window.partitionBy(*_ACTOR).orderBy("seq").rowsBetween(_BEGIN, _NOW)
        segment = F.coalesce(F.last(F.when(F.col("kind") == RESTORE, F.col("seq")), True).over(so_far), segment)
    return narrow.withColumn("segment", segment)


def _casts(narrow: "DataFrame") -> "DataFrame":
    """Return β: each primary's first broadcast of a transaction, with the transaction before (`near_z`, `near_d`)."""
    own = Window.partitionBy(*_PRIMARY).orderBy("seq")
    return (
        narrow.filter(F.col("kind") == BROADCAST)
        .withColumnRenamed("n", "epoch")
        .groupBy(*_PRIMARY, "z", "d")
        .agg(F.min("seq").alias("seq"), F.min("segment").alias("segment"))
        .withColumns({"near_z": F.lag("z").over(own), "near_d": F.lag("d").over(own)})
    )


def _deliveries(narrow: "DataFrame", casts: "DataFrame") -> "DataFrame":
    """Return Δ, with the transaction's lowest and highest epoch, the transaction before it, and the segment's size."""
    epochs = casts.groupBy(*_TXN).agg(F.min("epoch").alias("lowest"), F.max("epoch").alias("highest"))
    own = Window.partitionBy(*_SEGMENT).orderBy("seq")
    whole = own.rowsBetween(_BEGIN, Window.unboundedFollowing)
    return (
        narrow.filter(F.col("kind") == DELIVER)
        .groupBy(*_SEGMENT, "z", "d")
        .agg(F.min("seq").alias("seq"))
        .withColumns({"after": F.lag(txn()).over(own), "size": F.count(F.lit(1)).over(whole)})
        .join(epochs, list(_TXN), "left")
    )


def _txns(deliveries: "DataFrame") -> "DataFrame":
    return deliveries.groupBy(*_TXN).agg(
        F.count("*").alias("delivered"),
        F.count("after").alias("not_first"),
        F.min("after").alias("after"),
        F.max("after").alias("after_too"),
        F.min("size").alias("size"),
        F.max("lowest").alias("lowest"),
    )


def _of_sets(deliveries: "DataFrame", txns: "DataFrame") -> "DataFrame":
    """Judge integrity, total order and agreement."""
    larger = Window.partitionBy("run").orderBy(F.desc("size"))
    segments = (
        deliveries.filter(F.col("after").isNull())  # a segment's first
        .groupBy("run", "size")
        .agg(F.count(F.lit(1)).alias("segments"))
        .withColumn("as_large", F.sum("segments").over(larger))
    )
    not_everywhere = F.col("delivered") < F.col("as_large")
    unlike = (F.col("after") != F.col("after_too")) | (
        (F.col("not_first") > 0) & (F.col("not_first") < F.col("delivered"))
    )
    found = (
        txns.join(segments.select("run", "size", "as_large"), ["run", "size"])
        .groupBy("run")
        .agg(
            F.max((F.col("delivered") > 1) & (F.col("not_first") > 0)).alias("shared"),
            F.max("as_large").alias("segments"),
            F.min(F.when(F.col("lowest").isNull(), F.col("z"))).alias("not_broadcast"),
            F.min(F.when(unlike, F.col("z"))).alias("unlike"),
            F.min(F.when(not_everywhere, F.col("z"))).alias("not_everywhere"),
        )
    )
    return found.select(
        "run",
        *verdict_columns("integrity", F.lit(True), F.col("not_broadcast")),
        *verdict_columns("total order", F.col("shared"), F.col("unlike")),
        *verdict_columns("agreement", F.col("segments") > 1, F.col("not_everywhere")),
    )


def _local_primary_order(deliveries: "DataFrame", casts: "DataFrame") -> "DataFrame":
    pairs = casts.filter(F.col("near_z").isNotNull()).select(*_TXN, "near_z", "near_d").distinct()
    needed = deliveries.select(*_SEGMENT, "z", "d", "seq").join(pairs, list(_TXN))
    near = deliveries.select(
        *_SEGMENT, F.col("z").alias("near_z"), F.col("d").alias("near_d"), F.col("seq").alias("near_seq")
    )
    lacks = F.col("near_seq").isNull() | (F.col("near_seq") > F.col("seq"))
    found = needed.join(near, [*_SEGMENT, "near_z", "near_d"], "left").groupBy("run")
    lacking = found.agg(F.min(F.when(lacks, F.col("z"))).alias("lacking"))
    return lacking.select("run", *verdict_columns("local primary order", F.lit(True), F.col("lacking")))


def _global_primary_order(deliveries: "DataFrame") -> "DataFrame":
    """Judge global primary order, from one row for each segment and each epoch of what the segment delivered."""
    known = deliveries.filter(F.col("lowest").isNotNull())
    last = known.groupBy(*_SEGMENT, F.col("lowest").alias("epoch")).agg(F.max("seq").alias("last"))
    first = known.groupBy(*_SEGMENT, F.col("highest").alias("epoch")).agg(
        F.min("seq").alias("first"), F.min("z").alias("z")
    )
    lower = Window.partitionBy(*_SEGMENT).orderBy("epoch").rowsBetween(_BEGIN, -1)
    early = (
        first.join(last, [*_SEGMENT, "epoch"], "full")
        .withColumn("end", F.max("last").over(lower))
        .groupBy("run")
        .agg(F.min(F.when(F.col("end") > F.col("first"), F.col("z"))).alias("early"))
    )
    sizes = known.groupBy(*_SEGMENT).agg(
        ((F.count(F.lit(1)) > 1) & (F.min("lowest") < F.max("highest"))).alias("several")
    )
    several = sizes.groupBy("run").agg(F.max("several").alias("several"))
    return early.join(several, "run").select(
        "run", *verdict_columns("global primary order", F.col("several"), F.col("early"))
    )


def _primary_integrity(deliveries: "DataFrame", casts: "DataFrame", txns: "DataFrame") -> "DataFrame":
    """Judge primary integrity.

    For a broadcast in an epoch, `older` counts what the segment had delivered of lower epochs, and `all_older` what any
    segment delivered of them.
    """
    known = deliveries.filter(F.col("lowest").isNotNull())
    asked = casts.groupBy(*_SEGMENT, "epoch").agg(F.min("seq").alias("asked"), F.min("z").alias("z"))
    own = known.groupBy(*_SEGMENT, F.col("lowest").alias("epoch")).agg(
        F.count(F.lit(1)).alias("txns"), F.max("seq").alias("last")
    )
    lower = Window.partitionBy(*_SEGMENT).orderBy("epoch").rowsBetween(_BEGIN, -1)
    had = own.join(asked, [*_SEGMENT, "epoch"], "full").withColumns(
        {"older": F.coalesce(F.sum("txns").over(lower), F.lit(0)), "last": F.max("last").over(lower)}
    )
    anywhere = (
        txns.filter(F.col("lowest").isNotNull())
        .groupBy("run", F.col("lowest").alias("epoch"))
        .agg(F.count(F.lit(1)).alias("txns"))
        .join(casts.select("run", "epoch").distinct(), ["run", "epoch"], "full")
    )
    lower = Window.partitionBy("run").orderBy("epoch").rowsBetween(_BEGIN, -1)
    anywhere = anywhere.select("run", "epoch", F.coalesce(F.sum("txns").over(lower), F.lit(0)).alias("all_older"))
    lacks = (F.col("older") < F.col("all_older")) | (F.col("last") > F.col("asked"))
    found = (
        had.filter(F.col("asked").isNotNull())
        .join(anywhere, ["run", "epoch"])
        .groupBy("run")
        .agg(
            F.max(F.col("all_older") > 0).alias("older"),
            F.min(F.when(lacks, F.col("z"))).alias("lacking"),
        )
    )
    return found.select("run", *verdict_columns("primary integrity", F.col("older"), F.col("lacking")))
