"""The six properties for runs in which all delivered sequences are prefixes of one path.

Every run of a correct protocol is like that. One number for each transaction, its place on the path, then says
everything, in two tables that are much smaller than the deliveries: one of transactions, one of epochs.

The place of a delivery is its rank in its segment (an incarnation, or what follows a `Restore`), plus the restored
length. The sequences lie on one path if each transaction has one place and each place has one transaction. As the
places of a segment have no gap, it is enough that the number of transactions equals the highest place. Then, by DSN
2011, III-A:

    total order, agreement  hold: of two prefixes of one path, one contains the other
    integrity               violated if a transaction on the path was not broadcast
    global primary order    violated if an epoch begins on the path before a lower epoch ends there
    primary integrity       violated if a lower epoch ends on the path after the place up to which the primary had
                            delivered when it broadcast
    local primary order     holds if each delivered transaction comes on the path right after its predecessor in β

A run that is not as simple as that is `odd`, and judged elsewhere (`properties` says where): a sequence leaves the
path, a segment delivers a transaction twice, a transaction is broadcast twice, a primary goes back to an earlier epoch,
or a transaction does not come right after its predecessor in β. An odd run need not be broken, nor a broken run odd.

Restored prefixes. A delivery in a restored segment whose zxid is not above the restored one is presumed to be in the
prefix, and gets no place; deliveries of other segments must give that transaction a place within the prefix. The chain
hash tells whether the prefix is the one on the path, in one pass over the transactions of such runs in the order of the
path (`without_false_prefixes`). If the places are 1, 2, 3, … without a gap, the prefix is on record too: a segment that
began before it delivered its last transaction, and that segment's own prefix is on record by induction.

Cost: one shuffle of the narrow rows by run if no run is long; otherwise one by (run, process, incarnation, chunk) and
one by transaction. No task sorts more than a chunk of a process, however long the run is. Only an incarnation of a run
with a `Restore` is sorted whole, on disk if it does not fit into memory.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import Txn, Zxid, chain_hash
from zabcheck.campaign.judging.narrow_rows import BROADCAST, DELIVER, NO_Z, RESTORE, txn, unpacked
from zabcheck.campaign.judging.verdicts import verdict_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ACTOR = ("run", "process", "incarnation")
_BEGIN, _NOW = Window.unboundedPreceding, Window.currentRow


def judge_on_a_path(narrow: "DataFrame", restored: bool, chunk: int | None) -> "DataFrame":
    """Make a row for each run that has narrow rows: its verdicts as if it were not odd, and `odd`.

    `restored` says whether any run has a `Restore`.
    `chunk` is the number of places of a run that are sorted together at most, None if no run is that long.
    """
    txns = _by_txn(_placed(narrow, restored, chunk), restored, chunk is None)
    return _by_run(_by_epoch(txns))


def without_false_prefixes(narrow: "DataFrame") -> "DataFrame":
    """Select the runs in which each restored prefix is on the path, and the places have no gap.

    The runs must not be known to be odd; `narrow` needs the column `value`. One process computes the chain hashes of a
    run, in O(1) memory and 2 microseconds a transaction.
    """
    placed = _placed(narrow, True, None)
    delivered = placed.filter((F.col("kind") == DELIVER) & F.col("bound").isNull())
    on_path = delivered.select("run", "place", F.lit(0).alias("restored"), "z", "value", F.lit(0).alias("hash"))
    taken = narrow.filter((F.col("kind") == RESTORE) & (F.col("n") > 0)).select(
        "run", F.col("n").alias("place"), F.lit(1).alias("restored"), "z", F.lit("").alias("value"), F.col("d")
    )
    rows = (
        on_path.distinct().union(taken.distinct()).repartition("run").sortWithinPartitions("run", "place", "restored")
    )
    return rows.mapInArrow(_compare_hashes, "run long, fits boolean").filter("fits").select("run")


def _compare_hashes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield each run once, and whether its prefixes are on its path. Its rows must come in the order of the path."""
    runs: list[int] = []
    fits: list[bool] = []
    length, at, hash_ = 0, NO_Z, 0
    for batch in batches:
        for run, place, restored, z, value, expected in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            if not runs or run != runs[-1]:
                runs.append(run)
                fits.append(True)
                length, at, hash_ = 0, NO_Z, 0
            if restored:
                fits[-1] &= (place, z, expected) == (length, at, hash_)
            else:
                fits[-1] &= place == length + 1
                length, at = place, z
                hash_ = chain_hash(hash_, Txn(Zxid(*unpacked(z)), value))
    yield pa.RecordBatch.from_pydict(
        {"run": runs, "fits": fits}, pa.schema([("run", pa.int64()), ("fits", pa.bool_())])
    )


