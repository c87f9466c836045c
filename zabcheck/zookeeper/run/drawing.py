"""Drawing from a random source, by shares and lists."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

_Item = TypeVar("_Item")


class Drawing:
    """A part of a schedule while it is drawn from `random`, which nothing else draws from meanwhile."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def often(self, share: float) -> bool:
        """Return True in this share of the cases."""
        return self.random.random() < share

    def one(self, items: Sequence[_Item]) -> _Item:
        """Draw one of these, each as likely as the others."""
        return self.random.choice(items)
