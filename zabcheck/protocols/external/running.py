"""One operating-system process: it is sent a line, and answers with lines up to one that says it is done.

A clock is read here, but only to stop waiting: no event depends on it.
"""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from time import monotonic

from zabcheck.invariants.diagnosis import NOT_DECODED
from zabcheck.protocols import step_limit
from zabcheck.protocols.base import Outside, OutsideSilent
from zabcheck.protocols.external import guard
from zabcheck.protocols.external.wire import ZABCHECK, Line, line_of, type_of

ENDS = ("done", "init_ok", "reset_ok", "snapshot_ok", "restore_ok")
"""The types of the bodies that end an answer."""
MOST_BYTES = 64 * 1024 * 1024
"""The longest answer that is read."""
_LOG_LINES = 20
_LOG_BYTES = 16_384
_LONGEST = 2000
_LOOK = 100.0
"""The milliseconds after which it is noted that a node is still waited for."""
STARTS = 30.0
"""The least time limit for a node's first answer, in seconds: it may be compiled just in time."""


class Ended(Outside):
    """The node ended, or was killed, in the middle of a step or between two."""


class NotUnderstood(Outside):
    """The node wrote a line that means nothing, or nothing at this place."""


class OutOfTurn(Outside):
    """The node wrote something when it had not been asked."""


class Running:
    """An operating-system process of `command`, started. OSError if it cannot be."""

    def __init__(self, command: Sequence[str]) -> None:
        # The log is a file without a name: a pipe would have to be emptied, and a full one stops the node.
        self._log = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115  # for as long as the node lives
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,  # so that Ctrl-C does not reach it, and what it starts is killed with it
            )
        except OSError:
            self._log.close()
            raise
        guard.add(self._process.pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._ready = select.poll()
        self._ready.register(self._from, select.POLLIN)
        self._asked = False
        self.used = False
        """True if it was sent `init` or `restore`."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, line: bytes, seconds: float) -> list[tuple[bytes, Line]]:
        """Send a line, and return the lines of the answer, the one that ends it included, also as they were written.

        `Outside` if the node ends, writes what is no line, or has not ended its answer after `seconds`.
        """
        until = monotonic() + (seconds if self._asked else max(seconds, STARTS))
        self._asked = True
        if self._ready.poll(0):
            self._unasked(line)
        came = self._send(line, until)
        size = 0
        began: list[bytes] = []  # a line, as far as it has come
        lines: list[tuple[bytes, Line]] = []
        while True:
            size += len(came)
            if size > MOST_BYTES:
                raise NotUnderstood(f"wrote an answer of more than {MOST_BYTES:,} bytes", self.told(line))
            began.append(came)
            if b"\n" in came:
                *whole, rest = b"".join(began).split(b"\n")
                began = [rest]
                for each in whole:
                    found = self._line(each, line)
                    lines.append((each, found))
                    if found.dest == ZABCHECK and self._type(found, each, line) in ENDS:
                        if rest or each is not whole[-1]:
                            after = rest or whole[whole.index(each) + 1]
                            raise OutOfTurn("wrote a line after the one that ends its answer", self.told(line, after))
                        return lines
            if not self._comes(until):
                raise self._unended(line, lines, b"".join(began))
            came = self._read(line)

    def _type(self, found: Line, written: bytes, asked: bytes) -> str:
        try:
            return type_of(found.body)
        except NOT_DECODED as error:
            raise NotUnderstood(f"wrote a body that has no type: {error}", self.told(asked, written)) from None

    def _line(self, written: bytes, asked: bytes) -> Line:
        try:
            return line_of(written)
        except NOT_DECODED as error:
            raise NotUnderstood(f"wrote what is no line: {error}", self.told(asked, written)) from None

    def _send(self, line: bytes, until: float) -> bytes:
        """Send a line, and return what came meanwhile: a node may begin its answer before it has read all."""
        came = b""
        left = memoryview(line)
        while left:
            try:
                left = left[os.write(self._to, left) :]
            except BlockingIOError:
                both = select.poll()
                both.register(self._to, select.POLLOUT)
                both.register(self._from, select.POLLIN)
                ready = dict(both.poll(_milliseconds(until)))
                if not ready:
                    raise self._silent(line, "has not read a line") from None
                if self._from in ready:
                    came += self._read(line)
            except BrokenPipeError:
                raise self._ended(line) from None
        return came

    def _comes(self, until: float) -> bool:
        """Wait until there is something to read; return whether that was in time."""
        while not self._ready.poll(min(_LOOK, _milliseconds(until))):
            if monotonic() >= until:
                return False
            step_limit.calls.idle += _LOOK / 1000
        return True

    def _read(self, line: bytes) -> bytes:
        """Return what has come. `Ended` if nothing will come any more."""
        with contextlib.suppress(BlockingIOError):  # poll was wrong: nothing is there yet
            if data := os.read(self._from, 1 << 16):
                return data
            raise self._ended(line)
        return b""

    def _unasked(self, line: bytes) -> None:
        """Raise what is to be said of a node that has written, or ended, while nobody asked it."""
        data = os.read(self._from, 1 << 16)
        if not data:
            raise self._ended(line)
        raise OutOfTurn("wrote a line before it was asked", self.told(line, data.split(b"\n")[0]))

    def _unended(self, line: bytes, lines: list[tuple[bytes, Line]], rest: bytes) -> Outside:
        """Return what is to be said of an answer that has no end: these lines, and the beginning of another one."""
        if rest:
            return self._silent(line, "has not ended a line with a line break", rest)
        if lines:
            return self._silent(line, "has not ended its answer", lines[-1][0])
        return self._silent(line, "has not answered")

    def _silent(self, line: bytes, what: str, written: bytes | None = None) -> Outside:
        step_limit.calls.waited += step_limit.calls.seconds
        return OutsideSilent(f"{what} in time", self.told(line, written))

    def _ended(self, line: bytes) -> Outside:
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return Ended("closed its standard output or input", self.told(line))
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return Ended(how, self.told(line))

    def told(self, asked: bytes, written: bytes | None = None) -> tuple[str, ...]:
        """Return what a report says of it: the line that the node was sent, what it wrote, the end of its log."""
        told = [f"it was sent    {_text(asked)}"]
        if written is not None:
            told.append(f"it wrote       {_text(written)}")
        log = self.log()
        told += [f"standard error {line}" if not at else f"               {line}" for at, line in enumerate(log)]
        return tuple(told)

    def log(self) -> list[str]:
        """Return the last lines that the node wrote to its standard error."""
        size = os.fstat(self._log.fileno()).st_size
        data = os.pread(self._log.fileno(), _LOG_BYTES, max(0, size - _LOG_BYTES))
        return [_text(line) for line in data.splitlines()[-_LOG_LINES:]]

    def empty_log(self) -> None:
        """Forget what the node has written to its standard error so far."""
        if os.fstat(self._log.fileno()).st_size:
            os.ftruncate(self._log.fileno(), 0)

    def kill(self) -> None:
        """End the process, and what it has started, at once."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended by itself
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            guard.remove(self._process.pid)
        self.forget()

    def forget(self) -> None:
        """Close this end of the pipes, whoever else has them: the process belongs to the one that was forked."""
        for each in (self._process.stdin, self._process.stdout, self._log):
            assert each is not None
            each.close()
        if self._process.returncode is None:
            self._process.returncode = 0  # so that nobody here waits for it


def _milliseconds(until: float) -> float:
    return max(0.0, (until - monotonic()) * 1000)


def _text(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\n")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
