"""Packed zxids: the epoch in the upper 32 bits, the counter in the lower 32, as in ZooKeeper's packets and files."""

from zabcheck.invariants import Zxid

COUNTER = 0xFFFF_FFFF
"""The bits of the counter in a packed zxid."""


def epoch_of(zxid: int) -> int:
    """Return the epoch of a packed zxid."""
    return zxid >> 32


def is_txn(zxid: int) -> bool:
    """Return True if a transaction can have this zxid; ⟨e,0⟩ is only the last zxid of a leader that begins epoch e."""
    return zxid > 0 and zxid & COUNTER != 0


def is_first(zxid: int) -> bool:
    """Return True if a transaction of this zxid is the first of its epoch."""
    return zxid & COUNTER == 1


def follows(zxid: int, last: int) -> bool:
    """Return True if `zxid` may come right after `last` in a history: as the next counter, or the first of an epoch."""
    if epoch_of(zxid) == epoch_of(last):
        return zxid == last + 1
    return zxid > last and is_first(zxid)


def shown(zxid: int) -> str:
    """Return a packed zxid for a reader; -1, which stands for none, stays as it is.

    >>> shown(0x100000002)
    '⟨1,2⟩'
    """
    return str(Zxid.unpack(zxid)) if zxid >= 0 else str(zxid)


def shown_range(first: int, last: int) -> str:
    """Return a range of packed zxids for a reader."""
    return shown(first) if first == last else f"{shown(first)} … {shown(last)}"
