"""The search through all states, breadth first.

A state is a row of numbers: a member for each process, what was used up of the bounds, and a ghost; a row is packed
into one integer. For each state its predecessor is kept, and the choice that led from there, so that the run to any
state can be told.
"""

import resource
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from time import process_time
from typing import NamedTuple

import msgspec
from msgspec import Struct

from invariants import Invariant
from invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.search.explore.bounds import Bounds
from zabcheck.search.explore.checkpoint import EVERY, Checkpoints, Position, Reached, steps_of
from zabcheck.search.explore.components import Names, Parts, renamed_choice
from zabcheck.search.explore.journal import Closed, Journal, NotInTable, Table
from zabcheck.search.explore.local_states import GOES_DEAF, Members
from zabcheck.search.explore.monitors import Ghosts
from zabcheck.search.explore.successors import Row, Successors
from zabcheck.search.explore.symmetry import Symmetry
from zabcheck.search.explore.workers import AGAIN, PORTION, Answer, Answering, Sharing, forked
from zabcheck.simulation.choices import AnyChoice

_LOOK = 4096
"""After so many states memory is looked at, and progress told."""

_BITS = 32
"""Of each number in a packed row."""
_LOW = (1 << _BITS) - 1

End = tuple[str | None, bool]
"""How a search ends: the property that is violated, and whether a step raised."""


class Progress(NamedTuple):
    """How far a search is: distinct states, those that were gone on from, transitions, and the level."""

    states: int
    done: int
    transitions: int
    depth: int


class Explored(Struct, frozen=True):
    """What a search found. `broken` is the property that the run of `choices` violates.

    Without partial-order reduction its length is the shortest. `whole`: every state was gone on from; it is False, too,
    if something is broken. `tried`: without partial-order reduction, every run of up to so many steps was tried.
    `switched_off` counts the moves that each bound forbade, by its name. `exercised` says for each property whether
    there was anything to judge; `goals` are those that were seen to be reached.
    """

    states: int
    transitions: int
    depth: int
    whole: bool
    tried: int
    broken: str | None
    raised: bool
    choices: tuple[AnyChoice, ...]
    switched_off: dict[str, int]
    exercised: dict[str, bool]
    goals: tuple[str, ...]
    parts: int
    """How many different processes, connections and ghosts the states are made of."""


