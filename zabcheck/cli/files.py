"""The files that commands read and write; what is wrong with one becomes one line."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from zabcheck.cli.commands import BadInput, unwritten

STDIN = "-"


def read(path: Path, limit: int) -> bytes:
    """Return the content of a file, up to one byte more than `limit`. BadInput if the file cannot be read."""
    with opened(str(path)) as file:
        return file.read(limit + 1)


def check_out(out: Path, option: str = "--out") -> None:
    """Check that the folder `out` can be written, or created; it is not created here. BadInput if it cannot."""
    with bad_path(option, out):
        folder = next(each for each in (out, *out.absolute().parents) if each.exists())
        if not folder.is_dir():
            raise BadInput(f"{option} {out}: expected a directory, {folder} is a file")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"{option} {out}: {folder} may not be written")


@contextmanager
def bad_path(option: str, path: Path) -> Iterator[None]:
    """Turn what the system says of a path that an option names into BadInput."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{option} {path}: {error.strerror or error}") from None


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Go on if a part of the result cannot be written: `guarded` tells it once the result is printed."""
    try:
        with bad_path(option, path):
            yield
    except BadInput as error:
        unwritten.append(error)


@contextmanager
def ending(option: str, path: Path) -> Iterator[None]:
    """End as after Ctrl-C, with what is known, if a file of a run cannot be written, which `guarded` tells."""
    before = len(unwritten)
    with writing(option, path):
        yield
    if len(unwritten) > before:
        raise KeyboardInterrupt


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Open a file to read, or standard input for STDIN. BadInput if that cannot be done."""
    try:
        if name == STDIN:
            yield sys.stdin.buffer
        else:
            with open(name, "rb") as file:
                yield file
    except OSError as error:
        reason = "expected a file, found a directory" if isinstance(error, IsADirectoryError) else error.strerror
        raise BadInput(f"{name}: {reason}") from None


@contextmanager
def bad_input_for(
    kind: type[Exception] | tuple[type[Exception], ...], prefix: Callable[[], str] | str = ""
) -> Iterator[None]:
    """Turn what a library function raises for an unknown name into BadInput, with `prefix` before the message."""
    try:
        yield
    except kind as error:
        raise BadInput(f"{prefix if isinstance(prefix, str) else prefix()}{error}") from None


def check_file(option: str, path: Path) -> None:
    """Raise BadInput, with the option's name, if the path is not a file that could be written."""
    with bad_path(option, path):
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise BadInput(f"{option} {path}: expected the name of a file in a folder that there is")
