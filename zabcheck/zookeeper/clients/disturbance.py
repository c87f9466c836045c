"""Something that is done to the servers of a service while its clients are recorded."""

import subprocess
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

PAUSE = 1.0
"""Seconds from the end of a disturbance to the next one."""
PATIENCE = 60.0
"""Seconds that the last one is waited for, so that it can mend what it has done."""


class Disturbance(Protocol):
    """A disturbance of servers, which goes on whenever it is asked to, and waits for nothing."""

    def go_on(self, multis: int) -> None:
        """Do what is due; `multis` is the number of multis that have no answer yet."""

    def finish(self) -> None:
        """Mend what was done."""


class Command(Disturbance):
    """A command of the user's, again and again, one at a time; it reads nothing, and what it prints is not shown."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._running: subprocess.Popen[bytes] | None = None
        self._next = monotonic() + PAUSE
        self.times = 0
        """The number of times it was begun."""
        self.failed = 0
        """The number of times it ended with another exit code than 0, or was not over in time."""

    def go_on(self, multis: int) -> None:
        """Begin it if the last one is over for long enough. OSError if it cannot be begun."""
        if self._running is not None:
            if self._running.poll() is None:
                return
            self._end(self._running)
        elif monotonic() >= self._next:
            self.times += 1
            self._running = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is not for it: it mends what it has done
            )

    def finish(self) -> None:
        """Wait for the one that is running."""
        if self._running is None:
            return
        try:
            self._running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._running.kill()
            self._running.wait()
        self._end(self._running)

    def _end(self, ended: "subprocess.Popen[bytes]") -> None:
        self.failed += ended.returncode != 0
        self._running = None
        self._next = monotonic() + PAUSE
