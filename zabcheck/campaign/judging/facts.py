"""Facts about each run that counting its rows gives: its length, whether it is complete, whether it is a trace at all.

The table has a row for each run, with these columns:

    rows           int64    number of rows, header and end included
    last           int64    the highest `seq`
    relevant       int64    number of rows that the six properties read
    complete       bool     whether there is an `end`, and it says that the run is complete
    restores       int64    number of restores, `prefixes` of which restored at least one transaction
    strange        bool     whether a restore of nothing has another zxid or hash than the empty history
    processes      int64    the number of processes in the header
    wrong          string   the first reason why the rows are no trace, null if they are one; `wrong_at` is its `seq`

`wrong` names the field and what was expected. It is MALFORMED for a row that could not be a line of any trace; whoever
reads that row finds out what is wrong with it.
"""

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants.events import EVENTS, End, Header, Local

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MALFORMED = "malformed"

_KINDS = {str(kind.__struct_config__.tag): kind for kind in (*EVENTS, Header, End)}
_LOCAL = [tag for tag, kind in _KINDS.items() if issubclass(kind, Local)]
_RELEVANT = ("deliver", "broadcast", "restore")
_MOST = 2**32 - 1


def facts_of(events: "DataFrame") -> "DataFrame":
    """Compute the facts in three passes over `events`, whose columns are those of `invariants.columns`.

    Rows are combined before they are shuffled.
    """
    runs = _by_run(_by_actor(events)).join(_ends(events), "run", "left").join(_malformed_at(events), "run", "left")
    return _judged(runs)


def _by_actor(events: "DataFrame") -> "DataFrame":
    event, seq, length = F.col("event"), F.col("seq"), F.col("length")
    relevant, restore = event.isin(*_RELEVANT), event == "restore"
    from_nothing = (F.col("hash") == 0) & (F.col("zxid_epoch") == 0) & (F.col("zxid_counter") == 0)
    return events.groupBy("run", "process", "incarnation").agg(
        F.count(F.lit(1)).alias("rows"),
        F.min(seq).alias("first"),
        F.max(seq).alias("last"),
        F.sum(seq).alias("sum"),
        F.count(F.when(relevant, 1)).alias("relevant"),
        F.min(F.when(relevant, seq)).alias("first_relevant"),
        F.max(F.when(relevant, seq)).alias("last_relevant"),
        F.count(F.when(restore, 1)).alias("restores"),
        F.count(F.when(restore & (length > 0), 1)).alias("prefixes"),
        F.max(restore & (length == 0) & ~from_nothing).alias("strange"),
    )


def _ends(events: "DataFrame") -> "DataFrame":
    """Return what the header and the end of each run say, and where they are."""
    header, end = F.col("event") == "header", F.col("event") == "end"
    in_rest = {name: F.get_json_object("rest", f"$.{name}") for name in ("processes", "count", "complete")}
    return (
        events.filter(header | end)
        .groupBy("run")
        .agg(
            F.count(F.when(header, 1)).alias("headers"),
            F.max(F.when(header, F.col("seq"))).alias("header_at"),
            F.max(F.when(header, in_rest["processes"].try_cast("long"))).alias("processes"),
            F.min(F.when(end, F.col("seq"))).alias("end_at"),
            F.max(F.when(end, in_rest["count"].try_cast("long"))).alias("count"),
            F.max(end & F.coalesce(in_rest["complete"] == "true", F.lit(True))).alias("complete"),
        )
    )


def _malformed_at(events: "DataFrame") -> "DataFrame":
    rows = events.filter(F.coalesce(_malformed(), F.lit(True)))
    return rows.groupBy("run").agg(F.min("seq").alias("malformed_at"))