def _placed(narrow: "DataFrame", restored: bool, chunk: int | None) -> "DataFrame":
    """Return the deliveries and broadcasts with what came before them, in these columns:

    goes_on      whether it is the first delivery of its segment behind a restored prefix
    place        for a delivery its place; for a broadcast the place of the last delivery before it
    bound        for a delivery presumed to be in the restored prefix, the prefix's length; `place` means nothing then
    after        for a delivery the transaction before it in its segment, null if that is not known
    neighbour    for a broadcast the transaction broadcast before it in its incarnation; `after_epoch` is its epoch
    """
    part: Column = F.lit(0)
    if chunk is not None:
        part = F.expr(f"seq div {chunk}")
        if restored:
            # To divide such a run into chunks, the prefix in which a chunk begins would have to be known. Few runs are
            # long and have snapshots, so their processes are sorted whole, on disk if the memory is too small.
            begun = narrow.filter(F.col("kind") == RESTORE).select("run").distinct()
            narrow = narrow.join(F.broadcast(begun.withColumn("whole", F.lit(True))), "run", "left")
            part = F.when(F.col("whole"), 0).otherwise(part)
    narrow = narrow.withColumn("part", part).withColumn("txn", txn())
    one = Window.partitionBy(*_ACTOR, "part").orderBy("seq")
    until, before = one.rowsBetween(_BEGIN, _NOW), one.rowsBetween(_BEGIN, -1)
    begins, delivers, broadcasts = (F.col("kind") == kind for kind in (RESTORE, DELIVER, BROADCAST))
    placed = narrow
    if restored:
        placed = placed.withColumns(
            {
                "prefix": F.coalesce(F.last(F.when(begins, F.col("n")), True).over(until), F.lit(0)),
                "prefix_z": F.coalesce(F.last(F.when(begins, F.col("z")), True).over(until), F.lit(NO_Z)),
            }
        )
        presumed = delivers & (F.col("prefix") > 0) & (F.col("z") <= F.col("prefix_z"))
        placed = placed.withColumn("bound", F.when(presumed, F.col("prefix")))
        delivers &= ~presumed
    told = F.when(delivers, F.col("txn")).when(begins, 0)
    placed = placed.withColumns(
        {
            "place": F.count(F.when(delivers, 1)).over(until),
            "after": F.last(told, True).over(before),
            "neighbour": F.last(F.when(broadcasts, F.col("txn")), True).over(before),
            "after_epoch": F.last(F.when(broadcasts, F.col("n")), True).over(before),
        }
    )
    if restored:
        since = F.coalesce(F.last(F.when(begins, F.col("place")), True).over(until), F.lit(0))
        placed = placed.withColumn("place", F.col("place") - since + F.col("prefix"))
        placed = placed.withColumn("after", F.nullif("after", F.lit(0))).filter(~begins)
        goes_on = delivers & (F.col("prefix") > 0) & (F.col("place") == F.col("prefix") + 1)
        placed = placed.withColumn("goes_on", goes_on)
    return placed if chunk is None else _across_chunks(placed, _carried(narrow))


def _carried(narrow: "DataFrame") -> "DataFrame":
    """Return what the first rows of a chunk need to know of the chunks before it: a row for each but the first."""
    delivers, broadcasts = F.col("kind") == DELIVER, F.col("kind") == BROADCAST
    found = narrow.groupBy(*_ACTOR, "part").agg(
        F.count(F.when(delivers, 1)).alias("places"),
        F.max_by("txn", F.when(delivers, F.col("seq"))).alias("delivered"),
        F.max_by("txn", F.when(broadcasts, F.col("seq"))).alias("broadcast"),
        F.max_by("n", F.when(broadcasts, F.col("seq"))).alias("epoch"),
    )
    earlier = Window.partitionBy(*_ACTOR).orderBy("part").rowsBetween(_BEGIN, -1)
    return found.select(
        *_ACTOR,
        "part",
        F.sum("places").over(earlier).alias("places"),
        *(F.last(name, True).over(earlier).alias(f"{name}_before") for name in ("delivered", "broadcast", "epoch")),
    ).filter(F.col("places").isNotNull())


def _across_chunks(placed: "DataFrame", carried: "DataFrame") -> "DataFrame":
    return placed.join(F.broadcast(carried), [*_ACTOR, "part"], "left").withColumns(
        {
            "place": F.col("place") + F.coalesce("places", F.lit(0)),
            "after": F.coalesce("after", "delivered_before"),
            "neighbour": F.coalesce("neighbour", "broadcast_before"),
            "after_epoch": F.coalesce("after_epoch", "epoch_before"),
        }
    )


