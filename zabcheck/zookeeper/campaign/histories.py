"""Judges histories of clients on Spark, as `zabcheck clients check` does: each by one task, or by many.

Small files are put together until a task has enough to do. Tasks that judge one history together do so as
`zabcheck.zookeeper.clients.division` says, with files in a folder that they share.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import msgspec

from zabcheck.campaign.files import file_system, in_one_line, name_of
from zabcheck.campaign.judging.checking import results_of
from zabcheck.campaign.judging.shares import found_at, grouped
from zabcheck.garbage import rare_collections
from zabcheck.invariants import TraceError
from zabcheck.invariants.base import Status
from zabcheck.zookeeper.clients import forms, history
from zabcheck.zookeeper.clients.division import DecodableBreach, NotDivided, judge_divided
from zabcheck.zookeeper.clients.exchange import Exchange, read
from zabcheck.zookeeper.clients.history import (
    HistoryError,
    HistoryLine,
)
from zabcheck.zookeeper.clients.judge import PROMISES, Judgement, judge, judge_columns
from zabcheck.zookeeper.clients.promise import Breach, Linearizability

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.screen import Gathering

BYTES_OF_A_PART = 128 * 2**20
"""The bytes of JSON Lines in a part of a history that is divided: some 500,000 operations."""
GROUPS_OF_A_PART = 16
"""The row groups of a Parquet file in a part: as `clients record` writes it, some 500,000 operations."""
P = TypeVar("P")
R = TypeVar("R")


_Judged = tuple[str, Status, int, DecodableBreach | None, int | None, Linearizability | None, bool]


def judge_stored(
    paths: Sequence[str],
    promises: Sequence[str],
    meant: Mapping[str, str],
    master: str | None = None,
    say: Callable[[str], None] = lambda _: None,
    bound: int | None = None,
) -> list[tuple[str, list[Judgement]]]:
    """Judge the histories at these paths (see `campaign.files`), on Spark; return each with its name.

    `bound` is as for `forms.bounded`.
    HistoryError for a file that is no history or cannot be read; NoSpark, NoJava and TaskFailed as for `check_stored`.
    """
    with _told():
        pieces = [*grouped({file: size for path in paths for file, size in found_at(path, "a history")})]
    work = partial(_judged, promises=tuple(promises), meant=dict(meant), bound=bound)
    results = results_of([each.files for each in pieces], work, HistoryError, master, say)
    found = (msgspec.msgpack.decode(each, type=list[tuple[str, list[_Judged]]]) for each in results)
    return [(file, [*starmap(_judgement, each)]) for histories in found for file, each in histories]


class _Piece(NamedTuple):
    """The lines of a file that begin within these bytes, or that are in these row groups of a Parquet file."""

    file: str
    is_parquet: bool
    begin: int
    end: int
    bound: int | None


def judge_in_parts(
    paths: Sequence[str],
    promises: Sequence[str],
    meant: Mapping[str, str],
    folder: Path,
    master: str | None = None,
    say: Callable[[str], None] = lambda _: None,
    bound: int | None = None,
) -> list[tuple[str, list[Judgement]]]:
    """Judge the histories at these paths as `judge_stored` does, one after the other, each by many tasks.

    The tasks share files in `folder`, which each machine has to see under this name. A history that cannot be divided
    is judged by one task.
    """

    def run(work: Callable[[P], R], items: Sequence[P], kind: Any) -> list[R]:
        found = results_of(items, work, NotDivided, master, say) if items else []
        return [msgspec.msgpack.decode(each, type=kind) for each in found]

    judged = []
    with _told():
        sizes = {file: size for path in paths for file, size in found_at(path, "a history")}
    for file, size in sizes.items():
        pieces = _pieces(file, size, bound)
        with TemporaryDirectory(dir=folder) as through:
            try:
                if len(pieces) < 2:
                    raise NotDivided
                judgements = judge_divided(_gather, _lines_of, pieces, len(pieces), through, run, promises)
                judged.append((file, judgements))
            except NotDivided:
                judged += judge_stored([file], promises, meant, master, say, bound)
    return judged


def _pieces(file: str, size: int, bound: int | None) -> list[_Piece]:
    """Divide a file; one of Jepsen has no pieces. HistoryError if it cannot be read."""
    with opened(file) as source:
        if forms.is_jepsen(source):
            return []
        is_parquet = forms.is_parquet(source)
        if is_parquet:
            from zabcheck.zookeeper.clients import parquet

            size = parquet.row_groups(source, name_of(file))
    step = GROUPS_OF_A_PART if is_parquet else BYTES_OF_A_PART
    return [_Piece(file, is_parquet, begin, min(begin + step, size), bound) for begin in range(0, size, step)]


def _gather(piece: _Piece, gathering: "Gathering") -> None:
    """Add the lines of a piece to columns. NotDivided as for `_lines_of`; Unusual as for `Gathering.add`."""
    if piece.is_parquet:
        from zabcheck.zookeeper.clients.screen import parquet

        with _read(piece) as source:
            parquet.gather(source, piece.file, gathering, range(piece.begin, piece.end))
    else:
        from zabcheck.zookeeper.clients.screen.lines import decoded_lines

        with _read(piece) as source:
            for lines in history.blocks_within(source, piece.file, piece.begin, piece.end, decoded_lines):
                gathering.add(lines)
    forms.set_bound(gathering, piece.bound)


def _lines_of(piece: _Piece) -> Iterator[list[HistoryLine]]:
    """Yield the lines of a piece. NotDivided if one is bad: only a reader of the whole file can say which."""
    with _read(piece) as source:
        if piece.is_parquet:
            from zabcheck.zookeeper.clients import parquet

            blocks = parquet.blocks(source, piece.file, range(piece.begin, piece.end))
        else:
            blocks = history.blocks_within(source, piece.file, piece.begin, piece.end)
        yield from ([*forms.bounded(block, piece.bound)] for block in blocks)


@contextmanager
def _read(piece: _Piece) -> Iterator[BinaryIO]:
    """Open the file of a piece. NotDivided if it turns out to be no history."""
    try:
        with rare_collections(), opened(piece.file) as source:
            yield source
    except HistoryError:
        raise NotDivided from None


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """Open a history to be read from its start. HistoryError if it cannot be read."""
    try:
        files, place = file_system(file)
        with BufferedReader(files.open_input_file(place)) as source:
            yield source
    except OSError as error:
        raise HistoryError(f"{name_of(file)}: {in_one_line(error)}") from None


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except TraceError as error:
        raise HistoryError(str(error)) from None


def _judged(
    files: Sequence[str], promises: Sequence[str], meant: Mapping[str, str], bound: int | None
) -> list[tuple[str, list[tuple[str, Status, int, Breach | None, int | None, Linearizability | None, bool]]]]:
    judged = []
    for file in files:
        with rare_collections():
            judgements = _judged_at_once(file, promises, meant, bound)
        told = [
            (each.promise.name, each.status, each.judged, each.breach, each.age, each.reads, each.is_whole)
            for each in judgements
        ]
        judged.append((file, told))
    return judged


def _judged_at_once(file: str, promises: Sequence[str], meant: Mapping[str, str], bound: int | None) -> list[Judgement]:
    name = name_of(file)

    def again() -> Exchange:
        with opened(file) as source:
            return read(forms.load(source, name, meant, bound), name)

    with opened(file) as source:
        if not forms.is_jepsen(source):
            return judge_columns(partial(forms.gather, source, name, bound=bound), again, promises)
    return judge(again(), promises)


def _judgement(
    name: str,
    status: Status,
    judged: int,
    breach: DecodableBreach | None,
    age: int | None,
    reads: Linearizability | None,
    is_whole: bool,
) -> Judgement:
    least = None if breach is None else breach.as_breach()
    return Judgement(PROMISES[name], status, judged, least, age, reads, is_whole)
