"""The command, called within this process, and what counts as an answer."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path

import typer

from tests.cli.fuzzing.watching import watched
from zabcheck import cli
from zabcheck.cli import verdict
from zabcheck.gate.configuration import SAMPLE

SAID = ("zabcheck: ", "PASS: ", "FAIL: ", "INCONCLUSIVE: ")
"""The beginning of a line on standard error."""
SECONDS = 20
"""CPU time that a case may take; the slowest take a tenth of it."""


_command = typer.main.get_command(cli.all_commands())


class Hang(BaseException):
    """The case took too long; no handler in the program takes it for an error of its own."""


@contextmanager
def limited() -> Iterator[None]:
    """No more than SECONDS of CPU time."""

    def stop(*_: object) -> None:
        raise Hang(f"more than {SECONDS} seconds of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def call(arguments: Sequence[str], stdin: bytes = b"") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command, within this process."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8") for _ in range(2))
    before, sys.stdin = sys.stdin, TextIOWrapper(BytesIO(stdin), "utf-8")
    try:
        with limited(), redirect_stdout(out), redirect_stderr(err):
            code = cli.guarded(lambda: _command(arguments, prog_name="zabcheck", standalone_mode=False))
    finally:
        sys.stdin = before
    out.flush()
    err.flush()
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()  # type: ignore[attr-defined]  # BytesIO


WRITING = ("--checkpoint", "--dump", "--trace", "--write", "--out", "--junit", "--summary", "--save", "--html")
"""The options that name what is written."""


def written(arguments: Sequence[str]) -> Iterator[Path]:
    """Yield the paths that a command line says may be written; without --out there is a folder by default."""
    yield Path("reports")
    for at, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        if option in WRITING:
            value = value if equals else next(iter(arguments[at + 1 :]), "")
            with suppress(ValueError, OSError):
                yield Path(value)


def answers(
    arguments: Sequence[str],
    starts: Sequence[str] = ("",),
    stdin: bytes = b"",
    writable: Sequence[Path] = (),
    named: bool = False,
) -> int:
    """The command ends by itself, with a verdict or with one line; its exit code.

    It writes what its options name, and these paths; it imports nothing that lies beside a file unless that is `named`.
    """
    with watched([*written(arguments), *writable], [word.rpartition("=")[2] for word in arguments], named):
        code, out, err = call(arguments, stdin)
    assert "Traceback" not in err, err
    if code == verdict.BAD_INPUT:
        assert out == "" or out.endswith(SAMPLE + "\n"), out
        assert err.startswith(tuple(f"zabcheck: {start}" for start in starts)), err
        assert err[:-1].isprintable(), err
        assert err.endswith("\n")
        assert len(err) < 6000
    else:
        assert code in (verdict.OK, verdict.VIOLATED, verdict.INCONCLUSIVE)
        told = err.splitlines()
        assert not told or list(arguments)[:1] == ["db19"]  # whose standard output is the digest, and nothing else
        assert all(line.startswith(SAID) and line.isprintable() for line in told)
        assert out != ""
    return code
