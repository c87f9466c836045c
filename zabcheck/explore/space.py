"""The search through all states, breadth first.

A state is a row of numbers: a local state for each process, the used part of the bounds, and a monitor. For each state
the predecessor is kept, and the choice that led from there, so that the run to any state can be rebuilt. States are
kept in arrays (`compact`), and in files once memory is used up (`spilled`).
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from operator import ge
from pathlib import Path

from msgspec.structs import astuple, replace

from zabcheck.explore.bounds import Bounds
from zabcheck.explore.judges import monitored
from zabcheck.explore.portions import Portions
from zabcheck.explore.results import Progress, SearchResult
from zabcheck.explore.runs import run_to
from zabcheck.explore.states.checkpoint import (
    EVERY,
    Checkpoint,
    CheckpointFile,
    FollowUpPosition,
    Position,
    settings_of,
)
from zabcheck.explore.states.compact import Compact, InArrays, Tree
from zabcheck.explore.states.memory import used
from zabcheck.explore.tables.components import Components
from zabcheck.explore.tables.journal import Journal, Table
from zabcheck.explore.tables.local_states import LocalStates
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.reduction import are_lasting
from zabcheck.explore.tables.renaming import Names
from zabcheck.explore.tables.successors import End, Row, Successors
from zabcheck.explore.tables.symmetry import Symmetry, pays
from zabcheck.garbage import rare_collections
from zabcheck.invariants import Invariant
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Protocol, TakeSnapshot
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import AnyChoice

RECHECKED = 1 << 17
"""The number of expanded states up to which nothing in a checkpoint is believed; a search takes a second to get there.

