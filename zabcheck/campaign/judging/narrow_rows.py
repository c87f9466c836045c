"""The events that the six properties read, as narrow rows: what Spark sorts and sends between its machines.

    run          int64   the trace
    seq          int64   the place in the trace; only the order of the events of one process matters
    process      int32
    incarnation  int64
    kind         int32   DELIVER, BROADCAST or RESTORE
    z            int64   the zxid, packed so that integers are ordered like zxids: (epoch - 2^31) * 2^32 + counter
    d            int64   a digest of the value (xxhash64); for a restore the chain hash
    n            int64   for a broadcast the epoch, for a restore the length, for a delivery null

A transaction is the pair (z, d). Two values with the same zxid and the same digest would be taken for one transaction:
the chance is 2^-64 for each pair of values with the same zxid. Values with different zxids are never confused.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # the usual name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DELIVER, BROADCAST, RESTORE = range(3)

_LOWEST_EPOCH = 2**31
NO_Z = -(2**63)
"""The packed form of the zxid of an empty history."""


def narrow_rows(events: "DataFrame", value: bool = False) -> "DataFrame":
    """Return the narrow rows of `events` (columns as in `invariants.columns`); if `value` is set, with the values."""
    kind = (
        F.when(F.col("event") == "deliver", DELIVER).when(F.col("event") == "broadcast", BROADCAST).otherwise(RESTORE)
    )
    is_restore = F.col("event") == "restore"
    return events.filter(F.col("event").isin("deliver", "broadcast", "restore")).select(
        "run",
        "seq",
        "process",
        "incarnation",
        kind.alias("kind"),
        packed(F.col("zxid_epoch"), F.col("zxid_counter")).alias("z"),
        F.when(is_restore, F.col("hash")).otherwise(F.xxhash64("value")).alias("d"),
        F.when(is_restore, F.col("length")).otherwise(F.col("epoch")).alias("n"),
        *(["value"] if value else []),
    )


def packed(epoch: "Column", counter: "Column") -> "Column":
    """Pack a zxid into one integer; the integers are ordered like the zxids."""
    return F.shiftleft(epoch - _LOWEST_EPOCH, 32).bitwiseOR(counter)


def unpacked(z: int) -> tuple[int, int]:
    """Return epoch and counter of a packed zxid."""
    return (z >> 32) + _LOWEST_EPOCH, z & 0xFFFFFFFF


def txn() -> "Column":
    """Return a digest of a whole transaction, to compare two; different ones look equal with a chance of 2^-64."""
    return F.xxhash64("z", "d")
