"""Processes that are interchangeable: states that differ in names alone are one state.

From a state and from the same state with other names the same can happen, with other names; and no property asks who it
was. So of all names that a state could have one suffices: the row of numbers that is the least. To find it, processes
are put in an order first by what they are apart from names (the least number that their part has under any names); only
where two are alike in that are both orders tried.

That holds as far as a protocol treats its processes alike. The one place where Zab does not is the choice between two
equally good histories (l.1.2: the lowest id); as (f.a, f.zxid) tells a history, it does not matter which is taken.
Quorums have to be symmetric too: names that would make another family of quorums are not used.
"""

from itertools import chain, permutations, product
from typing import NamedTuple

from invariants.quorums import Quorums
from zabcheck.search.explore.ghosts import Ghosts
from zabcheck.search.explore.parts import Names, Parts


class _Renaming(NamedTuple):
    """New names, and where the parts of a state go: `pairs[i]` is the place whose connection comes to place i."""

    names: Names
    processes: tuple[int, ...]
    pairs: tuple[int, ...]


class Symmetry:
    """The renamings of one search."""

    def __init__(self, parts: Parts, ghosts: list[Ghosts], quorums: Quorums) -> None:
        self.parts = parts
        self.ghosts = ghosts
        self.size = len(parts.ids)
        ids = tuple(parts.ids)
        self.renamings = {
            names: self._renaming(names) for each in permutations(ids) if _keeps(quorums, names := (0, *each))
        }
        """The first one changes nothing."""
        self._all = len(self.renamings) == len(list(permutations(ids)))
        self._kinds: dict[int, int] = {}

    def _renaming(self, names: Names) -> _Renaming:
        back = {name: process for process, name in enumerate(names)}
        place = {pair: number for number, pair in enumerate(self.parts.pairs)}
        processes = tuple(back[p] - 1 for p in self.parts.ids)
        return _Renaming(names, processes, tuple(place[back[one], back[other]] for one, other in self.parts.pairs))

    def canonical(self, state: tuple[int, ...]) -> tuple[tuple[int, ...], Names]:
        """The least row that `state` has under any names, and these names."""
        best: tuple[tuple[int, ...], Names] | None = None
        for names in self._candidates(state):
            row = self.renamed(state, names)
            if best is None or row < best[0]:
                best = row, names
        assert best is not None
        return best

    def _candidates(self, state: tuple[int, ...]) -> list[Names]:
        if not self._all:
            return list(self.renamings)
        groups: dict[int, list[int]] = {}
        for process in self.parts.ids:
            groups.setdefault(self._kind(state[process - 1]), []).append(process)
        if len(groups) == self.size:
            orders = [[groups[kind][0] for kind in sorted(groups)]]
        else:
            alike = (permutations(groups[kind]) for kind in sorted(groups))
            orders = [list(chain.from_iterable(each)) for each in product(*alike)]
        found = []
        for order in orders:
            names = [0] * (self.size + 1)
            for name, process in enumerate(order, 1):
                names[process] = name
            found.append(tuple(names))
        return found

    def _kind(self, part: int) -> int:
        """The least number that a process has under any names."""
        kind = self._kinds.get(part)
        if kind is None:
            kind = self._kinds[part] = min(self.parts.renamed_process(part, names) for names in self.renamings)
        return kind

    def renamed(self, state: tuple[int, ...], names: Names) -> tuple[int, ...]:
        """The row that `state` has under these names, one of the `renamings`."""
        parts, size, renaming = self.parts, self.size, self.renamings[names]
        used = size + len(renaming.pairs)
        return (
            *(parts.renamed_process(state[place], names) for place in renaming.processes),
            *(parts.renamed_connection(state[size + place], names) for place in renaming.pairs),
            *state[used : used + 3],
            *(each.renamed(ghost, names, parts) for each, ghost in zip(self.ghosts, state[used + 3 :], strict=True)),
        )


def _keeps(quorums: Quorums, names: Names) -> bool:
    """Whether the renamed quorums are the quorums."""
    ids = range(1, quorums.size + 1)
    subsets = ([p for p in ids if bits >> p & 1] for bits in range(0, 2 << quorums.size, 2))
    return all(quorums.contains(subset) == quorums.contains([names[p] for p in subset]) for subset in subsets)