def _by_txn(placed: "DataFrame", restored: bool, whole_runs: bool) -> "DataFrame":
    """Make a row for each transaction: how often it was delivered, at which places, and how it was broadcast."""
    broadcasts = F.col("kind") == BROADCAST
    delivers = F.col("kind") == DELIVER
    bound = F.lit(None).cast("long")
    if restored:
        delivers &= F.col("bound").isNull()
        bound = F.col("bound")
    place, epoch = F.col("place"), F.col("n")
    columns = {
        "run": F.col("run"),
        "z": F.col("z"),
        "d": F.col("d"),
        "delivered_at": F.when(delivers, place),
        "had": F.when(broadcasts, place),
        "epoch": F.when(broadcasts, epoch),
        "before": F.when(delivers, F.col("after")).when(
            broadcasts & (F.col("after_epoch") == epoch), F.col("neighbour")
        ),
        "back": broadcasts & (F.col("after_epoch") > epoch),
        **({"bound": bound, "goes_on": F.col("goes_on")} if restored else {}),
    }
    rows = placed.select(*(column.alias(name) for name, column in columns.items()))
    if not whole_runs:
        # Without this, each map task would first look for rows to combine, and find hardly any.
        rows = rows.repartition("run", "z", "d")
    was_delivered = F.col("delivered_at").isNotNull()
    return rows.groupBy("run", "z", "d").agg(
        F.count("delivered_at").alias("delivered"),
        F.min("delivered_at").alias("first"),
        F.max("delivered_at").alias("last"),
        F.max(F.when(was_delivered, F.col("before"))).alias("after"),
        F.count("had").alias("sent"),
        F.min("had").alias("had"),
        F.max("epoch").alias("epoch"),
        F.max(F.when(~was_delivered, F.col("before"))).alias("neighbour"),
        F.max("back").alias("back"),
        F.min("bound").alias("bound") if restored else F.lit(None).cast("long").alias("bound"),
        F.count(F.when(F.col("goes_on"), 1)).alias("go_on") if restored else F.lit(0).alias("go_on"),
    )


def _by_epoch(txns: "DataFrame") -> "DataFrame":
    """Make a row for each epoch of a run, and one with a null epoch for what was not broadcast."""
    delivered = F.col("delivered") > 0
    has_neighbour = delivered & F.col("neighbour").isNotNull()
    odd = (
        (F.col("sent") > 1)
        | F.col("back")
        | (delivered & (F.col("first") != F.col("last")))
        | (has_neighbour & ~F.col("neighbour").eqNullSafe(F.col("after")))
        | (F.col("bound").isNotNull() & ~(delivered & (F.col("last") <= F.col("bound"))))
    )
    return txns.groupBy("run", "epoch").agg(
        F.max(F.coalesce(odd, F.lit(False))).alias("odd"),
        F.count(F.when(delivered, 1)).alias("txns"),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
        F.min("had").alias("had"),
        F.max(has_neighbour).alias("pairs"),
        F.max((F.col("delivered") > 1) & (F.col("last") > 1)).alias("shared"),
        F.sum(F.when(F.col("first") == 1, F.col("delivered")).otherwise(F.lit(0)) + F.col("go_on")).alias("delivering"),
        F.min(F.when(delivered, F.col("z"))).alias("delivered_z"),
        F.min(F.when(F.col("sent") > 0, F.col("z"))).alias("sent_z"),
    )


def _by_run(epochs: "DataFrame") -> "DataFrame":
    lower = Window.partitionBy("run").orderBy("epoch").rowsBetween(_BEGIN, -1)
    was_broadcast = F.col("epoch").isNotNull()
    end = F.col("end")  # of all lower epochs, on the path
    runs = (
        epochs.withColumn("end", F.max(F.when(was_broadcast, F.col("last"))).over(lower))
        .groupBy("run")
        .agg(
            F.max("odd").alias("has_odd"),
            F.sum("txns").alias("txns"),
            F.max("last").alias("longest"),
            F.max("pairs").alias("pairs"),
            F.max("shared").alias("shared"),
            F.coalesce(F.sum("delivering"), F.lit(0)).alias("delivering"),  # the segments that deliver something
            F.max(was_broadcast & end.isNotNull() & F.col("first").isNotNull()).alias("several_epochs"),
            F.max(was_broadcast & end.isNotNull() & F.col("had").isNotNull()).alias("later_primary"),
            F.min(F.when(~was_broadcast, F.col("delivered_z"))).alias("integrity_at"),
            F.min(F.when(was_broadcast & (end > F.col("first")), F.col("delivered_z"))).alias("global_at"),
            F.min(F.when(was_broadcast & (end > F.col("had")), F.col("sent_z"))).alias("primary_at"),
        )
    )
    nowhere = F.lit(None).cast("long")
    return runs.select(
        "run",
        (F.col("has_odd") | (F.col("txns") != F.coalesce("longest", F.lit(0)))).alias("odd"),
        *verdict_columns("integrity", F.col("txns") > 0, F.col("integrity_at")),
        *verdict_columns("total order", F.col("shared"), nowhere),
        *verdict_columns("agreement", F.col("delivering") > 1, nowhere),
        *verdict_columns("local primary order", F.col("pairs"), nowhere),
        *verdict_columns("global primary order", F.col("several_epochs"), F.col("global_at")),
        *verdict_columns("primary integrity", F.col("later_primary"), F.col("primary_at")),
    )
