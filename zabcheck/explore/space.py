"""The search through all states, breadth first.

A state is a row of numbers: a local state for each process, what was used of the bounds, and a monitor. Of each state
the predecessor is kept, and the choice that led from there, so that the run to any state can be told (`visited`). As
soon as a level is large they are kept in arrays, if numpy is installed (`compact`), and in files once memory is used up
(`spilled`).
"""

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from invariants import Invariant
from invariants.base import WentOn
from invariants.quorums import Quorums
from zabcheck.explore.at_once import pays_from
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.explored import Explored, Progress
from zabcheck.explore.runs import run_to
from zabcheck.explore.sharing.slicing import AGAIN, PORTION, Answer, Answering, Sharing, shared
from zabcheck.explore.sharing.workers import Worker
from zabcheck.explore.states.checkpoint import (
    EVERY,
    CheckpointError,
    Checkpoints,
    Position,
    Reached,
    settings_of,
)
from zabcheck.explore.states.memory import rare_collections, used
from zabcheck.explore.states.visited import States, Visited
from zabcheck.explore.tables import making
from zabcheck.explore.tables.components import Components, EpochUnknown
from zabcheck.explore.tables.journal import Closed, Journal, NotInTable, Table
from zabcheck.explore.tables.judges import forgets_what_is_left
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.reduction import MayLeave, are_lasting
from zabcheck.explore.tables.renaming import Names
from zabcheck.explore.tables.successors import End, Row, Successors
from zabcheck.explore.tables.symmetry import Symmetry, pays
from zabcheck.protocols.base import CannotTellApart, Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import AnyChoice

if TYPE_CHECKING:
    from zabcheck.explore.sharing.on_spark import OnSpark, Spark
    from zabcheck.explore.sharing.portions import Portions

LARGE_ON_SPARK = 1_000_000
"""A level of fewer states is expanded on this machine, with Spark too."""
LARGE = 600
"""Until a level has this many states they are kept without numpy, if it is not loaded (`pays_from`)."""
_LOOK = 4096
"""The number of states after which memory is looked at, and progress reported."""


