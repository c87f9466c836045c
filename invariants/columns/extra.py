"""The column `rest` of a run's header and end in a Parquet file.

That column has all fields of a line that have no column of their own, as JSON; here its content is called `extra`.
"""

from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.invariants.events import End, ProcessId
from zabcheck.invariants.quorums import MAJORITY, Configuration, quorums_of


class Head(NamedTuple):
    """The part of a header that judging needs: the number of processes, and True if the order is that of time."""

    processes: int
    clocked: bool


ODD = Head(0, False)
"""The header of a run that has none."""


class _HeaderExtra(msgspec.Struct, forbid_unknown_fields=True):
    """The extra fields of a header. A schedule, which may be long, is not decoded."""

    version: Literal[1]
    processes: ProcessId
    protocol: str
    quorums: str = MAJORITY
    order: Literal["global", "per-process"] = "global"
    schedule: dict[str, msgspec.Raw] | None = None


_decode_header = msgspec.json.Decoder(_HeaderExtra).decode
_decode_end = msgspec.json.Decoder(End).decode


def head_of(extra: str | None) -> Head | None:
    """Decode the extra fields of a header; None if they are not those of a header."""
    try:
        header = _decode_header(extra or "{}")
    except NOT_DECODED:
        return None
    if not _is_fixed(header.quorums, header.processes):
        return None
    return Head(header.processes, header.order == "global")


@lru_cache(maxsize=64)
def _is_fixed(quorums: str, processes: int) -> bool:
    """Return True if it is a quorum system that does not change; runs with others are judged by reading each row."""
    try:
        return not isinstance(quorums_of(quorums, processes), Configuration)
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def end_of(extra: str | None) -> End | None:
    """Decode the extra fields of an end; None if they are not those of an end."""
    try:
        return _decode_end(extra or "{}")
    except NOT_DECODED:
        return None
