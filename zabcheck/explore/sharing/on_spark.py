"""A search whose large levels are expanded on Spark, a level at a time, with the states in Parquet files.

The tables stay with the search. For each level they are sent, as they are then (`Many.frozen`), to the tasks, which
expand the states of the level by looking up. What a task cannot look up it says, and the search expands those states
itself; so it makes all components. Then Spark keeps one of all transitions to a state, the first one, leaves out the
states that were visited before (by their rows, so no two are taken for one), and sorts the others as they were found.
States, their order, counts and runs are the same as those of a search on one machine.

Each level is a folder of files, in the order of the states, which is there once it is whole. After each level a
checkpoint says how far the search is, so it goes on from the last level that was finished, whatever was killed. What is
lost with a worker Spark does again.

Costs some seconds a level, however small it is, and a look at all visited states.
"""

import pickle
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from zabcheck.explore.at_once.index import Ints
from zabcheck.explore.at_once.many import Found, Many
from zabcheck.explore.sharing.portions import Expanded, found_at_once
from zabcheck.explore.states.compact import InArrays
from zabcheck.explore.states.visited import How, Portion, States
from zabcheck.explore.tables.monitors import Monitors
from zabcheck.explore.tables.renaming import Names
from zabcheck.explore.tables.successors import End, Row, Successors
from zabcheck.explore.tables.symmetry import Symmetry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BITS = 10
_PLACES = 1 << _BITS
"""More than the successors of a state."""
_NAMES = 1 << 8
"""More than the renamings."""

STATE = pa.schema({"number": pa.int64(), "before": pa.int64(), "how": pa.int32(), "row": pa.binary()})
"""A state: its number within its level, that of the state before it in the level before, choice and renaming, row."""
_FOUND = "at bigint, how int, row binary"
"""A transition. `at` has the number of the state that it comes from, and its place among the transitions from there;
or the place is the last one: then the search has to expand the state with this row itself."""
_AGAIN = _PLACES - 1


class Level(NamedTuple):
    """The states of one folder: those with the numbers from `start` on, and none from `end` on."""

    folder: Path
    start: int
    end: int


