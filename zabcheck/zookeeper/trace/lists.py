"""The lists of servers in the configurations of an ensemble, as a recording has them, and two quorums that they allow.

Lists are static here: what a reconfiguration makes of them is not followed.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from zabcheck.zookeeper.recording.records import AnyRecord, Reconfigures, Run, Started
from zabcheck.zookeeper.trace.notes import ListsPart


def notes_on_lists(records: Iterable[AnyRecord]) -> Iterator[ListsPart]:
    """Yield at most one note: on the first moment from which two disjoint quorums could act. O(records)."""
    at_first: tuple[int, ...] = ()
    voters: dict[int, tuple[int, ...]] = {}
    for record in records:
        match record:
            case Run(servers=servers, observers=apart):
                at_first = tuple(range(1, servers - apart + 1))
            case Reconfigures():
                return
            case Started(server=server) if record.voters or server not in voters:
                voters[server] = record.voters or at_first
                if record.voters and (quorums := disjoint_quorums(voters)) is not None:
                    yield ListsPart(*quorums)
                    return


def disjoint_quorums(voters: Mapping[int, tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Find two disjoint groups, each of which can elect one of its servers. None if there are none.

    `voters` has the list of each server that may run. The first group is one of the smallest. O(n²2ⁿ) for n servers.
    """
    there = sorted(voters)
    for size in range(1, len(there)):
        for group in combinations(there, size):
            others = tuple(each for each in there if each not in group)
            if _can_elect(group, voters) and _can_elect(others, voters):
                return group, others
    return None


def _can_elect(group: tuple[int, ...], voters: Mapping[int, tuple[int, ...]]) -> bool:
    """Return True if one of a group has a quorum of its list there, of servers that have it in theirs."""
    return any(
        2 * sum(each in voters[leader] and leader in voters[each] for each in group) > len(voters[leader])
        for leader in group
    )