def _malformed() -> "Column":
    """Whether a row cannot be a line of a trace; null counts as yes. Fields that are only in `rest` are not checked."""

    def within(name: str, least: int, most: int) -> "Column":
        return F.col(name).between(least, most)

    txn = within("zxid_epoch", 0, _MOST) & within("zxid_counter", 0, _MOST)
    event = F.col("event")
    local = within("process", 1, 2**31 - 1) & (F.col("incarnation") >= 0)
    no_epoch, no_value = F.col("epoch").isNull(), F.col("value").isNull()
    no_prefix = F.col("length").isNull() & F.col("hash").isNull()
    fits = (
        F.when(event == "deliver", local & txn & ~no_value & no_epoch & no_prefix & F.col("rest").isNull())
        .when(
            event == "broadcast",
            local & txn & ~no_value & within("epoch", 0, _MOST) & no_prefix & F.col("rest").isNull(),
        )
        .when(
            event == "restore",
            local & txn & no_value & no_epoch & (F.col("length") >= 0) & (F.col("hash") >= 0) & F.col("rest").isNull(),
        )
        .when(event.isin(*_LOCAL), local)
        .when(event == "header", (F.get_json_object("rest", "$.version") == "1") & F.col("process").isNull())
        .when(event == "end", (F.get_json_object("rest", "$.count") >= "0") & F.col("process").isNull())
        .otherwise(event.isin(*_KINDS))
    )
    return ~fits


def _by_run(actors: "DataFrame") -> "DataFrame":
    earlier = Window.partitionBy("run", "process").orderBy("incarnation").rowsBetween(Window.unboundedPreceding, -1)
    before = F.max("last_relevant").over(earlier)
    return (
        actors.withColumn("back_at", F.when(before > F.col("first_relevant"), before))
        .groupBy("run")
        .agg(
            *(F.sum(name).alias(name) for name in ("rows", "sum", "relevant", "restores", "prefixes")),
            F.min("first").alias("first"),
            F.max("last").alias("last"),
            F.max("strange").alias("strange"),
            F.min("back_at").alias("back_at"),
            F.max("process").alias("process"),
        )
    )


def _judged(runs: "DataFrame") -> "DataFrame":
    rows, last = F.col("rows"), F.col("last")
    gaps = (F.col("first") != 1) | (last != rows) | (F.col("sum") != rows * (rows + 1) / 2)
    expected_count = F.col("end_at") - 2
    checks: list[tuple[Column, Column, Column]] = [
        (F.col("malformed_at").isNotNull(), F.col("malformed_at"), F.lit(MALFORMED)),
        (gaps, F.col("first"), F.lit("field `seq`: expected each line from 1 on, once")),
        (F.coalesce("headers", F.lit(0)) == 0, F.lit(1), F.lit("field `event`: expected `header`, found none")),
        (F.col("header_at") > 1, F.col("header_at"), F.lit("field `event`: a header that is not the first line")),
        (F.col("end_at") < last, F.col("end_at") + 1, F.lit("expected nothing after `end`")),
        (
            F.col("count") != expected_count,
            F.col("end_at"),
            F.concat(
                F.lit("field `count`: expected "),
                expected_count,
                F.lit(", the number of events, found "),
                F.col("count"),
            ),
        ),
        (
            F.col("process") > F.col("processes"),
            F.lit(1),
            F.concat(F.lit("field `process`: expected 1 to "), F.col("processes"), F.lit(", found "), F.col("process")),
        ),
        (
            F.col("back_at").isNotNull(),
            F.col("back_at"),
            F.lit("field `incarnation`: goes down; a process's own events must be in order"),
        ),
    ]
    wrong, wrong_at = F.lit(None).cast("string"), F.lit(None).cast("long")
    for is_so, at, said in reversed(checks):
        wrong, wrong_at = F.when(is_so, said).otherwise(wrong), F.when(is_so, at).otherwise(wrong_at)
    kept = ("run", "rows", "last", "relevant", "restores", "prefixes", "processes")
    return runs.select(
        *kept,
        F.coalesce("strange", F.lit(False)).alias("strange"),
        (F.coalesce("complete", F.lit(False)) & F.col("end_at").isNotNull()).alias("complete"),
        wrong.alias("wrong"),
        wrong_at.alias("wrong_at"),
    )