class InParquet:
    """The states of a search in folders of Parquet files: those before the first level on Spark, and a level each.

    A search that begins again leaves those that there are, as the last checkpoint may be of these.
    """

    def __init__(self, folder: Path, begun: int) -> None:
        self.folder = folder
        self._begun = begun
        """How often the search has begun again."""
        self.levels: list[Level] = []

    def __len__(self) -> int:
        return self.levels[-1].end if self.levels else 0

    @property
    def on_disk(self) -> int:
        """How many bytes are in files."""
        return sum(file.stat().st_size for level in self.levels for file in _files(level.folder))

    def next_folder(self) -> Path:
        """Return the folder for the next level. What is there is of a search that was ended."""
        folder = self._next
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    @property
    def _next(self) -> Path:
        again = f"-again-{self._begun}" if self._begun else ""
        return self.folder / f"level{again}-{len(self.levels):04}"

    def add(self, folder: Path) -> int:
        """Add the states in this folder; return how many there are."""
        count: int = sum(pq.read_metadata(file).num_rows for file in _files(folder))
        self.levels.append(Level(folder, len(self), len(self) + count))
        return count

    def begin(self, states: States) -> None:
        """Take over all states of a search so far."""
        folder = self.next_folder()
        folder.mkdir(parents=True)
        with pq.ParquetWriter(folder / "part-0.parquet", STATE) as file:
            for start, portion in _counted(states.portions()):
                file.write_table(_as_table(start, portion))
        self.add(folder)

    def resume(self, states: int) -> None:
        """Take over the levels of an earlier search that have this many states."""
        while len(self) < states:
            self.add(self._next)
        assert len(self) == states, "a checkpoint is of whole levels"

    @property
    def beside(self) -> int:
        """How many states are in these files: all."""
        return len(self)

    def settle(self) -> None:
        """Do nothing: which states are new is known when a level ends."""

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Return the rows of these states. O(stop - start), and some files."""
        for table in self._tables(start, len(self) if stop is None else stop):
            yield from map(tuple, _rows_of(table["row"]).tolist())

    def how(self, state: int) -> How:
        """Return how this state was found. O(states of two levels)."""
        [table] = self._tables(state, state + 1)
        before, how = table["before"][0].as_py(), table["how"][0].as_py()
        place = next(place for place, level in enumerate(self.levels) if state < level.end)
        return How(self._number(before, self.levels[max(0, place - 1)]), how // _NAMES, how % _NAMES)

    def last(self) -> dict[str, Any]:
        """Return the columns of the last state."""
        [table] = self._tables(len(self) - 1, len(self))
        columns: dict[str, Any] = table.to_pylist()[0]
        return columns

    def portions(self) -> Iterator[Portion]:
        """Return no state: they are all in their folders."""
        return iter(())

    def take(self, portion: Portion) -> None:
        """Refuse: states come as levels."""
        raise AssertionError("a checkpoint beside these files has no states")

    def _number(self, number: int, level: Level) -> int:
        """Return the number of a state in the order of all, given that within its level."""
        start = level.start
        for file in _files(level.folder):
            numbers = pq.read_table(file, columns=["number"])["number"].to_numpy()
            place = int(np.searchsorted(numbers, number))
            if place < len(numbers) and numbers[place] == number:
                return start + place
            start += len(numbers)
        raise AssertionError("the state before is in the level before")

    def _tables(self, start: int, stop: int) -> Iterator[pa.Table]:
        """Return the columns of these states, file by file."""
        for level in self.levels:
            begin = level.start
            if level.end <= start or begin >= stop:
                continue
            for file in _files(level.folder):
                count = pq.read_metadata(file).num_rows
                if begin < stop and begin + count > start:
                    first = max(0, start - begin)
                    yield pq.read_table(file).slice(first, min(stop - begin, count) - first)
                begin += count


class Spark(NamedTuple):
    """A session of Spark, and the folder for the states, which all of its workers can read and write."""

    session: "SparkSession"
    folder: Path

    def apart(self) -> "Spark":
        """Return the same with another folder, for a search without a checkpoint, as after one that was in vain.

        What is in this folder stays as the checkpoint of that one tells.
        """
        return self._replace(folder=self.folder / "apart")

    def expanding(
        self,
        many: Many,
        successors: Successors,
        monitors: Monitors,
        symmetry: Symmetry | None,
        namings: Mapping[Names, int],
        known: "InArrays | InParquet",
        beside: int,
        begun: int,
    ) -> "OnSpark":
        """Return what expands a search from these states on; or from those that are `beside` in the folder, if any.

        `begun`: how often the search has begun again.
        """
        states = known
        if not isinstance(states, InParquet):
            states = InParquet(self.folder, begun)
            if beside:
                states.resume(beside)
            else:
                states.begin(known)
        return OnSpark(self.session, states, many, successors, monitors, symmetry, namings)


class OnSpark:
    """Expands the states of one search, a level at a time, like `Portions`."""

    def __init__(
        self,
        spark: "SparkSession",
        states: InParquet,
        many: Many,
        successors: Successors,
        monitors: Monitors,
        symmetry: Symmetry | None,
        namings: Mapping[Names, int],
    ) -> None:
        self.states = states
        self.many = many
        self._spark = spark
        self._successors = successors
        self._broken = monitors.broken
        self._symmetry = symmetry
        self._namings = namings

    def level(self, start: int, stop: int, workers: int) -> Generator[Expanded]:
        """Expand the last level, or what there is of it from `start` on, at one step, until something breaks."""
        if start < stop:
            yield self._expanded(start, stop)

    def _expanded(self, start: int, stop: int) -> Expanded:
        level = self.states.levels[-1]
        work = self.states.folder / "found"
        states = self._read(level.folder)
        if start > level.start:
            states = states.where(states.number >= start - level.start)
        states.mapInArrow(_expansion(pickle.dumps(self.many.frozen())), _FOUND).write.mode("overwrite").parquet(
            str(work)
        )
        found = self._read(work)
        again = found.where(found.at % _PLACES == _AGAIN).toArrow().sort_by("at")
        known = set[int]()
        while True:
            mine, end, last = self._expand_here(again, known)
            # As one chunk: of a table with an empty one createDataFrame leaves out what comes behind that.
            here = self._spark.createDataFrame(mine.combine_chunks()) if len(mine) else found.limit(0)
            transitions = found.where(found.at % _PLACES != _AGAIN).unionByName(here)
            if end is not None:
                transitions = transitions.where(transitions.at <= last)
            folder = self.states.next_folder()
            self._write_new(transitions, folder)
            count = transitions.count()
            self.states.add(folder)
            if end is None:
                break
            if self._last_is(last, mine):
                return Expanded(0, count, end)
            known.add(last)  # it was visited before
            del self.states.levels[-1]
        shutil.rmtree(work)
        return Expanded(stop - start, count, None)

    def make_room(self, over: float, folder: Path | None) -> None:
        """Do nothing: the states are in files."""

    def _read(self, folder: Path) -> "DataFrame":
        return self._spark.read.parquet(str(folder))

    def _write_new(self, transitions: "DataFrame", folder: Path) -> None:
        """Write the states that no level has, in the order in which they were found."""
        from pyspark.sql import functions

        first = transitions.groupBy("row").agg(
            functions.min("at").alias("at"), functions.min_by("how", "at").alias("how")
        )
        folders = [str(level.folder) for level in self.states.levels if level.end > level.start]
        visited = self._spark.read.parquet(*folders)
        new = first.join(visited.select("row"), "row", "left_anti").orderBy("at")
        number, before = functions.monotonically_increasing_id(), functions.shiftright("at", _BITS)
        columns = number.alias("number"), before.alias("before"), "how", "row"
        new.select(*columns).write.parquet(str(folder))

    def _expand_here(self, again: pa.Table, known: set[int]) -> tuple[pa.Table, End | None, int]:
        """Expand states until something breaks that is not `known`; return the transitions, and the last.

        Where something breaks, all states that are expanded at once with that one are expanded, too.
        """
        numbers, rows = again["at"].to_numpy() // _PLACES, _rows_of(again["row"])
        made, start = [_found([], [], rows[:0])], 0
        while start < len(rows):
            part = slice(start, start + self.many.portion)
            start = part.stop
            found = found_at_once(self.many, rows[part], every=True)
            made.append(_transitions(found, numbers[part]))
            one_by_one, end, last = self._expand_one_by_one(numbers[part][found.again], rows[part][found.again], known)
            made.append(one_by_one)
            if end is not None:
                return pa.concat_tables(made), end, last
        return pa.concat_tables(made), None, 0

    def _expand_one_by_one(self, numbers: Ints, rows: Ints, known: set[int]) -> tuple[pa.Table, End | None, int]:
        at, how, found = list[int](), list[int](), list[Row]()
        for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
            successors = self._successors.of(tuple(row))
            assert len(successors) < _AGAIN, "a state has fewer successors"
            for place, (first, changed, raised, _) in enumerate(successors, number * _PLACES):
                after, naming = tuple(changed), 0
                if self._symmetry is not None:
                    after, names = self._symmetry.canonical(after)
                    naming = self._namings[names]
                at.append(place)
                how.append(first * _NAMES + naming)
                found.append(after)
                broken = self._broken[after[-1]]
                if (raised or broken is not None) and place not in known:
                    return _found(at, how, np.array(found)), (broken, raised), place
        return _found(at, how, np.array(found)), None, 0

    def _last_is(self, at: int, transitions: pa.Table) -> bool:
        """Whether the last of these transitions, and of all that count, leads to the last state, which is new."""
        if self.states.levels[-1].end == self.states.levels[-1].start:
            return False
        last = self.states.last()
        return bool(last["row"] == transitions["row"][-1].as_py() and last["before"] == at // _PLACES)


def _expansion(many: bytes) -> "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    """Return what a task does with states: it looks up what comes after them."""

    def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kernel: Many = pickle.loads(many)
        for batch in batches:
            numbers, rows = batch.column("number").to_numpy(), _rows_of(batch.column("row"))
            end = 0
            while end < len(rows):
                part = slice(end, end + kernel.portion)  # which may be another one each time
                end = part.stop
                yield from _looked_up(kernel, numbers[part], rows[part]).to_batches()

    return expand


def _looked_up(kernel: Many, numbers: Ints, rows: Ints) -> pa.Table:
    """Return the transitions from these states, and which of them the search has to expand itself."""
    found = kernel.of(rows, every=True)  # `transitions.count()` counts them
    again = np.array(found.again, np.int64)
    left = _found(numbers[again] * _PLACES + _AGAIN, np.zeros(len(again), np.int64), rows[again])
    return pa.concat_tables([_transitions(found, numbers), left]).combine_chunks()


def _transitions(found: Found, numbers: Ints) -> pa.Table:
    """Return what was found at once from the states that have these numbers."""
    ends = np.array([found.ends(place) for place in range(len(numbers))], np.int64)
    places = np.arange(len(found.source)) - ends[found.source]
    return _found(numbers[found.source] * _PLACES + places, found.first * _NAMES + found.naming, found.rows)


def _found(at: Sequence[int] | Ints, how: Sequence[int] | Ints, rows: Ints) -> pa.Table:
    columns = {"at": pa.array(at, pa.int64()), "how": pa.array(how, pa.int32()), "row": _packed(rows)}
    return pa.table(columns)


def _packed(rows: NDArray[Any]) -> pa.Array:
    """Return rows as strings of bytes, 4 for each number."""
    content = np.ascontiguousarray(rows, np.uint32)
    width = content.shape[-1] if len(content) else 0
    offsets = np.arange(len(content) + 1, dtype=np.int32) * np.int32(4 * width)
    return pa.Array.from_buffers(
        pa.binary(), len(content), [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(content.tobytes())]
    )


def _rows_of(column: pa.Array | pa.ChunkedArray) -> Ints:
    """Return the rows of which the column has the bytes."""
    values = column.to_pylist()
    return np.frombuffer(b"".join(values), np.uint32).reshape(len(values), -1 if values else 0).astype(np.int64)


def _as_table(start: int, portion: Portion) -> pa.Table:
    """Return states as they are in files, numbered from `start` on."""
    before = np.frombuffer(portion.before, np.uint32).astype(np.int64)
    by, names = np.frombuffer(portion.by, np.uint16), np.frombuffer(portion.names, np.uint8)
    rows = np.frombuffer(portion.rows, np.uint32).reshape(len(before), -1)
    how = by.astype(np.int32) * _NAMES + names
    numbers = np.arange(start, start + len(before))
    return pa.table([numbers, before, how, _packed(rows)], schema=STATE)


def _counted(portions: Iterable[Portion]) -> Iterator[tuple[int, Portion]]:
    """Return portions, each with the number of the first state in it."""
    start = 0
    for portion in portions:
        yield start, portion
        start += len(portion.names)


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder that Spark, or this module, has written, in the order of their rows."""
    return sorted(folder.glob("part-*.parquet"))
