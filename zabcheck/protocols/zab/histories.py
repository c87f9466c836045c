"""What ACK-E and NEWLEADER carry of a history (DSN 2011, end of IV, and V-A).

To the letter they carry all of it. But it is enough to send what the receiver lacks, and the paper says so without
saying how the sender knows. Here the receiver has told, in CEPOCH or NEWEPOCH, the last zxid that it has of each
epoch. A history has of each epoch a prefix of what was broadcast in it, so the two agree up to the last zxid that both
have, and what comes after that in the sender's history is what the receiver lacks; what it has there itself, it drops.

A log that was cut below a snapshot no longer has the transactions of that prefix. Whoever lacks some of those gets the
snapshot, and the whole log after it.
"""

from msgspec import Struct

from invariants import EMPTY, NO_ZXID, Chain, Txn, Zxid


class Whole(Struct, frozen=True, gc=False):
    """All of a history; of its prefix `base` the sender has a snapshot only."""

    history: Chain
    base: Chain = EMPTY

    @property
    def zxid(self) -> Zxid:
        return self.history.zxid


class Missing(Struct, frozen=True, gc=False):
    """The end of a history: what comes after `after`, up to which the receiver has the same."""

    after: Zxid
    txns: tuple[Txn, ...]

    @property
    def zxid(self) -> Zxid:
        """The last zxid of the history."""
        return self.txns[-1].zxid if self.txns else self.after


Carried = Whole | Missing


def carry(history: Chain, base: Chain, lasts: tuple[Zxid, ...] | None) -> Carried:
    """`history`, for a receiver that has `lasts`: see `lasts_of`. None: send all of it.

    O(1) for all of it; else O(epochs × log length + what is missing).
    """
    if lasts is None:
        return Whole(history, base)
    after = last_common(history, lasts)
    common = history.up_to(after).length
    if common < base.length:
        return Whole(history, base)
    return Missing(after, tuple(history.after(common)))


def received(own: Chain, carried: Carried) -> Chain:
    """The sender's history, put together by a receiver that has `own`."""
    if isinstance(carried, Whole):
        return carried.history
    history = own.up_to(carried.after)
    for txn in carried.txns:
        history = history.append(txn)
    return history


def base_of(own: Chain, base: Chain, carried: Carried, history: Chain) -> Chain:
    """Of which prefix of `history`, that `carried` brought, the receiver then has a snapshot only.

    What its `own` log has of the same transactions, back to `base`, it keeps.
    """
    if isinstance(carried, Whole) and not (own.starts_with(carried.base) and history.starts_with(base)):
        return carried.base
    return base


def lasts_of(history: Chain) -> tuple[Zxid, ...]:
    """The last zxid of each epoch in `history`, the latest first. O(epochs × log length).

    A snapshot that stands for the beginning of it keeps these few numbers too.
    """
    lasts = []
    while history:
        lasts.append(history.zxid)
        history = history.up_to(Zxid(history.zxid.epoch, 0))
    return tuple(lasts)


def last_common(history: Chain, lasts: tuple[Zxid, ...]) -> Zxid:
    """The highest zxid in both `history` and the one that `lasts` tells of; `NO_ZXID` if there is none."""
    for last in lasts:
        place = history.up_to(last).zxid
        if place.epoch == last.epoch and place != NO_ZXID:
            return place
    return NO_ZXID
