"""Rare garbage collections, for what makes many objects and no garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATED, _SELDOM = 500_000, 1_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for cycles of garbage only once 500,000 objects were made, and then at these alone.

    The tables of a search, and the lines of a history, are objects in which there are no cycles, and of which many
    stay. With Python's own thresholds a search spends a fifth of its time on looking through them, again and again.
    """
    before = gc.get_threshold()
    if before[0]:  # otherwise it is switched off
        gc.set_threshold(max(before[0], _ALLOCATED), max(before[1], _SELDOM), before[2])
    try:
        yield
    finally:
        if before[0] and not gc.get_freeze_count():
            # Otherwise Python would look through everything as soon as something new is made. Frozen objects are old.
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*before)
