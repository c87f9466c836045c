"""Processes that are interchangeable: states that differ in names alone are one state.

From a state and from the same state with other names the same can happen, with other names; and no property asks who it
was. So of all names that a state could have one suffices. To find it, processes are put in an order first by what they
are apart from names, their *kind*; only where two are alike in that are both orders tried, and the row with the least
numbers is taken.

That holds as far as a protocol treats its processes alike. The one place where Zab does not is the choice between two
equally good histories (l.1.2: the lowest id); as (f.a, f.zxid) tells a history, it does not matter which is taken.
Quorums have to be symmetric too: names that would make another family of quorums are not used.
"""

from collections import Counter
from collections.abc import Hashable
from itertools import chain, permutations, product
from math import factorial

from invariants.quorums import Quorums
from zabcheck.search.explore.components import Names, of_connection, of_disk
from zabcheck.search.explore.local_states import Members
from zabcheck.search.explore.monitors import Ghosts

_Row = tuple[int, ...]


class Symmetry:
    """The renamings of one search."""

    def __init__(self, members: Members, ghosts: Ghosts, quorums: Quorums) -> None:
        self.members = members
        self.ghosts = ghosts
        self.size = len(members.parts.ids)
        ids = tuple(members.parts.ids)
        self.renamings = [names for each in permutations(ids) if _keeps(quorums, names := (0, *each))]
        """The first one changes nothing."""
        self._unnamed = self.renamings[0]
        self._all = len(self.renamings) == factorial(self.size)
        turned = (0, *ids[1:], 1)
        self._turned: Names = turned
        self._kinds: list[int] = []
        self._kind_ids: dict[Hashable, int] = {}

    def canonical(self, row: _Row) -> tuple[_Row, Names]:
        """The row that stands for all that differ from this one in names, and the names by which it becomes that."""
        if not self._all:
            return min((self.renamed(row, names), names) for names in self.renamings)
        size = self.size
        if max(row[:size]) >= len(self._kinds):
            self.learn()
        kinds = self._kinds
        found = [kinds[member] for member in row[:size]]
        sorted_ = sorted(found)
        if len(set(found)) < size:
            return min((self.renamed(row, names), names) for names in self._candidates(found))
        if found == sorted_:
            return row, self._unnamed
        names = (0, *(sorted_.index(kind) + 1 for kind in found))
        return self.renamed(row, names), names

    def _candidates(self, kinds: list[int]) -> list[Names]:
        groups: dict[int, list[int]] = {}
        for process, kind in enumerate(kinds, 1):
            groups.setdefault(kind, []).append(process)
        alike = (permutations(groups[kind]) for kind in sorted(groups))
        found = []
        for order in product(*alike):
            names = [0] * (self.size + 1)
            for name, process in enumerate(chain.from_iterable(order), 1):
                names[process] = name
            found.append(tuple(names))
        return found

    def learn(self) -> None:
        """Give every member that is new its kind: two that differ in names alone have the same. O(1) for each."""
        self.members.journal.append(("kinds", ()))
        for member in range(len(self._kinds), len(self.members.members)):
            kind = self._nameless(member)
            self._kinds.append(self._kind_ids.setdefault(kind, len(self._kind_ids)))

    def _nameless(self, member: int) -> Hashable:
        """What is the same of a member under all names.

        Of the variables those count that stay as they are when everybody is called otherwise; of others, which are
        about processes, only what is said of how many.
        """
        parts = self.members.parts
        number, *links = self.members.members[member]
        part = parts.processes[number]
        turned = parts.processes[parts.renamed_process(number, self._turned)]
        variables, others = (
            each if isinstance(each, tuple) else (each,) for each in map(parts.variables, (part, turned))
        )
        opened = [parts.links[link] for link in links]
        return (
            part.is_up,
            part.halted,
            part.leads,
            part.following != 0,
            len(part.disk.unsynced),
            tuple(one if one == two else _counted(one) for one, two in zip(variables, others, strict=True)),
            of_disk(part.disk) if not part.disk.unsynced else None,
            frozenset(
                Counter(
                    (leader == part.following, link.deaf, *of_connection(link.connection)[2:])
                    for leader, link in enumerate(opened, 1)
                    if link is not None
                ).items()
            ),
        )

    def renamed(self, row: _Row, names: Names) -> _Row:
        """The row of the same state under these names."""
        size, member_of = self.size, self.members.renamed
        renamed = list(row)
        for index in range(size):
            renamed[names[index + 1] - 1] = member_of(row[index], names)
        renamed[size + 1] = self.ghosts.renamed(row[size + 1], names)
        return tuple(renamed)


def _counted(value: Hashable) -> Hashable:
    """Of what is said of processes: how often, but not of which."""
    if isinstance(value, frozenset):
        return frozenset(Counter(each[1] for each in value if isinstance(each, tuple)).items())
    return None


def _keeps(quorums: Quorums, names: Names) -> bool:
    """Whether the renamed quorums are the quorums."""
    ids = range(1, quorums.size + 1)
    subsets = ([p for p in ids if bits >> p & 1] for bits in range(0, 2 << quorums.size, 2))
    return all(quorums.contains(subset) == quorums.contains([names[p] for p in subset]) for subset in subsets)