class Space:
    """All states of `protocol` within `bounds`, judged by `properties` (none that waits for a `Stabilised`).

    With `symmetry`, processes are interchangeable, if the protocol can rename them; with `reduction`, only one order of
    moves that commute is tried, if the protocol's do. Unless it has to be `exact`, a property may be judged more
    strictly than it is (`ghosts.OncePerEpoch`): if then something is broken, judge the run.
    """

    def __init__(
        self,
        protocol: Protocol,
        quorums: Quorums,
        switches: Switches,
        bounds: Bounds,
        properties: Sequence[type[Invariant]],
        *,
        symmetry: bool = True,
        reduction: bool = False,
        exact: bool = False,
    ) -> None:
        self.bounds = bounds
        self.reduced = reduction and protocol.commutes
        self.parts = Parts(protocol, quorums, switches)
        self._journal: Journal = []
        self.members = Members(self.parts, switches, bounds, self._journal, reduced=self.reduced)
        self.ghosts = Ghosts(properties, quorums, self.parts, self._journal, exact=exact)
        self.successors = Successors(self.members, self.ghosts)
        can_rename = symmetry and protocol.rename is not None
        self.symmetry = Symmetry(self.members, self.ghosts, quorums) if can_rename else None
        self._seen: dict[int, None] = {}
        self._before = array("I", [0])
        self._by = array("H", [0])
        self._names = array("H", [0])
        self._unnamed = (0, *self.parts.ids)
        self._namings: dict[Names, int] = {self._unnamed: 0}
        self._level: list[Row] = []
        """States of the current level; after a checkpoint was read, those that were not yet gone on from."""
        self._following: list[Row] = []
        self._done = self._depth = self._transitions = 0
        self._settings = {
            "protocol": protocol.name,
            "steps": steps_of(protocol),
            "bounds": bounds.in_words(),
            "quorums": quorums.name,
            "switches": msgspec.json.encode(switches).decode(),
            "properties": ", ".join(kind.name for kind in properties),
            "symmetry": str(self.symmetry is not None).lower(),
            "reduction": str(self.reduced).lower(),
            "exact": str(exact).lower(),
        }

    def rows(self) -> Iterator[Row]:
        """The states that were seen, in the order of discovery: the members, what was used, and the ghost."""
        return map(self._unpacked, self._seen)

    def explore(
        self,
        memory: float = float("inf"),
        on_progress: Callable[[Progress], None] | None = None,
        *,
        levels: int | None = None,
        workers: int = 1,
        checkpoint: Path | None = None,
        resume: bool = False,
        every: float = EVERY,
    ) -> Explored:
        """Go on until every state was seen, something breaks, `memory` bytes are used, or `levels` were gone through.

        Costs some microseconds and about 100 bytes a state, once the tables are filled.
        With several `workers`, as many processes go on from the states of large levels, and find what one would find;
        WorkerDied if one is killed. Each but this one takes memory of its own, of which `memory` knows nothing.
        A `checkpoint` is written at most every so many seconds, and when memory ends. With `resume` the search goes on
        from the one that is there, and finds what it would have found; CheckpointError if that cannot be.
        """
        checkpoints = Checkpoints(checkpoint, self._settings, every) if checkpoint is not None else None
        if resume:
            assert checkpoints is not None, "to go on there has to be a checkpoint"
            self._restore(checkpoints)
        else:
            self._begin()
        looked, sharing = self._done, Sharing(workers)
        while (self._level or self._following) and self._depth != levels:
            with closing(self._steps(sharing)) as steps:
                for end in steps:
                    if end is not None:
                        return self._found(self._depth + 1, *end, self._run(len(self._seen) - 1))
                    if self._done - looked < _LOOK:
                        continue
                    looked = self._done
                    if on_progress is not None:
                        on_progress(Progress(len(self._seen), self._done, self._transitions, self._depth + 1))
                    full = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > memory
                    if checkpoints is not None and (full or checkpoints.is_due):
                        checkpoints.write(self._reached())
                    if full:
                        return self._found(self._depth + 1, None, False, (), whole=False)
            self._level, self._following = self._following, []
            self._depth += 1
        if self._level:
            return self._found(self._depth, None, False, (), whole=False, tried=self._depth)
        return self._found(self._depth - 1, None, False, ())  # the last level led to nothing new

    def _begin(self) -> None:
        """Have the first state alone."""
        first: Row = (*self.members.start, 0, 0)
        first = self._canonical(first)
        self._seen = {_packed(first): None}
        self._level = [first]

    def _steps(self, sharing: Sharing) -> Generator[End | None]:
        """Go on from the states of the level, some at each step. If something breaks, the last step says what."""
        own, *others = sharing.slices(self._level)
        if others:
            yield from self._shared(sharing, own, others)
        else:
            for start in range(0, len(own), _LOOK):
                yield self._go_on(own[start : start + _LOOK])

    def _shared(self, sharing: Sharing, own: Sequence[Row], others: Sequence[Sequence[Row]]) -> Generator[End | None]:
        """Go on from the `own` states, while workers go on from `others`; then take over what they answer."""
        with forked([partial(self._answers, rows) for rows in others]) as workers:
            exploring = taking = needed = 0.0
            for start in range(0, len(own), PORTION):
                begun = process_time()
                end = self._go_on(own[start : start + PORTION])
                exploring += process_time() - begun
                yield end
                for worker in workers:
                    worker.drain()
            for rows, worker in zip(others, workers, strict=True):
                for start in range(0, len(rows), PORTION):
                    answer = worker.answer()
                    begun = process_time()
                    end = self._take(rows[start : start + PORTION], answer)
                    taking += process_time() - begun
                    yield end
                    for other in workers:
                        other.drain()
                needed += answer.seconds
        answered = sum(map(len, others))
        sharing.learn(exploring / len(own), needed / answered, taking / answered)

    def _answers(self, rows: Sequence[Row]) -> Iterator[Answer]:
        """What is found from these states by look-ups alone; in a worker."""
        begun = process_time()
        self.members.journal = self.ghosts.journal = Closed()
        for start in range(0, len(rows), PORTION):
            answering = Answering()
            for row in rows[start : start + PORTION]:
                self._transitions = 0
                self._before, self._by, self._names, self._following = array("I"), array("H"), array("H"), []
                try:
                    is_known = self._go_on([row]) is None
                except NotInTable:
                    is_known = False
                if not is_known:
                    answering.again()
                else:
                    answering.add(self._transitions, self._by, self._names, self._following)
            yield answering.answer(list(self._namings), process_time() - begun)

    def _take(self, rows: Sequence[Row], answer: Answer) -> End | None:
        """Take over what a worker found from these states, the next ones of the level. If something breaks it ends."""
        found = answer.found(len(self.parts.ids) + 2)
        for row, (transitions, new) in zip(rows, answer.counts(), strict=True):
            if transitions == AGAIN:
                end = self._go_on([row])
                if end is not None:
                    return end
                continue
            for choice, names, after in islice(found, new):
                key = _packed(after)
                if key not in self._seen:
                    self._seen[key] = None
                    self._before.append(self._done)
                    self._by.append(choice)
                    self._names.append(self._namings.setdefault(names, len(self._namings)))
                    self._following.append(after)
            self._transitions += transitions
            self._done += 1
        return None

    def _go_on(self, level: Sequence[Row]) -> End | None:
        """Go on from these states, the next ones of the level.

        If something breaks it ends there.
        """
        canonical = self.symmetry.canonical if self.symmetry is not None else None
        broken, successors = self.ghosts.broken, self.successors.of
        seen, following, names, transitions = self._seen, self._following, self._unnamed, 0
        for row in level:
            for first, changed, raised, _ in successors(row):
                transitions += 1
                after = tuple(changed)
                if canonical is not None:
                    after, names = canonical(after)
                key = 0  # as in `_packed`, which would be slower to call
                for number in after:
                    key = key << _BITS | number
                if key in seen:
                    continue
                seen[key] = None
                self._before.append(self._done)
                self._by.append(first)
                self._names.append(self._namings.setdefault(names, len(self._namings)))
                following.append(after)
                if raised or broken[after[-1]] is not None:
                    self._transitions += transitions
                    return broken[after[-1]], raised
            self._done += 1
        self._transitions += transitions
        return None

    # Checkpoints.

    def _reached(self) -> Reached:
        """What a checkpoint has to hold, between two states."""
        level = len(self._seen) - len(self._following)
        return Reached(
            Position(self._done, level, self._depth, self._transitions),
            self._journal,
            list(self._namings),
            self._before,
            self._by,
            self._names,
            self._seen,
            (len(self.parts.ids) + 2) * _BITS // 8,
            self._sizes,
        )

    def _restore(self, checkpoints: Checkpoints) -> None:
        """Fill the tables again, and have the states that were seen."""
        reached = checkpoints.read()
        fill: dict[Table, Callable[..., object]] = {
            "expansions": self.members.expand,
            "singles": self.members.try_single,
            "links": self.members.with_link,
            "members renamed": self.members.renamed,
            "ghosts": self.ghosts.after,
            "ghosts renamed": self.ghosts.renamed,
        }
        if self.symmetry is not None:
            fill["kinds"] = self.symmetry.learn
        try:
            for table, key in reached.journal:
                fill[table](*key)
        except LookupError:
            raise checkpoints.refuse() from None
        if self._sizes != reached.sizes:
            raise checkpoints.refuse()
        self._seen = dict.fromkeys(reached.keys)
        self._before, self._by, self._names = reached.before, reached.by, reached.names
        self._namings = {names: number for number, names in enumerate(reached.namings)}
        self._done, level, self._depth, self._transitions = msgspec.structs.astuple(reached.position)
        self._level = [self._unpacked(key) for key in islice(self._seen, self._done, level)]
        self._following = [self._unpacked(key) for key in islice(self._seen, level, None)]

    @property
    def _sizes(self) -> dict[str, int]:
        """How many parts there are, by kind, and what was counted as they were made."""
        return {
            "processes": len(self.parts.processes),
            "links": len(self.parts.links),
            "events": len(self.parts.events),
            "members": len(self.members.members),
            "ghosts": len(self.ghosts),
            "journal": len(self._journal),
            **{f"off: {name}": number for name, number in self.members.switched_off.items()},
            **{f"exercised: {name}": int(was) for name, was in self.ghosts.exercised.items()},
        }

    def _unpacked(self, packed: int) -> Row:
        numbers = range(len(self.parts.ids) + 1, -1, -1)
        return tuple(packed >> _BITS * place & _LOW for place in numbers)

    def _run(self, state: int) -> tuple[AnyChoice, ...]:
        return self.run_to(state)[0]

    def run_to(self, state: int) -> tuple[tuple[AnyChoice, ...], Names]:
        """The choices that lead to a state, and how they call the processes of its row, by their names in the row.

        The state is counted from 0 on in the order of `rows`. O(states).
        """
        namings, rows = list(self._namings), list(self._seen)
        states = [state]
        while state:
            state = self._before[state]
            states.append(state)
        choices: list[AnyChoice] = []
        originally = tuple(range(len(self.parts.ids) + 1))  # by what a process is called now
        for before, after in pairwise(reversed(states)):
            for number in self._path(self._unpacked(rows[before]), self._by[after], rows[after]):
                if number != GOES_DEAF:
                    choice = self.members.choices[number]
                    assert choice is not None
                    choices.append(renamed_choice(choice, originally))
            names = namings[self._names[after]]
            back = {name: process for process, name in enumerate(names)}
            originally = tuple(originally[back[name]] for name in range(len(names)))
        return tuple(choices), originally

    def _path(self, row: Row, first: int, packed: int) -> list[int]:
        """The numbers of all choices that lead from this state, in one step of the search, to another."""
        for found in self.successors.of(row):
            if found.first == first and packed == _packed(self._canonical(tuple(found.row))):
                return found.choices()
        raise AssertionError("a state was reached from the one before it")

    def _canonical(self, row: Row) -> Row:
        return row if self.symmetry is None else self.symmetry.canonical(row)[0]

    def _found(
        self,
        depth: int,
        broken: str | None,
        raised: bool,
        choices: tuple[AnyChoice, ...],
        whole: bool = True,
        tried: int | None = None,
    ) -> Explored:
        return Explored(
            states=len(self._seen),
            transitions=self._transitions,
            depth=depth,
            whole=whole and broken is None and not raised,
            tried=depth - 1 if tried is None else tried,
            broken=broken,
            raised=raised,
            choices=choices,
            switched_off=dict(self.members.switched_off),
            exercised=self.ghosts.exercised,
            goals=tuple(self.ghosts.goals),
            parts=len(self.parts.processes) + len(self.parts.links) - 1 + len(self.ghosts),
        )


def _packed(row: Row) -> int:
    packed = 0
    for number in row:
        packed = packed << _BITS | number
    return packed


def judged_in_every_state(kind: type[Invariant]) -> bool:
    """Not what waits for a promise of the environment, or for an application: no state of a search has these."""
    return kind.group not in ("liveness", "application")
