"""Files of folders: read if they are regular files, and written whole or not at all."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO


@contextmanager
def regular(path: Path) -> Iterator[BinaryIO]:
    """Open a file that somebody's folder holds, to read it. OSError if that cannot be done, or if it is no file.

    A device, or a link to one, may have no end, and a FIFO nobody who writes to it.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "expected a regular file", str(path))
    with os.fdopen(handle, "rb", buffering=1 << 20) as file:
        yield file


def content(path: Path, most: int) -> bytes:
    """Return the content of a file that somebody's folder holds, of at most `most` bytes. OSError as for `regular`."""
    with regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"expected at most {most:,} bytes", str(path))
    return data


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file in a folder beside `path`, and move it to `path` if all goes well. OSError if that cannot be done.

    Its mode is that of the file that was there, else what the umask leaves.
    """
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        beside = Path(folder, path.name)
        with beside.open("wb") as file:
            yield file
        _move(beside, path)


def write(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all, and return its path. OSError if that cannot be done."""
    with whole(path) as file:
        file.write(content)
    return path


def write_all(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files by name into a folder, which is created: all of them whole, or none. Return their paths.

    OSError if that cannot be done.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".zabcheck.") as beside:
            for name, content in contents.items():
                Path(beside, name).write_bytes(content)
            return [_move(Path(beside, name), folder / name) for name in contents]
    except OSError:
        for each in new:
            with suppress(OSError):
                each.rmdir()
        raise


def replace_folder(folder: Path, source: Path) -> None:
    """Put a copy of `source` in place of a folder; if it cannot be copied whole, none is left. OSError then."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        shutil.copytree(source, folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise OSError(error.args[0][0][2]) if isinstance(error, shutil.Error) else error from None


def _move(written: Path, path: Path) -> Path:
    if path.exists():
        shutil.copymode(path, written)
    os.replace(written, path)
    return path
