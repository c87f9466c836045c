"""Quorum systems (DSN 2011, definition II.1): sets of processes of which any two intersect.

A quorum system has a name in schedules, in traces and on the command line:

    majority                  more than half of the processes
    weights 3,1,1,1           more than half of the weight; one weight a process, from process 1 on
    sets 1+2,2+3,1+3          these sets, and every set that contains one of them
    config 1,2,4              more than half of these processes, in ascending order: a configuration

ZooKeeper has the first two, and the last. A trace or a schedule that begins with a configuration may go over to others:
a transaction whose value is the name of one is a *configuration change*, and that one governs what comes after it.
Elsewhere such a value means nothing (see `zabcheck.invariants.configurations`).
"""

import re
from collections.abc import Collection, Sequence
from itertools import combinations

from msgspec import Struct

MAJORITY = "majority"
MAX_SETS = 2000
"""The largest number of sets that define a quorum system: each is compared with each other."""

_NAME = re.compile(
    r"weights (?P<weights>\d{1,9}(,\d{1,9})*)|sets (?P<sets>\d{1,9}([+,]\d{1,9})*)"
    r"|config (?P<members>[1-9]\d{0,8}(,[1-9]\d{0,8})*)",
    re.ASCII,
)


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


class Configuration(Quorums, frozen=True):
    """The majorities of `members`, one or more of processes 1 to `size`, in ascending order."""

    members: tuple[int, ...]

    @property
    def name(self) -> str:
        return "config " + ",".join(map(str, self.members))

    def contains(self, members: Collection[int]) -> bool:
        return 2 * sum(member in self.members for member in members) > len(self.members)

    def may_lead(self, process: int) -> bool:
        return process in self.members


def configuration_of(value: str, size: int) -> Configuration | None:
    """Return the configuration of processes 1 to `size` that the value of a transaction names; None if it names none.

    Its name is canonical: each process once, in ascending order.
    """
    match = _NAME.fullmatch(value)
    if match is None or not match["members"]:
        return None
    members = tuple(map(int, match["members"].split(",")))
    return Configuration(size, members) if members == tuple(sorted(set(members))) and members[-1] <= size else None


def is_configuration(name: str) -> bool:
    """Return True if the quorum system of this name is a configuration, which may change."""
    match = _NAME.fullmatch(name)
    return match is not None and bool(match["members"])


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
        expected = "`majority`, `weights 3,1,1`, `sets 1+2,2+3,1+3` or `config 1,2,3`"
        raise ValueError(f"expected {expected}, found `{name}`")
    if match["members"]:
        configuration = configuration_of(name, size)
        if configuration is None:
            raise ValueError(f"expected processes from 1 to {size} in ascending order, found `{name}`")
        return configuration
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
