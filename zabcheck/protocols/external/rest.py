"""An operating-system process that does not say when its answer ends: it is asked nothing more until it is at rest.

A program is at rest if it has read all that it was sent, and all of its threads sleep, those of its child processes
included. Linux tells that in /proc. Threads wake each other, and are not looked at in one moment; so it is at rest when
two looks in a row find that, and no thread has run between them. A timer of the program may still wake it later.
"""

import fcntl
import os
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from zabcheck.protocols import step_limit
from zabcheck.protocols.external.running import STARTS, Running

TASKS = "/proc/{}/task"
_ASLEEP = "SZX"
"""The states of a thread that does nothing: asleep, or ended."""


class Resting(Running):
    """An operating-system process of `command`, started. OSError if it cannot be."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._came = b""

    def tell(self, line: bytes, seconds: float) -> list[bytes]:
        """Send a line, and return the lines that the program has written when it is at rest again.

        `Outside` if it ends, or is not at rest after `seconds`.
        """
        began = monotonic()
        until = began + (seconds if self.used else max(seconds, STARTS))
        self.used = True
        self._came += self._send(line, until)
        return self._until_rest(line, began, until)

    def wait(self, seconds: float, most: float) -> list[bytes]:
        """Wait until it writes something by itself, or for `seconds`; then as `tell`, for `most` seconds."""
        began = monotonic()
        self._ready.poll(seconds * 1000)
        return self._until_rest(b"", began, began + seconds + most)

    def _until_rest(self, line: bytes, began: float, until: float) -> list[bytes]:
        before = None
        while True:
            if self._ready.poll(0):
                self._came += self._read(line)
                before = None
                continue
            now = self._at_rest()
            if now is not None and now == before:
                break
            if now is None:
                if monotonic() >= until:
                    raise self._silent(line, "has not come to rest")
                self._ready.poll(1)
            before = now
        step_limit.calls.waited += monotonic() - began  # it takes much longer than zabcheck computes meanwhile
        *whole, self._came = self._came.split(b"\n")
        return whole

    def _at_rest(self) -> tuple[str, ...] | None:
        """Return how often each thread has run so far; None if one runs, or if there is something to read."""
        if int.from_bytes(fcntl.ioctl(self._to, termios.FIONREAD, bytes(4)), sys.byteorder):
            return None
        runs: list[str] = []
        processes = [str(self.pid)]
        try:
            for process in processes:
                for task in sorted(os.listdir(TASKS.format(process))):
                    of_task = Path(TASKS.format(process), task)
                    told = dict(each.split(":\t", 1) for each in (of_task / "status").read_text().splitlines())
                    if told["State"][0] not in _ASLEEP:
                        return None
                    runs += (task, told["voluntary_ctxt_switches"], told["nonvoluntary_ctxt_switches"])
                    processes += (of_task / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile
            return None
        return tuple(runs)
