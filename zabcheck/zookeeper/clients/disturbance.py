"""Disturbances of the servers of a service while its clients are recorded."""

import subprocess
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

PAUSE = 1.0
"""Seconds from the end of a disturbance to the next one."""
PATIENCE = 60.0
"""Seconds that the last one may take to end, so that it can repair what it has done."""


class Disturbance(Protocol):
    """A disturbance of servers, in steps, none of which waits."""

    def go_on(self, multis: int) -> None:
        """Take the next step if it is due; `multis` is the number of multis that have no answer yet."""

    def finish(self) -> None:
        """Repair what was done."""


class Command(Disturbance):
    """A command of the user, run again and again, one at a time. It has no input, and its output is not shown."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._running: subprocess.Popen[bytes] | None = None
        self._next = monotonic() + PAUSE
        self.times = 0
        """The number of times that it was started."""
        self.failed = 0
        """The number of times that it ended with another exit code than 0, or was killed as it took too long."""

    def go_on(self, multis: int) -> None:
        """Start the command if the last one ended `PAUSE` ago. OSError if it cannot be started."""
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
                process_group=0,  # Ctrl-C must not reach it: it repairs what it has done
            )

    def finish(self) -> None:
        """Wait for the running command; kill it after `PATIENCE`."""
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
