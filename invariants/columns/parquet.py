"""Parquet files of traces, judged: those in order by counting, many at once, and the others one by one by a `Judge`.

A file is read batch by batch. The runs that lie within a batch are proved together (see `invariants.columns.in_order`);
one that goes on beyond its batch is proved by itself, piece by piece, so it may be of any length. A run that is not in
order, or has something unusual in it, is read again row by row, which also finds the fault.

Two things are checked here, in arrays. First, the rows have to be those of runs, one after the other; a fault in that
is reported at once. Second, each row has to be a line of a trace; a run with a row that may be none is odd, and
left to the reader that goes row by row. `rest` is only read in header and end, and where a chosen property looks at
events of that kind.

Cost: about 0.2 microseconds a row of a run in order; memory for a batch, and for the longest run of several batches as
in `invariants.columns.in_order`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zabcheck.invariants.base import Invariant, Status, Verdict, Violation, judge_events
from zabcheck.invariants.columns import SCHEMA, events_of
from zabcheck.invariants.columns.extra import ODD, Head, end_of, head_of
from zabcheck.invariants.columns.in_order import MOST_RUNS, Array, Keys, Proof
from zabcheck.invariants.columns.lines import judge_blocks
from zabcheck.invariants.columns.rows import END, HEADER, IS_LOCAL, KINDS, NO_ROW, ROW_KIND, BatchArrays
from zabcheck.invariants.columns.verdicts import Selection, verdicts
from zabcheck.invariants.events import End, Event, EventError, TraceError
from zabcheck.invariants.trace import in_form

BATCH = 1 << 16
"""Rows that are read at once."""

KEPT = 4
"""The number of pieces of a run beyond one batch that are kept, so that they need not be read again."""


class Disorder(TraceError):
    """An error of the order of rows: those of a run are not together, or not sorted by `seq`."""


class Broken(NamedTuple):
    """A property that is violated in a run."""

    run: int
    violation: Violation


class Summary:
    """The verdicts on all runs of a file: how often each status came, and how often each property was exercised."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.runs = 0
        self.rows = 0
        """Lines of all runs, header and end included."""
        self.statuses: dict[str, dict[Status, int]] = {
            name: {"holds": 0, "violated": 0, "not exercised": 0, "inconclusive": 0} for name in names
        }
        self.judged = dict.fromkeys(names, 0)
        self.broken: list[Broken] = []
        self.by_a_judge = 0
        """Runs that could not be judged by counting."""
        self.last: list[Verdict] = []
        """The verdicts on the last run."""
        self.run: int | None = None
        """The number of the run, if the file has one only."""

    def add(self, run: int, found: Sequence[Verdict]) -> None:
        """Add a run that was judged by itself."""
        self.runs += 1
        self.last = list(found)
        for verdict in found:
            self.statuses[verdict.property][verdict.status] += 1
            self.judged[verdict.property] += verdict.judged
            if verdict.violation is not None:
                self.broken.append(Broken(run, verdict.violation))

    def count(self, counts: Mapping[str, Array], complete: Array) -> None:
        """Add runs in order: `counts` is how often each property was exercised, `complete` True if a run has an end."""
        if not len(complete):
            return
        self.runs += len(complete)
        nothing = np.zeros(len(complete), np.int64)
        whole = int(np.count_nonzero(complete))
        for name in self.names:
            judged = counts.get(name, nothing)
            exercised = int(np.count_nonzero(complete & (judged > 0)))
            statuses = self.statuses[name]
            statuses["holds"] += exercised
            statuses["not exercised"] += whole - exercised
            statuses["inconclusive"] += len(complete) - whole
            self.judged[name] += int(judged.sum())
        last = {name: int(count[-1]) for name, count in counts.items()}
        self.last = verdicts(self.names, last, bool(complete[-1]))


class RowGroup(NamedTuple):
    """A row group of a file: the runs that it has rows of are numbered from `least` to `highest`."""

    number: int
    rows: int
    least: int
    highest: int


