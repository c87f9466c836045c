"""Quorum systems (DSN 2011, definition II.1): sets of processes of which any two intersect.

A quorum system has a name in schedules, in traces and on the command line:

    majority                  more than half of the processes
    weights 3,1,1,1           more than half of the weight; one weight a process, from process 1 on
    sets 1+2,2+3,1+3          these sets, and every set that contains one of them

ZooKeeper has the first two.
"""

import re
from collections.abc import Collection, Sequence
from itertools import combinations

from msgspec import Struct

MAJORITY = "majority"
MAX_SETS = 2000
"""The largest number of sets that define a quorum system: each is compared with each other."""

_NAME = re.compile(r"weights (?P<weights>\d{1,9}(,\d{1,9})*)|sets (?P<sets>\d{1,9}([+,]\d{1,9})*)", re.ASCII)


class Quorums(Struct, frozen=True):
    """The majorities of processes 1 to `size`; `size` is 1 or more."""

    size: int

    @property
    def name(self) -> str:
        return MAJORITY

    def contains(self, members: Collection[int]) -> bool:
        """Return True if these processes include a quorum, each given once. O(1), elsewhere O(members) or O(sets)."""
        return len(members) * 2 > self.size

    def may_lead(self, process: int) -> bool:
        """Return True if a vote may elect the process. O(1).

        In ZooKeeper no server without weight is elected (`FastLeaderElection.totalOrderPredicate`).
        """
        return True


class Weighted(Quorums, frozen=True):
    """The sets that have more than half of the weight. Any two intersect, as no weight is negative."""

    weights: tuple[int, ...]

    @property
    def name(self) -> str:
        return "weights " + ",".join(map(str, self.weights))

    def contains(self, members: Collection[int]) -> bool:
        return 2 * sum(self.weights[member - 1] for member in members) > sum(self.weights)

    def may_lead(self, process: int) -> bool:
        return self.weights[process - 1] > 0


class Family(Quorums, frozen=True):
    """The sets that contain one of `sets`, of which any two have to intersect."""

    sets: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        return "sets " + ",".join("+".join(map(str, each)) for each in self.sets)

    def contains(self, members: Collection[int]) -> bool:
        return any(all(process in members for process in each) for each in self.sets)


def quorums_of(name: str, size: int) -> Quorums:
    """Return the quorum system of this name over processes 1 to `size`.

    ValueError if the name is none, does not fit the number of processes, or if two quorums do not intersect: it names
    them. O(sets^2).
    """
    if name == MAJORITY:
        return Quorums(size)
    if weights := weights_of(name):
        return _weighted(weights, size)
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"expected `majority`, `weights 3,1,1` or `sets 1+2,2+3,1+3`, found `{name}`")
    return _family([[int(process) for process in each.split("+")] for each in match["sets"].split(",")], size)


def weights_of(name: str) -> tuple[int, ...] | None:
    """Return the weight of each process in the quorum system of this name; None if it is not by weight."""
    match = _NAME.fullmatch(name)
    return tuple(map(int, match["weights"].split(","))) if match is not None and match["weights"] else None


def _weighted(weights: Sequence[int], size: int) -> Weighted:
    if len(weights) != size:
        raise ValueError(f"expected {size} weights, one for each process, found {len(weights)}")
    if not any(weights):
        raise ValueError("expected a weight above 0: without one there is no quorum")
    return Weighted(size, tuple(weights))


def _family(sets: Sequence[Sequence[int]], size: int) -> Family:
    for each in sets:
        for process in each:
            if not 1 <= process <= size:
                raise ValueError(f"expected processes from 1 to {size} in a quorum, found {process}")
    distinct = tuple(dict.fromkeys(tuple(sorted(set(each))) for each in sets))
    if len(distinct) > MAX_SETS:
        raise ValueError(f"expected at most {MAX_SETS} sets, found {len(distinct)}")
    for (one, mask), (other, mask_of_other) in combinations([(each, _mask(each)) for each in distinct], 2):
        if not mask & mask_of_other:
            raise ValueError(f"the quorums {_braced(one)} and {_braced(other)} do not intersect")
    return Family(size, distinct)


def _mask(members: Sequence[int]) -> int:
    """Return a set of processes as one integer: thousands of pairs are compared."""
    return sum(1 << process for process in members)


def _braced(members: Sequence[int]) -> str:
    return "{" + ", ".join(f"p{process}" for process in sorted(set(members))) + "}"
