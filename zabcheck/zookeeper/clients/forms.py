"""A history in any of its forms: JSON Lines, Parquet, or Jepsen's EDN. The first bytes tell which it is."""

import re
from collections.abc import Iterator, Mapping
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, BinaryIO

from zabcheck.zookeeper.clients import edn, history
from zabcheck.zookeeper.clients.history import HistoryLine

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.screen.columns import Gathering  # loads numpy, which not every command needs

_PARQUET = b"PAR1"
_EDN = re.compile(rb"[\s,]*(;|\{\s*:|#|\[|\()")


def is_jepsen(source: BinaryIO) -> bool:
    """Return True if a file that was not read yet is a history of Jepsen, whose operations are numbered, not lines."""
    return _EDN.match(_begins(source)) is not None


def load(source: BinaryIO, name: str, meant: Mapping[str, str]) -> Iterator[HistoryLine]:
    """Yield the lines of a file. HistoryError if it is no history; ImportError if it needs the extra `parquet`.

    `meant` says what functions of Jepsen of other names are.
    """
    if is_jepsen(source):
        yield from edn.load(source, name, meant)
    elif is_parquet(source):
        from zabcheck.zookeeper.clients import parquet

        yield from parquet.load(source if source.seekable() else BytesIO(source.read()), name)
    else:
        yield from history.load(source, name)


def gather(source: BinaryIO, name: str, gathering: "Gathering") -> None:
    """Take the lines of a file that is none of Jepsen into columns. HistoryError and ImportError as for `load`.

    Unusual as for `Gathering.add`.
    """
    if is_parquet(source):
        from zabcheck.zookeeper.clients.screen import parquet

        parquet.gather(source, name, gathering)
    else:
        from zabcheck.zookeeper.clients.screen.lines import decoded_lines

        for lines in history.blocks(source, name, decoded_lines):
            gathering.add(lines)


def is_parquet(source: BinaryIO) -> bool:
    """Return True if a file is Parquet."""
    return _begins(source).startswith(_PARQUET)


def _begins(source: BinaryIO) -> bytes:
    return source.peek(64) if isinstance(source, BufferedReader) else b""
