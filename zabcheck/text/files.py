"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside `path`, and rename it to `path` if all goes well. OSError if that cannot be done."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all, and return its path. OSError if that cannot be done."""
    with whole(path) as file:
        file.write(content)
    return path
