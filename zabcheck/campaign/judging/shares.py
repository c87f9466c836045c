"""Stored traces, divided into shares that one task each judges. Each run is in one share, so nothing is shuffled.

A path is a file, a folder or a pattern (see `zabcheck.campaign.files`).

- Parquet files (names end in `.parquet`) of one path are one table, with the columns of `invariants.columns`: a run may
  go on in another file. A share is a range of run numbers, with the row groups whose statistics say that they may have
  rows of these runs.
- Any other file is one trace in JSON Lines, also compressed (names end in `.gz`). A share has some files.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from zabcheck.campaign.files import file_system, files_at, in_one_line, name_of
from zabcheck.invariants import TraceError
from zabcheck.invariants.columns.parquet import File, RowGroup

ROWS = 2_000_000
"""The approximate number of rows of Parquet files in a share: some two seconds' work."""

BYTES = 64 * 2**20
"""The approximate number of bytes of JSON Lines in a share."""

_LEAST, _END = -(2**63), 2**63
_THREADS = 16


class FileGroup(NamedTuple):
    """A row group of a Parquet file."""

    file: str
    group: RowGroup


class RunRange(NamedTuple):
    """The runs of a table that are numbered from `least` to below `end`."""

    name: str
    """The path of the table, for messages."""

    least: int
    end: int
    groups: tuple[FileGroup, ...]
    """The row groups that may have rows of these runs, by their least run."""


class LineFiles(NamedTuple):
    """Files of JSON Lines, each of which is a trace."""

    files: tuple[str, ...]


Share = RunRange | LineFiles


def shares_of(paths: Iterable[str]) -> list[Share]:
    """Divide the traces at these paths, in their order; a path that is named twice counts once.

    Reads the footer of each Parquet file. TraceError if a path has no file, or a file cannot be read or is no Parquet.
    """
    shares: list[Share] = []
    lines: list[tuple[str, int]] = []
    for path in dict.fromkeys(paths):
        tables = []
        for file, size in found_at(path, "a trace"):
            if file.endswith(".parquet"):
                tables.append(file)
            else:
                lines.append((file, size))
        if tables:
            shares += _ranges(name_of(path), tables)
    return shares + list(grouped(dict(lines)))


def found_at(path: str, what: str) -> list[tuple[str, int]]:
    """Return the files at a path, each with its size in bytes. TraceError if there is none; `what` is for messages."""
    try:
        found = [(file, _size(file)) for file in files_at(path)]
    except (OSError, ValueError) as error:
        raise TraceError(f"{name_of(path)}: {in_one_line(error)}") from None
    if not found:
        raise TraceError(f"{name_of(path)}: expected {what}, found no file")
    return found


def _size(file: str) -> int:
    files, place = file_system(file)
    return int(files.get_file_info(place).size)


def grouped(sizes: dict[str, int]) -> Iterator[LineFiles]:
    """Put files together until there are enough bytes for a share."""
    files: list[str] = []
    total = 0
    for file, size in sizes.items():
        files.append(file)
        total += size
        if total >= BYTES:
            yield LineFiles(tuple(files))
            files, total = [], 0
    if files:
        yield LineFiles(tuple(files))


def _ranges(name: str, files: list[str]) -> list[RunRange]:
    """Divide a table into ranges of runs.

    Where most row groups overlap, as in a table in disorder, the ranges are not divided: each would need most of them.
    """
    with ThreadPoolExecutor(_THREADS) as threads:
        groups = [each for found in threads.map(_row_groups, files) for each in found]
    groups.sort(key=lambda each: each.group.least)
    ranges: list[RunRange] = []
    here: list[FileGroup] = []
    least, rows = _LEAST, 0
    for each in groups:
        begin = each.group.least
        overlapping = [other for other in here if other.group.highest >= begin]
        if rows >= ROWS and begin > least and len(overlapping) <= len(here) // 2:
            ranges.append(RunRange(name, least, begin, tuple(here)))
            here, least, rows = overlapping, begin, 0
        here.append(each)
        rows += each.group.rows
    return [*ranges, RunRange(name, least, _END, tuple(here))]


def _row_groups(file: str) -> list[FileGroup]:
    with opened_parquet(file) as source:
        return [FileGroup(file, group) for group in source.row_groups()]


@contextmanager
def opened_parquet(file: str) -> Iterator[File]:
    """Open a Parquet file of traces. TraceError if it is none, or cannot be read."""
    try:
        files, place = file_system(file)
        source = files.open_input_file(place)
    except (OSError, ValueError) as error:
        raise TraceError(f"{name_of(file)}: {in_one_line(error)}") from None
    with source:
        yield File(source, name_of(file))
