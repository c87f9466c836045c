"""Histories in any format: JSON Lines, Parquet, or Jepsen's EDN. The first bytes tell which."""

import re
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from zabcheck.zookeeper.clients import edn, history
from zabcheck.zookeeper.clients.history import HistoryHeader, HistoryLine

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.screen.columns import Gathering  # loads numpy, which not every command needs

_PARQUET = b"PAR1"
_EDN = re.compile(rb"[\s,]*(;|\{\s*:|#|\[(?!\s*\{\s*\x22)|\()")  # none of JSON, which has quotes


def is_jepsen(source: BinaryIO) -> bool:
    """Return True if an unread file is a history of Jepsen, which numbers operations, not lines."""
    return _EDN.match(_begins(source)) is not None


def load(source: BinaryIO, name: str, meant: Mapping[str, str], bound: int | None = None) -> Iterator[HistoryLine]:
    """Yield the lines of a file. HistoryError if it is no history; ImportError if it needs the extra `parquet`.

    `meant` has the operation that each function of Jepsen with another name is; `bound` is as for `bounded`.
    """
    if is_jepsen(source):
        yield from edn.load(source, name, meant)
    elif is_parquet(source):
        from zabcheck.zookeeper.clients import parquet

        rows = parquet.load(source if source.seekable() else BytesIO(source.read()), name)
        yield from bounded(rows, bound)
    else:
        yield from bounded(history.load(source, name), bound)


def bounded(lines: Iterable[HistoryLine], bound: int | None) -> Iterator[HistoryLine]:
    """Yield lines, with this bound in the header if one is given: the greatest allowed age of a read, in ns."""
    source = iter(lines)
    for first in source:
        yield replace(first, bound=bound) if bound is not None and isinstance(first, HistoryHeader) else first
        break
    yield from source


def gather(source: BinaryIO, name: str, gathering: "Gathering", bound: int | None = None) -> None:
    """Add the lines of a file, which is not one of Jepsen, to columns. HistoryError and ImportError as for `load`.

    Unusual as for `Gathering.add`; `bound` is as for `bounded`.
    """
    if is_parquet(source):
        from zabcheck.zookeeper.clients.screen import parquet

        parquet.gather(source, name, gathering)
    else:
        from zabcheck.zookeeper.clients.screen.lines import decoded_lines

        for lines in history.blocks(source, name, decoded_lines):
            gathering.add(lines)
    set_bound(gathering, bound)


def set_bound(gathering: "Gathering", bound: int | None) -> None:
    """Put this bound, if one is given, into the header, if it has been gathered."""
    if bound is not None and gathering.header is not None:
        gathering.header = replace(gathering.header, bound=bound)


def is_parquet(source: BinaryIO) -> bool:
    """Return True if a file is Parquet."""
    return _begins(source).startswith(_PARQUET)


def _begins(source: BinaryIO) -> bytes:
    return source.peek(64) if isinstance(source, BufferedReader) else b""
