"""Symmetry reduction: of states that differ in the names of processes alone, one stands for all.

From a state and from the same state under other names the same can happen, under other names, and no property depends
on the identity of a process. So it is enough to visit one representative of each such class (Ip, Dill: "Better
Verification Through Symmetry", 1996). To find it, processes are first put in order by their features apart from names,
their *kind*; only if two have the same kind both orders are tried, and the row with the least `digests` is taken. So
the representative does not depend on the order in which tables were filled.

That holds as far as a protocol treats its processes alike. Zab does so except for one place, the choice between two
equally good histories (l.1.2: the lowest id). As (f.a, f.zxid) determines a history, either may be taken. A
leader of LADIS 2008 fetches the log of the first that came. In Paxos a process's number decides which ballots it takes.

Elections by vote are a second such place: of equal votes the one with the greatest id wins (`Protocol.vote`). With
symmetry any of them may win, in each election anew (`Successors.ties`). So more can happen than in reality: proofs
hold all the same, and a run that breaks something may be made up, as one server wins a tie now and another one later.
`exploration` replays it under all names, and searches without symmetry if none makes it real. Elections by messages
compare ids all the time, and their servers are not interchangeable.

Quorums have to be symmetric too: a renaming that would make another family of quorums, or let others lead, is not used.
Where configurations change, each one that may occur has to stay what it is, so only processes that belong to the same
of them are interchangeable. And where a leader may be left out of the next one, its members are not, as the leader
names the lowest of several that have acknowledged equally much (`zabcheck.protocols.reconfiguration.steps`, R.6).
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, permutations, product
from math import factorial

from zabcheck.explore.tables.digests import BITS, Digests, digest
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.renaming import Names, renamed_choice
from zabcheck.explore.tables.successors import Row
from zabcheck.invariants.quorums import Configuration, Quorums, configuration_of
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.content import of_connection, of_disk

_ROLE = BITS
"""The lowest bit of the role of the process in a kind."""


def pays(protocol: Protocol, switches: Switches, quorums: Quorums) -> bool:
    """Return True if processes may be treated as interchangeable, and there are fewer states then.

    Two processes that vote have more: ties that either may win add more states than interchangeable names save.
    """
    return protocol.vote is None or (switches.elections != "fle" and quorums.size > 2)


class Symmetry:
    """The renamings of one search, and the states under each."""

    def __init__(self, local_states: LocalStates, monitors: Monitors, quorums: Quorums) -> None:
        """Begin with the renamings that keep `quorums`, and the configurations that these may change to."""
        self.local_states = local_states
        self.monitors = monitors
        self.size = len(local_states.components.ids)
        ids = tuple(local_states.components.ids)
        keeping = (names for each in permutations(ids) if _keeps(quorums, names := (0, *each)))
        changes = local_states.bounds.changes
        self.renamings = [names for names in keeping if _keeps_changes(quorums, changes, names)]
        """The first one changes nothing."""
        self._unnamed = self.renamings[0]
        self.is_full = len(self.renamings) == factorial(self.size)
        turned = (0, *ids[1:], 1)
        self._turned: Names = turned
        self.kinds: list[int] = []
        """By local state: the role of the process, and a digest of what is the same of it under all names."""
        self._kind_of = self.kinds.__getitem__
        self._ordered: dict[tuple[int, ...], list[Names]] = {}
        """By how the kinds of the processes of a row compare: the renamings that put these in order."""
        self._process_kinds: dict[int, int] = {}
        """By the number of a process in `Components`: the digest of what is the same of it under all names."""
        self._link_kinds: dict[tuple[int, bool], int] = {}
        """By the number of a link, and whether it leads to the one that is followed: the same for the link."""
        self._digests = Digests(local_states.components)
        self._known_digests: dict[int, int] = {}

    def canonical(self, row: Row) -> tuple[Row, Names]:
        """Return the representative of a row, and the renaming that makes it of this row."""
        if not self.is_full:
            return self._least(row, self.renamings)
        try:
            kinds = tuple(map(self._kind_of, row[: self.size]))
        except IndexError:
            self.learn()
            kinds = tuple(map(self._kind_of, row[: self.size]))
        places = tuple(map(sorted(kinds).index, kinds))
        candidates = self._ordered.get(places)
        if candidates is None:
            candidates = self._ordered[places] = self._candidates(places)
        if len(candidates) > 1:
            return self._least(row, candidates)
        [names] = candidates
        return (row, names) if names == self._unnamed else (self.renamed(row, names), names)

    def _least(self, row: Row, candidates: Iterable[Names]) -> tuple[Row, Names]:
        """Return the row under those names under which its digests are least, the first of these, and the names."""
        each = ((self.renamed(row, names), names) for names in candidates)
        least, by = next(each)
        for renamed, names in each:
            if renamed != least and self._is_less(renamed, least):
                least, by = renamed, names
        return least, by

    def _is_less(self, row: Row, other: Row) -> bool:
        size = self.size
        one, two = (list(map(self.digest, each[:size])) for each in (row, other))
        return one < two or (one == two and self.monitors.digest(row[-1]) < self.monitors.digest(other[-1]))

    def digest(self, local_state: int) -> int:
        """Return the digest of a local state. O(1) if it was computed before."""
        found = self._known_digests.get(local_state)
        if found is None:
            found = self._known_digests[local_state] = self._digests.of(self.local_states.made_of[local_state])
        return found

    def under_all_names(self, choices: Sequence[AnyChoice]) -> Iterator[tuple[AnyChoice, ...]]:
        """Yield the same run under each renaming, first as it is: the winner of a tie may be right in one only."""
        for names in self.renamings:
            yield tuple(renamed_choice(choice, names) for choice in choices)

    def _candidates(self, kinds: Sequence[int]) -> list[Names]:
        """Return the renamings that put processes of these kinds in order, several if two are of one kind, sorted."""
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
        return sorted(found)

    def learn(self) -> None:
        """Give every new local state its kind: two that differ in names alone have the same. O(1) for each."""
        new = range(len(self.kinds), len(self.local_states.made_of))
        if new:
            self.local_states.components.journal.append(("kinds", ()))
        for local_state in new:
            self.kinds.append(self._role(local_state) << _ROLE | self._nameless(local_state))

    def _role(self, local_state: int) -> int:
        """Return the role of a process to others. It decides the last place first, so most leaders have one name.

        So there are fewer components: half of those with leaders of any name.
        """
        process = self.local_states.components.processes[self.local_states.made_of[local_state][0]]
        if process.leads:
            return 3
        if process.following != NOBODY:
            return 2
        return 1 if process.is_up else 0

    def _nameless(self, local_state: int) -> int:
        """Return a digest of the part of a local state that is the same under all names."""
        number, *links = self.local_states.made_of[local_state]
        kind = self._process_kinds.get(number)
        if kind is None:
            kind = self._process_kinds[number] = digest(self._nameless_process(number))
        following = self.local_states.components.processes[number].following
        opened = (self._nameless_link(link, leader == following) for leader, link in enumerate(links, 1) if link)
        return digest((kind, *sorted(opened)))

    def _nameless_link(self, number: int, to_own_leader: bool) -> int:
        known = self._link_kinds
        kind = known.get((number, to_own_leader))
        if kind is None:
            link = self.local_states.components.links[number]
            assert link is not None
            nameless = (to_own_leader, link.is_unread, *of_connection(link.connection)[2:])
            kind = known[number, to_own_leader] = digest(nameless)
        return kind

    def _nameless_process(self, number: int) -> Hashable:
        """Return the part of a process that is the same under all names.

        Variables count that stay as they are when every process has another name. The others concern
        processes, and only the number of processes with each value counts.
        """
        components = self.local_states.components
        component = components.processes[number]
        turned = components.processes[components.renamed_process(number, self._turned)]
        variables, others = (
            each if isinstance(each, tuple) else (each,) for each in map(components.variables, (component, turned))
        )
        return (
            component.is_up,
            component.halted,
            component.leads,
            component.following != NOBODY,
            len(component.disk.unsynced),
            tuple(one if one == two else _counted(one) for one, two in zip(variables, others, strict=True)),
            of_disk(component.disk) if not component.disk.unsynced else None,
        )

    def renamed(self, row: Row, names: Names) -> Row:
        """Return the row of the same state under these names."""
        size, known = self.size, self.local_states.renamings(names)
        renamed = list(row)
        for index in range(size):
            local_state = row[index]
            twin = known.get(local_state)
            if twin is None:
                twin = self.local_states.renamed(local_state, names)
            renamed[names[index + 1] - 1] = twin
        renamed[size + 1] = self.monitors.renamed(row[size + 1], names)
        return tuple(renamed)


def _counted(value: Hashable) -> Hashable:
    """Return for each value of a variable the number of processes that have it, without their names."""
    if isinstance(value, frozenset):
        return frozenset(Counter(each[1] for each in value if isinstance(each, tuple)).items())
    return None


def _keeps(quorums: Quorums, names: Names) -> bool:
    """Return True if the renamed quorums are the quorums, and a process that may lead may do so under its new name."""
    ids = range(1, quorums.size + 1)
    if any(quorums.may_lead(process) != quorums.may_lead(names[process]) for process in ids):
        return False
    subsets = ([p for p in ids if bits >> p & 1] for bits in range(0, 2 << quorums.size, 2))
    return all(quorums.contains(subset) == quorums.contains([names[p] for p in subset]) for subset in subsets)


def _keeps_changes(first: Quorums, changes: Iterable[str], names: Names) -> bool:
    """Return True if each configuration to change to is the same when renamed, and none of R.6's choices differs."""
    to = [configuration for name in changes if (configuration := configuration_of(name, first.size)) is not None]
    if not to or not isinstance(first, Configuration):
        return True
    before = {member for each in (first, *to) for member in each.members}
    for each in to:
        if {names[member] for member in each.members} != set(each.members):
            return False
        if not before <= set(each.members) and any(names[member] != member for member in each.members):
            return False
    return True