class Space:
    """All states of `protocol` within `bounds`, judged by `properties` (each one `judged_in_every_state`).

    With `symmetry`, processes are taken for interchangeable, if the protocol can rename them; with `reduction`, only
    one order of moves that commute is tried, if the protocol's do. What came of that is in the attributes `symmetry`
    (None: none) and `reduced`. With symmetry a run may be made up, so one that is found has to be replayed;
    `exploration` does that, and is what to call. `moments` False: nobody will ask what several processes have at one
    moment, as `liveness` and `rests` do of the states; then reduction leaves out more of them, for some properties (not
    where errors of the code that is modelled end a run).
    `forgetful`: properties forget iterations that are left (`Invariant.leave`). StepRaised if a process cannot start.
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
        moments: bool = True,
        forgetful: bool = False,
    ) -> None:
        self.bounds = bounds
        can_reduce = protocol.commutes and (protocol.vote is not None or not bounds.snapshots)
        self.reduced = reduction and can_reduce and switches.elections != "fle"
        forgetful = forgetful and any(map(forgets_what_is_left, properties))
        self._journal: Journal = []
        self.components = Components(protocol, quorums, switches, tells_of_leaving=forgetful, journal=self._journal)
        moments = moments or not are_lasting(properties) or switches.errors == "raised"
        self.local_states = LocalStates(self.components, switches, bounds, reduced=self.reduced, moments=moments)
        self._properties, self._forgetful = tuple(properties), forgetful
        self._can_rename = symmetry and protocol.rename is not None and pays(protocol, switches, quorums)
        self.symmetry: Symmetry | None = None
        self._watch(())
        self._width = len(self.components.ids) + 2
        """How many numbers a row has."""
        self._visited = Visited(self._width)
        """The states, as long as `_portions` is None."""
        self._portions: Portions | OnSpark | None = None
        """What has the states in arrays, and expands them."""
        self._unnamed = (0, *self.components.ids)
        renamings = [self._unnamed] if self.symmetry is None else self.symmetry.renamings
        self.namings: dict[Names, int] = {names: number for number, names in enumerate(renamings)}
        """By renaming: its number."""
        self._expanded = self._depth = self._transitions = 0
        self._figures_before = self._figures
        """`_figures` at the end of the level before: what comes of a part of a level depends on how it is expanded."""
        self._end = 1
        """The number of the first state that is not of the current level, nor of one before."""
        self._over = False
        """Whether the current level has no states."""
        which = protocol, quorums, switches, bounds, properties
        self._settings = settings_of(
            *which, symmetry=self._can_rename, reduction=self.reduced, moments=moments, forgetful=forgetful
        )

    def _watch(self, exercised: Sequence[str]) -> None:
        """Have monitors that know nothing yet, and what relies on them."""
        quorums, journal = self.components.quorums, self._journal
        self.monitors = Monitors(
            self._properties, quorums, self.components, journal, exercised, told_of_leaving=self._forgetful
        )
        self.successors = Successors(self.local_states, self.monitors, ties=self._can_rename)
        if self.symmetry is not None:
            self.symmetry.monitors = self.monitors
        elif self._can_rename:
            self.symmetry = Symmetry(self.local_states, self.monitors, quorums)

    @property
    def _figures(self) -> tuple[int, dict[str, int]]:
        """How many components there are, and how many moves each bound forbade."""
        components = len(self.components.processes) + len(self.components.links) - 1 + len(self.monitors)
        return components, dict(self.local_states.switched_off)

    @property
    def states(self) -> States:
        """The states that were visited, in the order of discovery."""
        return self._visited if self._portions is None else self._portions.states

    def rows(self) -> Iterator[Row]:
        """Return the states that were visited, in the order of discovery."""
        return self.states.rows()

    @rare_collections()
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
        folder: Path | None = None,
        spark: "Spark | None" = None,
        look_for_interrupt: Callable[[], None] = lambda: None,
    ) -> Explored:
        """Search until every state is expanded, something breaks, or `levels` are expanded.

        Costs some microseconds a state, once the tables are filled, and at most 32 bytes with numpy, or 150 to 350.
        With numpy many states of a large level are expanded at once, and the same is found.
        With several `workers`, as many processes expand the states of large levels, and find what one would find;
        WorkerDied if one is killed. Each but this one takes memory of its own, of which `memory` knows nothing.
        When `memory` bytes are used the states go to files in the `folder`, or in the system's folder for such, which
        are removed when the search ends; CannotSpill if they cannot be written. The search ends unfinished if memory is
        used up by what stays there: the tables, and all of it without numpy.
        With `spark` the levels that are large even for one machine are expanded there, and the states are in its folder
        from then on; then a checkpoint is only of use beside these. Errors of Spark come through.
        `look_for_interrupt` is called between portions of states; a KeyboardInterrupt that it raises ends the search.
        A `checkpoint` is written `every` so often, in seconds, at most, when memory ends, and after an interrupt. With
        `resume` the search goes on from the one that is there, and finds what it would have found; CheckpointError if
        that cannot be. `on_progress` is told at once what the checkpoint holds.
        """
        checkpoints = Checkpoints(checkpoint, self._settings, every) if checkpoint is not None else None
        on_progress = on_progress or (lambda _: None)
        if resume:
            assert checkpoints is not None, "to go on there has to be a checkpoint"
            reached = checkpoints.read()
            at = reached.position
            on_progress(Progress(reached.states, at.expanded, at.transitions, at.depth + 1))
            self._restore(checkpoints, reached, workers, spark)
            if self._expanded == self._end and not self._over:
                self._begin_level()
        else:
            self._begin()
        looked, sharing = self._expanded, Sharing(workers)
        while self._expanded < len(self.states) and self._depth != levels:
            if spark is not None and self._end - self._expanded >= LARGE_ON_SPARK:
                self._expand_on(spark)
            with closing(self._steps(sharing)) as steps:
                for end in steps:
                    if end is not None:
                        return self._found(self._depth + 1, *end, run_to(self, len(self.states) - 1)[0])
                    interrupted = _came(look_for_interrupt)
                    if self._expanded - looked < _LOOK and not interrupted:
                        continue
                    looked = self._expanded
                    on_progress(self._progress)
                    full = used() > memory and not self._make_room(memory, folder)
                    if checkpoints is not None and (full or interrupted or checkpoints.is_due):
                        checkpoints.write(self._reached())
                    if full or interrupted:
                        self._settle()
                        return self._found(self._depth + 1, None, False, (), whole=False, interrupted=interrupted)
            self._begin_level()
            looked = min(looked, self._expanded)
        if self._expanded < len(self.states):
            return self._found(self._depth, None, False, (), whole=False, tried=self._depth)
        return self._found(self._depth - 1, None, False, ())  # the last level led to nothing new

    @property
    def _progress(self) -> Progress:
        on_disk = 0 if self._portions is None else self._portions.states.on_disk
        return Progress(len(self.states), self._expanded, self._transitions, self._depth + 1, on_disk)

    def _make_room(self, memory: float, folder: Path | None) -> bool:
        """Have the states in files, and return whether less than `memory` bytes are used then."""
        if self._portions is not None:
            self._portions.make_room(used() - memory, folder)
        return self._portions is not None and used() <= memory

    def _settle(self) -> None:
        """Have all states that were found among the states."""
        if self._portions is not None:
            self._portions.states.settle()

    def _begin(self) -> None:
        """Begin with the first state alone."""
        self._visited.begin(self.canonical((*self.local_states.start, 0, 0))[0])

    def _begin_level(self) -> None:
        """Go on to the states that the current level has led to; or begin again, if monitors know too much by now."""
        if self._portions is None:
            self._visited.level, self._visited.next_level = self._visited.next_level, []
        self._settle()
        self._end = len(self.states)
        self._end_level()
        self._depth += 1
        self._over = self._expanded == self._end
        if self.monitors.know_too_much:
            self._begin_again()

    def _end_level(self) -> None:
        self.monitors.end_level()
        if self.symmetry is not None:
            self.symmetry.learn()
        self._figures_before = self._figures

    def _begin_again(self) -> None:
        """Begin with the first state again, with monitors that need to know less, and all other tables as they are.

        That comes early, as runs that exercise a property are short.
        """
        was = self.monitors.exercised
        self._know_less(tuple(place for place, kind in enumerate(self._properties) if was[kind.name]))
        self._visited, self._portions = Visited(self._width), None
        self._expanded = self._depth = self._transitions = 0
        self._end, self._over = 1, False
        self._begin()

    def _know_less(self, exercised: tuple[int, ...]) -> None:
        """Have monitors that know of fewer properties, all but those in these places, what will exercise them."""
        self._journal.append(("again", (exercised,)))
        self._watch([self._properties[place].name for place in exercised])

    def _steps(self, sharing: Sharing) -> Generator[End | None]:
        """Expand the states of the level, a portion at each step. If something breaks, the last step says what."""
        if self._end - self._expanded >= pays_from(LARGE):
            self._keep_in_arrays(sharing.workers)
        if self._portions is not None:
            with closing(self._portions.level(self._expanded, self._end, sharing.workers)) as portions:
                for expanded, transitions, end in portions:
                    self._expanded += expanded
                    self._transitions += transitions
                    yield end
            return
        slices = sharing.slices(self._visited.level)
        if len(slices) == 1:
            yield from self._portions_of(slices[0])
        else:
            answers, take = self._answers, self._take_next
            yield from shared(sharing, slices, PORTION, expand=self._portions_of, answers=answers, take=take)

    def _keep_in_arrays(self, workers: int = 1) -> None:
        """Keep the states in arrays from now on, if numpy is installed and several workers do no better without."""
        one_by_one = self.symmetry is not None and not self.symmetry.is_full
        if self._portions is not None or find_spec("numpy") is None or (workers > 1 and one_by_one):
            return
        from zabcheck.explore.sharing.portions import Portions
        from zabcheck.explore.states.compact import Compact, Tree  # only a large search waits for numpy

        states = Compact(Tree(self._width))
        for portion in self._visited.portions():
            states.take(portion)
        tables = self.local_states, self.monitors, self.symmetry, self.successors
        self._portions = Portions(states, *tables, self.namings)
        self._visited = Visited(self._width)

    def _expand_on(self, spark: "Spark", beside: int = 0) -> None:
        """Expand levels on Spark from now on, as far as that can be; `beside`: how many states are in its folder."""
        self._keep_in_arrays()
        portions = self._portions
        if portions is None or portions.many is None or (len(self.states) > self._end and not beside):
            return
        tables = self.successors, self.monitors, self.symmetry
        begun = sum(table == "again" for table, _ in self._journal)
        self._portions = spark.expanding(portions.many, *tables, self.namings, portions.states, beside, begun)

    def _portions_of(self, rows: Sequence[Row]) -> Iterator[End | None]:
        """Expand these states, a portion at each step."""
        return (self._expand(rows[start : start + PORTION]) for start in range(0, len(rows), PORTION))

    def _answers(self, rows: Sequence[Row]) -> Iterator[Answer]:
        """Yield what is found from these states by look-ups alone; in a worker."""
        begun, found = process_time(), self._visited
        self.components.journal = self.monitors.journal = Closed()
        for start in range(0, len(rows), PORTION):
            answering = Answering()
            for row in rows[start : start + PORTION]:
                self._transitions = 0
                found.before, found.by, found.names, found.next_level = array("I"), array("H"), array("B"), []
                try:
                    is_known = self._expand([row]) is None
                except NotInTable:
                    is_known = False
                if not is_known:
                    answering.again()
                else:
                    answering.add(self._transitions, found.by, found.names, found.next_level)
            yield answering.answer(process_time() - begun)

    def _take_next(self, rows: Sequence[Row], worker: Worker) -> tuple[End | None, float]:
        answer = worker.answer(Answer)
        return self._take(rows, answer), answer.seconds

    def _take(self, rows: Sequence[Row], answer: Answer) -> End | None:
        """Take over what a worker found from these states, the next ones of the level, until something breaks."""
        found, visited = answer.found(self._width), self._visited
        for row, (transitions, new) in zip(rows, answer.counts(), strict=True):
            if transitions == AGAIN:
                end = self._expand([row])
                if end is not None:
                    return end
                continue
            for choice, names, after in islice(found, new):
                key = visited.packed(after)
                if key not in visited.keys:
                    visited.keys[key] = None
                    visited.before.append(self._expanded)
                    visited.by.append(choice)
                    visited.names.append(names)
                    visited.next_level.append(after)
            self._transitions += transitions
            self._expanded += 1
        return None

    def _expand(self, level: Sequence[Row]) -> End | None:
        """Expand these states, the next ones of the level, until something breaks."""
        canonical = self.symmetry.canonical if self.symmetry is not None else None
        broken, successors = self.monitors.broken, self.successors.of
        visited, namings, names, transitions = self._visited, self.namings, self._unnamed, 0
        keys, next_level = visited.keys, visited.next_level
        from_bytes, pack = int.from_bytes, visited.bytes.pack  # as in `packed`, which would be slower to call
        for row in level:
            for first, changed, raised, _ in successors(row):
                transitions += 1
                after = tuple(changed)
                if canonical is not None:
                    after, names = canonical(after)
                key = from_bytes(pack(*after), "little")
                if key in keys:
                    continue
                keys[key] = None
                visited.before.append(self._expanded)
                visited.by.append(first)
                visited.names.append(namings[names])
                next_level.append(after)
                if raised or broken[after[-1]] is not None:
                    self._transitions += transitions
                    return broken[after[-1]], raised
            self._expanded += 1
        self._transitions += transitions
        return None

    # Checkpoints.

    def _reached(self) -> Reached:
        """Return what a checkpoint has to hold, between two portions."""
        self._settle()
        states = self.states
        position = Position(self._expanded, self._end, self._depth, self._transitions, self._over)
        in_file, width = states.portions(), 4 * self._width
        return Reached(position, self._journal, len(states), states.beside, width, in_file, self._sizes)

    def checkpoint(self, path: Path) -> None:
        """Write a checkpoint of the search as it is. OSError if that fails."""
        Checkpoints(path, self._settings).write(self._reached())

    def _restore(self, checkpoints: Checkpoints, reached: Reached, workers: int, spark: "Spark | None") -> None:
        """Fill the tables again, and restore the states that were visited."""
        fill: dict[Table, Callable[..., object]] = {
            "parts": self.local_states.parts,
            "acts": self.components.after_acts,
            "singles": self.local_states.try_single,
            "local states": self.local_states.numbered,
            "local states renamed": self.local_states.renamed,
            "monitors": lambda *key: self.monitors.after(*key),  # `again` makes others
            "monitors renamed": lambda *key: self.monitors.renamed(*key),
            "executed": partial(making.executed, self.local_states),
            "unread": partial(making.unread, self.components),
            "events renamed": partial(making.renamed_events, self.components),
            "judged": lambda *key: making.judged(self.monitors, *key),
            "levels": self._end_level,
            "again": self._know_less,
        }
        if self.symmetry is not None:
            fill["kinds"] = self.symmetry.learn
        try:
            for table, key in reached.journal:
                fill[table](*key)
        except (LookupError, CannotTellApart, EpochUnknown, MayLeave, WentOn):
            raise checkpoints.refuse() from None
        if self._sizes != reached.sizes:
            raise checkpoints.refuse()
        self._expanded, self._end, self._depth, self._transitions, self._over = astuple(reached.position)
        if reached.beside and spark is None:
            raise CheckpointError(f"{checkpoints.path}: expected a search on Spark, which this is the checkpoint of")
        if reached.states >= LARGE:
            self._keep_in_arrays(workers)
        if reached.beside and spark is not None:
            self._expand_on(spark, reached.states)
        for portion in reached.portions:
            self.states.take(portion)
        if self._portions is None:
            self._visited.level = list(self._visited.rows(self._expanded, self._end))
            self._visited.next_level = list(self._visited.rows(self._end))

    @property
    def _sizes(self) -> dict[str, int]:
        """The numbers of components, by kind, and what was counted as they were made."""
        return {
            "processes": len(self.components.processes),
            "links": len(self.components.links),
            "events": len(self.components.events),
            "local states": len(self.local_states.made_of),
            "monitors": len(self.monitors),
            "journal": len(self._journal),
            **{f"off: {name}": number for name, number in self.local_states.switched_off.items()},
            **{f"exercised: {name}": int(was) for name, was in self.monitors.exercised.items()},
        }

    def canonical(self, row: Row) -> tuple[Row, Names]:
        """Return the representative of a row, and the renaming that makes it of this row."""
        return (row, self._unnamed) if self.symmetry is None else self.symmetry.canonical(row)

    def _found(
        self,
        depth: int,
        broken: str | None,
        raised: bool,
        choices: tuple[AnyChoice, ...],
        whole: bool = True,
        tried: int | None = None,
        interrupted: bool = False,
    ) -> Explored:
        components, switched_off = self._figures_before if broken is not None or raised else self._figures
        return Explored(
            states=len(self.states),
            transitions=self._transitions,
            depth=depth,
            whole=whole and broken is None and not raised,
            tried=depth - 1 if tried is None else tried,
            broken=broken,
            raised=raised,
            choices=choices,
            switched_off=switched_off,
            exercised={name: was or name == broken for name, was in self.monitors.exercised.items()},
            goals=self.monitors.goals,
            components=components,
            interrupted=interrupted,
        )


def _came(look_for_interrupt: Callable[[], None]) -> bool:
    """Whether Ctrl-C came."""
    try:
        look_for_interrupt()
    except KeyboardInterrupt:
        return True
    return False
