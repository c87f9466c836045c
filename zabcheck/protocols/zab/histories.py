"""The histories that ACK-E and NEWLEADER carry, whole or in part (DSN 2011, end of IV, and V-A).

To the letter these messages carry whole histories. The paper says that it is enough to send what the receiver lacks,
but not how the sender knows. Here the receiver has told, in CEPOCH or NEWEPOCH, the last zxid that it has of each
epoch. Of each epoch a history has a prefix of what was broadcast in it. So the two histories agree up to the last zxid
that both have; what the sender has after it is what the receiver lacks, and what the receiver has after it, it drops.

A log that was cut below a snapshot no longer has the transactions of that prefix. A receiver that lacks some of them
gets the snapshot, and the whole log after it.
"""

from msgspec import Struct

from zabcheck.invariants import EMPTY, NO_ZXID, Chain, Txn, Zxid


class Whole(Struct, frozen=True, gc=False):
    """A whole history; the sender has its prefix `base` only as a snapshot."""

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
    """Return `history` as a message carries it to a receiver with these `lasts` (see `lasts_of`; None: send all).

    O(1) for a whole history; else O(epochs × log length + what is missing).
    """
    if lasts is None:
        return Whole(history, base)
    after = last_common(history, lasts)
    common = history.up_to(after).length
    if common < base.length:
        return Whole(history, base)
    return Missing(after, tuple(history.after(common)))


def received(own: Chain, carried: Carried) -> Chain:
    """Return the sender's history, rebuilt by a receiver whose history is `own`."""
    if isinstance(carried, Whole):
        return carried.history
    history = own.up_to(carried.after)
    for txn in carried.txns:
        history = history.append(txn)
    return history


def base_of(own: Chain, base: Chain, carried: Carried, history: Chain) -> Chain:
    """Return the prefix of `history`, which `carried` brought, that the receiver has only as a snapshot.

    The receiver keeps what its `own` log, back to `base`, has of the same transactions.
    """
    if isinstance(carried, Whole) and not (own.starts_with(carried.base) and history.starts_with(base)):
        return carried.base
    return base


def lasts_of(history: Chain) -> tuple[Zxid, ...]:
    """Return the last zxid of each epoch in `history`, the latest first. O(epochs × log length).

    Where a snapshot stands for the beginning of the history, these few numbers are kept with the snapshot.
    """
    lasts = []
    while history:
        lasts.append(history.zxid)
        history = history.up_to(Zxid(history.zxid.epoch, 0))
    return tuple(lasts)


def last_common(history: Chain, lasts: tuple[Zxid, ...]) -> Zxid:
    """Return the highest zxid in both `history` and the history with these `lasts`; `NO_ZXID` if there is none."""
    for last in lasts:
        place = history.up_to(last).zxid
        if place.epoch == last.epoch and place != NO_ZXID:
            return place
    return NO_ZXID
