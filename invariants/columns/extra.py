"""Header and end of a run in a Parquet file: what stands in their column `rest`."""

from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from invariants.events import End, ProcessId
from invariants.quorums import MAJORITY, quorums_of


class Head(NamedTuple):
    """What is needed of a header."""

    processes: int
    clocked: bool


ODD = Head(0, False)
"""Of a run that has no header."""


class _HeaderRest(msgspec.Struct, forbid_unknown_fields=True):
    """What stands in `rest` of a header; a schedule, which may be long, is not taken apart."""

    version: Literal[1]
    processes: ProcessId
    protocol: str
    quorums: str = MAJORITY
    order: Literal["global", "per-process"] = "global"
    schedule: dict[str, msgspec.Raw] | None = None


_decode_header = msgspec.json.Decoder(_HeaderRest).decode
_decode_end = msgspec.json.Decoder(End).decode


def head_of(rest: str | None) -> Head | None:
    """What the header with this `rest` says; None if that is no header."""
    try:
        header = _decode_header(rest or "{}")
    except msgspec.DecodeError:
        return None
    if not _is_quorum_system(header.quorums, header.processes):
        return None
    return Head(header.processes, header.order == "global")


@lru_cache(maxsize=64)
def _is_quorum_system(quorums: str, processes: int) -> bool:
    try:
        quorums_of(quorums, processes)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def end_of(rest: str | None) -> End | None:
    """The end with this `rest`; None if that is none."""
    try:
        return _decode_end(rest or "{}")
    except msgspec.DecodeError:
        return None
