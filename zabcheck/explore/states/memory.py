"""The memory that this process uses."""

import os
import resource
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
