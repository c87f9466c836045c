"""The events that the six properties read, as narrow rows: what Spark sorts and sends between its machines.

    run          int64   which trace
    seq          int64   the place in it; only the order of the events of one process matters
    process      int32
    incarnation  int64
    kind         int32   DELIVER, BROADCAST or RESTORE
    z            int64   the zxid, packed so that it is ordered like the zxid: (epoch - 2^31) * 2^32 + counter
    d            int64   a digest of the value (xxhash64); of a restore the chain hash
    n            int64   of a broadcast the epoch, of a restore the length, of a delivery null

A transaction is (z, d). Two values of one zxid in one run that had one digest would be taken for one transaction: for
each pair of values under the same zxid the chance is 2^-64, and values under different zxids cannot be mistaken.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # the usual name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DELIVER, BROADCAST, RESTORE = range(3)

_LOWEST_EPOCH = 2**31
NO_Z = -(2**63)
"""The packed form of the zxid of an empty history."""


def steps_of(events: "DataFrame", value: bool = False) -> "DataFrame":
    """The narrow rows of `events` (columns as in `invariants.columns`); with `value` also the values as they are."""
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
    """A zxid as one integer, in the order of zxids."""
    return F.shiftleft(epoch - _LOWEST_EPOCH, 32).bitwiseOR(counter)


def unpacked(z: int) -> tuple[int, int]:
    """Epoch and counter of a packed zxid."""
    return (z >> 32) + _LOWEST_EPOCH, z & 0xFFFFFFFF


def txn() -> "Column":
    """A digest of a whole transaction, for the comparison of two: they differ unnoticed with a chance of 2^-64."""
    return F.xxhash64("z", "d")
