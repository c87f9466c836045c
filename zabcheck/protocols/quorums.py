"""Quorum systems (DSN 2011, definition II.1): sets of processes of which any two intersect."""

from collections.abc import Collection

from msgspec import Struct


class Quorums(Struct, frozen=True, gc=False):
    """The majorities of processes 1 to `size`; `size` is 1 or more."""

    size: int

    @property
    def name(self) -> str:
        return "majority"

    def contains(self, members: Collection[int]) -> bool:
        """Whether these processes (each named once) include a quorum. O(1)."""
        return len(members) * 2 > self.size
