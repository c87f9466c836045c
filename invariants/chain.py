"""A sequence of transactions as an immutable chain: history h_f, a delivered sequence, a snapshot.

A link holds its transaction, the link before it, the length up to here, and a hash of everything up to here. So
histories share their common part, and appending, copying, sending and comparing one costs O(1), however long it is;
finding a position costs O(log length) by way of a second, longer link back (Myers 1983, "An applicative random-access
stack").

The chain hash is part of the trace format, so that other programs can compute it: h(0) = 0, and h(i) is the first
8 bytes, big-endian, shifted right by one bit, of BLAKE2b-64 over "h(i-1) epoch counter value", with one space
between the parts, the numbers in decimal, the value in UTF-8.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Protocol

from zabcheck.invariants.events import NO_ZXID, Txn, Zxid

_from_bytes = int.from_bytes

Reference = tuple[Zxid, int, int]
"""The zxid, length and hash by which an event names a history."""


class _History(Protocol):
    """A history, or an event that names one."""

    @property
    def zxid(self) -> Zxid: ...
    @property
    def length(self) -> int: ...
    @property
    def hash(self) -> int: ...


def reference(history: _History) -> Reference:
    """Return the zxid, length and hash by which an event names a history."""
    return history.zxid, history.length, history.hash


def chain_hash(before: int, txn: Txn) -> int:
    """Return the hash of a chain that ends in `txn`; `before` is the hash of the chain before it. 63 bits."""
    z = txn.zxid
    data = f"{before} {z.epoch} {z.counter} {txn.value}".encode()
    return _from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


class Chain:
    """A sequence of transactions. Build one with `EMPTY.append(txn)` or `Chain.of(txns)`."""

    __slots__ = ("_jump", "_latest", "hash", "length", "previous", "txn", "zxid")

    txn: Txn
    previous: "Chain"
    length: int
    hash: int
    zxid: Zxid
    _jump: "Chain"
    _latest: "Chain | None"

    @classmethod
    def of(cls, txns: Iterable[Txn]) -> "Chain":
        """Return the chain of `txns`, in order. O(number of transactions)."""
        chain = EMPTY
        for txn in txns:
            chain = chain.append(txn)
        return chain

    def append(self, txn: Txn) -> "Chain":
        """Return this chain with `txn` after it. O(1).

        Replicas append the same transaction to the same chain one after the other: they get the same link.
        """
        latest = self._latest
        if latest is not None and (latest.txn is txn or latest.txn == txn):
            return latest
        link = _new(Chain)
        link.txn = txn
        link.zxid = txn.zxid
        link.previous = self
        link.length = self.length + 1
        link.hash = chain_hash(self.hash, txn)
        jump = self._jump
        # The longer link back doubles when the two before it are equally long: binary numbers, in effect.
        link._jump = jump._jump if self.length - jump.length == jump.length - jump._jump.length else self
        link._latest = None
        self._latest = link
        return link

    def prefix(self, length: int) -> "Chain":
        """Return the first `length` transactions; 0 <= length <= self.length. O(log length)."""
        assert 0 <= length <= self.length, f"no prefix of {length} in a chain of {self.length}"
        link = self
        while link.length > length:
            jump = link._jump
            link = jump if jump.length >= length else link.previous
        return link

    def up_to(self, zxid: Zxid) -> "Chain":
        """Return the longest prefix that ends at or before `zxid`; the zxids of the chain ascend. O(log length)."""
        link = self
        while link.zxid > zxid:
            jump = link._jump
            link = jump if jump.zxid > zxid else link.previous
        return link

    def starts_with(self, other: "Chain") -> bool:
        """Return True if `other` is a prefix of this chain (or equal). O(log length)."""
        return other.length <= self.length and self.prefix(other.length).hash == other.hash

    def common_prefix(self, other: "Chain") -> "Chain":
        """Return the longest chain that both start with. O(log^2 length)."""
        low, high = 0, min(self.length, other.length)
        while low < high:
            middle = (low + high + 1) // 2
            if self.prefix(middle).hash == other.prefix(middle).hash:
                low = middle
            else:
                high = middle - 1
        return self.prefix(low)

    def after(self, length: int) -> list[Txn]:
        """Return the transactions behind the first `length`, in order. O(their number)."""
        link, txns = self, []
        while link.length > length:
            txns.append(link.txn)
            link = link.previous
        txns.reverse()
        return txns

    def __iter__(self) -> Iterator[Txn]:
        return iter(self.after(0))

    def __len__(self) -> int:
        return self.length

    def __bool__(self) -> bool:
        return self.length > 0

    def __eq__(self, other: object) -> bool:
        # Two different chains of one length have one hash with a chance of 2^-63.
        return isinstance(other, Chain) and self.length == other.length and self.hash == other.hash

    def __hash__(self) -> int:
        return self.hash

    def __repr__(self) -> str:
        return f"Chain.of({self.after(0)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return _from_list, (self.after(0),)


def _from_list(txns: list[Txn]) -> Chain:
    return Chain.of(txns)


def _empty() -> Chain:
    link = _new(Chain)
    link.txn = Txn(NO_ZXID, "")
    link.zxid = NO_ZXID
    link.previous = link
    link.length = 0
    link.hash = 0
    link._jump = link
    link._latest = None
    return link


_new = object.__new__
EMPTY = _empty()
"""The empty sequence ⟨⟩. Its `zxid` is `NO_ZXID`; it has no transaction."""