class Source(Protocol):
    """Rows of runs, which can be read more than once."""

    name: str
    """The name of the rows in messages."""

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows, up to `size` at once."""

    def rows_of(self, run: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one run."""


def judge(source: Source, properties: Iterable[type[Invariant]], batch: int | None = None) -> "Summary":
    """Judge every run of the source. O(rows); memory for `batch` rows (`BATCH` if None) and for the longest run.

    TraceError, which begins with name, run and line, for rows that are no trace; Disorder if they are not sorted.
    """
    return _Reading(source, Selection(properties), batch or BATCH).judge()


class File:
    """A Parquet file of traces. TraceError, in one line, if it is none."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self.name = name
        try:
            file = pq.ParquetFile(source)
            found = file.schema_arrow
        except (pa.ArrowException, OSError, ValueError) as error:
            raise TraceError(f"{name}: expected a Parquet file, {_first_line(error)}") from None
        for field in SCHEMA:
            places = found.get_all_field_indices(field.name)
            if len(places) != 1:
                there = "none" if not places else f"{len(places)} of them"
                raise TraceError(f"{name}, column `{field.name}`: expected one of {field.type}, found {there}")
            type_ = found.field(places[0]).type
            if type_ != field.type and not (pa.types.is_string(field.type) and _is_text(type_)):
                raise TraceError(f"{name}, column `{field.name}`: expected {field.type}, found {type_}")
        # The few kinds of event are not made texts for each row.
        self.file = pq.ParquetFile(source, metadata=file.metadata, read_dictionary=["event"])

    def judge(self, properties: Iterable[type[Invariant]], batch: int | None = None) -> Summary:
        """Judge every run. TraceError, which begins with file, run and line, for rows that are no trace."""
        return judge(self, properties, batch)

    def judge_run(self, run: int, properties: Iterable[type[Invariant]]) -> list[Verdict]:
        """Return the verdicts on this run. TraceError as from `judge`, or if there is no such run."""
        summary = _Reading(self, Selection(properties), BATCH).judge(run)
        if not summary.runs:
            raise TraceError(f"{self.name}: no run {run} in this file")
        return summary.last

    def events(self, run: int) -> Iterator[tuple[int, Event]]:
        """Yield the lines of this run with their numbers, from header to end. TraceError if they make no trace."""
        line = 0

        def rows() -> Iterator[Event]:
            nonlocal line
            for _, line, event in events_of(self.rows_of(run), self.name):  # noqa: B007  # read by whoever takes the event
                yield event

        for event in in_form(rows(), f"{self.name}, run {run}"):
            yield line, event
        if not line:
            raise TraceError(f"{self.name}: no run {run} in this file")

    def find(self, run: int, events: Iterable[Event]) -> dict[Event, int]:
        """Return, by event, the first line of this run that holds it; an event that no line holds is left out."""
        wanted = set(events)
        kinds = {type(event) for event in wanted}
        lines: dict[Event, int] = {}
        for line, event in self.events(run) if wanted else ():
            if type(event) in kinds and event in wanted:
                lines[event] = line
                wanted.remove(event)
        return lines

    def row_groups(self) -> list[RowGroup]:
        """Return the row groups that have rows. One whose statistics are missing may have rows of any run."""
        leaves = self.file.schema
        column = next(place for place in range(len(leaves)) if leaves.column(place).path == "run")
        groups = []
        for number in range(self.file.num_row_groups):
            group = self.file.metadata.row_group(number)
            found = group.column(column).statistics
            known = found is not None and found.has_min_max
            bounds = (found.min, found.max) if known else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
            if group.num_rows:
                groups.append(RowGroup(number, group.num_rows, *bounds))
        return groups

    def batches(self, size: int, groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all row groups, or of these, up to `size` at once."""
        try:
            yield from self.file.iter_batches(size, row_groups=groups, columns=SCHEMA.names)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise TraceError(f"{self.name}: expected a whole Parquet file, {_first_line(error)}") from None

    def rows_of(self, run: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one run. Only row groups that may have some are read."""
        groups = [group.number for group in self.row_groups() if group.least <= run <= group.highest]
        for batch in self.batches(BATCH, groups) if groups else ():
            yield from only_run(batch, run)


def only_run(batch: pa.RecordBatch, run: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batch that belong to one run, which stand together; nothing if there are none."""
    rows = np.flatnonzero(np.asarray(batch.column("run")) == run)
    if len(rows):
        yield batch.slice(rows[0], len(rows))


class _Open:
    """The last run of a batch, which may go on in the next one."""

    def __init__(self, number: int, head: Head | None, selection: Selection) -> None:
        self.number = number
        self.size = 0
        self.head = head or ODD
        self.odd = head is None or not selection.countable
        self.end: End | None = None
        self.proof = Proof(1, np.array([self.head.clocked]), selection.redelivery)
        self.pieces: list[pa.RecordBatch] | None = []
        """The rows that were read of it, as long as it is short; None if it is long."""

    def take(self, rows: BatchArrays, begin: int, end: int, judged: Array) -> None:
        """Take the next rows of the run; `judged` is True for each kind that needs a judge."""
        kind = rows.kind[begin:end]
        self.size += end - begin
        if self.pieces is not None:
            self.pieces.append(rows.batch.slice(begin, end - begin))
            if len(self.pieces) > KEPT:
                self.pieces = None
        if self.odd or not self.proof.in_order[0]:
            return
        headers = np.count_nonzero(kind == HEADER)
        ends = np.flatnonzero(kind == END)
        self.odd = bool(
            self.end is not None
            or headers != (self.size == end - begin)
            or len(ends) > 1
            or (len(ends) and ends[0] != len(kind) - 1)
            or judged[kind].any()
            or rows.odd[begin:end].any()
            or (rows.columns["process"][begin:end] > self.head.processes).any()
            or (IS_LOCAL[kind] & (rows.columns["process"][begin:end] < 1)).any()
        )
        if len(ends) and not self.odd:
            self.end = end_of(rows.batch.column("rest")[end - 1].as_py())
            self.odd = self.end is None or self.end.count != self.size - 2
        wanted = ROW_KIND[kind] != NO_ROW
        keys = self.proof.keys
        self.odd |= not keys.fit(rows.columns["zxid_epoch"][begin:end], rows.columns["zxid_counter"][begin:end]).all()
        if not self.odd and wanted.any():
            self.proof.take(rows.block(begin, end, np.zeros(end - begin, np.int64), wanted, keys))


class _Reading:
    """A source while it is judged."""

    def __init__(self, source: Source, selection: Selection, batch: int) -> None:
        self.source = source
        self.selection = selection
        self.batch = batch
        self.summary = Summary(selection.names)
        self.judged = np.array([kind in selection.left_to_a_judge for kind in KINDS] + [True])
        """True for each kind of event, by number, whose meaning only a judge can tell."""
        self.seen: set[int] = set()
        self.open: _Open | None = None
        self.line = 0
        self.only: int | None = None

    def judge(self, only: int | None = None) -> Summary:
        """Judge all runs, or `only` one of them."""
        self.only = only
        first = 0
        for batch in self.source.batches(self.batch):
            if batch.num_rows:
                self._take(BatchArrays(batch, first, self.source.name))
                first += batch.num_rows
        self.summary.rows = first
        self._close()
        if not self.seen:
            raise TraceError(f"{self.source.name}: expected a header, the file has no rows")
        if len(self.seen) == 1:
            [self.summary.run] = self.seen
        return self.summary

    def _take(self, rows: BatchArrays) -> None:
        begins = self._begins(rows)
        new = rows.run[begins].tolist()
        bounds = [*begins.tolist(), len(rows.run)]
        if bounds[0]:
            assert self.open is not None
            if self._is_wanted(self.open.number):
                self.open.take(rows, 0, bounds[0], self.judged)
        if not new:
            return
        self._close()
        heads = self._heads(rows, begins)
        for low in range(0, len(new) - 1, MOST_RUNS - 1):
            high = min(low + MOST_RUNS - 1, len(new) - 1)
            self._take_whole(rows, begins[low:high], bounds[high], heads[low:high])
        begin, end = bounds[-2], bounds[-1]
        self.open = _Open(new[-1], heads[-1], self.selection)
        if self._is_wanted(new[-1]):
            self.open.take(rows, begin, end, self.judged)

    def _is_wanted(self, run: int) -> bool:
        return self.only is None or run == self.only

    def _begins(self, rows: BatchArrays) -> Array:
        """Return the rows at which runs begin. TraceError if runs are mixed."""
        before = np.concatenate(([self.open.number if self.open else -1], rows.run[:-1]))
        is_new = rows.run != before
        if self.open is None:
            is_new[0] = True
        expected = np.concatenate(([self.line], rows.seq[:-1])) + 1
        expected[is_new] = 1
        begins = np.flatnonzero(is_new)
        wrong = np.flatnonzero(rows.seq != expected)
        stop = wrong[0] if len(wrong) else len(rows.run)
        for begin, run in zip(begins.tolist(), rows.run[begins].tolist(), strict=True):
            if begin > stop:
                break
            where = f"{self.source.name}, run {run}, line {rows.seq[begin]}, column `run`"
            if run in self.seen:
                raise Disorder(f"{where}: expected the rows of a run together, found others in between")
            if run < 0:
                raise TraceError(f"{where}: expected 0 or more, found {run}")
            self.seen.add(run)
        if len(wrong):
            raise Disorder(
                f"{self.source.name}, run {rows.run[stop]}, line {expected[stop]}, column `seq`: expected "
                f"{expected[stop]}, as the rows of a run are in order, found {rows.seq[stop]}"
            )
        self.line = int(rows.seq[-1])
        return begins

    def _heads(self, rows: BatchArrays, begins: Array) -> list[Head | None]:
        """Return the headers of the runs that begin at these rows; None for one that is malformed."""
        texts = rows.batch.column("rest").take(pa.array(begins)).to_pylist()
        fine = (rows.kind[begins] == HEADER) & ~rows.odd[begins]
        return [head_of(text) if each else None for text, each in zip(texts, fine.tolist(), strict=True)]

    def _take_whole(self, rows: BatchArrays, begins: Array, end: int, heads: Sequence[Head | None]) -> None:
        """Judge the runs that begin at these rows; the last of them ends before row `end`."""
        if self.only is not None:
            found = np.flatnonzero(rows.run[begins] == self.only)
            end = int(np.append(begins, end)[found[0] + 1]) if len(found) else end
            begins, heads = begins[found], [heads[place] for place in found.tolist()]
        if not len(begins):
            return
        begin, size = int(begins[0]), np.diff(np.append(begins, end))
        run = np.repeat(np.arange(len(begins)), size)
        keys = Keys(len(begins))
        numbers = np.array([head or ODD for head in heads], np.int64)
        is_odd = self._are_odd(rows, begins - begin, slice(begin, end), numbers[run, 0], keys)
        is_odd |= np.array([head is None for head in heads])
        complete = self._have_end(rows, begins, size, is_odd)
        proof = Proof(len(begins), numbers[:, 1] > 0, self.selection.redelivery)
        wanted = (ROW_KIND[rows.kind[begin:end]] != NO_ROW) & ~is_odd[run]
        if wanted.any():
            proof.take(rows.block(begin, end, run, wanted, keys))
        counts = proof.finish()
        decided = proof.in_order & ~is_odd
        if self.selection.causality:
            decided &= proof.causal
        self.summary.count({name: count[decided] for name, count in counts.items()}, complete[decided])
        for place in np.flatnonzero(~decided).tolist():
            first = int(begins[place])
            self._judge_one(int(rows.run[first]), [rows.batch.slice(first, int(size[place]))])

    def _are_odd(self, rows: BatchArrays, offsets: Array, here: slice, processes: Array, keys: Keys) -> Array:
        """Tell which of the runs that begin at `offsets` of the rows `here` only a judge can tell about.

        `processes` has for each row how many processes its run has.
        """
        kind, process = rows.kind[here], rows.columns["process"][here]
        odd = rows.odd[here] | self.judged[kind] | (process > processes) | (IS_LOCAL[kind] & (process < 1))
        odd |= ~keys.fit(rows.columns["zxid_epoch"][here], rows.columns["zxid_counter"][here])
        is_odd: Array = np.logical_or.reduceat(odd, offsets)
        is_odd |= np.add.reduceat(kind == HEADER, offsets, dtype=np.int64) != 1
        last = np.append(offsets[1:], len(kind)) - 1
        is_odd |= np.add.reduceat(kind == END, offsets, dtype=np.int64) != (kind[last] == END)
        return is_odd | (not self.selection.countable)

    def _have_end(self, rows: BatchArrays, begins: Array, size: Array, is_odd: Array) -> Array:
        """Tell which of these runs have a complete end. One whose end is malformed becomes odd."""
        complete = np.zeros(len(begins), bool)
        last = begins + size - 1
        ending = np.flatnonzero((rows.kind[last] == END) & ~is_odd)
        texts = rows.batch.column("rest").take(pa.array(last[ending])).to_pylist()
        for place, text, count in zip(ending.tolist(), texts, (size[ending] - 2).tolist(), strict=True):
            found = end_of(text)
            if found is None or found.count != count:
                is_odd[place] = True
            else:
                complete[place] = found.complete
        return complete

    def _close(self) -> None:
        """Judge the open run, which has ended."""
        run, self.open = self.open, None
        if run is None or not self._is_wanted(run.number):
            return
        if not run.odd:
            counts = run.proof.finish()
            if run.proof.in_order[0] and (run.proof.causal[0] or not self.selection.causality):
                self.summary.count(counts, np.array([run.end is not None and run.end.complete]))
                return
        found = self._judge_long(run.number) if run.odd and run.pieces is None else None
        if found is not None:
            self.summary.add(run.number, found)
        else:
            self._judge_one(run.number, self.source.rows_of(run.number) if run.pieces is None else run.pieces)

    def _judge_long(self, run: int) -> list[Verdict] | None:
        """Judge one run by its events, which are of more kinds; None if it may not be in order, or is no trace."""
        rows = events_of(self.source.rows_of(run), self.source.name)
        blocks = iter(lambda: [event for _, _, event in islice(rows, self.batch)], [])
        try:
            return judge_blocks(blocks, self.selection)
        except TraceError:
            return None

    def _judge_one(self, run: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Judge one run row by row. TraceError with file, run and line for a row that is no line of a trace."""
        line = 0

        def events() -> Iterator[Event]:
            nonlocal line
            for _, line, event in events_of(batches, self.source.name):  # noqa: B007  # an error in it names the line
                yield event

        self.summary.by_a_judge += 1
        name = f"{self.source.name}, run {run}"
        checked = in_form(events(), name)
        try:
            found = judge_events(checked, self.selection.properties)
        except EventError as error:
            raise TraceError(f"{name}, line {line}, {error}") from None
        self.summary.add(run, found)


def _is_text(type_: pa.DataType) -> bool:
    """Return True if a column of this type holds text."""
    kept = type_.value_type if pa.types.is_dictionary(type_) else type_
    return bool(pa.types.is_string(kept) or pa.types.is_large_string(kept))


def _first_line(error: Exception) -> str:
    return " ".join(str(error).splitlines()[:1])


__all__ = ["Broken", "Disorder", "File", "RowGroup", "Source", "Summary", "judge", "only_run"]
