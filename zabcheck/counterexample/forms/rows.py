"""The text of a step's row, most important first, since a row that is too long is cut at its end."""

from collections.abc import Iterator
from typing import NamedTuple

from zabcheck.counterexample.pieces import Labels, Piece, entries_of
from zabcheck.counterexample.story import Moment

_ORDER = {"action": 0, "fault": 0, "disk": 0, "witness": 1, "txn": 2, "event": 2, "state": 3, "phase": 4}
"""The rank of each tone; what was sent or lost comes last."""


class Said(NamedTuple):
    """A piece, and the process that it is about if that is not the one that moved."""

    process: int | None
    piece: Piece


def said_of(moment: Moment, labels: Labels) -> Iterator[Said]:
    """Yield the pieces of a row, those of the process that moved first, each process's by what matters most."""
    for entry in entries_of(moment, labels):
        other = entry.process if entry.process != moment.process else None
        for piece in sorted(entry.pieces, key=lambda each: _ORDER.get(each.tone, 5)):
            yield Said(other, piece)
            other = None
