"""Judges histories of clients on Spark: each by one task, by the judge of `zabcheck clients check`.

Small files are put together until a task has enough to do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from itertools import starmap
from typing import BinaryIO, NamedTuple

import msgspec

from zabcheck.campaign.files import file_system, in_one_line, name_of
from zabcheck.campaign.judging.checking import results_of
from zabcheck.campaign.judging.shares import found_at, grouped
from zabcheck.invariants import TraceError
from zabcheck.invariants.base import Status
from zabcheck.zookeeper.clients import forms
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryError,
    InitialNode,
    Lost,
    Request,
    WatchEvent,
)
from zabcheck.zookeeper.clients.judge import PROMISES, Judgement, judge
from zabcheck.zookeeper.clients.promise import Breach, Kind


class _Sent(NamedTuple):
    """A breach as a task sends it, with the kinds of records named, so that msgspec can decode it."""

    zxid: int
    summary: str
    witness: tuple[InitialNode | Connect | Connected | Request | Answer | WatchEvent | Lost, ...]
    kind: Kind


_Judged = tuple[str, Status, int, _Sent | None]


def judge_stored(
    paths: Sequence[str],
    promises: Sequence[str],
    meant: Mapping[str, str],
    master: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[tuple[str, list[Judgement]]]:
    """Judge the histories at these paths (see `campaign.files`), on Spark; return each with its name.

    HistoryError for a file that is no history or cannot be read; NoSpark, NoJava and TaskFailed as for `check_stored`.
    """
    with _told():
        pieces = [*grouped({file: size for path in paths for file, size in found_at(path, "a history")})]
    work = partial(_judged, promises=tuple(promises), meant=dict(meant))
    results = results_of([each.files for each in pieces], work, HistoryError, master, say)
    found = (msgspec.msgpack.decode(each, type=list[tuple[str, list[_Judged]]]) for each in results)
    return [(file, [*starmap(_judgement, each)]) for histories in found for file, each in histories]


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
    files: Sequence[str], promises: Sequence[str], meant: Mapping[str, str]
) -> list[tuple[str, list[tuple[str, Status, int, Breach | None]]]]:
    judged = []
    for file in files:
        with opened(file) as source:
            judgements = judge(read(forms.load(source, name_of(file), meant), name_of(file)), promises)
        judged.append((file, [(each.promise.name, each.status, each.judged, each.breach) for each in judgements]))
    return judged


def _judgement(name: str, status: Status, judged: int, breach: _Sent | None) -> Judgement:
    return Judgement(PROMISES[name], status, judged, None if breach is None else Breach(*breach))
