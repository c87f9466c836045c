"""What runs draw, and what of it is worth a comparison: the faults, and the switches that are not as in the paper."""

import msgspec

from zabcheck.protocols.switches import LETTER
from zabcheck.search.settings import SETTINGS

FAULTS = (*SETTINGS.optional, *SETTINGS.seldom)
"""The moves that a run may leave out."""

LETTERS = tuple(f"{name} {value}" for name, value in msgspec.structs.asdict(LETTER).items())
"""The switches as in the paper, each with its value, as in "sync separate"."""
