"""The memory that this process uses, and how often Python looks for garbage in it."""

import gc
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CannotSpill(RuntimeError):
    """Files in a folder cannot be written, so a search that needs them cannot go on; the message has the reason."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(f"{folder}: {error.strerror}")


_NOW = Path("/proc/self/statm")


def used() -> int:
    """Return the bytes of memory that this process has now; if the system does not show that, the most that it had."""
    if _NOW.exists():
        return int(_NOW.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


_ALLOCATED, _SELDOM = 500_000, 1_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for cycles of garbage only once 500,000 objects were made, and then at these alone.

    The tables of a search grow by objects in which there are no cycles, and which stay. With Python's own thresholds a
    search spends a fifth of its time on looking through them, again and again.
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