Of a larger one that many states, the first and the last that were expanded, are expanded again, and all that was found
from them has to be there. The rest is believed.
"""
_LOOK = 4096
"""The number of states after which memory is looked at, and progress reported."""


class CannotFollow(ValueError):
    """The run that a search is to begin with cannot be: step `place` is not possible, or breaks something."""

    def __init__(self, place: int) -> None:
        super().__init__(f"step {place}")
        self.place = place


class Space:
    """All states of `protocol` within `bounds`, judged by `properties` (each one `judged_in_every_state`).

    With `symmetry`, processes are treated as interchangeable, if the protocol can rename them; with `reduction`, only
    one order of moves that commute is tried, if the protocol's do. The attributes `symmetry` (None: none) and `reduced`
    have the outcome. With symmetry a run may be made up, so one that is found has to be replayed; `exploration` does
    that, and is the function to call. `moments` False: the states of several processes at one moment do not matter, as
    they do to `liveness` and `rests`; then reduction leaves out more states, for some properties (not where errors of
    the modelled code end a run). `forgetful`: properties forget iterations that are left (`MonitoredInvariant.leave`).
    The first state is the one after the run `after`, which counts as used; CannotFollow from `explore` if that cannot
    be. StepRaised if a process cannot start.
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
        after: Sequence[AnyChoice] = (),
    ) -> None:
        self.bounds = bounds
        self.after = tuple(after)
        """The run that all runs of the search begin with."""
        can_reduce = protocol.commutes and (protocol.vote is not None or not bounds.snapshots)
        can_reduce = can_reduce and (protocol.hands_over is None or switches.sync == "atomic")
        self.reduced = (
            reduction and can_reduce and not (switches.sends_outside or switches.lossy or switches.changes_roles)
        )
        forgetful = forgetful and any(monitored(kind).forgets_what_is_left() for kind in properties)
        self._journal: Journal = []
        self.components = Components(protocol, quorums, switches, tells_of_leaving=forgetful, journal=self._journal)
        moments = moments or not are_lasting(properties) or switches.ends_at_errors
        self.local_states = LocalStates(self.components, switches, bounds, reduced=self.reduced, moments=moments)
        self._properties, self._forgetful = tuple(properties), forgetful
        self._can_rename = symmetry and protocol.rename is not None and pays(protocol, switches, quorums)
        self.symmetry: Symmetry | None = None
        self._watch(())
        self._width = len(self.components.ids) + 2
        """The number of numbers in a row."""
        self._unnamed = (0, *self.components.ids)
        renamings = [self._unnamed] if self.symmetry is None else self.symmetry.renamings
        self.namings: dict[Names, int] = {names: number for number, names in enumerate(renamings)}
        """By renaming: its number."""
        self._portions = self._no_states()
        """The states, and how they are expanded."""
        self._expanded = self._depth = self._transitions = 0
        self._figures_before = self._figures
        """`_figures` at the end of the level before: what comes of a part of a level depends on how it is expanded."""
        self._end = 1
        """The number of the first state that is not of the current level, nor of one before."""
        self._over = False
        """True if the current level has no states."""
        self.followed = FollowUpPosition()
        """The position, in the checkpoint that was read, of what follows the search."""
        self.unwritten: OSError | None = None
        """The reason why the last checkpoint could not be written, if it could not."""
        which = protocol, quorums, switches, bounds, properties
        self._settings = settings_of(
            *which, symmetry=self._can_rename, reduction=self.reduced, moments=moments, forgetful=forgetful
        ) | ({"after": repr(self.after)} if after else {})

    def _watch(self, exercised: Sequence[str]) -> None:
        """Make monitors that have seen nothing yet, and the tables that rely on them."""
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
        """The number of components, and the number of moves that each bound forbade."""
        components = len(self.components.processes) + len(self.components.links) - 1 + len(self.monitors)
        return components, dict(self.local_states.switched_off)

    @property
    def states(self) -> InArrays:
        """The states that were visited, in the order of discovery."""
        return self._portions.states

    def rows(self) -> Iterator[Row]:
        """Return the states that were visited, in the order of discovery."""
        return self.states.rows()

    def to_follow(self, done: int) -> Iterator[tuple[int, Row]]:
        """Return the states that are not `done`, with their numbers; before them the first and last that are.

        For a checkpoint may say that more is done than was (`RECHECKED`).
        """
        part = min(done, RECHECKED // 2)
        last = max(part, done - part)
        yield from enumerate(self.states.rows(0, part))
        yield from enumerate(self.states.rows(last), last)

    @rare_collections()
    def explore(
        self,
        memory: float = float("inf"),
        on_progress: Callable[[Progress], None] | None = None,
        *,
        levels: int | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        every: float = EVERY,
        folder: Path | None = None,
        look_for_interrupt: Callable[[], None] = lambda: None,
    ) -> SearchResult:
        """Search until every state is expanded, something breaks, or `levels` are expanded.

        Costs some microseconds a state, once the tables are filled, and at most 32 bytes.
        When `memory` bytes are used the states go to files in the `folder`, or in the system's folder for such, which
        are removed when the search ends; CannotSpill if they cannot be written. The search ends unfinished if memory is
        used up by the tables.
        `look_for_interrupt` is called between portions of states; a KeyboardInterrupt that it raises ends the search.
        A `checkpoint` is written at most every `every` seconds, when memory ends, and after an interrupt. With
        `resume` the search goes on from an existing one, with the same result as without a break; CheckpointError if
        that cannot be. `on_progress` is called at once with the progress in the checkpoint.
        """
        file = CheckpointFile(checkpoint, self._settings, every) if checkpoint is not None else None
        on_progress = on_progress or (lambda _: None)
        if resume:
            assert file is not None, "to go on there has to be a checkpoint"
            self._resume(file, on_progress)
        else:
            self._begin()
        looked = self._expanded
        while self._expanded < len(self.states) and self._depth != levels:
            for end in self._steps():
                if end is not None:
                    choices = *self.after, *run_to(self, len(self.states) - 1)[0]
                    return self._result(self._depth + 1, *end, choices)
                interrupted = _came(look_for_interrupt)
                if self._expanded - looked < _LOOK and not interrupted:
                    continue
                looked = self._expanded
                on_progress(self._progress)
                full = used() > memory and not self._make_room(memory, folder)
                if file is not None and (full or interrupted or file.is_due):
                    file.write(self._checkpoint())
                    self.unwritten = file.failed
                if full or interrupted:
                    self.states.settle()
                    return self._result(self._depth + 1, None, False, (), whole=False, interrupted=interrupted)
            self._begin_level()
            looked = min(looked, self._expanded)
        if self._expanded < len(self.states):
            return self._result(self._depth, None, False, (), whole=False, tried=self._depth)
        return self._result(self._depth - 1, None, False, ())  # the last level found nothing new

    @property
    def _progress(self) -> Progress:
        return Progress(len(self.states), self._expanded, self._transitions, self._depth + 1, self.states.on_disk)

    def _make_room(self, memory: float, folder: Path | None) -> bool:
        """Move the states to files. Return True if less than `memory` bytes are used then."""
        self._portions.make_room(used() - memory, folder)
        return used() <= memory

    def _no_states(self) -> Portions:
        tables = self.local_states, self.monitors, self.symmetry, self.successors
        return Portions(Compact(Tree(self._width)), *tables, self.namings)

    def _begin(self) -> None:
        """Begin with the first state alone."""
        self.states.begin(self._first())

    def _first(self) -> Row:
        """Return the first state, up to names unless that is the one after a run. CannotFollow if that cannot be."""
        row: Row = (*self.local_states.start, 0, 0)
        for place, choice in enumerate(self.after, 1):
            found = self.successors.after(row, choice)
            if found is None or self.monitors.broken[found[-1]] is not None:
                raise CannotFollow(place)
            row = found
        return row if self.after else self.canonical(row)[0]

    def _begin_level(self) -> None:
        """Go on to the states found from the current level; or begin again, if monitors know too much by now."""
        self.states.settle()
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
        """Begin with the first state again, with monitors that need fewer facts, and all other tables as they are.

        That comes early, as runs that exercise a property are short.
        """
        was = self.monitors.exercised
        self._know_less(tuple(place for place, kind in enumerate(self._properties) if was[kind.name]))
        self._portions = self._no_states()
        self._expanded = self._depth = self._transitions = 0
        self._end, self._over = 1, False
        self._begin()

    def _know_less(self, exercised: tuple[int, ...]) -> None:
        """Make monitors that know when a property will be exercised for those only that are not in these places."""
        self._journal.append(("again", (exercised,)))
        self._watch([self._properties[place].name for place in exercised])

    def _steps(self) -> Iterator[End | None]:
        """Expand the states of the level, a portion at each step. If something breaks, the last step returns how."""
        for expanded, transitions, end in self._portions.level(self._expanded, self._end):
            self._expanded += expanded
            self._transitions += transitions
            yield end

    # Checkpoints.

    def _checkpoint(self) -> Checkpoint:
        """Return the contents of a checkpoint, between two portions."""
        self.states.settle()
        states = self.states
        position = Position(self._expanded, self._end, self._depth, self._transitions, self._over)
        in_file, width = states.portions(), 4 * self._width
        return Checkpoint(position, self._journal, len(states), width, in_file, self._sizes, self.followed)

    def checkpoint(self, path: Path) -> Callable[[bool], None]:
        """Write a checkpoint of the search as it is.

        Return a function that writes it again with what was `followed` since, if it is called with True or that is due.
        That fills the tables in another order than a search, so their sizes and the journal stay those of now.
        """
        file, sizes, length = CheckpointFile(path, self._settings), self._sizes, len(self._journal)

        def write(now: bool) -> None:
            if now or file.is_due:
                file.write(replace(self._checkpoint(), sizes=sizes, journal=self._journal[:length]))
                self.unwritten = file.failed

        write(True)
        return write

    def _resume(self, file: CheckpointFile, on_progress: Callable[[Progress], None]) -> None:
        """Resume the search from the checkpoint in this file; begin anew if that takes no longer than to check it.

        CheckpointError if the content of the checkpoint is none of this search, as far as `RECHECKED` shows.
        """
        saved = file.read()
        at = saved.position
        on_progress(Progress(saved.states, at.expanded, at.transitions, at.depth + 1))
        if at.expanded <= RECHECKED:
            self._begin()
            return
        try:
            self._restore(saved)
            is_sound = self._is_in_order(saved) and self._has_successors(at.expanded)
        except MemoryError:
            raise
        except Exception as error:  # whatever comes of numbers that anybody may have written
            raise file.refuse() from error
        if not is_sound or max(saved.followed.led, saved.followed.alone) > saved.states:
            raise file.refuse()
        self.followed = saved.followed
        self._expanded, self._end, self._depth, self._transitions, self._over = astuple(at)
        if self._expanded == self._end and not self._over:
            self._begin_level()

    def _restore(self, saved: Checkpoint) -> None:
        """Fill the tables again, and restore the states that were visited. Any exception if the journal is none."""
        fill: dict[Table, Callable[..., object]] = {
            "parts": self.local_states.parts,
            "acts": self.components.after_acts,
            "singles": self.local_states.try_single,
            "local states": self.local_states.numbered,
            "local states renamed": self.local_states.renamed,
            "monitors": lambda *key: self.monitors.after(*key),  # because `again` makes others
            "monitors renamed": lambda *key: self.monitors.renamed(*key),
            "levels": self._end_level,
            "again": self._know_less,
        }
        if self.symmetry is not None:
            fill["kinds"] = self.symmetry.learn
        for table, key in saved.journal:
            fill[table](*key)
        self._portions = self._no_states()  # of the monitors that there are now
        limits = *[len(self.local_states.made_of)] * len(self.components.ids), 1 << 32, len(self.monitors)
        for portion in saved.portions:
            numbers = array("I", portion.rows)
            most = [max(numbers[place :: self._width]) for place in range(self._width)]
            if any(map(ge, most, limits)) or max(portion.names) >= len(self.namings):
                raise LookupError("a state is made of something that no table has")
            self.states.take(portion)

    def _is_in_order(self, saved: Checkpoint) -> bool:
        """Return True if the tables and the states that were restored have the sizes and levels that the file says."""
        at, states = saved.position, self.states
        first = self._first()
        if self._sizes != saved.sizes or len(states) != saved.states or next(states.rows()) != first:
            return False
        start, end, depth = 0, 1, int(at.over)
        while end < at.level:  # the next level was found from this one
            after = bisect_left(range(len(states)), end, end, key=lambda state: states.how(state).before)
            if after == end:
                return False
            start, end, depth = end, after, depth + 1
        is_over = at.expanded == end == len(states)
        return end == at.level and start <= at.expanded <= end and depth == at.depth and (is_over or not at.over)

    def _has_successors(self, expanded: int) -> bool:
        """Return True if the first and the last of the states that were expanded lead to no new state."""
        known, part = len(self.states), RECHECKED // 2
        for start in (0, expanded - part):
            if any(each.end for each in self._portions.level(start, start + part)):
                return False
        self.states.settle()
        return len(self.states) == known

    @property
    def _sizes(self) -> dict[str, int]:
        """The numbers of components, by kind, and the counts made with them."""
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

    @property
    def _limiting(self) -> tuple[str, ...]:
        """The bounds that forbade a move. Snapshots are not even tried where there are none."""
        found = [*self.local_states.limiting, *self.local_states.switched_off]
        snapshots = self.bounds.snapshots == 0 and TakeSnapshot in self.components.protocol.steps
        known = [*found, "snapshots"] if snapshots else found
        return tuple(name for name in Bounds.__struct_fields__ if name in known)

    def canonical(self, row: Row) -> tuple[Row, Names]:
        """Return the representative of a row, and the renaming that makes it of this row."""
        return (row, self._unnamed) if self.symmetry is None else self.symmetry.canonical(row)

    def _result(
        self,
        depth: int,
        broken: str | None,
        raised: bool,
        choices: tuple[AnyChoice, ...],
        whole: bool = True,
        tried: int | None = None,
        interrupted: bool = False,
    ) -> SearchResult:
        components, switched_off = self._figures_before if broken is not None or raised else self._figures
        return SearchResult(
            states=len(self.states),
            transitions=self._transitions,
            depth=depth,
            whole=whole and broken is None and not raised,
            tried=len(self.after) + (depth - 1 if tried is None else tried),
            broken=broken,
            raised=raised,
            choices=choices,
            switched_off=switched_off,
            exercised={name: was or name == broken for name, was in self.monitors.exercised.items()},
            goals=self.monitors.goals,
            components=components,
            limiting=self._limiting,
            interrupted=interrupted,
        )


def _came(look_for_interrupt: Callable[[], None]) -> bool:
    """Return True if Ctrl-C came."""
    try:
        look_for_interrupt()
    except KeyboardInterrupt:
        return True
    return False
