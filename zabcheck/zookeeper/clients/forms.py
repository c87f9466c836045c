"""A history in any of its forms: JSON Lines, Parquet, or Jepsen's EDN. The first bytes tell which it is."""

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
    """Return True if a file that was not read yet is a history of Jepsen, whose operations are numbered, not lines."""
    return _EDN.match(_begins(source)) is not None


def load(source: BinaryIO, name: str, meant: Mapping[str, str], bound: int | None = None) -> Iterator[HistoryLine]:
    """Yield the lines of a file. HistoryError if it is no history; ImportError if it needs the extra `parquet`.

    `meant` says what functions of Jepsen of other names are; `bound` is as for `bounded`.
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
    """Yield lines; a header that comes first says this bound on the age of reads, in ns, if one is given."""
    source = iter(lines)
    for first in source:
        yield replace(first, bound=bound) if bound is not None and isinstance(first, HistoryHeader) else first
        break
    yield from source


def gather(source: BinaryIO, name: str, gathering: "Gathering", bound: int | None = None) -> None:
    """Take the lines of a file that is none of Jepsen into columns. HistoryError and ImportError as for `load`.

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
    """Have the header that was gathered, if it was, say this bound, if one is given."""
    if bound is not None and gathering.header is not None:
        gathering.header = replace(gathering.header, bound=bound)


def is_parquet(source: BinaryIO) -> bool:
    """Return True if a file is Parquet."""
    return _begins(source).startswith(_PARQUET)


def _begins(source: BinaryIO) -> bytes:
    return source.peek(64) if isinstance(source, BufferedReader) else b""
