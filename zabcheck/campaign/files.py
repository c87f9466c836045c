"""Files on any file system that Arrow knows: this machine's, or s3://, gs://, abfs://, hdfs://."""

import re
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path

import pyarrow.fs as pafs

_MAGIC = re.compile(r"[*?[]")


def file_system(place: str) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a path or URI, and the path there. s3a://, Spark's name for it, is s3://.

    OSError or ValueError if Arrow does not know the file system.
    """
    if "://" not in place and not place.startswith("file:/"):
        return pafs.LocalFileSystem(), str(Path(place).absolute())
    files, root = pafs.FileSystem.from_uri(re.sub("^s3a:", "s3:", place))
    return files, root


def files_at(place: str) -> list[str]:
    """Return the files that a path or URI names, sorted: the file, the files in the folder, or those that match.

    A pattern has `*`, `?` or `[…]` (no `?` in a URI), none of which stands for a slash. In a folder, names that begin
    with `.` or `_` are passed over. Local paths are absolute. OSError or ValueError if nothing can be listed there.
    """
    files, root = file_system(place)
    before = after = ""
    if not isinstance(files, pafs.LocalFileSystem):
        uri, mark, query = place.partition("?")
        before, after = uri.rstrip("/").removesuffix(root), mark + query
    if files.get_file_info(root).is_file:
        return [before + root + after]
    parts = root.split("/")
    plain = takewhile(lambda part: not _MAGIC.search(part), parts)
    selector = pafs.FileSelector("/".join(plain), recursive=True, allow_not_found=True)
    found = sorted(info.path for info in files.get_file_info(selector) if info.is_file)
    return [before + path + after for path in found if _is_named(path.split("/"), parts)]


def name_of(place: str) -> str:
    """Return the name of a file or folder for messages: its URI without the part after `?`, which may hold a key."""
    return place.partition("?")[0] if "://" in place else place


def in_one_line(error: Exception) -> str:
    """Return the system's message in one line, without the text of its own that Arrow puts around it."""
    text = " ".join(str(error).split())
    found = re.search(r"\[errno \d+\] ([^.\[]+)", text)
    if isinstance(error, OSError) and error.strerror and "errno" not in error.strerror:
        return error.strerror
    return found[1] if found else text


def _is_named(path: list[str], pattern: list[str]) -> bool:
    """Return True if the file at `path` matches the pattern, or is in a folder that does."""
    matches = all(fnmatchcase(part, wanted) for part, wanted in zip(path, pattern, strict=False))
    hidden = any(part.startswith((".", "_")) for part in path[len(pattern) :])
    return len(path) >= len(pattern) and matches and not hidden
